/* Cancelling from other threads: it waits for a running callback outside of callbacks, and never inside. */
#include "check_state.h"

static struct {
  svk_dispatcher *dispatcher;
  svk_stream *stream;
  svk_service *service;
} base;

static void open_base(void) {
  base.dispatcher = new_dispatcher();
  base.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  base.service = new_inline_service(base.stream);
}

static void close_base(void) {
  CHECK_OK(svk_service_close(base.service));
  CHECK_OK(svk_stream_destroy(base.stream));
  CHECK_OK(svk_dispatcher_destroy(base.dispatcher));
}

static struct counter inside = COUNTER_INIT, go_on = COUNTER_INIT;
static _Atomic int left;

static void stay(struct watch *watch, const svk_state *state) {
  (void)watch, (void)state;
  counter_add(&inside, 1);
  counter_wait(&go_on, 1);
  for (int i = 0; i < 200; i++) /* time for a cancel to return too early */
    sched_yield();
  atomic_store(&left, 1);
}

static void reset(void) {
  counter_reset(&inside);
  counter_reset(&go_on);
  atomic_store(&left, 0);
}

static void *send_one(void *stream) {
  CHECK_OK(send_number(stream, 1));
  return NULL;
}

static void *dispatch_one(void *dispatcher) {
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, FOR_EVER, NULL));
  return NULL;
}

/* Sends one state and lets the watch's callback of it run elsewhere, until go_on. The thread is to be joined,
 * except with SVK_DELIVER_BACKGROUND. */
static pthread_t start_callback(struct watch *watch, int32_t delivery) {
  reset();
  watch->on_state = stay;
  observe(base.service, watch, delivery, base.dispatcher);
  pthread_t thread = start_thread(send_one, base.stream);
  if (delivery != SVK_DELIVER_INLINE)
    join_thread(thread);
  if (delivery == SVK_DELIVER_DISPATCHER)
    thread = start_thread(dispatch_one, base.dispatcher);
  counter_wait(&inside, 1);
  return thread;
}

static void test_cancel_waits(void) {
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_BACKGROUND; delivery++) {
    struct watch watch = WATCH_INIT;
    open_base();
    pthread_t thread = start_callback(&watch, delivery);
    counter_add(&go_on, 1);
    CHECK_OK(svk_subscription_cancel(watch.subscription));
    CHECK_EQ(left, 1);
    CHECK_EQ(watch.freed, 1);
    atomic_store(&watch.quiet, 1);
    if (delivery != SVK_DELIVER_BACKGROUND)
      join_thread(thread);
    CHECK_OK(send_number(base.stream, 2));
    drain(base.dispatcher);
    CHECK_EQ(watch.count, 1);
    close_base();
  }
}

static void test_nowait_does_not_wait(void) {
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_BACKGROUND; delivery++) {
    struct watch watch = WATCH_INIT;
    open_base();
    pthread_t thread = start_callback(&watch, delivery);
    CHECK_STATUS(svk_subscription_cancel_nowait(watch.subscription), SVK_DEFERRED);
    CHECK_EQ(left, 0);
    CHECK_EQ(watch.freed, 0);
    CHECK_STATUS(svk_subscription_cancel_nowait(watch.subscription), SVK_INVALID_HANDLE);
    CHECK_STATUS(svk_subscription_cancel(watch.subscription), SVK_INVALID_HANDLE);
    counter_add(&go_on, 1);
    if (delivery != SVK_DELIVER_BACKGROUND)
      join_thread(thread);
    while (atomic_load(&watch.freed) == 0 && CHECK(delivery == SVK_DELIVER_BACKGROUND))
      sched_yield();
    CHECK_EQ(left, 1);
    CHECK_EQ(watch.freed, 1);
    CHECK_OK(send_number(base.stream, 2));
    drain(base.dispatcher);
    CHECK_EQ(watch.count, 1);
    close_base();
    CHECK_EQ(watch.count, 1);
  }
}

/* Without a callback that runs, both are done at once. */
static void test_nothing_to_wait_for(void) {
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_PULL; delivery++)
    for (int nowait = 0; nowait < 2; nowait++) {
      struct watch watch = WATCH_INIT;
      open_base();
      observe(base.service, &watch, delivery, base.dispatcher);
      CHECK_EQ(watch.freed, 0);
      CHECK_OK(nowait ? svk_subscription_cancel_nowait(watch.subscription)
                      : svk_subscription_cancel(watch.subscription));
      CHECK_EQ(watch.freed, 1);
      atomic_store(&watch.quiet, 1);
      CHECK_OK(send_number(base.stream, 1));
      drain(base.dispatcher);
      CHECK_EQ(watch.count, 0);
      close_base();
    }
}

