/* Four states that are the same in every run, then the end. For tests of whatever shows a sampler. */
#include "sampler.h"

#include <stdlib.h>

#define GIB ((uint64_t)1 << 30)

static const load_state states[] = {
  { .cpu = 0, .memory_used = 1 * GIB, .load_1 = 0, .running = 1 },
  { .cpu = 0.25, .memory_used = 2 * GIB, .load_1 = 1, .running = 2 },
  { .cpu = 1, .memory_used = 8 * GIB, .load_1 = 4, .running = 9 },
  { .cpu = 0.5, .memory_used = 4 * GIB, .load_1 = 2, .running = 3 },
};

static svk_status test_open(const char *argument, logger *log, void **source) {
  (void)argument, (void)log;
  *source = calloc(1, sizeof(size_t)); /* how many were given out */
  return *source ? SVK_OK : SAMPLER_NO_MEMORY;
}

static svk_status test_next(void *source, load_state *state) {
  size_t *given = source;
  if (*given == sizeof states / sizeof *states)
    return SVK_CLOSED;
  *state = states[(*given)++];
  state->memory_total = 8 * GIB;
  state->load_5 = 0.5;
  state->load_15 = 0.25;
  state->cores = 4;
  return SVK_OK;
}

const sample_source test_source = { "test", test_open, test_next, free };
