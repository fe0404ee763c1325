/* Cycles on one thread: SVK_CYCLE with the path in words. And what is none. */
#include "factory.h"

#define ARROW " \xe2\x86\x92 "

static void check_cycle(svk_container *container, const char *key, const char *path) {
  svk_handle *handle = (svk_handle *)container;
  CHECK_STATUS(svk_resolve(container, key, &handle), SVK_CYCLE);
  CHECK(handle == NULL);
  CHECK_STR(svk_last_error(), path);
}

static const int32_t all_scopes[] = { SVK_SCOPE_UNIQUE,    SVK_SCOPE_CACHED, SVK_SCOPE_SHARED,
                                      SVK_SCOPE_SINGLETON, SVK_SCOPE_GRAPH,  SVK_SCOPE_CUSTOM };
enum { ALL_SCOPES = sizeof all_scopes / sizeof *all_scopes };

static void test_of_each_length(void) {
  svk_scope *scope = NULL;
  MUST_OK(svk_scope_create("scope", &scope));
  for (int s = 0; s < ALL_SCOPES; s++) {
    svk_container *container = new_container();
    struct kind self = { .needs = { "self" } }, a = { .needs = { "b" } }, b = { .needs = { "c" } },
                c = { .needs = { "a" } }, outside = { .needs = { "leaf", "b" } }, leaf = { .name = NULL };
    struct {
      const char *key;
      struct kind *kind;
    } rows[] = { { "self", &self },       { "a", &a },      { "b", &b }, { "c", &c },
                 { "outside", &outside }, { "leaf", &leaf } };
    for (int i = 0; i < 6; i++) {
      svk_factory_options options = kind_options(rows[i].kind, all_scopes[s]);
      options.custom_scope = scope;
      MUST_OK(kind_register_with(container, rows[i].key, NULL, &options));
    }
    for (int round = 0; round < 2; round++) {
      check_cycle(container, "self", "self" ARROW "self");
      check_cycle(container, "a", "a" ARROW "b" ARROW "c" ARROW "a");
      check_cycle(container, "b", "b" ARROW "c" ARROW "a" ARROW "b");
      check_cycle(container, "outside", "b" ARROW "c" ARROW "a" ARROW "b");
    }
    CHECK(kind_of(container, "leaf") == &leaf); /* it is in none */
    CHECK_EQ(a.built + b.built + c.built + self.built + outside.built, 0);
    /* The cycle is cut: all is well at once. */
    c.needs[0] = NULL;
    CHECK(kind_of(container, "outside") == &outside);
    CHECK(kind_of(container, "a") == &a);
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_EQ(a.built, a.destroyed);
    CHECK_EQ(c.built, c.destroyed);
    CHECK_EQ(leaf.built, leaf.destroyed);
  }
  CHECK_OK(svk_scope_destroy(scope));
}

/* svk_resolve in a factory takes part in the same way. */
static svk_status resolve_context(svk_resolver *resolver, struct kind *kind) {
  svk_handle *handle = (svk_handle *)kind;
  svk_status status = svk_resolve(svk_resolver_container(resolver), kind->context, &handle);
  if (status == SVK_OK)
    CHECK_OK(svk_release(handle));
  else
    CHECK(handle == NULL);
  return status;
}

static void test_through_resolve(void) {
  for (int s = 0; s < ALL_SCOPES - 1; s++) {
    svk_container *container = new_container();
    struct kind a = { .on_create = resolve_context, .context = (char[]){ "b" } },
                b = { .on_create = resolve_context, .context = (char[]){ "c" } }, c = { .needs = { "a" } };
    MUST_OK(kind_register(container, "a", &a, all_scopes[s]));
    MUST_OK(kind_register(container, "b", &b, all_scopes[s]));
    MUST_OK(kind_register(container, "c", &c, all_scopes[s]));
    check_cycle(container, "a", "a" ARROW "b" ARROW "c" ARROW "a");
    void *pinned = container;
    if (s >= 1 && s <= 3) {
      CHECK_STATUS(svk_pin(container, "c", &pinned), SVK_CYCLE);
      CHECK(pinned == NULL);
      CHECK_STR(svk_last_error(), "c" ARROW "a" ARROW "b" ARROW "c");
    }
    CHECK_OK(svk_container_destroy(container));
    CHECK_GONE(&a, 0);
  }
}

