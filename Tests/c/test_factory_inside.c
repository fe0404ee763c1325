/* From inside a factory, a decorator, a destroy, a free, a trace or a log function every function may be
 * called. */
#include "factory.h"

/* Everything that can be called on a container, on one that is in the middle of something, and on a new one.
 */
static struct kind scratch;
static _Atomic int calls;

static void ignore_log(int32_t level, const char *message, void *user_data) {
  (void)level, (void)user_data;
  CHECK(message != NULL);
}

static void ignore_trace(const svk_trace_event *event, void *user_data) {
  (void)user_data;
  CHECK(event != NULL);
}

static void ignore_decorator(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)is_new, (void)user_data;
  CHECK(instance != NULL && key != NULL);
}

static void use_container(svk_container *container) {
  svk_handle *handle = NULL;
  svk_key *key = NULL;
  void *instance = NULL;
  char text[16];
  size_t needed = 0;
  CHECK_OK(kind_register(container, "scratch", &scratch, SVK_SCOPE_CACHED));
  CHECK_OK(kind_register_for(container, "scratch", "test", &scratch, SVK_SCOPE_CACHED));
  handle = RESOLVE(container, "scratch");
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_key_intern("scratch", &key));
  CHECK_OK(svk_resolve_key(container, key, &handle));
  CHECK_OK(svk_release(handle));
  CHECK_STATUS(svk_release(handle), SVK_INVALID_HANDLE);
  CHECK_OK(svk_resolve_with(container, "scratch", "p", 1, &handle));
  CHECK_OK(svk_release(handle));
  CHECK_STATUS(svk_resolve_typed(container, "scratch", "type", &handle), SVK_TYPE_MISMATCH);
  CHECK_STATUS(svk_resolve(container, "nothing", &handle), SVK_NOT_FOUND);
  CHECK_OK(svk_pin(container, "scratch", &instance));
  CHECK_OK(svk_decorate(container, "scratch", ignore_decorator, NULL, NULL));
  CHECK_OK(svk_decorate(container, "scratch", NULL, NULL, NULL));
  CHECK_OK(svk_container_push(container));
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK_OK(svk_container_set_strict(container, 1));
  CHECK_OK(svk_container_set_default_scope(container, SVK_SCOPE_CACHED));
  svk_container_validate(container);
  for (int32_t format = SVK_FORMAT_TEXT; format <= SVK_FORMAT_DOT; format++)
    CHECK_STATUS(svk_container_describe(container, format, text, sizeof text, &needed), SVK_BUFFER_TOO_SMALL);
  CHECK_OK(svk_container_pop(container));
  CHECK_OK(svk_container_set_contexts(container, NULL));
  CHECK_OK(svk_container_set_strict(container, 0));
  CHECK_OK(svk_reset(container, "scratch", SVK_RESET_SCOPES));
  CHECK_OK(svk_unregister(container, "scratch"));
  svk_container *child = new_child(container);
  CHECK_OK(kind_register(child, "of-child", &scratch, SVK_SCOPE_SHARED));
  handle = RESOLVE(child, "of-child");
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_release(handle));
}

static void use_everything(svk_container *container) {
  if (atomic_fetch_add(&calls, 1) > 200)
    return; /* these calls call back, too */
  svk_scope *scope = NULL;
  int64_t value = 0;
  use_container(container);
  svk_container *other = new_container();
  use_container(other);
  CHECK_OK(svk_container_destroy(other));
  CHECK_OK(svk_scope_create("scope", &scope));
  CHECK_OK(svk_scope_reset(scope));
  CHECK_OK(svk_scope_destroy(scope));
  CHECK_STATUS(svk_singleton_reset("no-such-singleton"), SVK_NOT_FOUND);
  CHECK_OK(svk_constant("SVK_OK", &value));
  CHECK(svk_container_shared() != NULL);
  CHECK_STATUS(svk_container_destroy(svk_container_shared()), SVK_INVALID_ARGUMENT);
  CHECK_OK(svk_container_reset(svk_container_shared(), SVK_RESET_ALL));
  CHECK(svk_last_error()[0] != 0);
}

static svk_status everything_on_create(svk_resolver *resolver, struct kind *kind) {
  CHECK(svk_resolver_container(resolver) == kind->context);
  use_everything(kind->context);
  CHECK(svk_resolver_container(resolver) == kind->context); /* the resolver is still good */
  return SVK_OK;
}

static void everything_on_destroy(struct instance *instance) { use_everything(instance->kind->context); }

static void everything_decorator(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)instance, (void)is_new;
  if (strcmp(key, "key") == 0)
    use_everything(user_data);
}

