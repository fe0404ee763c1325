/* The end of containers against everything else, on many threads: no hang, nothing lost, nothing destroyed
 * twice. */
#include "factory.h"

enum { THREADS = 4, KEYS = 6 };

struct storm {
  svk_container *_Atomic container; /* replaced all the time */
  struct kind low, kinds[KEYS];
  int rounds;
  _Atomic int resolved, refused;
};

static const char *const keys[KEYS] = { "unique", "cached", "shared", "graph", "single", "brief" };
static const int32_t scopes[KEYS] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED,    SVK_SCOPE_SHARED,
                                      SVK_SCOPE_GRAPH,  SVK_SCOPE_SINGLETON, SVK_SCOPE_CACHED };

static svk_container *make_container(struct storm *storm) {
  svk_container *container = new_container();
  CHECK_OK(kind_register(container, "low", &storm->low, SVK_SCOPE_CACHED));
  for (int i = 0; i < KEYS; i++) {
    svk_factory_options options = kind_options(&storm->kinds[i], scopes[i]);
    options.time_to_live_ns = strcmp(keys[i], "brief") == 0 ? 1 : 0;
    CHECK_OK(kind_register_with(container, keys[i], NULL, &options));
  }
  return container;
}

static void resolve_while_it_ends(int index, void *argument) {
  struct storm *storm = argument;
  svk_handle *held[8] = { NULL };
  for (int i = 0; i < storm->rounds; i++) {
    if (index == 0) {
      svk_container *old = atomic_exchange(&storm->container, make_container(storm));
      CHECK_OK(svk_container_destroy(old));
      svk_handle *handle = NULL;
      CHECK_STATUS(svk_resolve(old, "low", &handle), SVK_INVALID_HANDLE);
      if (i % 8 == 0)
        CHECK_OK(svk_singleton_reset(NULL));
      continue;
    }
    for (int n = 0; n < KEYS; n++) {
      svk_handle **slot = &held[(i + n) % 8];
      if (*slot != NULL) {
        struct instance *instance = svk_instance(*slot);
        CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
        CHECK(instance->needs[0] == NULL || instance->needs[0]->magic == INSTANCE_LIVES);
        CHECK_OK(svk_release(*slot));
        *slot = NULL;
      }
      svk_status status = svk_resolve(atomic_load(&storm->container), keys[n], slot);
      if (status == SVK_OK) {
        atomic_fetch_add_explicit(&storm->resolved, 1, memory_order_relaxed);
      } else {
        CHECK_STATUS(status, SVK_INVALID_HANDLE);
        CHECK(*slot == NULL);
        atomic_fetch_add_explicit(&storm->refused, 1, memory_order_relaxed);
      }
    }
  }
  for (int n = 0; n < 8; n++)
    if (held[n] != NULL)
      CHECK_OK(svk_release(held[n]));
}

static void check_all_gone(struct storm *storm) {
  CHECK_OK(svk_singleton_reset(NULL));
  CHECK_EQ(storm->low.built, storm->low.destroyed);
  CHECK_EQ(storm->low.registered, storm->low.freed);
  for (int i = 0; i < KEYS; i++) {
    CHECK_EQ(storm->kinds[i].built, storm->kinds[i].destroyed);
    CHECK_EQ(storm->kinds[i].registered, storm->kinds[i].freed);
  }
}

static void test_against_resolves(void) {
  static struct storm storm;
  memset(&storm, 0, sizeof storm);
  for (int i = 0; i < KEYS; i++)
    storm.kinds[i].needs[0] = "low";
  storm.rounds = iterations(10000);
  storm.container = make_container(&storm);
  run_threads(THREADS, resolve_while_it_ends, &storm);
  CHECK_OK(svk_container_destroy(storm.container));
  CHECK(storm.resolved > 0);
  check_all_gone(&storm);
}

/* One container, ended once, while all begin with their first resolve. */
static void resolve_until_it_ends(int index, void *argument) {
  struct storm *storm = argument;
  if (index == 0) {
    CHECK_OK(svk_container_destroy(storm->container));
    return;
  }
  for (int i = 0; i < 500; i++) { /* or until that thread is late enough to be of no interest */
    svk_handle *handle = NULL;
    svk_status status = svk_resolve(storm->container, keys[(i + index) % KEYS], &handle);
    if (status != SVK_OK) {
      CHECK_STATUS(status, SVK_INVALID_HANDLE);
      CHECK(handle == NULL);
      break;
    }
    struct instance *instance = svk_instance(handle);
    CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
    CHECK_OK(svk_release(handle));
  }
}

