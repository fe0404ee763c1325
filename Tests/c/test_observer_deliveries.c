/* Where callbacks run, and in which order; a service on one thread and its observers on others. */
#include "check_state.h"

struct where {
  pthread_t threads[WATCH_MAX];
};

static void note_thread(struct watch *watch, const svk_state *state) {
  (void)state;
  struct where *where = watch->context;
  where->threads[watch->count - 1] = pthread_self();
}

static void *send_elsewhere(void *stream) {
  CHECK_OK(send_number(stream, 2));
  return NULL;
}

static void test_inline_runs_on_the_senders_thread(void) {
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  struct where wheres[2];
  watch.on_state = observer.on_state = note_thread;
  watch.context = &wheres[0];
  observer.context = &wheres[1];
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(send_number(stream, 1));
  pthread_t thread = start_thread(send_elsewhere, stream);
  join_thread(thread);
  CHECK_OK(send_number(stream, 3));
  for (int i = 0; i < 2; i++) {
    CHECK(pthread_equal(wheres[i].threads[0], pthread_self()));
    CHECK(pthread_equal(wheres[i].threads[1], thread));
    CHECK(pthread_equal(wheres[i].threads[2], pthread_self()));
  }
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

static void *dispatch_elsewhere(void *dispatcher) {
  CHECK(drain(dispatcher) > 0);
  return NULL;
}

/* An inline observer is called where the service delivers. */
static void test_inline_observer_of_a_service_elsewhere(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(send_number(stream, 1));
  CHECK_EQ(watch.count, 0);
  CHECK_EQ(observer.count, 0);
  pthread_t thread = start_thread(dispatch_elsewhere, dispatcher);
  join_thread(thread);
  CHECK_EQ(watch.count, 1);
  CHECK_EQ(observer.count, 1);
  CHECK(pthread_equal(watch.thread, thread));
  CHECK(pthread_equal(observer.thread, thread));
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));

  struct watch background = WATCH_INIT, follower = WATCH_INIT;
  stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  service = new_service(stream, SVK_DELIVER_BACKGROUND, NULL, &background, 0);
  observe(service, &follower, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(send_number(stream, 1));
  counter_wait(&follower.calls, 1);
  close_watch(&background);
  CHECK(pthread_equal(background.thread, follower.thread));
  CHECK(!pthread_equal(background.thread, pthread_self()));
  CHECK_OK(svk_stream_destroy(stream));
}

/* A service on one dispatcher, an observer on another: each moves on only when its own is dispatched. */
static void test_two_dispatchers(void) {
  svk_dispatcher *first = new_dispatcher(), *second = new_dispatcher();
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, first, &watch, 0);
  observe(service, &observer, SVK_DELIVER_DISPATCHER, second);
  for (int i = 1; i <= 3; i++)
    CHECK_OK(send_number(stream, i));
  CHECK_EQ(drain(second), 0);
  CHECK(readable(svk_dispatcher_fd(first)));
  CHECK(!readable(svk_dispatcher_fd(second)));
  CHECK_EQ(drain(first), 3);
  CHECK_EQ(watch.count, 3);
  CHECK_EQ(observer.count, 0);
  CHECK(!readable(svk_dispatcher_fd(first)));
  CHECK(readable(svk_dispatcher_fd(second)));
  CHECK_EQ(drain(second), 3);
  CHECK_EQ(observer.count, 3);
  CHECK_OK(svk_stream_finish(stream));
  CHECK_EQ(drain(second), 0);
  CHECK_EQ(drain(first), 1);
  CHECK_EQ(drain(second), 1);
  CHECK_EQ(observer.finished, 1);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(first));
  CHECK_OK(svk_dispatcher_destroy(second));
}

