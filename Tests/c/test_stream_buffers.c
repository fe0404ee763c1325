/* The stream's own buffer, unbounded, newest and oldest: what is kept, and what `dropped` says. */
#include "check_state.h"

/* Sends 1 to 5 into a buffer of 3, then attaches. */
static void test_newest_before_the_attach(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_NEWEST, 3);
  for (int i = 1; i <= 5; i++)
    CHECK_OK(send_number(stream, i)); /* accepted: each has a version */
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_EQ(watch.count, 3);
  for (int i = 0; i < 3; i++) {
    CHECK_EQ(watch.versions[i], i + 3);
    CHECK_EQ(watch.numbers[i], i + 3);
    CHECK_EQ(watch.dropped[i], i == 0 ? 2 : 0);
  }
  CHECK_OK(send_number(stream, 6));
  CHECK_EQ(watch.last_version, 6);
  CHECK_EQ(watch.last_dropped, 0);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_oldest_before_the_attach(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_OLDEST, 3);
  for (int i = 1; i <= 5; i++)
    CHECK_STATUS(send_number(stream, i), i <= 3 ? SVK_OK : SVK_BUFFER_FULL);
  CHECK(svk_last_error()[0] != 0);
  CHECK_STATUS(svk_stream_send_within(stream, "x", 1, FOR_EVER), SVK_BUFFER_FULL); /* no wait here */
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_EQ(watch.count, 3);
  for (int i = 0; i < 3; i++)
    CHECK_EQ(watch.versions[i], i + 1);
  CHECK_OK(send_number(stream, 6));
  CHECK_EQ(watch.last_version, 4); /* what was refused has no version */
  CHECK_EQ(watch.last_number, 6);
  CHECK_EQ(watch.dropped_sum, 0); /* nor is it lost: the sender knows */
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_unbounded_ignores_the_capacity(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 1);
  int many = iterations(100000);
  for (int i = 1; i <= many; i++)
    CHECK_OK(send_number(stream, i));
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_EQ(watch.count, many);
  CHECK_EQ(watch.last_version, many);
  CHECK_EQ(watch.dropped_sum, 0);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