/* Round through another callback that runs inside the factory: still the same thread that builds. */
static svk_container *around;
static void resolve_a(void) {
  svk_handle *handle = (svk_handle *)&handle;
  CHECK_STATUS(svk_resolve(around, "a", &handle), SVK_CYCLE);
  CHECK(handle == NULL);
  CHECK_STR(svk_last_error(), "a" ARROW "a");
}
static void resolve_in_decorator(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)instance, (void)is_new, (void)user_data;
  if (strcmp(key, "low") == 0)
    resolve_a();
}
static void resolve_in_trace(const svk_trace_event *event, void *user_data) {
  (void)user_data;
  if (strcmp(event->key, "low") == 0)
    resolve_a();
}
static void resolve_in_destroy(struct instance *instance) {
  (void)instance;
  resolve_a();
}
static void resolve_in_free(void *user_data) {
  (void)user_data;
  resolve_a();
}
static svk_status call_back(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  CHECK_OK(svk_release(RESOLVE(svk_resolver_container(resolver), "low")));
  CHECK_OK(svk_decorate(around, "free", resolve_in_decorator, NULL, resolve_in_free));
  CHECK_OK(svk_decorate(around, "free", NULL, NULL, NULL));
  return SVK_OK;
}

static void test_through_callbacks(void) {
  for (int s = 0; s < ALL_SCOPES - 1; s++) {
    around = new_container();
    struct kind low = { .on_destroy = resolve_in_destroy }, a = { .on_create = call_back };
    MUST_OK(kind_register(around, "low", &low, SVK_SCOPE_UNIQUE));
    MUST_OK(kind_register(around, "a", &a, all_scopes[s]));
    CHECK_OK(svk_decorate(around, NULL, resolve_in_decorator, NULL, NULL));
    CHECK_OK(svk_container_set_trace(around, resolve_in_trace, NULL, NULL));
    CHECK(kind_of(around, "a") == &a);
    CHECK_OK(svk_container_destroy(around));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_GONE(&low, 1);
    CHECK_GONE(&a, 1);
  }
}

/* Round through a parent. */
static void test_through_a_parent(void) {
  svk_container *parent = new_container(), *child = new_child(parent);
  struct kind a = { .needs = { "b" } }, b = { .needs = { "a" } };
  MUST_OK(kind_register(parent, "a", &a, SVK_SCOPE_UNIQUE)); /* built with the child's registrations */
  MUST_OK(kind_register(child, "b", &b, SVK_SCOPE_UNIQUE));
  check_cycle(child, "a", "a" ARROW "b" ARROW "a");
  check_cycle(child, "b", "b" ARROW "a" ARROW "b");
  svk_handle *handle = NULL;
  CHECK_STATUS(svk_resolve(parent, "a", &handle), SVK_NOT_FOUND); /* asked for there, it has no "b" */
  CHECK_STR(svk_last_error(), "b");
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(parent));
  CHECK_GONE(&a, 0);
}

/* The same name in another container is no cycle. */
static svk_status resolve_in_other(svk_resolver *resolver, struct kind *kind) {
  (void)resolver;
  svk_handle *handle = NULL;
  svk_status status = svk_resolve(kind->context, "key", &handle);
  if (status == SVK_OK)
    CHECK_OK(svk_release(handle));
  return status;
}

