/* The end of a stream: what was kept is still delivered, then on_finish, once; then everything is closed. */
#include "check_state.h"

static void check_sends_closed(svk_stream *stream) {
  CHECK_STATUS(send_number(stream, 1), SVK_CLOSED);
  CHECK_STATUS(svk_stream_send_within(stream, "x", 1, FOR_EVER), SVK_CLOSED);
  CHECK_STATUS(svk_stream_send_owned(stream, malloc(16), 16, free), SVK_CLOSED);
  CHECK(svk_last_error()[0] != 0);
}

static void test_finish_inline(void) {
  struct watch watch = WATCH_INIT, observer = WATCH_INIT, silent = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  svk_observer_options options = observer_options(&silent, SVK_DELIVER_INLINE, NULL);
  options.on_finish = NULL;
  observe_with(service, &options);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(svk_stream_finish(stream));
  CHECK_EQ(watch.finished, 1);
  CHECK_EQ(observer.finished, 1);
  CHECK_STATUS(svk_stream_finish(stream), SVK_CLOSED);
  check_sends_closed(stream);
  CHECK_EQ(watch.finished, 1);
  CHECK_EQ(observer.finished, 1);
  /* The service, its state and its subscriptions stay. */
  CHECK_EQ(watch.freed, 0);
  CHECK_EQ(observer.freed, 0);
  uint64_t version;
  CHECK_EQ(read_number(service, &version), 1);
  CHECK_EQ(version, 1);
  CHECK_OK(svk_service_wait(service, 0, FOR_EVER, &version));
  CHECK_EQ(version, 1);
  CHECK_STATUS(svk_service_wait(service, 1, FOR_EVER, &version), SVK_CLOSED);
  CHECK_EQ(version, 0);
  CHECK_EQ(dropped_total(observer.subscription), 0);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_EQ(watch.finished, 1);
  CHECK_EQ(read_number(service, NULL), 1);
  cancel_watch(&observer);
  close_watch(&watch);
  CHECK_EQ(silent.freed, 1);
  CHECK_EQ(silent.count, 1);
}

static void test_destroy_finishes(void) {
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_EQ(watch.finished, 1);
  CHECK_EQ(observer.finished, 1);
  CHECK_STATUS(send_number(stream, 2), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_stream_finish(stream), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_stream_destroy(stream), SVK_INVALID_HANDLE);
  CHECK_EQ(read_number(service, NULL), 1);
  close_watch(&watch);
  CHECK_EQ(observer.freed, 1);
}