/* On the same one: the service's callback first, then the observer's, for each state. */
static void test_one_dispatcher_for_both(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
  observe(service, &observer, SVK_DELIVER_DISPATCHER, dispatcher);
  for (int i = 1; i <= 3; i++)
    CHECK_OK(send_number(stream, i));
  size_t sum = 0, count;
  while (svk_dispatcher_dispatch(dispatcher, 1, 0, &count) == SVK_OK) {
    CHECK_EQ(count, 1);
    CHECK(watch.count >= observer.count);
    sum += count;
  }
  CHECK_EQ(sum, 6);
  CHECK_EQ(watch.count, 3);
  CHECK_EQ(observer.count, 3);
  for (int i = 0; i < 3; i++)
    CHECK_EQ(observer.versions[i], i + 1);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* Pull observers are never called, whatever is in their options. */
static void test_pull_is_never_called(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  svk_observer_options options = observer_options(&watch, SVK_DELIVER_PULL, NULL);
  options.flags = SVK_OBSERVE_CURRENT;
  observe_with(service, &options);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(svk_stream_finish(stream));
  CHECK_NEXT(watch.subscription, 0, 0, 0);
  CHECK_NEXT(watch.subscription, 1, 1, 0);
  CHECK_STATUS(svk_subscription_next_copy(watch.subscription, 0, NULL, 0, NULL, NULL, NULL), SVK_CLOSED);
  CHECK_EQ(watch.count, 0);
  CHECK_EQ(watch.finished, 0);
  cancel_watch(&watch); /* user_data is freed all the same */
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

/* Many observers of one service get every state, each once. */
enum { MANY = 200 };

static void test_many_observers(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch *watches = calloc(MANY, sizeof *watches), fresh = WATCH_INIT;
  MUST(watches != NULL);
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  for (int i = 0; i < MANY; i++) {
    watches[i] = fresh;
    observe(service, &watches[i], i % 3, dispatcher);
  }
  for (int i = 1; i <= 20; i++)
    CHECK_OK(send_number(stream, i));
  drain(dispatcher);
  for (int i = 0; i < MANY; i++) {
    counter_wait(&watches[i].calls, 20);
    if (i % 2)
      cancel_watch(&watches[i]);
  }
  CHECK_OK(send_number(stream, 21));
  CHECK_OK(svk_stream_finish(stream));
  drain(dispatcher);
  for (int i = 0; i < MANY; i++)
    if (i % 2 == 0)
      counter_wait(&watches[i].calls, 22);
  CHECK_OK(svk_service_close(service));
  for (int i = 0; i < MANY; i++) {
    CHECK_EQ(watches[i].count, i % 2 ? 20 : 21);
    CHECK_EQ(watches[i].finished, i % 2 == 0);
    CHECK_EQ(watches[i].freed, 1);
    for (int j = 0; j < watches[i].count; j++)
      CHECK_EQ(watches[i].versions[j], j + 1);
  }
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
  free(watches);
}

/* One user_data for the service and all of its observers is freed as often as it was given. */
static _Atomic int shared_frees;

static void shared_free(void *user_data) {
  (void)user_data;
  atomic_fetch_add(&shared_frees, 1);
}

static void ignore_state(const svk_state *state, void *user_data) { (void)state, (void)user_data; }

static void test_shared_user_data(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = stream;
  options.user_data = &options;
  options.user_data_free = shared_free;
  svk_service *service = NULL;
  MUST_OK(svk_service_create(&options, &service));
  svk_observer_options observer = SVK_OBSERVER_OPTIONS_INIT;
  observer.on_state = ignore_state;
  observer.user_data = &options;
  observer.user_data_free = shared_free;
  for (int i = 0; i < 5; i++)
    CHECK_OK(svk_service_observe(service, &observer, &(svk_subscription *){ NULL }));
  observer.user_data = NULL; /* NULL is a value like any other */
  CHECK_OK(svk_service_observe(service, &observer, &(svk_subscription *){ NULL }));
  CHECK_OK(send_number(stream, 1));
  CHECK_EQ(shared_frees, 0);
  CHECK_OK(svk_service_close(service));
  CHECK_EQ(shared_frees, 7);
  CHECK_OK(svk_stream_destroy(stream));
}

int main(void) {
  RUN(test_inline_runs_on_the_senders_thread);
  RUN(test_inline_observer_of_a_service_elsewhere);
  RUN(test_two_dispatchers);
  RUN(test_one_dispatcher_for_both);
  RUN(test_pull_is_never_called);
  RUN(test_many_observers);
  RUN(test_shared_user_data);
  return check_done();
}
