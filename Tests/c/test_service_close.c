/* svk_service_close: waiters woken, observers cancelled, all quiet afterwards; from inside and outside. */
#include "check_state.h"

static void test_what_it_ends(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT, watches[4] = { WATCH_INIT, WATCH_INIT, WATCH_INIT, WATCH_INIT };
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  for (int32_t i = 0; i < 4; i++)
    observe(service, &watches[i], i, dispatcher);
  CHECK_OK(send_number(stream, 1));
  counter_wait(&watches[SVK_DELIVER_BACKGROUND].calls, 1);
  svk_snapshot *snapshot = NULL;
  svk_state state;
  CHECK_OK(svk_service_acquire(service, &snapshot, &state));
  close_watch(&watch);
  for (int i = 0; i < 4; i++) {
    atomic_store(&watches[i].quiet, 1);
    CHECK_EQ(watches[i].freed, 1);
    CHECK_EQ(watches[i].finished, 0);
    CHECK_STATUS(svk_subscription_cancel(watches[i].subscription), SVK_INVALID_HANDLE);
    CHECK_STATUS(svk_subscription_cancel_nowait(watches[i].subscription), SVK_INVALID_HANDLE);
    uint64_t total = 99;
    CHECK_STATUS(svk_subscription_dropped(watches[i].subscription, &total), SVK_INVALID_HANDLE);
    CHECK_EQ(total, 0);
  }
  CHECK_EQ(watches[SVK_DELIVER_DISPATCHER].count, 0); /* not even for states already buffered */
  CHECK_EQ(watches[SVK_DELIVER_PULL].count, 0);
  CHECK_EQ(watch.finished, 0);
  CHECK_EQ(drain(dispatcher), 0);
  CHECK_STATUS(svk_service_close(service), SVK_INVALID_HANDLE);
  CHECK_STATUS(send_number(stream, 2), SVK_CLOSED);
  svk_stream_finish(stream);
  CHECK_EQ(watch.finished, 0);
  CHECK_OK(svk_stream_destroy(stream)); /* it was not destroyed */
  CHECK_EQ(number_of(&state), 1);       /* snapshots stay valid */
  CHECK_OK(svk_snapshot_release(snapshot));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* What was queued for the service itself is not delivered any more. */
static void test_queued_states_are_lost(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
  observe(service, &observer, SVK_DELIVER_DISPATCHER, dispatcher);
  for (int i = 1; i <= 3; i++)
    CHECK_OK(send_number(stream, i));
  size_t count;
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 1, 0, &count));
  CHECK_OK(svk_stream_finish(stream));
  close_watch(&watch);
  CHECK_EQ(observer.freed, 1);
  CHECK_EQ(drain(dispatcher), 0);
  CHECK(!readable(svk_dispatcher_fd(dispatcher)));
  CHECK_EQ(watch.count + observer.count, 1);
  CHECK_EQ(watch.finished, 0);
  CHECK_EQ(observer.finished, 0);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* ---- From inside ---- */

static void close_own(struct watch *watch, const svk_state *state) {
  svk_service *service = watch->context;
  CHECK_STATUS(svk_service_close(service), SVK_DEFERRED);
  CHECK_STATUS(svk_service_close(service), SVK_INVALID_HANDLE); /* the token has ended */
  CHECK_EQ(watch->freed, 0);
  CHECK_EQ(number_of(state), 1);
}

