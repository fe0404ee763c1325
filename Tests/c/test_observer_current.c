/* Where an observer begins: with the next state, or with the current one and then without a gap. */
#include "check_state.h"

static void test_from_now_on(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(send_number(stream, 2));
  observe(service, &watch, SVK_DELIVER_INLINE, NULL);
  CHECK_EQ(watch.count, 0);
  CHECK_OK(send_number(stream, 3));
  CHECK_EQ(watch.count, 1);
  CHECK_EQ(watch.versions[0], 3);
  CHECK_EQ(watch.dropped[0], 0);
  CHECK_EQ(dropped_total(watch.subscription), 0);
  cancel_watch(&watch);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

/* *subscription is set before the callback comes. */
static svk_subscription *given;

static void expect_given(struct watch *watch, const svk_state *state) {
  (void)watch;
  CHECK(given != NULL);
  uint64_t total = 99;
  CHECK_OK(svk_subscription_dropped(given, &total));
  CHECK_EQ(total, 0);
  CHECK_EQ(state->dropped, 0);
}

static void test_current_inline(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, NULL, 70);
  for (int i = 0; i < 3; i++) { /* the initial state, and later ones */
    struct watch watch = WATCH_INIT;
    watch.on_state = expect_given;
    svk_observer_options options = observer_options(&watch, SVK_DELIVER_INLINE, NULL);
    options.flags = SVK_OBSERVE_CURRENT;
    given = NULL;
    CHECK_OK(svk_service_observe(service, &options, &given));
    watch.subscription = given;
    CHECK_EQ(watch.count, 1);
    CHECK(pthread_equal(watch.thread, pthread_self()));
    CHECK_EQ(watch.versions[0], i);
    CHECK_EQ(watch.numbers[0], 70 + i);
    CHECK_OK(send_number(stream, 71 + i));
    CHECK_EQ(watch.count, 2);
    CHECK_EQ(watch.versions[1], i + 1);
    cancel_watch(&watch);
  }
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_current_elsewhere(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch queued = WATCH_INIT, background = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, NULL, 70);
  CHECK_OK(send_number(stream, 71));
  svk_observer_options options = observer_options(&queued, SVK_DELIVER_DISPATCHER, dispatcher);
  options.flags = SVK_OBSERVE_CURRENT;
  observe_with(service, &options);
  CHECK_EQ(queued.count, 0);
  CHECK(readable(svk_dispatcher_fd(dispatcher)));
  CHECK_OK(send_number(stream, 72));
  CHECK_EQ(drain(dispatcher), 2);
  CHECK_EQ(queued.versions[0], 1);
  CHECK_EQ(queued.numbers[0], 71); /* current when it began */
  CHECK_EQ(queued.versions[1], 2);
  options = observer_options(&background, SVK_DELIVER_BACKGROUND, NULL);
  options.flags = SVK_OBSERVE_CURRENT;
  observe_with(service, &options);
  counter_wait(&background.calls, 1);
  svk_subscription *pull = observe_pull(service, SVK_OBSERVE_CURRENT, SVK_BUFFER_UNBOUNDED, 0);
  CHECK(readable(svk_subscription_fd(pull)));
  CHECK_OK(send_number(stream, 73));
  CHECK_NEXT(pull, 2, 72, 0);
  CHECK_NEXT(pull, 3, 73, 0);
  counter_wait(&background.calls, 2);
  cancel_watch(&background);
  CHECK_EQ(background.numbers[0], 72);
  CHECK_EQ(background.numbers[1], 73);
  CHECK_OK(svk_service_close(service));
  CHECK_EQ(queued.freed, 1);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* The current state takes a place in the observer's buffer like any other. */
static void test_current_in_a_bounded_buffer(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch newest = WATCH_INIT, oldest = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, NULL, 70);
  svk_observer_options options = observer_options(&newest, SVK_DELIVER_DISPATCHER, dispatcher);
  options.flags = SVK_OBSERVE_CURRENT;
  options.capacity = 1;
  options.buffering = SVK_BUFFER_NEWEST;
  observe_with(service, &options);
  options.buffering = SVK_BUFFER_OLDEST;
  options.user_data = &oldest;
  observe_with(service, &options);
  CHECK_OK(send_number(stream, 71));
  drain(dispatcher);
  CHECK_EQ(newest.count, 1);
  CHECK_EQ(newest.numbers[0], 71);
  CHECK_EQ(newest.dropped[0], 1);
  CHECK_EQ(oldest.count, 1);
  CHECK_EQ(oldest.numbers[0], 70);
  CHECK_EQ(dropped_total(oldest.subscription), 1);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* After the stream's end: the current state, if asked for, and then the end. */
static void test_after_the_end(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, NULL, 70);
  CHECK_OK(send_number(stream, 71));
  CHECK_OK(svk_stream_destroy(stream));
  for (uint32_t flags = 0; flags <= SVK_OBSERVE_CURRENT; flags++) {
    struct watch watch = WATCH_INIT, background = WATCH_INIT;
    svk_observer_options options = observer_options(&watch, SVK_DELIVER_INLINE, NULL);
    options.flags = flags;
    observe_with(service, &options);
    CHECK_EQ(watch.count, flags);
    CHECK_EQ(watch.finished, 1);
    if (flags)
      CHECK_EQ(watch.numbers[0], 71);
    options = observer_options(&background, SVK_DELIVER_BACKGROUND, NULL);
    options.flags = flags;
    observe_with(service, &options);
    counter_wait(&background.calls, (int)flags + 1);
    cancel_watch(&background);
    CHECK_EQ(background.count, flags);
    CHECK_EQ(background.finished, 1);
    svk_subscription *pull = observe_pull(service, flags, SVK_BUFFER_UNBOUNDED, 0);
    CHECK(readable(svk_subscription_fd(pull)));
    if (flags)
      CHECK_NEXT(pull, 1, 71, 0);
    CHECK_STATUS(svk_subscription_next_copy(pull, FOR_EVER, NULL, 0, NULL, NULL, NULL), SVK_CLOSED);
    CHECK_OK(svk_subscription_cancel(pull));
    cancel_watch(&watch);
  }
  CHECK_OK(svk_service_close(service));
}

