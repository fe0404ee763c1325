/* What svk_container_destroy waits for, and what not: the factories of that container, and no one else's. */
#include "factory.h"

static struct counter inside = COUNTER_INIT, leave = COUNTER_INIT, destroyed = COUNTER_INIT;
static _Atomic int waiter;

static void reset_counters(void) {
  counter_reset(&inside);
  counter_reset(&leave);
  counter_reset(&destroyed);
}

static svk_status until_told(svk_resolver *resolver, struct kind *kind) {
  (void)resolver, (void)kind;
  counter_add(&inside, 1);
  counter_wait(&leave, 1);
  return SVK_OK;
}

/*
 * Thread 0 builds, through `builder`. Thread 1 waits for the same instance, through `waiting`. Thread 2
 * destroys `waiting`, and only when that is done may the factory end.
 */
struct scene {
  svk_container *builder, *waiting;
};

static void build_wait_destroy(int index, void *argument) {
  struct scene *scene = argument;
  svk_handle *handle = (svk_handle *)scene;
  if (index == 0) {
    handle = RESOLVE(scene->builder, "slow");
    CHECK_OK(svk_release(handle));
  } else if (index == 1) {
    counter_wait(&inside, 1);
    atomic_store(&waiter, thread_id());
    counter_add(&inside, 1);
    svk_status status = svk_resolve(scene->waiting, "slow", &handle);
    CHECK_STATUS(status, SVK_INVALID_HANDLE);
    CHECK((handle == NULL) == (status != SVK_OK));
    if (status == SVK_OK)
      CHECK_OK(svk_release(handle));
  } else {
    counter_wait(&inside, 2);
    wait_until_asleep(waiter);
    CHECK_OK(svk_container_destroy(scene->waiting));
    counter_add(&leave, 1);
  }
}

static void test_a_singleton_of_another_container(void) {
  for (int round = 0; round < iterations(200); round++) {
    reset_counters();
    struct scene scene = { new_container(), new_container() };
    struct kind slow = { .on_create = until_told }, unused = { .name = NULL };
    MUST_OK(kind_register(scene.builder, "slow", &slow, SVK_SCOPE_SINGLETON));
    MUST_OK(kind_register(scene.waiting, "slow", &unused, SVK_SCOPE_SINGLETON));
    run_threads(3, build_wait_destroy, &scene);
    CHECK_OK(svk_container_destroy(scene.builder));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_GONE(&slow, 1);
    CHECK_GONE(&unused, 0);
  }
}

static void test_an_instance_of_the_parent(void) {
  for (int round = 0; round < iterations(200); round++) {
    reset_counters();
    svk_container *parent = new_container();
    struct scene scene = { parent, new_child(parent) };
    struct kind slow = { .on_create = until_told };
    MUST_OK(kind_register(parent, "slow", &slow, round % 2 ? SVK_SCOPE_CACHED : SVK_SCOPE_SHARED));
    run_threads(3, build_wait_destroy, &scene);
    CHECK_OK(svk_container_destroy(parent));
    CHECK_GONE(&slow, 1);
  }
}

/*
 * The factory ends its own container, while another thread waits for its instance through another container:
 * a singleton is no container's, so it is given; an instance of the parent that ended is not, or not any
 * more. No hang.
 */
static struct scene *ending_scene;
static svk_status end_own_while_waited_for(svk_resolver *resolver, struct kind *kind) {
  (void)resolver, (void)kind;
  counter_add(&inside, 1);
  counter_wait(&inside, 2);
  wait_until_asleep(waiter);
  CHECK_STATUS(svk_container_destroy(ending_scene->builder), SVK_DEFERRED);
  return SVK_OK;
}

static void build_or_wait(int index, void *argument) {
  struct scene *scene = argument;
  svk_handle *handle = NULL;
  if (index == 1) {
    counter_wait(&inside, 1);
    atomic_store(&waiter, thread_id());
    counter_add(&inside, 1);
  }
  svk_status status = svk_resolve(index == 0 ? scene->builder : scene->waiting, "slow", &handle);
  if (status == SVK_OK) {
    struct instance *instance = svk_instance(handle);
    CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
    CHECK_OK(svk_release(handle));
  } else {
    CHECK(status == SVK_INVALID_HANDLE || status == SVK_NOT_FOUND);
    CHECK(handle == NULL);
  }
}

