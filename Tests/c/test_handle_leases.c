/* Handles as leases: any thread may release, threads may end while they hold some, and nothing is lost. */
#include "factory.h"

static void test_many_on_one_instance(void) {
  enum { MANY = 20000 };
  int many = iterations(MANY);
  static svk_handle *handles[MANY];
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SHARED };
  for (int s = 0; s < 2; s++) {
    svk_container *container = new_container();
    struct kind kind = { .name = NULL };
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
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED };
  for (int s = 0; s < 3; s++) {
    static struct exchange exchange;
    exchange.rounds = iterations(ROUNDS);
    struct kind kind = { .name = NULL };
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
    struct kind kind = { .name = NULL };
    legacy.container = second.container = new_container();
    MUST_OK(kind_register(legacy.container, "key", &kind, round % 2 ? SVK_SCOPE_CACHED : SVK_SCOPE_SHARED));
    run_threads(8, resolve_and_end, &legacy);
    run_threads(8, resolve_and_end, &second);
    CHECK_EQ(kind.built, 1);
    CHECK_OK(svk_reset(legacy.container, "key", SVK_RESET_SCOPES));
    for (int t = 0; t < 8; t++)
      for (int i = 0; i < 50; i++) {
        struct legacy *const both[] = { &legacy, &second };
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

/* Handles that are passed on all the time: whoever gets one releases it, while others resolve. */
struct market {
  svk_container *container;
  svk_handle *_Atomic stalls[32];
  int rounds;
};

static void exchange_handles(int index, void *argument) {
  struct market *market = argument;
  unsigned seed = (unsigned)index + 1;
  static const char *const keys[] = { "unique", "cached", "shared" };
  for (int i = 0; i < market->rounds; i++) {
    svk_handle *handle = RESOLVE(market->container, keys[rand_r(&seed) % 3]);
    handle = atomic_exchange(&market->stalls[rand_r(&seed) % 32], handle);
    if (handle == NULL)
      continue;
    struct instance *instance = svk_instance(handle);
    CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
    CHECK_OK(svk_release(handle));
    if (i % 64 == 0)
      CHECK_OK(svk_reset(market->container, keys[1], SVK_RESET_SCOPES));
  }
}

static void test_passed_on(void) {
  static struct market market;
  struct kind kinds[3];
  memset(kinds, 0, sizeof kinds);
  market.container = new_container();
  market.rounds = iterations(40000);
  MUST_OK(kind_register(market.container, "unique", &kinds[0], SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(market.container, "cached", &kinds[1], SVK_SCOPE_CACHED));
  MUST_OK(kind_register(market.container, "shared", &kinds[2], SVK_SCOPE_SHARED));
  run_threads(6, exchange_handles, &market);
  for (int i = 0; i < 32; i++)
    if (market.stalls[i] != NULL)
      CHECK_OK(svk_release(market.stalls[i]));
  CHECK_EQ(kind_alive(&kinds[0]), 0);
  CHECK_EQ(kind_alive(&kinds[2]), 0);
  CHECK_OK(svk_container_destroy(market.container));
  for (int i = 0; i < 3; i++) {
    CHECK_EQ(kinds[i].built, kinds[i].destroyed);
    CHECK_EQ(kinds[i].freed, 1);
  }
}

/* As many threads as may be, all of which hold handles at the same time. */
struct crowd {
  svk_container *container;
  pthread_barrier_t all_hold;
};

static void hold_together(int index, void *argument) {
  (void)index;
  struct crowd *crowd = argument;
  svk_handle *handles[30];
  for (int i = 0; i < 30; i++)
    handles[i] = RESOLVE(crowd->container, i % 2 ? "cached" : "shared");
  pthread_barrier_wait(&crowd->all_hold);
  for (int i = 0; i < 30; i++) {
    CHECK(svk_instance(handles[i]) == svk_instance(handles[i % 2]));
    if (i >= 2)
      CHECK_OK(svk_release(handles[i]));
  }
  CHECK_OK(svk_release(handles[0]));
  CHECK_OK(svk_release(handles[1]));
}

static void test_a_crowd(void) {
  for (int round = 0; round < iterations(10); round++) {
    struct crowd crowd = { .container = new_container() };
    struct kind cached = { .name = NULL }, shared = { .name = NULL };
    MUST_OK(kind_register(crowd.container, "cached", &cached, SVK_SCOPE_CACHED));
    MUST_OK(kind_register(crowd.container, "shared", &shared, SVK_SCOPE_SHARED));
    pthread_barrier_init(&crowd.all_hold, NULL, CHECK_THREADS_MAX);
    run_threads(CHECK_THREADS_MAX, hold_together, &crowd);
    pthread_barrier_destroy(&crowd.all_hold);
    CHECK_EQ(cached.built, 1);
    CHECK_EQ(shared.destroyed, 1);
    CHECK_OK(svk_container_destroy(crowd.container));
    CHECK_GONE(&cached, 1);
    CHECK_GONE(&shared, 1);
  }
}

/* A thread that uses the library in the destructors of its thread-local data, after those of the library,
 * too. */
static pthread_key_t early, late;
static svk_container *local_container;

static void use_at_exit(void *pointer) {
  svk_handle *handle = pointer, *other = NULL;
  CHECK(svk_instance(handle) != NULL);
  CHECK_OK(svk_release(handle));
  handle = RESOLVE(local_container, "unique");
  CHECK_STATUS(svk_resolve(local_container, "nothing", &other), SVK_NOT_FOUND);
  CHECK_STR(svk_last_error(), "nothing");
  CHECK_OK(svk_release(handle));
}

static void use_again_at_exit(void *pointer) {
  use_at_exit(pointer);
  static _Thread_local int times;
  /* And in the next rounds of destructors. ThreadSanitizer does not outlive those. */
  if (!CHECK_THREAD_SANITIZED && times++ < 2)
    pthread_setspecific(late, RESOLVE(local_container, "cached"));
}

static void begin_to_exit(int index, void *argument) {
  (void)index, (void)argument;
  pthread_setspecific(early, RESOLVE(local_container, "cached"));
  pthread_setspecific(late, RESOLVE(local_container, "cached"));
}

static void test_the_end_of_a_thread(void) {
  pthread_key_create(&early, use_at_exit);
  local_container = new_container();
  struct kind cached = { .name = NULL }, unique = { .name = NULL };
  MUST_OK(kind_register(local_container, "cached", &cached, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(local_container, "unique", &unique, SVK_SCOPE_UNIQUE));
  CHECK_OK(svk_release(RESOLVE(local_container, "cached")));
  pthread_key_create(&late, use_again_at_exit);
  for (int i = 0; i < iterations(200); i++)
    run_threads(3, begin_to_exit, NULL);
  pthread_key_delete(early);
  pthread_key_delete(late);
  CHECK_OK(svk_reset(local_container, "cached", SVK_RESET_SCOPES));
  CHECK_EQ(cached.destroyed, 1); /* nobody holds it any more */
  CHECK_OK(svk_container_destroy(local_container));
  CHECK_GONE(&cached, 1);
  CHECK_EQ(unique.built, unique.destroyed);
}

/* Instances are the factory's own pointers: never looked at, and they need not be different. */
static _Atomic int odd_destroyed;
static svk_status create_odd(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver;
  *instance = user_data;
  return SVK_OK;
}
static void destroy_odd(void *instance, void *user_data) {
  CHECK(instance == user_data);
  atomic_fetch_add(&odd_destroyed, 1);
}

static void test_odd_instances(void) {
  svk_container *container = new_container();
  static const uintptr_t words[] = { 1, 3, UINTPTR_MAX, 0xdead, (uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1) };
  int expected = 0;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
    options.create = create_odd;
    options.destroy = destroy_odd;
    options.user_data = (void *)words[i];
    MUST_OK(svk_register(container, "unique", &options));
    options.scope = SVK_SCOPE_SHARED;
    MUST_OK(svk_register(container, "shared", &options));
    svk_handle *first = NULL, *second = NULL, *third = NULL;
    CHECK_OK(svk_resolve(container, "unique", &first));
    CHECK_OK(svk_resolve(container, "unique", &second));
    CHECK_OK(svk_resolve(container, "shared", &third));
    CHECK((uintptr_t)svk_instance(first) == words[i]);
    CHECK((uintptr_t)svk_instance(second) == words[i]);
    CHECK((uintptr_t)svk_instance(third) == words[i]);
    CHECK_OK(svk_release(first));
    CHECK_EQ(odd_destroyed, expected + 1); /* each is destroyed by itself, though they are the same pointer */
    CHECK_OK(svk_release(third));
    CHECK_OK(svk_release(second));
    CHECK_EQ(odd_destroyed, expected += 3);
  }
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(odd_destroyed, expected);
}

/* An instance is never destroyed while a handle on it is held, whatever happens to its registration
 * meanwhile. */
struct storm {
  svk_container *container;
  struct kind kinds[4];
  int rounds;
};

static void hold_or_replace(int index, void *argument) {
  struct storm *storm = argument;
  svk_handle *held[4] = { NULL };
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
  RUN(test_passed_on);
  RUN(test_a_crowd);
  RUN(test_the_end_of_a_thread);
  RUN(test_odd_instances);
  RUN(test_replace_while_held);
  return check_done();
}