/* Each of the deliveries, of the service and of the observers, with states still on their way. */
static void check_kept_states_come_first(int32_t delivery, int destroy) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT, by_call = WATCH_INIT, queued = WATCH_INIT, background = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, delivery, dispatcher, &watch, 0);
  observe(service, &by_call, SVK_DELIVER_INLINE, NULL);
  observe(service, &queued, SVK_DELIVER_DISPATCHER, dispatcher);
  observe(service, &background, SVK_DELIVER_BACKGROUND, NULL);
  svk_subscription *pull = observe_pull(service, 0, SVK_BUFFER_UNBOUNDED, 0);
  for (int i = 1; i <= 3; i++)
    CHECK_OK(send_number(stream, i));
  if (destroy)
    CHECK_OK(svk_stream_destroy(stream));
  else
    CHECK_OK(svk_stream_finish(stream));
  if (delivery == SVK_DELIVER_DISPATCHER) {
    CHECK_EQ(watch.finished, 0);
    CHECK_EQ(by_call.finished, 0);
    CHECK_EQ(queued.finished, 0);
  }
  if (delivery == SVK_DELIVER_BACKGROUND)
    counter_wait(&watch.calls, 4);
  if (delivery == SVK_DELIVER_BACKGROUND) /* the pull subscription sees it end: then all have been served */
    for (int i = 1; i <= 3; i++) {
      uint64_t version;
      CHECK_OK(svk_subscription_next_copy(pull, FOR_EVER, &(long){ 0 }, sizeof(long), NULL, &version, NULL));
      CHECK_EQ(version, i);
    }
  if (delivery == SVK_DELIVER_BACKGROUND) {
    CHECK_STATUS(svk_subscription_next_copy(pull, FOR_EVER, NULL, 0, NULL, NULL, NULL), SVK_CLOSED);
    counter_wait(&by_call.calls, 4);
  }
  while (counter_value(&queued.calls) < 4)
    svk_dispatcher_dispatch(dispatcher, 0, 10 * MILLISECOND, NULL);
  counter_wait(&background.calls, 4);
  if (delivery != SVK_DELIVER_BACKGROUND)
    for (int i = 1; i <= 3; i++)
      CHECK_NEXT(pull, i, i, 0);
  CHECK_STATUS(svk_subscription_next_copy(pull, FOR_EVER, NULL, 0, NULL, NULL, NULL), SVK_CLOSED);
  struct watch *all[] = { &watch, &by_call, &queued, &background };
  for (int i = 0; i < 4; i++) {
    CHECK_EQ(all[i]->count, 3);
    CHECK_EQ(all[i]->last_version, 3);
    CHECK_EQ(all[i]->finished, 1);
    CHECK_EQ(all[i]->freed, 0);
  }
  CHECK_EQ(read_number(service, NULL), 3);
  CHECK_OK(svk_subscription_cancel(pull));
  if (!destroy)
    CHECK_OK(svk_stream_destroy(stream));
  CHECK_EQ(drain(dispatcher), 0);
  close_watch(&watch);
  for (int i = 0; i < 4; i++)
    CHECK_EQ(all[i]->freed, 1);
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_kept_states_come_first(void) {
  for (int destroy = 0; destroy < 2; destroy++) {
    check_kept_states_come_first(SVK_DELIVER_INLINE, destroy);
    check_kept_states_come_first(SVK_DELIVER_DISPATCHER, destroy);
    check_kept_states_come_first(SVK_DELIVER_BACKGROUND, destroy);
  }
}

/* The end is known only when the kept states have been stored. */
static void test_wait_after_finish(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, NULL, 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(svk_stream_finish(stream));
  drain(dispatcher);
  CHECK_OK(svk_service_wait(service, 0, FOR_EVER, NULL));
  CHECK_STATUS(svk_service_wait(service, 1, FOR_EVER, NULL), SVK_CLOSED);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* A finished stream that has kept something can still get its service; a destroyed one cannot. */
static void test_finish_before_a_service_attaches(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(send_number(stream, 2));
  CHECK_OK(svk_stream_finish(stream));
  check_sends_closed(stream);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_EQ(watch.count, 2);
  CHECK_EQ(watch.finished, 1);
  CHECK_EQ(read_number(service, NULL), 2);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));

  stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(svk_stream_destroy(stream)); /* what was sent is lost, and nothing leaks */
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = stream;
  CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_HANDLE);
  CHECK(service == NULL);
}

/* ---- From inside callbacks ---- */

static void finish_at_one(struct watch *watch, const svk_state *state) {
  svk_stream *stream = watch->context;
  if (state->version == 1) {
    CHECK_OK(send_number(stream, 2));
    CHECK_OK(svk_stream_finish(stream));
    CHECK_STATUS(send_number(stream, 3), SVK_CLOSED);
    CHECK_STATUS(svk_stream_finish(stream), SVK_CLOSED);
    CHECK_EQ(watch->finished, 0); /* after this one and the one kept */
  }
}

static void expect_closed(struct watch *watch) {
  CHECK_STATUS(send_number(watch->context, 9), SVK_CLOSED);
  CHECK_STATUS(svk_stream_finish(watch->context), SVK_CLOSED);
}

