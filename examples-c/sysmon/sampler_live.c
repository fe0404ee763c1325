/* The load of this machine, from /proc/stat, /proc/meminfo and /proc/loadavg. */
#include "sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct live {
  logger *log;
  unsigned long long busy, total; /* the cores' time since boot, as of the last state */
} live;

static FILE *open_or_say(const live *self, const char *path) {
  FILE *file = fopen(path, "re");
  if (!file) {
    char message[128];
    snprintf(message, sizeof message, "cannot read %s", path);
    self->log->write(self->log, message);
  }
  return file;
}

static int read_stat(live *self, load_state *state) {
  FILE *file = open_or_say(self, "/proc/stat");
  if (!file)
    return 0;
  unsigned long long busy = 0, total = 0, times[8] = { 0 };
  char line[512];
  state->cores = 0;
  while (fgets(line, sizeof line, file)) {
    if (!strncmp(line, "cpu ", 4)) {
      sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &times[0], &times[1], &times[2], &times[3],
             &times[4], &times[5], &times[6], &times[7]);
      for (int i = 0; i < 8; i++) {
        total += times[i];
        busy += i == 3 || i == 4 ? 0 : times[i]; /* these two: idle, and waiting for a disk */
      }
    } else if (!strncmp(line, "cpu", 3)) {
      state->cores++;
    }
  }
  fclose(file);

  /* The first time this is the share since boot. The kernel's numbers may go back a little. */
  if (total > self->total && busy > self->busy)
    state->cpu = (double)(busy - self->busy) / (double)(total - self->total);
  if (state->cpu > 1)
    state->cpu = 1;
  self->busy = busy;
  self->total = total;
  return 1;
}

static int read_meminfo(live *self, load_state *state) {
  FILE *file = open_or_say(self, "/proc/meminfo");
  if (!file)
    return 0;
  unsigned long long total = 0, available = 0;
  char line[128];
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "MemTotal: %llu kB", &total) != 1)
      sscanf(line, "MemAvailable: %llu kB", &available);
  }
  fclose(file);
  state->memory_total = total * 1024;
  state->memory_used = (total > available ? total - available : 0) * 1024;
  return 1;
}

static int read_loadavg(live *self, load_state *state) {
  FILE *file = open_or_say(self, "/proc/loadavg");
  if (!file)
    return 0;
  int count =
      fscanf(file, "%lf %lf %lf %u", &state->load_1, &state->load_5, &state->load_15, &state->running);
  fclose(file);
  return count == 4;
}

static svk_status live_open(const char *argument, logger *log, void **source) {
  (void)argument;
  live *self = calloc(1, sizeof *self);
  if (!self)
    return SAMPLER_NO_MEMORY;
  self->log = log;
  *source = self;
  return SVK_OK;
}

static svk_status live_next(void *source, load_state *state) {
  live *self = source;
  int read = read_stat(self, state) && read_meminfo(self, state) && read_loadavg(self, state);
  return read ? SVK_OK : SAMPLER_NO_SOURCE;
}

const sample_source live_source = { "live", live_open, live_next, free };
