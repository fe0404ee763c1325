/* time_to_live_ns. Nothing here sleeps: it watches the clock, and judges only by what the clock says for
 * certain. */
#include "factory.h"
#include <time.h>

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Until `ns` have certainly passed. */
static void pass(uint64_t ns) {
  uint64_t end = now() + ns;
  while (now() <= end)
    continue;
}

enum { SHORT = 1000000, LONGER = 20000000 }; /* 1 ms, 20 ms */
static const uint64_t HOUR = 3600000000000u;

static void register_ttl(svk_container *container, struct kind *kind, int32_t scope, uint64_t ttl) {
  svk_factory_options options = kind_options(kind, scope);
  options.time_to_live_ns = ttl;
  MUST_OK(kind_register_with(container, "key", NULL, &options));
}

static void test_too_old(void) {
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SINGLETON };
  for (int i = 0; i < 2; i++) {
    svk_container *container = new_container();
    struct kind kind = { .name = NULL };
    register_ttl(container, &kind, scopes[i], SHORT);
    CHECK(kind_of(container, "key") == &kind);
    CHECK_EQ(kind.built, 1);
    pass(LONGER);
    CHECK(kind_of(container, "key") == &kind);
    CHECK_EQ(kind.built, 2);
    CHECK_EQ(kind.destroyed, 1); /* nobody held it */
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_GONE(&kind, 2);
  }
}

static void test_too_old_and_held(void) {
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_SINGLETON };
  for (int i = 0; i < 3; i++) {
    svk_container *container = new_container();
    struct kind kind = { .name = NULL };
    register_ttl(container, &kind, scopes[i], SHORT);
    svk_handle *old = RESOLVE(container, "key");
    pass(LONGER);
    svk_handle *fresh = RESOLVE(container, "key");
    CHECK(svk_instance(old) != svk_instance(fresh));
    CHECK_EQ(kind.destroyed, 0);
    struct instance *instance = svk_instance(old);
    CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
    CHECK_OK(svk_release(old));
    CHECK_EQ(kind.destroyed, 1);
    CHECK_OK(svk_release(fresh));
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_GONE(&kind, 2);
  }
}

static void test_still_good(void) {
  static const uint64_t ttls[] = {
    0, 3600000000000u, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX - 1, UINT64_MAX
  };
  for (size_t i = 0; i < sizeof ttls / sizeof *ttls; i++) {
    svk_container *container = new_container();
    struct kind kind = { .name = NULL };
    register_ttl(container, &kind, SVK_SCOPE_CACHED, ttls[i]);
    CHECK(kind_of(container, "key") == &kind);
    pass(LONGER);
    CHECK(kind_of(container, "key") == &kind);
    CHECK_EQ(kind.built, 1);
    CHECK_OK(svk_container_destroy(container));
    CHECK_GONE(&kind, 1);
  }
}

/* Unique and graph instances are not kept, so not by time either. */
static void test_no_effect_on_unique_and_graph(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_GRAPH };
  for (int i = 0; i < 2; i++) {
    svk_container *container = new_container();
    struct kind kind = { .name = NULL };
    register_ttl(container, &kind, scopes[i], HOUR);
    svk_handle *first = RESOLVE(container, "key"), *second = RESOLVE(container, "key");
    CHECK(svk_instance(first) != svk_instance(second));
    CHECK_OK(svk_release(first));
    CHECK_EQ(kind.destroyed, 1);
    CHECK_OK(svk_release(second));
    CHECK_OK(svk_container_destroy(container));
    CHECK_GONE(&kind, 2);
  }
}

/* In one graph, however long the factories take. */
static svk_status take_time(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  void *first = NULL, *second = NULL;
  CHECK_OK(svk_require(resolver, "key", &first));
  pass(LONGER);
  CHECK_OK(svk_require(resolver, "key", &second));
  CHECK(first == second);
  return SVK_OK;
}

static void test_no_effect_within_a_graph(void) {
  svk_container *container = new_container();
  struct kind leaf = { .name = NULL }, root = { .on_create = take_time };
  register_ttl(container, &leaf, SVK_SCOPE_GRAPH, SHORT);
  MUST_OK(kind_register(container, "root", &root, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "root") == &root);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&leaf, 1);
}

