#define _GNU_SOURCE
#include "clock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static int64_t system_now(sysmon_clock *self) {
  (void)self;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* It has no state, so one for all is enough, and there is nothing to destroy. */
static svk_status create_system_clock(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver, (void)user_data;
  static sysmon_clock system_clock = { system_now };
  *instance = &system_clock;
  return SVK_OK;
}

typedef struct test_clock {
  sysmon_clock base; /* first: a pointer to the one is a pointer to the other */
  _Atomic int64_t next_ms;
} test_clock;

static int64_t test_now(sysmon_clock *self) { return atomic_fetch_add(&((test_clock *)self)->next_ms, 1000); }

static svk_status create_test_clock(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver, (void)user_data;
  test_clock *self = malloc(sizeof *self);
  if (!self)
    return SVK_FACTORY_ERROR_BASE;
  self->base.now_ms = test_now;
  atomic_init(&self->next_ms, 1767268800000); /* 2026-01-01, 12:00 UTC */
  *instance = self;
  return SVK_OK;
}

static void destroy_test_clock(void *instance, void *user_data) {
  (void)user_data;
  free(instance);
}

svk_status clock_register(svk_container *container) {
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = create_system_clock;
  options.scope = SVK_SCOPE_CACHED;
  options.type = CLOCK_TYPE;
  svk_status status = svk_register(container, CLOCK_KEY, &options);
  if (status != SVK_OK)
    return status;
  options.create = create_test_clock;
  options.destroy = destroy_test_clock;
  return svk_register_for(container, CLOCK_KEY, "test", &options);
}
