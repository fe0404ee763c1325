/*
 * For languages that load the library at run time: everything by its name, from a dlopen of
 * "libservicekit.so.1", and the library stays after dlclose. Nothing here refers to a symbol of it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <servicekit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures, checks;

static int check(int ok, const char *expression, int line) {
  checks++;
  if (!ok) {
    fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, line, expression);
    failures++;
  }
  return ok;
}

#define CHECK(expression) check(!!(expression), #expression, __LINE__)

/* The whole header. */
/* By hand, since the formatter indents each line further than the one before. */
/* clang-format off */
#define EACH_FUNCTION(X) \
  X(svk_version) X(svk_version_string) X(svk_constant) X(svk_status_name) X(svk_last_error) \
  X(svk_container_create) X(svk_container_create_child) X(svk_container_shared) \
  X(svk_container_destroy) X(svk_container_reset) X(svk_container_push) X(svk_container_pop) \
  X(svk_container_set_contexts) X(svk_container_set_strict) X(svk_container_set_default_scope) \
  X(svk_container_validate) X(svk_container_describe) X(svk_register) X(svk_register_for) \
  X(svk_unregister) X(svk_reset) X(svk_decorate) X(svk_scope_create) X(svk_scope_reset) \
  X(svk_scope_destroy) X(svk_singleton_reset) X(svk_require) X(svk_require_with) \
  X(svk_resolver_parameter) X(svk_resolver_container) X(svk_resolve) X(svk_resolve_with) \
  X(svk_resolve_typed) X(svk_key_intern) X(svk_resolve_key) X(svk_instance) X(svk_release) \
  X(svk_pin) X(svk_stream_create) X(svk_stream_void) X(svk_stream_send) X(svk_stream_send_owned) \
  X(svk_stream_send_within) X(svk_stream_finish) X(svk_stream_destroy) X(svk_service_create) \
  X(svk_service_close) X(svk_service_api) X(svk_service_read) X(svk_service_acquire) \
  X(svk_snapshot_release) X(svk_service_wait) X(svk_service_observe) X(svk_subscription_cancel) \
  X(svk_subscription_cancel_nowait) X(svk_subscription_next) X(svk_subscription_next_copy) \
  X(svk_subscription_fd) X(svk_subscription_dropped) X(svk_dispatcher_create) \
  X(svk_dispatcher_destroy) X(svk_dispatcher_fd) X(svk_dispatcher_wake) X(svk_dispatcher_dispatch) \
  X(svk_set_log) X(svk_container_set_trace)
/* clang-format on */

/* A pointer for each, of the type that the header says. */
#define POINTER(name) __typeof__(name) *name##_;
static struct {
  EACH_FUNCTION(POINTER)
} svk;

static void *library;

static void find(const char *name, void *pointer) {
  dlerror();
  void *symbol = dlsym(library, name);
  if (!check(symbol != NULL, name, __LINE__))
    exit(1);
  memcpy(pointer, &symbol, sizeof symbol);
}

static void test_every_function(void) {
#define FIND(name) find(#name, &svk.name##_);
  EACH_FUNCTION(FIND)
  CHECK(dlsym(library, "svk_no_such_function") == NULL);
  /* With their version. */
#define FIND_VERSION(name) CHECK(dlvsym(library, #name, "SERVICEKIT_1.0") != NULL);
  EACH_FUNCTION(FIND_VERSION)
}

/* ---- A language without constants, macros and callbacks: memory, sizes and names ---- */

static int64_t constant(const char *name) {
  int64_t value = -77;
  CHECK(svk.svk_constant_(name, &value) == 0);
  return value;
}

static int calls;

static void count_call(const svk_state *state, void *user_data) {
  (void)state, (void)user_data;
  calls++;
}

