#define _GNU_SOURCE
#include "display.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define GIB 1073741824.0
#define CHART_LINES 5

void display_open(display *self, const char *title) {
  const char *terminal = getenv("TERM");
  setlocale(LC_CTYPE, "");
  self->title = title;
  self->bars = isatty(STDOUT_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
  self->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
  self->drawn = 0;
  if (self->bars)
    fputs("\033[?25l", stdout); /* hide the cursor */
}

int display_close(display *self) {
  if (self->bars)
    fputs("\r\033[K\033[?25h", stdout); /* the cursor again, and no "^C" */
  return fflush(stdout) == 0 && !ferror(stdout);
}

static const char *clock_text(int64_t time_ms, char *text, size_t capacity) {
  time_t seconds = (time_t)(time_ms / 1000);
  struct tm local;
  if (!localtime_r(&seconds, &local))
    return "--:--:--";
  strftime(text, capacity, "%H:%M:%S", &local);
  return text;
}

/* One line of the chart: a name, a bar that is full at share 1, and the figures. */
static void draw_bar(const display *self, const char *name, double share, int width, const char *text) {
  static const char *const eighths[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
  share = share < 0 ? 0 : share > 1 ? 1 : share;
  int filled = (int)(share * width * 8 + 0.5);
  printf("\033[K%-7s |", name);
  for (int i = 0; i < width; i++, filled -= 8) {
    int part = filled <= 0 ? 0 : filled >= 8 ? 8 : filled;
    fputs(self->utf8 ? eighths[part] : part >= 4 ? "#" : ".", stdout);
  }
  printf("| %s\n", text);
}

static void draw(display *self, const load_state *state) {
  struct winsize window = { 0 };
  char text[64], memory[64], load[64], when[16];
  int columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col ? window.ws_col : 80;
  int width = columns - 39; /* name and figures take 38 */
  width = width < 4 ? 4 : width > 60 ? 60 : width;

  if (self->drawn)
    printf("\033[%dA", CHART_LINES); /* up again, over the chart before */
  self->drawn = 1;
  printf("\033[Ksysmon  %s  %s\n", self->title, clock_text(state->time_ms, when, sizeof when));
  snprintf(text, sizeof text, "%5.1f %%", 100 * state->cpu);
  draw_bar(self, "cpu", state->cpu, width, text);
  snprintf(memory, sizeof memory, "%5.1f of %.1f GiB", (double)state->memory_used / GIB,
           (double)state->memory_total / GIB);
  draw_bar(self, "memory", (double)state->memory_used / (double)(state->memory_total | 1), width, memory);
  snprintf(load, sizeof load, "%5.2f %.2f %.2f, %u cores", state->load_1, state->load_5, state->load_15,
           state->cores);
  draw_bar(self, "load", state->load_1 / (state->cores | !state->cores), width, load);
  printf("\033[KCtrl-C ends\n");
}

static void print(const load_state *state) {
  char when[16];
  printf("%s  cpu %5.1f %%  memory %5.1f of %.1f GiB  load %.2f %.2f %.2f  running %u on %u cores\n",
         clock_text(state->time_ms, when, sizeof when), 100 * state->cpu, (double)state->memory_used / GIB,
         (double)state->memory_total / GIB, state->load_1, state->load_5, state->load_15, state->running,
         state->cores);
}

int display_show(display *self, const load_state *state, uint64_t lost) {
  if (self->bars) {
    draw(self, state);
  } else {
    if (lost)
      printf("(states lost: %llu)\n", (unsigned long long)lost);
    print(state);
  }
  return fflush(stdout) == 0;
}
