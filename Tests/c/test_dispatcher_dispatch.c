/* svk_dispatcher_dispatch: the count, the limit, the time, BUSY, and calls from inside its callbacks. */
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

static void test_create(void) {
  CHECK_STATUS(svk_dispatcher_create(NULL), SVK_INVALID_ARGUMENT);
  svk_dispatcher *dispatcher = new_dispatcher(), *other = new_dispatcher();
  CHECK(dispatcher != other);
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
  CHECK_STATUS(svk_dispatcher_destroy(dispatcher), SVK_INVALID_HANDLE);
  CHECK_OK(svk_dispatcher_destroy(other));
}

static void test_nothing_ready(void) {
  open_base();
  size_t count = 99;
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 0, 0, &count), SVK_TIMEOUT);
  CHECK_EQ(count, 0);
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 5, 0, NULL), SVK_TIMEOUT);
  int64_t before = now_ns();
  count = 99;
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 0, 20 * MILLISECOND, &count), SVK_TIMEOUT);
  CHECK(now_ns() - before >= 20 * MILLISECOND);
  CHECK_EQ(count, 0);
  CHECK(svk_last_error()[0] != 0);
  /* A state that goes elsewhere is no work here. */
  CHECK_OK(send_number(base.stream, 1));
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 0, MILLISECOND, NULL), SVK_TIMEOUT);
  close_base();
}

static void test_count_and_limit(void) {
  struct watch watch = WATCH_INIT;
  open_base();
  observe(base.service, &watch, SVK_DELIVER_DISPATCHER, base.dispatcher);
  for (int i = 1; i <= 10; i++)
    CHECK_OK(send_number(base.stream, i));
  CHECK_EQ(watch.count, 0);
  size_t count = 99;
  CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 1, 0, &count));
  CHECK_EQ(count, 1);
  CHECK_EQ(watch.count, 1);
  CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 3, FOR_EVER, &count));
  CHECK_EQ(count, 3);
  CHECK_EQ(watch.count, 4);
  CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 0, MILLISECOND, &count));
  CHECK_EQ(count, 6);
  CHECK_EQ(watch.count, 10);
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 0, 0, &count), SVK_TIMEOUT);
  CHECK_OK(send_number(base.stream, 11));
  CHECK_OK(send_number(base.stream, 12));
  CHECK_OK(svk_stream_finish(base.stream));
  CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 100, 0, &count));
  CHECK_EQ(count, 3); /* the finish is a callback */
  CHECK_EQ(watch.finished, 1);
  CHECK(pthread_equal(watch.thread, pthread_self()));
  cancel_watch(&watch);
  close_base();
}

/* Several observers share a limit, and none is forgotten. */
static void test_limit_with_many_observers(void) {
  enum { OBSERVERS = 7 };
  struct watch watches[OBSERVERS];
  struct watch fresh = WATCH_INIT;
  open_base();
  for (int i = 0; i < OBSERVERS; i++) {
    watches[i] = fresh;
    observe(base.service, &watches[i], SVK_DELIVER_DISPATCHER, base.dispatcher);
  }
  for (int i = 1; i <= 6; i++)
    CHECK_OK(send_number(base.stream, i));
  int left = OBSERVERS * 6;
  while (left > 0) {
    size_t limit = left < 4 ? (size_t)left : 4, count = 99;
    CHECK(readable(svk_dispatcher_fd(base.dispatcher)));
    if (!CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 4, 0, &count)))
      break;
    CHECK_EQ(count, limit);
    left -= (int)count;
  }
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 4, 0, NULL), SVK_TIMEOUT);
  for (int i = 0; i < OBSERVERS; i++) {
    CHECK_EQ(watches[i].count, 6);
    for (int j = 0; j < 6; j++)
      CHECK_EQ(watches[i].versions[j], j + 1);
  }
  close_base();
}

/* ---- Waiting for the first ---- */

static void *send_one(void *stream) {
  CHECK_OK(send_number(stream, 1));
  return NULL;
}

