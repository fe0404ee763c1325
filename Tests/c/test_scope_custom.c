/* Custom scopes: one instance per scope, owning container and key, until the scope is reset or ended. */
#include "factory.h"

static svk_scope *new_scope(const char *name) {
  svk_scope *scope = NULL;
  MUST_OK(svk_scope_create(name, &scope));
  MUST(scope != NULL);
  return scope;
}

static void register_custom(svk_container *container, const char *key, struct kind *kind, svk_scope *scope) {
  svk_factory_options options = kind_options(kind, SVK_SCOPE_CUSTOM);
  options.custom_scope = scope;
  MUST_OK(kind_register_with(container, key, NULL, &options));
}

static void test_until_reset(void) {
  svk_container *container = new_container();
  svk_scope *scope = new_scope("session");
  struct kind kind = { .name = NULL }, other = { .name = NULL };
  register_custom(container, "key", &kind, scope);
  register_custom(container, "other", &other, scope);
  CHECK(kind_of(container, "key") == &kind);
  CHECK(kind_of(container, "key") == &kind);
  CHECK(kind_of(container, "other") == &other);
  CHECK_EQ(kind.built, 1);
  CHECK_EQ(kind.destroyed, 0);
  CHECK_OK(svk_scope_reset(scope));
  CHECK_EQ(kind.destroyed, 1); /* before it returned */
  CHECK_EQ(other.destroyed, 1);
  svk_handle *held = RESOLVE(container, "key");
  CHECK_EQ(kind.built, 2);
  CHECK_OK(svk_scope_reset(scope));
  CHECK_EQ(kind.destroyed, 1);
  struct instance *instance = svk_instance(held);
  CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(kind.built, 3);
  CHECK_OK(svk_release(held));
  CHECK_EQ(kind.destroyed, 2);
  CHECK_OK(svk_scope_destroy(scope));
  CHECK_EQ(kind.destroyed, 3);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 3);
  CHECK_GONE(&other, 1);
}

static svk_status require_through_ended(svk_resolver *resolver, struct kind *kind) {
  void *instance = kind;
  CHECK_STATUS(svk_require(resolver, "key", &instance), SVK_INVALID_HANDLE);
  CHECK(instance == NULL);
  CHECK_STR(svk_last_error(), "key");
  return SVK_OK;
}

static void test_an_ended_scope(void) {
  svk_container *container = new_container();
  svk_scope *scope = new_scope("session");
  struct kind kind = { .name = NULL }, asker = { .on_create = require_through_ended };
  register_custom(container, "key", &kind, scope);
  MUST_OK(kind_register(container, "asker", &asker, SVK_SCOPE_UNIQUE));
  svk_handle *held = RESOLVE(container, "key"), *handle = (svk_handle *)&kind;
  CHECK_OK(svk_scope_destroy(scope));
  CHECK_STATUS(svk_scope_destroy(scope), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_scope_reset(scope), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_resolve(container, "key", &handle), SVK_INVALID_HANDLE);
  CHECK(handle == NULL);
  CHECK(kind_of(container, "asker") == &asker);
  CHECK_EQ(kind.destroyed, 0);
  struct instance *instance = svk_instance(held);
  CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
  CHECK_OK(svk_release(held));
  CHECK_EQ(kind.destroyed, 1);
  CHECK_EQ(kind.freed, 0); /* the registration is still there */
  /* A new scope is another one, also if it takes the place of the old. */
  svk_scope *another = new_scope("session");
  CHECK_STATUS(svk_resolve(container, "key", &handle), SVK_INVALID_HANDLE);
  register_custom(container, "key", &kind, another);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_OK(svk_scope_destroy(another));
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 2);
}

/* The key is scope, owning container and key. */
static void test_what_is_one(void) {
  svk_container *one = new_container(), *two = new_container(), *child = new_child(one);
  svk_scope *scope = new_scope("name"), *namesake = new_scope("name");
  CHECK(scope != namesake);
  struct kind kind = { .name = NULL };
  register_custom(one, "a", &kind, scope);
  register_custom(one, "b", &kind, scope);
  register_custom(two, "a", &kind, scope);
  register_custom(two, "c", &kind, namesake);
  svk_handle *handles[] = { RESOLVE(one, "a"), RESOLVE(one, "b"), RESOLVE(two, "a"), RESOLVE(two, "c") };
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++)
      CHECK(svk_instance(handles[i]) != svk_instance(handles[j]));
  svk_handle *by_child = RESOLVE(child, "a"); /* the owner is the parent */
  CHECK(svk_instance(by_child) == svk_instance(handles[0]));
  CHECK_OK(svk_release(by_child));
  for (int i = 0; i < 4; i++)
    CHECK_OK(svk_release(handles[i]));
  CHECK_EQ(kind.built, 4);
  CHECK_EQ(kind.destroyed, 0);
  CHECK_OK(svk_scope_reset(scope)); /* in all containers, and only what is its own */
  CHECK_EQ(kind.destroyed, 3);
  CHECK_OK(svk_scope_reset(namesake));
  CHECK_EQ(kind.destroyed, 4);
  CHECK_OK(svk_scope_destroy(namesake));
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(one));
  CHECK_OK(svk_container_destroy(two));
  CHECK_OK(svk_scope_destroy(scope));
  CHECK_GONE(&kind, 4);
}

