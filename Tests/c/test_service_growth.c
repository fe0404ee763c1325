/* Nothing grows with the number of sends, or of created and ended streams, services, observers, dispatchers.
 */
#include "check_state.h"

#include <dirent.h>
#include <malloc.h>

/* What is allocated, in bytes. 0 where somebody else's malloc is in use: sanitizers, valgrind. */
static size_t allocated(void) {
  void *probe = malloc(100000);
  struct mallinfo2 info = mallinfo2();
  size_t with = info.uordblks + info.hblkhd;
  free(probe);
  return with >= 100000 && !CHECK_SANITIZED ? with - 100000 : 0;
}

static int entries(const char *path) {
  int count = 0;
  DIR *directory = opendir(path);
  MUST(directory != NULL);
  while (readdir(directory) != NULL)
    count++;
  closedir(directory);
  return count;
}

/* Runs the work for a while, so that tables have found their size, and then much longer. */
static void check_growth(void (*work)(int times), int times) {
  work(iterations(times) / 10 + 1);
  size_t before = allocated();
  int descriptors = entries("/proc/self/fd");
  work(iterations(times));
  size_t after = allocated();
  CHECK_EQ(entries("/proc/self/fd"), descriptors);
  if (before == 0)
    return;
  /* A byte each would be more than this. */
  if (!CHECK(after < before + (size_t)times / 2 + 4096))
    fprintf(stderr, "  %zu bytes before, %zu after %d times\n", before, after, times);
}

static void ignore_state(const svk_state *state, void *user_data) { (void)state, (void)user_data; }

static svk_stream *stream;
static svk_service *service;
static svk_dispatcher *dispatcher;

static void open_all(int32_t buffering, size_t capacity) {
  dispatcher = new_dispatcher();
  stream = new_stream(buffering, capacity);
  service = new_inline_service(stream);
}