static void test_waiting(void) {
  for (int i = iterations(300); i > 0; i--) {
    struct watch watch = WATCH_INIT;
    open_base();
    observe(base.service, &watch, SVK_DELIVER_DISPATCHER, base.dispatcher);
    pthread_t thread = start_thread(send_one, base.stream);
    size_t count = 99;
    CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 0, i % 2 ? FOR_EVER : INT64_MAX, &count));
    CHECK_EQ(count, 1);
    CHECK_EQ(watch.count, 1);
    join_thread(thread);
    close_base();
  }
}

/* ---- From inside its callbacks ---- */

static void dispatch_again(struct watch *watch, const svk_state *state) {
  (void)watch, (void)state;
  size_t count = 99;
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 0, FOR_EVER, &count), SVK_BUSY);
  CHECK_EQ(count, 0);
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 1, 0, NULL), SVK_BUSY);
}

static void test_nested_is_busy(void) {
  struct watch watch = WATCH_INIT, by_call = WATCH_INIT;
  open_base();
  watch.on_state = by_call.on_state = dispatch_again;
  observe(base.service, &watch, SVK_DELIVER_DISPATCHER, base.dispatcher);
  CHECK_OK(send_number(base.stream, 1));
  CHECK_OK(send_number(base.stream, 2));
  CHECK_EQ(drain(base.dispatcher), 2);
  CHECK_EQ(watch.count, 2);
  cancel_watch(&watch);
  close_base();
}

/* Another dispatcher may be dispatched inside. */
struct inner {
  svk_dispatcher *dispatcher;
  struct watch watch;
};

static void dispatch_inner(struct watch *watch, const svk_state *state) {
  struct inner *inner = watch->context;
  (void)state;
  CHECK_EQ(drain(inner->dispatcher), 1);
  dispatch_again(watch, state);
}

static void test_another_inside(void) {
  struct watch watch = WATCH_INIT;
  struct inner inner = { NULL, WATCH_INIT };
  open_base();
  inner.dispatcher = new_dispatcher();
  inner.watch.on_state = dispatch_again; /* of the outer one, two levels up */
  watch.context = &inner;
  watch.on_state = dispatch_inner;
  observe(base.service, &watch, SVK_DELIVER_DISPATCHER, base.dispatcher);
  observe(base.service, &inner.watch, SVK_DELIVER_DISPATCHER, inner.dispatcher);
  CHECK_OK(send_number(base.stream, 1));
  CHECK_EQ(drain(base.dispatcher), 1);
  CHECK_EQ(inner.watch.count, 1);
  close_base();
  CHECK_OK(svk_dispatcher_destroy(inner.dispatcher));
}

/* What becomes ready meanwhile is run in this dispatch or the next: nothing is lost, and a chain may stop. */
static void send_next(struct watch *watch, const svk_state *state) {
  (void)watch;
  if (number_of(state) < 20)
    CHECK_OK(send_number(base.stream, number_of(state) + 1));
}

static void test_ready_meanwhile(void) {
  struct watch watch = WATCH_INIT;
  open_base();
  watch.on_state = send_next;
  observe(base.service, &watch, SVK_DELIVER_DISPATCHER, base.dispatcher);
  CHECK_OK(send_number(base.stream, 1));
  size_t count = 99;
  CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 3, 0, &count));
  CHECK(count >= 1 && count <= 3);
  CHECK_EQ(watch.count, count);
  CHECK(readable(svk_dispatcher_fd(base.dispatcher)));
  CHECK_EQ((size_t)drain(base.dispatcher) + count, 20);
  CHECK_EQ(watch.last_number, 20);
  CHECK(!readable(svk_dispatcher_fd(base.dispatcher)));
  close_base();
}

/* ---- One thread at a time ---- */

static struct counter inside = COUNTER_INIT, go_on = COUNTER_INIT;

static void stay(struct watch *watch, const svk_state *state) {
  (void)watch, (void)state;
  counter_add(&inside, 1);
  counter_wait(&go_on, 1);
}

