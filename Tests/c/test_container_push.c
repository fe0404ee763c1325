/* Push and pop: registrations, contexts, caches and settings come back; what came since retires. */
#include "factory.h"

static char logged[8192];
static void write_log(int32_t level, const char *message, void *user_data) {
  (void)user_data;
  size_t used = strlen(logged);
  if (level <= SVK_LOG_WARNING)
    snprintf(logged + used, sizeof logged - used, "%s\n", message);
}

static void test_registrations(void) {
  svk_container *container = new_container();
  struct kind kept = { .name = NULL }, old = { .name = NULL }, fresh = { .name = NULL },
              added = { .name = NULL };
  svk_handle *handle = NULL;
  MUST_OK(kind_register(container, "kept", &kept, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "key", &old, SVK_SCOPE_UNIQUE));
  CHECK_STATUS(svk_container_pop(container), SVK_NOT_FOUND);
  CHECK_OK(svk_container_push(container));
  CHECK(kind_of(container, "key") == &old); /* the push by itself changes nothing */
  MUST_OK(kind_register(container, "key", &fresh, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "added", &added, SVK_SCOPE_UNIQUE));
  CHECK_EQ(old.freed, 0);
  CHECK(kind_of(container, "key") == &fresh);
  CHECK(kind_of(container, "added") == &added);
  CHECK(kind_of(container, "kept") == &kept);
  CHECK_OK(svk_container_pop(container));
  CHECK_GONE(&fresh, 1);
  CHECK_GONE(&added, 1);
  CHECK(kind_of(container, "key") == &old);
  CHECK(kind_of(container, "kept") == &kept);
  CHECK_STATUS(svk_resolve(container, "added", &handle), SVK_NOT_FOUND);
  CHECK_STATUS(svk_container_pop(container), SVK_NOT_FOUND);
  /* What was removed comes back, too. */
  CHECK_OK(svk_container_push(container));
  CHECK_OK(svk_unregister(container, "key"));
  CHECK_STATUS(svk_resolve(container, "key", &handle), SVK_NOT_FOUND);
  CHECK_OK(svk_container_reset(container, SVK_RESET_ALL));
  CHECK_STATUS(svk_resolve(container, "kept", &handle), SVK_NOT_FOUND);
  CHECK_OK(svk_container_pop(container));
  CHECK(kind_of(container, "key") == &old);
  CHECK(kind_of(container, "kept") == &kept);
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(kept.freed, 1);
  CHECK_EQ(old.freed, 1);
}

/* Live cached instances stay in use, and are there again after the pop. */
static void test_caches(void) {
  svk_container *container = new_container();
  struct kind untouched = { .name = NULL }, old = { .name = NULL }, fresh = { .name = NULL };
  MUST_OK(kind_register(container, "untouched", &untouched, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "key", &old, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "untouched") == &untouched);
  CHECK(kind_of(container, "key") == &old);
  CHECK_OK(svk_container_push(container));
  CHECK(kind_of(container, "key") == &old);
  CHECK_EQ(old.built, 1);
  MUST_OK(kind_register(container, "key", &fresh, SVK_SCOPE_CACHED));
  CHECK_EQ(old.destroyed, 0); /* saved */
  CHECK(kind_of(container, "key") == &fresh);
  CHECK_OK(svk_container_pop(container));
  CHECK_GONE(&fresh, 1);
  CHECK(kind_of(container, "key") == &old);
  CHECK(kind_of(container, "untouched") == &untouched);
  CHECK_EQ(old.built, 1);
  CHECK_EQ(untouched.built, 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&old, 1);
  CHECK_GONE(&untouched, 1);
}

/* A reset after the push: the saved instance comes back, the one built since retires. */
static void test_caches_and_resets(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  svk_handle *handle = RESOLVE(container, "key");
  void *first = svk_instance(handle);
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_container_push(container));
  CHECK_OK(svk_container_reset(container, SVK_RESET_SCOPES));
  handle = RESOLVE(container, "key");
  CHECK(svk_instance(handle) != first);
  CHECK_OK(svk_release(handle));
  CHECK_EQ(kind.built, 2);
  CHECK_OK(svk_container_pop(container));
  CHECK_EQ(kind.destroyed, 1);
  handle = RESOLVE(container, "key");
  CHECK(svk_instance(handle) == first);
  CHECK_EQ(kind.built, 2);
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 2);
}

/* An instance first built after the push, from a registration that was there before it, came since: it
 * retires. */
static void test_built_since(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK_OK(svk_container_push(container));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_OK(svk_container_pop(container));
  CHECK_EQ(kind.destroyed, 1);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(kind.built, 2);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 2);
}

