/*
 * Background delivery: on the library's one worker thread, which is started when first asked for and joined
 * when last used. Without it the library has no thread at all.
 */
#include "check_state.h"

#include <dirent.h>

static int threads_now(void) {
  int count = 0;
  DIR *directory = opendir("/proc/self/task");
  MUST(directory != NULL);
  for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
    count += entry->d_name[0] != '.';
  closedir(directory);
  return count;
}

/* A joined thread may still be listed for a moment. */
static int threads_settled(int expected) {
  int64_t end = now_ns() + 5000 * MILLISECOND;
  int count;
  while ((count = threads_now()) != expected && now_ns() < end)
    sched_yield();
  return count;
}

static int threads_before; /* with those of a sanitizer */

static void test_no_thread_unless_asked(void) {
  struct watch watch = WATCH_INIT, queued = WATCH_INIT;
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_BLOCK, 4);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
  observe(service, &queued, SVK_DELIVER_DISPATCHER, dispatcher);
  svk_subscription *pull = observe_pull(service, SVK_OBSERVE_CURRENT, SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(send_number(stream, 1));
  drain(dispatcher);
  CHECK_STATUS(svk_service_wait(service, 1, MILLISECOND, NULL), SVK_TIMEOUT);
  CHECK_STATUS(svk_dispatcher_dispatch(dispatcher, 0, MILLISECOND, NULL), SVK_TIMEOUT);
  CHECK(svk_subscription_fd(pull) >= 0);
  CHECK_EQ(threads_now(), threads_before);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_one_worker_for_all(void) {
  enum { SERVICES = 4 };
  struct watch watches[SERVICES], observers[SERVICES], fresh = WATCH_INIT;
  svk_stream *streams[SERVICES];
  for (int i = 0; i < SERVICES; i++) {
    watches[i] = observers[i] = fresh;
    streams[i] = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    svk_service *service =
        new_service(streams[i], i % 2 ? SVK_DELIVER_BACKGROUND : SVK_DELIVER_INLINE, NULL, &watches[i], 0);
    observe(service, &observers[i], SVK_DELIVER_BACKGROUND, NULL);
    CHECK_EQ(threads_settled(threads_before + 1), threads_before + 1);
  }
  for (int round = 1; round <= 10; round++)
    for (int i = 0; i < SERVICES; i++)
      CHECK_OK(send_number(streams[i], round));
  for (int i = 0; i < SERVICES; i++)
    counter_wait(&observers[i].calls, 10);
  CHECK_EQ(threads_now(), threads_before + 1);
  for (int i = 0; i < SERVICES; i++) {
    cancel_watch(&observers[i]);
    CHECK_EQ(observers[i].count, 10);
    CHECK_EQ(observers[i].last_number, 10);
    CHECK(!pthread_equal(observers[i].thread, pthread_self()));
    CHECK(pthread_equal(observers[i].thread, observers[0].thread)); /* one for all */
    close_watch(&watches[i]);
    if (i % 2)
      CHECK(pthread_equal(watches[i].thread, observers[0].thread));
    else
      CHECK(pthread_equal(watches[i].thread, pthread_self()));
    CHECK_OK(svk_stream_destroy(streams[i]));
  }
  CHECK_EQ(threads_settled(threads_before), threads_before);
}

/* It ends with its last use, whatever that was, and can be had again. */
static void test_joined_when_last_used(void) {
  for (int i = iterations(60); i > 0; i--)
    for (int way = 0; way < 4; way++) {
      struct watch first = WATCH_INIT, second = WATCH_INIT;
      svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
      svk_service *service = new_inline_service(stream);
      observe(service, &first, SVK_DELIVER_BACKGROUND, NULL);
      observe(service, &second, SVK_DELIVER_BACKGROUND, NULL);
      CHECK_OK(send_number(stream, 1));
      cancel_watch(&first);
      CHECK_EQ(threads_settled(threads_before + 1), threads_before + 1); /* there is another use */
      svk_status status;
      if (way == 0)
        status = svk_subscription_cancel(second.subscription);
      else if (way == 1)
        status = svk_service_close(service);
      else if (way == 2) {
        counter_wait(&second.calls, 1);
        status = svk_subscription_cancel_nowait(second.subscription);
        if (status == SVK_DEFERRED) { /* the callback had not been left yet */
          while (atomic_load(&second.freed) == 0)
            sched_yield();
          status = SVK_OK;
        }
      } else {
        CHECK_OK(svk_stream_destroy(stream));
        counter_wait(&second.calls, 2); /* the state and the finish: still observed */
        status = svk_subscription_cancel(second.subscription);
      }
      CHECK_OK(status);
      CHECK_EQ(second.freed, 1);
      if (way != 2)
        CHECK_EQ(threads_settled(threads_before), threads_before);
      if (way != 1)
        CHECK_OK(svk_service_close(service));
      if (way != 3)
        CHECK_OK(svk_stream_destroy(stream));
      if (way == 2) { /* whoever did not wait left the join to somebody; at the latest to the next use */
        struct watch third = WATCH_INIT;
        stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
        new_service(stream, SVK_DELIVER_BACKGROUND, NULL, &third, 0);
        close_watch(&third);
        CHECK_OK(svk_stream_destroy(stream));
        CHECK_EQ(threads_settled(threads_before), threads_before);
      }
    }
}

/* The last use ends on the worker itself: it never joins itself, and does not hang. */
static void cancel_self(struct watch *watch, const svk_state *state) {
  (void)state;
  CHECK_STATUS(svk_subscription_cancel(watch->subscription), SVK_DEFERRED);
}

static void close_self(struct watch *watch, const svk_state *state) {
  (void)state;
  CHECK_STATUS(svk_service_close(watch->service), SVK_DEFERRED);
}

static void test_last_use_ends_on_the_worker(void) {
  for (int i = iterations(60); i > 0; i--) {
    struct watch watch = WATCH_INIT;
    svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    svk_service *service;
    if (i % 2) {
      service = new_inline_service(stream);
      watch.on_state = cancel_self;
      observe(service, &watch, SVK_DELIVER_BACKGROUND, NULL);
    } else {
      watch.on_state = close_self;
      service = new_service(stream, SVK_DELIVER_BACKGROUND, NULL, &watch, 0);
    }
    CHECK_OK(send_number(stream, 1));
    while (atomic_load(&watch.freed) == 0)
      sched_yield();
    CHECK_EQ(watch.count, 1);
    CHECK_STATUS(svk_service_close(service), i % 2 ? SVK_OK : SVK_INVALID_HANDLE);
    CHECK_OK(svk_stream_destroy(stream));
    /* And the next one gets a worker. */
    struct watch next = WATCH_INIT;
    stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    new_service(stream, SVK_DELIVER_BACKGROUND, NULL, &next, 0);
    CHECK_OK(send_number(stream, 1));
    counter_wait(&next.calls, 1);
    close_watch(&next);
    CHECK_OK(svk_stream_destroy(stream));
  }
  CHECK_EQ(threads_settled(threads_before), threads_before);
}

/* Whoever sends from the worker does not wait for the worker. */
static void forward(struct watch *watch, const svk_state *state) {
  if (number_of(state) < 50)
    CHECK_OK(send_number(watch->context, number_of(state) + 1));
}

static void test_sends_on_the_worker(void) {
  struct watch watches[2] = { WATCH_INIT, WATCH_INIT };
  svk_stream *streams[2];
  for (int i = 0; i < 2; i++)
    streams[i] = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  for (int i = 0; i < 2; i++) {
    watches[i].context = streams[!i];
    watches[i].on_state = forward;
    new_service(streams[i], SVK_DELIVER_BACKGROUND, NULL, &watches[i], 0);
  }
  CHECK_OK(send_number(streams[0], 1));
  counter_wait(&watches[0].calls, 25);
  counter_wait(&watches[1].calls, 25);
  for (int i = 0; i < 2; i++) {
    close_watch(&watches[i]);
    CHECK_EQ(watches[i].count, 25);
    CHECK_OK(svk_stream_destroy(streams[i]));
  }
}

/* Things that are made, closed and cancelled on the worker. */
struct maker {
  svk_service *service;
  struct watch made;
};

static void make_inside(struct watch *watch, const svk_state *state) {
  struct maker *maker = watch->context;
  if (state->version == 1) {
    observe(maker->service, &maker->made, SVK_DELIVER_BACKGROUND, NULL);
  } else if (state->version == 2) {
    CHECK_OK(svk_subscription_cancel(maker->made.subscription)); /* it is not running: this is its thread */
    CHECK_EQ(maker->made.freed, 1);
  }
}

static void test_uses_on_the_worker(void) {
  struct watch watch = WATCH_INIT;
  struct maker maker = { NULL, WATCH_INIT };
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  watch.context = &maker;
  watch.on_state = make_inside;
  maker.service = new_service(stream, SVK_DELIVER_BACKGROUND, NULL, &watch, 0);
  for (int i = 1; i <= 3; i++) {
    CHECK_OK(send_number(stream, i));
    counter_wait(&watch.calls, i);
  }
  close_watch(&watch);
  CHECK(maker.made.count <= 1);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_EQ(threads_settled(threads_before), threads_before);
}

/* The signals of the program are none of the worker's business. */
static _Atomic int handled;

static void note_signal(int number) {
  (void)number;
  atomic_fetch_add(&handled, 1);
}

static void test_the_worker_takes_no_signals(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  new_service(stream, SVK_DELIVER_BACKGROUND, NULL, &watch, 0);
  CHECK_OK(send_number(stream, 1));
  counter_wait(&watch.calls, 1); /* the worker is up */
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  MUST(sigaction(SIGUSR2, &action, NULL) == 0);
  sigset_t mask, pending;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &mask, NULL);
  kill(getpid(), SIGUSR2); /* to any thread that does not block it */
  for (int i = 0; i < 200; i++)
    sched_yield();
  CHECK_EQ(handled, 0);
  CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR2) == 1);
  pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
  while (atomic_load(&handled) == 0)
    sched_yield();
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

