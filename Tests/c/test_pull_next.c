/* Pull subscriptions: next, next_copy, the file descriptor, the end; UNSUPPORTED for the other deliveries. */
#include "check_state.h"

#include <fcntl.h>

static struct {
  svk_stream *stream;
  svk_service *service;
  svk_subscription *pull;
} base;

static void open_base(int32_t buffering, size_t capacity) {
  base.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  base.service = new_service(base.stream, SVK_DELIVER_INLINE, NULL, NULL, 70);
  base.pull = observe_pull(base.service, 0, buffering, capacity);
}

static void close_base(void) {
  CHECK_OK(svk_service_close(base.service));
  CHECK_OK(svk_stream_destroy(base.stream));
}

static int is_zero(const svk_state *state) {
  return state->version == 0 && state->data == NULL && state->size == 0 && state->dropped == 0;
}

static svk_status next(int64_t timeout, svk_snapshot **snapshot, svk_state *state) {
  *snapshot = (svk_snapshot *)&base;
  *state = (svk_state){ 9, &base, 9, 9 };
  svk_status status = svk_subscription_next(base.pull, timeout, snapshot, state);
  if (status != SVK_OK) {
    CHECK(*snapshot == NULL);
    CHECK(is_zero(state));
  }
  return status;
}

static void test_one_by_one(void) {
  svk_snapshot *snapshots[3];
  svk_state states[3];
  open_base(SVK_BUFFER_UNBOUNDED, 0);
  CHECK_STATUS(next(0, &snapshots[0], &states[0]), SVK_TIMEOUT);
  for (int i = 1; i <= 3; i++)
    CHECK_OK(send_number(base.stream, 70 + i));
  for (int i = 0; i < 3; i++) {
    CHECK_OK(next(i ? FOR_EVER : 0, &snapshots[i], &states[i]));
    CHECK_EQ(states[i].version, i + 1);
    CHECK_EQ(states[i].size, sizeof(long));
    CHECK_EQ(states[i].dropped, 0);
    CHECK_EQ((uintptr_t)states[i].data % 16, 0);
  }
  CHECK_STATUS(next(0, &(svk_snapshot *){ NULL }, &(svk_state){ 0, NULL, 0, 0 }), SVK_TIMEOUT);
  for (int i = 0; i < 3; i++) { /* each is there until its own release */
    CHECK_EQ(number_of(&states[i]), 71 + i);
    CHECK_OK(svk_snapshot_release(snapshots[i]));
    CHECK_STATUS(svk_snapshot_release(snapshots[i]), SVK_INVALID_HANDLE);
  }
  close_base();
}

static void test_the_time(void) {
  svk_snapshot *snapshot;
  svk_state state;
  open_base(SVK_BUFFER_UNBOUNDED, 0);
  int64_t before = now_ns();
  CHECK_STATUS(next(20 * MILLISECOND, &snapshot, &state), SVK_TIMEOUT);
  CHECK(now_ns() - before >= 20 * MILLISECOND);
  before = now_ns();
  size_t size = 99;
  uint64_t version = 99, dropped = 99;
  CHECK_STATUS(svk_subscription_next_copy(base.pull, 20 * MILLISECOND, NULL, 0, &size, &version, &dropped),
               SVK_TIMEOUT);
  CHECK(now_ns() - before >= 20 * MILLISECOND);
  CHECK(size == 0 && version == 0 && dropped == 0);
  CHECK(svk_last_error()[0] != 0);
  close_base();
}

