/* The dispatcher's file descriptor: readable while there is work, level- and edge-triggered. */
#include "check_state.h"

#include <fcntl.h>
#include <sys/epoll.h>

static struct {
  svk_dispatcher *dispatcher;
  svk_stream *stream;
  svk_service *service;
  struct watch watch;
  int fd;
} base;

static void open_base(void) {
  struct watch fresh = WATCH_INIT;
  base.watch = fresh;
  base.dispatcher = new_dispatcher();
  base.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  base.service = new_inline_service(base.stream);
  observe(base.service, &base.watch, SVK_DELIVER_DISPATCHER, base.dispatcher);
  base.fd = svk_dispatcher_fd(base.dispatcher);
  MUST(base.fd >= 0);
}

static void close_base(void) {
  cancel_watch(&base.watch);
  CHECK_OK(svk_service_close(base.service));
  CHECK_OK(svk_stream_destroy(base.stream));
  CHECK_OK(svk_dispatcher_destroy(base.dispatcher));
}

static void test_readable_with_work(void) {
  open_base();
  CHECK_EQ(svk_dispatcher_fd(base.dispatcher), base.fd); /* the same until it ends */
  CHECK(fcntl(base.fd, F_GETFD) & FD_CLOEXEC);
  CHECK(!readable(base.fd));
  for (int i = 1; i <= 3; i++) {
    CHECK_OK(send_number(base.stream, i));
    CHECK(readable(base.fd));
  }
  CHECK(readable(base.fd)); /* looking takes nothing away */
  CHECK_EQ(svk_dispatcher_fd(base.dispatcher), base.fd);
  CHECK_EQ(drain(base.dispatcher), 3);
  CHECK(!readable(base.fd));
  CHECK_STATUS(svk_dispatcher_dispatch(base.dispatcher, 0, 0, NULL), SVK_TIMEOUT);
  CHECK(!readable(base.fd));
  CHECK_OK(svk_stream_finish(base.stream));
  CHECK(readable(base.fd)); /* the finish is work */
  CHECK_EQ(drain(base.dispatcher), 1);
  CHECK(!readable(base.fd));
  close_base();
}

/* One dispatch that runs all leaves nothing behind, without a second one that finds nothing. */
static void test_not_readable_after_one_dispatch(void) {
  open_base();
  for (int round = 1; round <= 5; round++) {
    for (int i = 0; i < round; i++)
      CHECK_OK(send_number(base.stream, i));
    size_t count = 99;
    CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 0, 0, &count));
    CHECK_EQ(count, round);
    CHECK(!readable(base.fd));
  }
  close_base();
}

static void test_left_behind(void) {
  open_base();
  for (int i = 1; i <= 4; i++)
    CHECK_OK(send_number(base.stream, i));
  for (int i = 1; i <= 3; i++) {
    CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 1, 0, NULL));
    CHECK(readable(base.fd));
  }
  CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 1, 0, NULL));
  CHECK(!readable(base.fd));
  CHECK_EQ(base.watch.count, 4);
  close_base();
}

static void test_cancelled_work_is_no_work(void) {
  struct watch other = WATCH_INIT;
  open_base();
  observe(base.service, &other, SVK_DELIVER_DISPATCHER, base.dispatcher);
  CHECK_OK(send_number(base.stream, 1));
  cancel_watch(&other);
  CHECK(readable(base.fd)); /* that of the first */
  CHECK_EQ(drain(base.dispatcher), 1);
  CHECK(!readable(base.fd));
  close_base();
}

/* After a cancel the descriptor may still be readable once; a dispatch settles that. */
static void test_nothing_but_cancelled_work(void) {
  struct watch other = WATCH_INIT;
  open_base();
  cancel_watch(&base.watch);
  observe(base.service, &other, SVK_DELIVER_DISPATCHER, base.dispatcher);
  CHECK_OK(send_number(base.stream, 1));
  cancel_watch(&other);
  CHECK_EQ(drain(base.dispatcher), 0);
  CHECK(!readable(base.fd));
  CHECK_EQ(other.count, 0);
  CHECK_OK(svk_service_close(base.service));
  CHECK_OK(svk_stream_destroy(base.stream));
  CHECK_OK(svk_dispatcher_destroy(base.dispatcher));
}

/* ---- Event loops ---- */

