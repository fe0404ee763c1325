/* SVK_SCOPE_GRAPH: one instance per outermost resolve in progress on this thread. */
#include "factory.h"

static struct instance *at(svk_handle *handle) {
  struct instance *instance = svk_instance(handle);
  MUST(instance != NULL);
  return instance;
}

static void test_one_in_a_graph(void) {
  svk_container *container = new_container();
  struct kind leaf = { .name = "leaf" }, left = { .name = "left", .needs = { "leaf" } },
              right = { .name = "right", .needs = { "leaf" } },
              root = { .name = "root", .needs = { "left", "right", "leaf" } };
  MUST_OK(kind_register(container, "leaf", &leaf, SVK_SCOPE_GRAPH));
  MUST_OK(kind_register(container, "left", &left, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "right", &right, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "root", &root, SVK_SCOPE_UNIQUE));
  journal_clear();
  svk_handle *first = RESOLVE(container, "root"), *second = RESOLVE(container, "root");
  struct instance *a = at(first), *b = at(second);
  CHECK(a->needs[0]->needs[0] == a->needs[2]);
  CHECK(a->needs[1]->needs[0] == a->needs[2]);
  CHECK(b->needs[0]->needs[0] == b->needs[2]);
  CHECK(a->needs[2] != b->needs[2]);
  CHECK_EQ(leaf.built, 2);
  CHECK_JOURNAL("+leaf +left +right +root +leaf +left +right +root ");
  CHECK_OK(svk_release(second));
  CHECK_EQ(leaf.destroyed, 1);
  journal_clear();
  CHECK_OK(svk_release(first)); /* the root first, the leaf last */
  CHECK_EQ(leaf.destroyed, 2);
  CHECK_EQ(strncmp(journal_text, "-root ", 6), 0);
  CHECK_STR(journal_text, " -leaf ");
  CHECK_EQ(strlen(journal_text), strlen("-root -left -right -leaf "));
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&leaf, 2);
}

/* It is not kept beyond the graph, and does live as long as somebody in it. */
static void test_it_lives_with_its_graph(void) {
  svk_container *container = new_container();
  struct kind leaf = { .name = NULL }, keeper = { .needs = { "leaf" } },
              root = { .needs = { "keeper", "leaf" } };
  MUST_OK(kind_register(container, "leaf", &leaf, SVK_SCOPE_GRAPH));
  MUST_OK(kind_register(container, "keeper", &keeper, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "root", &root, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "root") == &root);
  CHECK_EQ(leaf.built, 1);
  CHECK_EQ(leaf.destroyed, 0); /* the cached one keeps it */
  CHECK(kind_of(container, "root") == &root);
  CHECK_EQ(leaf.built, 2);
  CHECK_EQ(leaf.destroyed, 1);
  CHECK(kind_of(container, "leaf") == &leaf);
  CHECK_EQ(leaf.built, 3);
  CHECK_EQ(leaf.destroyed, 2);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&leaf, 3);
}

/* svk_resolve in a factory is not outermost: it is the same graph. */
static svk_status resolve_inside(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  void *required = NULL;
  CHECK_OK(svk_require(resolver, "leaf", &required));
  svk_handle *handle = RESOLVE(svk_resolver_container(resolver), "leaf");
  CHECK(svk_instance(handle) == required);
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_require(resolver, "leaf", &required));
  return SVK_OK;
}

static void test_resolve_in_a_factory(void) {
  svk_container *container = new_container();
  struct kind leaf = { .name = NULL }, root = { .on_create = resolve_inside };
  MUST_OK(kind_register(container, "leaf", &leaf, SVK_SCOPE_GRAPH));
  MUST_OK(kind_register(container, "root", &root, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "root") == &root);
  CHECK_EQ(leaf.built, 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&leaf, 1);
}

/* Nor is one in a decorator, as long as the outermost resolve has not returned. */
static svk_container *decorated;
static void resolve_leaf(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)is_new, (void)user_data;
  if (strcmp(key, "root") != 0)
    return;
  svk_handle *handle = RESOLVE(decorated, "leaf");
  CHECK(svk_instance(handle) == (void *)((struct instance *)instance)->needs[0]);
  CHECK_OK(svk_release(handle));
}

static void test_resolve_in_a_decorator(void) {
  decorated = new_container();
  struct kind leaf = { .name = NULL }, root = { .needs = { "leaf" } };
  MUST_OK(kind_register(decorated, "leaf", &leaf, SVK_SCOPE_GRAPH));
  MUST_OK(kind_register(decorated, "root", &root, SVK_SCOPE_UNIQUE));
  CHECK_OK(svk_decorate(decorated, NULL, resolve_leaf, NULL, NULL));
  CHECK(kind_of(decorated, "root") == &root);
  CHECK_OK(svk_container_destroy(decorated));
  CHECK_GONE(&leaf, 1);
}

