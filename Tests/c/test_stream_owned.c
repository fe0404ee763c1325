/* svk_stream_send_owned: the block is freed exactly once, whatever it answers, and not too early. */
#include "check_state.h"

/* Blocks that know how often they were freed. The count is in front of the bytes, and outlives them. */
enum { BLOCK_SIZE = 64 };

struct block {
  _Atomic int freed;
  _Alignas(16) unsigned char bytes[BLOCK_SIZE + 16];
};

static void block_free(void *bytes) {
  struct block *block = (struct block *)((char *)bytes - offsetof(struct block, bytes));
  CHECK_EQ(atomic_fetch_add(&block->freed, 1), 0);
  memset(block->bytes, 0xdd, sizeof block->bytes); /* nobody may read it now */
}

static void misaligned_free(void *bytes) { block_free((char *)bytes - 1); }

static void block_fill(struct block *block, int byte) {
  atomic_store(&block->freed, 0);
  memset(block->bytes, byte, sizeof block->bytes);
}

static svk_status block_send(svk_stream *stream, struct block *block) {
  return svk_stream_send_owned(stream, block->bytes, BLOCK_SIZE, block_free);
}

/* All bytes of a state are the same; which? */
static int byte_of(const svk_state *state) {
  const unsigned char *bytes = state->data;
  for (size_t i = 1; i < state->size; i++)
    if (bytes[i] != bytes[0]) {
      CHECK(bytes[i] == bytes[0]);
      return -1;
    }
  return state->size > 0 ? bytes[0] : -1;
}

static void expect_version_as_byte(struct watch *watch, const svk_state *state) {
  (void)watch;
  CHECK_EQ(byte_of(state), (int)(state->version & 0x7f));
}

static void test_freed_when_replaced(void) {
  struct watch watch = WATCH_INIT;
  struct block blocks[4];
  watch.on_state = expect_version_as_byte;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  for (int i = 0; i < 4; i++) {
    block_fill(&blocks[i], i + 1);
    CHECK_OK(block_send(stream, &blocks[i]));
    CHECK_EQ(blocks[i].freed, 0); /* it is the current state */
    for (int j = 0; j < i; j++)
      CHECK_EQ(blocks[j].freed, 1);
  }
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_EQ(blocks[3].freed, 0);
  unsigned char bytes[BLOCK_SIZE];
  CHECK_OK(svk_service_read(service, bytes, sizeof bytes, NULL, NULL));
  CHECK_EQ(bytes[BLOCK_SIZE - 1], 4);
  close_watch(&watch);
  CHECK_EQ(blocks[3].freed, 1);
}

static void test_a_snapshot_keeps_it(void) {
  struct block first, second;
  block_fill(&first, 1);
  block_fill(&second, 2);
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  CHECK_OK(block_send(stream, &first));
  svk_snapshot *one = NULL, *other = NULL;
  svk_state state;
  CHECK_OK(svk_service_acquire(service, &one, &state));
  CHECK(state.data == first.bytes); /* taken over, not copied */
  CHECK_OK(svk_service_acquire(service, &other, &state));
  CHECK_OK(block_send(stream, &second));
  CHECK_EQ(first.freed, 0);
  CHECK_OK(svk_service_close(service));
  CHECK_EQ(second.freed, 1);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_EQ(first.freed, 0);
  CHECK_EQ(byte_of(&state), 1);
  CHECK_OK(svk_snapshot_release(one));
  CHECK_EQ(first.freed, 0);
  CHECK_EQ(byte_of(&state), 1);
  CHECK_OK(svk_snapshot_release(other));
  CHECK_EQ(first.freed, 1);
}

