/* No storage grows with the number of resolves, registrations, or containers that came and went. */
#include "factory.h"
#include <malloc.h>

/* Where mallinfo2 tells the truth: not under a sanitizer, nor under valgrind. */
static int can_measure(void) { return !check_slow(); }

static size_t in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/* Runs it often, twice: the second time must not leave more in use than the first. */
static void check_growth(void (*run)(int count), int count, const char *name) {
  count = can_measure() ? count : count / 20;
  run(count / 4 + 1); /* whatever is built up once */
  size_t before = in_use();
  run(count);
  size_t after = in_use();
  if (can_measure() && !CHECK(after <= before + 32768))
    fprintf(stderr, "  %s: %zu bytes in use, then %zu\n", name, before, after);
}

static svk_container *container;
static struct kind kind, low, failing;
static svk_key *key;

static void resolve_cached(int count) {
  for (int i = 0; i < count; i++) {
    svk_handle *handle = NULL;
    if (svk_resolve_key(container, key, &handle) != SVK_OK || svk_release(handle) != SVK_OK)
      CHECK(!"resolve");
  }
}

static void resolve_by_name(int count) {
  for (int i = 0; i < count; i++)
    CHECK_OK(svk_release(RESOLVE(container, "unique")));
}

static void resolve_shared(int count) {
  for (int i = 0; i < count; i++)
    CHECK_OK(svk_release(RESOLVE(container, "shared")));
}

static void resolve_graph(int count) {
  for (int i = 0; i < count; i++)
    CHECK_OK(svk_release(RESOLVE(container, "graph")));
}

static void fail(int count) {
  svk_handle *handle = NULL;
  char name[32];
  for (int i = 0; i < count; i++) {
    CHECK_STATUS(svk_resolve(container, "failing", &handle), SVK_FACTORY_ERROR_BASE);
    CHECK_STATUS(svk_resolve(container, "cyclic", &handle), SVK_CYCLE);
    snprintf(name, sizeof name, "missing-%d", i); /* a name is not kept because somebody asked for it */
    CHECK_STATUS(svk_resolve(container, name, &handle), SVK_NOT_FOUND);
    CHECK_STATUS(svk_unregister(container, name), SVK_NOT_FOUND);
    CHECK_STATUS(svk_release(NULL), SVK_INVALID_HANDLE);
  }
}

static void register_again(int count) {
  for (int i = 0; i < count; i++) {
    CHECK_OK(kind_register(container, "again", &kind, SVK_SCOPE_CACHED));
    CHECK_OK(kind_register_for(container, "again", "test", &kind, SVK_SCOPE_CACHED));
    CHECK(kind_of(container, "again") == &kind);
    CHECK_OK(svk_unregister(container, "again"));
  }
}

static void reset_again(int count) {
  for (int i = 0; i < count; i++) {
    CHECK(kind_of(container, "cached") == &kind);
    CHECK_OK(svk_reset(container, "cached", SVK_RESET_SCOPES));
  }
}

static void with_parameters(int count) {
  for (int i = 0; i < count; i++) {
    svk_handle *handle = NULL;
    CHECK_OK(svk_resolve_with(container, "by-parameter", &i, sizeof i, &handle));
    CHECK_OK(svk_release(handle));
    if (i % 100 == 99)
      CHECK_OK(svk_reset(container, "by-parameter", SVK_RESET_SCOPES));
  }
  CHECK_OK(svk_reset(container, "by-parameter", SVK_RESET_SCOPES));
}

/* Shared ones that end with their last lease leave nothing behind, not even their parameter. */
static void shared_with_parameters(int count) {
  for (int i = 0; i < count; i++) {
    svk_handle *handle = NULL;
    CHECK_OK(svk_resolve_with(container, "shared-by-parameter", &i, sizeof i, &handle));
    CHECK_OK(svk_release(handle));
  }
}

static void pin_again(int count) {
  for (int i = 0; i < count; i++) {
    void *instance = NULL;
    CHECK_OK(svk_pin(container, "cached", &instance));
  }
}

static void push_and_pop(int count) {
  for (int i = 0; i < count; i++) {
    CHECK_OK(svk_container_push(container));
    CHECK_OK(kind_register(container, "pushed", &kind, SVK_SCOPE_CACHED));
    CHECK(kind_of(container, "pushed") == &kind);
    CHECK_OK(svk_container_pop(container));
  }
}

static void ignore_decorator(void *instance, const char *name, int32_t is_new, void *user_data) {
  (void)instance, (void)name, (void)is_new, (void)user_data;
}
static void ignore_trace(const svk_trace_event *event, void *user_data) { (void)event, (void)user_data; }

static void decorate_and_trace(int count) {
  for (int i = 0; i < count; i++) {
    CHECK_OK(svk_decorate(container, "cached", ignore_decorator, NULL, NULL));
    CHECK_OK(svk_decorate(container, NULL, ignore_decorator, NULL, NULL));
    CHECK_OK(svk_container_set_trace(container, ignore_trace, NULL, NULL));
    CHECK(kind_of(container, "cached") == &kind);
    CHECK_OK(svk_decorate(container, "cached", NULL, NULL, NULL));
    CHECK_OK(svk_decorate(container, NULL, NULL, NULL, NULL));
    CHECK_OK(svk_container_set_trace(container, NULL, NULL, NULL));
  }
}

