/* svk_dispatcher_wake: remembered, coalesced, from other threads and from signal handlers. */
#include "check_state.h"

static void test_remembered(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  CHECK_OK(svk_dispatcher_wake(dispatcher));
  size_t count = 99;
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, FOR_EVER, &count)); /* does not wait */
  CHECK_EQ(count, 0);
  CHECK_STATUS(svk_dispatcher_dispatch(dispatcher, 0, 0, &count), SVK_TIMEOUT);
  CHECK(!readable(svk_dispatcher_fd(dispatcher)));
  for (int i = 0; i < 5; i++) /* several count as one */
    CHECK_OK(svk_dispatcher_wake(dispatcher));
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, 0, NULL));
  CHECK_STATUS(svk_dispatcher_dispatch(dispatcher, 0, 0, NULL), SVK_TIMEOUT);
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
  CHECK_STATUS(svk_dispatcher_wake(dispatcher), SVK_INVALID_HANDLE);
}

/* With work at hand the wake is no callback. */
static void test_with_work(void) {
  struct watch watch = WATCH_INIT;
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(svk_dispatcher_wake(dispatcher));
  CHECK_OK(send_number(stream, 2));
  CHECK_EQ(drain(dispatcher), 2);
  CHECK(!readable(svk_dispatcher_fd(dispatcher)));
  CHECK_EQ(watch.count, 2);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void wake_own(struct watch *watch, const svk_state *state) {
  (void)state;
  CHECK_OK(svk_dispatcher_wake(watch->context));
}

/* From inside a callback: remembered for the next dispatch, at the latest. */
static void test_from_a_callback(void) {
  struct watch watch = WATCH_INIT;
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
  watch.context = dispatcher;
  watch.on_state = wake_own;
  CHECK_OK(send_number(stream, 1));
  size_t count = 99;
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, 0, &count));
  CHECK_EQ(count, 1);
  svk_status status = svk_dispatcher_dispatch(dispatcher, 0, 0, &count);
  CHECK(status == SVK_OK || status == SVK_TIMEOUT);
  CHECK_EQ(count, 0);
  CHECK_STATUS(svk_dispatcher_dispatch(dispatcher, 0, 0, &count), SVK_TIMEOUT);
  CHECK(!readable(svk_dispatcher_fd(dispatcher)));
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* ---- Threads ---- */

static void *wait_for_ever(void *dispatcher) {
  size_t count = 99;
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, FOR_EVER, &count));
  CHECK_EQ(count, 0);
  return NULL;
}

static void test_wakes_the_waiter(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  for (int i = iterations(1000); i > 0; i--) {
    pthread_t thread = start_thread(wait_for_ever, dispatcher);
    for (int j = i % 4; j > 0; j--)
      sched_yield();
    CHECK_OK(svk_dispatcher_wake(dispatcher)); /* before the wait or in it: no difference */
    join_thread(thread);
  }
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* To and fro by wakes alone; a lost one would hang. */
struct court {
  svk_dispatcher *dispatchers[2];
  _Atomic int turn;
  int length;
};

static void court_run(int index, void *pointer) {
  struct court *court = pointer;
  for (int i = 0; i < court->length; i++) {
    while (atomic_load(&court->turn) != index)
      CHECK_OK(svk_dispatcher_dispatch(court->dispatchers[index], 0, FOR_EVER, NULL));
    atomic_store(&court->turn, !index);
    CHECK_OK(svk_dispatcher_wake(court->dispatchers[!index]));
  }
}

static void test_ping_pong(void) {
  struct court court = { { new_dispatcher(), new_dispatcher() }, 0, iterations(10000) };
  run_threads(2, court_run, &court);
  CHECK_OK(svk_dispatcher_destroy(court.dispatchers[0]));
  CHECK_OK(svk_dispatcher_destroy(court.dispatchers[1]));
}

/* ---- Signal handlers ---- */

static svk_dispatcher *_Atomic signalled;
static volatile sig_atomic_t handled, changed_errno, bad_status;

static void handler(int number) {
  (void)number;
  int saved = errno;
  errno = 4711;
  svk_status status = svk_dispatcher_wake(atomic_load(&signalled));
  if (errno != 4711)
    changed_errno = 1;
  if (status != SVK_OK && status != SVK_INVALID_HANDLE)
    bad_status = 1;
  handled++;
  errno = saved;
}

static void handle_signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  MUST(sigaction(SIGUSR1, &action, NULL) == 0); /* without SA_RESTART: waits are interrupted */
  handled = changed_errno = bad_status = 0;
}

static void test_in_a_handler(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  handle_signals();
  atomic_store(&signalled, dispatcher);
  CHECK_STATUS(svk_stream_send(NULL, NULL, 0), SVK_INVALID_HANDLE);
  char error[512];
  snprintf(error, sizeof error, "%s", svk_last_error());
  raise(SIGUSR1);
  CHECK_EQ(handled, 1);
  CHECK_EQ(changed_errno, 0);
  size_t count = 99;
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, FOR_EVER, &count));
  CHECK_EQ(count, 0);
  /* A bad token: the last error is left alone there. */
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
  raise(SIGUSR1);
  atomic_store(&signalled, NULL);
  raise(SIGUSR1);
  CHECK_EQ(handled, 3);
  CHECK_EQ(changed_errno, 0);
  CHECK_EQ(bad_status, 0);
  CHECK(strcmp(svk_last_error(), error) == 0);
}

