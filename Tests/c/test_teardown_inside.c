/* svk_container_destroy from inside callbacks, and against factories that are running: it never hangs, and
   takes effect when they have returned. */
#include "factory.h"

static void check_closed(svk_container *container) {
  svk_handle *handle = (svk_handle *)&handle;
  CHECK_STATUS(svk_resolve(container, "low", &handle), SVK_INVALID_HANDLE);
  CHECK(handle == NULL);
  CHECK_STATUS(svk_container_push(container), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_unregister(container, "low"), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_destroy(container), SVK_INVALID_HANDLE);
}

static void check_closed_resolver(svk_resolver *resolver) {
  void *instance = resolver;
  CHECK_STATUS(svk_require(resolver, "low", &instance), SVK_INVALID_HANDLE);
  CHECK(instance == NULL);
  instance = resolver;
  CHECK_STATUS(svk_require_with(resolver, "low", "p", 1, &instance), SVK_INVALID_HANDLE);
  CHECK(instance == NULL);
}

/* ---- In its own factory ---- */

static svk_status destroy_own(svk_resolver *resolver, struct kind *kind) {
  svk_container *container = kind->context;
  void *low = NULL;
  CHECK_OK(svk_require(resolver, "low", &low));
  CHECK_STATUS(svk_container_destroy(container), SVK_DEFERRED);
  check_closed(container);
  check_closed_resolver(resolver);
  CHECK(((struct instance *)low)->magic == INSTANCE_LIVES); /* nothing is destroyed yet */
  return SVK_OK;
}

static void test_in_its_own_factory(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED,    SVK_SCOPE_SHARED,
                                    SVK_SCOPE_GRAPH,  SVK_SCOPE_SINGLETON, SVK_SCOPE_CUSTOM };
  svk_scope *scope = NULL;
  MUST_OK(svk_scope_create("scope", &scope));
  for (int s = 0; s < 6; s++)
    for (int fails = 0; fails < 2; fails++) {
      svk_container *container = new_container();
      struct kind low = { .name = "low" },
                  high = { .name = "high", .on_create = destroy_own, .context = container },
                  idle = { .name = "idle" };
      if (fails)
        high.answer = SVK_FACTORY_ERROR_BASE + 6;
      MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_CACHED));
      MUST_OK(kind_register(container, "idle", &idle, SVK_SCOPE_CACHED));
      svk_factory_options options = kind_options(&high, scopes[s]);
      options.custom_scope = scope;
      MUST_OK(kind_register_with(container, "high", NULL, &options));
      CHECK(kind_of(container, "idle") == &idle);
      svk_handle *handle = NULL;
      svk_status status = svk_resolve(container, "high", &handle);
      CHECK_EQ(high.asked, 1);
      /* The instance is good, with a handle that stays usable, or it is gone already. */
      if (status == SVK_OK) {
        CHECK(!fails);
        struct instance *instance = svk_instance(handle);
        CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
        CHECK_OK(svk_release(handle));
      } else {
        CHECK(handle == NULL);
        CHECK(status == SVK_INVALID_HANDLE || (fails && status == SVK_FACTORY_ERROR_BASE + 6));
      }
      check_closed(container);
      CHECK_GONE(&idle, 1); /* it took effect when the factory returned */
      CHECK_OK(svk_singleton_reset(NULL));
      CHECK_GONE(&low, 1);
      CHECK_GONE(&high, !fails);
    }
  CHECK_OK(svk_scope_destroy(scope));
}

/* Two factories deep: when the outer one returns. */
static svk_status check_after_inner(svk_resolver *resolver, struct kind *kind) {
  void *inner = kind;
  svk_status status = svk_require(resolver, "inner", &inner);
  CHECK((status == SVK_OK) == (inner != NULL));
  check_closed(kind->context);
  if (inner != NULL)
    CHECK(((struct instance *)inner)->magic == INSTANCE_LIVES);
  return SVK_OK;
}