/* A service on a dispatcher has states on their way: the current one is what is stored, the rest follow. */
static void test_current_while_others_are_on_their_way(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, NULL, 70);
  CHECK_OK(send_number(stream, 71));
  CHECK_OK(send_number(stream, 72));
  svk_observer_options options = observer_options(&watch, SVK_DELIVER_INLINE, NULL);
  options.flags = SVK_OBSERVE_CURRENT;
  observe_with(service, &options);
  CHECK_EQ(watch.count, 1);
  CHECK_EQ(watch.numbers[0], 70);
  drain(dispatcher);
  CHECK_EQ(watch.count, 3);
  CHECK_EQ(watch.numbers[1], 71);
  CHECK_EQ(watch.numbers[2], 72);
  cancel_watch(&watch);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* ---- A send, a cancel, an end and a close from within that first callback ---- */

static void send_more(struct watch *watch, const svk_state *state) {
  if (state->version < 3)
    CHECK_OK(send_number(watch->context, 71 + (long)state->version));
}

static void test_send_from_the_first_callback(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, NULL, 70);
  watch.context = stream;
  watch.on_state = send_more;
  svk_observer_options options = observer_options(&watch, SVK_DELIVER_INLINE, NULL);
  options.flags = SVK_OBSERVE_CURRENT;
  observe_with(service, &options);
  CHECK_EQ(watch.count, 4);
  for (int i = 0; i < 4; i++) {
    CHECK_EQ(watch.versions[i], i);
    CHECK_EQ(watch.numbers[i], 70 + i);
  }
  cancel_watch(&watch);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

static void cancel_given(struct watch *watch, const svk_state *state) {
  (void)state;
  CHECK_STATUS(svk_subscription_cancel(given), SVK_DEFERRED);
  CHECK_EQ(watch->freed, 0);
}

static void close_given(struct watch *watch, const svk_state *state) {
  (void)state;
  CHECK_STATUS(svk_service_close(watch->service), SVK_DEFERRED);
  CHECK_EQ(watch->freed, 0);
}

static void finish_given(struct watch *watch, const svk_state *state) {
  (void)state;
  CHECK_OK(svk_stream_finish(watch->context));
  CHECK_EQ(watch->finished, 0);
}