/* A failure in it leaves nothing; the others in the graph try again. */
static svk_status fails_once(svk_resolver *resolver, struct kind *kind) {
  (void)resolver;
  return kind->asked == 1 ? SVK_FACTORY_ERROR_BASE + 4 : SVK_OK;
}

static svk_status require_twice(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  void *instance = NULL, *again = NULL;
  CHECK_STATUS(svk_require(resolver, "leaf", &instance), SVK_FACTORY_ERROR_BASE + 4);
  CHECK_OK(svk_require(resolver, "leaf", &instance));
  CHECK_OK(svk_require(resolver, "leaf", &again));
  CHECK(instance == again);
  return SVK_OK;
}

static void test_failure_in_a_graph(void) {
  svk_container *container = new_container();
  struct kind leaf = { .on_create = fails_once }, root = { .on_create = require_twice };
  MUST_OK(kind_register(container, "leaf", &leaf, SVK_SCOPE_GRAPH));
  MUST_OK(kind_register(container, "root", &root, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "root") == &root);
  CHECK_EQ(leaf.asked, 2);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&leaf, 1);
}

/* If the outermost fails, the graph's instances are gone when it answers. */
static void test_failure_of_the_outermost(void) {
  svk_container *container = new_container();
  struct kind leaf = { .name = NULL }, root = { .needs = { "leaf" }, .answer = SVK_FACTORY_ERROR_BASE };
  svk_handle *handle = NULL;
  MUST_OK(kind_register(container, "leaf", &leaf, SVK_SCOPE_GRAPH));
  MUST_OK(kind_register(container, "root", &root, SVK_SCOPE_UNIQUE));
  CHECK_STATUS(svk_resolve(container, "root", &handle), SVK_FACTORY_ERROR_BASE);
  CHECK_EQ(leaf.built, 1);
  CHECK_EQ(leaf.destroyed, 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&leaf, 1);
}

/* Each thread has its own graphs. */
struct storm {
  svk_container *container;
  int rounds;
};

static void resolve_graphs(int index, void *argument) {
  (void)index;
  struct storm *storm = argument;
  for (int i = 0; i < storm->rounds; i++) {
    svk_handle *handle = RESOLVE(storm->container, "root");
    struct instance *root = at(handle);
    CHECK(root->needs[0]->needs[0] == root->needs[1]);
    CHECK_OK(svk_release(handle));
  }
}

static void test_threads(void) {
  enum { THREADS = 4 };
  struct storm storm = { new_container(), iterations(10000) };
  struct kind leaf = { .name = NULL }, middle = { .needs = { "leaf" } },
              root = { .needs = { "middle", "leaf" } };
  MUST_OK(kind_register(storm.container, "leaf", &leaf, SVK_SCOPE_GRAPH));
  MUST_OK(kind_register(storm.container, "middle", &middle, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(storm.container, "root", &root, SVK_SCOPE_UNIQUE));
  run_threads(THREADS, resolve_graphs, &storm);
  CHECK_EQ(leaf.built, THREADS * storm.rounds);
  CHECK_EQ(leaf.destroyed, leaf.built);
  CHECK_OK(svk_container_destroy(storm.container));
  CHECK_GONE(&root, THREADS * storm.rounds);
}

/* One for each parameter, where the registration says so; else the first one's. */
static svk_status require_with_parameters(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  void *a = NULL, *b = NULL, *again = NULL;
  CHECK_OK(svk_require_with(resolver, "by-parameter", "a", 1, &a));
  CHECK_OK(svk_require_with(resolver, "by-parameter", "b", 1, &b));
  CHECK_OK(svk_require_with(resolver, "by-parameter", "a", 1, &again));
  CHECK(a != b);
  CHECK(a == again);
  CHECK_OK(svk_require_with(resolver, "plain", "a", 1, &a));
  CHECK_OK(svk_require_with(resolver, "plain", "b", 1, &b));
  CHECK(a == b);
  return SVK_OK;
}

static void test_parameters(void) {
  svk_container *container = new_container();
  struct kind by_parameter = { .name = NULL }, plain = { .name = NULL },
              root = { .on_create = require_with_parameters };
  svk_factory_options options = kind_options(&by_parameter, SVK_SCOPE_GRAPH);
  options.flags = SVK_FACTORY_CACHE_BY_PARAMETER;
  MUST_OK(kind_register_with(container, "by-parameter", NULL, &options));
  MUST_OK(kind_register(container, "plain", &plain, SVK_SCOPE_GRAPH));
  MUST_OK(kind_register(container, "root", &root, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "root") == &root);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&by_parameter, 2);
  CHECK_GONE(&plain, 1);
}

int main(void) {
  RUN(test_one_in_a_graph);
  RUN(test_it_lives_with_its_graph);
  RUN(test_resolve_in_a_factory);
  RUN(test_resolve_in_a_decorator);
  RUN(test_failure_in_a_graph);
  RUN(test_failure_of_the_outermost);
  RUN(test_threads);
  RUN(test_parameters);
  return check_done();
}