static void test_copies(void) {
  char buffer[16];
  size_t size = 99;
  uint64_t version = 99, dropped = 99;
  open_base(SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(svk_stream_send(base.stream, "0123456789", 10));
  CHECK_OK(svk_stream_send(base.stream, NULL, 0));
  CHECK_OK(svk_stream_send(base.stream, "abc", 3));
  /* Too small: it is not taken, nothing is written, and it can be asked for again. */
  for (size_t capacity = 0; capacity < 10; capacity++) {
    memset(buffer, '#', sizeof buffer);
    size = version = dropped = 99;
    CHECK_STATUS(svk_subscription_next_copy(base.pull, FOR_EVER, capacity ? buffer : NULL, capacity, &size,
                                            &version, &dropped),
                 SVK_BUFFER_TOO_SMALL);
    CHECK_EQ(size, 10);
    CHECK(version == 0 && dropped == 0);
    for (size_t i = 0; i < sizeof buffer; i++)
      CHECK_EQ(buffer[i], '#');
    CHECK(readable(svk_subscription_fd(base.pull)));
  }
  CHECK_STATUS(svk_subscription_next_copy(base.pull, 0, NULL, 5, &size, &version, &dropped),
               SVK_INVALID_ARGUMENT);
  CHECK(size == 0 && version == 0 && dropped == 0);
  CHECK_OK(svk_subscription_next_copy(base.pull, 0, buffer, 10, &size, &version, &dropped));
  CHECK(memcmp(buffer, "0123456789######", 16) == 0);
  CHECK(size == 10 && version == 1 && dropped == 0);
  size = 99;
  CHECK_OK(svk_subscription_next_copy(base.pull, 0, NULL, 0, &size, &version, NULL)); /* the empty one */
  CHECK(size == 0 && version == 2);
  CHECK_STATUS(svk_subscription_next_copy(base.pull, 0, NULL, 0, NULL, NULL, NULL), SVK_BUFFER_TOO_SMALL);
  CHECK_OK(svk_subscription_next_copy(base.pull, 0, buffer, sizeof buffer, NULL, NULL, NULL));
  CHECK(memcmp(buffer, "abc3456789######", 16) == 0);
  CHECK_STATUS(svk_subscription_next_copy(base.pull, 0, buffer, sizeof buffer, &size, NULL, NULL),
               SVK_TIMEOUT);
  CHECK_EQ(size, 0);
  close_base();
}

static void test_arguments(void) {
  svk_snapshot *snapshot = (svk_snapshot *)&base;
  svk_state state = { 9, &base, 9, 9 };
  open_base(SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(send_number(base.stream, 1));
  CHECK_STATUS(svk_subscription_next(base.pull, 0, &snapshot, NULL), SVK_INVALID_ARGUMENT);
  CHECK(snapshot == NULL);
  CHECK_STATUS(svk_subscription_next(base.pull, 0, NULL, &state), SVK_INVALID_ARGUMENT);
  CHECK(is_zero(&state));
  CHECK_STATUS(svk_subscription_next(base.pull, 0, NULL, NULL), SVK_INVALID_ARGUMENT);
  CHECK_NEXT(base.pull, 1, 1, 0); /* it was not taken */
  close_base();
}

/* Other deliveries have nothing to pull. */
static void test_unsupported(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  open_base(SVK_BUFFER_UNBOUNDED, 0);
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_BACKGROUND; delivery++) {
    struct watch watch = WATCH_INIT;
    svk_subscription *subscription = observe(base.service, &watch, delivery, dispatcher);
    CHECK_OK(send_number(base.stream, 1));
    svk_snapshot *snapshot = (svk_snapshot *)&base;
    svk_state state = { 9, &base, 9, 9 };
    CHECK_STATUS(svk_subscription_next(subscription, FOR_EVER, &snapshot, &state), SVK_UNSUPPORTED);
    CHECK(snapshot == NULL && is_zero(&state));
    size_t size = 99;
    uint64_t version = 99, dropped = 99;
    CHECK_STATUS(
        svk_subscription_next_copy(subscription, FOR_EVER, &state, sizeof state, &size, &version, &dropped),
        SVK_UNSUPPORTED);
    CHECK(size == 0 && version == 0 && dropped == 0);
    CHECK_EQ(svk_subscription_fd(subscription), -1);
    CHECK(svk_last_error()[0] != 0);
    CHECK_EQ(dropped_total(subscription), 0); /* of any delivery */
    cancel_watch(&watch);
  }
  close_base();
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* ---- The bounded buffers, as a puller sees them ---- */

static void test_newest(void) {
  open_base(SVK_BUFFER_NEWEST, 2);
  for (int i = 1; i <= 5; i++)
    CHECK_OK(send_number(base.stream, i));
  CHECK_EQ(dropped_total(base.pull), 3);
  CHECK_NEXT(base.pull, 4, 4, 3);
  CHECK_NEXT(base.pull, 5, 5, 0);
  CHECK_OK(send_number(base.stream, 6));
  CHECK_NEXT(base.pull, 6, 6, 0);
  CHECK_EQ(dropped_total(base.pull), 3);
  /* One that was too large for the buffer gives way to the next. */
  CHECK_OK(svk_stream_send(base.stream, "0123456789", 10)); /* 7 */
  size_t size;
  long number;
  CHECK_STATUS(svk_subscription_next_copy(base.pull, 0, &number, sizeof number, &size, NULL, NULL),
               SVK_BUFFER_TOO_SMALL);
  CHECK_OK(send_number(base.stream, 8));
  CHECK_OK(send_number(base.stream, 9));
  CHECK_NEXT(base.pull, 8, 8, 1);
  CHECK_NEXT(base.pull, 9, 9, 0);
  CHECK_EQ(dropped_total(base.pull), 4);
  close_base();
}

static void test_oldest(void) {
  open_base(SVK_BUFFER_OLDEST, 2);
  for (int i = 1; i <= 5; i++)
    CHECK_OK(send_number(base.stream, i));
  CHECK_EQ(dropped_total(base.pull), 3);
  uint64_t version, dropped, sum = 0;
  for (uint64_t i = 1; i <= 2; i++) {
    CHECK_OK(svk_subscription_next_copy(base.pull, 0, &(long){ 0 }, sizeof(long), NULL, &version, &dropped));
    CHECK_EQ(version, i);
    sum += dropped;
  }
  CHECK_OK(send_number(base.stream, 6));
  CHECK_OK(svk_subscription_next_copy(base.pull, 0, &(long){ 0 }, sizeof(long), NULL, &version, &dropped));
  CHECK_EQ(version, 6);
  CHECK_EQ(sum + dropped, 3);
  CHECK_EQ(dropped_total(base.pull), 3);
  close_base();
}

/* ---- The descriptor ---- */

static void test_descriptor(void) {
  svk_snapshot *snapshot;
  svk_state state;
  open_base(SVK_BUFFER_UNBOUNDED, 0);
  int fd = svk_subscription_fd(base.pull);
  MUST(fd >= 0);
  CHECK_EQ(svk_subscription_fd(base.pull), fd);
  CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
  CHECK(!readable(fd));
  CHECK_OK(send_number(base.stream, 1));
  CHECK(readable(fd));
  CHECK_OK(send_number(base.stream, 2));
  CHECK_OK(next(0, &snapshot, &state));
  CHECK(readable(fd)); /* there is another */
  CHECK_OK(svk_snapshot_release(snapshot));
  CHECK_OK(next(0, &snapshot, &state));
  CHECK_OK(svk_snapshot_release(snapshot));
  CHECK(!readable(fd));
  CHECK_STATUS(next(0, &snapshot, &state), SVK_TIMEOUT);
  CHECK(!readable(fd));
  CHECK_OK(send_number(base.stream, 3));
  CHECK_OK(svk_stream_finish(base.stream));
  CHECK(readable(fd));
  CHECK_NEXT(base.pull, 3, 3, 0);
  for (int i = 0; i < 3; i++) { /* for ever after the end */
    CHECK(readable(fd));
    CHECK_STATUS(next(i ? FOR_EVER : 0, &snapshot, &state), SVK_CLOSED);
  }
  CHECK_EQ(svk_subscription_fd(base.pull), fd);
  CHECK_OK(svk_subscription_cancel(base.pull)); /* it must still be cancelled */
  CHECK_EQ(svk_subscription_fd(base.pull), -1);
  CHECK(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
  close_base();
}

/* Asked for when there is something already. */
static void test_descriptor_asked_for_late(void) {
  open_base(SVK_BUFFER_NEWEST, 1);
  CHECK_OK(send_number(base.stream, 1));
  CHECK(readable(svk_subscription_fd(base.pull)));
  CHECK_OK(send_number(base.stream, 2)); /* replaces it */
  CHECK(readable(svk_subscription_fd(base.pull)));
  CHECK_NEXT(base.pull, 2, 2, 1);
  CHECK(!readable(svk_subscription_fd(base.pull)));
  close_base();
  open_base(SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(svk_stream_finish(base.stream));
  CHECK(readable(svk_subscription_fd(base.pull)));
  close_base();
}

/* ---- The end ---- */

static void test_kept_states_after_the_end(void) {
  svk_snapshot *snapshot;
  svk_state state;
  open_base(SVK_BUFFER_UNBOUNDED, 0);
  for (int i = 1; i <= 2; i++)
    CHECK_OK(send_number(base.stream, i));
  CHECK_OK(svk_stream_destroy(base.stream));
  CHECK_NEXT(base.pull, 1, 1, 0);
  CHECK_OK(next(FOR_EVER, &snapshot, &state));
  CHECK_EQ(state.version, 2);
  CHECK_OK(svk_snapshot_release(snapshot));
  size_t size = 99;
  uint64_t version = 99, dropped = 99;
  CHECK_STATUS(svk_subscription_next_copy(base.pull, FOR_EVER, NULL, 0, &size, &version, &dropped),
               SVK_CLOSED);
  CHECK(size == 0 && version == 0 && dropped == 0);
  CHECK_OK(svk_service_close(base.service));
  CHECK_STATUS(next(FOR_EVER, &snapshot, &state), SVK_INVALID_HANDLE);
}

/* ---- Waiting on other threads ---- */

struct puller {
  int copy;
  svk_status status;
  uint64_t version;
};

static void *pull_one(void *pointer) {
  struct puller *puller = pointer;
  if (puller->copy) {
    puller->status = svk_subscription_next_copy(base.pull, FOR_EVER, &(long){ 0 }, sizeof(long), NULL,
                                                &puller->version, NULL);
  } else {
    svk_snapshot *snapshot = NULL;
    svk_state state;
    puller->status = svk_subscription_next(base.pull, INT64_MAX, &snapshot, &state);
    puller->version = state.version;
    if (puller->status == SVK_OK)
      CHECK_OK(svk_snapshot_release(snapshot));
  }
  return NULL;
}

enum { BY_STATES, BY_FINISH, BY_CANCEL, BY_NOWAIT, BY_CLOSE, WAYS };

static void test_woken(void) {
  for (int i = iterations(100); i > 0; i--)
    for (int way = 0; way < WAYS; way++) {
      struct puller pullers[2] = { { .copy = 0 }, { .copy = 1 } };
      pthread_t threads[2];
      open_base(SVK_BUFFER_UNBOUNDED, 0);
      for (int j = 0; j < 2; j++)
        threads[j] = start_thread(pull_one, &pullers[j]);
      for (int j = i % 2 ? 50 : 0; j > 0; j--)
        sched_yield();
      svk_status status = SVK_OK;
      if (way == BY_STATES) {
        CHECK_OK(send_number(base.stream, 1));
        CHECK_OK(send_number(base.stream, 2));
      } else if (way == BY_FINISH) {
        status = svk_stream_finish(base.stream);
      } else if (way == BY_CANCEL) {
        status = svk_subscription_cancel(base.pull);
      } else if (way == BY_NOWAIT) {
        status = svk_subscription_cancel_nowait(base.pull);
      } else {
        status = svk_service_close(base.service);
      }
      CHECK_OK(status);
      for (int j = 0; j < 2; j++) {
        join_thread(threads[j]);
        if (way == BY_STATES)
          CHECK_OK(pullers[j].status);
        else
          CHECK(pullers[j].status == SVK_CLOSED ||
                (way >= BY_CANCEL && pullers[j].status == SVK_INVALID_HANDLE));
      }
      if (way == BY_STATES)
        CHECK_EQ(pullers[0].version + pullers[1].version, 3); /* each to one of them */
      if (way != BY_CLOSE)
        CHECK_OK(svk_service_close(base.service));
      CHECK_OK(svk_stream_destroy(base.stream));
    }
}

/* From inside a callback of its own service: what is there is there. */
static void pull_inside(struct watch *watch, const svk_state *state) {
  (void)watch;
  if (state->version == 2)
    CHECK_NEXT(base.pull, 1, 71, 0);
}

static void test_inside_a_callback(void) {
  struct watch watch = WATCH_INIT;
  open_base(SVK_BUFFER_UNBOUNDED, 0);
  watch.on_state = pull_inside;
  observe(base.service, &watch, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(send_number(base.stream, 71));
  CHECK_OK(send_number(base.stream, 72));
  CHECK_NEXT(base.pull, 2, 72, 0);
  close_base();
}

int main(void) {
  RUN(test_one_by_one);
  RUN(test_the_time);
  RUN(test_copies);
  RUN(test_arguments);
  RUN(test_unsupported);
  RUN(test_newest);
  RUN(test_oldest);
  RUN(test_descriptor);
  RUN(test_descriptor_asked_for_late);
  RUN(test_kept_states_after_the_end);
  RUN(test_woken);
  RUN(test_inside_a_callback);
  return check_done();
}