static void containers(int count) {
  for (int i = 0; i < count; i++) {
    svk_container *one = new_container(), *child = new_child(one);
    CHECK_OK(kind_register(one, "low", &low, SVK_SCOPE_CACHED));
    CHECK_OK(kind_register(child, "kind", &kind, SVK_SCOPE_SHARED));
    svk_handle *handle = RESOLVE(child, "kind");
    CHECK(kind_of(child, "low") == &low);
    CHECK_OK(svk_container_destroy(i % 2 ? one : child));
    CHECK_OK(svk_container_destroy(i % 2 ? child : one));
    CHECK_OK(svk_release(handle));
  }
}

/* A parent that lives long, with children that do not. */
static void children(int count) {
  for (int i = 0; i < count; i++) {
    svk_container *child = new_child(container);
    CHECK(kind_of(child, "cached") == &kind);
    CHECK_OK(svk_release(RESOLVE(child, "unique")));
    CHECK_OK(svk_container_destroy(child));
  }
}

static void custom_scopes(int count) {
  for (int i = 0; i < count; i++) {
    svk_scope *scope = NULL;
    CHECK_OK(svk_scope_create("scope", &scope));
    svk_factory_options options = kind_options(&kind, SVK_SCOPE_CUSTOM);
    options.custom_scope = scope;
    CHECK_OK(kind_register_with(container, "custom", NULL, &options));
    CHECK(kind_of(container, "custom") == &kind);
    CHECK_OK(svk_scope_reset(scope));
    CHECK_OK(svk_scope_destroy(scope));
  }
}

static void singletons(int count) {
  for (int i = 0; i < count; i++) {
    CHECK(kind_of(container, "single") == &kind);
    CHECK_OK(svk_singleton_reset(i % 2 ? "single" : NULL));
  }
}

static void resolve_in_thread(int index, void *argument) {
  (void)index, (void)argument;
  svk_handle *handle = NULL;
  CHECK_OK(svk_release(RESOLVE(container, "cached")));
  CHECK_OK(svk_release(RESOLVE(container, "unique")));
  CHECK_STATUS(svk_resolve(container, "not-there", &handle), SVK_NOT_FOUND);
}

/* Threads that come and go. Their stacks are kept by the C library, so a few at first. */
static void threads(int count) {
  for (int i = 0; i < count; i++)
    run_threads(2, resolve_in_thread, NULL);
}

/* Threads that leave handles behind, for others to release. */
static svk_handle *left_behind[2][20];
static void resolve_and_leave(int index, void *argument) {
  (void)argument;
  for (int i = 0; i < 20; i++)
    left_behind[index][i] = RESOLVE(container, i % 2 ? "cached" : "shared");
}

static void threads_that_leave(int count) {
  for (int i = 0; i < count; i++) {
    run_threads(2, resolve_and_leave, NULL);
    for (int n = 0; n < 40; n++)
      CHECK_OK(svk_release(left_behind[n % 2][n / 2]));
  }
}

static void describe(int count) {
  for (int i = 0; i < count; i++) {
    size_t needed = 0;
    CHECK_STATUS(svk_container_describe(container, i % 3, NULL, 0, &needed), SVK_BUFFER_TOO_SMALL);
    svk_container_validate(container);
  }
}

static void test_growth(void) {
  static struct kind cyclic = { .needs = { "cyclic" } }, graph = { .needs = { "low-graph", "low-graph" } },
                     leaf;
  container = new_container();
  failing.answer = SVK_FACTORY_ERROR_BASE;
  MUST_OK(kind_register(container, "cached", &kind, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "unique", &kind, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "shared", &kind, SVK_SCOPE_SHARED));
  MUST_OK(kind_register(container, "single", &kind, SVK_SCOPE_SINGLETON));
  MUST_OK(kind_register(container, "failing", &failing, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "cyclic", &cyclic, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "graph", &graph, SVK_SCOPE_GRAPH));
  MUST_OK(kind_register(container, "low-graph", &leaf, SVK_SCOPE_GRAPH));
  svk_factory_options options = kind_options(&kind, SVK_SCOPE_CACHED);
  options.flags = SVK_FACTORY_CACHE_BY_PARAMETER;
  MUST_OK(kind_register_with(container, "by-parameter", NULL, &options));
  options.scope = SVK_SCOPE_SHARED;
  MUST_OK(kind_register_with(container, "shared-by-parameter", NULL, &options));
  MUST_OK(svk_key_intern("cached", &key));
#define CHECK_GROWTH(run, count) check_growth(run, count, #run)
  CHECK_GROWTH(resolve_cached, 1000000);
  CHECK_GROWTH(resolve_by_name, 100000);
  CHECK_GROWTH(resolve_shared, 100000);
  CHECK_GROWTH(resolve_graph, 30000);
  CHECK_GROWTH(fail, 30000);
  CHECK_GROWTH(register_again, 20000);
  CHECK_GROWTH(reset_again, 50000);
  CHECK_GROWTH(with_parameters, 20000);
  CHECK_GROWTH(shared_with_parameters, 20000);
  CHECK_GROWTH(pin_again, 20000);
  CHECK_GROWTH(push_and_pop, 10000);
  CHECK_GROWTH(decorate_and_trace, 20000);
  CHECK_GROWTH(containers, 10000);
  CHECK_GROWTH(children, 10000);
  CHECK_GROWTH(custom_scopes, 10000);
  CHECK_GROWTH(singletons, 20000);
  CHECK_GROWTH(threads, 1000);
  CHECK_GROWTH(threads_that_leave, 1000);
  CHECK_GROWTH(describe, 3000);
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_singleton_reset(NULL));
  CHECK_EQ(kind.built, kind.destroyed);
  CHECK_EQ(kind.registered, kind.freed);
}

int main(void) {
  RUN(test_growth);
  return check_done();
}
