/*
 * Many producers, and observers of every delivery at once: nothing lost, doubled or reordered, the states of
 * each producer in its own order, and the versions without a gap.
 */
#include "check_state.h"

enum { PRODUCERS = 4, DELIVERIES = 4 };

/* What one observer, or the service, has seen. Written without a lock: its calls do not overlap. */
struct seen {
  struct storm *storm;
  uint64_t last_version;
  long last_of[PRODUCERS];
  _Atomic int count, finished, errors, freed;
};

struct storm {
  svk_stream *stream;
  svk_service *service;
  svk_dispatcher *dispatcher;
  svk_subscription *pull;
  struct seen service_seen, seen[DELIVERIES];
  int each;
  int32_t delivery;
};

static void see(struct seen *seen, uint64_t version, const void *data, size_t size, uint64_t dropped) {
  long numbers[2] = { -1, -1 };
  if (size == sizeof numbers)
    memcpy(numbers, data, size);
  long producer = numbers[0];
  if (version != seen->last_version + 1 || dropped != 0 || producer < 0 || producer >= PRODUCERS ||
      numbers[1] != seen->last_of[producer] + 1 ||
      atomic_load_explicit(&seen->finished, memory_order_relaxed))
    atomic_fetch_add(&seen->errors, 1);
  else
    seen->last_of[producer]++;
  seen->last_version = version;
  atomic_fetch_add_explicit(&seen->count, 1, memory_order_relaxed);
}

static void storm_state(const svk_state *state, void *user_data) {
  see(user_data, state->version, state->data, state->size, state->dropped);
}

static void storm_service_state(const svk_state *state, void *user_data) {
  struct seen *seen = user_data;
  storm_state(state, seen);
  /* Stored before it is called; only this delivery stores. */
  uint64_t version;
  size_t size;
  svk_status status =
      svk_service_read(seen->storm->service, &(long[2]){ 0, 0 }, 2 * sizeof(long), &size, &version);
  if (status != SVK_OK || version != state->version)
    atomic_fetch_add(&seen->errors, 1);
}

static void storm_finish(void *user_data) {
  struct seen *seen = user_data;
  atomic_fetch_add(&seen->finished, 1);
}

static void storm_free(void *user_data) {
  struct seen *seen = user_data;
  atomic_fetch_add(&seen->freed, 1);
}

static void consume_dispatcher(struct storm *storm) {
  struct seen *last = storm->delivery == SVK_DELIVER_DISPATCHER ? &storm->service_seen : NULL;
  while (!atomic_load(&storm->seen[SVK_DELIVER_DISPATCHER].finished) || (last != NULL && !last->finished)) {
    svk_status status = svk_dispatcher_dispatch(storm->dispatcher, 0, 100 * MILLISECOND, NULL);
    CHECK(status == SVK_OK || status == SVK_TIMEOUT);
  }
}

static void consume_pull(struct storm *storm) {
  struct seen *seen = &storm->seen[SVK_DELIVER_PULL];
  for (int i = 0;; i++) {
    if (i % 2) {
      svk_snapshot *snapshot = NULL;
      svk_state state;
      svk_status status = svk_subscription_next(storm->pull, FOR_EVER, &snapshot, &state);
      if (status == SVK_CLOSED)
        break;
      MUST_OK(status);
      storm_state(&state, seen);
      CHECK_OK(svk_snapshot_release(snapshot));
    } else {
      long numbers[2];
      size_t size;
      uint64_t version, dropped;
      svk_status status = svk_subscription_next_copy(storm->pull, FOR_EVER, numbers, sizeof numbers, &size,
                                                     &version, &dropped);
      if (status == SVK_CLOSED)
        break;
      MUST_OK(status);
      see(seen, version, numbers, size, dropped);
    }
  }
  storm_finish(seen);
}

static _Atomic int producing;

static void storm_run(int index, void *pointer) {
  struct storm *storm = pointer;
  if (index == PRODUCERS) {
    consume_dispatcher(storm);
  } else if (index == PRODUCERS + 1) {
    consume_pull(storm);
  } else {
    for (int i = 1; i <= storm->each; i++) {
      long numbers[2] = { index, i };
      CHECK_OK(svk_stream_send(storm->stream, numbers, sizeof numbers));
    }
    if (atomic_fetch_sub(&producing, 1) == 1)
      CHECK_OK(svk_stream_finish(storm->stream));
  }
}