/* A caller that holds a lock which the callback wants. */
static pthread_mutex_t wanted = PTHREAD_MUTEX_INITIALIZER;

static void want_lock(struct watch *watch, const svk_state *state) {
  (void)watch, (void)state;
  counter_add(&inside, 1);
  pthread_mutex_lock(&wanted);
  pthread_mutex_unlock(&wanted);
}

static void test_nowait_with_a_lock(void) {
  struct watch watch = WATCH_INIT;
  reset();
  open_base();
  watch.on_state = want_lock;
  observe(base.service, &watch, SVK_DELIVER_INLINE, NULL);
  pthread_mutex_lock(&wanted);
  pthread_t thread = start_thread(send_one, base.stream);
  counter_wait(&inside, 1);
  CHECK_STATUS(svk_subscription_cancel_nowait(watch.subscription), SVK_DEFERRED);
  CHECK_EQ(watch.freed, 0);
  pthread_mutex_unlock(&wanted);
  join_thread(thread);
  CHECK_EQ(watch.freed, 1);
  close_base();
}

/* ---- Two callbacks that cancel each other, on two threads ---- */

struct duel {
  svk_stream *streams[2];
  svk_service *services[2];
  struct watch watches[2];
  pthread_barrier_t meet;
  int nowait, close;
  svk_status statuses[2];
};

static void cancel_opponent(struct watch *watch, const svk_state *state) {
  (void)state;
  struct duel *duel = watch->context;
  int own = watch == &duel->watches[1];
  pthread_barrier_wait(&duel->meet); /* both are inside */
  svk_subscription *opponent = duel->watches[!own].subscription;
  if (duel->close)
    duel->statuses[own] = svk_service_close(duel->services[!own]);
  else
    duel->statuses[own] =
        duel->nowait ? svk_subscription_cancel_nowait(opponent) : svk_subscription_cancel(opponent);
  pthread_barrier_wait(&duel->meet); /* both have asked */
  CHECK_EQ(duel->watches[0].freed + duel->watches[1].freed, 0);
  pthread_barrier_wait(&duel->meet);
}

static void duel_run(int index, void *pointer) {
  struct duel *duel = pointer;
  CHECK_OK(send_number(duel->streams[index], 1));
}

static void test_two_cancel_each_other(void) {
  for (int i = iterations(200); i > 0; i--)
    for (int way = 0; way < 3; way++) {
      struct duel duel = { .watches = { WATCH_INIT, WATCH_INIT }, .nowait = way == 1, .close = way == 2 };
      pthread_barrier_init(&duel.meet, NULL, 2);
      for (int j = 0; j < 2; j++) {
        duel.streams[j] = new_stream(SVK_BUFFER_UNBOUNDED, 0);
        duel.services[j] = new_inline_service(duel.streams[j]);
        duel.watches[j].context = &duel;
        duel.watches[j].on_state = cancel_opponent;
        observe(duel.services[j], &duel.watches[j], SVK_DELIVER_INLINE, NULL);
      }
      run_threads(2, duel_run, &duel);
      for (int j = 0; j < 2; j++) {
        CHECK_STATUS(duel.statuses[j], SVK_DEFERRED);
        CHECK_EQ(duel.watches[j].freed, 1);
        CHECK_EQ(duel.watches[j].count, 1);
        CHECK_STATUS(svk_service_close(duel.services[j]), duel.close ? SVK_INVALID_HANDLE : SVK_OK);
        CHECK_OK(svk_stream_destroy(duel.streams[j]));
      }
      pthread_barrier_destroy(&duel.meet);
    }
}

/* ---- From inside any callback: not its own, and the target runs on another thread ---- */

static void cancel_running(struct watch *watch, const svk_state *state) {
  (void)state;
  struct watch *target = watch->context;
  CHECK_STATUS(svk_subscription_cancel(target->subscription), SVK_DEFERRED);
  CHECK_EQ(target->freed, 0);
}

static void cancel_running_in_finish(struct watch *watch) { cancel_running(watch, NULL); }

static void cancel_running_in_free(struct watch *watch) { cancel_running(watch, NULL); }

static svk_subscription *target_subscription;

static void cancel_running_in_data_free(void *block) {
  free(block);
  CHECK_STATUS(svk_subscription_cancel(target_subscription), SVK_DEFERRED);
}

static void cancel_running_in_start(svk_stream *stream, void *user_data) {
  (void)stream;
  cancel_running(user_data, NULL);
}

