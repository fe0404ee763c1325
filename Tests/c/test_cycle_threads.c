/* Cycles across threads that wait for each other: SVK_CYCLE for every thread in it, never a hang, no false
 * alarm. */
#include "factory.h"

#define ARROW " \xe2\x86\x92 "
enum { RING_MAX = 4 };

/* A ring of keys, each of which requires the next: one thread begins at each of them, and waits in its
   factory until all the others are in theirs. */
struct ring {
  int length, ignore; /* ignore: the factories go on without what they cannot have */
  svk_container *containers[RING_MAX];
  struct kind kinds[RING_MAX];
  pthread_barrier_t inside;
  int way; /* how a factory asks for the next one */
  _Atomic int arrived[RING_MAX];
};

enum { REQUIRE, RESOLVE_IT, IN_ANOTHER_CONTAINER, IN_A_DECORATOR, IN_A_DESTROY, WAYS };

static const char *const names[] = { "a", "b", "c", "d" };

static struct ring *current;

/* The status of the innermost call, from inside a callback inside the factory. */
static _Thread_local svk_status inner_status;
static _Thread_local int inner_next;

static svk_status resolve_next(int following) {
  svk_handle *handle = NULL;
  svk_status status = svk_resolve(current->containers[following], names[following], &handle);
  if (status == SVK_OK)
    CHECK_OK(svk_release(handle));
  else
    CHECK(handle == NULL);
  return status;
}

static void decorate_helper(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)instance, (void)key, (void)is_new, (void)user_data;
  inner_status = resolve_next(inner_next);
}

static void destroy_helper(struct instance *instance) {
  (void)instance;
  inner_status = resolve_next(inner_next);
}

static svk_status require_next(svk_resolver *resolver, struct kind *kind) {
  struct ring *ring = current;
  int index = (int)(kind - ring->kinds), following = (index + 1) % ring->length;
  if (atomic_exchange(&ring->arrived[index], 1) == 0)
    pthread_barrier_wait(&ring->inside);
  svk_status status = SVK_OK;
  void *instance = kind;
  switch (ring->way) {
  case REQUIRE:
    status = svk_require(resolver, names[following], &instance);
    CHECK(status == SVK_OK || instance == NULL);
    break;
  case IN_A_DECORATOR:
  case IN_A_DESTROY:
    inner_next = following;
    CHECK_OK(svk_release(RESOLVE(ring->containers[index], "helper")));
    status = inner_status;
    break;
  default:
    status = resolve_next(following);
  }
  CHECK_STATUS(status, SVK_CYCLE);
  return ring->ignore ? SVK_OK : status;
}

/* Some rotation of the ring's path. */
static int has_path(const struct ring *ring, const char *text) {
  for (int first = 0; first < ring->length; first++) {
    char path[128];
    snprintf(path, sizeof path, "%s", names[first]);
    for (int i = 1; i <= ring->length; i++) {
      size_t used = strlen(path);
      snprintf(path + used, sizeof path - used, ARROW "%s", names[(first + i) % ring->length]);
    }
    if (strstr(text, path) != NULL)
      return 1;
  }
  return 0;
}

static void begin_at(int index, void *argument) {
  struct ring *ring = argument;
  svk_handle *handle = (svk_handle *)ring;
  svk_status status = svk_resolve(ring->containers[index], names[index], &handle);
  if (ring->ignore) {
    CHECK_STATUS(status, SVK_OK);
    CHECK_OK(svk_release(handle));
  } else {
    CHECK_STATUS(status, SVK_CYCLE);
    CHECK(handle == NULL);
  }
  if (!CHECK(has_path(ring, svk_last_error())))
    fprintf(stderr, "  %s\n", svk_last_error());
}

static void check_ring(int length, int32_t scope, int ignore, int way) {
  struct ring ring;
  struct kind helper = { .on_destroy = way == IN_A_DESTROY ? destroy_helper : NULL };
  memset(&ring, 0, sizeof ring);
  ring.length = length;
  ring.ignore = ignore;
  ring.way = way;
  svk_container *container = new_container();
  MUST_OK(kind_register(container, "helper", &helper, SVK_SCOPE_UNIQUE));
  if (way == IN_A_DECORATOR)
    CHECK_OK(svk_decorate(container, "helper", decorate_helper, NULL, NULL));
  pthread_barrier_init(&ring.inside, NULL, (unsigned)length);
  current = &ring;
  for (int i = 0; i < length; i++) {
    ring.containers[i] = way == IN_ANOTHER_CONTAINER ? new_container() : container;
    ring.kinds[i].on_create = require_next;
    MUST_OK(kind_register(ring.containers[i], names[i], &ring.kinds[i], scope));
  }
  run_threads(length, begin_at, &ring);
  /* Nothing is left of it: cut, the ring works. */
  for (int i = 0; i < length; i++) {
    CHECK_EQ(ring.kinds[i].built, ignore);
    ring.kinds[i].on_create = NULL;
  }
  for (int i = 0; i < length; i++)
    CHECK(kind_of(ring.containers[i], names[i]) == &ring.kinds[i]);
  for (int i = 0; i < length && way == IN_ANOTHER_CONTAINER; i++)
    CHECK_OK(svk_container_destroy(ring.containers[i]));
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_singleton_reset(NULL));
  for (int i = 0; i < length; i++) {
    CHECK_EQ(ring.kinds[i].built, ring.kinds[i].destroyed);
    CHECK_EQ(ring.kinds[i].freed, 1);
  }
  pthread_barrier_destroy(&ring.inside);
}

