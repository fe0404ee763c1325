#include "counter.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct counter {
  svk_stream *stream;
  svk_service *service;
  svk_dispatcher *dispatcher;
  svk_subscription *subscription;
  pthread_t thread;
  int counting, last;
};

static void *count(void *user_data) {
  counter *self = user_data;
  const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
  for (int i = 1; i <= self->last && svk_stream_send(self->stream, &i, sizeof i) == SVK_OK; i++)
    nanosleep(&pause, NULL);
  svk_stream_finish(self->stream);
  return NULL;
}

counter *counter_start(int last) {
  counter *self = calloc(1, sizeof *self);
  if (!self)
    return NULL;
  self->last = last;
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  if (svk_stream_create(NULL, &self->stream) == SVK_OK) {
    options.stream = self->stream;
    if (svk_service_create(&options, &self->service) == SVK_OK &&
        svk_dispatcher_create(&self->dispatcher) == SVK_OK)
      return self;
  }
  counter_stop(self);
  return NULL;
}

svk_dispatcher *counter_watch(counter *self, svk_state_fn on_state, svk_finish_fn on_finish,
                              void *user_data) {
  svk_observer_options observer = SVK_OBSERVER_OPTIONS_INIT;
  observer.delivery = SVK_DELIVER_DISPATCHER;
  observer.dispatcher = self->dispatcher;
  observer.on_state = on_state;
  observer.on_finish = on_finish;
  observer.user_data = user_data;
  if (svk_service_observe(self->service, &observer, &self->subscription) != SVK_OK)
    return NULL;
  self->counting = pthread_create(&self->thread, NULL, count, self) == 0;
  return self->counting ? self->dispatcher : NULL;
}

void counter_stop(counter *self) {
  svk_subscription_cancel(self->subscription);
  svk_service_close(self->service); /* from now on the thread's sends fail, and it ends */
  if (self->counting)
    pthread_join(self->thread, NULL);
  svk_dispatcher_destroy(self->dispatcher);
  svk_stream_destroy(self->stream);
  free(self);
}