static void close_all(void) {
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void sends(int times) {
  long bytes[8] = { 0 };
  for (int i = 0; i < times; i++) {
    bytes[0] = i;
    if (svk_stream_send(stream, bytes, 1 + (size_t)i % sizeof bytes) != SVK_OK)
      CHECK(!"a send");
    if (i % 16 == 0)
      svk_dispatcher_dispatch(dispatcher, 0, 0, NULL);
  }
  drain(dispatcher);
}

static void test_sends(void) {
  open_all(SVK_BUFFER_UNBOUNDED, 0);
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.on_state = ignore_state;
  svk_subscription *subscription = NULL;
  MUST_OK(svk_service_observe(service, &options, &subscription));
  options.delivery = SVK_DELIVER_DISPATCHER;
  options.dispatcher = dispatcher;
  MUST_OK(svk_service_observe(service, &options, &subscription));
  observe_pull(service, 0, SVK_BUFFER_NEWEST, 4); /* nobody takes them */
  observe_pull(service, 0, SVK_BUFFER_OLDEST, 4);
  check_growth(sends, 1000000);
  close_all();
}

static void sends_without_a_service(int times) {
  for (int i = 0; i < times; i++)
    if (send_number(stream, i) != SVK_OK)
      CHECK(!"a send");
}

static void test_sends_without_a_service(void) {
  stream = new_stream(SVK_BUFFER_NEWEST, 8);
  check_growth(sends_without_a_service, 300000);
  CHECK_OK(svk_stream_destroy(stream));
}

static void reads(int times) {
  for (int i = 0; i < times; i++) {
    long number;
    svk_snapshot *snapshot = NULL;
    svk_state state;
    if (i % 8 == 0)
      CHECK_OK(send_number(stream, i));
    if (svk_service_read(service, &number, sizeof number, NULL, NULL) != SVK_OK ||
        svk_service_acquire(service, &snapshot, &state) != SVK_OK || svk_snapshot_release(snapshot) != SVK_OK)
      CHECK(!"a read");
  }
}

static void test_reads_and_snapshots(void) {
  open_all(SVK_BUFFER_UNBOUNDED, 0);
  check_growth(reads, 500000);
  close_all();
}

static void observers(int times) {
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.on_state = ignore_state;
  options.dispatcher = dispatcher;
  for (int i = 0; i < times; i++) {
    options.delivery = i % 2 ? SVK_DELIVER_INLINE : SVK_DELIVER_DISPATCHER;
    options.flags = i % 3 ? SVK_OBSERVE_CURRENT : 0;
    svk_subscription *subscription = NULL;
    if (svk_service_observe(service, &options, &subscription) != SVK_OK)
      CHECK(!"an observe");
    if (i % 5 == 0)
      CHECK_OK(send_number(stream, i));
    if (i % 7 == 0)
      svk_dispatcher_dispatch(dispatcher, 0, 0, NULL);
    svk_status status =
        i % 4 ? svk_subscription_cancel(subscription) : svk_subscription_cancel_nowait(subscription);
    if (status != SVK_OK)
      CHECK_OK(status);
  }
  drain(dispatcher);
}

static void test_observers(void) {
  open_all(SVK_BUFFER_UNBOUNDED, 0);
  check_growth(observers, 100000);
  close_all();
}

static void pulls(int times) {
  for (int i = 0; i < times; i++) {
    svk_subscription *pull = observe_pull(service, SVK_OBSERVE_CURRENT, SVK_BUFFER_UNBOUNDED, 0);
    CHECK(svk_subscription_fd(pull) >= 0);
    CHECK_OK(svk_subscription_cancel(pull));
  }
}

static void test_pull_subscriptions(void) {
  open_all(SVK_BUFFER_UNBOUNDED, 0);
  check_growth(pulls, 20000);
  close_all();
}

static void services(int times) {
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.on_state = ignore_state;
  for (int i = 0; i < times; i++) {
    svk_stream *own = new_stream(i % 4, 2);
    CHECK_OK(send_number(own, i));
    svk_service *short_lived = new_service(own, i % 2, dispatcher, NULL, i);
    svk_subscription *subscription = NULL;
    CHECK_OK(svk_service_observe(short_lived, &options, &subscription));
    CHECK_OK(send_number(own, i));
    if (i % 3)
      CHECK_OK(svk_stream_destroy(own));
    CHECK_OK(svk_service_close(short_lived));
    if (i % 3 == 0)
      CHECK_OK(svk_stream_destroy(own));
  }
  drain(dispatcher);
}

static void test_services(void) {
  open_all(SVK_BUFFER_UNBOUNDED, 0);
  check_growth(services, 50000);
  close_all();
}

static void dispatchers(int times) {
  for (int i = 0; i < times; i++) {
    svk_dispatcher *own = new_dispatcher();
    svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
    options.delivery = SVK_DELIVER_DISPATCHER;
    options.dispatcher = own;
    options.on_state = ignore_state;
    svk_subscription *subscription = NULL;
    CHECK_OK(svk_service_observe(service, &options, &subscription));
    CHECK_OK(send_number(stream, i));
    if (i % 2)
      drain(own);
    CHECK_OK(svk_dispatcher_destroy(own));
  }
}

static void test_dispatchers(void) {
  open_all(SVK_BUFFER_UNBOUNDED, 0);
  check_growth(dispatchers, 20000);
  close_all();
}

/* The worker thread comes and goes with each of these. */
static void backgrounds(int times) {
  for (int i = 0; i < times; i++) {
    svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
    options.delivery = SVK_DELIVER_BACKGROUND;
    options.on_state = ignore_state;
    svk_subscription *subscription = NULL;
    CHECK_OK(svk_service_observe(service, &options, &subscription));
    CHECK_OK(send_number(stream, i));
    CHECK_OK(svk_subscription_cancel(subscription));
  }
}

static void test_backgrounds(void) {
  open_all(SVK_BUFFER_UNBOUNDED, 0);
  check_growth(backgrounds, 5000);
  close_all();
}

/* Nor with threads that come and go. */
static void send_and_read(int index, void *argument) {
  (void)index, (void)argument;
  long number;
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(svk_service_read(service, &number, sizeof number, NULL, NULL));
  CHECK_STATUS(svk_stream_send(NULL, NULL, 0), SVK_INVALID_HANDLE); /* and its error text */
  svk_snapshot *snapshot = NULL;
  svk_state state;
  CHECK_OK(svk_service_acquire(service, &snapshot, &state));
  CHECK_OK(svk_snapshot_release(snapshot));
}

static void threads(int times) {
  for (int i = 0; i < times; i++)
    run_threads(2, send_and_read, NULL);
}

static void test_threads(void) {
  open_all(SVK_BUFFER_UNBOUNDED, 0);
  check_growth(threads, 3000);
  close_all();
}

static void failures(int times) {
  for (int i = 0; i < times; i++) {
    svk_subscription *subscription = NULL;
    svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
    if (svk_service_observe(service, &options, &subscription) != SVK_INVALID_ARGUMENT ||
        svk_stream_send(NULL, NULL, 0) != SVK_INVALID_HANDLE ||
        svk_stream_send_owned(NULL, malloc(16), 16, free) != SVK_INVALID_HANDLE ||
        svk_subscription_cancel(subscription) != SVK_INVALID_HANDLE)
      CHECK(!"a failure");
  }
}

static void test_failures(void) {
  open_all(SVK_BUFFER_UNBOUNDED, 0);
  check_growth(failures, 200000);
  close_all();
}

int main(void) {
  RUN(test_sends);
  RUN(test_sends_without_a_service);
  RUN(test_reads_and_snapshots);
  RUN(test_observers);
  RUN(test_pull_subscriptions);
  RUN(test_services);
  RUN(test_dispatchers);
  RUN(test_backgrounds);
  RUN(test_threads);
  RUN(test_failures);
  return check_done();
}