static int epoll_on(int fd, uint32_t events) {
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = { .events = events };
  MUST(epoll >= 0);
  MUST(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
  return epoll;
}

static int epoll_event(int epoll, int timeout) {
  struct epoll_event event;
  int count;
  do
    count = epoll_wait(epoll, &event, 1, timeout);
  while (count < 0 && errno == EINTR);
  return count;
}

static void test_edges(void) {
  open_base();
  int epoll = epoll_on(base.fd, EPOLLIN | EPOLLET);
  CHECK_EQ(epoll_event(epoll, 0), 0);
  CHECK_OK(send_number(base.stream, 1));
  CHECK_EQ(epoll_event(epoll, 0), 1);
  CHECK_EQ(epoll_event(epoll, 0), 0); /* an edge is told once */
  CHECK_EQ(drain(base.dispatcher), 1);
  CHECK_EQ(epoll_event(epoll, 0), 0);

  for (int i = 1; i <= 5; i++)
    CHECK_OK(send_number(base.stream, i));
  for (int i = 1; i <= 5; i++) {
    CHECK_EQ(epoll_event(epoll, 0), 1); /* each dispatch that leaves work behind gives a new edge */
    CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 1, 0, NULL));
  }
  CHECK_EQ(epoll_event(epoll, 0), 0);
  CHECK_EQ(base.watch.count, 6);

  /* Work that comes while the loop has been told and has not dispatched yet. */
  CHECK_OK(send_number(base.stream, 1));
  CHECK_EQ(epoll_event(epoll, 0), 1);
  CHECK_OK(send_number(base.stream, 2));
  CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 1, 0, NULL));
  CHECK_EQ(epoll_event(epoll, 0), 1);
  CHECK_EQ(drain(base.dispatcher), 1);
  CHECK_OK(send_number(base.stream, 3));
  CHECK_EQ(epoll_event(epoll, 0), 1);
  CHECK_EQ(drain(base.dispatcher), 1);
  close(epoll);
  close_base();
}

/* Work that a callback makes, with a limit. */
static void send_more(struct watch *watch, const svk_state *state) {
  (void)watch;
  if (number_of(state) < 10)
    CHECK_OK(send_number(base.stream, number_of(state) + 1));
}

static void test_edges_from_a_callback(void) {
  open_base();
  base.watch.on_state = send_more;
  int epoll = epoll_on(base.fd, EPOLLIN | EPOLLET);
  CHECK_OK(send_number(base.stream, 1));
  int turns = 0;
  while (epoll_event(epoll, 0) == 1 && ++turns < 100)
    CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 1, 0, NULL));
  CHECK_EQ(base.watch.count, 10);
  CHECK(!readable(base.fd));
  close(epoll);
  close_base();
}

/* A loop that trusts the edges, and nothing else, against many senders. One lost edge would hang it. */
struct loop {
  _Atomic int count, total;
  int limit;
  uint32_t events;
};

static struct loop loop;

static void count_state(const svk_state *state, void *user_data) {
  (void)state, (void)user_data;
  atomic_fetch_add(&loop.count, 1);
}

static void loop_run(int index, void *pointer) {
  (void)pointer;
  if (index < 3) {
    for (int i = 0; i < loop.total / 3; i++)
      CHECK_OK(send_number(base.stream, i));
    return;
  }
  int epoll = epoll_on(base.fd, loop.events);
  while (atomic_load(&loop.count) < loop.total) {
    CHECK_EQ(epoll_event(epoll, -1), 1);
    svk_status status = svk_dispatcher_dispatch(base.dispatcher, (size_t)loop.limit, 0, NULL);
    CHECK(status == SVK_OK || status == SVK_TIMEOUT);
  }
  close(epoll);
}

static void test_loops(void) {
  static const int limits[] = { 0, 1, 3 };
  for (int i = 0; i < 3; i++)
    for (int edge = 0; edge < 2; edge++) {
      open_base();
      cancel_watch(&base.watch);
      svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
      options.delivery = SVK_DELIVER_DISPATCHER;
      options.dispatcher = base.dispatcher;
      options.on_state = count_state;
      MUST_OK(svk_service_observe(base.service, &options, &base.watch.subscription));
      loop.count = 0;
      loop.total = 3 * iterations(8000);
      loop.limit = limits[i];
      loop.events = edge ? EPOLLIN | EPOLLET : EPOLLIN;
      run_threads(4, loop_run, NULL);
      CHECK_EQ(loop.count, loop.total);
      drain(base.dispatcher);
      CHECK(!readable(base.fd));
      CHECK_OK(svk_service_close(base.service));
      CHECK_OK(svk_stream_destroy(base.stream));
      CHECK_OK(svk_dispatcher_destroy(base.dispatcher));
    }
}

/* Each dispatcher has its own; it is closed with it. */
static void test_own_descriptors(void) {
  svk_dispatcher *dispatchers[10];
  int fds[10];
  for (int i = 0; i < 10; i++) {
    dispatchers[i] = new_dispatcher();
    fds[i] = svk_dispatcher_fd(dispatchers[i]);
    CHECK(fds[i] > 2);
    for (int j = 0; j < i; j++)
      CHECK(fds[i] != fds[j]);
  }
  for (int i = 0; i < 10; i++) {
    CHECK_OK(svk_dispatcher_destroy(dispatchers[i]));
    CHECK(fcntl(fds[i], F_GETFD) < 0 && errno == EBADF);
    CHECK_EQ(svk_dispatcher_fd(dispatchers[i]), -1);
  }
}

int main(void) {
  RUN(test_readable_with_work);
  RUN(test_not_readable_after_one_dispatch);
  RUN(test_left_behind);
  RUN(test_cancelled_work_is_no_work);
  RUN(test_nothing_but_cancelled_work);
  RUN(test_edges);
  RUN(test_edges_from_a_callback);
  RUN(test_loops);
  RUN(test_own_descriptors);
  return check_done();
}
