/*
 * What all samplers have in common: the factory, the stream and the service, and the thread that takes a
 * state from the source every so often.
 */
#include "sampler.h"

#include "clock.h"
#include "ticker.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct sampler {
  sampler_api api; /* first, so that svk_service_api gives the address of the whole */
  const sample_source *source;
  void *opened;
  sysmon_clock *clock;
  logger *log;
  svk_stream *stream;
  svk_service *service;
  ticker *ticker;
} sampler;

/* What a registration keeps: which source its samplers have. */
typedef struct registration {
  const sample_source *source;
  const char *argument;
} registration;

static svk_status take(sampler *self, load_state *state) {
  svk_status status = self->source->next(self->opened, state);
  state->time_ms = self->clock->now_ms(self->clock);
  return status;
}

/* Runs on the ticker's thread. Each observer is called on the thread that it chose. */
static int tick(void *argument) {
  sampler *self = argument;
  load_state state = { 0 };
  if (take(self, &state) == SVK_OK)
    return svk_stream_send(self->stream, &state, sizeof state) == SVK_OK;
  svk_stream_finish(self->stream);
  return 0;
}

static svk_status start(svk_service *service, int64_t interval_ns) {
  sampler *self = (sampler *)svk_service_api(service);
  if (!self)
    return SVK_INVALID_HANDLE;
  if (!ticker_start(self->ticker, interval_ns))
    return SVK_SYSTEM_ERROR;
  char message[64];
  snprintf(message, sizeof message, "%s: a state every %g s", self->api.source, (double)interval_ns / 1e9);
  self->log->write(self->log, message);
  return SVK_OK;
}

/* What it requires is still there: the container releases that afterwards. */
static void sampler_free(sampler *self) {
  if (ticker_free(self->ticker)) /* first: after this nobody sends any more */
    self->log->write(self->log, "the sampler has ended");
  if (self->stream)
    svk_stream_destroy(self->stream);
  if (self->service)
    svk_service_close(self->service);
  if (self->opened)
    self->source->close(self->opened);
  free(self);
}

static void destroy_sampler(void *instance, void *user_data) {
  (void)user_data;
  sampler_free((sampler *)svk_service_api(instance));
}

static svk_status build(sampler *self, const char *argument) {
  svk_status status = self->source->open(argument, self->log, &self->opened);
  if (status != SVK_OK)
    return status;
  self->ticker = ticker_create(tick, self);
  if (!self->ticker)
    return SAMPLER_NO_MEMORY;

  load_state first = { 0 };
  status = take(self, &first); /* so that the service has a true state from the beginning */
  if (status != SVK_OK)
    return status;
  status = svk_stream_create(NULL, &self->stream);
  if (status != SVK_OK)
    return status;
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.api = &self->api;
  options.initial = &first;
  options.initial_size = sizeof first;
  options.stream = self->stream;
  return svk_service_create(&options, &self->service);
}

static svk_status create_sampler(svk_resolver *resolver, void **instance, void *user_data) {
  const registration *registered = user_data;
  void *clock = NULL, *log = NULL;
  svk_status status = svk_require(resolver, CLOCK_KEY, &clock);
  if (status == SVK_OK)
    status = svk_require(resolver, LOGGER_KEY, &log);
  if (status != SVK_OK)
    return status;

  sampler *self = calloc(1, sizeof *self);
  if (!self)
    return SAMPLER_NO_MEMORY;
  self->api.source = registered->source->name;
  self->api.start = start;
  self->source = registered->source;
  self->clock = clock;
  self->log = log;
  status = build(self, registered->argument);
  if (status != SVK_OK) {
    sampler_free(self);
    return status;
  }
  *instance = self->service; /* the instance is the service itself */
  return SVK_OK;
}

svk_status sampler_register(svk_container *container, const char *context, const sample_source *source,
                            const char *argument) {
  static const char *const required[] = { CLOCK_KEY, LOGGER_KEY, NULL };
  registration *registered = malloc(sizeof *registered);
  if (!registered)
    return SAMPLER_NO_MEMORY;
  registered->source = source;
  registered->argument = argument;

  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = create_sampler;
  options.destroy = destroy_sampler;
  options.user_data = registered;
  options.user_data_free = free; /* called when neither the registration nor a sampler of it is left */
  options.scope = SVK_SCOPE_CACHED;
  options.type = SAMPLER_TYPE;
  options.required_keys = required;
  svk_status status = svk_register_for(container, SAMPLER_KEY, context, &options);
  if (status != SVK_OK)
    free(registered); /* nothing was kept, so it is still ours */
  return status;
}
