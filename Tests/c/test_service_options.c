/*
 * The options structs: their size, smaller and larger ones, unknown flags and constants; NULL where it is
 * not allowed. On failure nothing was kept, and the out-parameters are NULL.
 */
#include "check_state.h"

static void *const dirt = (void *)&check_failures;

static void never_state(const svk_state *state, void *user_data) {
  (void)state, (void)user_data;
  CHECK(!"a callback");
}

static void never_finish(void *user_data) {
  (void)user_data;
  CHECK(!"a finish");
}

static void never_start(svk_stream *stream, void *user_data) {
  (void)stream, (void)user_data;
  CHECK(!"a start");
}

static void never_free(void *user_data) {
  (void)user_data;
  CHECK(!"a free");
}

/* ---- The three structs, seen alike: 5000 bytes, of which the struct is the beginning ---- */

enum { ROOM = 5000 };

struct subject {
  const char *name;
  size_t size;
  void (*fill)(void *options);
  svk_status (*create)(const void *options);
};

static svk_service *observed;

static void fill_stream(void *pointer) {
  svk_stream_options *options = pointer;
  options->size = sizeof *options;
  options->start = never_start;
}

static void fill_service(void *pointer) {
  svk_service_options *options = pointer;
  options->size = sizeof *options;
}

static void fill_observer(void *pointer) {
  svk_observer_options *options = pointer;
  options->size = sizeof *options;
  options->on_state = never_state;
}

static svk_status create_stream(const void *options) {
  svk_stream *stream = dirt;
  svk_status status = svk_stream_create(options, &stream);
  if (status == SVK_OK)
    CHECK_OK(svk_stream_destroy(stream));
  else
    CHECK(stream == NULL);
  return status;
}

static svk_status create_service(const void *options) {
  svk_service *service = dirt;
  svk_status status = svk_service_create(options, &service);
  if (status == SVK_OK)
    CHECK_OK(svk_service_close(service));
  else
    CHECK(service == NULL);
  return status;
}

static svk_status create_observer(const void *options) {
  svk_subscription *subscription = dirt;
  svk_status status = svk_service_observe(observed, options, &subscription);
  if (status == SVK_OK)
    CHECK_OK(svk_subscription_cancel(subscription));
  else
    CHECK(subscription == NULL);
  return status;
}

/* The sizes of version 1.0, frozen. */
#if UINTPTR_MAX == UINT64_MAX
enum { STREAM_1_0 = 40, SERVICE_1_0 = 88, OBSERVER_1_0 = 72 };
#else
enum {
  STREAM_1_0 = sizeof(svk_stream_options),
  SERVICE_1_0 = sizeof(svk_service_options),
  OBSERVER_1_0 = sizeof(svk_observer_options)
};
#endif

static const struct subject subjects[] = {
  { "svk_stream_options", STREAM_1_0, fill_stream, create_stream },
  { "svk_service_options", SERVICE_1_0, fill_service, create_service },
  { "svk_observer_options", OBSERVER_1_0, fill_observer, create_observer }
};