/* What came since and is still held: named in the log, and destroyed with its last lease. */
static void test_what_is_still_held(void) {
  svk_container *container = new_container();
  struct kind before = { .name = NULL }, since = { .name = NULL };
  CHECK_OK(svk_set_log(write_log, SVK_LOG_DEBUG, NULL, NULL));
  MUST_OK(kind_register(container, "from-before", &before, SVK_SCOPE_CACHED));
  svk_handle *held_before = RESOLVE(container, "from-before");
  CHECK_OK(svk_container_push(container));
  MUST_OK(kind_register(container, "came-since", &since, SVK_SCOPE_CACHED));
  svk_handle *held_since = RESOLVE(container, "came-since");
  logged[0] = 0;
  CHECK_OK(svk_container_pop(container));
  CHECK_STR(logged, "came-since");
  CHECK(strstr(logged, "from-before") == NULL);
  CHECK_EQ(since.destroyed, 0);
  struct instance *instance = svk_instance(held_since);
  CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
  CHECK_OK(svk_release(held_since));
  CHECK_GONE(&since, 1);
  CHECK_OK(svk_release(held_before));
  CHECK_EQ(before.destroyed, 0);
  logged[0] = 0;
  CHECK_OK(svk_container_destroy(container));
  CHECK(strstr(logged, "from-before") == NULL);
  CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
  CHECK_GONE(&before, 1);
}

static void test_contexts(void) {
  svk_container *container = new_container();
  struct kind plain = { .name = NULL }, test = { .name = NULL }, live = { .name = NULL };
  MUST_OK(kind_register(container, "key", &plain, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register_for(container, "key", "test", &test, SVK_SCOPE_UNIQUE));
  CHECK_OK(svk_container_push(container));
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK(kind_of(container, "key") == &test);
  CHECK_OK(svk_container_push(container));
  CHECK_OK(svk_container_set_contexts(container, "live"));
  MUST_OK(kind_register_for(container, "key", "live", &live, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "key") == &live);
  CHECK_OK(svk_reset(container, "key", SVK_RESET_CONTEXTS));
  CHECK(kind_of(container, "key") == &plain);
  CHECK_OK(svk_container_pop(container));
  CHECK(kind_of(container, "key") == &test); /* both the list and the registration are back */
  CHECK_OK(svk_container_pop(container));
  CHECK(kind_of(container, "key") == &plain);
  CHECK_STATUS(svk_container_pop(container), SVK_NOT_FOUND);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&live, 1);
  CHECK_EQ(test.freed, 1);
}

static void test_default_scope(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_DEFAULT));
  CHECK_OK(svk_container_push(container));
  CHECK_OK(svk_container_set_default_scope(container, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &kind);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(kind.built, 1);
  CHECK_OK(svk_container_pop(container));
  CHECK_EQ(kind.destroyed, 1);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(kind.destroyed, 2); /* unique again */
  CHECK_OK(svk_container_destroy(container));
}

struct decorator {
  _Atomic int calls, freed;
};
static void decorate(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)instance, (void)key, (void)is_new;
  atomic_fetch_add(&((struct decorator *)user_data)->calls, 1);
}
static void decorator_free(void *user_data) {
  CHECK_EQ(atomic_fetch_add(&((struct decorator *)user_data)->freed, 1), 0);
}

static void test_decorators(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  struct decorator old = { 0 }, fresh = { 0 }, own = { 0 };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK_OK(svk_decorate(container, "key", decorate, &old, decorator_free));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_OK(svk_container_push(container));
  CHECK_OK(svk_decorate(container, "key", decorate, &fresh, decorator_free));
  CHECK_OK(svk_decorate(container, NULL, decorate, &own, decorator_free));
  CHECK_EQ(old.freed, 0);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(fresh.calls, 1);
  CHECK_OK(svk_container_pop(container));
  CHECK_EQ(fresh.freed, 1);
  CHECK_EQ(own.freed, 1);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(old.calls, 2);
  CHECK_EQ(fresh.calls, 1);
  CHECK_OK(svk_container_push(container));
  CHECK_OK(svk_decorate(container, "key", NULL, NULL, NULL));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(old.calls, 2);
  CHECK_OK(svk_container_pop(container));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(old.calls, 3);
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(old.freed, 1);
}

static void test_nested(void) {
  enum { DEPTH = 50 };
  svk_container *container = new_container();
  static struct kind kinds[DEPTH];
  for (int i = 0; i < DEPTH; i++) {
    MUST_OK(kind_register(container, "key", &kinds[i], SVK_SCOPE_CACHED));
    CHECK(kind_of(container, "key") == &kinds[i]);
    CHECK_OK(svk_container_push(container));
  }
  for (int i = DEPTH - 1; i >= 0; i--) {
    CHECK_OK(svk_container_pop(container));
    CHECK(kind_of(container, "key") == &kinds[i]);
    CHECK_EQ(kinds[i].built, 1);
    if (i + 1 < DEPTH)
      CHECK_GONE(&kinds[i + 1], 1);
  }
  CHECK_STATUS(svk_container_pop(container), SVK_NOT_FOUND);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kinds[0], 1);
}

