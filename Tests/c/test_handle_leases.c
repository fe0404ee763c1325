/* Handles as leases: any thread may release, threads may end while they hold some, and nothing is lost. */
#include "factory.h"

static void test_many_on_one_instance(void) {
  enum { MANY = 20000 };
  int many = iterations(MANY);
  static svk_handle *handles[MANY];
  static const int32_t scopes[] = {SVK_SCOPE_CACHED, SVK_SCOPE_SHARED};
  for (int s = 0; s < 2; s++) {
    svk_container *container = new_container();
    struct kind kind = {.name = NULL};
    MUST_OK(kind_register(container, "key", &kind, scopes[s]));
    for (int i = 0; i < many; i++) {
      handles[i] = RESOLVE(container, "key");
      CHECK(i == 0 || handles[i] != handles[i - 1]);
    }
    CHECK_EQ(kind.built, 1);
    CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
    for (int i = 0; i < many; i++) { /* neither in the order of the resolves nor in the opposite one */
      CHECK_EQ(kind.destroyed, 0);
      int which = (int)((long)i * 7919 % many);
      while (handles[which] == NULL)
        which = (which + 1) % many;
      CHECK(svk_instance(handles[which]) != NULL);
      CHECK_OK(svk_release(handles[which]));
      handles[which] = NULL;
    }
    CHECK_EQ(kind.destroyed, 1);
    CHECK_OK(svk_container_destroy(container));
    CHECK_GONE(&kind, 1);
  }
}

/* Resolved on one thread, released on another. */
enum { THREADS = 4, ROUNDS = 4000 };
struct exchange {
  svk_container *container;
  svk_handle *handles[THREADS][ROUNDS];
  pthread_barrier_t half;
  int rounds;
};

static void resolve_here_release_there(int index, void *argument) {
  struct exchange *exchange = argument;
  for (int i = 0; i < exchange->rounds; i++)
    exchange->handles[index][i] = RESOLVE(exchange->container, "key");
  pthread_barrier_wait(&exchange->half);
  for (int i = 0; i < exchange->rounds; i++) {
    svk_handle *handle = exchange->handles[(index + 1) % THREADS][i];
    struct instance *instance = svk_instance(handle);
    CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
    CHECK_OK(svk_release(handle));
    CHECK_STATUS(svk_release(handle), SVK_INVALID_HANDLE);
  }
}

static void test_released_elsewhere(void) {
  static const int32_t scopes[] = {SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED};
  for (int s = 0; s < 3; s++) {
    static struct exchange exchange;
    exchange.rounds = iterations(ROUNDS);
    struct kind kind = {.name = NULL};
    exchange.container = new_container();
    MUST_OK(kind_register(exchange.container, "key", &kind, scopes[s]));
    pthread_barrier_init(&exchange.half, NULL, THREADS);
    run_threads(THREADS, resolve_here_release_there, &exchange);
    pthread_barrier_destroy(&exchange.half);
    CHECK_EQ(kind_alive(&kind), scopes[s] == SVK_SCOPE_CACHED);
    CHECK_OK(svk_container_destroy(exchange.container));
    CHECK_EQ(kind.built, kind.destroyed);
    CHECK_EQ(kind.freed, 1);
  }
}

/* A thread that ends while it holds handles: they are as good as ever. Its successors get others. */
struct legacy {
  svk_container *container;
  svk_handle *handles[8][50];
  int round;
};

static void resolve_and_end(int index, void *argument) {
  struct legacy *legacy = argument;
  for (int i = 0; i < 50; i++)
    legacy->handles[index][i] = RESOLVE(legacy->container, "key");
  for (int i = 0; i < 50; i += 5)
    CHECK_OK(svk_release(legacy->handles[index][i]));
}

static void test_threads_that_end(void) {
  for (int round = 0; round < iterations(60); round++) {
    static struct legacy legacy, second;
    struct kind kind = {.name = NULL};
    legacy.container = second.container = new_container();
    MUST_OK(kind_register(legacy.container, "key", &kind, round % 2 ? SVK_SCOPE_CACHED : SVK_SCOPE_SHARED));
    run_threads(8, resolve_and_end, &legacy);
    run_threads(8, resolve_and_end, &second);
    CHECK_EQ(kind.built, 1);
    CHECK_OK(svk_reset(legacy.container, "key", SVK_RESET_SCOPES));
    for (int t = 0; t < 8; t++)
      for (int i = 0; i < 50; i++) {
        struct legacy *const both[] = {&legacy, &second};
        for (int b = 0; b < 2; b++) {
          svk_handle *handle = both[b]->handles[t][i];
          if (i % 5 == 0) {
            CHECK_STATUS(svk_release(handle), SVK_INVALID_HANDLE);
          } else {
            CHECK_EQ(kind.destroyed, 0);
            CHECK(svk_instance(handle) != NULL);
            CHECK_OK(svk_release(handle));
          }
        }
      }
    CHECK_EQ(kind.destroyed, 1);
    CHECK_OK(svk_container_destroy(legacy.container));
    CHECK_GONE(&kind, 1);
  }
}

/* An instance is never destroyed while a handle on it is held, whatever happens to its registration meanwhile. */
struct storm {
  svk_container *container;
  struct kind kinds[4];
  int rounds;
};

static void hold_or_replace(int index, void *argument) {
  struct storm *storm = argument;
  svk_handle *held[4] = {NULL};
  for (int i = 0; i < storm->rounds; i++) {
    if (index == 0) {
      if (i % 3 == 0)
        CHECK_OK(kind_register(storm->container, "key", &storm->kinds[i % 4], SVK_SCOPE_CACHED));
      else
        CHECK_OK(svk_reset(storm->container, "key", SVK_RESET_SCOPES));
      continue;
    }
    int slot = i % 4;
    if (held[slot] != NULL) {
      struct instance *instance = svk_instance(held[slot]);
      CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
      CHECK_OK(svk_release(held[slot]));
    }
    held[slot] = RESOLVE(storm->container, "key");
  }
  for (int slot = 0; slot < 4; slot++)
    if (held[slot] != NULL)
      CHECK_OK(svk_release(held[slot]));
}

static void test_replace_while_held(void) {
  static struct storm storm;
  storm.container = new_container();
  storm.rounds = iterations(30000);
  MUST_OK(kind_register(storm.container, "key", &storm.kinds[0], SVK_SCOPE_CACHED));
  run_threads(4, hold_or_replace, &storm);
  int alive = 0;
  for (int i = 0; i < 4; i++)
    alive += kind_alive(&storm.kinds[i]);
  CHECK(alive <= 1); /* the cached one */
  CHECK_OK(svk_container_destroy(storm.container));
  for (int i = 0; i < 4; i++) {
    CHECK_EQ(storm.kinds[i].built, storm.kinds[i].destroyed);
    CHECK_EQ(storm.kinds[i].registered, storm.kinds[i].freed);
  }
}

int main(void) {
  RUN(test_many_on_one_instance);
  RUN(test_released_elsewhere);
  RUN(test_threads_that_end);
  RUN(test_replace_while_held);
  return check_done();
}
