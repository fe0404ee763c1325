/* svk_pin: a plain pointer, and nothing to release. */
#include "factory.h"

static struct instance *pin(svk_container *container, const char *key) {
  void *instance = NULL;
  CHECK_OK(svk_pin(container, key, &instance));
  MUST(instance != NULL);
  CHECK(((struct instance *)instance)->magic == INSTANCE_LIVES);
  return instance;
}

static char logged[4096];
static void write_log(int32_t level, const char *message, void *user_data) {
  (void)user_data;
  size_t used = strlen(logged);
  if (level <= SVK_LOG_WARNING)
    snprintf(logged + used, sizeof logged - used, "%s\n", message);
}

static void test_until_the_container_ends(void) {
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_SINGLETON };
  for (int s = 0; s < 3; s++) {
    svk_container *container = new_container();
    struct kind kind = { .name = NULL }, replacement = { .name = NULL };
    CHECK_OK(svk_set_log(write_log, SVK_LOG_DEBUG, NULL, NULL));
    logged[0] = 0;
    MUST_OK(kind_register(container, "key", &kind, scopes[s]));
    struct instance *first = pin(container, "key");
    CHECK(pin(container, "key") == first);
    svk_handle *handle = RESOLVE(container, "key");
    CHECK(svk_instance(handle) == (void *)first);
    CHECK_OK(svk_release(handle));
    CHECK_EQ(kind.destroyed, 0); /* a shared one stays, too */
    /* Resets, replacements and pops leave it alive. */
    CHECK_OK(svk_container_push(container));
    CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
    CHECK_OK(svk_container_reset(container, SVK_RESET_ALL));
    CHECK_OK(svk_container_pop(container));
    if (scopes[s] == SVK_SCOPE_SINGLETON)
      CHECK_OK(svk_singleton_reset("key"));
    CHECK_OK(kind_register(container, "key", &replacement, scopes[s]));
    CHECK_EQ(kind.destroyed, 0);
    CHECK(first->magic == INSTANCE_LIVES);
    /* Pinned again, it is what a resolve gives then. */
    struct instance *second = pin(container, "key");
    CHECK(second != first && second->kind == &replacement);
    CHECK_OK(svk_unregister(container, "key"));
    CHECK(first->magic == INSTANCE_LIVES && second->magic == INSTANCE_LIVES);
    CHECK_OK(svk_container_destroy(container));
    CHECK_EQ(kind.destroyed, 1);
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_GONE(&kind, 1);
    CHECK_GONE(&replacement, 1);
    CHECK(strstr(logged, "key") == NULL); /* given up is not still held */
    CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
  }
}

static void test_other_scopes(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  svk_scope *scope = NULL;
  MUST_OK(svk_scope_create("scope", &scope));
  static const int32_t refused[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_GRAPH, SVK_SCOPE_CUSTOM, SVK_SCOPE_DEFAULT };
  for (int i = 0; i < 4; i++) {
    svk_factory_options options = kind_options(&kind, refused[i]);
    options.custom_scope = scope;
    MUST_OK(kind_register_with(container, "key", NULL, &options));
    void *instance = &kind;
    CHECK_STATUS(svk_pin(container, "key", &instance), SVK_INVALID_ARGUMENT);
    CHECK(instance == NULL);
    CHECK_STR(svk_last_error(), "key");
  }
  CHECK_EQ(kind.asked, 0); /* nothing was built */
  CHECK_OK(svk_container_set_default_scope(container, SVK_SCOPE_CACHED));
  CHECK(pin(container, "key")->kind == &kind);
  void *instance = &kind;
  CHECK_STATUS(svk_pin(container, "nothing", &instance), SVK_NOT_FOUND);
  CHECK(instance == NULL);
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_scope_destroy(scope));
  CHECK_GONE(&kind, 1);
}

