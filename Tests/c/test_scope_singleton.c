/* Singletons: one per process and key, whichever container asks, until svk_singleton_reset. */
#include "factory.h"

static void test_one_per_process(void) {
  svk_container *one = new_container(), *two = new_container(), *child = new_child(two);
  struct kind first = { .name = NULL }, second = { .name = NULL };
  MUST_OK(kind_register(one, "single", &first, SVK_SCOPE_SINGLETON));
  MUST_OK(kind_register(two, "single", &second, SVK_SCOPE_SINGLETON));
  CHECK_STATUS(svk_singleton_reset("single"), SVK_NOT_FOUND); /* none lives yet */
  CHECK_STR(svk_last_error(), "single");
  svk_handle *a = RESOLVE(one, "single"), *b = RESOLVE(two, "single"), *c = RESOLVE(child, "single");
  CHECK(svk_instance(a) == svk_instance(b));
  CHECK(svk_instance(a) == svk_instance(c));
  CHECK_EQ(first.built, 1);
  CHECK_EQ(second.asked, 0);
  CHECK_OK(svk_release(a));
  CHECK_OK(svk_release(b));
  CHECK_OK(svk_release(c));
  CHECK_EQ(first.destroyed, 0);
  CHECK_OK(svk_singleton_reset("single"));
  CHECK_EQ(first.destroyed, 1);
  CHECK_EQ(first.freed, 0);
  CHECK_STATUS(svk_singleton_reset("single"), SVK_NOT_FOUND);
  CHECK(kind_of(two, "single") == &second);
  CHECK(kind_of(one, "single") == &second);
  CHECK_OK(svk_singleton_reset("single"));
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(two));
  CHECK_OK(svk_container_destroy(one));
  CHECK_GONE(&first, 1);
  CHECK_GONE(&second, 1);
}

/* No container's end, reset, pop or new registration touches it. */
static void test_nothing_else_touches_it(void) {
  svk_container *one = new_container(), *two = new_container();
  struct kind kind = { .name = NULL }, replacement = { .name = NULL }, of_two = { .name = NULL };
  MUST_OK(kind_register(one, "single", &kind, SVK_SCOPE_SINGLETON));
  MUST_OK(kind_register(two, "single", &of_two, SVK_SCOPE_SINGLETON));
  CHECK_OK(svk_container_push(one));
  CHECK(kind_of(one, "single") == &kind);
  CHECK_OK(svk_container_pop(one));
  CHECK_OK(svk_reset(one, "single", SVK_RESET_SCOPES));
  CHECK_OK(svk_container_reset(one, SVK_RESET_SCOPES));
  CHECK(kind_of(one, "single") == &kind);
  CHECK_EQ(kind.built, 1);
  MUST_OK(kind_register(one, "single", &replacement, SVK_SCOPE_SINGLETON));
  CHECK(kind_of(one, "single") == &kind);
  CHECK_EQ(kind.destroyed, 0);
  CHECK_EQ(kind.freed, 0); /* its instance lives */
  CHECK_OK(svk_unregister(one, "single"));
  CHECK_GONE(&replacement, 0);
  svk_handle *handle = NULL;
  CHECK_STATUS(svk_resolve(one, "single", &handle), SVK_NOT_FOUND);
  CHECK(kind_of(two, "single") == &kind);
  CHECK_OK(svk_container_reset(one, SVK_RESET_ALL));
  CHECK_OK(svk_container_destroy(one));
  CHECK_EQ(kind.destroyed, 0);
  CHECK(kind_of(two, "single") == &kind);
  CHECK_OK(svk_container_destroy(two));
  CHECK_GONE(&of_two, 0);
  svk_container *three = new_container();
  struct kind of_three = { .name = NULL };
  CHECK_STATUS(svk_resolve(three, "single", &handle), SVK_NOT_FOUND);
  MUST_OK(kind_register(three, "single", &of_three, SVK_SCOPE_SINGLETON));
  CHECK(kind_of(three, "single") == &kind);
  CHECK_EQ(kind.built, 1);
  CHECK_OK(svk_container_destroy(three));
  CHECK_EQ(kind.destroyed, 0);
  CHECK_OK(svk_singleton_reset("single"));
  CHECK_GONE(&kind, 1);
}

static void test_held_over_a_reset(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(container, "single", &kind, SVK_SCOPE_SINGLETON));
  svk_handle *held = RESOLVE(container, "single");
  struct instance *instance = svk_instance(held);
  CHECK_OK(svk_singleton_reset("single"));
  CHECK_EQ(kind.destroyed, 0);
  CHECK(svk_instance(held) == instance && instance->magic == INSTANCE_LIVES);
  svk_handle *fresh = RESOLVE(container, "single");
  CHECK(svk_instance(fresh) != (void *)instance);
  CHECK_OK(svk_release(held));
  CHECK_EQ(kind.destroyed, 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_release(fresh));
  CHECK_EQ(kind.destroyed, 1);
  CHECK_OK(svk_singleton_reset(NULL));
  CHECK_GONE(&kind, 2);
}

/* Built with the registrations of the container that has the winning registration. */
static svk_container *expected_container;
static svk_status check_container(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  CHECK(svk_resolver_container(resolver) == expected_container);
  return SVK_OK;
}