/* Each hit starts the time anew: hits that come often enough keep it for ever. */
static void test_hits_keep_it(void) {
  enum { TTL = 300000000 }; /* 300 ms; asked for three times as long */
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  register_ttl(container, &kind, SVK_SCOPE_CACHED, TTL);
  int built = 0, certain = 0;
  uint64_t before_last = 0, start = now();
  while (now() < start + 3 * (uint64_t)TTL) {
    uint64_t before = now();
    svk_handle *handle = RESOLVE(container, "key");
    uint64_t after = now();
    CHECK_OK(svk_release(handle));
    /* From before the last hit until after this one less than the time to live: it must have been kept. */
    if (before_last != 0 && after - before_last < TTL) {
      CHECK_EQ(kind.built, built);
      certain++;
    }
    built = kind.built;
    before_last = before;
    pass(5000000);
  }
  CHECK(certain > 0);
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(kind.built, kind.destroyed);
}

/* Found too old by many threads at once: one of them builds, the others wait for that. */
struct rush {
  svk_container *container;
  struct instance *seen[6];
};

static void rush_in(int index, void *argument) {
  struct rush *rush = argument;
  svk_handle *handle = RESOLVE(rush->container, "key");
  rush->seen[index] = svk_instance(handle);
  CHECK_OK(svk_release(handle));
}

static void test_renewed_once(void) {
  enum { TTL = 100000000 }; /* 100 ms */
  struct rush rush = { .container = new_container() };
  struct kind kind = { .name = NULL };
  register_ttl(rush.container, &kind, SVK_SCOPE_CACHED, TTL);
  for (int round = 1; round <= 3; round++) {
    int before = kind.built;
    uint64_t start = now();
    run_threads(6, rush_in, &rush);
    if (now() - start < TTL) { /* else the new one may have become too old, too */
      CHECK_EQ(kind.built, before + 1);
      for (int i = 1; i < 6; i++)
        CHECK(rush.seen[i] == rush.seen[0]);
    }
    pass(TTL + SHORT);
  }
  CHECK_OK(svk_container_destroy(rush.container));
  CHECK_EQ(kind.built, kind.destroyed);
}

/* A time to live for each parameter. */
static void test_by_parameter(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  svk_factory_options options = kind_options(&kind, SVK_SCOPE_CACHED);
  options.flags = SVK_FACTORY_CACHE_BY_PARAMETER;
  options.time_to_live_ns = SHORT;
  MUST_OK(kind_register_with(container, "key", NULL, &options));
  for (int round = 1; round <= 2; round++) {
    for (int i = 0; i < 3; i++) {
      svk_handle *handle = NULL;
      CHECK_OK(svk_resolve_with(container, "key", &i, sizeof i, &handle));
      CHECK_OK(svk_release(handle));
    }
    CHECK_EQ(kind.built, round * 3);
    CHECK_EQ(kind.destroyed, (round - 1) * 3);
    pass(LONGER);
  }
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 6);
}

/* Instances that are always too old, on several threads: all that is built is destroyed. */
struct storm {
  svk_container *container;
  int rounds;
};

static void resolve_old(int index, void *argument) {
  (void)index;
  struct storm *storm = argument;
  for (int i = 0; i < storm->rounds; i++) {
    svk_handle *handle = RESOLVE(storm->container, "key");
    CHECK_OK(svk_release(handle));
  }
}

static void test_storm(void) {
  struct storm storm = { .container = new_container(), .rounds = iterations(20000) };
  struct kind kind = { .name = NULL };
  register_ttl(storm.container, &kind, SVK_SCOPE_CACHED, 1);
  run_threads(4, resolve_old, &storm);
  CHECK(kind.built > 1);
  CHECK_OK(svk_container_destroy(storm.container));
  CHECK_EQ(kind.built, kind.destroyed);
  CHECK_EQ(kind.freed, 1);
}

int main(void) {
  RUN(test_too_old);
  RUN(test_too_old_and_held);
  RUN(test_still_good);
  RUN(test_no_effect_on_unique_and_graph);
  RUN(test_no_effect_within_a_graph);
  RUN(test_hits_keep_it);
  RUN(test_renewed_once);
  RUN(test_by_parameter);
  RUN(test_storm);
  return check_done();
}