static void test_the_same_name_elsewhere(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_GRAPH };
  for (int s = 0; s < 4; s++) {
    svk_container *one = new_container(), *two = new_container(), *parent = new_container(),
                  *child = new_child(parent);
    struct kind of_one = { .on_create = resolve_in_other, .context = two },
                of_two = { .on_create = resolve_in_other, .context = child },
                of_child = { .on_create = resolve_in_other, .context = parent }, of_parent = { .name = NULL };
    MUST_OK(kind_register(one, "key", &of_one, scopes[s]));
    MUST_OK(kind_register(two, "key", &of_two, scopes[s]));
    MUST_OK(kind_register(child, "key", &of_child, scopes[s]));
    MUST_OK(kind_register(parent, "key", &of_parent, scopes[s]));
    CHECK(kind_of(one, "key") == &of_one);
    CHECK_EQ(of_parent.built, 1);
    /* But round and back to the first container it is one. */
    of_parent.on_create = resolve_in_other;
    of_parent.context = one;
    svk_container *const all[] = { one, two, child, parent };
    for (int i = 0; i < 4; i++)
      CHECK_OK(svk_container_reset(all[i], SVK_RESET_SCOPES));
    check_cycle(one, "key", "key" ARROW "key");
    check_cycle(child, "key", "key" ARROW "key");
    CHECK_OK(svk_container_destroy(child));
    CHECK_OK(svk_container_destroy(parent));
    CHECK_OK(svk_container_destroy(two));
    CHECK_OK(svk_container_destroy(one));
    CHECK_EQ(of_one.built, of_one.destroyed);
    CHECK_EQ(of_parent.built, of_parent.destroyed);
  }
}

/* A singleton is one in the process, so asking another container for it is a cycle all the same. */
static void test_singletons_elsewhere(void) {
  svk_container *one = new_container(), *two = new_container();
  struct kind of_one = { .on_create = resolve_in_other, .context = two }, of_two = { .name = NULL };
  MUST_OK(kind_register(one, "key", &of_one, SVK_SCOPE_SINGLETON));
  MUST_OK(kind_register(two, "key", &of_two, SVK_SCOPE_SINGLETON));
  check_cycle(one, "key", "key" ARROW "key");
  CHECK(kind_of(two, "key") == &of_two);
  CHECK(kind_of(one, "key") == &of_two);
  CHECK_OK(svk_singleton_reset(NULL));
  CHECK_OK(svk_container_destroy(one));
  CHECK_OK(svk_container_destroy(two));
}

/* A factory that asks for its own key with another parameter is no cycle; with the same one it is. */
static svk_status count_down(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  const void *data = NULL;
  size_t size = 0;
  void *instance = NULL;
  int n = 0;
  CHECK_OK(svk_resolver_parameter(resolver, &data, &size));
  if (size == sizeof n)
    memcpy(&n, data, sizeof n);
  if (n == -1) /* the same once more */
    return svk_require_with(resolver, "key", &n, sizeof n, &instance);
  if (n == 0)
    return SVK_OK;
  n--;
  svk_status status = svk_require_with(resolver, "key", &n, sizeof n, &instance);
  CHECK((instance != NULL) == (status == SVK_OK));
  return status;
}

static void test_parameters(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED,    SVK_SCOPE_SHARED,
                                    SVK_SCOPE_GRAPH,  SVK_SCOPE_SINGLETON, SVK_SCOPE_UNIQUE };
  for (int s = 0; s < 6; s++) {
    svk_container *container = new_container();
    struct kind kind = { .on_create = count_down };
    svk_factory_options options = kind_options(&kind, scopes[s]);
    options.flags = s < 5 ? SVK_FACTORY_CACHE_BY_PARAMETER : 0;
    MUST_OK(kind_register_with(container, "key", NULL, &options));
    svk_handle *handle = NULL;
    int n = 50;
    CHECK_OK(svk_resolve_with(container, "key", &n, sizeof n, &handle));
    CHECK_EQ(kind.built, 51);
    CHECK_OK(svk_release(handle));
    n = -1;
    CHECK_STATUS(svk_resolve_with(container, "key", &n, sizeof n, &handle), SVK_CYCLE);
    CHECK_STR(svk_last_error(), "key" ARROW "key");
    CHECK(handle == NULL);
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_GONE(&kind, 51);
  }
}

