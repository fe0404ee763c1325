/*
 * fork of a quiet process: the child uses what it inherited, with descriptors of its own, and a worker of its
 * own; the parent does not notice.
 */
#include "check_state.h"

#include <sys/wait.h>

/* ThreadSanitizer would not let a child of a program with threads start another one. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
const char *__tsan_default_options(void);
const char *__tsan_default_options(void) { return "die_after_fork=0"; }
#endif
#endif

/* Runs the function in a child; its checks count. */
static void in_a_child(void (*run)(void)) {
  fflush(NULL);
  pid_t child = fork();
  MUST(child >= 0);
  if (child == 0) {
    atomic_store(&check_failures, 0);
    alarm(60);
    run();
    fflush(NULL);
    _exit(atomic_load(&check_failures) == 0 ? 0 : 1);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    MUST(errno == EINTR);
  if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0))
    fprintf(stderr, "  the child's status: %#x\n", (unsigned)status);
}

/* A dispatcher is the first thing that this process asks of the library: it still notices the fork. */
static svk_dispatcher *first;

static void wake_first(void) {
  CHECK_OK(svk_dispatcher_wake(first));
  CHECK_OK(svk_dispatcher_dispatch(first, 0, 0, NULL));
  CHECK_STATUS(svk_dispatcher_dispatch(first, 0, 0, NULL), SVK_TIMEOUT);
  CHECK_OK(svk_dispatcher_wake(first)); /* and leaves it so */
}

static void test_fork_first(void) {
  MUST_OK(svk_dispatcher_create(&first));
  int fd = svk_dispatcher_fd(first);
  CHECK(!readable(fd));
  in_a_child(wake_first);
  CHECK(!readable(fd));
  CHECK_STATUS(svk_dispatcher_dispatch(first, 0, 0, NULL), SVK_TIMEOUT);
  CHECK_OK(svk_dispatcher_destroy(first));
}

/* What the parent makes before it forks. */
static struct {
  svk_stream *stream;
  svk_service *service;
  struct watch service_watch, by_call, queued, background;
  svk_dispatcher *dispatcher;
  svk_subscription *pull;
  svk_snapshot *snapshot;
  svk_state state;
  int dispatcher_fd, pull_fd;
} base;

static void open_base(int background) {
  struct watch fresh = WATCH_INIT;
  base.service_watch = base.by_call = base.queued = base.background = fresh;
  base.dispatcher = new_dispatcher();
  base.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  base.service = new_service(base.stream, SVK_DELIVER_INLINE, NULL, &base.service_watch, 70);
  observe(base.service, &base.by_call, SVK_DELIVER_INLINE, NULL);
  observe(base.service, &base.queued, SVK_DELIVER_DISPATCHER, base.dispatcher);
  if (background)
    observe(base.service, &base.background, SVK_DELIVER_BACKGROUND, NULL);
  base.pull = observe_pull(base.service, 0, SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(svk_service_acquire(base.service, &base.snapshot, &base.state));
  base.dispatcher_fd = svk_dispatcher_fd(base.dispatcher);
  base.pull_fd = svk_subscription_fd(base.pull);
}

static void close_base(int background) {
  CHECK_OK(svk_snapshot_release(base.snapshot));
  cancel_watch(&base.by_call);
  if (background)
    cancel_watch(&base.background);
  CHECK_OK(svk_subscription_cancel(base.pull));
  close_watch(&base.service_watch);
  CHECK_EQ(base.queued.freed, 1);
  CHECK_OK(svk_stream_destroy(base.stream));
  CHECK_OK(svk_dispatcher_destroy(base.dispatcher));
}

/* Sends the next states, `version` being the first new one, and sees them arrive everywhere. */
static void use_base(int background, int version) {
  uint64_t current;
  int counts[] = { base.service_watch.count, base.by_call.count, base.queued.count };
  for (int i = 0; i < 2; i++) {
    CHECK_OK(send_number(base.stream, 100 + i));
    CHECK_EQ(read_number(base.service, &current), 100 + i);
    CHECK_EQ(current, version + i);
    CHECK_OK(svk_service_wait(base.service, (uint64_t)(version + i - 1), FOR_EVER, NULL));
    CHECK_STATUS(svk_service_wait(base.service, (uint64_t)(version + i), MILLISECOND, NULL), SVK_TIMEOUT);
  }
  CHECK_EQ(base.service_watch.count, counts[0] + 2);
  CHECK_EQ(base.by_call.count, counts[1] + 2);
  int fd = svk_dispatcher_fd(base.dispatcher);
  CHECK(fd >= 0 && readable(fd));
  CHECK_EQ(drain(base.dispatcher), 2);
  CHECK(!readable(fd));
  CHECK_EQ(base.queued.count, counts[2] + 2);
  CHECK_OK(svk_dispatcher_wake(base.dispatcher));
  CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 0, FOR_EVER, NULL));
  fd = svk_subscription_fd(base.pull);
  CHECK(fd >= 0 && readable(fd));
  CHECK_NEXT(base.pull, (uint64_t)version, 100, 0);
  CHECK_NEXT(base.pull, (uint64_t)version + 1, 101, 0);
  CHECK(!readable(fd));
  if (background)
    counter_wait(&base.background.calls, version + 1);
  CHECK_EQ(number_of(&base.state), 70);
}