/* Many threads start and stop using it. */
struct churn {
  svk_stream *stream;
  svk_service *service;
  _Atomic int freed, called;
};

static void churn_state(const svk_state *state, void *user_data) {
  (void)state;
  struct churn *churn = user_data;
  atomic_fetch_add(&churn->called, 1);
}

static void churn_free(void *user_data) {
  struct churn *churn = user_data;
  atomic_fetch_add(&churn->freed, 1);
}

static void churn_run(int index, void *pointer) {
  struct churn *churn = pointer;
  for (int i = 0; i < iterations(500); i++) {
    if (index == 0) {
      CHECK_OK(send_number(churn->stream, i));
      continue;
    }
    svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
    options.flags = SVK_OBSERVE_CURRENT;
    options.delivery = SVK_DELIVER_BACKGROUND;
    options.on_state = churn_state;
    options.user_data = churn;
    options.user_data_free = churn_free;
    svk_subscription *subscription = NULL;
    MUST_OK(svk_service_observe(churn->service, &options, &subscription));
    dawdle(i % 3);
    CHECK_OK(svk_subscription_cancel(subscription));
  }
}

static void test_churn(void) {
  struct churn churn = { .stream = new_stream(SVK_BUFFER_NEWEST, 8) };
  churn.service = new_inline_service(churn.stream);
  run_threads(4, churn_run, &churn);
  CHECK_EQ(churn.freed, 3 * iterations(500));
  CHECK_OK(svk_service_close(churn.service));
  CHECK_OK(svk_stream_destroy(churn.stream));
  CHECK_EQ(threads_settled(threads_before), threads_before);
}

static void nothing(int index, void *argument) { (void)index, (void)argument; }

int main(void) {
  run_threads(1, nothing, NULL); /* a sanitizer may start a thread of its own with the first one */
  threads_before = threads_now();
  for (int64_t end = now_ns() + 50 * MILLISECOND; now_ns() < end; sched_yield()) { /* see threads_settled */
    int now = threads_now();
    threads_before = now < threads_before ? now : threads_before;
  }
  RUN(test_no_thread_unless_asked);
  RUN(test_one_worker_for_all);
  RUN(test_joined_when_last_used);
  RUN(test_last_use_ends_on_the_worker);
  RUN(test_sends_on_the_worker);
  RUN(test_uses_on_the_worker);
  RUN(test_the_worker_takes_no_signals);
  RUN(test_churn);
  return check_done();
}