static void test_a_service(void) {
  void *options = calloc(1, 88); /* svk_service_options */
  uint32_t size = 88;
  svk_stream *stream = NULL;
  svk_service *service = NULL;
  svk_subscription *pull = NULL, *observer = NULL;
  CHECK(svk.svk_version_() >= 0x10000);
  CHECK(strncmp(svk.svk_version_string_(), "1.", 2) == 0);
  CHECK(svk.svk_stream_create_(NULL, &stream) == constant("SVK_OK"));
  memcpy(options, &size, sizeof size);
  memcpy((char *)options + 32, &stream, sizeof stream);
  CHECK(svk.svk_service_create_(options, &service) == 0);
  free(options);

  svk_observer_options observer_options;
  memset(&observer_options, 0, sizeof observer_options);
  observer_options.size = sizeof observer_options;
  observer_options.delivery = (int32_t)constant("SVK_DELIVER_PULL");
  CHECK(svk.svk_service_observe_(service, &observer_options, &pull) == 0);
  observer_options.delivery = (int32_t)constant("SVK_DELIVER_INLINE");
  observer_options.on_state = count_call;
  CHECK(svk.svk_service_observe_(service, &observer_options, &observer) == 0);

  CHECK(svk.svk_stream_send_(stream, "state", 6) == 0);
  CHECK(calls == 1);
  char text[16] = "";
  size_t length = 0;
  uint64_t version = 0, dropped = 99;
  CHECK(svk.svk_service_read_(service, text, sizeof text, &length, &version) == 0);
  CHECK(strcmp(text, "state") == 0 && length == 6 && version == 1);
  memset(text, 0, sizeof text);
  CHECK(svk.svk_subscription_fd_(pull) >= 0);
  CHECK(svk.svk_subscription_next_copy_(pull, 0, text, sizeof text, &length, &version, &dropped) == 0);
  CHECK(strcmp(text, "state") == 0 && length == 6 && version == 1 && dropped == 0);
  CHECK(svk.svk_subscription_next_copy_(pull, 0, text, sizeof text, NULL, NULL, NULL) ==
        constant("SVK_TIMEOUT"));
  CHECK(strcmp(svk.svk_status_name_((svk_status)constant("SVK_TIMEOUT")), "SVK_TIMEOUT") == 0);
  CHECK(svk.svk_last_error_()[0] != 0);
  CHECK(svk.svk_subscription_cancel_(observer) == 0);
  CHECK(svk.svk_subscription_cancel_nowait_(pull) == 0);
  CHECK(svk.svk_service_close_(service) == 0);
  CHECK(svk.svk_stream_destroy_(stream) == 0);
}

static svk_status create(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver;
  *instance = user_data;
  return 0;
}

static void test_a_container(void) {
  svk_container *container = NULL;
  svk_handle *handle = NULL;
  svk_factory_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.create = create;
  options.user_data = &calls;
  CHECK(svk.svk_container_create_(&container) == 0);
  CHECK(svk.svk_register_(container, "key", &options) == 0);
  CHECK(svk.svk_resolve_(container, "key", &handle) == 0);
  CHECK(svk.svk_instance_(handle) == &calls);
  CHECK(svk.svk_release_(handle) == 0);
  CHECK(svk.svk_container_destroy_(container) == 0);
}

/* ---- dlclose ---- */

static int is_nodelete(void) {
  struct link_map *map = NULL;
  if (!CHECK(dlinfo(library, RTLD_DI_LINKMAP, &map) == 0))
    return 0;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_FLAGS_1)
      return (entry->d_un.d_val & DF_1_NODELETE) != 0;
  return 0;
}

static void test_it_stays_after_dlclose(int was_loaded) {
  svk_dispatcher *dispatcher = NULL;
  CHECK(svk.svk_dispatcher_create_(&dispatcher) == 0);
  CHECK(is_nodelete());
  CHECK(dlclose(library) == 0);
  if (!was_loaded) /* else it would stay anyway */
    for (int i = 0; i < 3; i++) {
      void *again = dlopen("libservicekit.so.1", RTLD_NOW | RTLD_NOLOAD);
      CHECK(again != NULL);
      if (again != NULL)
        CHECK(dlclose(again) == 0);
    }
  /* Its code and its data are there still. */
  CHECK(svk.svk_dispatcher_wake_(dispatcher) == 0);
  CHECK(svk.svk_dispatcher_dispatch_(dispatcher, 0, -1, NULL) == 0);
  CHECK(svk.svk_dispatcher_destroy_(dispatcher) == 0);
  library = dlopen("libservicekit.so.1", RTLD_NOW | RTLD_LOCAL);
  CHECK(library != NULL);
  CHECK(svk.svk_dispatcher_destroy_(dispatcher) == constant("SVK_INVALID_HANDLE"));
  test_a_service();
  CHECK(dlclose(library) == 0);
}

int main(void) {
  /* Whether the program was linked so that the loader had it in already. */
  library = dlopen("libservicekit.so.1", RTLD_NOW | RTLD_NOLOAD);
  int was_loaded = library != NULL;
  if (was_loaded)
    dlclose(library);
  library = dlopen("libservicekit.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  test_every_function();
  test_a_service();
  calls = 0;
  test_a_container();
  test_it_stays_after_dlclose(was_loaded);
  if (failures == 0)
    printf("test_dlopen: ok, %d checks\n", checks);
  return failures != 0;
}
