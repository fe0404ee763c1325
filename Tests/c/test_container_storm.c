/* Everything at once on one family of containers; in the end as many destroyed as built, as many freed as
 * registered. */
#include "factory.h"

enum { THREADS = 6, KEYS = 12 };

struct storm {
  svk_container *parent, *child;
  svk_scope *scope;
  struct kind kinds[KEYS];
  char names[KEYS][16];
  int rounds;
  _Atomic int pushes, decorators, decorators_freed, tracers, tracers_freed;
};

static struct storm storm;

static void register_one(svk_container *container, int key, unsigned *seed) {
  static const int32_t scopes[] = {
    SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED,    SVK_SCOPE_GRAPH,
    SVK_SCOPE_CACHED, SVK_SCOPE_CUSTOM, SVK_SCOPE_SINGLETON, SVK_SCOPE_DEFAULT
  };
  svk_factory_options options = kind_options(&storm.kinds[key], scopes[rand_r(seed) % 8]);
  options.custom_scope = storm.scope;
  options.flags = rand_r(seed) % 4 == 0 ? SVK_FACTORY_CACHE_BY_PARAMETER : 0;
  options.time_to_live_ns = rand_r(seed) % 4 == 0 ? 1000 : 0;
  options.type = rand_r(seed) % 2 ? "type/1" : NULL;
  CHECK_OK(kind_register_with(container, storm.names[key], rand_r(seed) % 4 == 0 ? "test" : NULL, &options));
}

static void decorator(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)user_data;
  CHECK(((struct instance *)instance)->magic == INSTANCE_LIVES);
  CHECK(key != NULL && (is_new == 0 || is_new == 1));
}
static void decorator_free(void *user_data) {
  (void)user_data;
  atomic_fetch_add(&storm.decorators_freed, 1);
}
static void trace(const svk_trace_event *event, void *user_data) {
  (void)user_data;
  CHECK(event->key != NULL);
  CHECK((event->instance == NULL) == (event->kind == SVK_TRACE_FAILED));
}
static void trace_free(void *user_data) {
  (void)user_data;
  atomic_fetch_add(&storm.tracers_freed, 1);
}

static void anything(int index, void *argument) {
  (void)argument;
  unsigned seed = (unsigned)index * 7919 + 1;
  svk_handle *held[16] = { NULL };
  for (int i = 0; i < storm.rounds; i++) {
    svk_container *container = rand_r(&seed) % 2 ? storm.parent : storm.child;
    int key = rand_r(&seed) % KEYS, parameter = rand_r(&seed) % 3;
    svk_handle **slot = &held[rand_r(&seed) % 16];
    svk_status status = SVK_OK;
    size_t needed = 0;
    if (*slot != NULL) {
      struct instance *instance = svk_instance(*slot);
      CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
      CHECK_OK(svk_release(*slot));
      *slot = NULL;
    }
    switch (rand_r(&seed) % 26) {
    case 0:
      register_one(container, key, &seed);
      break;
    case 1:
      status = svk_unregister(container, storm.names[key]);
      break;
    case 2:
      status = svk_reset(container, storm.names[key], (uint32_t)(1 + rand_r(&seed) % 7));
      break;
    case 3:
      if (rand_r(&seed) % 4 == 0)
        status = svk_container_reset(container, (uint32_t)(1 + rand_r(&seed) % 7));
      break;
    case 4:
      if (atomic_fetch_add(&storm.pushes, 1) < 20)
        status = svk_container_push(container);
      break;
    case 5:
      status = svk_container_pop(container);
      if (status == SVK_OK)
        atomic_fetch_sub(&storm.pushes, 1);
      break;
    case 6:
      atomic_fetch_add(&storm.decorators, 1);
      CHECK_OK(svk_decorate(container, rand_r(&seed) % 2 ? storm.names[key] : NULL, decorator, NULL,
                            decorator_free));
      break;
    case 7:
      CHECK_OK(svk_decorate(container, storm.names[key], NULL, NULL, NULL));
      break;
    case 8:
      atomic_fetch_add(&storm.tracers, 1);
      CHECK_OK(svk_container_set_trace(container, trace, NULL, trace_free));
      break;
    case 9:
      CHECK_OK(svk_container_set_trace(container, NULL, NULL, NULL));
      break;
    case 10:
      CHECK_OK(svk_container_set_contexts(container, rand_r(&seed) % 2 ? "test" : NULL));
      break;
    case 11:
      CHECK_OK(svk_container_set_default_scope(container, (int32_t)(rand_r(&seed) % SVK_SCOPE_CUSTOM)));
      break;
    case 12:
      CHECK_STATUS(svk_container_describe(container, (int32_t)(rand_r(&seed) % 3), NULL, 0, &needed),
                   SVK_BUFFER_TOO_SMALL);
      break;
    case 13:
      status = svk_container_validate(container);
      break;
    case 14:
      CHECK_OK(svk_scope_reset(storm.scope));
      break;
    case 15:
      status = svk_singleton_reset(rand_r(&seed) % 2 ? storm.names[key] : NULL);
      break;
    case 16:
      status = svk_resolve_typed(container, storm.names[key], "type/1", slot);
      break;
    case 17: {
      void *pinned = NULL;
      status = rand_r(&seed) % 8 ? SVK_OK : svk_pin(container, storm.names[key], &pinned);
      break;
    }
    case 18:
      CHECK_OK(svk_container_set_strict(container, rand_r(&seed) % 3 == 0));
      break;
    case 19:
    case 20:
      status = svk_resolve_with(container, storm.names[key], &parameter, sizeof parameter, slot);
      break;
    default:
      status = svk_resolve(container, storm.names[key], slot);
    }
    CHECK(status == SVK_OK || status == SVK_NOT_FOUND || status == SVK_TYPE_MISMATCH ||
          status == SVK_INVALID_ARGUMENT || status == SVK_CONTEXT_MISSING);
  }
  for (int n = 0; n < 16; n++)
    if (held[n] != NULL)
      CHECK_OK(svk_release(held[n]));
}

static void test_anything(void) {
  unsigned seed = 42;
  storm.parent = new_container();
  storm.child = new_child(storm.parent);
  storm.rounds = iterations(40000);
  MUST_OK(svk_scope_create("scope", &storm.scope));
  for (int i = 0; i < KEYS; i++)
    snprintf(storm.names[i], sizeof storm.names[i], "key-%d", i);
  for (int i = 0; i < KEYS; i++) {
    if (i > 0) /* lower ones only: there is no cycle to be found */
      storm.kinds[i].needs[0] = storm.names[i / 2];
    if (i > 4)
      storm.kinds[i].needs[1] = storm.names[i - 4];
    register_one(storm.parent, i, &seed);
  }
  run_threads(THREADS, anything, NULL);
  CHECK_OK(svk_container_destroy(storm.child));
  CHECK_OK(svk_container_destroy(storm.parent));
  CHECK_OK(svk_singleton_reset(NULL));
  CHECK_OK(svk_scope_destroy(storm.scope));
  CHECK_EQ(storm.decorators, storm.decorators_freed);
  CHECK_EQ(storm.tracers, storm.tracers_freed);
  for (int i = 0; i < KEYS; i++) {
    CHECK_EQ(storm.kinds[i].built, storm.kinds[i].destroyed);
    CHECK_EQ(storm.kinds[i].registered, storm.kinds[i].freed);
  }
}

int main(void) {
  RUN(test_anything);
  return check_done();
}