static void *dispatch_all(void *dispatcher) {
  size_t count = 99;
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, FOR_EVER, &count));
  CHECK_EQ(count, 1);
  return NULL;
}

static void test_second_thread_is_busy(void) {
  struct watch watch = WATCH_INIT;
  open_base();
  watch.on_state = stay;
  observe(base.service, &watch, SVK_DELIVER_DISPATCHER, base.dispatcher);
  CHECK_OK(send_number(base.stream, 1));
  pthread_t thread = start_thread(dispatch_all, base.dispatcher);
  counter_wait(&inside, 1);
  size_t count = 99;
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 0, 0, &count), SVK_BUSY);
  CHECK_EQ(count, 0);
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 0, FOR_EVER, NULL), SVK_BUSY); /* does not wait */
  CHECK(svk_last_error()[0] != 0);
  counter_add(&go_on, 1);
  join_thread(thread);
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 0, 0, NULL), SVK_TIMEOUT);
  close_base();
}

/* Also while the first one only waits. */
static void *wait_for_wake(void *dispatcher) {
  size_t count = 99;
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, FOR_EVER, &count));
  CHECK_EQ(count, 0);
  return NULL;
}

static void test_second_thread_is_busy_while_the_first_waits(void) {
  open_base();
  pthread_t thread = start_thread(wait_for_wake, base.dispatcher);
  svk_status status;
  while ((status = svk_dispatcher_dispatch(base.dispatcher, 0, 0, NULL)) == SVK_TIMEOUT)
    sched_yield(); /* it is not there yet */
  CHECK_STATUS(status, SVK_BUSY);
  CHECK_OK(svk_dispatcher_wake(base.dispatcher));
  join_thread(thread);
  close_base();
}

/* ---- Storm: several threads take turns, BUSY in between; nothing is lost, and the calls do not overlap ----
 */

struct storm {
  struct watch watches[3];
  _Atomic int sending, dispatched, busy;
};

static void storm_run(int index, void *pointer) {
  struct storm *storm = pointer;
  if (index < 2) {
    for (int i = iterations(10000); i > 0; i--)
      CHECK_OK(send_number(base.stream, i));
    atomic_fetch_sub(&storm->sending, 1);
    return;
  }
  for (;;) {
    int last = atomic_load(&storm->sending) == 0;
    size_t count = 99;
    svk_status status = svk_dispatcher_dispatch(base.dispatcher, index == 2 ? 5 : 0, 0, &count);
    if (status == SVK_OK) {
      atomic_fetch_add(&storm->dispatched, (int)count);
    } else if (status == SVK_BUSY) {
      atomic_fetch_add(&storm->busy, 1);
      sched_yield();
    } else {
      CHECK_STATUS(status, SVK_TIMEOUT);
      if (last)
        return;
    }
  }
}

static void test_storm(void) {
  struct storm storm = { .watches = { WATCH_INIT, WATCH_INIT, WATCH_INIT } };
  atomic_store(&storm.sending, 2);
  open_base();
  for (int i = 0; i < 3; i++)
    observe(base.service, &storm.watches[i], SVK_DELIVER_DISPATCHER, base.dispatcher);
  run_threads(4, storm_run, &storm);
  for (int i = 0; i < 3; i++) {
    CHECK_EQ(storm.watches[i].count, 2 * iterations(10000));
    CHECK_EQ(storm.watches[i].last_version, 2 * iterations(10000));
    cancel_watch(&storm.watches[i]);
  }
  CHECK_EQ(storm.dispatched, 3 * 2 * iterations(10000)); /* the counts are of callbacks that ran */
  close_base();
}

int main(void) {
  RUN(test_create);
  RUN(test_nothing_ready);
  RUN(test_count_and_limit);
  RUN(test_limit_with_many_observers);
  RUN(test_waiting);
  RUN(test_nested_is_busy);
  RUN(test_another_inside);
  RUN(test_ready_meanwhile);
  RUN(test_second_thread_is_busy);
  RUN(test_second_thread_is_busy_while_the_first_waits);
  RUN(test_storm);
  return check_done();
}
