/* Versions, empty and large states, copies, what is sent before a service attaches, sends from callbacks. */
#include "check_state.h"

static void test_versions(void) {
  struct watch service_watch = WATCH_INIT, observer = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &service_watch, 70);
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  uint64_t version = 99;
  CHECK_EQ(read_number(service, &version), 70);
  CHECK_EQ(version, 0);
  CHECK_EQ(service_watch.count, 0); /* not for the initial state */
  CHECK_EQ(observer.count, 0);
  for (int i = 1; i <= 5; i++) {
    CHECK_OK(send_number(stream, 70 + i));
    CHECK_EQ(service_watch.count, i); /* inline: called when the send returns */
    CHECK_EQ(observer.count, i);
    CHECK_EQ(read_number(service, &version), 70 + i);
    CHECK_EQ(version, i);
  }
  for (int i = 0; i < 5; i++) {
    CHECK_EQ(service_watch.versions[i], i + 1);
    CHECK_EQ(service_watch.numbers[i], 71 + i);
    CHECK_EQ(observer.versions[i], i + 1);
    CHECK_EQ(observer.numbers[i], 71 + i);
  }
  CHECK_EQ(service_watch.dropped_sum, 0);
  CHECK_EQ(observer.dropped_sum, 0);
  CHECK(pthread_equal(service_watch.thread, pthread_self()));
  CHECK(pthread_equal(observer.thread, pthread_self()));
  cancel_watch(&observer);
  close_watch(&service_watch);
  CHECK_EQ(service_watch.finished, 0);
  CHECK_EQ(observer.finished, 0);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_options_may_be_null(void) {
  svk_stream *stream = NULL;
  MUST_OK(svk_stream_create(NULL, &stream));
  MUST(stream != NULL);
  for (int i = 1; i <= 1000; i++) /* unbounded */
    CHECK_OK(send_number(stream, i));
  struct watch watch = WATCH_INIT;
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_EQ(watch.count, 1000);
  CHECK_EQ(watch.last_version, 1000);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_failed_sends_have_no_version(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_STATUS(svk_stream_send(stream, NULL, 1), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_stream_send(stream, NULL, SIZE_MAX), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_stream_send_within(stream, NULL, 1, 0), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_stream_send_owned(stream, NULL, 1, NULL), SVK_INVALID_ARGUMENT);
  CHECK(svk_last_error()[0] != 0);
  CHECK_EQ(watch.count, 1);
  CHECK_OK(send_number(stream, 2));
  CHECK_EQ(watch.last_version, 2);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

static void expect_empty(struct watch *watch, const svk_state *state) {
  (void)watch;
  CHECK_EQ(state->size, 0);
}

static void test_empty_states(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 7);
  watch.on_state = expect_empty;
  CHECK_OK(svk_stream_send(stream, NULL, 0));
  CHECK_OK(svk_stream_send(stream, "x", 0));
  CHECK_OK(svk_stream_send_within(stream, NULL, 0, 0));
  CHECK_OK(svk_stream_send_owned(stream, NULL, 0, NULL));
  CHECK_EQ(watch.count, 4);
  char byte = 42;
  size_t size = 99;
  uint64_t version = 99;
  CHECK_OK(svk_service_read(service, NULL, 0, &size, &version));
  CHECK_EQ(size, 0);
  CHECK_EQ(version, 4);
  CHECK_OK(svk_service_read(service, &byte, 1, &size, &version));
  CHECK_EQ(size, 0);
  CHECK_EQ(byte, 42);
  svk_snapshot *snapshot = NULL;
  svk_state state;
  CHECK_OK(svk_service_acquire(service, &snapshot, &state));
  CHECK_EQ(state.size, 0);
  CHECK_EQ(state.version, 4);
  CHECK_OK(svk_snapshot_release(snapshot));
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

enum { LARGE = 3 << 20 };

static void expect_large(struct watch *watch, const svk_state *state) {
  const unsigned char *bytes = state->data, *sent = watch->context;
  CHECK_EQ(state->size, LARGE);
  CHECK(bytes != sent);
  CHECK(memcmp(bytes, sent, LARGE) == 0);
}

static void test_large_states(void) {
  unsigned char *bytes = malloc(LARGE);
  MUST(bytes != NULL);
  for (int i = 0; i < LARGE; i++)
    bytes[i] = (unsigned char)(i * 7 + (i >> 12));
  struct watch watch = WATCH_INIT;
  watch.on_state = expect_large;
  watch.context = bytes;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_OK(svk_stream_send(stream, bytes, LARGE));
  CHECK_EQ(watch.count, 1);
  size_t size = 0;
  CHECK_STATUS(svk_service_read(service, NULL, 0, &size, NULL), SVK_BUFFER_TOO_SMALL);
  CHECK_EQ(size, LARGE);
  unsigned char *copy = malloc(LARGE);
  MUST(copy != NULL);
  CHECK_OK(svk_service_read(service, copy, LARGE, &size, NULL));
  CHECK(memcmp(copy, bytes, LARGE) == 0);
  free(copy);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  free(bytes);
}

/* Every size around the usual boundaries arrives whole, and aligned (watch_state checks that). */
static void expect_bytes(struct watch *watch, const svk_state *state) {
  const unsigned char *bytes = state->data;
  CHECK_EQ(state->size, *(size_t *)watch->context);
  for (size_t i = 0; i < state->size; i++)
    if (bytes[i] != (unsigned char)(state->size + i)) {
      CHECK(bytes[i] == (unsigned char)(state->size + i));
      break;
    }
}

static void test_every_size(void) {
  struct watch watch = WATCH_INIT;
  size_t size = 0;
  watch.on_state = expect_bytes;
  watch.context = &size;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  unsigned char bytes[601];
  for (size = 0; size < 600; size++) {
    unsigned char *start = bytes + size % 2; /* aligned or not */
    for (size_t i = 0; i < size; i++)
      start[i] = (unsigned char)(size + i);
    CHECK_OK(svk_stream_send(stream, start, size));
  }
  CHECK_EQ(watch.count, 600);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

/* The bytes may be changed and freed as soon as the send, or the create, has returned. */
static void test_states_are_copied(void) {
  struct watch watch = WATCH_INIT;
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 500);
  for (long i = 1; i <= 3; i++) {
    long *number = malloc(sizeof *number);
    MUST(number != NULL);
    *number = i;
    CHECK_OK(svk_stream_send(stream, number, sizeof *number));
    *number = -1;
    free(number);
  }
  CHECK_EQ(read_number(service, NULL), 500);
  CHECK_EQ(drain(dispatcher), 3);
  for (int i = 0; i < 3; i++)
    CHECK_EQ(watch.numbers[i], i + 1);
  CHECK_EQ(read_number(service, NULL), 3);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_sends_before_a_service_attaches(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  for (int i = 1; i <= 4; i++)
    CHECK_OK(send_number(stream, i));
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_EQ(watch.count, 4);
  for (int i = 0; i < 4; i++) {
    CHECK_EQ(watch.versions[i], i + 1);
    CHECK_EQ(watch.numbers[i], i + 1);
  }
  uint64_t version;
  CHECK_EQ(read_number(service, &version), 4);
  CHECK_EQ(version, 4);
  CHECK_OK(send_number(stream, 5));
  CHECK_EQ(watch.last_version, 5);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_sends_before_an_attach_with_a_dispatcher(void) {
  struct watch watch = WATCH_INIT;
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  for (int i = 1; i <= 4; i++)
    CHECK_OK(send_number(stream, i));
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
  CHECK_EQ(watch.count, 0);
  CHECK(readable(svk_dispatcher_fd(dispatcher)));
  CHECK_EQ(drain(dispatcher), 4);
  CHECK_EQ(watch.last_version, 4);
  CHECK_EQ(read_number(service, NULL), 4);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* When a callback runs before svk_service_create returns, *service is set already. */
static svk_service *created;

static void read_created(struct watch *watch, const svk_state *state) {
  (void)watch;
  if (!CHECK(created != NULL))
    return;
  uint64_t version;
  CHECK_EQ(read_number(created, &version), number_of(state));
  CHECK_EQ(version, state->version);
}

static void test_service_is_set_before_the_first_callback(void) {
  struct watch watch = WATCH_INIT;
  watch.on_state = read_created;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(send_number(stream, 11));
  CHECK_OK(send_number(stream, 12));
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = stream;
  options.on_state = watch_state;
  options.user_data = &watch;
  created = NULL;
  CHECK_OK(svk_service_create(&options, &created));
  CHECK_EQ(watch.count, 2);
  CHECK_OK(svk_service_close(created));
  CHECK_EQ(watch.freed, 0); /* there was no user_data_free */
  CHECK_OK(svk_stream_destroy(stream));
}

/* ---- Sends from callbacks ---- */

struct nest {
  svk_stream *stream;
  struct watch service, first, second;
  char journal[256];
};

static void note(struct nest *nest, const char *who, const svk_state *state) {
  size_t used = strlen(nest->journal);
  snprintf(nest->journal + used, sizeof nest->journal - used, "%s%d ", who, (int)state->version);
}

static void nest_service(struct watch *watch, const svk_state *state) {
  struct nest *nest = watch->context;
  note(nest, "s", state);
  if (state->version == 1) {
    CHECK_OK(send_number(nest->stream, 2));
    CHECK_EQ(watch->count, 1); /* not inside */
    CHECK_EQ(read_number(watch->service, NULL), number_of(state));
  }
}

static void nest_first(struct watch *watch, const svk_state *state) {
  struct nest *nest = watch->context;
  note(nest, "a", state);
  if (state->version == 1) {
    CHECK_OK(send_number(nest->stream, 3));
    CHECK_OK(send_number(nest->stream, 4));
    CHECK_EQ(watch->count, 1);
  }
}

static void nest_second(struct watch *watch, const svk_state *state) {
  struct nest *nest = watch->context;
  note(nest, "b", state);
  if (state->version == 4)
    CHECK_OK(send_number(nest->stream, 5));
}

static void test_sends_from_callbacks_queue(void) {
  struct nest nest = { NULL, WATCH_INIT, WATCH_INIT, WATCH_INIT, "" };
  nest.service.context = nest.first.context = nest.second.context = &nest;
  nest.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(nest.stream, SVK_DELIVER_INLINE, NULL, &nest.service, 0);
  nest.service.on_state = nest_service;
  nest.first.on_state = nest_first;
  nest.second.on_state = nest_second;
  observe(service, &nest.first, SVK_DELIVER_INLINE, NULL);
  observe(service, &nest.second, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(send_number(nest.stream, 1));
  /* One delivery after the other, all of them before the outermost send returned. */
  CHECK_EQ(nest.service.count, 5);
  CHECK_EQ(nest.first.count, 5);
  CHECK_EQ(nest.second.count, 5);
  for (int i = 0; i < 5; i++)
    CHECK_EQ(nest.second.numbers[i], i + 1);
  /* The service first; the observers get a state before anybody gets the next. */
  const char *text = nest.journal;
  for (int version = 1; version <= 5; version++) {
    char one[32], other[32];
    snprintf(one, sizeof one, "s%d a%d b%d ", version, version, version);
    snprintf(other, sizeof other, "s%d b%d a%d ", version, version, version);
    if (!CHECK(strncmp(text, one, strlen(one)) == 0 || strncmp(text, other, strlen(other)) == 0)) {
      fprintf(stderr, "  %s\n", nest.journal);
      break;
    }
    text += strlen(one);
  }
  CHECK_OK(svk_service_close(service));
  CHECK_EQ(nest.service.freed, 1);
  CHECK_EQ(nest.first.freed, 1);
  CHECK_EQ(nest.second.freed, 1);
  CHECK_OK(svk_stream_destroy(nest.stream));
}

/* A callback sends to another stream: no delivery is under way there, so that is delivered before the inner
 * send returns; and what its callback sends back is queued. */
struct pair {
  svk_stream *streams[2];
  struct watch watches[2];
};

static void forward(struct watch *watch, const svk_state *state) {
  struct pair *pair = watch->context;
  if (state->version == 1 && watch == &pair->watches[0]) {
    CHECK_OK(send_number(pair->streams[1], 100));
    CHECK_EQ(pair->watches[1].count, 1);
    CHECK_EQ(watch->count, 1);
  } else if (state->version == 1) {
    CHECK_OK(send_number(pair->streams[0], 200));
    CHECK_EQ(pair->watches[0].count, 1);
  }
}

static void test_sends_to_another_stream_are_nested(void) {
  struct pair pair = { { NULL, NULL }, { WATCH_INIT, WATCH_INIT } };
  for (int i = 0; i < 2; i++) {
    pair.watches[i].context = &pair;
    pair.watches[i].on_state = forward;
    pair.streams[i] = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    new_service(pair.streams[i], SVK_DELIVER_INLINE, NULL, &pair.watches[i], 0);
  }
  CHECK_OK(send_number(pair.streams[0], 1));
  CHECK_EQ(pair.watches[0].count, 2);
  CHECK_EQ(pair.watches[0].last_number, 200);
  CHECK_EQ(pair.watches[1].count, 1);
  for (int i = 0; i < 2; i++) {
    close_watch(&pair.watches[i]);
    CHECK_OK(svk_stream_destroy(pair.streams[i]));
  }
}

/* A long chain of nested sends needs no deep stack. */
static void again(struct watch *watch, const svk_state *state) {
  if (number_of(state) > 0)
    CHECK_OK(send_number(watch->context, number_of(state) - 1));
}

static void test_long_chains(void) {
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  watch.context = stream;
  watch.on_state = again;
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  int length = iterations(200000);
  CHECK_OK(send_number(stream, length));
  CHECK_EQ(watch.count, length + 1);
  CHECK_EQ(watch.last_version, length + 1);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

/* While one thread delivers, another one's send returns at once, and the first delivers that state too. */
static struct counter held = COUNTER_INIT, go_on = COUNTER_INIT;

static void hold(struct watch *watch, const svk_state *state) {
  (void)watch;
  if (state->version == 1) {
    counter_add(&held, 1);
    counter_wait(&go_on, 1);
  }
}

static void *send_first(void *stream) {
  CHECK_OK(send_number(stream, 1));
  return NULL;
}

static void test_a_delivery_under_way_takes_it(void) {
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  watch.on_state = hold;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  pthread_t thread = start_thread(send_first, stream);
  counter_wait(&held, 1);
  CHECK_EQ(read_number(service, NULL), 1); /* stored before on_state */
  CHECK_OK(send_number(stream, 2));
  CHECK_OK(send_number(stream, 3));
  CHECK_EQ(atomic_load(&observer.entered), 0);
  CHECK_EQ(read_number(service, NULL), 1);
  counter_add(&go_on, 1);
  join_thread(thread);
  CHECK_EQ(watch.count, 3);
  CHECK_EQ(observer.count, 3);
  CHECK(pthread_equal(watch.thread, thread));
  CHECK(pthread_equal(observer.thread, thread));
  CHECK_EQ(read_number(service, NULL), 3);
  close_watch(&watch);
  CHECK_EQ(observer.freed, 1);
  CHECK_OK(svk_stream_destroy(stream));
}

int main(void) {
  RUN(test_versions);
  RUN(test_options_may_be_null);
  RUN(test_failed_sends_have_no_version);
  RUN(test_empty_states);
  RUN(test_large_states);
  RUN(test_every_size);
  RUN(test_states_are_copied);
  RUN(test_sends_before_a_service_attaches);
  RUN(test_sends_before_an_attach_with_a_dispatcher);
  RUN(test_service_is_set_before_the_first_callback);
  RUN(test_sends_from_callbacks_queue);
  RUN(test_sends_to_another_stream_are_nested);
  RUN(test_long_chains);
  RUN(test_a_delivery_under_way_takes_it);
  return check_done();
}