static void everything_trace(const svk_trace_event *event, void *user_data) {
  if (strcmp(event->key, "key") == 0)
    use_everything(user_data);
}

static _Atomic int logging;

static void everything_log(int32_t level, const char *message, void *user_data) {
  (void)level, (void)message;
  if (atomic_exchange(&logging, 1) == 0) {
    use_everything(user_data);
    atomic_store(&logging, 0);
  }
}

static void everything_free(void *user_data) { use_everything(*(svk_container **)user_data); }

static void test_in(int where, int32_t scope) {
  memset(&scratch, 0, sizeof scratch);
  atomic_store(&calls, 0);
  svk_container *container = new_container();
  struct kind kind = { .context = container };
  if (where == 0)
    kind.on_create = everything_on_create;
  if (where == 1)
    kind.on_destroy = everything_on_destroy;
  if (where == 2)
    CHECK_OK(svk_decorate(container, NULL, everything_decorator, container, NULL));
  if (where == 3)
    CHECK_OK(svk_container_set_trace(container, everything_trace, container, NULL));
  if (where == 4)
    CHECK_OK(svk_set_log(everything_log, SVK_LOG_DEBUG, container, NULL));
  MUST_OK(kind_register(container, "key", &kind, scope));
  svk_handle *handle = RESOLVE(container, "key");
  CHECK(kind_of(container, "key") == &kind);
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
  if (scope == SVK_SCOPE_SINGLETON)
    CHECK_OK(svk_singleton_reset("key"));
  CHECK_EQ(kind_alive(&kind), 0);
  if (where < 4)
    CHECK(calls > 0);
  CHECK(kind_of(container, "key") == &kind);
  if (scope == SVK_SCOPE_SINGLETON)
    CHECK_OK(svk_singleton_reset(NULL));
  atomic_store(&calls, 1000); /* the end of the container itself is for test_teardown_inside.c */
  CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(kind.built, kind.destroyed);
  CHECK_EQ(kind.freed, 1);
  CHECK_EQ(scratch.built, scratch.destroyed);
  CHECK_EQ(scratch.registered, scratch.freed);
}

static void test_in_each_scope(int where) {
  for (int32_t scope = SVK_SCOPE_UNIQUE; scope <= SVK_SCOPE_GRAPH; scope++)
    test_in(where, scope);
}
static void test_factory(void) { test_in_each_scope(0); }
static void test_destroy(void) { test_in_each_scope(1); }
static void test_decorator(void) { test_in_each_scope(2); }
static void test_trace(void) { test_in_each_scope(3); }
static void test_log(void) { test_in_each_scope(4); }

/* In each user_data_free that the library calls. */
static void test_free(void) {
  memset(&scratch, 0, sizeof scratch);
  atomic_store(&calls, 0);
  svk_container *container = new_container();
  struct kind plain = { .name = NULL };
  svk_container **box = &container;
  CHECK_OK(svk_decorate(container, "a", ignore_decorator, box, everything_free));
  CHECK_OK(svk_decorate(container, "a", NULL, NULL, NULL));
  CHECK_EQ(calls, 1);
  CHECK_OK(svk_decorate(container, NULL, ignore_decorator, box, everything_free));
  CHECK_OK(svk_decorate(container, NULL, ignore_decorator, NULL, NULL));
  CHECK_EQ(calls, 2);
  CHECK_OK(svk_container_set_trace(container, ignore_trace, box, everything_free));
  CHECK_OK(svk_container_set_trace(container, NULL, NULL, NULL));
  CHECK_EQ(calls, 3);
  CHECK_OK(svk_set_log(ignore_log, SVK_LOG_DEBUG, box, everything_free));
  CHECK_OK(svk_set_log(NULL, SVK_LOG_DEBUG, NULL, NULL));
  CHECK_EQ(calls, 4);
  svk_factory_options options = kind_options(&plain, SVK_SCOPE_CACHED);
  options.user_data = box;
  options.user_data_free = everything_free;
  CHECK_OK(svk_register(container, "b", &options));
  CHECK_OK(svk_unregister(container, "b"));
  CHECK_EQ(calls, 5);
  CHECK_OK(svk_register_for(container, "b", "test", &options));
  CHECK_OK(svk_container_reset(container, SVK_RESET_CONTEXTS));
  CHECK_EQ(calls, 6);
  CHECK_OK(svk_container_push(container));
  CHECK_OK(svk_register(container, "b", &options));
  CHECK_OK(svk_container_pop(container));
  CHECK_EQ(calls, 7);
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(scratch.built, scratch.destroyed);
  CHECK_EQ(scratch.registered, scratch.freed);
}

/* svk_resolve in a factory: its handle is the factory's own. */
static svk_handle *kept_by_factory;