static void test_finish_inside_on_state(void) {
  for (int by_observer = 0; by_observer < 2; by_observer++) {
    struct watch watch = WATCH_INIT, observer = WATCH_INIT;
    svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    watch.context = observer.context = stream;
    watch.on_finish = observer.on_finish = expect_closed;
    (by_observer ? &observer : &watch)->on_state = finish_at_one;
    svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
    observe(service, &observer, SVK_DELIVER_INLINE, NULL);
    CHECK_OK(send_number(stream, 1));
    CHECK_EQ(watch.count, 2);
    CHECK_EQ(observer.count, 2);
    CHECK_EQ(watch.finished, 1);
    CHECK_EQ(observer.finished, 1);
    cancel_watch(&observer);
    close_watch(&watch);
    CHECK_OK(svk_stream_destroy(stream));
  }
}

static void destroy_at_one(struct watch *watch, const svk_state *state) {
  svk_stream *stream = watch->context;
  CHECK_EQ(state->version, 1);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_STATUS(send_number(stream, 3), SVK_INVALID_HANDLE);
  CHECK_EQ(watch->finished, 0);
}

static void test_destroy_inside_on_state(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  watch.context = stream;
  watch.on_state = destroy_at_one;
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_EQ(watch.finished, 1);
  CHECK_EQ(read_number(service, NULL), 1);
  close_watch(&watch);
}

static void cancel_own(struct watch *watch) {
  CHECK_STATUS(svk_subscription_cancel(watch->subscription), SVK_DEFERRED);
  CHECK_EQ(watch->freed, 0);
}

static void close_own(struct watch *watch) {
  CHECK_STATUS(svk_service_close(watch->service), SVK_DEFERRED);
  CHECK_EQ(watch->freed, 0);
}

static void test_ends_inside_on_finish(void) {
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  observer.on_finish = cancel_own;
  CHECK_OK(svk_stream_finish(stream));
  CHECK_EQ(observer.finished, 1);
  CHECK_EQ(observer.freed, 1);
  CHECK_STATUS(svk_subscription_cancel(observer.subscription), SVK_INVALID_HANDLE);
  CHECK_OK(svk_stream_destroy(stream));
  close_watch(&watch);

  struct watch other = WATCH_INIT, unfinished = WATCH_INIT;
  stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  service = new_service(stream, SVK_DELIVER_INLINE, NULL, &other, 0);
  observe(service, &unfinished, SVK_DELIVER_INLINE, NULL);
  other.on_finish = close_own;
  CHECK_OK(svk_stream_finish(stream));
  CHECK_EQ(other.freed, 1);
  CHECK_EQ(unfinished.freed, 1);
  CHECK_STATUS(svk_service_close(service), SVK_INVALID_HANDLE);
  CHECK_OK(svk_stream_destroy(stream));
}

/* on_finish never comes from a close or a cancel, also when the stream ends afterwards. */
static void test_no_finish_from_a_close(void) {
  struct watch watch = WATCH_INIT, cancelled = WATCH_INIT, closed = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  observe(service, &cancelled, SVK_DELIVER_INLINE, NULL);
  observe(service, &closed, SVK_DELIVER_INLINE, NULL);
  cancel_watch(&cancelled);
  close_watch(&watch);
  check_sends_closed(stream);
  svk_status status = svk_stream_finish(stream); /* it had not been finished */
  CHECK(status == SVK_OK || status == SVK_CLOSED);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_EQ(watch.finished, 0);
  CHECK_EQ(cancelled.finished, 0);
  CHECK_EQ(closed.finished, 0);
  CHECK_EQ(closed.freed, 1);
}

/* ---- Storms ---- */

struct end_storm {
  svk_stream *stream;
  svk_dispatcher *dispatcher;
  int destroy;
  _Atomic int accepted;
  struct milestone middle;
};

