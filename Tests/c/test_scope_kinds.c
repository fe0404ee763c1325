/* How long an instance is kept, scope by scope. */
#include "factory.h"

static void test_unique(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_UNIQUE));
  svk_handle *first = RESOLVE(container, "key"), *second = RESOLVE(container, "key");
  CHECK(first != second);
  CHECK(svk_instance(first) != svk_instance(second));
  CHECK_OK(svk_release(first));
  CHECK_EQ(kind.destroyed, 1);
  CHECK_OK(svk_release(second));
  CHECK_EQ(kind.destroyed, 2);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 2);
}

static void test_cached(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK_EQ(kind.built, 0);
  svk_handle *first = RESOLVE(container, "key"), *second = RESOLVE(container, "key");
  CHECK(first != second); /* each lease has its own */
  CHECK(svk_instance(first) == svk_instance(second));
  CHECK_OK(svk_release(first));
  CHECK(svk_instance(second) != NULL);
  CHECK_OK(svk_release(second));
  CHECK_EQ(kind.destroyed, 0); /* kept with no handle on it */
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(kind.built, 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 1);
}

static void test_shared(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL }, dependent = { .needs = { "key" } };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_SHARED));
  MUST_OK(kind_register(container, "dependent", &dependent, SVK_SCOPE_CACHED));
  svk_handle *first = RESOLVE(container, "key"), *second = RESOLVE(container, "key");
  CHECK(svk_instance(first) == svk_instance(second));
  CHECK_OK(svk_release(first));
  CHECK_EQ(kind.destroyed, 0);
  CHECK_OK(svk_release(second));
  CHECK_EQ(kind.destroyed, 1); /* with the last handle */
  first = RESOLVE(container, "key");
  CHECK_EQ(kind.built, 2);
  /* Whoever requires it keeps it, too. */
  CHECK(kind_of(container, "dependent") == &dependent);
  CHECK_EQ(kind.built, 2);
  CHECK_OK(svk_release(first));
  CHECK_EQ(kind.destroyed, 1);
  second = RESOLVE(container, "key");
  CHECK_EQ(kind.built, 2);
  CHECK_OK(svk_release(second));
  CHECK_OK(svk_reset(container, "dependent", SVK_RESET_SCOPES));
  CHECK_EQ(dependent.destroyed, 1);
  CHECK_EQ(kind.destroyed, 2);
  /* A reset of one that is held: the next resolve builds another. */
  first = RESOLVE(container, "key");
  CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
  second = RESOLVE(container, "key");
  CHECK(svk_instance(first) != svk_instance(second));
  CHECK_OK(svk_release(first));
  CHECK_EQ(kind.destroyed, 3);
  CHECK_EQ(kind.built, 4);
  CHECK_OK(svk_release(second));
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 4);
  CHECK_GONE(&dependent, 1);
}

/* The container's default counts at each resolve, for what is registered already, too. */
static void test_default(void) {
  svk_container *container = new_container(), *child = new_child(container);
  struct kind kind = { .name = NULL }, explicit = { .name = NULL }, in_child = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_DEFAULT));
  MUST_OK(kind_register(container, "explicit", &explicit, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(child, "in-child", &in_child, SVK_SCOPE_DEFAULT));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(kind.destroyed, 1); /* unique unless set */
  CHECK_STATUS(svk_container_set_default_scope(container, SVK_SCOPE_CUSTOM), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_container_set_default_scope(container, -1), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_container_set_default_scope(container, SVK_SCOPE_CUSTOM + 1), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_container_set_default_scope(container, INT32_MIN), SVK_INVALID_ARGUMENT);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(kind.destroyed, 2);
  CHECK_OK(svk_container_set_default_scope(container, SVK_SCOPE_CACHED));
  for (int i = 0; i < 3; i++)
    CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(kind.built, 3);
  CHECK_EQ(kind.destroyed, 2);
  CHECK(kind_of(container, "explicit") == &explicit);
  CHECK_EQ(explicit.destroyed, 1);
  /* Of the container that has the registration, and not inherited. */
  CHECK(kind_of(child, "key") == &kind);
  CHECK_EQ(kind.built, 3);
  CHECK(kind_of(child, "in-child") == &in_child);
  CHECK_EQ(in_child.destroyed, 1);
  CHECK_OK(svk_container_set_default_scope(child, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(child, "key") == &kind);
  CHECK_EQ(kind.built, 3);
  CHECK_OK(svk_container_set_default_scope(container, SVK_SCOPE_DEFAULT)); /* unique again */
  CHECK_OK(svk_container_reset(container, SVK_RESET_SCOPES));
  CHECK_EQ(kind.destroyed, 3);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(kind.destroyed, 4);
  CHECK_OK(svk_container_set_default_scope(container, SVK_SCOPE_SHARED));
  svk_handle *first = RESOLVE(container, "key"), *second = RESOLVE(container, "key");
  CHECK(svk_instance(first) == svk_instance(second));
  CHECK_OK(svk_release(first));
  CHECK_OK(svk_release(second));
  CHECK_EQ(kind.destroyed, 5);
  CHECK_OK(svk_container_set_default_scope(container, SVK_SCOPE_SINGLETON));
  CHECK(kind_of(container, "key") == &kind);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(kind.built, 6);
  CHECK_EQ(kind.destroyed, 5);
  CHECK_OK(svk_container_set_default_scope(container, SVK_SCOPE_GRAPH));
  first = RESOLVE(container, "key");
  CHECK_EQ(kind.built, 7);
  CHECK_OK(svk_release(first));
  CHECK_EQ(kind.destroyed, 6);
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_singleton_reset(NULL));
  CHECK_GONE(&kind, 7);
  CHECK_GONE(&in_child, 1);
}

