/*
 * After a cancel has returned SVK_OK no callback of it runs or will run, and user_data has been freed: with
 * senders, observers that come and go, and cancels from everywhere, all at once.
 */
#include "check_state.h"

/* A subscription with a life of its own. It is freed by its user_data_free: a late callback touches freed
 * memory. */
struct subject {
  struct storm *storm;
  _Atomic int quiet; /* cancelled, with SVK_OK */
  _Atomic int inside, calls, finished;
  _Atomic(svk_subscription *) subscription; /* once it is known */
  int cancel_at;                            /* cancels itself from this call on; 0: never */
  uint64_t last;
};

struct storm {
  svk_stream *stream;
  svk_service *service;
  svk_dispatcher *dispatcher;
  int32_t delivery;
  _Atomic int working, made, freed, late, overlapping, disordered, called, self_cancelled;
};

static void subject_state(const svk_state *state, void *user_data) {
  struct subject *subject = user_data;
  struct storm *storm = subject->storm;
  if (atomic_exchange_explicit(&subject->inside, 1, memory_order_relaxed) != 0)
    atomic_fetch_add(&storm->overlapping, 1);
  if (atomic_load_explicit(&subject->quiet, memory_order_relaxed))
    atomic_fetch_add(&storm->late, 1);
  if (state->version <= subject->last)
    atomic_fetch_add(&storm->disordered, 1);
  subject->last = state->version;
  atomic_fetch_add_explicit(&storm->called, 1, memory_order_relaxed);
  int calls = atomic_fetch_add_explicit(&subject->calls, 1, memory_order_relaxed) + 1;
  svk_subscription *own = atomic_load(&subject->subscription);
  if (own != NULL && subject->cancel_at != 0 && calls >= subject->cancel_at) {
    svk_status status = calls % 2 ? svk_subscription_cancel(own) : svk_subscription_cancel_nowait(own);
    if (status == SVK_DEFERRED)
      atomic_fetch_add(&storm->self_cancelled, 1);
    else
      CHECK_STATUS(status, SVK_INVALID_HANDLE); /* another thread was quicker */
  }
  if (atomic_load_explicit(&subject->quiet, memory_order_relaxed))
    atomic_fetch_add(&storm->late, 1);
  atomic_store_explicit(&subject->inside, 0, memory_order_relaxed);
}

static void subject_free(void *user_data) {
  struct subject *subject = user_data;
  if (atomic_load_explicit(&subject->inside, memory_order_relaxed))
    atomic_fetch_add(&subject->storm->overlapping, 1);
  atomic_fetch_add(&subject->storm->freed, 1);
  memset(subject, 0xdd, sizeof *subject);
  free(subject);
}

static struct subject *subject_create(struct storm *storm, int cancel_at) {
  struct subject *subject = calloc(1, sizeof *subject);
  MUST(subject != NULL);
  subject->storm = storm;
  subject->cancel_at = cancel_at;
  return subject;
}

static svk_subscription *subject_observe(struct storm *storm, struct subject *subject, int32_t delivery) {
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.delivery = delivery;
  options.dispatcher = storm->dispatcher;
  options.buffering = SVK_BUFFER_NEWEST;
  options.capacity = 8;
  options.on_state = subject_state;
  options.user_data = subject;
  options.user_data_free = subject_free;
  svk_subscription *subscription = NULL;
  MUST_OK(svk_service_observe(storm->service, &options, &subscription));
  atomic_fetch_add(&storm->made, 1);
  return subscription;
}

/* Two send, one dispatches, two observe and cancel. */
static void storm_run(int index, void *pointer) {
  struct storm *storm = pointer;
  if (index < 2) {
    for (int i = 0; atomic_load(&storm->working) > 0; i++)
      CHECK_OK(send_number(storm->stream, i));
    return;
  }
  if (index == 2) {
    while (atomic_load(&storm->working) > 0)
      svk_dispatcher_dispatch(storm->dispatcher, 3, 0, NULL);
    return;
  }
  for (int i = iterations(200); i > 0; i--) {
    int32_t delivery = storm->delivery;
    struct subject *subject = subject_create(storm, 0);
    svk_subscription *subscription = subject_observe(storm, subject, delivery);
    dawdle(i % 5);
    int freed_before = atomic_load(&storm->freed);
    if (i % 2) {
      CHECK_OK(svk_subscription_cancel(subscription)); /* subject is gone from here on: that is the check */
      CHECK(atomic_load(&storm->freed) > freed_before);
    } else {
      svk_status status = svk_subscription_cancel_nowait(subscription);
      CHECK(status == SVK_OK || status == SVK_DEFERRED);
    }
  }
  atomic_fetch_sub(&storm->working, 1);
}

static void storm_open(struct storm *storm, int32_t delivery) {
  memset(storm, 0, sizeof *storm);
  storm->delivery = delivery;
  storm->stream = new_stream(SVK_BUFFER_NEWEST, 64);
  storm->dispatcher = new_dispatcher();
  storm->service = new_inline_service(storm->stream);
  atomic_store(&storm->working, 2);
}

static void storm_close(struct storm *storm) {
  CHECK_OK(svk_service_close(storm->service));
  CHECK_OK(svk_stream_destroy(storm->stream));
  CHECK_OK(svk_dispatcher_destroy(storm->dispatcher));
  while (atomic_load(&storm->freed) < storm->made) /* the worker may still be in one that was deferred */
    sched_yield();
  CHECK_EQ(storm->freed, storm->made);
  CHECK_EQ(storm->late, 0);
  CHECK_EQ(storm->overlapping, 0);
  CHECK_EQ(storm->disordered, 0);
}

