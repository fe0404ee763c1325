/* Many pullers of one subscription: each state goes to one of them. And event loops on its descriptor. */
#include "check_state.h"

#include <sys/epoll.h>

enum { SENDERS = 2, PULLERS = 3 };

struct storm {
  svk_stream *stream;
  svk_service *service;
  svk_subscription *pull;
  int each;
  _Atomic int sending, taken, disordered;
  struct milestone middle;
  _Atomic uint64_t sum, dropped;
  unsigned char *seen; /* by version; each is written by whoever took it */
};

static void take(struct storm *storm, uint64_t version, uint64_t dropped, uint64_t *last) {
  if (version <= *last || version > (uint64_t)(SENDERS * storm->each) || storm->seen[version]++ != 0)
    atomic_fetch_add(&storm->disordered, 1);
  *last = version; /* of this puller: they rise for each */
  atomic_fetch_add(&storm->taken, 1);
  atomic_fetch_add(&storm->sum, version);
  atomic_fetch_add(&storm->dropped, dropped);
}

static void storm_run(int index, void *pointer) {
  struct storm *storm = pointer;
  if (index < SENDERS) {
    for (int i = 0; i < storm->each; i++)
      CHECK_OK(send_number(storm->stream, i));
    if (atomic_fetch_sub(&storm->sending, 1) == 1)
      CHECK_OK(svk_stream_finish(storm->stream));
    return;
  }
  uint64_t last = 0;
  for (int i = 0;; i++) {
    uint64_t version, dropped;
    svk_status status;
    if ((i + index) % 2) {
      svk_snapshot *snapshot = NULL;
      svk_state state;
      status = svk_subscription_next(storm->pull, i % 3 ? FOR_EVER : 1000, &snapshot, &state);
      version = state.version;
      dropped = state.dropped;
      if (status == SVK_OK)
        CHECK_OK(svk_snapshot_release(snapshot));
    } else {
      long number;
      status = svk_subscription_next_copy(storm->pull, FOR_EVER, &number, i % 5 ? sizeof number : 1, NULL,
                                          &version, &dropped);
    }
    if (status == SVK_CLOSED)
      return;
    if (status == SVK_OK)
      take(storm, version, dropped, &last);
    else
      CHECK(status == SVK_TIMEOUT || status == SVK_BUFFER_TOO_SMALL);
  }
}

static void check_storm(int32_t buffering, size_t capacity) {
  struct storm storm = { .each = iterations(10000) };
  storm.seen = calloc((size_t)(SENDERS * storm.each) + 1, 1);
  MUST(storm.seen != NULL);
  storm.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  storm.service = new_inline_service(storm.stream);
  storm.pull = observe_pull(storm.service, 0, buffering, capacity);
  atomic_store(&storm.sending, SENDERS);
  run_threads(SENDERS + PULLERS, storm_run, &storm);
  uint64_t sent = (uint64_t)(SENDERS * storm.each), lost = dropped_total(storm.pull);
  CHECK_EQ(storm.disordered, 0);
  CHECK_EQ((uint64_t)storm.taken + lost, sent);
  CHECK(storm.dropped <= lost);
  if (buffering == SVK_BUFFER_UNBOUNDED || buffering == SVK_BUFFER_BLOCK) {
    CHECK_EQ(lost, 0);
    CHECK_EQ(storm.sum, sent * (sent + 1) / 2);
  }
  if (buffering == SVK_BUFFER_NEWEST)
    CHECK_EQ(storm.dropped, lost);
  CHECK(readable(svk_subscription_fd(storm.pull)));
  CHECK_OK(svk_service_close(storm.service));
  CHECK_OK(svk_stream_destroy(storm.stream));
  free(storm.seen);
}

static void test_storms(void) {
  check_storm(SVK_BUFFER_UNBOUNDED, 0);
  check_storm(SVK_BUFFER_NEWEST, 3);
  check_storm(SVK_BUFFER_OLDEST, 3);
  check_storm(SVK_BUFFER_BLOCK, 3);
}

/* A loop that sleeps in epoll and pulls only when it is told to. A lost signal would hang it. */
struct loop {
  svk_stream *stream;
  svk_subscription *pull;
  uint32_t events;
  int each, count;
};

static void loop_run(int index, void *pointer) {
  struct loop *loop = pointer;
  if (index == 0) {
    for (int i = 0; i < loop->each; i++)
      CHECK_OK(send_number(loop->stream, i));
    CHECK_OK(svk_stream_finish(loop->stream));
    return;
  }
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = { .events = loop->events };
  MUST(epoll >= 0);
  MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, svk_subscription_fd(loop->pull), &event) == 0);
  svk_status status = SVK_TIMEOUT;
  while (status != SVK_CLOSED) {
    while (epoll_wait(epoll, &event, 1, -1) < 0)
      MUST(errno == EINTR);
    /* With edges all is taken; else one by one. */
    do {
      status = svk_subscription_next_copy(loop->pull, 0, &(long){ 0 }, sizeof(long), NULL, NULL, NULL);
      loop->count += status == SVK_OK;
    } while (status == SVK_OK && (loop->events & EPOLLET) != 0);
    CHECK(status == SVK_OK || status == SVK_TIMEOUT || status == SVK_CLOSED);
  }
  close(epoll);
}

static void test_loops(void) {
  for (int edge = 0; edge < 2; edge++) {
    struct loop loop = { .each = iterations(20000), .events = edge ? EPOLLIN | EPOLLET : EPOLLIN };
    loop.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    svk_service *service = new_inline_service(loop.stream);
    loop.pull = observe_pull(service, 0, SVK_BUFFER_UNBOUNDED, 0);
    run_threads(2, loop_run, &loop);
    CHECK_EQ(loop.count, loop.each);
    CHECK_OK(svk_service_close(service));
    CHECK_OK(svk_stream_destroy(loop.stream));
  }
}

/* Pullers, a sender and a cancel: all of them are woken. */
static void cancel_run(int index, void *pointer) {
  struct storm *storm = pointer;
  if (index == 0) {
    milestone_wait(&storm->middle);
    CHECK_OK(svk_subscription_cancel(storm->pull));
    atomic_store(&storm->sending, 0);
  } else if (index == 1) {
    while (atomic_load(&storm->sending) > 0)
      CHECK_OK(send_number(storm->stream, 1));
  } else {
    svk_status status;
    do {
      status =
          svk_subscription_next_copy(storm->pull, FOR_EVER, &(long){ 0 }, sizeof(long), NULL, NULL, NULL);
      if (status == SVK_OK)
        milestone_pass(&storm->middle, 10);
    } while (status == SVK_OK);
    CHECK(status == SVK_CLOSED || status == SVK_INVALID_HANDLE);
  }
}

static void test_cancel(void) {
  for (int i = iterations(100); i > 0; i--) {
    struct storm storm = { .sending = 1, .middle = MILESTONE_INIT };
    storm.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    storm.service = new_inline_service(storm.stream);
    storm.pull = observe_pull(storm.service, 0, i % 2 ? SVK_BUFFER_BLOCK : SVK_BUFFER_UNBOUNDED, 2);
    run_threads(4, cancel_run, &storm);
    CHECK_OK(svk_service_close(storm.service));
    CHECK_OK(svk_stream_destroy(storm.stream));
  }
}

int main(void) {
  RUN(test_storms);
  RUN(test_loops);
  RUN(test_cancel);
  return check_done();
}
