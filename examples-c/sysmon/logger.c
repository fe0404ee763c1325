#define _GNU_SOURCE
#include "logger.h"

#include "clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct timed_logger {
  logger base; /* first: a pointer to the one is a pointer to the other */
  sysmon_clock *clock;
} timed_logger;

static void write_timed(logger *self, const char *message) {
  sysmon_clock *clock = ((timed_logger *)self)->clock;
  time_t seconds = (time_t)(clock->now_ms(clock) / 1000);
  struct tm local;
  char text[16];
  strftime(text, sizeof text, "%H:%M:%S", localtime_r(&seconds, &local));
  fprintf(stderr, "sysmon %s  %s\n", text, message);
}

/*
 * What it requires is leased to it: the clock will be there until this logger has been destroyed. Nobody
 * counts anything.
 */
static svk_status create_logger(svk_resolver *resolver, void **instance, void *user_data) {
  (void)user_data;
  void *clock;
  svk_status status = svk_require(resolver, CLOCK_KEY, &clock);
  if (status != SVK_OK)
    return status;
  timed_logger *self = malloc(sizeof *self);
  if (!self)
    return SVK_FACTORY_ERROR_BASE;
  self->base.write = write_timed;
  self->clock = clock;
  *instance = self;
  return SVK_OK;
}

static void destroy_logger(void *instance, void *user_data) {
  (void)user_data;
  free(instance);
}

static void write_plain(logger *self, const char *message) {
  (void)self;
  fprintf(stderr, "sysmon: %s\n", message);
}

static svk_status create_test_logger(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver, (void)user_data;
  static logger plain = { write_plain };
  *instance = &plain;
  return SVK_OK;
}

svk_status logger_register(svk_container *container) {
  static const char *const required[] = { CLOCK_KEY, NULL };
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = create_logger;
  options.destroy = destroy_logger;
  options.scope = SVK_SCOPE_CACHED;
  options.type = LOGGER_TYPE;
  options.required_keys = required;
  svk_status status = svk_register(container, LOGGER_KEY, &options);
  if (status != SVK_OK)
    return status;
  svk_factory_options for_test = SVK_FACTORY_OPTIONS_INIT;
  for_test.create = create_test_logger;
  for_test.scope = SVK_SCOPE_CACHED;
  for_test.type = LOGGER_TYPE;
  return svk_register_for(container, LOGGER_KEY, "test", &for_test);
}
