/* The current state: read, its size, too small a buffer, the API, and what is stored when. */
#include "check_state.h"

static const struct api {
  int (*answer)(void);
} api = { NULL };

static void test_initial_state(void) {
  char *initial = strdup("initial");
  MUST(initial != NULL);
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = stream;
  options.api = &api;
  options.initial = initial;
  options.initial_size = 8;
  svk_service *service = NULL;
  CHECK_OK(svk_service_create(&options, &service));
  memset(initial, 'x', 7); /* it was copied */
  free(initial);
  memset(&options, 0xff, sizeof options);
  CHECK(svk_service_api(service) == &api);
  char text[16] = "";
  size_t size = 99;
  uint64_t version = 99;
  CHECK_OK(svk_service_read(service, text, sizeof text, &size, &version));
  CHECK_EQ(size, 8);
  CHECK_EQ(version, 0);
  CHECK(strcmp(text, "initial") == 0);
  svk_snapshot *snapshot = NULL;
  svk_state state = { 99, NULL, 99, 99 };
  CHECK_OK(svk_service_acquire(service, &snapshot, &state));
  CHECK_EQ(state.version, 0);
  CHECK_EQ(state.size, 8);
  CHECK_EQ(state.dropped, 0);
  CHECK_EQ((uintptr_t)state.data % 16, 0);
  CHECK(memcmp(state.data, "initial", 8) == 0);
  CHECK_OK(svk_snapshot_release(snapshot));
  CHECK_OK(svk_service_close(service));
  CHECK(svk_service_api(service) == NULL);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_read(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  CHECK_OK(svk_stream_send(stream, "0123456789", 10));
  char buffer[32];
  size_t size = 99;
  uint64_t version = 99;

  /* Too small: the size needed, and nothing is written. */
  for (size_t capacity = 1; capacity < 10; capacity++) {
    memset(buffer, '#', sizeof buffer);
    size = version = 99;
    CHECK_STATUS(svk_service_read(service, buffer, capacity, &size, &version), SVK_BUFFER_TOO_SMALL);
    CHECK_EQ(size, 10);
    CHECK_EQ(version, 0);
    for (size_t i = 0; i < sizeof buffer; i++)
      CHECK_EQ(buffer[i], '#');
  }
  size = version = 99;
  CHECK_STATUS(svk_service_read(service, NULL, 0, &size, &version), SVK_BUFFER_TOO_SMALL);
  CHECK_EQ(size, 10);
  CHECK_EQ(version, 0);
  size = 99;
  CHECK_STATUS(svk_service_read(service, buffer, 0, &size, NULL), SVK_BUFFER_TOO_SMALL);
  CHECK_EQ(size, 10);
  CHECK(svk_last_error()[0] != 0);

  /* Exactly enough, and more: not a byte beyond. */
  for (size_t capacity = 10; capacity <= sizeof buffer; capacity += 22) {
    memset(buffer, '#', sizeof buffer);
    CHECK_OK(svk_service_read(service, buffer, capacity, &size, &version));
    CHECK_EQ(size, 10);
    CHECK_EQ(version, 1);
    CHECK(memcmp(buffer, "0123456789#", 11) == 0);
  }
  CHECK_OK(svk_service_read(service, buffer, sizeof buffer, NULL, NULL));
  CHECK_STATUS(svk_service_read(service, buffer, 1, NULL, NULL), SVK_BUFFER_TOO_SMALL);
  size = version = 99;
  CHECK_STATUS(svk_service_read(service, NULL, 10, &size, &version), SVK_INVALID_ARGUMENT);
  CHECK_EQ(size, 0);
  CHECK_EQ(version, 0);
  CHECK_OK(svk_service_close(service));
  size = version = 99;
  CHECK_STATUS(svk_service_read(service, buffer, sizeof buffer, &size, &version), SVK_INVALID_HANDLE);
  CHECK_EQ(size, 0);
  CHECK_EQ(version, 0);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_acquire_needs_both(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  svk_snapshot *snapshot = (svk_snapshot *)&stream;
  svk_state state = { 9, &state, 9, 9 };
  CHECK_STATUS(svk_service_acquire(service, &snapshot, NULL), SVK_INVALID_ARGUMENT);
  CHECK(snapshot == NULL);
  CHECK_STATUS(svk_service_acquire(service, NULL, &state), SVK_INVALID_ARGUMENT);
  CHECK(state.version == 0 && state.data == NULL && state.size == 0 && state.dropped == 0);
  CHECK_STATUS(svk_service_acquire(service, NULL, NULL), SVK_INVALID_ARGUMENT);
  CHECK_OK(svk_service_close(service));
  snapshot = (svk_snapshot *)&stream;
  state = (svk_state){ 9, &state, 9, 9 };
  CHECK_STATUS(svk_service_acquire(service, &snapshot, &state), SVK_INVALID_HANDLE);
  CHECK(snapshot == NULL);
  CHECK(state.version == 0 && state.data == NULL && state.size == 0 && state.dropped == 0);
  CHECK_OK(svk_stream_destroy(stream));
}

/* ---- Stored before on_state is called; the last one delivered is the one that is read ---- */

static void expect_current(struct watch *watch, const svk_state *state) {
  svk_service *service = watch->context;
  uint64_t version;
  CHECK_EQ(read_number(service, &version), number_of(state));
  CHECK_EQ(version, state->version);
  svk_snapshot *snapshot = NULL;
  svk_state current;
  CHECK_OK(svk_service_acquire(service, &snapshot, &current));
  CHECK_EQ(current.version, state->version);
  CHECK_OK(svk_snapshot_release(snapshot));
  CHECK_OK(svk_service_wait(service, state->version - 1, 0, &version));
  CHECK_EQ(version, state->version);
  CHECK_STATUS(svk_service_wait(service, state->version, 0, &version), SVK_TIMEOUT);
}

static void check_stored_first(int32_t delivery) {
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, delivery, dispatcher, &watch, 70);
  watch.context = observer.context = service;
  watch.on_state = observer.on_state = expect_current;
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  for (int i = 1; i <= 5; i++) {
    CHECK_OK(send_number(stream, 70 + i));
    uint64_t version = 99;
    if (delivery == SVK_DELIVER_DISPATCHER) {
      /* Not delivered yet: not the current state yet. */
      CHECK_EQ(read_number(service, &version), 70 + (i - 1) / 2 * 2);
      if (i % 2 == 0)
        drain(dispatcher);
    }
    if (delivery == SVK_DELIVER_INLINE) {
      CHECK_EQ(read_number(service, &version), 70 + i);
      CHECK_EQ(version, i);
    }
  }
  drain(dispatcher);
  counter_wait(&observer.calls, 5);
  CHECK_EQ(read_number(service, NULL), 75);
  close_watch(&watch);
  CHECK_EQ(observer.count, 5);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_stored_first(void) {
  check_stored_first(SVK_DELIVER_INLINE);
  check_stored_first(SVK_DELIVER_DISPATCHER);
}

/* In the background too, where only what the delivering thread sees is certain. */
static void test_stored_first_in_the_background(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_BACKGROUND, NULL, &watch, 70);
  watch.context = service;
  watch.on_state = expect_current;
  for (int i = 1; i <= 5; i++)
    CHECK_OK(send_number(stream, 70 + i));
  counter_wait(&watch.calls, 5);
  uint64_t version;
  CHECK_EQ(read_number(service, &version), 75);
  CHECK_EQ(version, 5);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

/* The data in the callback are valid and unchanged until it returns, whatever happens meanwhile. */
static void replace_it(struct watch *watch, const svk_state *state) {
  if (state->version != 1)
    return;
  for (int i = 0; i < 10; i++)
    CHECK_OK(send_number(watch->context, 100 + i));
  CHECK_STATUS(svk_service_close(watch->service), SVK_DEFERRED);
  CHECK_OK(svk_stream_destroy(watch->context));
  CHECK_EQ(number_of(state), 1);
  CHECK_EQ(state->version, 1);
}

static void test_data_stay_for_the_callback(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  watch.context = stream;
  watch.on_state = replace_it;
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_EQ(watch.count, 1);
  CHECK_EQ(watch.freed, 1);
}

/* A service without any callback is a service all the same. */
static void test_without_callbacks(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, NULL, 0);
  svk_subscription *pull = observe_pull(service, 0, SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(send_number(stream, 2));
  CHECK(readable(svk_dispatcher_fd(dispatcher)));
  drain(dispatcher);
  CHECK(!readable(svk_dispatcher_fd(dispatcher)));
  CHECK_EQ(read_number(service, NULL), 2);
  CHECK_NEXT(pull, 1, 1, 0);
  CHECK_NEXT(pull, 2, 2, 0);
  CHECK_OK(svk_stream_finish(stream));
  drain(dispatcher);
  CHECK_STATUS(svk_service_wait(service, 2, FOR_EVER, NULL), SVK_CLOSED);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

int main(void) {
  RUN(test_initial_state);
  RUN(test_read);
  RUN(test_acquire_needs_both);
  RUN(test_stored_first);
  RUN(test_stored_first_in_the_background);
  RUN(test_data_stay_for_the_callback);
  RUN(test_without_callbacks);
  return check_done();
}