static void storm_run(int index, void *pointer) {
  struct end_storm *storm = pointer;
  if (index == 0) { /* ends it in the middle */
    milestone_wait(&storm->middle);
    svk_status status = storm->destroy ? svk_stream_destroy(storm->stream) : svk_stream_finish(storm->stream);
    CHECK_OK(status);
    return;
  }
  for (;;) {
    svk_status status = send_number(storm->stream, index);
    if (status != SVK_OK) {
      CHECK(status == SVK_CLOSED || (storm->destroy && status == SVK_INVALID_HANDLE));
      return;
    }
    atomic_fetch_add(&storm->accepted, 1);
    milestone_pass(&storm->middle, 50);
  }
}

static void check_end_storm(int32_t delivery, int destroy) {
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  struct end_storm storm = { .destroy = destroy, .middle = MILESTONE_INIT };
  storm.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  storm.dispatcher = new_dispatcher();
  svk_service *service = new_service(storm.stream, delivery, storm.dispatcher, &watch, 0);
  observe(service, &observer, delivery, storm.dispatcher);
  run_threads(4, storm_run, &storm);
  if (delivery == SVK_DELIVER_DISPATCHER)
    drain(storm.dispatcher);
  counter_wait(&watch.calls, storm.accepted + 1);
  counter_wait(&observer.calls, storm.accepted + 1);
  CHECK_EQ(watch.count, storm.accepted); /* what was accepted was delivered, and nothing else */
  CHECK_EQ(watch.last_version, storm.accepted);
  CHECK_EQ(watch.finished, 1);
  CHECK_EQ(observer.count, storm.accepted);
  CHECK_EQ(observer.finished, 1);
  cancel_watch(&observer);
  close_watch(&watch);
  if (!destroy)
    CHECK_OK(svk_stream_destroy(storm.stream));
  CHECK_OK(svk_dispatcher_destroy(storm.dispatcher));
}

static void test_senders_and_the_end(void) {
  for (int i = iterations(20); i > 0; i--)
    for (int destroy = 0; destroy < 2; destroy++) {
      check_end_storm(SVK_DELIVER_INLINE, destroy);
      check_end_storm(SVK_DELIVER_DISPATCHER, destroy);
      check_end_storm(SVK_DELIVER_BACKGROUND, destroy);
    }
}

/* One of many ends it. */
struct end_contest {
  svk_stream *stream;
  _Atomic int finished, destroyed;
};

static void contest_run(int index, void *pointer) {
  struct end_contest *contest = pointer;
  svk_status status;
  if (index % 2) {
    status = svk_stream_finish(contest->stream);
    if (status == SVK_OK)
      atomic_fetch_add(&contest->finished, 1);
    else
      CHECK(status == SVK_CLOSED || status == SVK_INVALID_HANDLE);
  } else {
    status = svk_stream_destroy(contest->stream);
    if (status == SVK_OK)
      atomic_fetch_add(&contest->destroyed, 1);
    else
      CHECK_STATUS(status, SVK_INVALID_HANDLE);
  }
}

static void test_one_of_many_ends_it(void) {
  for (int i = iterations(300); i > 0; i--) {
    struct watch watch = WATCH_INIT;
    struct end_contest contest = { .stream = new_stream(SVK_BUFFER_UNBOUNDED, 0) };
    new_service(contest.stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
    CHECK_OK(send_number(contest.stream, 1));
    run_threads(4, contest_run, &contest);
    CHECK(contest.finished <= 1);
    CHECK_EQ(contest.destroyed, 1);
    CHECK_EQ(watch.finished, 1);
    close_watch(&watch);
  }
}

int main(void) {
  RUN(test_finish_inline);
  RUN(test_destroy_finishes);
  RUN(test_kept_states_come_first);
  RUN(test_wait_after_finish);
  RUN(test_finish_before_a_service_attaches);
  RUN(test_finish_inside_on_state);
  RUN(test_destroy_inside_on_state);
  RUN(test_ends_inside_on_finish);
  RUN(test_no_finish_from_a_close);
  RUN(test_senders_and_the_end);
  RUN(test_one_of_many_ends_it);
  return check_done();
}
