/*
 * A service is registered like anything else: a factory makes the stream and the service and returns the
 * service as its instance, once for live, once for preview, once for test.
 */
#include "check_state.h"

#include <servicekit.h>

/* What one factory makes, and its instance's destroy ends. */
struct source {
  long value;
  svk_stream *stream;
  svk_service *service;
  _Atomic int created, destroyed;
};

static svk_status create_source(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver;
  struct source *source = user_data;
  source->stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  source->service = new_service(source->stream, SVK_DELIVER_INLINE, NULL, NULL, source->value);
  atomic_fetch_add(&source->created, 1);
  *instance = source->service;
  return SVK_OK;
}

static void destroy_source(void *instance, void *user_data) {
  struct source *source = user_data;
  CHECK(instance == source->service);
  CHECK_OK(svk_service_close(source->service));
  CHECK_OK(svk_stream_destroy(source->stream));
  atomic_fetch_add(&source->destroyed, 1);
}

static svk_factory_options factory_options(struct source *source) {
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = create_source;
  options.destroy = destroy_source;
  options.user_data = source;
  options.scope = SVK_SCOPE_CACHED;
  options.type = "svk_service/1";
  return options;
}

static void test_live_and_preview(void) {
  struct source sources[2] = { { .value = 100 }, { .value = 200 } };
  static const char *const contexts[] = { "live", "preview" };
  for (int i = 0; i < 2; i++) {
    svk_container *container = NULL;
    MUST_OK(svk_container_create(&container));
    CHECK_OK(svk_container_set_contexts(container, contexts[i]));
    for (int j = 0; j < 2; j++) {
      svk_factory_options options = factory_options(&sources[j]);
      CHECK_OK(svk_register_for(container, "sampler", contexts[j], &options));
    }
    svk_handle *handle = NULL;
    CHECK_OK(svk_resolve_typed(container, "sampler", "svk_service/1", &handle));
    svk_service *service = svk_instance(handle);
    CHECK_EQ(read_number(service, NULL), sources[i].value);
    struct watch watch = WATCH_INIT;
    observe(service, &watch, SVK_DELIVER_INLINE, NULL);
    CHECK_OK(send_number(sources[i].stream, 7));
    CHECK_EQ(watch.last_number, 7);
    CHECK_OK(svk_release(handle));
    CHECK_EQ(read_number(service, NULL), 7); /* cached */
    CHECK_OK(svk_container_destroy(container));
    CHECK_EQ(sources[i].destroyed, 1);
    CHECK_EQ(watch.freed, 1); /* the close cancelled it */
    CHECK_EQ(watch.finished, 0);
    CHECK_STATUS(svk_service_read(service, NULL, 0, NULL, NULL), SVK_INVALID_HANDLE);
  }
  CHECK_EQ(sources[0].created, 1);
  CHECK_EQ(sources[1].created, 1);
}

/* Callbacks of services may use the container, factories may use services: nothing holds a lock. */
struct mix {
  svk_container *container;
  struct source *source;
  int resolved;
};

static void resolve_inside(struct watch *watch, const svk_state *state) {
  (void)state;
  struct mix *mix = watch->context;
  svk_handle *handle = NULL;
  CHECK_OK(svk_resolve(mix->container, "sampler", &handle));
  CHECK(svk_instance(handle) == (void *)mix->source->service);
  CHECK_OK(svk_release(handle));
  mix->resolved++;
}

static svk_status create_sending(svk_resolver *resolver, void **instance, void *user_data) {
  struct mix *mix = user_data;
  void *service = NULL;
  CHECK_OK(svk_require(resolver, "sampler", &service));
  CHECK_OK(send_number(mix->source->stream, 9)); /* calls observers, which resolve */
  *instance = service;
  return SVK_OK;
}

static void test_callbacks_and_factories(void) {
  struct source source = { .value = 1 };
  struct mix mix = { NULL, &source, 0 };
  struct watch watch = WATCH_INIT;
  MUST_OK(svk_container_create(&mix.container));
  svk_factory_options options = factory_options(&source);
  CHECK_OK(svk_register(mix.container, "sampler", &options));
  options = (svk_factory_options)SVK_FACTORY_OPTIONS_INIT;
  options.create = create_sending;
  options.user_data = &mix;
  CHECK_OK(svk_register(mix.container, "sender", &options));
  svk_handle *handle = NULL;
  CHECK_OK(svk_resolve(mix.container, "sampler", &handle));
  watch.context = &mix;
  watch.on_state = resolve_inside;
  observe(source.service, &watch, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_resolve(mix.container, "sender", &handle));
  CHECK_EQ(mix.resolved, 1);
  CHECK_EQ(watch.last_number, 9);
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_container_destroy(mix.container));
  CHECK_EQ(watch.freed, 1);
}

/* From inside any callback of the library nobody waits: a factory cancels what runs on another thread. */
static struct counter inside = COUNTER_INIT, go_on = COUNTER_INIT;

static void stay(struct watch *watch, const svk_state *state) {
  (void)watch, (void)state;
  counter_add(&inside, 1);
  counter_wait(&go_on, 1);
}

static svk_status create_cancelling(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver;
  struct watch *watch = user_data;
  CHECK_STATUS(svk_subscription_cancel(watch->subscription), SVK_DEFERRED);
  CHECK_EQ(watch->freed, 0);
  *instance = watch;
  return SVK_OK;
}

static void destroy_closing(void *instance, void *user_data) {
  (void)user_data;
  struct watch *watch = instance;
  CHECK_STATUS(svk_service_close(watch->context), SVK_DEFERRED);
}

static void *send_one(void *stream) {
  CHECK_OK(send_number(stream, 1));
  return NULL;
}

static void test_factories_do_not_wait(void) {
  struct watch watch = WATCH_INIT;
  svk_container *container = NULL;
  MUST_OK(svk_container_create(&container));
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  watch.context = service;
  watch.on_state = stay;
  observe(service, &watch, SVK_DELIVER_INLINE, NULL);
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = create_cancelling;
  options.destroy = destroy_closing;
  options.user_data = &watch;
  CHECK_OK(svk_register(container, "canceller", &options));
  pthread_t thread = start_thread(send_one, stream);
  counter_wait(&inside, 1);
  svk_handle *handle = NULL;
  CHECK_OK(svk_resolve(container, "canceller", &handle));
  CHECK_OK(svk_release(handle)); /* destroys it */
  CHECK_EQ(watch.freed, 0);
  counter_add(&go_on, 1);
  join_thread(thread);
  CHECK_EQ(watch.freed, 1);
  CHECK_STATUS(svk_service_close(service), SVK_INVALID_HANDLE);
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_stream_destroy(stream));
}

int main(void) {
  RUN(test_live_and_preview);
  RUN(test_callbacks_and_factories);
  RUN(test_factories_do_not_wait);
  return check_done();
}
