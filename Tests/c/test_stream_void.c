/* Void streams: they have ended before they began. Also that of a service whose stream is NULL. */
#include "check_state.h"

static int freed_blocks;

static void free_block(void *block) {
  free(block);
  freed_blocks++;
}

static void test_sends_are_closed(void) {
  svk_stream *stream = NULL;
  CHECK_OK(svk_stream_void(&stream));
  MUST(stream != NULL);
  for (int attached = 0; attached < 2; attached++) {
    CHECK_STATUS(send_number(stream, 1), SVK_CLOSED);
    CHECK_STATUS(svk_stream_send(stream, NULL, 0), SVK_CLOSED);
    CHECK_STATUS(svk_stream_send_within(stream, "x", 1, FOR_EVER), SVK_CLOSED);
    freed_blocks = 0;
    CHECK_STATUS(svk_stream_send_owned(stream, malloc(32), 32, free_block), SVK_CLOSED);
    CHECK_EQ(freed_blocks, 1);
    CHECK_STATUS(svk_stream_finish(stream), SVK_CLOSED);
    if (!attached) {
      svk_service *service = new_inline_service(stream);
      CHECK_OK(svk_service_close(service));
    }
  }
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_STATUS(svk_stream_destroy(stream), SVK_INVALID_HANDLE);
  CHECK_STATUS(send_number(stream, 1), SVK_INVALID_HANDLE);
}

static void test_out_parameter_is_required(void) {
  CHECK_STATUS(svk_stream_void(NULL), SVK_INVALID_ARGUMENT);
}

static void check_ended_service(svk_service *service) {
  uint64_t version = 99;
  CHECK_EQ(read_number(service, &version), 70);
  CHECK_EQ(version, 0);
  version = 99;
  CHECK_STATUS(svk_service_wait(service, 0, FOR_EVER, &version), SVK_CLOSED);
  CHECK_EQ(version, 0);
  CHECK_STATUS(svk_service_wait(service, 0, 0, NULL), SVK_CLOSED);

  struct watch plain = WATCH_INIT, current = WATCH_INIT;
  observe(service, &plain, SVK_DELIVER_INLINE, NULL);
  CHECK_EQ(plain.count, 0);
  CHECK_EQ(plain.finished, 1); /* at once */
  svk_observer_options options = observer_options(&current, SVK_DELIVER_INLINE, NULL);
  options.flags = SVK_OBSERVE_CURRENT;
  observe_with(service, &options);
  CHECK_EQ(current.count, 1);
  CHECK_EQ(current.versions[0], 0);
  CHECK_EQ(current.numbers[0], 70);
  CHECK_EQ(current.finished, 1);
  CHECK_EQ(current.freed, 0);
  cancel_watch(&plain); /* it lives until it is cancelled */
  cancel_watch(&current);

  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch queued = WATCH_INIT;
  options = observer_options(&queued, SVK_DELIVER_DISPATCHER, dispatcher);
  options.flags = SVK_OBSERVE_CURRENT;
  observe_with(service, &options);
  CHECK_EQ(queued.count, 0);
  CHECK(readable(svk_dispatcher_fd(dispatcher)));
  CHECK_EQ(drain(dispatcher), 2);
  CHECK_EQ(queued.count, 1);
  CHECK_EQ(queued.finished, 1);
  cancel_watch(&queued);
  CHECK_OK(svk_dispatcher_destroy(dispatcher));

  svk_subscription *pull = observe_pull(service, SVK_OBSERVE_CURRENT, SVK_BUFFER_UNBOUNDED, 0);
  CHECK(readable(svk_subscription_fd(pull)));
  CHECK_NEXT(pull, 0, 70, 0);
  for (int i = 0; i < 2; i++) {
    svk_snapshot *snapshot = NULL;
    svk_state state;
    CHECK_STATUS(svk_subscription_next(pull, FOR_EVER, &snapshot, &state), SVK_CLOSED);
    CHECK(readable(svk_subscription_fd(pull)));
  }
  CHECK_EQ(dropped_total(pull), 0);
  CHECK_OK(svk_subscription_cancel(pull));
}

static void test_a_void_stream(void) {
  svk_stream *stream = NULL;
  MUST_OK(svk_stream_void(&stream));
  struct watch watch = WATCH_INIT;
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 70);
  CHECK_EQ(watch.finished, 1); /* on_finish comes at once */
  CHECK_EQ(watch.count, 0);
  check_ended_service(service);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_EQ(watch.finished, 1);
  check_ended_service(service);
  close_watch(&watch);
}

static void test_no_stream(void) {
  struct watch watch = WATCH_INIT;
  svk_service *service = new_service(NULL, SVK_DELIVER_INLINE, NULL, &watch, 70);
  CHECK_EQ(watch.finished, 1);
  CHECK_EQ(watch.count, 0);
  check_ended_service(service);
  close_watch(&watch);
}

static void test_no_stream_on_a_dispatcher(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT;
  svk_service *service = new_service(NULL, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 70);
  CHECK_EQ(watch.finished, 0);
  CHECK_EQ(drain(dispatcher), 1);
  CHECK_EQ(watch.finished, 1);
  check_ended_service(service);
  close_watch(&watch);
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_no_stream_in_the_background(void) {
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  svk_service *service = new_service(NULL, SVK_DELIVER_BACKGROUND, NULL, &watch, 70);
  counter_wait(&watch.calls, 1);
  CHECK_EQ(watch.finished, 1);
  svk_observer_options options = observer_options(&observer, SVK_DELIVER_BACKGROUND, NULL);
  options.flags = SVK_OBSERVE_CURRENT;
  observe_with(service, &options);
  counter_wait(&observer.calls, 2);
  CHECK_EQ(observer.numbers[0], 70);
  CHECK_EQ(observer.finished, 1);
  cancel_watch(&observer);
  close_watch(&watch);
}

/* No state and no API at all. */
static void test_an_empty_service(void) {
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  svk_service *service = NULL;
  CHECK_OK(svk_service_create(&options, &service));
  size_t size = 99;
  uint64_t version = 99;
  CHECK_OK(svk_service_read(service, NULL, 0, &size, &version));
  CHECK_EQ(size, 0);
  CHECK_EQ(version, 0);
  CHECK(svk_service_api(service) == NULL);
  CHECK_OK(svk_service_close(service));
}

static void test_a_void_stream_has_one_service_too(void) {
  svk_stream *stream = NULL;
  MUST_OK(svk_stream_void(&stream));
  svk_service *service = new_inline_service(stream);
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = stream;
  svk_service *other = (svk_service *)&options;
  CHECK_STATUS(svk_service_create(&options, &other), SVK_ALREADY_EXISTS);
  CHECK(other == NULL);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

int main(void) {
  RUN(test_sends_are_closed);
  RUN(test_out_parameter_is_required);
  RUN(test_a_void_stream);
  RUN(test_no_stream);
  RUN(test_no_stream_on_a_dispatcher);
  RUN(test_no_stream_in_the_background);
  RUN(test_an_empty_service);
  RUN(test_a_void_stream_has_one_service_too);
  return check_done();
}