/* It is built with the registrations of its owner. */
static void test_built_by_the_owner(void) {
  svk_container *parent = new_container(), *child = new_child(parent);
  svk_scope *scope = new_scope("scope");
  struct kind parent_low = { .name = NULL }, child_low = { .name = NULL }, kind = { .needs = { "low" } };
  MUST_OK(kind_register(parent, "low", &parent_low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(child, "low", &child_low, SVK_SCOPE_CACHED));
  register_custom(parent, "key", &kind, scope);
  svk_handle *handle = RESOLVE(child, "key");
  CHECK(((struct instance *)svk_instance(handle))->needs[0]->kind == &parent_low);
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(parent));
  CHECK_OK(svk_scope_destroy(scope));
  CHECK_GONE(&kind, 1);
}

/* Resets, replacing and the end of a container reach what it has in the scope. */
static void test_the_container_reaches_its_own(void) {
  svk_container *one = new_container(), *two = new_container();
  svk_scope *scope = new_scope("scope");
  struct kind kind = { .name = NULL }, other = { .name = NULL };
  register_custom(one, "key", &kind, scope);
  register_custom(two, "key", &other, scope);
  CHECK(kind_of(one, "key") == &kind);
  CHECK(kind_of(two, "key") == &other);
  CHECK_OK(svk_container_reset(one, SVK_RESET_SCOPES));
  CHECK_EQ(kind.destroyed, 1);
  CHECK(kind_of(one, "key") == &kind);
  CHECK_OK(svk_reset(one, "key", SVK_RESET_SCOPES));
  CHECK_EQ(kind.destroyed, 2);
  CHECK(kind_of(one, "key") == &kind);
  register_custom(one, "key", &kind, scope);
  CHECK_EQ(kind.destroyed, 3);
  CHECK_EQ(kind.freed, 1);
  CHECK(kind_of(one, "key") == &kind);
  CHECK_OK(svk_container_destroy(one));
  CHECK_EQ(kind.destroyed, 4);
  CHECK_EQ(kind.freed, 2);
  CHECK_EQ(other.destroyed, 0);
  CHECK(kind_of(two, "key") == &other);
  CHECK_EQ(other.built, 1);
  CHECK_OK(svk_scope_reset(scope));
  CHECK_EQ(other.destroyed, 1);
  CHECK_OK(svk_scope_destroy(scope));
  CHECK_OK(svk_container_destroy(two));
  CHECK_GONE(&other, 1);
}

/* Dependents first, within a scope, too. */
static void test_order(void) {
  svk_container *container = new_container();
  svk_scope *scope = new_scope("scope");
  struct kind a = { .name = "a" }, b = { .name = "b", .needs = { "a" } },
              c = { .name = "c", .needs = { "b", "a" } };
  register_custom(container, "a", &a, scope);
  register_custom(container, "b", &b, scope);
  register_custom(container, "c", &c, scope);
  journal_clear();
  CHECK(kind_of(container, "c") == &c);
  CHECK_OK(svk_scope_reset(scope));
  CHECK_JOURNAL("+a +b +c -c -b -a ");
  CHECK_OK(svk_scope_destroy(scope));
  CHECK_OK(svk_container_destroy(container));
}

/* From inside one of its own factories. */
static svk_scope *current;
static svk_status reset_current(svk_resolver *resolver, struct kind *kind) {
  (void)resolver, (void)kind;
  CHECK_OK(svk_scope_reset(current));
  return SVK_OK;
}
static svk_status destroy_current(svk_resolver *resolver, struct kind *kind) {
  (void)resolver, (void)kind;
  CHECK_OK(svk_scope_destroy(current));
  return SVK_OK;
}

