/* Reads are never torn and never go back, however many senders and readers there are. */
#include "check_state.h"

/* A state: n bytes, all the same, where the byte says the n. */
enum { BYTES_MAX = 4096 };

static size_t size_for(int byte) { return (size_t)(1 + byte * 37 % BYTES_MAX); }

static int is_whole(const unsigned char *bytes, size_t size) {
  if (size == 0 || size != size_for(bytes[0]))
    return 0;
  for (size_t i = 1; i < size; i++)
    if (bytes[i] != bytes[0])
      return 0;
  return 1;
}

struct race {
  svk_stream *stream;
  svk_service *service;
  svk_dispatcher *dispatcher;
  svk_subscription *pull;
  int senders, readers, each;
  struct milestone reading; /* all readers have begun */
  _Atomic int sending, torn, backwards, reads;
};

static void send_fill(struct race *race, int byte, int owned) {
  size_t size = size_for(byte);
  if (owned) {
    void *block = malloc(size);
    MUST(block != NULL);
    memset(block, byte, size);
    CHECK_OK(svk_stream_send_owned(race->stream, block, size, free));
  } else {
    unsigned char bytes[BYTES_MAX];
    memset(bytes, byte, size);
    CHECK_OK(svk_stream_send(race->stream, bytes, size));
    memset(bytes, ~byte, size);
  }
}

static void note(struct race *race, uint64_t version, uint64_t *last, int whole) {
  if (!whole)
    atomic_fetch_add(&race->torn, 1);
  if (version < *last)
    atomic_fetch_add(&race->backwards, 1);
  *last = version;
  atomic_fetch_add_explicit(&race->reads, 1, memory_order_relaxed);
}

static void read_copy(struct race *race, unsigned char *bytes, size_t *capacity, uint64_t *last) {
  size_t size;
  uint64_t version;
  svk_status status = svk_service_read(race->service, bytes, *capacity, &size, &version);
  if (status == SVK_BUFFER_TOO_SMALL) {
    CHECK(size > *capacity && size <= BYTES_MAX && version == 0);
    *capacity = size;
  } else if (CHECK_OK(status)) {
    note(race, version, last, is_whole(bytes, size));
    *capacity = 1 + *capacity / 2; /* so that it is too small now and then */
  }
}

static void race_run(int index, void *pointer) {
  struct race *race = pointer;
  uint64_t last = 0, last_pulled = 0;
  if (index < race->senders) {
    milestone_wait(&race->reading);
    for (int i = 0; i < race->each; i++)
      send_fill(race, (index * 101 + i * 7) & 0xff, i % 2);
    atomic_fetch_sub(&race->sending, 1);
    return;
  }
  unsigned char *bytes = malloc(BYTES_MAX);
  MUST(bytes != NULL);
  size_t capacity = 1;
  for (int i = 0; atomic_load(&race->sending) > 0; i++) {
    if (i == 1)
      milestone_pass(&race->reading, race->readers);
    if (race->dispatcher != NULL && index == race->senders)
      svk_dispatcher_dispatch(race->dispatcher, 0, 0, NULL);
    if (i % 2) {
      read_copy(race, bytes, &capacity, &last);
    } else {
      svk_snapshot *snapshot = NULL;
      svk_state state;
      if (!CHECK_OK(svk_service_acquire(race->service, &snapshot, &state)))
        break;
      note(race, state.version, &last, is_whole(state.data, state.size));
      if (i % 8 == 0) {
        svk_snapshot *pulled = NULL;
        svk_state next;
        svk_status status = svk_subscription_next(race->pull, 0, &pulled, &next);
        if (status == SVK_OK) {
          note(race, next.version, &last_pulled, is_whole(next.data, next.size));
          CHECK_OK(svk_snapshot_release(pulled));
        }
      }
      if (!is_whole(state.data, state.size)) /* unchanged until the release */
        atomic_fetch_add(&race->torn, 1);
      CHECK_OK(svk_snapshot_release(snapshot));
    }
  }
  free(bytes);
}