static void test_what_it_is_built_with(void) {
  svk_container *parent = new_container(), *child = new_child(parent);
  struct kind parent_low = { .name = NULL }, child_low = { .name = NULL },
              kind = { .needs = { "low" }, .on_create = check_container };
  MUST_OK(kind_register(parent, "low", &parent_low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(child, "low", &child_low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(parent, "single", &kind, SVK_SCOPE_SINGLETON));
  expected_container = parent;
  svk_handle *handle = RESOLVE(child, "single");
  CHECK(((struct instance *)svk_instance(handle))->needs[0]->kind == &parent_low);
  CHECK_OK(svk_release(handle));
  /* What it required lives as long as it does, beyond the end of its container. */
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(parent));
  CHECK_EQ(parent_low.destroyed, 0);
  CHECK_EQ(parent_low.freed, 0);
  CHECK_OK(svk_singleton_reset("single"));
  CHECK_GONE(&kind, 1);
  CHECK_GONE(&parent_low, 1);
}

static void test_reset_of_all(void) {
  svk_container *container = new_container();
  struct kind a = { .name = "a" }, b = { .name = "b", .needs = { "a" } },
              c = { .name = "c", .needs = { "b", "a" } };
  MUST_OK(kind_register(container, "c", &c, SVK_SCOPE_SINGLETON));
  MUST_OK(kind_register(container, "a", &a, SVK_SCOPE_SINGLETON));
  MUST_OK(kind_register(container, "b", &b, SVK_SCOPE_SINGLETON));
  CHECK_OK(svk_singleton_reset(NULL)); /* none: still fine */
  for (int i = 0; i < 2; i++) {
    journal_clear();
    if (i == 1)
      CHECK(kind_of(container, "a") == &a);
    CHECK(kind_of(container, "c") == &c);
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_JOURNAL("+a +b +c -c -b -a ");
  }
  /* One alone: what requires it keeps it. */
  journal_clear();
  CHECK(kind_of(container, "c") == &c);
  CHECK_OK(svk_singleton_reset("a"));
  CHECK(kind_of(container, "a") == &a);
  CHECK_JOURNAL("+a +b +c +a ");
  CHECK_OK(svk_singleton_reset("c"));
  CHECK_OK(svk_singleton_reset("b"));
  CHECK_JOURNAL("+a +b +c +a -c -b -a ");
  CHECK_OK(svk_singleton_reset(NULL));
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&a, 4);
}

static void test_failure(void) {
  svk_container *container = new_container();
  struct kind kind = { .answer = SVK_FACTORY_ERROR_BASE };
  svk_handle *handle = NULL;
  MUST_OK(kind_register(container, "single", &kind, SVK_SCOPE_SINGLETON));
  CHECK_STATUS(svk_resolve(container, "single", &handle), SVK_FACTORY_ERROR_BASE);
  CHECK_STATUS(svk_singleton_reset("single"), SVK_NOT_FOUND);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 0);
}

/* From inside its own factory. */
static svk_status reset_all(svk_resolver *resolver, struct kind *kind) {
  (void)resolver, (void)kind;
  CHECK_OK(svk_singleton_reset(NULL));
  return SVK_OK;
}

static void test_reset_inside_its_factory(void) {
  svk_container *container = new_container();
  struct kind kind = { .on_create = reset_all };
  MUST_OK(kind_register(container, "single", &kind, SVK_SCOPE_SINGLETON));
  svk_handle *handle = RESOLVE(container, "single");
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_singleton_reset(NULL));
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 1);
}

/* Many threads, each with a container of its own: one instance. */
enum { THREADS = 6 };
struct storm {
  svk_container *containers[THREADS];
  void *instances[THREADS];
  struct kind *kind;
  int rounds;
};

static void resolve_single(int index, void *argument) {
  struct storm *storm = argument;
  svk_handle *handle = RESOLVE(storm->containers[index], "single");
  storm->instances[index] = svk_instance(handle);
  CHECK_OK(svk_release(handle));
}

static void test_built_once(void) {
  for (int i = 0; i < iterations(300); i++) {
    struct kind kind = { .name = NULL };
    struct storm storm = { .kind = &kind };
    for (int t = 0; t < THREADS; t++) {
      storm.containers[t] = new_container();
      MUST_OK(kind_register(storm.containers[t], "single", &kind, SVK_SCOPE_SINGLETON));
    }
    run_threads(THREADS, resolve_single, &storm);
    CHECK_EQ(kind.built, 1);
    for (int t = 0; t < THREADS; t++) {
      CHECK(storm.instances[t] == storm.instances[0]);
      CHECK_OK(svk_container_destroy(storm.containers[t]));
    }
    CHECK_EQ(kind.destroyed, 0);
    CHECK_OK(svk_singleton_reset("single"));
    CHECK_GONE(&kind, 1);
  }
}

/* Containers come and go, singletons are reset: all that is built is destroyed. */
static void everything(int index, void *argument) {
  struct storm *storm = argument;
  for (int i = 0; i < storm->rounds; i++) {
    if (index == 0) {
      svk_singleton_reset(i % 2 ? NULL : "single");
      continue;
    }
    svk_container *container = new_container();
    CHECK_OK(kind_register(container, "single", storm->kind, SVK_SCOPE_SINGLETON));
    svk_handle *handle = RESOLVE(container, "single");
    CHECK_OK(svk_container_destroy(container));
    struct instance *instance = svk_instance(handle);
    CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
    CHECK_OK(svk_release(handle));
  }
}

static void test_storm(void) {
  struct kind kind = { .name = NULL };
  struct storm storm = { .kind = &kind, .rounds = iterations(5000) };
  run_threads(4, everything, &storm);
  CHECK_OK(svk_singleton_reset(NULL));
  CHECK(kind.built > 0);
  CHECK_EQ(kind.built, kind.destroyed);
  CHECK_EQ(kind.registered, kind.freed);
}

int main(void) {
  RUN(test_one_per_process);
  RUN(test_nothing_else_touches_it);
  RUN(test_held_over_a_reset);
  RUN(test_what_it_is_built_with);
  RUN(test_reset_of_all);
  RUN(test_failure);
  RUN(test_reset_inside_its_factory);
  RUN(test_built_once);
  RUN(test_storm);
  return check_done();
}