static void test_from_inside_a_factory(void) {
  svk_container *container = new_container();
  current = new_scope("scope");
  struct kind resetting = { .on_create = reset_current }, destroying = { .on_create = destroy_current };
  register_custom(container, "resetting", &resetting, current);
  register_custom(container, "destroying", &destroying, current);
  svk_handle *handle = RESOLVE(container, "resetting");
  CHECK_OK(svk_release(handle));
  handle = NULL;
  if (svk_resolve(container, "destroying", &handle) == SVK_OK)
    CHECK_OK(svk_release(handle));
  CHECK_STATUS(svk_resolve(container, "destroying", &handle), SVK_INVALID_HANDLE);
  CHECK_EQ(destroying.built, destroying.destroyed); /* nothing is kept by a scope that has ended */
  CHECK_EQ(resetting.built, resetting.destroyed);
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(destroying.freed, 1);
}

/* Resolves, resets and ends of scopes at the same time. */
struct storm {
  svk_container *container;
  svk_scope *scope;
  struct kind kind;
  int rounds;
};

static void resolve_and_reset(int index, void *argument) {
  struct storm *storm = argument;
  for (int i = 0; i < storm->rounds; i++) {
    if (index == 0) {
      CHECK_OK(svk_scope_reset(storm->scope));
    } else if (index == 1 && i % 16 == 0) {
      svk_scope *scope = new_scope("brief");
      register_custom(storm->container, "brief", &storm->kind, scope);
      svk_handle *handle = RESOLVE(storm->container, "brief");
      CHECK_OK(svk_scope_destroy(scope));
      CHECK_OK(svk_release(handle));
    } else {
      svk_handle *handle = RESOLVE(storm->container, "key");
      CHECK_OK(svk_release(handle));
    }
  }
}

static void test_storm(void) {
  static struct storm storm;
  storm.container = new_container();
  storm.scope = new_scope("scope");
  storm.rounds = iterations(10000);
  register_custom(storm.container, "key", &storm.kind, storm.scope);
  run_threads(4, resolve_and_reset, &storm);
  CHECK_OK(svk_scope_destroy(storm.scope));
  CHECK_EQ(storm.kind.built, storm.kind.destroyed);
  CHECK_OK(svk_container_destroy(storm.container));
  CHECK_EQ(storm.kind.registered, storm.kind.freed);
}

/* Scopes and containers that end at the same time. */
static void make_and_end(int index, void *argument) {
  struct storm *storm = argument;
  for (int i = 0; i < storm->rounds / 4; i++) {
    if (index == 0) {
      CHECK_OK(svk_scope_reset(storm->scope));
      continue;
    }
    svk_container *container = new_container();
    register_custom(container, "key", &storm->kind, storm->scope);
    svk_handle *handle = RESOLVE(container, "key");
    if (i % 2)
      CHECK_OK(svk_release(handle));
    CHECK_OK(svk_container_destroy(container));
    if (i % 2 == 0)
      CHECK_OK(svk_release(handle));
  }
}

static void test_storm_of_containers(void) {
  static struct storm storm;
  storm.scope = new_scope("scope");
  storm.rounds = iterations(10000);
  run_threads(4, make_and_end, &storm);
  CHECK_EQ(storm.kind.built, storm.kind.destroyed);
  CHECK_OK(svk_scope_destroy(storm.scope));
  CHECK_EQ(storm.kind.registered, storm.kind.freed);
}

static void resolve_until_ended(int index, void *argument) {
  struct storm *storm = argument;
  if (index == 0) {
    CHECK_OK(svk_scope_destroy(storm->scope));
    return;
  }
  for (int i = 0; i < 200; i++) {
    svk_handle *handle = NULL;
    svk_status status = svk_resolve(storm->container, "key", &handle);
    if (status != SVK_OK) {
      CHECK_STATUS(status, SVK_INVALID_HANDLE);
      CHECK(handle == NULL);
      break;
    }
    struct instance *instance = svk_instance(handle);
    CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
    CHECK_OK(svk_release(handle));
  }
}

static void test_ended_while_in_use(void) {
  for (int round = 0; round < iterations(1000); round++) {
    static struct storm storm;
    memset(&storm, 0, sizeof storm);
    storm.container = new_container();
    storm.scope = new_scope("scope");
    register_custom(storm.container, "key", &storm.kind, storm.scope);
    run_threads(4, resolve_until_ended, &storm);
    CHECK_EQ(storm.kind.built, storm.kind.destroyed); /* an ended scope keeps nothing */
    CHECK_OK(svk_container_destroy(storm.container));
    CHECK_EQ(storm.kind.freed, 1);
  }
}

int main(void) {
  RUN(test_until_reset);
  RUN(test_an_ended_scope);
  RUN(test_what_is_one);
  RUN(test_built_by_the_owner);
  RUN(test_the_container_reaches_its_own);
  RUN(test_order);
  RUN(test_from_inside_a_factory);
  RUN(test_storm);
  RUN(test_storm_of_containers);
  RUN(test_ended_while_in_use);
  return check_done();
}