static void test_in_an_inner_factory(void) {
  svk_container *container = new_container();
  struct kind low = { .name = NULL }, inner = { .on_create = destroy_own, .context = container },
              outer = { .on_create = check_after_inner, .context = container };
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "inner", &inner, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "outer", &outer, SVK_SCOPE_CACHED));
  svk_handle *handle = NULL;
  if (svk_resolve(container, "outer", &handle) == SVK_OK)
    CHECK_OK(svk_release(handle));
  check_closed(container);
  CHECK_GONE(&low, 1);
  CHECK_GONE(&inner, 1);
  CHECK_EQ(outer.built, outer.destroyed);
  CHECK_EQ(outer.freed, 1);
}

/* The parent, from the factory of a child, and the child from one of the parent's. */
static svk_status destroy_other(svk_resolver *resolver, struct kind *kind) {
  (void)resolver;
  svk_container *other = kind->context;
  svk_status status = svk_container_destroy(other);
  CHECK(status == SVK_OK || status == SVK_DEFERRED);
  check_closed(other);
  return SVK_OK;
}

static void test_parent_and_child(void) {
  for (int parents = 0; parents < 2; parents++) {
    svk_container *parent = new_container(), *child = new_child(parent);
    struct kind kind = { .on_create = destroy_other, .context = parents ? parent : child },
                idle = { .name = NULL };
    MUST_OK(kind_register(parents ? parent : child, "idle", &idle, SVK_SCOPE_CACHED));
    MUST_OK(kind_register(parents ? child : parent, "key", &kind, SVK_SCOPE_CACHED));
    CHECK(kind_of(child, "idle") == &idle);
    svk_handle *handle = NULL;
    svk_status status = svk_resolve(child, "key", &handle);
    if (status == SVK_OK)
      CHECK_OK(svk_release(handle));
    else
      CHECK_STATUS(status, SVK_INVALID_HANDLE);
    CHECK_GONE(&idle, 1);
    CHECK_OK(svk_container_destroy(parents ? child : parent));
    CHECK_GONE(&kind, 1);
  }
}

/* ---- In a destructor ---- */

static _Atomic int destroy_answers[SVK_SYSTEM_ERROR + 1];

static void destroy_container(struct instance *instance) {
  svk_container *container = instance->kind->context;
  svk_status status = svk_container_destroy(container);
  if (status >= 0 && status <= SVK_SYSTEM_ERROR)
    destroy_answers[status]++;
  check_closed(container);
}

static void test_in_a_destructor(void) {
  for (int way = 0; way < 6; way++) {
    svk_container *container = new_container();
    memset(destroy_answers, 0, sizeof destroy_answers);
    struct kind kind = { .on_destroy = destroy_container, .context = container }, idle = { .name = NULL },
                other = { .name = NULL };
    MUST_OK(kind_register(container, "idle", &idle, SVK_SCOPE_CACHED));
    MUST_OK(kind_register(container, "key", &kind, way == 0 ? SVK_SCOPE_UNIQUE : SVK_SCOPE_CACHED));
    CHECK(kind_of(container, "idle") == &idle);
    svk_handle *handle = RESOLVE(container, "key");
    if (way == 1)
      CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
    CHECK_EQ(kind.destroyed, 0);
    CHECK_OK(svk_release(handle)); /* ways 0 and 1: the destructor runs in here */
    if (way == 2)
      svk_reset(container, "key", SVK_RESET_SCOPES);
    if (way == 3)
      kind_register(container, "key", &other, SVK_SCOPE_CACHED);
    if (way == 4)
      svk_container_reset(container, SVK_RESET_ALL);
    if (way == 5)
      svk_unregister(container, "key");
    CHECK_EQ(destroy_answers[SVK_DEFERRED], 1); /* a destructor of this container was running */
    check_closed(container);
    CHECK_GONE(&kind, 1);
    CHECK_GONE(&idle, 1);
    CHECK_EQ(other.freed, other.registered);
  }
}

/* In a destructor that the end of that same container runs: it has ended already. */
static void test_in_a_destructor_of_the_end(void) {
  svk_container *container = new_container();
  memset(destroy_answers, 0, sizeof destroy_answers);
  struct kind kind = { .on_destroy = destroy_container, .context = container };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(destroy_answers[SVK_INVALID_HANDLE], 1);
  CHECK_GONE(&kind, 1);
}

