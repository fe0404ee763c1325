/* SVK_SERVICE_SKIP_EQUAL: accepted, has a version, is not delivered, not dropped, and wakes nobody. */
#include "check_state.h"

static svk_service *new_skipping_service(svk_stream *stream, int32_t delivery, svk_dispatcher *dispatcher,
                                         struct watch *watch, long initial, uint32_t flags) {
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.flags = flags;
  options.initial = &initial;
  options.initial_size = sizeof initial;
  options.stream = stream;
  options.delivery = delivery;
  options.dispatcher = dispatcher;
  options.on_state = watch_state;
  options.on_finish = watch_finish;
  options.user_data = watch;
  options.user_data_free = watch_free;
  MUST_OK(svk_service_create(&options, &watch->service));
  return watch->service;
}

static void test_skipping(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT, observer = WATCH_INIT, queued = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service =
      new_skipping_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 7, SVK_SERVICE_SKIP_EQUAL);
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  observe(service, &queued, SVK_DELIVER_DISPATCHER, dispatcher);
  svk_subscription *pull = observe_pull(service, 0, SVK_BUFFER_UNBOUNDED, 0);
  static const long sends[] = { 7, 7, 8, 8, 8, 7, 9, 9 };
  for (int i = 0; i < 2; i++)
    CHECK_OK(send_number(stream, sends[i])); /* equal to the initial one */
  uint64_t version = 99;
  CHECK_EQ(watch.count, 0);
  CHECK_EQ(read_number(service, &version), 7);
  CHECK_EQ(version, 0); /* the version under which it was stored */
  CHECK_STATUS(svk_service_wait(service, 0, 0, NULL), SVK_TIMEOUT);
  CHECK(!readable(svk_dispatcher_fd(dispatcher)));
  CHECK(!readable(svk_subscription_fd(pull)));
  for (int i = 2; i < 8; i++)
    CHECK_OK(send_number(stream, sends[i]));
  drain(dispatcher);
  static const uint64_t versions[] = { 3, 6, 7 };
  static const long numbers[] = { 8, 7, 9 };
  struct watch *all[] = { &watch, &observer, &queued };
  for (int i = 0; i < 3; i++) {
    CHECK_EQ(all[i]->count, 3);
    CHECK_EQ(all[i]->dropped_sum, 0);
    for (int j = 0; j < 3; j++) {
      CHECK_EQ(all[i]->versions[j], versions[j]);
      CHECK_EQ(all[i]->numbers[j], numbers[j]);
    }
  }
  for (int j = 0; j < 3; j++)
    CHECK_NEXT(pull, versions[j], numbers[j], 0);
  CHECK_STATUS(svk_subscription_next_copy(pull, 0, NULL, 0, NULL, NULL, NULL), SVK_TIMEOUT);
  CHECK_EQ(dropped_total(pull), 0);
  CHECK_EQ(read_number(service, &version), 9);
  CHECK_EQ(version, 7);
  CHECK_STATUS(svk_service_wait(service, 7, MILLISECOND, NULL), SVK_TIMEOUT);
  CHECK_OK(send_number(stream, 10));
  CHECK_EQ(watch.last_version, 9); /* number 8 was skipped, and counted */
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_not_without_the_flag(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  new_skipping_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 7, 0);
  for (int i = 1; i <= 3; i++)
    CHECK_OK(send_number(stream, 7));
  CHECK_EQ(watch.count, 3);
  CHECK_EQ(watch.last_version, 3);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