/* The same with a service that lags because nobody dispatches, over several rounds. */
static void test_newest_with_a_dispatcher(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  for (int capacity = 1; capacity <= 4; capacity++) {
    struct watch watch = WATCH_INIT;
    svk_stream *stream = new_stream(SVK_BUFFER_NEWEST, (size_t)capacity);
    svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
    int sent = 0;
    for (int round = 0; round <= 9; round++) {
      int before = watch.count;
      for (int i = 0; i < round; i++)
        CHECK_OK(send_number(stream, ++sent));
      int kept = round < capacity ? round : capacity;
      CHECK_EQ(drain(dispatcher), kept);
      CHECK_EQ(watch.count, before + kept);
      for (int i = 0; i < kept; i++) {
        CHECK_EQ(watch.versions[before + i], sent - kept + 1 + i);
        CHECK_EQ(watch.dropped[before + i], i == 0 ? round - kept : 0);
      }
      CHECK_EQ(read_number(service, NULL), sent);
    }
    CHECK_EQ(watch.dropped_sum + (uint64_t)watch.count, sent);
    close_watch(&watch);
    CHECK_OK(svk_stream_destroy(stream));
  }
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_oldest_with_a_dispatcher(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  for (int capacity = 1; capacity <= 4; capacity++) {
    struct watch watch = WATCH_INIT;
    svk_stream *stream = new_stream(SVK_BUFFER_OLDEST, (size_t)capacity);
    new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
    int accepted = 0;
    for (int round = 0; round <= 9; round++) {
      int kept = round < capacity ? round : capacity;
      for (int i = 0; i < round; i++)
        CHECK_STATUS(send_number(stream, accepted + i + 1), i < kept ? SVK_OK : SVK_BUFFER_FULL);
      accepted += kept;
      CHECK_EQ(drain(dispatcher), kept);
      CHECK_EQ(watch.count, accepted);
      CHECK_EQ(watch.last_version, accepted);
    }
    for (int i = 0; i < watch.count && i < WATCH_MAX; i++)
      CHECK_EQ(watch.versions[i], i + 1);
    CHECK_EQ(watch.dropped_sum, 0);
    close_watch(&watch);
    CHECK_OK(svk_stream_destroy(stream));
  }
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* Room is made by the delivery, one state at a time. */
static void test_oldest_one_by_one(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_OLDEST, 2);
  new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(send_number(stream, 2));
  for (int i = 3; i <= 20; i++) {
    CHECK_STATUS(send_number(stream, -1), SVK_BUFFER_FULL);
    size_t count = 0;
    CHECK_OK(svk_dispatcher_dispatch(dispatcher, 1, 0, &count));
    CHECK_EQ(count, 1);
    CHECK_OK(send_number(stream, i));
  }
  CHECK_EQ(drain(dispatcher), 2);
  CHECK_EQ(watch.count, 20);
  CHECK_EQ(watch.last_version, 20);
  CHECK_EQ(watch.last_number, 20);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* With inline delivery the buffer fills only when callbacks send. */
struct burst {
  svk_stream *stream;
  int size, accepted;
};

static void send_burst(struct watch *watch, const svk_state *state) {
  struct burst *burst = watch->context;
  if (state->version != 1)
    return;
  for (int i = 0; i < burst->size; i++) {
    svk_status status = send_number(burst->stream, 2 + i);
    if (status == SVK_OK)
      burst->accepted++;
    else
      CHECK_STATUS(status, SVK_BUFFER_FULL);
  }
}

static void test_bursts_from_a_callback(void) {
  struct burst burst = { new_stream(SVK_BUFFER_NEWEST, 2), 5, 0 };
  struct watch watch = WATCH_INIT;
  watch.context = &burst;
  watch.on_state = send_burst;
  new_service(burst.stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_OK(send_number(burst.stream, 1));
  CHECK_EQ(burst.accepted, 5);
  CHECK_EQ(watch.count, 3);
  CHECK_EQ(watch.versions[1], 5);
  CHECK_EQ(watch.dropped[1], 3);
  CHECK_EQ(watch.versions[2], 6);
  CHECK_EQ(watch.dropped[2], 0);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(burst.stream));

  struct burst other = { new_stream(SVK_BUFFER_OLDEST, 2), 5, 0 };
  struct watch second = WATCH_INIT;
  second.context = &other;
  second.on_state = send_burst;
  new_service(other.stream, SVK_DELIVER_INLINE, NULL, &second, 0);
  CHECK_OK(send_number(other.stream, 1));
  CHECK_EQ(other.accepted, 2);
  CHECK_EQ(second.count, 3);
  CHECK_EQ(second.last_version, 3);
  CHECK_EQ(second.last_number, 3);
  close_watch(&second);
  CHECK_OK(svk_stream_destroy(other.stream));
}

/* What the stream's buffer loses, its observers lose too: "lost to buffers in all". */
static void test_observers_count_the_streams_losses(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_NEWEST, 2);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  svk_subscription *pull = observe_pull(service, 0, SVK_BUFFER_UNBOUNDED, 0);
  for (int i = 1; i <= 6; i++)
    CHECK_OK(send_number(stream, i));
  drain(dispatcher);
  CHECK_EQ(watch.dropped_sum, 4);
  CHECK_EQ(observer.count, 2);
  CHECK_EQ(observer.dropped[0], 4);
  CHECK_EQ(observer.dropped[1], 0);
  CHECK_EQ(dropped_total(observer.subscription), 4);
  CHECK_NEXT(pull, 5, 5, 4);
  CHECK_NEXT(pull, 6, 6, 0);
  CHECK_EQ(dropped_total(pull), 4);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* ---- Storms: what is missing is exactly what was said to be dropped, or refused ---- */

struct buffer_storm {
  svk_stream *stream;
  svk_dispatcher *dispatcher;
  int each;
  uint64_t last_version, received, dropped;
  long last_of[8]; /* of each producer */
  _Atomic int accepted, refused, running, errors;
};

static void storm_state(const svk_state *state, void *user_data) {
  struct buffer_storm *storm = user_data;
  long number = number_of(state), producer = number / 1000000, sequence = number % 1000000;
  if (state->version != storm->last_version + 1 + state->dropped || producer < 0 || producer >= 8 ||
      sequence <= storm->last_of[producer])
    atomic_fetch_add(&storm->errors, 1);
  else
    storm->last_of[producer] = sequence;
  storm->last_version = state->version;
  storm->dropped += state->dropped;
  storm->received++;
}

static void storm_run(int index, void *pointer) {
  struct buffer_storm *storm = pointer;
  if (index == 0) { /* the consumer, which lags */
    for (;;) {
      int last = atomic_load(&storm->running) == 0;
      svk_status status = svk_dispatcher_dispatch(storm->dispatcher, 3, MILLISECOND, NULL);
      if (status == SVK_TIMEOUT && last)
        return;
      CHECK(status == SVK_OK || status == SVK_TIMEOUT);
    }
  }
  for (int i = 1; i <= storm->each; i++) {
    svk_status status = send_number(storm->stream, index * 1000000l + i);
    if (status == SVK_OK)
      atomic_fetch_add(&storm->accepted, 1);
    else if (status == SVK_BUFFER_FULL)
      atomic_fetch_add(&storm->refused, 1);
    else
      CHECK_OK(status);
  }
  atomic_fetch_sub(&storm->running, 1);
}

static void check_storm(int32_t buffering, size_t capacity) {
  struct buffer_storm *storm = calloc(1, sizeof *storm);
  MUST(storm != NULL);
  storm->stream = new_stream(buffering, capacity);
  storm->dispatcher = new_dispatcher();
  storm->each = iterations(8000);
  atomic_store(&storm->running, 3);
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = storm->stream;
  options.delivery = SVK_DELIVER_DISPATCHER;
  options.dispatcher = storm->dispatcher;
  options.on_state = storm_state;
  options.user_data = storm;
  svk_service *service = NULL;
  MUST_OK(svk_service_create(&options, &service));
  run_threads(4, storm_run, storm);
  CHECK_EQ(storm->errors, 0);
  CHECK_EQ(storm->accepted + storm->refused, 3 * storm->each);
  CHECK_EQ(storm->received + storm->dropped, storm->accepted);
  CHECK_EQ(storm->last_version, storm->accepted);
  if (buffering != SVK_BUFFER_OLDEST)
    CHECK_EQ(storm->refused, 0);
  if (buffering != SVK_BUFFER_NEWEST)
    CHECK_EQ(storm->dropped, 0);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(storm->stream));
  CHECK_OK(svk_dispatcher_destroy(storm->dispatcher));
  free(storm);
}

static void test_storms(void) {
  check_storm(SVK_BUFFER_UNBOUNDED, 0);
  check_storm(SVK_BUFFER_NEWEST, 1);
  check_storm(SVK_BUFFER_NEWEST, 7);
  check_storm(SVK_BUFFER_OLDEST, 1);
  check_storm(SVK_BUFFER_OLDEST, 7);
  check_storm(SVK_BUFFER_BLOCK, 1);
  check_storm(SVK_BUFFER_BLOCK, 7);
}

int main(void) {
  RUN(test_newest_before_the_attach);
  RUN(test_oldest_before_the_attach);
  RUN(test_unbounded_ignores_the_capacity);
  RUN(test_newest_with_a_dispatcher);
  RUN(test_oldest_with_a_dispatcher);
  RUN(test_oldest_one_by_one);
  RUN(test_bursts_from_a_callback);
  RUN(test_observers_count_the_streams_losses);
  RUN(test_storms);
  return check_done();
}
