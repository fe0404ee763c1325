/*
 * The sampler: a stateful service whose state is the load of a machine.
 *
 * It is registered under one key for three contexts: live, preview and test. Whoever resolves it gets a
 * svk_service, reads load_state from it, and cannot tell which of the three it is.
 */
#ifndef SYSMON_SAMPLER_H
#define SYSMON_SAMPLER_H

#include "logger.h"

#include <servicekit.h>

#define SAMPLER_KEY "sampler"
#define SAMPLER_TYPE "org.example.sysmon.sampler/1"

/*
 * One state of the sampler: 64 bytes in the byte order of the machine, without padding, so that every
 * language can read it. Python's struct module calls it "=qQQ4d2I".
 */
typedef struct load_state {
  int64_t time_ms;       /* byte  0: when it was taken, in milliseconds since 1970-01-01 UTC */
  uint64_t memory_total; /* byte  8: bytes of memory */
  uint64_t memory_used;  /* byte 16: those of them that are taken */
  double cpu;            /* byte 24: share of all cores' time spent working since the last state, 0 to 1 */
  double load_1;         /* byte 32: load average of the last minute */
  double load_5;         /* byte 40: ... of the last 5 minutes */
  double load_15;        /* byte 48: ... of the last 15 minutes */
  uint32_t cores;        /* byte 56: how many cores there are */
  uint32_t running;      /* byte 60: how many threads run or wait for a core */
} load_state;

_Static_assert(sizeof(load_state) == 64, "other languages rely on it");
_Static_assert(offsetof(load_state, cpu) == 24, "other languages rely on it");
_Static_assert(offsetof(load_state, running) == 60, "other languages rely on it");

/* What svk_service_api gives for a sampler. */
typedef struct sampler_api {
  /* Where its states come from, for people. Lives as long as the sampler. */
  const char *source;

  /*
   * Takes a new state every interval_ns from now on, on a thread of the sampler's own, until the sampler
   * is destroyed or its source has no more. Called again it only changes the interval.
   */
  svk_status (*start)(svk_service *sampler, int64_t interval_ns);
} sampler_api;

/*
 * What makes one sampler differ from another. `next` fills in all of the state but its time, and answers
 * SVK_OK, or SVK_CLOSED when there is no more. A function that fails says why in the log.
 */
typedef struct sample_source {
  const char *name;
  svk_status (*open)(const char *argument, logger *log, void **source);
  svk_status (*next)(void *source, load_state *state);
  void (*close)(void *source);
} sample_source;

extern const sample_source live_source;    /* sampler_live.c: this machine, now */
extern const sample_source preview_source; /* sampler_preview.c: a recording; `argument` is its path */
extern const sample_source test_source;    /* sampler_test.c: states that are always the same */

/* Failures of the sampler's own, which come back unchanged from svk_resolve. */
enum {
  SAMPLER_NO_SOURCE = SVK_FACTORY_ERROR_BASE + 1, /* the source cannot be opened or read */
  SAMPLER_NO_MEMORY
};

/* Registers a sampler with that source for one context. It requires the clock and the logger. */
svk_status sampler_register(svk_container *container, const char *context, const sample_source *source,
                            const char *argument);

#endif