/* Same bytes means size and bytes. */
static void test_what_is_equal(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.flags = SVK_SERVICE_SKIP_EQUAL;
  options.stream = stream;
  options.on_state = watch_state;
  options.user_data = &watch;
  svk_service *service = NULL;
  MUST_OK(svk_service_create(&options, &service));
  CHECK_OK(svk_stream_send(stream, NULL, 0)); /* as the initial one: empty */
  CHECK_EQ(watch.count, 0);
  CHECK_OK(svk_stream_send(stream, "abc", 3));
  CHECK_EQ(watch.count, 1);
  CHECK_OK(svk_stream_send(stream, "abcd", 4));
  CHECK_EQ(watch.count, 2);
  CHECK_OK(svk_stream_send(stream, "abc", 3));
  CHECK_EQ(watch.count, 3);
  CHECK_OK(svk_stream_send(stream, "abd", 3));
  CHECK_EQ(watch.count, 4);
  CHECK_OK(svk_stream_send(stream, "abd", 3));
  CHECK_EQ(watch.count, 4);
  CHECK_OK(svk_stream_send(stream, "xbd", 3));
  CHECK_EQ(watch.count, 5);
  CHECK_OK(svk_stream_send(stream, NULL, 0));
  CHECK_EQ(watch.count, 6);
  CHECK_OK(svk_stream_send(stream, "x", 0));
  CHECK_EQ(watch.count, 6);
  CHECK_EQ(watch.last_version, 8);
  unsigned char *large = calloc(1, 100000);
  MUST(large != NULL);
  CHECK_OK(svk_stream_send(stream, large, 100000));
  CHECK_OK(svk_stream_send(stream, large, 100000));
  CHECK_EQ(watch.count, 7);
  large[99999] = 1;
  CHECK_OK(svk_stream_send(stream, large, 100000));
  CHECK_EQ(watch.count, 8);
  free(large);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

/* Equal to the state at its turn, not at the time of the send. */
static void test_compared_when_its_turn_comes(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service =
      new_skipping_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 7, SVK_SERVICE_SKIP_EQUAL);
  CHECK_OK(send_number(stream, 8));
  CHECK_OK(send_number(stream, 7));
  CHECK_OK(send_number(stream, 7));
  drain(dispatcher);
  CHECK_EQ(watch.count, 2);
  CHECK_EQ(watch.numbers[0], 8);
  CHECK_EQ(watch.numbers[1], 7);
  uint64_t version;
  CHECK_EQ(read_number(service, &version), 7);
  CHECK_EQ(version, 2);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* Inside a delivery, and before the attach. */
static void send_same(struct watch *watch, const svk_state *state) {
  CHECK_OK(svk_stream_send(watch->context, state->data, state->size));
}

static void test_skipping_in_a_callback(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  watch.context = stream;
  watch.on_state = send_same; /* would never end otherwise */
  CHECK_OK(send_number(stream, 7));
  CHECK_OK(send_number(stream, 8));
  CHECK_OK(send_number(stream, 8));
  new_skipping_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 7, SVK_SERVICE_SKIP_EQUAL);
  CHECK_EQ(watch.count, 1);
  CHECK_EQ(watch.versions[0], 2);
  CHECK_OK(send_number(stream, 9));
  CHECK_EQ(watch.count, 2);
  CHECK_EQ(watch.versions[1], 5); /* 3 and 4 were skipped */
  CHECK_OK(svk_stream_finish(stream));
  CHECK_EQ(watch.finished, 1);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

/* The losses of a buffer beside skipped states: only what was lost is counted. */
static void test_skipped_is_not_dropped(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service =
      new_skipping_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0, SVK_SERVICE_SKIP_EQUAL);
  svk_subscription *pull = observe_pull(service, 0, SVK_BUFFER_NEWEST, 1);
  static const long sends[] = { 1, 1, 2, 2, 3, 3 };
  for (int i = 0; i < 6; i++)
    CHECK_OK(send_number(stream, sends[i]));
  CHECK_NEXT(pull, 5, 3, 2);
  CHECK_EQ(dropped_total(pull), 2);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

/* Storm: neighbours are never equal, and every send has its version. */
struct skip_storm {
  svk_stream *stream;
  int each;
  long last;
  uint64_t last_version;
  _Atomic int errors;
};

static void storm_state(const svk_state *state, void *user_data) {
  struct skip_storm *storm = user_data;
  if (number_of(state) == storm->last || state->version <= storm->last_version || state->dropped != 0)
    atomic_fetch_add(&storm->errors, 1);
  storm->last = number_of(state);
  storm->last_version = state->version;
}

static void storm_run(int index, void *pointer) {
  struct skip_storm *storm = pointer;
  for (int i = 0; i < storm->each; i++)
    CHECK_OK(send_number(storm->stream, (i + index) / 3 % 4));
}

static void test_storm(void) {
  struct skip_storm storm = { .each = iterations(20000) };
  storm.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.flags = SVK_SERVICE_SKIP_EQUAL;
  options.initial = &storm.last;
  options.initial_size = sizeof storm.last;
  options.stream = storm.stream;
  options.on_state = storm_state;
  options.user_data = &storm;
  svk_service *service = NULL;
  MUST_OK(svk_service_create(&options, &service));
  run_threads(4, storm_run, &storm);
  CHECK_EQ(storm.errors, 0);
  CHECK_OK(send_number(storm.stream, 99));
  CHECK_EQ(storm.last_version, 4 * storm.each + 1);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(storm.stream));
}

int main(void) {
  RUN(test_skipping);
  RUN(test_not_without_the_flag);
  RUN(test_what_is_equal);
  RUN(test_compared_when_its_turn_comes);
  RUN(test_skipping_in_a_callback);
  RUN(test_skipped_is_not_dropped);
  RUN(test_storm);
  return check_done();
}