/* And creates anew. */
static void use_new(void) {
  struct watch watch = WATCH_INIT, background = WATCH_INIT;
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
  observe(service, &background, SVK_DELIVER_BACKGROUND, NULL);
  CHECK_OK(send_number(stream, 1));
  CHECK(readable(svk_dispatcher_fd(dispatcher)));
  CHECK_EQ(drain(dispatcher), 1);
  counter_wait(&background.calls, 1);
  cancel_watch(&background);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static int with_background;

static void use_all(void) {
  use_base(with_background, 1);
  use_new();
  close_base(with_background);
}

static void use_new_and_end(void) {
  use_new();
  close_base(with_background); /* a worker that still ran would look like a leak to valgrind */
}

static void test_the_child_uses_what_it_inherited(void) {
  for (with_background = 0; with_background < 2; with_background++) {
    open_base(with_background);
    in_a_child(use_all);
    in_a_child(use_new_and_end);
    /* The parent's are as they were. */
    CHECK(!readable(base.dispatcher_fd));
    CHECK(!readable(base.pull_fd));
    CHECK_EQ(svk_dispatcher_fd(base.dispatcher), base.dispatcher_fd);
    CHECK_EQ(base.by_call.count, 0);
    use_base(with_background, 1);
    use_new();
    close_base(with_background);
  }
}

/* Work that was queued before the fork is there in both. */
static void take_queued(void) {
  CHECK(readable(svk_dispatcher_fd(base.dispatcher)));
  CHECK_EQ(drain(base.dispatcher), 1);
  CHECK_EQ(base.queued.last_number, 7);
  CHECK(!readable(svk_dispatcher_fd(base.dispatcher)));
  CHECK(readable(svk_subscription_fd(base.pull)));
  CHECK_NEXT(base.pull, 1, 7, 0);
  CHECK(!readable(svk_subscription_fd(base.pull)));
}

static void test_queued_before(void) {
  open_base(0);
  CHECK_OK(send_number(base.stream, 7));
  in_a_child(take_queued);
  CHECK(readable(base.dispatcher_fd)); /* the child took nothing from the parent */
  CHECK(readable(base.pull_fd));
  take_queued();
  close_base(0);
}

/* A descriptor of its own: neither side signals the other. */
static int to_child[2], to_parent[2];

static void say(int fd) { CHECK(write(fd, "x", 1) == 1); }

static void hear(int fd) {
  char byte;
  while (read(fd, &byte, 1) != 1)
    MUST(errno == EINTR);
}

static void child_of_two(void) {
  int fd = svk_dispatcher_fd(base.dispatcher), pull_fd = svk_subscription_fd(base.pull);
  CHECK(!readable(fd));
  CHECK(!readable(pull_fd));
  say(to_parent[1]);
  hear(to_child[0]); /* the parent has sent */
  CHECK(!readable(fd));
  CHECK(!readable(pull_fd));
  CHECK_EQ(drain(base.dispatcher), 0);
  CHECK_OK(send_number(base.stream, 1));
  CHECK(readable(fd));
  CHECK_EQ(drain(base.dispatcher), 1);
  CHECK_NEXT(base.pull, 1, 1, 0);
  CHECK_OK(svk_dispatcher_wake(base.dispatcher));
  say(to_parent[1]);
  close_base(0);
}

static void test_descriptors_are_apart(void) {
  open_base(0);
  MUST(pipe(to_child) == 0 && pipe(to_parent) == 0);
  fflush(NULL);
  pid_t child = fork();
  MUST(child >= 0);
  if (child == 0) {
    atomic_store(&check_failures, 0);
    alarm(60);
    child_of_two();
    _exit(atomic_load(&check_failures) == 0 ? 0 : 1);
  }
  hear(to_parent[0]);
  CHECK_OK(send_number(base.stream, 1));
  CHECK(readable(base.dispatcher_fd));
  say(to_child[1]);
  hear(to_parent[0]); /* the child has drained its own */
  CHECK(readable(base.dispatcher_fd));
  CHECK(readable(base.pull_fd));
  CHECK_EQ(drain(base.dispatcher), 1);
  CHECK_NEXT(base.pull, 1, 1, 0);
  CHECK(!readable(base.dispatcher_fd));
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    MUST(errno == EINTR);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (int i = 0; i < 2; i++) {
    close(to_child[i]);
    close(to_parent[i]);
  }
  close_base(0);
}

/* A child that uses nothing, and ends as a child should. */
static void use_nothing(void) {}

static void end_all(void) { close_base(1); }

static void test_ends(void) {
  open_base(1);
  in_a_child(use_nothing);
  in_a_child(end_all);
  use_base(1, 1);
  close_base(1);
}

/* A child of a child. (No background delivery before it: the worker would have to be known to be idle.) */
static void use_third(void) {
  CHECK(readable(svk_dispatcher_fd(base.dispatcher)));
  CHECK_EQ(drain(base.dispatcher), 1);
  CHECK_NEXT(base.pull, 2, 2, 0);
  use_base(0, 3);
  use_new();
  close_base(0);
}

static void use_and_fork(void) {
  CHECK_OK(send_number(base.stream, 1));
  CHECK_EQ(drain(base.dispatcher), 1);
  CHECK_NEXT(base.pull, 1, 1, 0);
  CHECK_OK(send_number(base.stream, 2));
  in_a_child(use_third);
  use_third();
}

static void test_grandchildren(void) {
  open_base(0);
  in_a_child(use_and_fork);
  in_a_child(use_and_fork);
  use_base(0, 1);
  close_base(0);
}

/* With a second thread that is outside of the library at that moment. */
static struct counter forked = COUNTER_INIT, used = COUNTER_INIT;

static void *idle_thread(void *argument) {
  (void)argument;
  CHECK_OK(send_number(base.stream, 1));
  counter_add(&used, 1);
  counter_wait(&forked, 1);
  return NULL;
}

static void use_second(void) {
  CHECK_EQ(drain(base.dispatcher), 1);
  CHECK_NEXT(base.pull, 1, 1, 0);
  use_base(0, 2);
  close_base(0);
}

static void test_beside_an_idle_thread(void) {
  open_base(0);
  pthread_t thread = start_thread(idle_thread, NULL);
  counter_wait(&used, 1);
  in_a_child(use_second);
  counter_add(&forked, 1);
  join_thread(thread);
  use_second();
}

int main(void) {
  RUN(test_fork_first);
  RUN(test_the_child_uses_what_it_inherited);
  RUN(test_queued_before);
  RUN(test_descriptors_are_apart);
  RUN(test_ends);
  RUN(test_grandchildren);
  RUN(test_beside_an_idle_thread);
  return check_done();
}