static void check_close_inside(int32_t delivery, int by_observer) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT, observer = WATCH_INIT, later = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service =
      new_service(stream, by_observer ? SVK_DELIVER_INLINE : delivery, dispatcher, &watch, 0);
  struct watch *closer = by_observer ? &observer : &watch;
  observe(service, &observer, by_observer ? delivery : SVK_DELIVER_INLINE, dispatcher);
  observe(service, &later, SVK_DELIVER_DISPATCHER, dispatcher);
  closer->context = service;
  closer->on_state = close_own;
  CHECK_OK(send_number(stream, 1));
  svk_stream_send(stream, "x", 1);
  svk_stream_finish(stream);
  while (atomic_load(&closer->freed) == 0) {
    if (delivery == SVK_DELIVER_DISPATCHER)
      drain(dispatcher);
    sched_yield();
  }
  CHECK_EQ(closer->count, 1); /* nothing new starts */
  drain(dispatcher);
  while (atomic_load(&watch.freed) == 0 || atomic_load(&observer.freed) == 0 ||
         atomic_load(&later.freed) == 0)
    sched_yield();
  CHECK_EQ(closer->finished, 0);
  if (!by_observer) /* else the finish may have gone through before the close */
    CHECK_EQ(later.count + observer.finished + later.finished, 0);
  CHECK_STATUS(send_number(stream, 3), SVK_CLOSED);
  CHECK_STATUS(svk_service_close(service), SVK_INVALID_HANDLE);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_close_inside(void) {
  for (int by_observer = 0; by_observer < 2; by_observer++) {
    check_close_inside(SVK_DELIVER_INLINE, by_observer);
    check_close_inside(SVK_DELIVER_DISPATCHER, by_observer);
    check_close_inside(SVK_DELIVER_BACKGROUND, by_observer);
  }
}

/* user_data_free comes before the call that delivered returns. */
static void test_freed_before_the_delivering_call_returns(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  watch.context = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  watch.on_state = close_own;
  CHECK_OK(send_number(stream, 1)); /* was accepted */
  CHECK_EQ(watch.freed, 1);
  CHECK_OK(svk_stream_destroy(stream));

  struct watch queued = WATCH_INIT;
  stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  queued.context = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &queued, 0);
  queued.on_state = close_own;
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(send_number(stream, 2));
  size_t count = 99;
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, 0, &count));
  CHECK_EQ(count, 1);
  CHECK_EQ(queued.freed, 1);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* Closing another service, of which nothing is running, is done at once, also inside a callback. */
static void close_other(struct watch *watch, const svk_state *state) {
  (void)state;
  struct watch *other = watch->context;
  CHECK_OK(svk_service_close(other->service));
  atomic_store(&other->quiet, 1);
  CHECK_EQ(other->freed, 1);
}

static void test_close_another_inside(void) {
  struct watch watch = WATCH_INIT, other = WATCH_INIT, observer = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0), *second = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  new_service(second, SVK_DELIVER_INLINE, NULL, &other, 0);
  observe(other.service, &observer, SVK_DELIVER_INLINE, NULL);
  watch.context = &other;
  watch.on_state = close_other;
  CHECK_OK(send_number(stream, 1));
  CHECK_EQ(observer.freed, 1);
  CHECK_EQ(watch.freed, 0);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_stream_destroy(second));
}

/* Inside its observer's user_data_free, which is a callback too. */
static void close_in_free(struct watch *watch) {
  svk_status status = svk_service_close(watch->context);
  CHECK(status == SVK_OK || status == SVK_DEFERRED);
}

static void test_close_inside_a_free(void) {
  struct watch watch = WATCH_INIT, observer = WATCH_INIT, second = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  observe(service, &second, SVK_DELIVER_INLINE, NULL);
  observer.context = service;
  observer.on_free = close_in_free;
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(svk_subscription_cancel(observer.subscription));
  CHECK_EQ(observer.freed, 1);
  CHECK_EQ(second.freed, 1);
  CHECK_EQ(watch.freed, 1);
  CHECK_STATUS(svk_service_close(service), SVK_INVALID_HANDLE);
  CHECK_OK(svk_stream_destroy(stream));
}

/* ---- While another thread is in the middle of a callback ---- */

static struct counter inside = COUNTER_INIT, closing = COUNTER_INIT;
static _Atomic int left;

static void stay_a_while(struct watch *watch, const svk_state *state) {
  (void)watch, (void)state;
  counter_add(&inside, 1);
  counter_wait(&closing, 1);
  for (int i = 0; i < 200; i++) /* time for the close to return too early */
    sched_yield();
  atomic_store(&left, 1);
}

static void *send_one(void *stream) {
  CHECK_OK(send_number(stream, 1));
  return NULL;
}

static void *dispatch_one(void *dispatcher) {
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 1, FOR_EVER, NULL));
  return NULL;
}