static void test_at_the_first_resolve(void) {
  for (int round = 0; round < iterations(1500); round++) {
    static struct storm storm;
    memset(&storm, 0, sizeof storm);
    for (int i = 0; i < KEYS; i++)
      storm.kinds[i].needs[0] = "low";
    storm.container = make_container(&storm);
    run_threads(THREADS, resolve_until_it_ends, &storm);
    check_all_gone(&storm);
  }
}

/* Against every other function, and from several threads at once: one of the destroys is the one. */
static void use_until_it_ends(int index, void *argument) {
  struct storm *storm = argument;
  svk_container *container = storm->container;
  for (int i = 0; i < 6; i++) {
    svk_handle *handle = NULL;
    svk_container *child = NULL;
    void *instance = NULL;
    size_t needed = 0;
    svk_status status;
    switch ((i + index) % 8) {
    case 0:
      status = kind_register(container, "cached", &storm->kinds[1], SVK_SCOPE_CACHED);
      break;
    case 1:
      status = svk_resolve(container, "cached", &handle);
      break;
    case 2:
      status = svk_pin(container, "shared", &instance);
      break;
    case 3:
      status = svk_container_create_child(container, &child);
      break;
    case 4:
      status = svk_container_describe(container, SVK_FORMAT_JSON, NULL, 0, &needed);
      status = status == SVK_BUFFER_TOO_SMALL ? SVK_OK : status;
      break;
    case 5:
      status = svk_container_push(container);
      break;
    case 6:
      status = svk_container_pop(container);
      status = status == SVK_NOT_FOUND ? SVK_OK : status;
      break;
    default:
      status = svk_container_reset(container, SVK_RESET_SCOPES);
    }
    CHECK(status == SVK_OK || status == SVK_INVALID_HANDLE);
    if (handle != NULL)
      CHECK_OK(svk_release(handle));
    if (child != NULL) {
      if (svk_resolve(child, "cached", &handle) == SVK_OK)
        CHECK_OK(svk_release(handle));
      CHECK_OK(svk_container_destroy(child));
    }
    if (i == 3) {
      status = svk_container_destroy(container);
      CHECK(status == SVK_OK || status == SVK_INVALID_HANDLE);
      if (status == SVK_OK)
        atomic_fetch_add(&storm->resolved, 1);
    }
  }
}

static void test_against_everything(void) {
  for (int round = 0; round < iterations(1500); round++) {
    static struct storm storm;
    memset(&storm, 0, sizeof storm);
    storm.container = make_container(&storm);
    run_threads(THREADS, use_until_it_ends, &storm);
    CHECK_EQ(storm.resolved, 1);
    check_all_gone(&storm);
  }
}

/* A family: parents and children end in any order, while their instances are resolved through each other. */
struct family {
  svk_container *members[THREADS];
  struct kind kinds[THREADS];
};

static void resolve_and_end(int index, void *argument) {
  struct family *family = argument;
  static const char *const names[THREADS] = { "0", "1", "2", "3" };
  for (int i = 0; i < 20; i++) {
    svk_handle *handle = NULL;
    svk_status status =
        svk_resolve(family->members[THREADS - 1 - i % 2], names[(i + index) % THREADS], &handle);
    if (status == SVK_OK) {
      struct instance *instance = svk_instance(handle);
      CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
      CHECK_OK(svk_release(handle));
    } else {
      CHECK(status == SVK_NOT_FOUND || status == SVK_INVALID_HANDLE);
    }
    if (i == 10)
      CHECK_OK(svk_container_destroy(family->members[index]));
  }
}

static void test_families(void) {
  for (int round = 0; round < iterations(1500); round++) {
    static struct family family;
    static const char *const names[THREADS] = { "0", "1", "2", "3" };
    memset(&family, 0, sizeof family);
    for (int i = 0; i < THREADS; i++) {
      family.members[i] = i == 0 ? new_container() : new_child(family.members[i - 1]);
      if (i > 0)
        family.kinds[i].needs[0] = names[i - 1];
      MUST_OK(kind_register(family.members[i], names[i], &family.kinds[i], scopes[round % 4]));
    }
    run_threads(THREADS, resolve_and_end, &family);
    for (int i = 0; i < THREADS; i++) {
      CHECK_EQ(family.kinds[i].built, family.kinds[i].destroyed);
      CHECK_EQ(family.kinds[i].freed, 1);
    }
  }
}

int main(void) {
  RUN(test_against_resolves);
  RUN(test_at_the_first_resolve);
  RUN(test_against_everything);
  RUN(test_families);
  return check_done();
}
