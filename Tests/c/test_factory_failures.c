/* What a factory may answer, what becomes of it, and that a failure leaves nothing behind. */
#include "factory.h"

static const int32_t all_scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED,
                                      SVK_SCOPE_SINGLETON, SVK_SCOPE_GRAPH };
enum { ALL_SCOPES = sizeof all_scopes / sizeof *all_scopes };

/* Resolves in every way; all of them fail with that. */
static void check_fails(svk_container *container, const char *key, svk_status expected) {
  struct kind any;
  svk_handle *handle = (svk_handle *)&any;
  CHECK_STATUS(svk_resolve(container, key, &handle), expected);
  CHECK(handle == NULL);
  CHECK_STR(svk_last_error(), key);
  handle = (svk_handle *)&any;
  CHECK_STATUS(svk_resolve_with(container, key, "p", 1, &handle), expected);
  CHECK(handle == NULL);
  svk_key *interned = NULL;
  CHECK_OK(svk_key_intern(key, &interned));
  handle = (svk_handle *)&any;
  CHECK_STATUS(svk_resolve_key(container, interned, &handle), expected);
  CHECK(handle == NULL);
}

static void test_what_a_factory_answers(svk_status answer, svk_status expected) {
  for (int i = 0; i < ALL_SCOPES; i++) {
    svk_container *container = new_container();
    struct kind kind = { .answer = answer }, middle = { .needs = { "kind" } },
                top = { .needs = { "middle" } };
    MUST_OK(kind_register(container, "kind", &kind, all_scopes[i]));
    MUST_OK(kind_register(container, "middle", &middle, all_scopes[i]));
    MUST_OK(kind_register(container, "top", &top, all_scopes[i]));
    check_fails(container, "kind", expected);
    check_fails(container, "kind", expected);
    CHECK_EQ(kind.asked, 6); /* nothing is cached, failures neither */
    /* Through two more factories, unchanged. */
    check_fails(container, "middle", expected);
    check_fails(container, "top", expected);
    CHECK_EQ(kind.asked, 12);
    CHECK_EQ(top.asked, 3);
    /* And as soon as it can, it works. */
    atomic_store(&kind.answer, SVK_OK);
    CHECK(kind_of(container, "top") == &top);
    CHECK(kind_of(container, "kind") == &kind);
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_EQ(kind.destroyed, kind.built);
    CHECK_EQ(kind.freed, 1);
    CHECK_GONE(&middle, 1);
    CHECK_GONE(&top, 1);
  }
}

static void test_own_statuses(void) {
  static const svk_status own[] = { SVK_FACTORY_ERROR_BASE, SVK_FACTORY_ERROR_BASE + 1, 54321, INT32_MAX };
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    test_what_a_factory_answers(own[i], own[i]);
}

static void test_statuses_of_the_library(void) {
  for (svk_status status = SVK_INVALID_ARGUMENT; status <= SVK_SYSTEM_ERROR; status++)
    if (status != SVK_DEFERRED) /* no failure of the library */
      test_what_a_factory_answers(status, status);
}

static void test_garbage(void) {
  static const svk_status garbage[] = { -1, INT32_MIN, SVK_SYSTEM_ERROR + 1, 42, SVK_FACTORY_ERROR_BASE - 1 };
  for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++)
    test_what_a_factory_answers(garbage[i], SVK_FACTORY_FAILED);
}

static void test_success_without_an_instance(void) {
  for (int i = 0; i < ALL_SCOPES; i++) {
    svk_container *container = new_container();
    struct kind kind = { .gives_null = 1 };
    MUST_OK(kind_register(container, "kind", &kind, all_scopes[i]));
    check_fails(container, "kind", SVK_FACTORY_FAILED);
    kind.gives_null = 0;
    CHECK(kind_of(container, "kind") == &kind);
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_GONE(&kind, 1);
  }
}

static void test_deferred_is_no_success(void) {
  svk_container *container = new_container();
  struct kind kind = { .answer = SVK_DEFERRED };
  svk_handle *handle = NULL;
  MUST_OK(kind_register(container, "kind", &kind, SVK_SCOPE_CACHED));
  CHECK(svk_resolve(container, "kind", &handle) != SVK_OK);
  CHECK(handle == NULL);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 0);
}

/* A failed factory keeps what it put in *instance. */
static int mine;

static svk_status fail_with_instance(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver;
  *instance = &mine;
  return *(svk_status *)user_data;
}

static void never(void *instance, void *user_data) {
  (void)instance, (void)user_data;
  CHECK(!"destroy is not called");
}