/* who: 0 the service, 1 an inline observer, 2 an observer on a dispatcher, 3 one in the background. */
static void check_close_waits(int who) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  observe(service, &observer, who == 0 ? SVK_DELIVER_INLINE : who - 1, dispatcher);
  (who == 0 ? &watch : &observer)->on_state = stay_a_while;
  counter_reset(&inside);
  counter_reset(&closing);
  atomic_store(&left, 0);
  pthread_t thread = start_thread(send_one, stream);
  if (who >= 2)
    join_thread(thread);
  if (who == 2)
    thread = start_thread(dispatch_one, dispatcher);
  counter_wait(&inside, 1);
  counter_add(&closing, 1);
  CHECK_OK(svk_service_close(service));
  CHECK_EQ(left, 1);
  CHECK_EQ(watch.freed, 1);
  CHECK_EQ(observer.freed, 1);
  if (who <= 2)
    join_thread(thread);
  CHECK_EQ(observer.count, who == 0 ? 0 : 1);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_close_waits_for_a_callback(void) {
  for (int who = 0; who < 4; who++)
    check_close_waits(who);
}

/* ---- Storms ---- */

struct close_storm {
  svk_stream *stream;
  svk_service *service;
  svk_dispatcher *dispatcher;
  struct watch watch, observers[4];
  _Atomic int done;
  struct milestone middle;
};

static void storm_run(int index, void *pointer) {
  struct close_storm *storm = pointer;
  if (index == 0) {
    milestone_wait(&storm->middle);
    CHECK_OK(svk_service_close(storm->service));
    atomic_store(&storm->watch.quiet, 1); /* all callbacks look at it */
    CHECK_EQ(storm->watch.freed, 1);
    for (int i = 0; i < 4; i++) {
      atomic_store(&storm->observers[i].quiet, 1);
      CHECK_EQ(storm->observers[i].freed, 1);
    }
    atomic_store(&storm->done, 1);
  } else if (index == 1) {
    while (!atomic_load(&storm->done))
      svk_dispatcher_dispatch(storm->dispatcher, 2, MILLISECOND, NULL);
  } else {
    svk_status status;
    while ((status = send_number(storm->stream, 1)) == SVK_OK)
      milestone_pass(&storm->middle, 20);
    CHECK_STATUS(status, SVK_CLOSED);
  }
}

static void check_storm(int32_t delivery) {
  struct close_storm storm = { .middle = MILESTONE_INIT,
                               .watch = WATCH_INIT,
                               .observers = { WATCH_INIT, WATCH_INIT, WATCH_INIT, WATCH_INIT } };
  storm.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  storm.dispatcher = new_dispatcher();
  storm.service = new_service(storm.stream, delivery, storm.dispatcher, &storm.watch, 0);
  for (int32_t i = 0; i < 4; i++) {
    svk_observer_options options = observer_options(&storm.observers[i], i, storm.dispatcher);
    options.buffering = SVK_BUFFER_NEWEST;
    options.capacity = 4;
    observe_with(storm.service, &options);
  }
  run_threads(4, storm_run, &storm);
  CHECK_EQ(drain(storm.dispatcher), 0);
  CHECK_EQ(storm.watch.finished, 0);
  CHECK_OK(svk_stream_destroy(storm.stream));
  CHECK_OK(svk_dispatcher_destroy(storm.dispatcher));
}

static void test_senders_and_a_close(void) {
  for (int i = iterations(40); i > 0; i--) {
    check_storm(SVK_DELIVER_INLINE);
    check_storm(SVK_DELIVER_DISPATCHER);
    check_storm(SVK_DELIVER_BACKGROUND);
  }
}

int main(void) {
  RUN(test_what_it_ends);
  RUN(test_queued_states_are_lost);
  RUN(test_close_inside);
  RUN(test_freed_before_the_delivering_call_returns);
  RUN(test_close_another_inside);
  RUN(test_close_inside_a_free);
  RUN(test_close_waits_for_a_callback);
  RUN(test_senders_and_a_close);
  return check_done();
}