static void test_buffers_keep_it(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT;
  struct block blocks[3];
  watch.on_state = expect_version_as_byte;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  for (int i = 0; i < 3; i++)
    block_fill(&blocks[i], i + 1);
  CHECK_OK(block_send(stream, &blocks[0])); /* in the stream's buffer */
  CHECK_EQ(blocks[0].freed, 0);
  svk_service *service = new_inline_service(stream);
  observe(service, &watch, SVK_DELIVER_DISPATCHER, dispatcher);
  svk_subscription *pull = observe_pull(service, 0, SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(block_send(stream, &blocks[1])); /* in those of the observers */
  CHECK_EQ(blocks[0].freed, 1);
  CHECK_OK(block_send(stream, &blocks[2]));
  CHECK_EQ(blocks[1].freed, 0);
  CHECK_EQ(drain(dispatcher), 2);
  CHECK_EQ(blocks[1].freed, 0);
  svk_snapshot *snapshot = NULL;
  svk_state state;
  CHECK_OK(svk_subscription_next(pull, 0, &snapshot, &state));
  CHECK_EQ(state.version, 2);
  CHECK_EQ(blocks[1].freed, 0);
  CHECK_OK(svk_snapshot_release(snapshot));
  CHECK_EQ(blocks[1].freed, 1);
  CHECK_OK(svk_service_close(service));
  CHECK_EQ(blocks[2].freed, 1);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_cancelling_frees_what_is_buffered(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT;
  struct block blocks[3];
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  observe(service, &watch, SVK_DELIVER_DISPATCHER, dispatcher);
  svk_subscription *pull = observe_pull(service, 0, SVK_BUFFER_UNBOUNDED, 0);
  for (int i = 0; i < 3; i++) {
    block_fill(&blocks[i], i + 1);
    CHECK_OK(block_send(stream, &blocks[i]));
  }
  cancel_watch(&watch);
  CHECK_EQ(blocks[0].freed, 0);
  CHECK_OK(svk_subscription_cancel(pull));
  CHECK_EQ(blocks[0].freed, 1);
  CHECK_EQ(blocks[1].freed, 1);
  CHECK_EQ(blocks[2].freed, 0); /* the current one */
  CHECK_OK(svk_service_close(service));
  CHECK_EQ(blocks[2].freed, 1);
  CHECK_EQ(watch.count, 0);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_dropped_blocks(void) {
  struct block blocks[4];
  svk_stream *stream = new_stream(SVK_BUFFER_NEWEST, 2);
  for (int i = 0; i < 4; i++) {
    block_fill(&blocks[i], i + 1);
    CHECK_OK(block_send(stream, &blocks[i]));
  }
  for (int i = 0; i < 4; i++)
    CHECK_EQ(blocks[i].freed, i < 2);
  CHECK_OK(svk_stream_destroy(stream)); /* never attached: lost */
  for (int i = 0; i < 4; i++)
    CHECK_EQ(blocks[i].freed, 1);
}

static void test_failures_free_at_once(void) {
  struct block block;
  svk_stream *stream = new_stream(SVK_BUFFER_OLDEST, 1);
  CHECK_OK(send_number(stream, 1));
  block_fill(&block, 1);
  CHECK_STATUS(block_send(stream, &block), SVK_BUFFER_FULL);
  CHECK_EQ(block.freed, 1);

  CHECK_OK(svk_stream_finish(stream));
  block_fill(&block, 1);
  CHECK_STATUS(block_send(stream, &block), SVK_CLOSED);
  CHECK_EQ(block.freed, 1);

  CHECK_OK(svk_stream_destroy(stream));
  block_fill(&block, 1);
  CHECK_STATUS(block_send(stream, &block), SVK_INVALID_HANDLE); /* stale */
  CHECK_EQ(block.freed, 1);
  block_fill(&block, 1);
  CHECK_STATUS(block_send(NULL, &block), SVK_INVALID_HANDLE);
  CHECK_EQ(block.freed, 1);
  block_fill(&block, 1);
  CHECK_STATUS(block_send((svk_stream *)&block, &block), SVK_INVALID_HANDLE); /* forged */
  CHECK_EQ(block.freed, 1);

  stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  block_fill(&block, 1);
  CHECK_STATUS(block_send((svk_stream *)service, &block), SVK_INVALID_HANDLE); /* another kind */
  CHECK_EQ(block.freed, 1);
  CHECK_OK(svk_service_close(service));
  block_fill(&block, 1);
  CHECK_STATUS(block_send(stream, &block), SVK_CLOSED);
  CHECK_EQ(block.freed, 1);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_sizes_of_zero(void) {
  struct block block;
  block_fill(&block, 1);
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  CHECK_OK(svk_stream_send_owned(stream, block.bytes, 0, block_free)); /* a block all the same */
  CHECK_OK(svk_stream_send_owned(stream, NULL, 0, NULL));
  CHECK_EQ(block.freed, 1);
  uint64_t version;
  CHECK_OK(svk_service_read(service, NULL, 0, NULL, &version));
  CHECK_EQ(version, 2);
  CHECK_OK(svk_service_close(service));
  CHECK_EQ(block.freed, 1);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_blocks_for_ever(void) {
  static const _Alignas(16) char text[] = "valid and unchanged for ever";
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  CHECK_OK(svk_stream_send_owned(stream, (void *)text, sizeof text, NULL));
  svk_snapshot *snapshot = NULL;
  svk_state state;
  CHECK_OK(svk_service_acquire(service, &snapshot, &state));
  CHECK_EQ(state.size, sizeof text);
  CHECK(memcmp(state.data, text, sizeof text) == 0);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_snapshot_release(snapshot));
}

static void test_misaligned_blocks(void) {
  struct watch watch = WATCH_INIT; /* checks the alignment */
  watch.on_state = expect_version_as_byte;
  struct block block;
  block_fill(&block, 1);
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_OK(svk_stream_send_owned(stream, block.bytes + 1, BLOCK_SIZE, misaligned_free));
  CHECK_EQ(watch.count, 1);
  svk_snapshot *snapshot = NULL;
  svk_state state;
  CHECK_OK(svk_service_acquire(service, &snapshot, &state));
  CHECK_EQ((uintptr_t)state.data % 16, 0);
  CHECK_EQ(byte_of(&state), 1);
  CHECK_OK(svk_snapshot_release(snapshot));
  watch.on_state = NULL;
  CHECK_OK(send_number(stream, 2));
  CHECK_EQ(block.freed, 1);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_skipped_blocks(void) {
  struct block blocks[3];
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.flags = SVK_SERVICE_SKIP_EQUAL;
  options.stream = stream;
  svk_service *service = NULL;
  MUST_OK(svk_service_create(&options, &service));
  for (int i = 0; i < 3; i++) {
    block_fill(&blocks[i], 7);
    CHECK_OK(block_send(stream, &blocks[i]));
  }
  CHECK_EQ(blocks[0].freed, 0);
  CHECK_EQ(blocks[1].freed, 1);
  CHECK_EQ(blocks[2].freed, 1);
  CHECK_OK(svk_service_close(service));
  CHECK_EQ(blocks[0].freed, 1);
  CHECK_OK(svk_stream_destroy(stream));
}

/* ---- data_free is a callback like any other ---- */

static struct {
  svk_stream *stream;
  svk_service *service;
  int calls;
} busy;

static void busy_free(void *block) {
  busy.calls++;
  if (busy.calls == 1) {
    uint64_t version;
    size_t size;
    svk_service_read(busy.service, NULL, 0, &size, &version);
    CHECK_OK(send_number(busy.stream, 1000));
  }
  free(block);
}

static void test_calls_from_data_free(void) {
  busy.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  busy.service = new_inline_service(busy.stream);
  CHECK_OK(svk_stream_send_owned(busy.stream, malloc(24), 24, busy_free));
  CHECK_EQ(busy.calls, 0);
  CHECK_OK(send_number(busy.stream, 1));
  CHECK_EQ(busy.calls, 1);
  uint64_t version;
  CHECK_EQ(read_number(busy.service, &version), 1000);
  CHECK_EQ(version, 3);
  CHECK_OK(svk_service_close(busy.service));
  CHECK_OK(svk_stream_destroy(busy.stream));
}

/* ---- Storms: every block is freed once, whoever lets go of it last ---- */

static _Atomic int storm_alive, storm_made;

static void storm_free(void *block) {
  memset(block, 0xdd, 48);
  free(block);
  atomic_fetch_sub(&storm_alive, 1);
}

struct owned_storm {
  svk_stream *stream;
  svk_service *service;
  svk_dispatcher *dispatcher;
  svk_subscription *pull;
  _Atomic int sending, torn;
};

static void check_whole(struct owned_storm *storm, const svk_state *state) {
  const unsigned char *bytes = state->data;
  for (size_t i = 1; i < state->size; i++)
    if (bytes[i] != bytes[0])
      atomic_fetch_add(&storm->torn, 1);
}

static void storm_state(const svk_state *state, void *user_data) { check_whole(user_data, state); }

static void storm_run(int index, void *pointer) {
  struct owned_storm *storm = pointer;
  svk_snapshot *snapshot;
  svk_state state;
  if (index < 2) {
    for (int i = iterations(20000); i > 0; i--) {
      unsigned char *block = malloc(48);
      MUST(block != NULL);
      memset(block, i & 0x7f, 48);
      atomic_fetch_add(&storm_alive, 1);
      atomic_fetch_add(&storm_made, 1);
      svk_status status = svk_stream_send_owned(storm->stream, block, 48, storm_free);
      if (status != SVK_OK)
        CHECK_STATUS(status, SVK_CLOSED);
    }
    atomic_fetch_sub(&storm->sending, 1);
    return;
  }
  while (atomic_load(&storm->sending) > 0) {
    if (index == 2) {
      svk_dispatcher_dispatch(storm->dispatcher, 0, 0, NULL);
    } else {
      svk_snapshot *older = NULL;
      svk_state old;
      if (svk_service_acquire(storm->service, &older, &old) != SVK_OK)
        return;
      if (svk_subscription_next(storm->pull, 0, &snapshot, &state) == SVK_OK) {
        check_whole(storm, &state);
        CHECK_OK(svk_snapshot_release(snapshot));
      }
      check_whole(storm, &old);
      CHECK_OK(svk_snapshot_release(older));
    }
  }
  if (index == 3) /* closes while the rest is still queued */
    CHECK_OK(svk_service_close(storm->service));
}

static void test_storm(void) {
  struct owned_storm storm = { .stream = new_stream(SVK_BUFFER_NEWEST, 3), .dispatcher = new_dispatcher() };
  atomic_store(&storm.sending, 2);
  storm.service = new_inline_service(storm.stream);
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.on_state = storm_state;
  options.user_data = &storm;
  svk_subscription *subscription = NULL;
  CHECK_OK(svk_service_observe(storm.service, &options, &subscription));
  options.delivery = SVK_DELIVER_DISPATCHER;
  options.dispatcher = storm.dispatcher;
  options.buffering = SVK_BUFFER_OLDEST;
  options.capacity = 5;
  CHECK_OK(svk_service_observe(storm.service, &options, &subscription));
  options.delivery = SVK_DELIVER_BACKGROUND;
  options.buffering = SVK_BUFFER_NEWEST;
  CHECK_OK(svk_service_observe(storm.service, &options, &subscription));
  storm.pull = observe_pull(storm.service, 0, SVK_BUFFER_NEWEST, 2);
  run_threads(4, storm_run, &storm);
  CHECK_OK(svk_stream_destroy(storm.stream));
  CHECK_OK(svk_dispatcher_destroy(storm.dispatcher));
  CHECK_EQ(storm.torn, 0);
  CHECK_EQ(storm_alive, 0);
  CHECK_EQ(storm_made, 2 * iterations(20000));
}

int main(void) {
  RUN(test_freed_when_replaced);
  RUN(test_a_snapshot_keeps_it);
  RUN(test_buffers_keep_it);
  RUN(test_cancelling_frees_what_is_buffered);
  RUN(test_dropped_blocks);
  RUN(test_failures_free_at_once);
  RUN(test_sizes_of_zero);
  RUN(test_blocks_for_ever);
  RUN(test_misaligned_blocks);
  RUN(test_skipped_blocks);
  RUN(test_calls_from_data_free);
  RUN(test_storm);
  return check_done();
}