static void test_come_and_go(void) {
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_PULL; delivery++) {
    struct storm storm;
    storm_open(&storm, delivery);
    run_threads(5, storm_run, &storm);
    storm_close(&storm);
  }
}

/* The same without freeing: a flag is set after the cancel, and every callback looks at it. */
static void keep(void *user_data) {
  struct subject *subject = user_data;
  atomic_fetch_add(&subject->storm->freed, 1);
}

static void flag_run(int index, void *pointer) {
  struct storm *storm = pointer;
  if (index < 3) {
    storm_run(index, pointer);
    return;
  }
  int times = iterations(300);
  struct subject *subjects = calloc((size_t)times, sizeof *subjects); /* alive until the end */
  MUST(subjects != NULL);
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.dispatcher = storm->dispatcher;
  options.on_state = subject_state;
  options.user_data_free = keep;
  for (int i = 0; i < times; i++) {
    subjects[i].storm = storm;
    options.delivery = i % 3;
    options.buffering = i % 2 ? SVK_BUFFER_NEWEST : SVK_BUFFER_OLDEST;
    options.capacity = 4;
    options.flags = i % 5 ? SVK_OBSERVE_CURRENT : 0;
    options.user_data = &subjects[i];
    svk_subscription *subscription = NULL;
    MUST_OK(svk_service_observe(storm->service, &options, &subscription));
    atomic_fetch_add(&storm->made, 1);
    dawdle(i % 6);
    CHECK_OK(svk_subscription_cancel(subscription));
    atomic_store_explicit(&subjects[i].quiet, 1, memory_order_relaxed);
  }
  atomic_fetch_sub(&storm->working, 1);
  while (atomic_load(&storm->working) > 0)
    sched_yield();
  CHECK_OK(send_number(storm->stream, 1)); /* and nobody of them hears it */
  free(subjects);
}

static void test_flags(void) {
  struct storm storm;
  storm_open(&storm, SVK_DELIVER_INLINE);
  CHECK_OK(send_number(storm.stream, 1)); /* versions from 1 on, for `last` */
  run_threads(5, flag_run, &storm);
  storm_close(&storm);
}

/* They cancel themselves, and others cancel them at the same time. */
static void self_run(int index, void *pointer) {
  struct storm *storm = pointer;
  if (index < 3) {
    storm_run(index, pointer);
    return;
  }
  for (int i = iterations(200); i > 0; i--) {
    struct subject *subject = subject_create(storm, 1 + i % 3);
    svk_subscription *subscription = subject_observe(storm, subject, i % 3);
    atomic_store(&subject->subscription, subscription); /* nobody can have ended it before */
    dawdle(i % 8);
    svk_status status = svk_subscription_cancel(subscription);
    CHECK(status == SVK_OK || status == SVK_INVALID_HANDLE);
  }
  atomic_fetch_sub(&storm->working, 1);
}

static void test_they_cancel_themselves(void) {
  struct storm storm;
  storm_open(&storm, SVK_DELIVER_INLINE);
  run_threads(5, self_run, &storm);
  storm_close(&storm);
}

/* Observers of one service that cancel each other from their callbacks, on the threads of two dispatchers. */
struct feud {
  struct storm storms[2]; /* for the dispatchers */
  _Atomic(svk_subscription *) current[2];
};

static struct feud feud;

static void feud_state(const svk_state *state, void *user_data) {
  struct subject *subject = user_data;
  int side = subject->storm == &feud.storms[1];
  subject_state(state, subject);
  svk_subscription *opponent = atomic_exchange(&feud.current[!side], NULL);
  if (opponent != NULL) {
    svk_status status = svk_subscription_cancel(opponent);
    CHECK(status == SVK_OK || status == SVK_DEFERRED);
  }
}

static _Atomic int feuding;

static void feud_run(int index, void *pointer) {
  (void)pointer;
  if (index == 2) {
    while (atomic_load(&feuding) > 0)
      CHECK_OK(send_number(feud.storms[0].stream, 1));
    return;
  }
  struct storm *storm = &feud.storms[index];
  for (int i = iterations(3000); i > 0; i--) {
    if (atomic_load(&feud.current[index]) == NULL) {
      struct subject *subject = subject_create(storm, 0);
      svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
      options.delivery = SVK_DELIVER_DISPATCHER;
      options.dispatcher = storm->dispatcher;
      options.buffering = SVK_BUFFER_NEWEST;
      options.capacity = 4;
      options.on_state = feud_state;
      options.user_data = subject;
      options.user_data_free = subject_free;
      svk_subscription *subscription = NULL;
      MUST_OK(svk_service_observe(feud.storms[0].service, &options, &subscription));
      atomic_fetch_add(&storm->made, 1);
      atomic_store(&feud.current[index], subscription);
    }
    svk_dispatcher_dispatch(storm->dispatcher, 2, 100000, NULL);
  }
  atomic_fetch_sub(&feuding, 1);
}

static void test_they_cancel_each_other(void) {
  for (int i = 0; i < 2; i++)
    storm_open(&feud.storms[i], SVK_DELIVER_DISPATCHER);
  atomic_store(&feuding, 2);
  run_threads(3, feud_run, NULL);
  CHECK(feud.storms[0].made + feud.storms[1].made > 2);
  for (int i = 0; i < 2; i++)
    storm_close(&feud.storms[i]);
}

int main(void) {
  RUN(test_come_and_go);
  RUN(test_flags);
  RUN(test_they_cancel_themselves);
  RUN(test_they_cancel_each_other);
  return check_done();
}