/* In a destructor after the container's end, of an instance that was held. */
static void test_in_a_late_destructor(void) {
  svk_container *container = new_container();
  memset(destroy_answers, 0, sizeof destroy_answers);
  struct kind kind = { .on_destroy = destroy_container, .context = container };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  svk_handle *handle = RESOLVE(container, "key");
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_release(handle));
  CHECK_EQ(destroy_answers[SVK_INVALID_HANDLE], 1);
  CHECK_GONE(&kind, 1);
}

/* ---- In a decorator, a trace function and a free function: no factory runs, so it is done at once or soon.
 * ---- */

static _Atomic int ends;
static void end_it(svk_container *container) {
  if (ends++ == 0) {
    svk_status status = svk_container_destroy(container);
    CHECK(status == SVK_OK || status == SVK_DEFERRED);
  }
  check_closed(container);
}
static void end_in_decorator(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)key, (void)is_new;
  CHECK(((struct instance *)instance)->magic == INSTANCE_LIVES);
  end_it(user_data);
  CHECK(((struct instance *)instance)->magic == INSTANCE_LIVES); /* until the decorator returns */
}
static void end_in_trace(const svk_trace_event *event, void *user_data) {
  end_it(user_data);
  CHECK(event->key != NULL);
}
static void end_in_free(void *user_data) { end_it(user_data); }
static void ignore_decorator(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)instance, (void)key, (void)is_new, (void)user_data;
}

static void test_in_other_callbacks(void) {
  for (int where = 0; where < 3; where++)
    for (int hit = 0; hit < 2; hit++) {
      svk_container *container = new_container();
      struct kind kind = { .name = NULL };
      ends = 0;
      MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
      if (hit)
        CHECK(kind_of(container, "key") == &kind);
      if (where == 0)
        CHECK_OK(svk_decorate(container, "key", end_in_decorator, container, NULL));
      if (where == 1)
        CHECK_OK(svk_container_set_trace(container, end_in_trace, container, NULL));
      if (where == 2) {
        CHECK_OK(svk_decorate(container, "key", ignore_decorator, container, end_in_free));
        svk_decorate(container, "key", NULL, NULL, NULL);
      } else {
        svk_handle *handle = NULL;
        if (svk_resolve(container, "key", &handle) == SVK_OK) {
          struct instance *instance = svk_instance(handle);
          CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
          CHECK_OK(svk_release(handle));
        } else {
          CHECK(handle == NULL);
        }
      }
      CHECK(ends >= 1);
      check_closed(container);
      CHECK_EQ(kind.built, kind.destroyed);
      CHECK_EQ(kind.freed, 1);
    }
}

/* ---- Against factories on other threads ---- */

static struct counter inside = COUNTER_INIT, leave = COUNTER_INIT, returned = COUNTER_INIT;

struct against {
  svk_container *containers[2];
  struct kind kinds[2], low;
  int way;
};

static void reset_counters(void) {
  counter_reset(&inside);
  counter_reset(&leave);
  counter_reset(&returned);
}

/* Stays inside until the container has been closed, as svk_require tells; then says so. */
static svk_status until_closed(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  counter_add(&inside, 1);
  void *instance = NULL;
  svk_status status;
  while ((status = svk_require(resolver, "low", &instance)) == SVK_OK)
    sched_yield();
  CHECK_STATUS(status, SVK_INVALID_HANDLE);
  CHECK_EQ(counter_value(&returned), 0); /* the destroy lets this factory end first */
  return SVK_OK;
}

static void resolve_or_destroy(int index, void *argument) {
  struct against *against = argument;
  svk_handle *handle = NULL;
  if (index == 0) {
    svk_status status = svk_resolve(against->containers[0], "key", &handle);
    if (status == SVK_OK) {
      struct instance *instance = svk_instance(handle);
      CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
      CHECK_OK(svk_release(handle));
    } else {
      CHECK_STATUS(status, SVK_INVALID_HANDLE);
    }
  } else if (index == 1) {
    counter_wait(&inside, 1);
    CHECK_STATUS(svk_container_destroy(against->containers[0]), SVK_OK);
    counter_add(&returned, 1);
    check_closed(against->containers[0]);
  } else {
    counter_wait(&inside, 1);
    svk_status status = svk_resolve(against->containers[0], "key", &handle); /* waits, or comes too late */
    CHECK(status == SVK_INVALID_HANDLE || status == SVK_OK);
    if (status == SVK_OK)
      CHECK_OK(svk_release(handle));
  }
}

