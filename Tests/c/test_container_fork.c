/* After a fork of a quiet process the child can use what it inherited, and create anew. */
#include "factory.h"
#include <sys/wait.h>

static struct kind kind, unique, fresh;
static svk_container *container;
static svk_handle *held;

static void use_on_threads(int index, void *argument) {
  (void)index, (void)argument;
  for (int i = 0; i < iterations(1000); i++) {
    CHECK(kind_of(container, "key") == &kind);
    CHECK(kind_of(container, "unique") == &unique);
  }
}

static int in_child(void) {
  struct instance *instance = svk_instance(held);
  CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(kind.built, 1);
  CHECK_OK(kind_register(container, "fresh", &fresh, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "fresh") == &fresh);
  run_threads(3, use_on_threads, NULL);
  svk_container *own = new_container(), *child = new_child(container);
  CHECK_OK(kind_register(own, "key", &unique, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(own, "key") == &unique);
  CHECK(kind_of(child, "key") == &kind);
  CHECK_OK(svk_container_destroy(own));
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_release(held));
  CHECK_STATUS(svk_release(held), SVK_INVALID_HANDLE);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 1);
  CHECK_EQ(unique.built, unique.destroyed);
  return check_failures != 0;
}

static void fork_and_use(void) {
  fflush(NULL);
  pid_t pid = fork();
  MUST(pid >= 0);
  if (pid == 0)
    _exit(in_child());
  int status = -1;
  MUST(waitpid(pid, &status, 0) == pid);
  CHECK_EQ(status, 0);
}

static void test_fork(void) {
  container = new_container();
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "unique", &unique, SVK_SCOPE_UNIQUE));
  held = RESOLVE(container, "key");
  fork_and_use();
  /* Nothing of that has happened here. */
  CHECK(svk_instance(held) != NULL);
  CHECK_EQ(kind.destroyed, 0);
  CHECK(kind_of(container, "fresh") == NULL);
  /* After threads have used it, all of which have ended. */
  run_threads(4, use_on_threads, NULL);
  fork_and_use();
  CHECK_OK(svk_release(held));
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 1);
}

/* From inside a factory: the thread that forks is in the library, and no other is. */
static svk_status fork_inside(svk_resolver *resolver, struct kind *own) {
  (void)own;
  fflush(NULL);
  pid_t pid = fork();
  MUST(pid >= 0);
  if (pid == 0) {
    void *instance = NULL;
    int failures = check_failures;
    CHECK_OK(svk_require(resolver, "low", &instance));
    CHECK(kind_of(svk_resolver_container(resolver), "low") != NULL);
    _exit(check_failures != failures);
  }
  int status = -1;
  MUST(waitpid(pid, &status, 0) == pid);
  CHECK_EQ(status, 0);
  return SVK_OK;
}

static void test_fork_in_a_factory(void) {
  svk_container *own = new_container();
  struct kind low = { .name = NULL }, top = { .on_create = fork_inside };
  MUST_OK(kind_register(own, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(own, "top", &top, SVK_SCOPE_CACHED));
  CHECK(kind_of(own, "top") == &top);
  CHECK_OK(svk_container_destroy(own));
  CHECK_GONE(&top, 1);
}

int main(void) {
  RUN(test_fork);
  RUN(test_fork_in_a_factory);
  return check_done();
}