static void test_never_waits_inside_any_callback(void) {
  for (int way = 0; way < 5; way++) {
    struct watch target = WATCH_INIT, other = WATCH_INIT;
    open_base();
    pthread_t thread = start_callback(&target, SVK_DELIVER_INLINE);
    other.context = &target;
    target_subscription = target.subscription;
    svk_stream_options options = SVK_STREAM_OPTIONS_INIT;
    if (way == 4) {
      options.start = cancel_running_in_start;
      options.user_data = &other;
    }
    svk_stream *stream = NULL;
    MUST_OK(svk_stream_create(&options, &stream));
    svk_service *service = new_inline_service(stream);
    observe(service, &other, SVK_DELIVER_INLINE, NULL);
    if (way == 0) {
      other.on_state = cancel_running;
      CHECK_OK(send_number(stream, 1));
    } else if (way == 1) {
      other.on_finish = cancel_running_in_finish;
      CHECK_OK(svk_stream_finish(stream));
    } else if (way == 2) {
      other.on_free = cancel_running_in_free;
      CHECK_OK(svk_subscription_cancel(other.subscription));
    } else if (way == 3) {
      CHECK_OK(svk_stream_send_owned(stream, malloc(16), 16, cancel_running_in_data_free));
      CHECK_OK(send_number(stream, 1));
    }
    CHECK_STATUS(svk_subscription_cancel(target.subscription), SVK_INVALID_HANDLE); /* it was cancelled */
    CHECK_EQ(target.freed, 0);
    counter_add(&go_on, 1);
    join_thread(thread);
    CHECK_EQ(target.freed, 1);
    CHECK_OK(svk_service_close(service));
    CHECK_EQ(other.freed, 1);
    CHECK_OK(svk_stream_destroy(stream));
    close_base();
  }
}

/* A close inside a callback, of a service whose observer runs elsewhere. */
static void close_running(struct watch *watch, const svk_state *state) {
  (void)state;
  struct watch *target = watch->context;
  CHECK_STATUS(svk_service_close(base.service), SVK_DEFERRED);
  CHECK_EQ(target->freed, 0);
}

static void test_close_never_waits_inside(void) {
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_BACKGROUND; delivery++) {
    struct watch target = WATCH_INIT, other = WATCH_INIT;
    open_base();
    pthread_t thread = start_callback(&target, delivery);
    svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    svk_service *service = new_inline_service(stream);
    other.context = &target;
    other.on_state = close_running;
    observe(service, &other, SVK_DELIVER_INLINE, NULL);
    CHECK_OK(send_number(stream, 1));
    CHECK_STATUS(send_number(base.stream, 2), SVK_CLOSED);
    counter_add(&go_on, 1);
    if (delivery != SVK_DELIVER_BACKGROUND)
      join_thread(thread);
    while (atomic_load(&target.freed) == 0 && CHECK(delivery == SVK_DELIVER_BACKGROUND))
      sched_yield();
    CHECK_EQ(target.freed, 1);
    CHECK_EQ(target.count, 1);
    CHECK_OK(svk_service_close(service));
    CHECK_OK(svk_stream_destroy(stream));
    CHECK_STATUS(svk_service_close(base.service), SVK_INVALID_HANDLE);
    CHECK_OK(svk_stream_destroy(base.stream));
    CHECK_OK(svk_dispatcher_destroy(base.dispatcher));
  }
}

/* Two threads cancel it while its callback runs: one does, and both are told the truth. */
static void cancel_run(int index, void *pointer) {
  struct watch *watch = pointer;
  if (index == 2) {
    counter_add(&go_on, 1);
    return;
  }
  svk_status status = svk_subscription_cancel(watch->subscription);
  if (status == SVK_OK) {
    CHECK_EQ(watch->freed, 1);
    CHECK_EQ(left, 1);
  } else {
    CHECK_STATUS(status, SVK_INVALID_HANDLE);
  }
}

static void test_two_cancel_the_same(void) {
  for (int i = iterations(100); i > 0; i--) {
    struct watch watch = WATCH_INIT;
    open_base();
    pthread_t thread = start_callback(&watch, i % 2 ? SVK_DELIVER_INLINE : SVK_DELIVER_DISPATCHER);
    run_threads(3, cancel_run, &watch);
    join_thread(thread);
    CHECK_EQ(watch.freed, 1);
    close_base();
  }
}

int main(void) {
  RUN(test_cancel_waits);
  RUN(test_nowait_does_not_wait);
  RUN(test_nothing_to_wait_for);
  RUN(test_nowait_with_a_lock);
  RUN(test_two_cancel_each_other);
  RUN(test_never_waits_inside_any_callback);
  RUN(test_close_never_waits_inside);
  RUN(test_two_cancel_the_same);
  return check_done();
}