/* Also where the parameter takes no part in the cache: no cycle, no hang. */
static void test_parameters_outside_the_cache(void) {
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_GRAPH,
                                    SVK_SCOPE_SINGLETON };
  for (int s = 0; s < 4; s++) {
    svk_container *container = new_container();
    struct kind kind = { .on_create = count_down };
    MUST_OK(kind_register(container, "key", &kind, scopes[s]));
    svk_handle *handle = NULL;
    int n = 3;
    CHECK_OK(svk_resolve_with(container, "key", &n, sizeof n, &handle));
    CHECK_OK(svk_release(handle));
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_EQ(kind.built, kind.destroyed);
    CHECK_EQ(kind.freed, 1);
  }
}

/* A diamond is no cycle, nor is a key required twice, nor a deep chain. */
static void test_no_false_alarm(void) {
  enum { DEPTH = 300 };
  for (int s = 0; s < ALL_SCOPES - 1; s++) {
    svk_container *container = new_container();
    struct kind a = { .name = NULL }, b = { .needs = { "a" } }, c = { .needs = { "a", "b" } },
                d = { .needs = { "c", "b", "a", "c" } };
    MUST_OK(kind_register(container, "a", &a, all_scopes[s]));
    MUST_OK(kind_register(container, "b", &b, all_scopes[s]));
    MUST_OK(kind_register(container, "c", &c, all_scopes[s]));
    MUST_OK(kind_register(container, "d", &d, all_scopes[s]));
    CHECK(kind_of(container, "d") == &d);
    static struct kind chain[DEPTH];
    static char names[DEPTH][16];
    memset(chain, 0, sizeof chain);
    for (int i = 0; i < DEPTH; i++) {
      snprintf(names[i], sizeof names[i], "chain-%d", i);
      if (i > 0)
        chain[i].needs[0] = names[i - 1];
      MUST_OK(kind_register(container, names[i], &chain[i], all_scopes[s]));
    }
    CHECK(kind_of(container, names[DEPTH - 1]) == &chain[DEPTH - 1]);
    chain[0].needs[0] = names[DEPTH - 1];
    CHECK_OK(svk_container_reset(container, SVK_RESET_SCOPES));
    CHECK_OK(svk_singleton_reset(NULL));
    svk_handle *handle = NULL;
    CHECK_STATUS(svk_resolve(container, names[DEPTH / 2], &handle), SVK_CYCLE); /* a very long one */
    CHECK_STR(svk_last_error(), names[DEPTH / 2]);
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_EQ(d.built, d.destroyed);
    CHECK_EQ(chain[0].built, chain[0].destroyed);
  }
}

/* Long keys: the path is in words all the same, or a part of it. */
static void test_long_keys(void) {
  svk_container *container = new_container();
  static char x[256], y[256];
  memset(x, 'x', 255);
  memset(y, 'y', 255);
  struct kind kind_x = { .needs = { y } }, kind_y = { .needs = { x } };
  MUST_OK(kind_register(container, x, &kind_x, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, y, &kind_y, SVK_SCOPE_CACHED));
  svk_handle *handle = NULL;
  CHECK_STATUS(svk_resolve(container, x, &handle), SVK_CYCLE);
  CHECK_STR(svk_last_error(), x);
  CHECK_OK(svk_container_destroy(container));
}

int main(void) {
  RUN(test_of_each_length);
  RUN(test_through_resolve);
  RUN(test_through_callbacks);
  RUN(test_through_a_parent);
  RUN(test_the_same_name_elsewhere);
  RUN(test_singletons_elsewhere);
  RUN(test_parameters);
  RUN(test_parameters_outside_the_cache);
  RUN(test_no_false_alarm);
  RUN(test_long_keys);
  return check_done();
}