static void check_rings(int length, int ignore) {
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_SINGLETON };
  for (int round = 0; round < iterations(40); round++)
    for (int s = 0; s < 3; s++)
      for (int way = 0; way < WAYS; way++)
        check_ring(length, scopes[s], ignore, way);
}

static void test_two_threads(void) { check_rings(2, 0); }
static void test_three_threads(void) { check_rings(3, 0); }
static void test_four_threads(void) { check_rings(4, 0); }
static void test_two_that_go_on_without(void) { check_rings(2, 1); }
static void test_three_that_go_on_without(void) { check_rings(3, 1); }

/* Without a handshake: begun anywhere at any moment, it is a cycle, on however many threads it comes to be.
 */
struct storm {
  svk_container *container;
  int keys, rounds;
  char (*names)[16];
  svk_status expected;
};

static void resolve_round(int index, void *argument) {
  struct storm *storm = argument;
  for (int i = 0; i < storm->rounds; i++) {
    svk_handle *handle = NULL;
    CHECK_STATUS(svk_resolve(storm->container, storm->names[(index + i) % storm->keys], &handle),
                 storm->expected);
    if (handle != NULL)
      CHECK_OK(svk_release(handle));
  }
}

static void test_rings_at_any_moment(void) {
  enum { KEYS = 5 };
  static char storm_names[KEYS][16];
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_SINGLETON,
                                    SVK_SCOPE_UNIQUE };
  for (int s = 0; s < 4; s++) {
    struct storm storm = { new_container(), KEYS, iterations(2000), storm_names, SVK_CYCLE };
    struct kind kinds[KEYS];
    memset(kinds, 0, sizeof kinds);
    for (int i = 0; i < KEYS; i++)
      snprintf(storm_names[i], sizeof storm_names[i], "ring-%d", i);
    for (int i = 0; i < KEYS; i++) {
      kinds[i].needs[0] = storm_names[(i + 1) % KEYS];
      MUST_OK(kind_register(storm.container, storm_names[i], &kinds[i], scopes[s]));
    }
    run_threads(4, resolve_round, &storm);
    CHECK_OK(svk_container_destroy(storm.container));
    for (int i = 0; i < KEYS; i++)
      CHECK_GONE(&kinds[i], 0);
  }
}

/* Threads that wait for each other's keys without a cycle: everything is built once, and nothing is refused.
 */
