/* svk_resolve_typed: a check before a pointer is cast. */
#include "factory.h"

static svk_status typed(svk_container *container, const char *key, const char *type, struct kind *expected) {
  svk_handle *handle = (svk_handle *)container;
  svk_status status = svk_resolve_typed(container, key, type, &handle);
  if (status != SVK_OK) {
    CHECK(handle == NULL);
    return status;
  }
  struct instance *instance = svk_instance(handle);
  CHECK(instance != NULL && instance->kind == expected);
  CHECK_OK(svk_release(handle));
  return status;
}

static void register_typed(svk_container *container, const char *context, struct kind *kind, const char *type,
                           int32_t scope) {
  svk_factory_options options = kind_options(kind, scope);
  options.type = type;
  MUST_OK(kind_register_with(container, "key", context, &options));
}

static void test_types(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_SINGLETON,
                                    SVK_SCOPE_GRAPH };
  static const char *const wrong[] = {
    "org.example.logger/2", "org.example.logger/", "org.example.logger/11", "Org.example.logger/1", "key",
    " org.example.logger/1"
  };
  for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
    svk_container *container = new_container();
    struct kind kind = { .name = NULL };
    register_typed(container, NULL, &kind, "org.example.logger/1", scopes[i]);
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
      CHECK_STATUS(typed(container, "key", wrong[w], &kind), SVK_TYPE_MISMATCH);
    CHECK_STR(svk_last_error(), "key");
    CHECK_EQ(kind.asked, 0); /* nothing was built */
    CHECK_STATUS(typed(container, "key", "org.example.logger/1", &kind), SVK_OK);
    CHECK_EQ(kind.asked, 1);
    CHECK_STATUS(typed(container, "key", wrong[0], &kind), SVK_TYPE_MISMATCH); /* a hit is no way around it */
    CHECK(kind_of(container, "key") == &kind);
    CHECK_STATUS(typed(container, "no-such-key", "org.example.logger/1", NULL), SVK_NOT_FOUND);
    CHECK_STR(svk_last_error(), "no-such-key");
    CHECK_STATUS(svk_resolve_typed(container, "key", "org.example.logger/1", NULL), SVK_INVALID_ARGUMENT);
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_EQ(kind.built, kind.destroyed);
    CHECK_EQ(kind.freed, 1);
  }
}

static void test_without_a_type(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  register_typed(container, NULL, &kind, NULL, SVK_SCOPE_CACHED);
  CHECK_STATUS(typed(container, "key", "anything", &kind), SVK_TYPE_MISMATCH);
  CHECK_EQ(kind.asked, 0);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_STATUS(typed(container, "key", "anything", &kind), SVK_TYPE_MISMATCH);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 1);
}

/* It is the winning registration's type that counts. */
static void test_the_winning_registration(void) {
  svk_container *parent = new_container(), *child = new_child(parent);
  struct kind plain = { .name = NULL }, test = { .name = NULL }, of_parent = { .name = NULL };
  register_typed(parent, NULL, &of_parent, "parent/1", SVK_SCOPE_CACHED);
  CHECK_STATUS(typed(child, "key", "parent/1", &of_parent), SVK_OK);
  register_typed(child, NULL, &plain, "plain/1", SVK_SCOPE_UNIQUE);
  register_typed(child, "test", &test, "test/1", SVK_SCOPE_UNIQUE);
  CHECK_STATUS(typed(child, "key", "plain/1", &plain), SVK_OK);
  CHECK_STATUS(typed(child, "key", "test/1", &test), SVK_TYPE_MISMATCH);
  CHECK_STATUS(typed(child, "key", "parent/1", &test), SVK_TYPE_MISMATCH);
  CHECK_OK(svk_container_set_contexts(child, "test"));
  CHECK_STATUS(typed(child, "key", "test/1", &test), SVK_OK);
  CHECK_STATUS(typed(child, "key", "plain/1", &plain), SVK_TYPE_MISMATCH);
  CHECK_OK(svk_unregister(child, "key"));
  CHECK_STATUS(typed(child, "key", "parent/1", &of_parent), SVK_OK);
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(parent));
  CHECK_GONE(&of_parent, 1);
  CHECK_EQ(plain.freed, 1);
  CHECK_EQ(test.freed, 1);
}

static void test_failures_of_the_factory(void) {
  svk_container *container = new_container();
  struct kind kind = { .answer = SVK_FACTORY_ERROR_BASE + 9 };
  register_typed(container, NULL, &kind, "type/1", SVK_SCOPE_CACHED);
  CHECK_STATUS(typed(container, "key", "type/1", &kind), SVK_FACTORY_ERROR_BASE + 9);
  CHECK_STATUS(typed(container, "key", "type/2", &kind), SVK_TYPE_MISMATCH);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 0);
}

int main(void) {
  RUN(test_types);
  RUN(test_without_a_type);
  RUN(test_the_winning_registration);
  RUN(test_failures_of_the_factory);
  return check_done();
}