/* Destroyed with pushes outstanding: the saved ones go, too. */
static void test_destroyed_when_pushed(void) {
  svk_container *container = new_container();
  struct kind old = { .name = NULL }, fresh = { .name = NULL };
  MUST_OK(kind_register(container, "key", &old, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &old);
  CHECK_OK(svk_container_push(container));
  MUST_OK(kind_register(container, "key", &fresh, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &fresh);
  CHECK_OK(svk_container_push(container));
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&old, 1);
  CHECK_GONE(&fresh, 1);
}

/* Children and parents are other containers. */
static void test_the_family_is_left_alone(void) {
  svk_container *parent = new_container(), *container = new_child(parent), *child = new_child(container);
  struct kind of_parent = { .name = NULL }, of_child = { .name = NULL };
  CHECK_OK(svk_container_push(container));
  MUST_OK(kind_register(parent, "of-parent", &of_parent, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(child, "of-child", &of_child, SVK_SCOPE_CACHED));
  CHECK(kind_of(child, "of-parent") == &of_parent);
  CHECK(kind_of(child, "of-child") == &of_child);
  CHECK_STATUS(svk_container_pop(parent), SVK_NOT_FOUND);
  CHECK_STATUS(svk_container_pop(child), SVK_NOT_FOUND);
  CHECK_OK(svk_container_pop(container));
  CHECK(kind_of(child, "of-parent") == &of_parent);
  CHECK(kind_of(child, "of-child") == &of_child);
  CHECK_EQ(of_parent.built, 1);
  CHECK_EQ(of_child.built, 1);
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_container_destroy(parent));
}

/* From inside a factory of the container. */
static svk_status push_and_replace(svk_resolver *resolver, struct kind *kind) {
  svk_container *container = svk_resolver_container(resolver);
  CHECK_OK(svk_container_push(container));
  CHECK_OK(kind_register(container, "key", kind->context, SVK_SCOPE_CACHED));
  return SVK_OK;
}
static svk_status pop_inside(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  CHECK_OK(svk_container_pop(svk_resolver_container(resolver)));
  return SVK_OK;
}

static void test_from_inside_a_factory(void) {
  svk_container *container = new_container();
  struct kind fresh = { .on_create = pop_inside }, old = { .on_create = push_and_replace, .context = &fresh };
  MUST_OK(kind_register(container, "key", &old, SVK_SCOPE_CACHED));
  svk_handle *first = RESOLVE(container, "key");
  CHECK(((struct instance *)svk_instance(first))->kind == &old);
  svk_handle *second = RESOLVE(container, "key");
  CHECK(((struct instance *)svk_instance(second))->kind == &fresh);
  CHECK_STATUS(svk_container_pop(container), SVK_NOT_FOUND);
  CHECK_OK(svk_release(second));
  CHECK_GONE(&fresh, 1); /* popped while it was being built: not kept */
  old.on_create = NULL;
  CHECK(kind_of(container, "key") == &old);
  CHECK_OK(svk_release(first));
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(old.built, old.destroyed);
  CHECK_EQ(old.freed, 1);
}

/* Pushes, pops, resolves and registrations at once: in the end as many destroyed as built. */
struct storm {
  svk_container *container;
  struct kind kinds[2];
  _Atomic int pushes, pops;
  int rounds;
};

static void push_pop_resolve(int index, void *argument) {
  struct storm *storm = argument;
  svk_handle *handle = NULL;
  for (int i = 0; i < storm->rounds; i++) {
    switch (index) {
    case 0:
      CHECK_OK(svk_container_push(storm->container));
      CHECK_OK(kind_register(storm->container, "key", &storm->kinds[i % 2], SVK_SCOPE_CACHED));
      CHECK_OK(svk_container_pop(storm->container));
      break;
    case 1:
      CHECK_OK(svk_container_push(storm->container));
      if (svk_resolve(storm->container, "key", &handle) == SVK_OK)
        CHECK_OK(svk_release(handle));
      CHECK_OK(svk_container_reset(storm->container, SVK_RESET_SCOPES));
      CHECK_OK(svk_container_pop(storm->container));
      break;
    default:
      handle = RESOLVE(storm->container, "key");
      CHECK_OK(svk_release(handle));
    }
  }
}

static void test_storm(void) {
  static struct storm storm;
  storm.container = new_container();
  storm.rounds = iterations(4000);
  MUST_OK(kind_register(storm.container, "key", &storm.kinds[0], SVK_SCOPE_CACHED));
  run_threads(4, push_pop_resolve, &storm);
  CHECK_STATUS(svk_container_pop(storm.container), SVK_NOT_FOUND);
  CHECK_OK(svk_container_destroy(storm.container));
  for (int i = 0; i < 2; i++) {
    CHECK_EQ(storm.kinds[i].built, storm.kinds[i].destroyed);
    CHECK_EQ(storm.kinds[i].registered, storm.kinds[i].freed);
  }
}

int main(void) {
  RUN(test_registrations);
  RUN(test_caches);
  RUN(test_caches_and_resets);
  RUN(test_built_since);
  RUN(test_what_is_still_held);
  RUN(test_contexts);
  RUN(test_default_scope);
  RUN(test_decorators);
  RUN(test_nested);
  RUN(test_destroyed_when_pushed);
  RUN(test_the_family_is_left_alone);
  RUN(test_from_inside_a_factory);
  RUN(test_storm);
  return check_done();
}
