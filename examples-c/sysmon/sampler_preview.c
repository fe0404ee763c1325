/*
 * States that were recorded, one line each: see recording.txt. For trying out how a program looks when
 * the machine does something interesting, which it seldom does while one watches.
 */
#include "sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct preview {
  FILE *file;
  logger *log;
  int line;
} preview;

static svk_status preview_open(const char *path, logger *log, void **source) {
  preview *self = calloc(1, sizeof *self);
  if (!self)
    return SAMPLER_NO_MEMORY;
  self->log = log;
  self->file = fopen(path, "re");
  if (!self->file) {
    char message[512];
    snprintf(message, sizeof message, "cannot open the recording %s: %s", path, strerror(errno));
    log->write(log, message);
    free(self);
    return SAMPLER_NO_SOURCE;
  }
  *source = self;
  return SVK_OK;
}

static svk_status preview_next(void *source, load_state *state) {
  preview *self = source;
  char line[256];
  while (fgets(line, sizeof line, self->file)) {
    self->line++;
    if (line[0] == '#' || line[0] == '\n')
      continue;
    unsigned long long used, total;
    int count = sscanf(line, "%lf %llu %llu %lf %lf %lf %u %u", &state->cpu, &used, &total, &state->load_1,
                       &state->load_5, &state->load_15, &state->cores, &state->running);
    if (count != 8) {
      char message[64];
      snprintf(message, sizeof message, "line %d of the recording is not a state", self->line);
      self->log->write(self->log, message);
      return SAMPLER_NO_SOURCE;
    }
    state->memory_used = used * 1024;
    state->memory_total = total * 1024;
    return SVK_OK;
  }
  return SVK_CLOSED;
}

static void preview_close(void *source) {
  preview *self = source;
  fclose(self->file);
  free(self);
}

const sample_source preview_source = { "preview", preview_open, preview_next, preview_close };