/* In a child: until the child ends. */
static void test_in_a_child(void) {
  svk_container *parent = new_container(), *child = new_child(parent);
  struct kind cached = { .name = NULL }, shared = { .name = NULL };
  MUST_OK(kind_register(parent, "cached", &cached, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(parent, "shared", &shared, SVK_SCOPE_SHARED));
  struct instance *pinned_cached = pin(child, "cached"), *pinned_shared = pin(child, "shared");
  CHECK(pin(parent, "cached") == pinned_cached);
  CHECK_OK(svk_container_destroy(child));
  CHECK_EQ(shared.destroyed, 1);
  CHECK_EQ(cached.destroyed, 0);
  pinned_shared = pin(parent, "shared");
  /* And the other way round: the parent ends first. */
  child = new_child(parent);
  CHECK(pin(child, "shared") == pinned_shared);
  CHECK(pin(child, "cached") == pinned_cached);
  CHECK_OK(svk_container_destroy(parent));
  CHECK_EQ(shared.destroyed, 1);
  CHECK_EQ(cached.destroyed, 0);
  CHECK(pinned_cached->magic == INSTANCE_LIVES && pinned_shared->magic == INSTANCE_LIVES);
  CHECK_OK(svk_container_destroy(child));
  CHECK_GONE(&shared, 2);
  CHECK_GONE(&cached, 1);
}

static void test_order(void) {
  svk_container *container = new_container();
  struct kind a = { .name = "a" }, b = { .name = "b", .needs = { "a" } },
              c = { .name = "c", .needs = { "b" } };
  MUST_OK(kind_register(container, "c", &c, SVK_SCOPE_SHARED));
  MUST_OK(kind_register(container, "b", &b, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "a", &a, SVK_SCOPE_SHARED));
  journal_clear();
  pin(container, "a");
  pin(container, "c");
  pin(container, "b");
  CHECK_JOURNAL("+a +b +c ");
  CHECK_OK(svk_container_destroy(container));
  CHECK_JOURNAL("+a +b +c -c -b -a ");
}

static void test_failures(void) {
  svk_container *container = new_container();
  struct kind failing = { .answer = SVK_FACTORY_ERROR_BASE + 2 };
  void *instance = &failing;
  MUST_OK(kind_register(container, "key", &failing, SVK_SCOPE_CACHED));
  CHECK_STATUS(svk_pin(container, "key", &instance), SVK_FACTORY_ERROR_BASE + 2);
  CHECK(instance == NULL);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&failing, 0);
}

/* From inside a factory. */
static svk_status pin_inside(svk_resolver *resolver, struct kind *kind) {
  void *instance = kind;
  CHECK_STATUS(svk_pin(svk_resolver_container(resolver), "high", &instance), SVK_CYCLE);
  CHECK(instance == NULL);
  CHECK(pin(svk_resolver_container(resolver), "low")->magic == INSTANCE_LIVES);
  return SVK_OK;
}

static void test_inside_a_factory(void) {
  svk_container *container = new_container();
  struct kind low = { .name = NULL }, high = { .on_create = pin_inside };
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_SHARED));
  MUST_OK(kind_register(container, "high", &high, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "high") == &high);
  CHECK_EQ(low.destroyed, 0);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&low, 1);
  CHECK_GONE(&high, 1);
}

struct storm {
  svk_container *container;
  int rounds;
};

static void pin_and_reset(int index, void *argument) {
  struct storm *storm = argument;
  for (int i = 0; i < storm->rounds; i++) {
    if (index == 0)
      CHECK_OK(svk_reset(storm->container, "key", SVK_RESET_SCOPES));
    struct instance *instance = pin(storm->container, "key");
    CHECK(instance->magic == INSTANCE_LIVES);
  }
}

static void test_storm(void) {
  struct storm storm = { new_container(), iterations(2000) };
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(storm.container, "key", &kind, SVK_SCOPE_CACHED));
  run_threads(4, pin_and_reset, &storm);
  CHECK_EQ(kind.destroyed, 0); /* each was built by a pin, which keeps it */
  CHECK_OK(svk_container_destroy(storm.container));
  CHECK_EQ(kind.built, kind.destroyed);
}

int main(void) {
  RUN(test_until_the_container_ends);
  RUN(test_other_scopes);
  RUN(test_in_a_child);
  RUN(test_order);
  RUN(test_failures);
  RUN(test_inside_a_factory);
  RUN(test_storm);
  return check_done();
}
