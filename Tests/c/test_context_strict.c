/* Strict: no test reaches a live service by accident. */
#include "factory.h"

static void check_missing(svk_container *container, const char *key) {
  svk_handle *handle = (svk_handle *)container;
  CHECK_STATUS(svk_resolve(container, key, &handle), SVK_CONTEXT_MISSING);
  CHECK(handle == NULL);
  CHECK_STR(svk_last_error(), key);
  svk_key *interned = NULL;
  CHECK_OK(svk_key_intern(key, &interned));
  handle = (svk_handle *)container;
  CHECK_STATUS(svk_resolve_key(container, interned, &handle), SVK_CONTEXT_MISSING);
  CHECK(handle == NULL);
  CHECK_STATUS(svk_resolve_with(container, key, "p", 1, &handle), SVK_CONTEXT_MISSING);
  void *pinned = container;
  CHECK_STATUS(svk_pin(container, key, &pinned), SVK_CONTEXT_MISSING);
  CHECK(pinned == NULL);
}

static void test_refused(void) {
  svk_container *container = new_container();
  struct kind plain = { .name = NULL }, live = { .name = NULL }, test = { .name = NULL };
  MUST_OK(kind_register(container, "key", &plain, SVK_SCOPE_CACHED));
  MUST_OK(kind_register_for(container, "key", "live", &live, SVK_SCOPE_CACHED));
  CHECK_OK(svk_container_set_strict(container, 1));
  CHECK(kind_of(container, "key") == &live); /* `test` is not active */
  CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
  CHECK_OK(svk_container_set_contexts(container, "test"));
  check_missing(container, "key");
  CHECK_OK(svk_container_set_contexts(container, "live,test")); /* active in whichever place */
  check_missing(container, "key");
  CHECK_EQ(plain.asked, 0);
  CHECK_EQ(live.asked, 1);
  CHECK_OK(svk_container_set_strict(container, 0));
  CHECK(kind_of(container, "key") == &live);
  CHECK_OK(svk_container_set_strict(container, -5)); /* anything else than 0 is yes */
  CHECK_OK(svk_container_set_contexts(container, "test"));
  check_missing(container, "key");
  MUST_OK(kind_register_for(container, "key", "test", &test, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &test);
  svk_handle *handle = NULL;
  CHECK_STATUS(svk_resolve(container, "nothing", &handle), SVK_NOT_FOUND); /* no registration at all */
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&test, 1);
  CHECK_EQ(live.built, live.destroyed);
}

/* An instance that was cached before is no way around it. */
static void test_what_is_cached(void) {
  svk_container *container = new_container();
  struct kind plain = { .name = NULL }, test = { .name = NULL };
  MUST_OK(kind_register(container, "key", &plain, SVK_SCOPE_CACHED));
  svk_handle *held = RESOLVE(container, "key");
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK(kind_of(container, "key") == &plain);
  CHECK_OK(svk_container_set_strict(container, 1));
  check_missing(container, "key");
  MUST_OK(kind_register_for(container, "key", "test", &test, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &test); /* the other one has retired */
  CHECK(kind_of(container, "key") == &test);
  CHECK_EQ(test.built, 1);
  struct instance *instance = svk_instance(held);
  CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
  CHECK_OK(svk_release(held));
  CHECK_EQ(plain.destroyed, 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&test, 1);
}

static void test_requirements(void) {
  svk_container *container = new_container();
  struct kind low = { .name = NULL }, low_test = { .name = NULL }, high = { .needs = { "low" } };
  svk_handle *handle = NULL;
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register_for(container, "high", "test", &high, SVK_SCOPE_CACHED));
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK_OK(svk_container_set_strict(container, 1));
  CHECK_STATUS(svk_resolve(container, "high", &handle), SVK_CONTEXT_MISSING);
  CHECK_STR(svk_last_error(), "low");
  CHECK_EQ(low.asked, 0);
  MUST_OK(kind_register_for(container, "low", "test", &low_test, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "high") == &high);
  CHECK_EQ(low_test.built, 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&low, 0);
}

/* A `test` registration anywhere up the chain will do; and children follow unless they set their own. */
static void test_parents(void) {
  svk_container *root = new_container(), *middle = new_child(root), *leaf = new_child(middle);
  struct kind root_test = { .name = NULL }, leaf_plain = { .name = NULL }, only_plain = { .name = NULL };
  MUST_OK(kind_register_for(root, "key", "test", &root_test, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(leaf, "only-plain", &only_plain, SVK_SCOPE_CACHED));
  CHECK_OK(svk_container_set_contexts(root, "test"));
  CHECK_OK(svk_container_set_strict(root, 1));
  CHECK(kind_of(leaf, "key") == &root_test);
  check_missing(leaf, "only-plain");
  CHECK_OK(svk_container_set_strict(middle, 0));
  CHECK(kind_of(leaf, "only-plain") == &only_plain);
  CHECK_OK(svk_container_set_strict(leaf, 1));
  check_missing(leaf, "only-plain");
  CHECK_OK(svk_container_set_strict(leaf, 0));
  CHECK(kind_of(leaf, "only-plain") == &only_plain);
  /* A plain registration nearer than the `test` one above: the chain has one, so it is not refused. */
  CHECK_OK(svk_container_set_strict(leaf, 1));
  MUST_OK(kind_register(leaf, "key", &leaf_plain, SVK_SCOPE_CACHED));
  svk_handle *handle = NULL;
  CHECK_OK(svk_resolve(leaf, "key", &handle));
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_container_destroy(leaf));
  CHECK_OK(svk_container_destroy(middle));
  CHECK_OK(svk_container_destroy(root));
}

/* Pushed and popped with the other settings. */
static void test_push(void) {
  svk_container *container = new_container();
  struct kind plain = { .name = NULL };
  MUST_OK(kind_register(container, "key", &plain, SVK_SCOPE_CACHED));
  CHECK_OK(svk_container_push(container));
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK_OK(svk_container_set_strict(container, 1));
  check_missing(container, "key");
  CHECK_OK(svk_container_pop(container));
  CHECK(kind_of(container, "key") == &plain);
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK(kind_of(container, "key") == &plain);
  CHECK_OK(svk_container_destroy(container));
}

int main(void) {
  RUN(test_refused);
  RUN(test_what_is_cached);
  RUN(test_requirements);
  RUN(test_parents);
  RUN(test_push);
  return check_done();
}