static void check_subject(const struct subject *subject) {
  unsigned char *bytes = malloc(ROOM); /* so that tools see a read beyond `size` */
  MUST(bytes != NULL);
  uint32_t *size = (uint32_t *)(void *)bytes;
  memset(bytes, 0, ROOM);
  subject->fill(bytes);
  CHECK_OK(subject->create(bytes));

  static const uint32_t bad[] = {
    0, 1, 3, 4, 8, 4097, 4100, 5000, 65536, 0x7fffffff, 0x80000000, UINT32_MAX
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    *size = bad[i];
    CHECK_STATUS(subject->create(bytes), SVK_INVALID_ARGUMENT);
  }
  for (uint32_t i = 0; i < subject->size; i++) { /* below that of version 1.0 */
    *size = i;
    CHECK_STATUS(subject->create(bytes), SVK_INVALID_ARGUMENT);
  }
  CHECK(svk_last_error()[0] != 0);

  /* Larger, from a newer client: good if what is unknown is zero. */
  size_t known = sizeof(svk_stream_options);
  if (subject->create == create_service)
    known = sizeof(svk_service_options);
  else if (subject->create == create_observer)
    known = sizeof(svk_observer_options);
  static const uint32_t larger[] = { 1, 4, 8, 100, 1000 };
  for (size_t i = 0; i < sizeof larger / sizeof *larger; i++) {
    *size = (uint32_t)known + larger[i];
    CHECK_OK(subject->create(bytes));
    for (uint32_t at = 0; at < larger[i]; at += 1 + at / 2) {
      bytes[known + at] = 1;
      CHECK_STATUS(subject->create(bytes), SVK_INVALID_ARGUMENT);
      bytes[known + at] = 0x80;
      CHECK_STATUS(subject->create(bytes), SVK_INVALID_ARGUMENT);
      bytes[known + at] = 0;
    }
    bytes[*size - 1] = 1;
    CHECK_STATUS(subject->create(bytes), SVK_INVALID_ARGUMENT);
    bytes[*size - 1] = 0;
    bytes[*size] = 1; /* beyond: none of its business */
    CHECK_OK(subject->create(bytes));
    bytes[*size] = 0;
  }
  *size = 4096;
  CHECK_OK(subject->create(bytes));
  bytes[4095] = 1;
  CHECK_STATUS(subject->create(bytes), SVK_INVALID_ARGUMENT);
  free(bytes);

  /* Not a byte beyond `size` is read. */
  unsigned char *exact = calloc(1, known);
  MUST(exact != NULL);
  subject->fill(exact);
  CHECK_OK(subject->create(exact));
  free(exact);
  exact = malloc(4);
  MUST(exact != NULL);
  *(uint32_t *)(void *)exact = 4;
  CHECK_STATUS(subject->create(exact), SVK_INVALID_ARGUMENT);
  free(exact);
}

static void test_sizes(void) {
  CHECK_EQ(sizeof(svk_stream_options), STREAM_1_0);
  CHECK_EQ(sizeof(svk_service_options), SERVICE_1_0);
  CHECK_EQ(sizeof(svk_observer_options), OBSERVER_1_0);
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  observed = new_inline_service(stream);
  for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
    check_subject(&subjects[i]);
  CHECK_OK(svk_service_close(observed));
  CHECK_OK(svk_stream_destroy(stream));
}