/* What a child finds in its parent is the parent's: cached there, and built with the parent's registrations.
 */
static void test_cached_in_the_parent(void) {
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SHARED };
  for (int i = 0; i < 2; i++) {
    svk_container *parent = new_container(), *one = new_child(parent), *two = new_child(one);
    struct kind parent_low = { .name = NULL }, child_low = { .name = NULL }, kind = { .needs = { "low" } };
    MUST_OK(kind_register(parent, "low", &parent_low, SVK_SCOPE_UNIQUE));
    MUST_OK(kind_register(one, "low", &child_low, SVK_SCOPE_UNIQUE));
    MUST_OK(kind_register(two, "low", &child_low, SVK_SCOPE_UNIQUE));
    MUST_OK(kind_register(parent, "key", &kind, scopes[i]));
    svk_handle *by_two = RESOLVE(two, "key"), *by_one = RESOLVE(one, "key"),
               *by_parent = RESOLVE(parent, "key");
    CHECK(svk_instance(by_one) == svk_instance(by_two));
    CHECK(svk_instance(by_one) == svk_instance(by_parent));
    CHECK(((struct instance *)svk_instance(by_one))->needs[0]->kind == &parent_low);
    CHECK_OK(svk_release(by_one));
    CHECK_OK(svk_release(by_two));
    CHECK_OK(svk_release(by_parent));
    CHECK_OK(svk_container_destroy(two));
    CHECK_OK(svk_container_destroy(one));
    CHECK_EQ(kind.destroyed, scopes[i] == SVK_SCOPE_SHARED);
    CHECK_OK(svk_container_destroy(parent));
    CHECK_GONE(&kind, 1);
    CHECK_GONE(&parent_low, 1);
    CHECK_GONE(&child_low, 0);
  }
}

/* A unique or graph instance found in the parent is built with the registrations of who asked. */
static svk_container *expected_container;
static svk_status check_container(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  CHECK(svk_resolver_container(resolver) == expected_container);
  return SVK_OK;
}

static void test_unique_in_the_parent(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_GRAPH };
  for (int i = 0; i < 2; i++) {
    svk_container *parent = new_container(), *child = new_child(parent);
    struct kind parent_low = { .name = NULL }, child_low = { .name = NULL },
                kind = { .needs = { "low" }, .on_create = check_container };
    MUST_OK(kind_register(parent, "low", &parent_low, SVK_SCOPE_CACHED));
    MUST_OK(kind_register(child, "low", &child_low, SVK_SCOPE_CACHED));
    MUST_OK(kind_register(parent, "key", &kind, scopes[i]));
    expected_container = child;
    svk_handle *by_child = RESOLVE(child, "key");
    expected_container = parent;
    svk_handle *by_parent = RESOLVE(parent, "key");
    CHECK(((struct instance *)svk_instance(by_child))->needs[0]->kind == &child_low);
    CHECK(((struct instance *)svk_instance(by_parent))->needs[0]->kind == &parent_low);
    CHECK_OK(svk_release(by_child));
    CHECK_OK(svk_release(by_parent));
    CHECK_OK(svk_container_destroy(child));
    CHECK_OK(svk_container_destroy(parent));
    CHECK_GONE(&kind, 2);
  }
}

/* The same key in two containers: two instances. */
static void test_containers_are_apart(void) {
  svk_container *one = new_container(), *two = new_container(), *child = new_child(one);
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(one, "key", &kind, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(two, "key", &kind, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(child, "key", &kind, SVK_SCOPE_CACHED));
  CHECK(kind_of(one, "key") == &kind);
  CHECK(kind_of(two, "key") == &kind);
  CHECK(kind_of(child, "key") == &kind);
  CHECK_EQ(kind.built, 3);
  CHECK_OK(svk_container_reset(one, SVK_RESET_SCOPES));
  CHECK_EQ(kind.destroyed, 1);
  CHECK_OK(svk_container_destroy(two));
  CHECK_EQ(kind.destroyed, 2);
  CHECK(kind_of(child, "key") == &kind);
  CHECK_EQ(kind.built, 3);
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(one));
  CHECK_GONE(&kind, 3);
}

/* A registration that changes the scope of a key. */
static void test_scope_changes_with_the_registration(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  int built = 0;
  for (int32_t scope = SVK_SCOPE_UNIQUE; scope <= SVK_SCOPE_SHARED; scope++) {
    MUST_OK(kind_register(container, "key", &kind, scope));
    svk_handle *first = RESOLVE(container, "key"), *second = RESOLVE(container, "key");
    CHECK((svk_instance(first) == svk_instance(second)) == (scope != SVK_SCOPE_UNIQUE));
    built += scope == SVK_SCOPE_UNIQUE ? 2 : 1;
    CHECK_EQ(kind.built, built);
    CHECK_OK(svk_release(first));
    CHECK_OK(svk_release(second));
  }
  CHECK_EQ(kind.destroyed, built);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, built);
}

int main(void) {
  RUN(test_unique);
  RUN(test_cached);
  RUN(test_shared);
  RUN(test_default);
  RUN(test_cached_in_the_parent);
  RUN(test_unique_in_the_parent);
  RUN(test_containers_are_apart);
  RUN(test_scope_changes_with_the_registration);
  return check_done();
}