static void test_no_false_alarm(void) {
  enum { KEYS = 24 };
  static char storm_names[KEYS][16];
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SINGLETON, SVK_SCOPE_CUSTOM };
  unsigned seed = 1;
  svk_scope *scope = NULL;
  MUST_OK(svk_scope_create("scope", &scope));
  for (int i = 0; i < KEYS; i++)
    snprintf(storm_names[i], sizeof storm_names[i], "dag-%d", i);
  for (int round = 0; round < iterations(600); round++) {
    struct storm storm = { new_container(), KEYS, KEYS, storm_names, SVK_OK };
    struct kind kinds[KEYS];
    memset(kinds, 0, sizeof kinds);
    for (int i = 0; i < KEYS; i++) {
      for (int n = 0; n < NEEDS_MAX && i > 0; n++) /* only lower ones */
        kinds[i].needs[n] = storm_names[rand_r(&seed) % i];
      svk_factory_options options = kind_options(&kinds[i], scopes[round % 3]);
      options.custom_scope = scope;
      MUST_OK(kind_register_with(storm.container, storm_names[i], NULL, &options));
    }
    run_threads(4, resolve_round, &storm);
    CHECK_OK(svk_container_destroy(storm.container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_OK(svk_scope_reset(scope));
    for (int i = 0; i < KEYS; i++)
      CHECK_GONE(&kinds[i], 1);
  }
  CHECK_OK(svk_scope_destroy(scope));
}

/* Two containers whose factories ask for the same two names in opposite order: no cycle. */
static struct counter both_inside = COUNTER_INIT;
struct crossing {
  svk_container *containers[2];
  struct kind kinds[2][2];
};
static struct crossing *crossing;

static svk_status require_own(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  counter_add(&both_inside, 1);
  counter_wait(&both_inside, 2);
  void *instance = NULL;
  CHECK_OK(svk_require(resolver, svk_resolver_container(resolver) == crossing->containers[0] ? "b" : "a",
                       &instance));
  return SVK_OK;
}

static void cross(int index, void *argument) {
  struct crossing *both = argument;
  svk_handle *handle = RESOLVE(both->containers[index], index == 0 ? "a" : "b");
  CHECK_OK(svk_release(handle));
}

static void test_the_same_names_in_two_containers(void) {
  for (int round = 0; round < iterations(300); round++) {
    struct crossing both;
    memset(&both, 0, sizeof both);
    crossing = &both;
    counter_reset(&both_inside);
    for (int i = 0; i < 2; i++) {
      both.containers[i] = new_container();
      both.kinds[i][i].on_create = require_own;
      MUST_OK(kind_register(both.containers[i], "a", &both.kinds[i][0], SVK_SCOPE_CACHED));
      MUST_OK(kind_register(both.containers[i], "b", &both.kinds[i][1], SVK_SCOPE_CACHED));
    }
    run_threads(2, cross, &both);
    for (int i = 0; i < 2; i++) {
      CHECK_OK(svk_container_destroy(both.containers[i]));
      CHECK_GONE(&both.kinds[i][0], 1);
      CHECK_GONE(&both.kinds[i][1], 1);
    }
  }
}

/* Parameters: 1 needs 2, which another thread is building, and which needs 3. */
static svk_status require_other_parameter(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  const void *data = NULL;
  size_t size = 0;
  void *instance = NULL;
  CHECK_OK(svk_resolver_parameter(resolver, &data, &size));
  if (size != 1 || data == NULL)
    return SVK_OK;
  char parameter = *(const char *)data;
  if (parameter == '1' || parameter == '2') {
    counter_add(&both_inside, 1);
    counter_wait(&both_inside, 2);
    parameter++;
    CHECK_OK(svk_require_with(resolver, "key", &parameter, 1, &instance));
  }
  return SVK_OK;
}

static void resolve_parameter(int index, void *argument) {
  svk_handle *handle = NULL;
  CHECK_OK(svk_resolve_with(argument, "key", index == 0 ? "1" : "2", 1, &handle));
  CHECK_OK(svk_release(handle));
}

static void test_parameters(void) {
  for (int round = 0; round < iterations(300); round++) {
    counter_reset(&both_inside);
    svk_container *container = new_container();
    struct kind kind = { .on_create = require_other_parameter };
    svk_factory_options options = kind_options(&kind, SVK_SCOPE_CACHED);
    options.flags = SVK_FACTORY_CACHE_BY_PARAMETER;
    MUST_OK(kind_register_with(container, "key", NULL, &options));
    run_threads(2, resolve_parameter, container);
    CHECK_OK(svk_container_destroy(container));
    CHECK_GONE(&kind, 3);
  }
}

/* A thread that only waits for a key in the cycle, without being in it, gets that failure, and no hang. */
static void begin_or_watch(int index, void *argument) {
  struct ring *ring = argument;
  if (index < 2) {
    begin_at(index, ring);
    return;
  }
  svk_handle *handle = NULL;
  svk_status status = svk_resolve(ring->containers[0], names[index % 2], &handle);
  CHECK_STATUS(status, SVK_CYCLE);
}

static void test_bystanders(void) {
  for (int round = 0; round < iterations(300); round++) {
    struct ring ring;
    memset(&ring, 0, sizeof ring);
    ring.length = 2;
    current = &ring;
    pthread_barrier_init(&ring.inside, NULL, 2);
    svk_container *container = new_container();
    for (int i = 0; i < 2; i++) {
      ring.containers[i] = container;
      ring.kinds[i].on_create = require_next;
      MUST_OK(kind_register(container, names[i], &ring.kinds[i], SVK_SCOPE_CACHED));
    }
    run_threads(4, begin_or_watch, &ring);
    CHECK_OK(svk_container_destroy(container));
    CHECK_GONE(&ring.kinds[0], 0);
    CHECK_GONE(&ring.kinds[1], 0);
    pthread_barrier_destroy(&ring.inside);
  }
}

int main(void) {
  RUN(test_two_threads);
  RUN(test_three_threads);
  RUN(test_four_threads);
  RUN(test_two_that_go_on_without);
  RUN(test_three_that_go_on_without);
  RUN(test_rings_at_any_moment);
  RUN(test_no_false_alarm);
  RUN(test_the_same_names_in_two_containers);
  RUN(test_parameters);
  RUN(test_bystanders);
  return check_done();
}