/* The same outside of a handler: also a wake that fails says nothing. */
static void test_leaves_the_last_error_alone(void) {
  CHECK_STATUS(svk_stream_send(NULL, NULL, 0), SVK_INVALID_HANDLE);
  char error[512];
  snprintf(error, sizeof error, "%s", svk_last_error());
  errno = 4711;
  CHECK_STATUS(svk_dispatcher_wake(NULL), SVK_INVALID_HANDLE);
  CHECK_EQ(errno, 4711);
  CHECK(strcmp(svk_last_error(), error) == 0);
}

/* Wherever the thread is: waiting, delivering, sending, inside malloc. */
struct hail {
  svk_dispatcher *dispatcher;
  svk_stream *stream;
  pthread_t target;
  _Atomic int ready, done;
};

static void ignore_state(const svk_state *state, void *user_data) { (void)state, (void)user_data; }

static void hail_run(int index, void *pointer) {
  struct hail *hail = pointer;
  if (index == 0) {
    hail->target = pthread_self();
    atomic_store(&hail->ready, 1);
    for (int i = 0; i < iterations(20000) || handled == 0; i++) {
      CHECK_OK(send_number(hail->stream, i));
      size_t count = 99;
      CHECK_OK(svk_dispatcher_dispatch(hail->dispatcher, 0, 0, &count));
      CHECK_EQ(count, 1);
      if (i % 100 == 0) { /* nothing but a wake, or the time */
        svk_status status = svk_dispatcher_dispatch(hail->dispatcher, 0, 200000, &count);
        CHECK(status == SVK_OK || status == SVK_TIMEOUT);
        CHECK_EQ(count, 0);
      }
    }
    atomic_store(&hail->done, 1);
    return;
  }
  while (!atomic_load(&hail->ready))
    sched_yield();
  while (!atomic_load(&hail->done)) {
    pthread_kill(hail->target, SIGUSR1); /* it is joined only when this has ended */
    sched_yield();
  }
}

static void *hail_target(void *pointer) {
  hail_run(0, pointer);
  return NULL;
}

static void test_a_hail_of_signals(void) {
  struct hail hail = { .dispatcher = new_dispatcher(), .stream = new_stream(SVK_BUFFER_UNBOUNDED, 0) };
  svk_service *service = new_inline_service(hail.stream);
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.delivery = SVK_DELIVER_DISPATCHER;
  options.dispatcher = hail.dispatcher;
  options.on_state = ignore_state;
  svk_subscription *subscription = NULL;
  MUST_OK(svk_service_observe(service, &options, &subscription));
  handle_signals();
  atomic_store(&signalled, hail.dispatcher);
  pthread_t target = start_thread(hail_target, &hail);
  hail_run(1, &hail);
  join_thread(target);
  CHECK(handled > 0);
  CHECK_EQ(changed_errno, 0);
  CHECK_EQ(bad_status, 0);
  drain(hail.dispatcher);
  CHECK(!readable(svk_dispatcher_fd(hail.dispatcher)));
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(hail.stream));
  CHECK_OK(svk_dispatcher_destroy(hail.dispatcher));
  atomic_store(&signalled, NULL);
}

/* A signal that does not wake does not end a wait too early: the library goes on waiting. */
static void ignore_signal(int number) {
  (void)number;
  handled++;
}

struct sleeper {
  svk_dispatcher *dispatcher;
  svk_service *service;
  svk_subscription *pull;
  _Atomic int stage;
};

static void *sleeper_run(void *pointer) {
  struct sleeper *sleeper = pointer;
  for (int i = 0; i < 3; i++) {
    atomic_store(&sleeper->stage, i + 1);
    int64_t before = now_ns();
    svk_status status;
    if (i == 0)
      status = svk_dispatcher_dispatch(sleeper->dispatcher, 0, 30 * MILLISECOND, NULL);
    else if (i == 1)
      status = svk_service_wait(sleeper->service, 0, 30 * MILLISECOND, NULL);
    else
      status = svk_subscription_next_copy(sleeper->pull, 30 * MILLISECOND, NULL, 0, NULL, NULL, NULL);
    CHECK_STATUS(status, SVK_TIMEOUT);
    CHECK(now_ns() - before >= 30 * MILLISECOND);
  }
  atomic_store(&sleeper->stage, 4);
  return NULL;
}

static void test_interrupted_waits(void) {
  struct sleeper sleeper = { .dispatcher = new_dispatcher() };
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  sleeper.service = new_inline_service(stream);
  sleeper.pull = observe_pull(sleeper.service, 0, SVK_BUFFER_UNBOUNDED, 0);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = ignore_signal;
  sigemptyset(&action.sa_mask);
  MUST(sigaction(SIGUSR1, &action, NULL) == 0);
  pthread_t thread = start_thread(sleeper_run, &sleeper);
  while (atomic_load(&sleeper.stage) < 4) {
    pthread_kill(thread, SIGUSR1);
    sched_yield();
  }
  join_thread(thread);
  CHECK_OK(svk_service_close(sleeper.service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(sleeper.dispatcher));
}

int main(void) {
  RUN(test_remembered);
  RUN(test_with_work);
  RUN(test_from_a_callback);
  RUN(test_wakes_the_waiter);
  RUN(test_ping_pong);
  RUN(test_in_a_handler);
  RUN(test_leaves_the_last_error_alone);
  RUN(test_a_hail_of_signals);
  RUN(test_interrupted_waits);
  return check_done();
}
