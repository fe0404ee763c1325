/*
 * A plug-in that registers a clock, which needs the host's logger.
 *
 * It is linked without the library: the functions that it calls are those of its host's process, so that host
 * and plug-in have one engine whatever the host has linked.
 */
#include "plugin_clock.h"

#include <inttypes.h>
#include <servicekit.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct state {
  plugin_clock base; /* first: a pointer to the one is a pointer to the other */
  const plugin_logger *logger;
  svk_stream *stream;
  plugin_time now;
} state;

/* For one thread at a time: it is a small clock. */
static void advance(const plugin_clock *clock, uint64_t seconds) {
  state *self = (state *)clock;
  char text[64];
  self->now.seconds += seconds;
  snprintf(text, sizeof text, "the clock is advanced to %" PRIu64, self->now.seconds);
  self->logger->write(self->logger, text);
  svk_stream_send(self->stream, &self->now, sizeof self->now);
}

static svk_status create(svk_resolver *resolver, void **instance, void *user_data) {
  (void)user_data;
  void *logger;
  /* From here on the logger is kept until the clock has been destroyed. */
  svk_status status = svk_require(resolver, PLUGIN_LOGGER_KEY, &logger);
  if (status != SVK_OK)
    return status;
  state *self = calloc(1, sizeof *self);
  if (!self)
    return SVK_FACTORY_ERROR_BASE;
  self->base.advance = advance;
  self->logger = logger;
  svk_service *service = NULL;
  status = svk_stream_create(NULL, &self->stream);
  if (status == SVK_OK) {
    svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
    options.api = &self->base;
    options.initial = &self->now;
    options.initial_size = sizeof self->now;
    options.stream = self->stream;
    status = svk_service_create(&options, &service);
  }
  if (status != SVK_OK) {
    svk_stream_destroy(self->stream);
    free(self);
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
  svk_stream_destroy(self->stream);
  self->logger->write(self->logger, "the clock is destroyed");
  free(self);
}

int32_t plugin_clock_register(struct svk_container *container) {
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = create;
  options.destroy = destroy;
  options.scope = SVK_SCOPE_SHARED;
  options.type = PLUGIN_CLOCK_TYPE;
  return svk_register(container, PLUGIN_CLOCK_KEY, &options);
}