static void check_storm(int32_t delivery, int32_t buffering) {
  struct storm *storm = calloc(1, sizeof *storm);
  MUST(storm != NULL);
  storm->each = iterations(6000);
  storm->delivery = delivery;
  storm->stream = new_stream(buffering, 16);
  storm->dispatcher = new_dispatcher();
  storm->service_seen.storm = storm;
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = storm->stream;
  options.delivery = delivery;
  options.dispatcher = storm->dispatcher;
  options.on_state = storm_service_state;
  options.on_finish = storm_finish;
  options.user_data = &storm->service_seen;
  options.user_data_free = storm_free;
  MUST_OK(svk_service_create(&options, &storm->service));
  for (int32_t i = 0; i < DELIVERIES; i++) {
    svk_observer_options observer = SVK_OBSERVER_OPTIONS_INIT;
    observer.delivery = i;
    observer.dispatcher = storm->dispatcher;
    observer.buffering = i == SVK_DELIVER_INLINE ? SVK_BUFFER_UNBOUNDED : buffering;
    observer.capacity = 16;
    observer.on_state = storm_state;
    observer.on_finish = storm_finish;
    observer.user_data = &storm->seen[i];
    observer.user_data_free = storm_free;
    svk_subscription *subscription = NULL;
    MUST_OK(svk_service_observe(storm->service, &observer, &subscription));
    if (i == SVK_DELIVER_PULL)
      storm->pull = subscription;
  }
  atomic_store(&producing, PRODUCERS);
  run_threads(PRODUCERS + 2, storm_run, storm);
  while (!atomic_load(&storm->service_seen.finished) ||
         !atomic_load(&storm->seen[SVK_DELIVER_BACKGROUND].finished) ||
         !atomic_load(&storm->seen[SVK_DELIVER_INLINE].finished))
    sched_yield();
  uint64_t version;
  CHECK_OK(svk_service_read(storm->service, &(long[2]){ 0, 0 }, 2 * sizeof(long), NULL, &version));
  CHECK_EQ(version, PRODUCERS * storm->each);
  CHECK_OK(svk_service_close(storm->service));
  for (int i = -1; i < DELIVERIES; i++) {
    struct seen *seen = i < 0 ? &storm->service_seen : &storm->seen[i];
    CHECK_EQ(seen->count, PRODUCERS * storm->each);
    CHECK_EQ(seen->last_version, PRODUCERS * storm->each);
    CHECK_EQ(seen->finished, 1);
    CHECK_EQ(seen->errors, 0);
    CHECK_EQ(seen->freed, 1);
    for (int j = 0; j < PRODUCERS; j++)
      CHECK_EQ(seen->last_of[j], storm->each);
  }
  CHECK_OK(svk_stream_destroy(storm->stream));
  CHECK_OK(svk_dispatcher_destroy(storm->dispatcher));
  free(storm);
}

static void test_inline(void) { check_storm(SVK_DELIVER_INLINE, SVK_BUFFER_UNBOUNDED); }

static void test_inline_blocking(void) { check_storm(SVK_DELIVER_INLINE, SVK_BUFFER_BLOCK); }

static void test_dispatcher(void) { check_storm(SVK_DELIVER_DISPATCHER, SVK_BUFFER_UNBOUNDED); }

static void test_background(void) { check_storm(SVK_DELIVER_BACKGROUND, SVK_BUFFER_UNBOUNDED); }

/* Many streams, each with its service, share nothing: all senders go on side by side. */
struct lanes {
  svk_stream *streams[8];
  struct seen seen[8];
  int each;
};

static void lane_state(const svk_state *state, void *user_data) {
  struct seen *seen = user_data;
  if (state->version != ++seen->last_version)
    atomic_fetch_add(&seen->errors, 1);
}

static void lanes_run(int index, void *pointer) {
  struct lanes *lanes = pointer;
  for (int i = 0; i < lanes->each; i++)
    CHECK_OK(svk_stream_send(lanes->streams[(index + i) % 8], &i, sizeof i));
}

static void test_many_streams(void) {
  struct lanes lanes = { .each = iterations(8000) };
  svk_service *services[8] = { NULL };
  for (int i = 0; i < 8; i++) {
    lanes.streams[i] = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
    options.stream = lanes.streams[i];
    options.on_state = lane_state;
    options.user_data = &lanes.seen[i];
    options.user_data_free = storm_free;
    MUST_OK(svk_service_create(&options, &services[i]));
  }
  run_threads(4, lanes_run, &lanes);
  uint64_t sum = 0;
  for (int i = 0; i < 8; i++) {
    CHECK_OK(svk_service_close(services[i]));
    CHECK_OK(svk_stream_destroy(lanes.streams[i]));
    CHECK_EQ(lanes.seen[i].errors, 0);
    CHECK_EQ(lanes.seen[i].freed, 1);
    sum += lanes.seen[i].last_version;
  }
  CHECK_EQ(sum, 4 * lanes.each);
}

int main(void) {
  RUN(test_inline);
  RUN(test_inline_blocking);
  RUN(test_dispatcher);
  RUN(test_background);
  RUN(test_many_streams);
  return check_done();
}
