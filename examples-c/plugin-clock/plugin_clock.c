/*
 * A plug-in that registers a clock, which needs the host's logger and follows the host's speed.
 *
 * It is linked without the library: the functions that it calls are those of its host's process, so that host
 * and plug-in have one engine whatever the host has linked.
 */
#include "plugin_clock.h"

#include <inttypes.h>
#include <servicekit.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct state {
  plugin_clock base; /* first: a pointer to the one is a pointer to the other */
  const plugin_logger *logger;
  svk_subscription *speed;
  _Atomic uint32_t seconds_per_tick; /* set on whichever thread the host changes the speed */
  svk_stream *stream;
  plugin_time now;
} state;

/* For one thread at a time: it is a small clock. */
static void tick(const plugin_clock *clock) {
  state *self = (state *)clock;
  char text[64];
  self->now.seconds += atomic_load(&self->seconds_per_tick);
  snprintf(text, sizeof text, "the clock shows %" PRIu64 " s", self->now.seconds);
  self->logger->write(self->logger, text);
  svk_stream_send(self->stream, &self->now, sizeof self->now);
}

static void set_speed(const svk_state *speed, void *user_data) {
  plugin_speed new_speed;
  if (speed->size != sizeof new_speed)
    return;
  memcpy(&new_speed, speed->data, sizeof new_speed);
  atomic_store(&((state *)user_data)->seconds_per_tick, new_speed.seconds_per_tick);
}

/* What has not been made is NULL, which the library recognises. */
static void end(state *self) {
  svk_subscription_cancel(self->speed);
  svk_stream_destroy(self->stream);
  free(self);
}

static svk_status begin(state *self, svk_service *speed, svk_service **service) {
  svk_observer_options observer = SVK_OBSERVER_OPTIONS_INIT;
  observer.flags = SVK_OBSERVE_CURRENT;
  observer.on_state = set_speed;
  observer.user_data = self;
  svk_status status = svk_service_observe(speed, &observer, &self->speed);
  if (status == SVK_OK)
    status = svk_stream_create(NULL, &self->stream);
  if (status != SVK_OK)
    return status;
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.api = &self->base;
  options.initial = &self->now;
  options.initial_size = sizeof self->now;
  options.stream = self->stream;
  return svk_service_create(&options, service);
}

static svk_status create(svk_resolver *resolver, void **instance, void *user_data) {
  (void)user_data;
  /* What is required here is kept until the clock has been destroyed. */
  void *logger, *speed;
  svk_status status = svk_require(resolver, PLUGIN_LOGGER_KEY, &logger);
  if (status == SVK_OK)
    status = svk_require(resolver, PLUGIN_SPEED_KEY, &speed);
  if (status != SVK_OK)
    return status;

  state *self = calloc(1, sizeof *self);
  if (!self)
    return SVK_FACTORY_ERROR_BASE;
  self->base.tick = tick;
  self->logger = logger;
  svk_service *service;
  status = begin(self, speed, &service);
  if (status != SVK_OK) {
    end(self);
    return status;
  }
  self->logger->write(self->logger, "the clock is made");
  *instance = service;
  return SVK_OK;
}

static void destroy(void *instance, void *user_data) {
  (void)user_data;
  state *self = (state *)svk_service_api(instance);
  svk_service_close(instance);
  self->logger->write(self->logger, "the clock is destroyed");
  end(self);
}

int32_t plugin_clock_register(struct svk_container *container) {
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = create;
  options.destroy = destroy;
  options.scope = SVK_SCOPE_SHARED;
  options.type = PLUGIN_CLOCK_TYPE;
  return svk_register(container, PLUGIN_CLOCK_KEY, &options);
}