static void check_race(int senders, int readers, int32_t delivery) {
  struct race race = {
    .senders = senders, .readers = readers, .each = iterations(12000 / senders), .reading = MILESTONE_INIT
  };
  unsigned char initial[BYTES_MAX];
  memset(initial, 9, size_for(9));
  race.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  if (delivery == SVK_DELIVER_DISPATCHER)
    race.dispatcher = new_dispatcher();
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = race.stream;
  options.initial = initial;
  options.initial_size = size_for(9);
  options.delivery = delivery;
  options.dispatcher = race.dispatcher;
  MUST_OK(svk_service_create(&options, &race.service));
  race.pull = observe_pull(race.service, SVK_OBSERVE_CURRENT, SVK_BUFFER_NEWEST, 2);
  atomic_store(&race.sending, senders);
  run_threads(senders + readers, race_run, &race);
  CHECK_EQ(race.torn, 0);
  CHECK_EQ(race.backwards, 0);
  CHECK(race.reads > 0);
  if (race.dispatcher != NULL)
    drain(race.dispatcher);
  uint64_t version = 0;
  unsigned char bytes[BYTES_MAX];
  CHECK_OK(svk_stream_finish(race.stream));
  while (svk_service_wait(race.service, version, delivery == SVK_DELIVER_BACKGROUND ? FOR_EVER : 0,
                          &version) == SVK_OK)
    ;
  CHECK_OK(svk_service_read(race.service, bytes, sizeof bytes, NULL, &version));
  CHECK_EQ(version, senders * race.each);
  CHECK_OK(svk_service_close(race.service));
  CHECK_OK(svk_stream_destroy(race.stream));
  if (race.dispatcher != NULL)
    CHECK_OK(svk_dispatcher_destroy(race.dispatcher));
}

static void test_one_sender(void) { check_race(1, 3, SVK_DELIVER_INLINE); }

static void test_many_senders(void) { check_race(4, 2, SVK_DELIVER_INLINE); }

static void test_dispatcher(void) { check_race(2, 2, SVK_DELIVER_DISPATCHER); }

static void test_background(void) { check_race(2, 2, SVK_DELIVER_BACKGROUND); }

/* Readers and a close: they get whole states, and then the end. */
struct closing {
  struct race race;
  struct milestone reading;
};

static void closing_run(int index, void *pointer) {
  struct closing *closing = pointer;
  struct race *race = &closing->race;
  if (index == 0) {
    milestone_wait(&closing->reading);
    CHECK_OK(svk_service_close(race->service));
    return;
  }
  if (index == 1) {
    while (svk_stream_send(race->stream, (unsigned char[64]){ 0 }, size_for(0)) == SVK_OK)
      ;
    return;
  }
  svk_snapshot *snapshots[8] = { NULL };
  svk_state states[8];
  for (int i = 0;; i++) {
    int slot = i % 8;
    if (snapshots[slot] != NULL) {
      CHECK(is_whole(states[slot].data, states[slot].size));
      CHECK_OK(svk_snapshot_release(snapshots[slot]));
    }
    svk_status status = svk_service_acquire(race->service, &snapshots[slot], &states[slot]);
    if (i == 8)
      milestone_pass(&closing->reading, 2);
    if (status != SVK_OK) {
      CHECK_STATUS(status, SVK_INVALID_HANDLE);
      CHECK(snapshots[slot] == NULL && states[slot].data == NULL);
      break;
    }
  }
  for (int i = 0; i < 8; i++)
    if (snapshots[i] != NULL) { /* they outlive the service */
      CHECK(is_whole(states[i].data, states[i].size));
      CHECK_OK(svk_snapshot_release(snapshots[i]));
    }
}

static void test_readers_and_a_close(void) {
  for (int i = iterations(60); i > 0; i--) {
    struct closing closing = { .reading = MILESTONE_INIT };
    unsigned char initial[BYTES_MAX] = { 0 };
    closing.race.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
    options.stream = closing.race.stream;
    options.initial = initial;
    options.initial_size = size_for(0);
    MUST_OK(svk_service_create(&options, &closing.race.service));
    run_threads(4, closing_run, &closing);
    CHECK_OK(svk_stream_destroy(closing.race.stream));
  }
}

int main(void) {
  RUN(test_one_sender);
  RUN(test_many_senders);
  RUN(test_dispatcher);
  RUN(test_background);
  RUN(test_readers_and_a_close);
  return check_done();
}
