/*
 * What the tests of streams, services, observers and dispatchers need beyond check.h: callbacks that keep
 * books and check by themselves what holds always, and short ways to make and send things.
 */
#ifndef CHECK_STATE_H
#define CHECK_STATE_H

#include "check.h"

#include <poll.h>
#include <sched.h>
#include <time.h>

#define MILLISECOND INT64_C(1000000)
#define FOR_EVER INT64_C(-1)

static CHECK_UNUSED int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A moment, to vary how threads meet. No check depends on it. */
static CHECK_UNUSED void dawdle(int moments) {
  for (volatile int i = 0; i < moments * 200; i++)
    ;
}

/* Threads pass it, and another one waits for the n-th. */
struct milestone {
  _Atomic int passed;
  struct counter reached;
};

#define MILESTONE_INIT { .reached = COUNTER_INIT }

static CHECK_UNUSED void milestone_pass(struct milestone *milestone, int n) {
  if (atomic_fetch_add(&milestone->passed, 1) + 1 == n)
    counter_add(&milestone->reached, 1);
}

static CHECK_UNUSED void milestone_wait(struct milestone *milestone) { counter_wait(&milestone->reached, 1); }

/* Whether poll sees something to read, now. */
static CHECK_UNUSED int readable(int fd) {
  struct pollfd entry = { fd, POLLIN, 0 };
  return poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

/* ---- Watches: the user_data of a service or an observer ---- */

enum { WATCH_MAX = 64 };

/*
 * Counts and keeps the first calls. Each call checks: no other one of this watch is running, none comes after
 * the end, after the free or after `quiet`; versions rise; the data are aligned.
 */
struct watch {
  void (*on_state)(struct watch *watch, const svk_state *state); /* what else to do; may be NULL */
  void (*on_finish)(struct watch *watch);
  void (*on_free)(struct watch *watch);
  void *context; /* for these three */
  svk_subscription *subscription;
  svk_service *service;

  /* Written without a lock: the library keeps the calls apart. Read them when it is quiet. */
  int count;                    /* of on_state */
  uint64_t versions[WATCH_MAX]; /* of the first calls */
  uint64_t dropped[WATCH_MAX];
  long numbers[WATCH_MAX]; /* the states, where they are numbers (send_number) */
  uint64_t last_version, last_dropped, dropped_sum;
  long last_number;
  pthread_t thread; /* of the last call */

  struct counter calls;        /* of on_state and on_finish, when they are done */
  _Atomic int inside, quiet;   /* quiet: no call may come any more */
  _Atomic int finished, freed; /* calls of on_finish and user_data_free */
  _Atomic int entered;         /* calls of on_state that have begun */
};

#define WATCH_INIT { .calls = COUNTER_INIT }

static CHECK_UNUSED long number_of(const svk_state *state) {
  long number = -1;
  if (state->data != NULL && state->size == sizeof number)
    memcpy(&number, state->data, sizeof number);
  return number;
}

static CHECK_UNUSED void watch_enter(struct watch *watch) {
  CHECK(atomic_exchange_explicit(&watch->inside, 1, memory_order_relaxed) == 0);
  CHECK(atomic_load_explicit(&watch->quiet, memory_order_relaxed) == 0);
  CHECK(atomic_load_explicit(&watch->freed, memory_order_relaxed) == 0);
  CHECK(atomic_load_explicit(&watch->finished, memory_order_relaxed) == 0);
  watch->thread = pthread_self();
}

static CHECK_UNUSED void watch_state(const svk_state *state, void *user_data) {
  struct watch *watch = user_data;
  watch_enter(watch);
  CHECK(watch->count == 0 || state->version > watch->last_version);
  CHECK(state->size == 0 || (state->data != NULL && (uintptr_t)state->data % 16 == 0));
  watch->last_version = state->version;
  watch->last_dropped = state->dropped;
  watch->last_number = number_of(state);
  watch->dropped_sum += state->dropped;
  if (watch->count < WATCH_MAX) {
    watch->versions[watch->count] = watch->last_version;
    watch->dropped[watch->count] = watch->last_dropped;
    watch->numbers[watch->count] = watch->last_number;
  }
  watch->count++;
  atomic_fetch_add_explicit(&watch->entered, 1, memory_order_relaxed);
  if (watch->on_state != NULL)
    watch->on_state(watch, state);
  atomic_store_explicit(&watch->inside, 0, memory_order_relaxed);
  counter_add(&watch->calls, 1);
}

static CHECK_UNUSED void watch_finish(void *user_data) {
  struct watch *watch = user_data;
  watch_enter(watch);
  atomic_fetch_add_explicit(&watch->finished, 1, memory_order_relaxed);
  if (watch->on_finish != NULL)
    watch->on_finish(watch);
  atomic_store_explicit(&watch->inside, 0, memory_order_relaxed);
  counter_add(&watch->calls, 1);
}

static CHECK_UNUSED void watch_free(void *user_data) {
  struct watch *watch = user_data;
  CHECK(atomic_load_explicit(&watch->inside, memory_order_relaxed) == 0);
  CHECK(atomic_fetch_add(&watch->freed, 1) == 0);
  if (watch->on_free != NULL)
    watch->on_free(watch);
}

/* ---- Short ways ---- */

static CHECK_UNUSED svk_stream *new_stream(int32_t buffering, size_t capacity) {
  svk_stream_options options = SVK_STREAM_OPTIONS_INIT;
  options.buffering = buffering;
  options.capacity = capacity;
  svk_stream *stream = NULL;
  MUST_OK(svk_stream_create(&options, &stream));
  MUST(stream != NULL);
  return stream;
}

/* With `initial` as its version 0. The watch may be NULL. */
static CHECK_UNUSED svk_service *new_service(svk_stream *stream, int32_t delivery, svk_dispatcher *dispatcher,
                                             struct watch *watch, long initial) {
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = stream;
  options.initial = &initial;
  options.initial_size = sizeof initial;
  options.delivery = delivery;
  options.dispatcher = dispatcher;
  if (watch != NULL) {
    options.on_state = watch_state;
    options.on_finish = watch_finish;
    options.user_data = watch;
    options.user_data_free = watch_free;
  }
  svk_service *service = NULL;
  MUST_OK(svk_service_create(&options, &service));
  MUST(service != NULL);
  if (watch != NULL)
    watch->service = service;
  return service;
}

static CHECK_UNUSED svk_service *new_inline_service(svk_stream *stream) {
  return new_service(stream, SVK_DELIVER_INLINE, NULL, NULL, 0);
}

static CHECK_UNUSED svk_dispatcher *new_dispatcher(void) {
  svk_dispatcher *dispatcher = NULL;
  MUST_OK(svk_dispatcher_create(&dispatcher));
  MUST(dispatcher != NULL);
  return dispatcher;
}

static CHECK_UNUSED svk_observer_options observer_options(struct watch *watch, int32_t delivery,
                                                          svk_dispatcher *dispatcher) {
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.delivery = delivery;
  options.dispatcher = dispatcher;
  options.on_state = watch_state;
  options.on_finish = watch_finish;
  options.user_data = watch;
  options.user_data_free = watch_free;
  return options;
}

/* Fills in watch->subscription, and gives it. */
static CHECK_UNUSED svk_subscription *observe_with(svk_service *service,
                                                   const svk_observer_options *options) {
  struct watch *watch = options->user_data;
  MUST_OK(svk_service_observe(service, options, &watch->subscription));
  MUST(watch->subscription != NULL);
  return watch->subscription;
}

static CHECK_UNUSED svk_subscription *observe(svk_service *service, struct watch *watch, int32_t delivery,
                                              svk_dispatcher *dispatcher) {
  svk_observer_options options = observer_options(watch, delivery, dispatcher);
  return observe_with(service, &options);
}

/* A pull subscription without user_data. */
static CHECK_UNUSED svk_subscription *observe_pull(svk_service *service, uint32_t flags, int32_t buffering,
                                                   size_t capacity) {
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.flags = flags;
  options.delivery = SVK_DELIVER_PULL;
  options.buffering = buffering;
  options.capacity = capacity;
  svk_subscription *subscription = NULL;
  MUST_OK(svk_service_observe(service, &options, &subscription));
  MUST(subscription != NULL);
  return subscription;
}

static CHECK_UNUSED svk_status send_number(svk_stream *stream, long number) {
  return svk_stream_send(stream, &number, sizeof number);
}

/* Cancels, outside of all callbacks: quiet, and freed once. */
static CHECK_UNUSED void cancel_watch(struct watch *watch) {
  CHECK_OK(svk_subscription_cancel(watch->subscription));
  atomic_store(&watch->quiet, 1);
  CHECK_EQ(watch->freed, 1);
}

/* The same for a service made by new_service. */
static CHECK_UNUSED void close_watch(struct watch *watch) {
  CHECK_OK(svk_service_close(watch->service));
  atomic_store(&watch->quiet, 1);
  CHECK_EQ(watch->freed, 1);
}

/* Runs what is ready, and gives how many callbacks that were. */
static CHECK_UNUSED int drain(svk_dispatcher *dispatcher) {
  size_t sum = 0;
  for (;;) {
    size_t count = 12345;
    svk_status status = svk_dispatcher_dispatch(dispatcher, 0, 0, &count);
    if (status == SVK_TIMEOUT) {
      CHECK_EQ(count, 0);
      return (int)sum;
    }
    if (!CHECK_OK(status))
      return (int)sum;
    sum += count;
  }
}

/* The number that svk_service_read gives; its version too. */
static CHECK_UNUSED long read_number(svk_service *service, uint64_t *version) {
  long number = -1;
  size_t size = 0;
  CHECK_OK(svk_service_read(service, &number, sizeof number, &size, version));
  CHECK_EQ(size, sizeof number);
  return number;
}

/* Whether the next state of a pull subscription is this one. */
static CHECK_UNUSED void check_next(svk_subscription *subscription, uint64_t version, long number,
                                    uint64_t dropped, const char *file, int line) {
  long taken = -1;
  size_t size = 0;
  uint64_t taken_version = 0, taken_dropped = 0;
  svk_status status = svk_subscription_next_copy(subscription, 0, &taken, sizeof taken, &size, &taken_version,
                                                 &taken_dropped);
  if (!check_status(status, SVK_OK, "svk_subscription_next_copy", file, line))
    return;
  check_number((long long)size, sizeof taken, "size", file, line);
  check_number((long long)taken_version, (long long)version, "version", file, line);
  check_number(taken, number, "number", file, line);
  check_number((long long)taken_dropped, (long long)dropped, "dropped", file, line);
}
#define CHECK_NEXT(subscription, version, number, dropped) \
  check_next((subscription), (version), (number), (dropped), __FILE__, __LINE__)

static CHECK_UNUSED uint64_t dropped_total(svk_subscription *subscription) {
  uint64_t total = 12345;
  CHECK_OK(svk_subscription_dropped(subscription, &total));
  return total;
}

/* A thread that one test starts and joins. */
static CHECK_UNUSED pthread_t start_thread(void *(*run)(void *), void *argument) {
  pthread_t thread;
  MUST(pthread_create(&thread, NULL, run, argument) == 0);
  return thread;
}

static CHECK_UNUSED void join_thread(pthread_t thread) { MUST(pthread_join(thread, NULL) == 0); }

#endif