static void test_the_builders_container_ends(void) {
  for (int round = 0; round < iterations(200); round++) {
    reset_counters();
    int single = round % 2;
    svk_container *builder = new_container();
    struct scene scene = { builder, single ? new_container() : new_child(builder) };
    struct kind slow = { .on_create = end_own_while_waited_for }, other = { .name = NULL };
    ending_scene = &scene;
    MUST_OK(kind_register(builder, "slow", &slow, single ? SVK_SCOPE_SINGLETON : SVK_SCOPE_CACHED));
    if (single)
      MUST_OK(kind_register(scene.waiting, "slow", &other, SVK_SCOPE_SINGLETON));
    run_threads(2, build_or_wait, &scene);
    CHECK_EQ(slow.asked, 1);
    if (single)
      CHECK(kind_of(scene.waiting, "slow") != NULL);
    CHECK_OK(svk_container_destroy(scene.waiting));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_GONE(&slow, 1);
    CHECK_GONE(&other, other.built);
  }
}

/* Deferred by one of two factories that run: done when the second one has returned, too. */
struct two {
  svk_container *container;
  struct kind slow, ending, idle;
};

static svk_status end_container(svk_resolver *resolver, struct kind *kind) {
  (void)resolver;
  CHECK_STATUS(svk_container_destroy(kind->context), SVK_DEFERRED);
  return SVK_OK;
}

static void build_or_end(int index, void *argument) {
  struct two *two = argument;
  svk_handle *handle = NULL;
  if (index == 0) {
    if (svk_resolve(two->container, "slow", &handle) == SVK_OK)
      CHECK_OK(svk_release(handle));
    CHECK_GONE(&two->idle, 1);
  } else {
    counter_wait(&inside, 1);
    if (svk_resolve(two->container, "ending", &handle) == SVK_OK)
      CHECK_OK(svk_release(handle));
    CHECK_STATUS(svk_resolve(two->container, "idle", &handle), SVK_INVALID_HANDLE);
    CHECK_EQ(two->idle.destroyed, 0); /* the other factory runs, and might be using it */
    counter_add(&leave, 1);
  }
}

static void test_deferred_until_the_last(void) {
  for (int round = 0; round < iterations(200); round++) {
    reset_counters();
    struct two two;
    memset(&two, 0, sizeof two);
    two.container = new_container();
    two.slow.on_create = until_told;
    two.ending.on_create = end_container;
    two.ending.context = two.container;
    MUST_OK(kind_register(two.container, "slow", &two.slow, SVK_SCOPE_CACHED));
    MUST_OK(kind_register(two.container, "ending", &two.ending, SVK_SCOPE_CACHED));
    MUST_OK(kind_register(two.container, "idle", &two.idle, SVK_SCOPE_CACHED));
    CHECK(kind_of(two.container, "idle") == &two.idle);
    run_threads(2, build_or_end, &two);
    CHECK_GONE(&two.slow, 1);
    CHECK_GONE(&two.ending, 1);
  }
}

/* A slow destroy function of a handle that is released, or of a reset, on another thread. */
static void destroy_slowly(struct instance *instance) {
  (void)instance;
  counter_add(&inside, 1);
  counter_wait(&leave, 1);
  CHECK_EQ(counter_value(&destroyed), 0);
}

static void release_or_end(int index, void *argument) {
  struct two *two = argument;
  if (index == 0) {
    CHECK_OK(svk_release(RESOLVE(two->container, "slow"))); /* unique: it ends here */
  } else if (index == 1) {
    counter_wait(&inside, 1);
    svk_container *other = new_container(); /* nobody else is held up by it */
    MUST_OK(kind_register(other, "idle", &two->idle, SVK_SCOPE_CACHED));
    CHECK(kind_of(other, "idle") == &two->idle);
    CHECK_OK(svk_container_destroy(other));
    counter_add(&leave, 1);
  }
}

static void test_a_slow_destroy_elsewhere(void) {
  reset_counters();
  struct two two;
  memset(&two, 0, sizeof two);
  two.container = new_container();
  two.slow.on_destroy = destroy_slowly;
  MUST_OK(kind_register(two.container, "slow", &two.slow, SVK_SCOPE_UNIQUE));
  run_threads(2, release_or_end, &two);
  CHECK_OK(svk_container_destroy(two.container));
  CHECK_GONE(&two.slow, 1);
  CHECK_GONE(&two.idle, 1);
}

int main(void) {
  RUN(test_a_singleton_of_another_container);
  RUN(test_an_instance_of_the_parent);
  RUN(test_the_builders_container_ends);
  RUN(test_deferred_until_the_last);
  RUN(test_a_slow_destroy_elsewhere);
  return check_done();
}