static void test_a_failed_factory_keeps_its_instance(void) {
  static svk_status answers[] = { SVK_FACTORY_ERROR_BASE + 7, SVK_NOT_FOUND, -5 };
  static const svk_status expected[] = { SVK_FACTORY_ERROR_BASE + 7, SVK_NOT_FOUND, SVK_FACTORY_FAILED };
  for (int i = 0; i < 3; i++) {
    svk_container *container = new_container();
    svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
    options.create = fail_with_instance;
    options.destroy = never;
    options.user_data = &answers[i];
    options.scope = SVK_SCOPE_CACHED;
    MUST_OK(svk_register(container, "kind", &options));
    svk_handle *handle = (svk_handle *)&mine;
    CHECK_STATUS(svk_resolve(container, "kind", &handle), expected[i]);
    CHECK(handle == NULL);
    void *pinned = &mine;
    CHECK_STATUS(svk_pin(container, "kind", &pinned), expected[i]);
    CHECK(pinned == NULL);
    CHECK_OK(svk_container_destroy(container));
  }
}

/* What was required before the failure is released before the resolve answers. */
static void test_what_it_required_is_released(void) {
  svk_container *container = new_container();
  struct kind unique = { .name = "unique" }, shared = { .name = "shared" }, cached = { .name = "cached" };
  struct kind failing = { .needs = { "unique", "shared", "cached" }, .answer = SVK_FACTORY_ERROR_BASE };
  MUST_OK(kind_register(container, "unique", &unique, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "shared", &shared, SVK_SCOPE_SHARED));
  MUST_OK(kind_register(container, "cached", &cached, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "failing", &failing, SVK_SCOPE_CACHED));
  svk_handle *handle = NULL;
  for (int i = 1; i <= 3; i++) {
    CHECK_STATUS(svk_resolve(container, "failing", &handle), SVK_FACTORY_ERROR_BASE);
    CHECK_EQ(unique.built, i);
    CHECK_EQ(unique.destroyed, i);
    CHECK_EQ(shared.built, i);
    CHECK_EQ(shared.destroyed, i);
    CHECK_EQ(cached.built, 1);
    CHECK_EQ(cached.destroyed, 0);
  }
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&failing, 0);
  CHECK_GONE(&unique, 3);
  CHECK_GONE(&shared, 3);
  CHECK_GONE(&cached, 1);
}

/* A dependency that cannot be had need not be the end. */
static svk_status go_on_without(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  void *instance = kind;
  CHECK_STATUS(svk_require(resolver, "no-such-key", &instance), SVK_NOT_FOUND);
  CHECK(instance == NULL);
  CHECK_STR(svk_last_error(), "no-such-key");
  CHECK_STATUS(svk_require(resolver, "failing", &instance), SVK_FACTORY_ERROR_BASE + 1);
  CHECK_STATUS(svk_require(resolver, "failing", NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_require(resolver, "kind", &instance), SVK_CYCLE);
  return SVK_OK;
}

static void test_to_go_on_without(void) {
  svk_container *container = new_container();
  struct kind kind = { .on_create = go_on_without }, failing = { .answer = SVK_FACTORY_ERROR_BASE + 1 };
  MUST_OK(kind_register(container, "kind", &kind, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "failing", &failing, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "kind") == &kind);
  CHECK(kind_of(container, "kind") == &kind);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 1);
  CHECK_GONE(&failing, 0);
}

/* Concurrent first resolves of a factory that fails: all get that failure, and all of them at last an
 * instance. */
struct storm {
  svk_container *container;
  struct kind kind;
  _Atomic int failures;
};

static void resolve_failing(int index, void *argument) {
  (void)index;
  struct storm *storm = argument;
  svk_handle *handle = NULL;
  svk_status status = svk_resolve(storm->container, "kind", &handle);
  if (status == SVK_OK) {
    CHECK_OK(svk_release(handle));
  } else {
    CHECK_EQ(status, SVK_FACTORY_ERROR_BASE + 3);
    CHECK(handle == NULL);
    CHECK_STR(svk_last_error(), "kind");
    atomic_fetch_add(&storm->failures, 1);
  }
}

static void test_concurrent_failures(void) {
  enum { THREADS = 8 };
  for (int i = 0; i < iterations(200); i++) {
    struct storm storm = { .container = new_container(), .kind = { .answer = SVK_FACTORY_ERROR_BASE + 3 } };
    MUST_OK(kind_register(storm.container, "kind", &storm.kind, SVK_SCOPE_CACHED));
    run_threads(THREADS, resolve_failing, &storm);
    CHECK_EQ(storm.failures, THREADS);
    CHECK(storm.kind.asked >= 1 && storm.kind.asked <= THREADS);
    atomic_store(&storm.kind.answer, SVK_OK);
    run_threads(THREADS, resolve_failing, &storm);
    CHECK_EQ(storm.failures, THREADS);
    CHECK_OK(svk_container_destroy(storm.container));
    CHECK_GONE(&storm.kind, 1);
  }
}

int main(void) {
  RUN(test_own_statuses);
  RUN(test_statuses_of_the_library);
  RUN(test_garbage);
  RUN(test_success_without_an_instance);
  RUN(test_deferred_is_no_success);
  RUN(test_a_failed_factory_keeps_its_instance);
  RUN(test_what_it_required_is_released);
  RUN(test_to_go_on_without);
  RUN(test_concurrent_failures);
  return check_done();
}
