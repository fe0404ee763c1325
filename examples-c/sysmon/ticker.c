#define _GNU_SOURCE
#include "ticker.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct ticker {
  int (*tick)(void *argument);
  void *argument;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int64_t interval_ns; /* 0: not started */
  int restarted, stopping;
};

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void *run(void *argument) {
  ticker *self = argument;
  int more = 1;
  pthread_mutex_lock(&self->lock);
  int64_t due = now_ns() + self->interval_ns;
  while (more && !self->stopping) {
    struct timespec until = { (time_t)(due / 1000000000), (long)(due % 1000000000) };
    int result = pthread_cond_timedwait(&self->changed, &self->lock, &until);
    if (self->restarted) {
      self->restarted = 0;
      due = now_ns() + self->interval_ns;
    } else if (result == ETIMEDOUT && !self->stopping) {
      due += self->interval_ns; /* from the last due time, so that the ticks do not drift */
      if (due < now_ns())
        due = now_ns(); /* after a long pause, no burst of ticks to catch up */
      pthread_mutex_unlock(&self->lock);
      more = self->tick(self->argument);
      pthread_mutex_lock(&self->lock);
    }
  }
  pthread_mutex_unlock(&self->lock);
  return NULL;
}

ticker *ticker_create(int (*tick)(void *argument), void *argument) {
  ticker *self = calloc(1, sizeof *self);
  if (!self)
    return NULL;
  self->tick = tick;
  self->argument = argument;
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&self->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  pthread_mutex_init(&self->lock, NULL);
  return self;
}

int ticker_start(ticker *self, int64_t interval_ns) {
  if (interval_ns <= 0)
    return 0;
  pthread_mutex_lock(&self->lock);
  int first = self->interval_ns == 0;
  self->interval_ns = interval_ns;
  int failed = first && pthread_create(&self->thread, NULL, run, self) != 0;
  if (failed)
    self->interval_ns = 0;
  else if (!first)
    self->restarted = 1;
  pthread_cond_signal(&self->changed);
  pthread_mutex_unlock(&self->lock);
  return !failed;
}

int ticker_free(ticker *self) {
  if (!self)
    return 0;
  pthread_mutex_lock(&self->lock);
  self->stopping = 1;
  int started = self->interval_ns != 0;
  pthread_cond_signal(&self->changed);
  pthread_mutex_unlock(&self->lock);
  if (started)
    pthread_join(self->thread, NULL);
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->lock);
  free(self);
  return started;
}