static svk_status resolve_by_hand(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  kept_by_factory = RESOLVE(svk_resolver_container(resolver), "low");
  return SVK_OK;
}

static void test_resolve_in_a_factory(void) {
  svk_container *container = new_container();
  struct kind low = { .name = "low" }, high = { .name = "high", .on_create = resolve_by_hand };
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "high", &high, SVK_SCOPE_UNIQUE));
  journal_clear();
  svk_handle *handle = RESOLVE(container, "high");
  CHECK_OK(svk_release(handle));
  CHECK_JOURNAL("+low +high -high ");
  CHECK_OK(svk_release(kept_by_factory));
  CHECK_JOURNAL("+low +high -high -low ");
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&low, 1);
}

/* The resolver outside its factory, and on another thread. */
static svk_resolver *stolen;
static void use_stolen(int index, void *argument) {
  (void)index, (void)argument;
  void *instance = &stolen;
  const void *data = &stolen;
  size_t size = 5;
  CHECK_STATUS(svk_require(stolen, "low", &instance), SVK_INVALID_HANDLE);
  CHECK(instance == NULL);
  instance = &stolen;
  CHECK_STATUS(svk_require_with(stolen, "low", "p", 1, &instance), SVK_INVALID_HANDLE);
  CHECK(instance == NULL);
  CHECK_STATUS(svk_resolver_parameter(stolen, &data, &size), SVK_INVALID_HANDLE);
  CHECK(data == NULL && size == 0);
  CHECK(svk_resolver_container(stolen) == NULL);
}

static svk_status hand_to_a_thread(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  CHECK(stolen == NULL || stolen != resolver); /* a token of its own each time */
  stolen = resolver;
  run_threads(1, use_stolen, NULL);
  void *instance = NULL;
  CHECK_OK(svk_require(resolver, "low", &instance));
  return SVK_OK;
}

static svk_status keep_resolver(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  use_stolen(0, NULL); /* that of the last one */
  stolen = resolver;
  return SVK_OK;
}

/* The outer factory's resolver, used by the inner one on the same thread: it is still the outer's. */
static svk_status use_outer(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  CHECK(resolver != stolen);
  return SVK_OK;
}

static svk_status lend_to_inner(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  stolen = resolver;
  void *instance = NULL;
  CHECK_OK(svk_require(resolver, "inner", &instance));
  CHECK(svk_resolver_container(resolver) != NULL);
  return SVK_OK;
}

static void test_resolvers(void) {
  svk_container *container = new_container();
  stolen = NULL;
  struct kind low = { .name = NULL }, on_thread = { .on_create = hand_to_a_thread },
              keeper = { .on_create = keep_resolver }, inner = { .on_create = use_outer },
              outer = { .on_create = lend_to_inner };
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "on-thread", &on_thread, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "keeper", &keeper, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "inner", &inner, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "outer", &outer, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "on-thread") == &on_thread);
  use_stolen(0, NULL);
  for (int i = 0; i < 1000; i++) {
    CHECK(kind_of(container, "keeper") == &keeper);
    use_stolen(0, NULL);
  }
  CHECK(kind_of(container, "outer") == &outer);
  use_stolen(0, NULL);
  CHECK_OK(svk_container_destroy(container));
  use_stolen(0, NULL);
  CHECK_GONE(&low, 1);
}

/* Resolving in a destroy: another key, and one's own, which is then built anew or refused, but never hangs.
 */
static void resolve_on_destroy(struct instance *instance) {
  svk_container *container = instance->kind->context;
  if (instance->kind->destroyed > 3)
    return;
  svk_handle *handle = NULL;
  if (CHECK_OK(svk_resolve(container, "low", &handle)))
    CHECK_OK(svk_release(handle));
  if (svk_resolve(container, "key", &handle) == SVK_OK) {
    CHECK(svk_instance(handle) != (void *)instance);
    CHECK_OK(svk_release(handle));
  }
}

static void test_resolve_in_destroy(void) {
  svk_container *container = new_container();
  struct kind low = { .name = NULL }, kind = { .on_destroy = resolve_on_destroy, .context = container };
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  for (int i = 0; i < 3; i++) {
    CHECK(kind_of(container, "key") == &kind);
    CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
  }
  kind.on_destroy = NULL;
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(kind.built, kind.destroyed);
  CHECK_GONE(&low, 1);
}

int main(void) {
  RUN(test_factory);
  RUN(test_destroy);
  RUN(test_decorator);
  RUN(test_trace);
  RUN(test_log);
  RUN(test_free);
  RUN(test_resolve_in_a_factory);
  RUN(test_resolvers);
  RUN(test_resolve_in_destroy);
  return check_done();
}