static void test_ends_from_the_first_callback(void) {
  void (*const ways[])(struct watch *, const svk_state *) = { cancel_given, close_given, finish_given };
  for (int i = 0; i < 3; i++) {
    struct watch watch = WATCH_INIT;
    svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, NULL, 70);
    watch.context = stream;
    watch.service = service;
    watch.on_state = ways[i];
    svk_observer_options options = observer_options(&watch, SVK_DELIVER_INLINE, NULL);
    options.flags = SVK_OBSERVE_CURRENT;
    given = NULL;
    CHECK_OK(svk_service_observe(service, &options, &given));
    CHECK(given != NULL);
    CHECK_EQ(watch.count, 1);
    CHECK_EQ(watch.freed, i < 2);
    CHECK_EQ(watch.finished, i == 2);
    CHECK_STATUS(svk_subscription_cancel(given), i < 2 ? SVK_INVALID_HANDLE : SVK_OK);
    CHECK_STATUS(send_number(stream, 1), i == 0 ? SVK_OK : SVK_CLOSED);
    CHECK_EQ(watch.count, 1);
    CHECK_STATUS(svk_service_close(service), i == 1 ? SVK_INVALID_HANDLE : SVK_OK);
    CHECK_OK(svk_stream_destroy(stream));
  }
}

/* ---- Storm: observers come while states do. The first is the current one, then there is no gap ---- */

struct begin_storm {
  svk_stream *stream;
  svk_service *service;
  svk_dispatcher *dispatcher;
  _Atomic int observing;
};

struct beginner {
  uint64_t first, last;
  int count;
  uint32_t flags;
  _Atomic int freed, errors;
};

static void begin_state(const svk_state *state, void *user_data) {
  struct beginner *beginner = user_data;
  long number = number_of(state);
  if (beginner->count++ == 0)
    beginner->first = state->version;
  else if (state->version != beginner->last + 1)
    atomic_fetch_add(&beginner->errors, 1);
  if (state->dropped != 0 || number < 0)
    atomic_fetch_add(&beginner->errors, 1);
  beginner->last = state->version;
}

static void begin_free(void *user_data) {
  struct beginner *beginner = user_data;
  atomic_fetch_add(&beginner->freed, 1);
}

static void begin_run(int index, void *pointer) {
  struct begin_storm *storm = pointer;
  if (index < 2) {
    for (int i = 0; atomic_load(&storm->observing) > 0; i++)
      CHECK_OK(send_number(storm->stream, i));
    return;
  }
  for (int i = iterations(3000); i > 0; i--) {
    struct beginner beginner = { .flags = i % 4 ? SVK_OBSERVE_CURRENT : 0 };
    svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
    options.flags = beginner.flags;
    options.delivery = index == 2 ? SVK_DELIVER_INLINE : SVK_DELIVER_DISPATCHER;
    options.dispatcher = storm->dispatcher;
    options.on_state = begin_state;
    options.user_data = &beginner;
    options.user_data_free = begin_free;
    svk_subscription *subscription = NULL;
    uint64_t before, after;
    long number;
    CHECK_OK(svk_service_read(storm->service, &number, sizeof number, NULL, &before));
    MUST_OK(svk_service_observe(storm->service, &options, &subscription));
    CHECK_OK(svk_service_read(storm->service, &number, sizeof number, NULL, &after));
    if (index == 3)
      svk_dispatcher_dispatch(storm->dispatcher, 1 + (size_t)i % 7, 0, NULL);
    else
      dawdle(i % 3);
    CHECK_OK(svk_subscription_cancel(subscription));
    CHECK_EQ(beginner.freed, 1);
    CHECK_EQ(beginner.errors, 0);
    if (beginner.flags) {
      /* Its first call came before observe returned, or in the dispatch. */
      CHECK(beginner.count > 0);
      CHECK(beginner.first >= before && beginner.first <= after);
    } else if (beginner.count > 0) {
      CHECK(beginner.first >= before);
    }
  }
  atomic_fetch_sub(&storm->observing, 1);
}

static void test_no_gap(void) {
  struct begin_storm storm = { .observing = 2 };
  storm.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  storm.service = new_inline_service(storm.stream);
  storm.dispatcher = new_dispatcher();
  run_threads(4, begin_run, &storm);
  CHECK_OK(svk_service_close(storm.service));
  CHECK_OK(svk_stream_destroy(storm.stream));
  CHECK_OK(svk_dispatcher_destroy(storm.dispatcher));
}

int main(void) {
  RUN(test_from_now_on);
  RUN(test_current_inline);
  RUN(test_current_elsewhere);
  RUN(test_current_in_a_bounded_buffer);
  RUN(test_after_the_end);
  RUN(test_current_while_others_are_on_their_way);
  RUN(test_send_from_the_first_callback);
  RUN(test_ends_from_the_first_callback);
  RUN(test_no_gap);
  return check_done();
}