static void test_it_waits_for_factories(void) {
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_UNIQUE, SVK_SCOPE_SHARED };
  for (int round = 0; round < iterations(200); round++) {
    struct against against;
    memset(&against, 0, sizeof against);
    reset_counters();
    against.containers[0] = new_container();
    against.kinds[0].on_create = until_closed;
    MUST_OK(kind_register(against.containers[0], "low", &against.low, SVK_SCOPE_CACHED));
    MUST_OK(kind_register(against.containers[0], "key", &against.kinds[0], scopes[round % 3]));
    /* With a unique one, a third thread would begin a factory of its own. */
    run_threads(round % 3 == 1 ? 2 : 3, resolve_or_destroy, &against);
    CHECK(against.kinds[0].built >= 1);
    CHECK_GONE(&against.kinds[0], against.kinds[0].built);
    CHECK(against.low.built <= 1); /* none, if it was closed before the factory first asked */
    CHECK_GONE(&against.low, against.low.built);
  }
}

/* Who waits for an instance when its container is closed gets SVK_INVALID_HANDLE. */
static _Atomic int waiter;
static svk_status until_told(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  counter_add(&inside, 1);
  counter_wait(&leave, 1);
  void *none = NULL;
  while (svk_require(resolver, "low", &none) == SVK_NOT_FOUND)
    sched_yield(); /* the token ends a moment before the container closes */
  check_closed_resolver(resolver);
  return SVK_OK;
}

static void wait_and_be_closed(int index, void *argument) {
  struct against *against = argument;
  svk_handle *handle = NULL;
  if (index == 0) {
    svk_status status = svk_resolve(against->containers[0], "key", &handle);
    if (status == SVK_OK)
      CHECK_OK(svk_release(handle));
    else
      CHECK_STATUS(status, SVK_INVALID_HANDLE);
  } else if (index == 1) {
    counter_wait(&inside, 1);
    atomic_store(&waiter, thread_id());
    counter_add(&inside, 1);
    CHECK_STATUS(svk_resolve(against->containers[0], "key", &handle), SVK_INVALID_HANDLE);
    CHECK(handle == NULL);
  } else if (index == 2) {
    counter_wait(&inside, 2);
    wait_until_asleep(waiter);
    counter_add(&inside, 1);
    CHECK_OK(svk_container_destroy(against->containers[0]));
  } else {
    counter_wait(&inside, 3);
    while (svk_container_set_strict(against->containers[0], 0) == SVK_OK)
      sched_yield(); /* until it is closed */
    counter_add(&leave, 1);
  }
}

static void test_who_waits_is_told(void) {
  for (int round = 0; round < iterations(200); round++) {
    struct against against;
    memset(&against, 0, sizeof against);
    reset_counters();
    against.containers[0] = new_container();
    against.kinds[0].on_create = until_told;
    MUST_OK(kind_register(against.containers[0], "key", &against.kinds[0],
                          round % 2 ? SVK_SCOPE_CACHED : SVK_SCOPE_SHARED));
    run_threads(4, wait_and_be_closed, &against);
    CHECK_EQ(against.kinds[0].built, against.kinds[0].destroyed);
    CHECK_EQ(against.kinds[0].freed, 1);
  }
}

/*
 * Closed to new work: whoever resolves, changes and destroys at the same time gets an instance or is told,
 * and every instance that was built is destroyed.
 */
static void resolve_and_close(int index, void *argument) {
  struct against *against = argument;
  svk_container *container = against->containers[0];
  if (index == 0) {
    CHECK_OK(svk_container_destroy(container));
    return;
  }
  for (int i = 0; i < 300; i++) {
    svk_handle *handle = NULL;
    svk_status status = index == 1 ? svk_container_set_strict(container, 0)
                                   : svk_resolve(container, index % 2 ? "key" : "low", &handle);
    if (status == SVK_OK) {
      if (handle != NULL)
        CHECK_OK(svk_release(handle));
    } else {
      CHECK_STATUS(status, SVK_INVALID_HANDLE);
      break;
    }
  }
}