/* Only fields count: a struct that was filled field by field has anything in its gaps. */
static void test_gaps(void) {
  svk_stream_options stream_options;
  memset(&stream_options, 0xff, sizeof stream_options);
  stream_options.size = sizeof stream_options;
  stream_options.buffering = SVK_BUFFER_NEWEST;
  stream_options.capacity = 3;
  stream_options.start = NULL;
  stream_options.user_data = NULL;
  stream_options.user_data_free = NULL;
  svk_stream *stream = NULL;
  CHECK_OK(svk_stream_create(&stream_options, &stream));

  svk_service_options service_options;
  memset(&service_options, 0xff, sizeof service_options);
  service_options.size = sizeof service_options;
  service_options.flags = 0;
  service_options.api = NULL;
  service_options.initial = NULL;
  service_options.initial_size = 0;
  service_options.stream = stream;
  service_options.delivery = SVK_DELIVER_INLINE;
  service_options.dispatcher = dirt; /* ignored here */
  service_options.on_state = NULL;
  service_options.on_finish = NULL;
  service_options.user_data = NULL;
  service_options.user_data_free = NULL;
  svk_service *service = NULL;
  CHECK_OK(svk_service_create(&service_options, &service));

  svk_observer_options observer_options;
  memset(&observer_options, 0xff, sizeof observer_options);
  observer_options.size = sizeof observer_options;
  observer_options.flags = 0;
  observer_options.delivery = SVK_DELIVER_INLINE;
  observer_options.dispatcher = dirt; /* ignored here */
  observer_options.buffering = SVK_BUFFER_UNBOUNDED;
  observer_options.capacity = 0;
  observer_options.on_state = never_state;
  observer_options.on_finish = NULL;
  observer_options.user_data = NULL;
  observer_options.user_data_free = NULL;
  svk_subscription *subscription = NULL;
  CHECK_OK(svk_service_observe(service, &observer_options, &subscription));
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

static const int32_t strange[] = { -1, 4, 5, 100, INT32_MAX, INT32_MIN };
enum { STRANGE = sizeof strange / sizeof *strange };

static void test_stream_options(void) {
  svk_stream *stream = dirt;
  svk_stream_options options = SVK_STREAM_OPTIONS_INIT;
  options.start = never_start;
  options.user_data_free = never_free;
  for (int i = 0; i < STRANGE; i++) {
    options.buffering = strange[i];
    options.capacity = 1;
    stream = dirt;
    CHECK_STATUS(svk_stream_create(&options, &stream), SVK_INVALID_ARGUMENT);
    CHECK(stream == NULL);
  }
  options.capacity = 0;
  for (options.buffering = SVK_BUFFER_NEWEST; options.buffering <= SVK_BUFFER_BLOCK; options.buffering++) {
    stream = dirt;
    CHECK_STATUS(svk_stream_create(&options, &stream), SVK_INVALID_ARGUMENT);
    CHECK(stream == NULL);
  }
  options.buffering = SVK_BUFFER_UNBOUNDED;
  CHECK_STATUS(svk_stream_create(&options, NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_stream_create(NULL, NULL), SVK_INVALID_ARGUMENT);
  options.user_data_free = NULL;
  options.start = NULL;
  options.capacity = SIZE_MAX; /* ignored, or a promise that nobody has to keep in advance */
  for (options.buffering = SVK_BUFFER_UNBOUNDED; options.buffering <= SVK_BUFFER_BLOCK; options.buffering++) {
    CHECK_OK(svk_stream_create(&options, &stream));
    CHECK_OK(send_number(stream, 1));
    CHECK_OK(svk_stream_destroy(stream));
  }
}

static void test_service_options(void) {
  svk_service *service = dirt;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(send_number(stream, 1));
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = stream;
  options.on_state = never_state;
  options.on_finish = never_finish;
  options.user_data_free = never_free;
  CHECK_STATUS(svk_service_create(NULL, &service), SVK_INVALID_ARGUMENT);
  CHECK(service == NULL);
  CHECK_STATUS(svk_service_create(&options, NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_service_create(NULL, NULL), SVK_INVALID_ARGUMENT);
  for (int bit = 0; bit < 32; bit++)
    if (1u << bit != SVK_SERVICE_SKIP_EQUAL) {
      options.flags = 1u << bit;
      service = dirt;
      CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_ARGUMENT);
      CHECK(service == NULL);
      options.flags |= SVK_SERVICE_SKIP_EQUAL;
      CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_ARGUMENT);
    }
  options.flags = 0;
  for (int i = 0; i < STRANGE; i++) {
    options.delivery = strange[i];
    service = dirt;
    CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_ARGUMENT);
    CHECK(service == NULL);
  }
  options.delivery = SVK_DELIVER_PULL;
  CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_ARGUMENT);
  options.delivery = SVK_DELIVER_INLINE;
  options.initial_size = 1;
  service = dirt;
  CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_ARGUMENT);
  CHECK(service == NULL);
  options.initial_size = 0;
  options.delivery = SVK_DELIVER_DISPATCHER;
  service = dirt;
  CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_HANDLE);
  CHECK(service == NULL);
  /* None of these used the stream up. */
  struct watch watch = WATCH_INIT;
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  CHECK_EQ(watch.count, 1);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_observer_options(void) {
  svk_subscription *subscription = dirt;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.on_state = never_state;
  options.on_finish = never_finish;
  options.user_data_free = never_free;
  CHECK_STATUS(svk_service_observe(service, NULL, &subscription), SVK_INVALID_ARGUMENT);
  CHECK(subscription == NULL);
  CHECK_STATUS(svk_service_observe(service, &options, NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_service_observe(service, NULL, NULL), SVK_INVALID_ARGUMENT);
  for (int bit = 0; bit < 32; bit++)
    if (1u << bit != SVK_OBSERVE_CURRENT) {
      options.flags = 1u << bit;
      subscription = dirt;
      CHECK_STATUS(svk_service_observe(service, &options, &subscription), SVK_INVALID_ARGUMENT);
      CHECK(subscription == NULL);
      options.flags |= SVK_OBSERVE_CURRENT;
      CHECK_STATUS(svk_service_observe(service, &options, &subscription), SVK_INVALID_ARGUMENT);
    }
  options.flags = SVK_OBSERVE_CURRENT;
  for (int i = 0; i < STRANGE; i++) {
    options.delivery = strange[i];
    subscription = dirt;
    CHECK_STATUS(svk_service_observe(service, &options, &subscription), SVK_INVALID_ARGUMENT);
    CHECK(subscription == NULL);
    options.delivery = SVK_DELIVER_INLINE;
    options.buffering = strange[i];
    options.capacity = 1;
    subscription = dirt;
    CHECK_STATUS(svk_service_observe(service, &options, &subscription), SVK_INVALID_ARGUMENT);
    CHECK(subscription == NULL);
    options.buffering = SVK_BUFFER_UNBOUNDED;
  }
  options.capacity = 0;
  for (options.delivery = SVK_DELIVER_INLINE; options.delivery <= SVK_DELIVER_PULL; options.delivery++) {
    if (options.delivery == SVK_DELIVER_DISPATCHER)
      continue;
    for (options.buffering = SVK_BUFFER_NEWEST; options.buffering <= SVK_BUFFER_BLOCK; options.buffering++) {
      subscription = dirt;
      CHECK_STATUS(svk_service_observe(service, &options, &subscription), SVK_INVALID_ARGUMENT);
      CHECK(subscription == NULL);
    }
    options.buffering = SVK_BUFFER_UNBOUNDED;
    if (options.delivery != SVK_DELIVER_PULL) {
      options.on_state = NULL;
      subscription = dirt;
      CHECK_STATUS(svk_service_observe(service, &options, &subscription), SVK_INVALID_ARGUMENT);
      CHECK(subscription == NULL);
      options.on_state = never_state;
    }
  }
  options.delivery = SVK_DELIVER_DISPATCHER;
  void *bad[] = { NULL, dirt, service, stream };
  for (int i = 0; i < 4; i++) {
    options.dispatcher = bad[i];
    subscription = dirt;
    CHECK_STATUS(svk_service_observe(service, &options, &subscription), SVK_INVALID_HANDLE);
    CHECK(subscription == NULL);
  }
  svk_dispatcher *dispatcher = new_dispatcher();
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
  options.dispatcher = dispatcher;
  CHECK_STATUS(svk_service_observe(service, &options, &subscription), SVK_INVALID_HANDLE);
  CHECK_OK(send_number(stream, 1)); /* no callback comes */
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

/* The macros, and what zeroed memory and `size` give. */
static void test_initialisers(void) {
  svk_stream_options stream_options = SVK_STREAM_OPTIONS_INIT, zero_stream;
  svk_service_options service_options = SVK_SERVICE_OPTIONS_INIT, zero_service;
  svk_observer_options observer_options = SVK_OBSERVER_OPTIONS_INIT, zero_observer;
  memset(&zero_stream, 0, sizeof zero_stream);
  memset(&zero_service, 0, sizeof zero_service);
  memset(&zero_observer, 0, sizeof zero_observer);
  CHECK_EQ(stream_options.size, sizeof zero_stream);
  CHECK_EQ(stream_options.buffering, zero_stream.buffering);
  CHECK_EQ(stream_options.capacity, zero_stream.capacity);
  CHECK(stream_options.start == NULL && stream_options.user_data == NULL &&
        stream_options.user_data_free == NULL);
  CHECK_EQ(service_options.size, sizeof zero_service);
  CHECK_EQ(service_options.flags, zero_service.flags);
  CHECK_EQ(service_options.delivery, zero_service.delivery);
  CHECK_EQ(service_options.initial_size, 0);
  CHECK(service_options.api == NULL && service_options.initial == NULL && service_options.stream == NULL &&
        service_options.dispatcher == NULL && service_options.on_state == NULL &&
        service_options.on_finish == NULL && service_options.user_data == NULL &&
        service_options.user_data_free == NULL);
  CHECK_EQ(observer_options.size, sizeof zero_observer);
  CHECK_EQ(observer_options.flags, zero_observer.flags);
  CHECK_EQ(observer_options.delivery, zero_observer.delivery);
  CHECK_EQ(observer_options.buffering, zero_observer.buffering);
  CHECK_EQ(observer_options.capacity, 0);
  CHECK(observer_options.dispatcher == NULL && observer_options.on_state == NULL &&
        observer_options.on_finish == NULL && observer_options.user_data == NULL &&
        observer_options.user_data_free == NULL);
}

int main(void) {
  RUN(test_sizes);
  RUN(test_gaps);
  RUN(test_stream_options);
  RUN(test_service_options);
  RUN(test_observer_options);
  RUN(test_initialisers);
  return check_done();
}