static void test_closed_to_new_work(void) {
  for (int round = 0; round < iterations(500); round++) {
    struct against against;
    memset(&against, 0, sizeof against);
    against.containers[0] = new_container();
    MUST_OK(kind_register(against.containers[0], "low", &against.low, SVK_SCOPE_UNIQUE));
    MUST_OK(kind_register(against.containers[0], "key", &against.kinds[0], SVK_SCOPE_SHARED));
    run_threads(5, resolve_and_close, &against);
    CHECK_GONE(&against.kinds[0], against.kinds[0].built);
    CHECK_GONE(&against.low, against.low.built);
  }
}

/* Inside a callback it never waits: each of two threads ends the container whose factory the other one runs.
 */
static svk_status end_each_others(svk_resolver *resolver, struct kind *kind) {
  svk_container *other = kind->context;
  counter_add(&inside, 1);
  counter_wait(&inside, 2); /* both are in a factory */
  CHECK_STATUS(svk_container_destroy(other), SVK_DEFERRED);
  counter_add(&returned, 1);
  counter_wait(&returned, 2); /* both have returned from it, and both factories still run */
  check_closed_resolver(resolver);
  check_closed(other);
  return SVK_OK;
}

static void resolve_own(int index, void *argument) {
  struct against *against = argument;
  svk_handle *handle = NULL;
  if (svk_resolve(against->containers[index], "key", &handle) == SVK_OK)
    CHECK_OK(svk_release(handle));
}

static void test_each_others(void) {
  for (int round = 0; round < iterations(200); round++) {
    struct against against;
    memset(&against, 0, sizeof against);
    reset_counters();
    for (int i = 0; i < 2; i++)
      against.containers[i] = new_container();
    for (int i = 0; i < 2; i++) {
      against.kinds[i].on_create = end_each_others;
      against.kinds[i].context = against.containers[1 - i];
      MUST_OK(kind_register(against.containers[i], "key", &against.kinds[i], SVK_SCOPE_CACHED));
    }
    run_threads(2, resolve_own, &against);
    for (int i = 0; i < 2; i++)
      CHECK_GONE(&against.kinds[i], 1);
  }
}

/* From a decorator, of a container with a factory on another thread. */
static void end_from_decorator(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)instance, (void)key, (void)is_new;
  CHECK_STATUS(svk_container_destroy(user_data), SVK_DEFERRED);
}

static void decorate_or_build(int index, void *argument) {
  struct against *against = argument;
  svk_handle *handle = NULL;
  if (index == 0) {
    if (svk_resolve(against->containers[0], "key", &handle) == SVK_OK)
      CHECK_OK(svk_release(handle));
  } else {
    counter_wait(&inside, 1);
    handle = RESOLVE(against->containers[1], "low");
    CHECK_OK(svk_release(handle));
    CHECK_EQ(against->kinds[0].destroyed, 0);
    counter_add(&leave, 1);
  }
}

static void test_from_a_decorator(void) {
  struct against against;
  memset(&against, 0, sizeof against);
  reset_counters();
  against.containers[0] = new_container();
  against.containers[1] = new_container();
  against.kinds[0].on_create = until_told;
  MUST_OK(kind_register(against.containers[0], "key", &against.kinds[0], SVK_SCOPE_CACHED));
  MUST_OK(kind_register(against.containers[1], "low", &against.low, SVK_SCOPE_CACHED));
  CHECK_OK(svk_decorate(against.containers[1], NULL, end_from_decorator, against.containers[0], NULL));
  run_threads(2, decorate_or_build, &against);
  CHECK_OK(svk_container_destroy(against.containers[1]));
  CHECK_EQ(against.kinds[0].built, against.kinds[0].destroyed);
  CHECK_EQ(against.kinds[0].freed, 1);
}

int main(void) {
  RUN(test_in_its_own_factory);
  RUN(test_in_an_inner_factory);
  RUN(test_parent_and_child);
  RUN(test_in_a_destructor);
  RUN(test_in_a_destructor_of_the_end);
  RUN(test_in_a_late_destructor);
  RUN(test_in_other_callbacks);
  RUN(test_it_waits_for_factories);
  RUN(test_who_waits_is_told);
  RUN(test_closed_to_new_work);
  RUN(test_each_others);
  RUN(test_from_a_decorator);
  return check_done();
}
