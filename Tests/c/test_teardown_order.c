/* The end of a container: dependents first, held handles logged by key and usable, nothing lost. */
#include "factory.h"

static char logged[65536];
static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static void write_log(int32_t level, const char *message, void *user_data) {
  (void)user_data;
  CHECK(level >= SVK_LOG_ERROR && level <= SVK_LOG_DEBUG);
  pthread_mutex_lock(&log_mutex);
  size_t used = strlen(logged);
  snprintf(logged + used, sizeof logged - used, "%d:%s\n", (int)level, message);
  pthread_mutex_unlock(&log_mutex);
}

/* How many warnings name that key. */
static int warnings_with(const char *key) {
  int count = 0;
  for (const char *line = logged; *line != 0; line = strchr(line, '\n') + 1) {
    const char *end = strchr(line, '\n');
    const char *found = strstr(line, key);
    count += strncmp(line, "2:", 2) == 0 && found != NULL && found < end;
  }
  return count;
}

static void test_dependents_first(void) {
  /* Registered and resolved in whichever order. */
  static const char *const orders[] = { "abcd", "dcba", "bdac", "cadb" };
  for (int r = 0; r < 4; r++)
    for (int o = 0; o < 4; o++) {
      svk_container *container = new_container();
      struct kind a = { .name = "a" }, b = { .name = "b", .needs = { "a" } },
                  c = { .name = "c", .needs = { "a", "b" } }, d = { .name = "d", .needs = { "c", "b" } };
      struct kind *const kinds[] = { &a, &b, &c, &d };
      char key[2] = { 0, 0 };
      journal_clear();
      for (int i = 0; i < 4; i++) {
        key[0] = orders[r][i];
        MUST_OK(kind_register(container, key, kinds[key[0] - 'a'], SVK_SCOPE_CACHED));
      }
      for (int i = 0; i < 4; i++) {
        key[0] = orders[o][i];
        CHECK(kind_of(container, key) == kinds[key[0] - 'a']);
      }
      CHECK_OK(svk_container_destroy(container));
      CHECK_JOURNAL("+a +b +c +d -d -c -b -a ");
      for (int i = 0; i < 4; i++)
        CHECK_GONE(kinds[i], 1);
    }
}

/* A unique dependency ends with its dependent; a cached one that others use stays. */
static void test_release(void) {
  svk_container *container = new_container();
  struct kind low = { .name = "low" }, own = { .name = "own" },
              high = { .name = "high", .needs = { "own", "low" } };
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "own", &own, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "high", &high, SVK_SCOPE_UNIQUE));
  journal_clear();
  svk_handle *handle = RESOLVE(container, "high");
  CHECK_OK(svk_release(handle));
  CHECK_EQ(own.destroyed, 1);
  CHECK_EQ(low.destroyed, 0);
  CHECK_EQ(strncmp(strstr(journal_text, "-"), "-high ", 6), 0);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&low, 1);
}

/* The requirements may still be used in destroy; kind_destroy looks at them. Here through the library, too.
 */
static void use_requirement(struct instance *instance) {
  CHECK(instance->needs[0]->kind->name != NULL);
  CHECK_STATUS(svk_release(NULL), SVK_INVALID_HANDLE);
}

static void test_requirements_in_destroy(void) {
  svk_container *container = new_container();
  struct kind low = { .name = "low" }, high = { .needs = { "low" }, .on_destroy = use_requirement };
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_SHARED));
  MUST_OK(kind_register(container, "high", &high, SVK_SCOPE_SHARED));
  CHECK(kind_of(container, "high") == &high);
  CHECK_EQ(low.destroyed, 1);
  CHECK_OK(svk_container_destroy(container));
}

static void test_held_handles_are_logged(void) {
  CHECK_OK(svk_set_log(write_log, SVK_LOG_DEBUG, NULL, NULL));
  svk_container *container = new_container();
  static const char *const keys[] = { "held-cached", "held-unique", "held-shared",
                                      "let-go",      "required",    "pinned" };
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_UNIQUE, SVK_SCOPE_SHARED,
                                    SVK_SCOPE_CACHED, SVK_SCOPE_CACHED, SVK_SCOPE_CACHED };
  struct kind kinds[6] = { { .needs = { "required" } } };
  for (int i = 0; i < 6; i++)
    MUST_OK(kind_register(container, keys[i], &kinds[i], scopes[i]));
  svk_handle *held[] = { RESOLVE(container, keys[0]), RESOLVE(container, keys[1]),
                         RESOLVE(container, keys[2]) };
  svk_handle *let_go = RESOLVE(container, keys[3]);
  CHECK_OK(svk_release(let_go));
  void *pinned = NULL;
  CHECK_OK(svk_pin(container, "pinned", &pinned));
  logged[0] = 0;
  CHECK_OK(svk_container_destroy(container));
  for (int i = 0; i < 3; i++)
    CHECK(warnings_with(keys[i]) >= 1);
  for (int i = 3; i < 6; i++)
    CHECK_EQ(warnings_with(keys[i]), 0);
  CHECK_EQ(kinds[3].destroyed, 1);
  CHECK_EQ(kinds[5].destroyed, 1);
  CHECK_EQ(kinds[4].destroyed, 0); /* the first of the held ones requires it */
  for (int i = 0; i < 3; i++) {
    struct instance *instance = svk_instance(held[i]);
    CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
    CHECK_OK(svk_release(held[i]));
  }
  for (int i = 0; i < 6; i++)
    CHECK_GONE(&kinds[i], 1);

  /* With nothing held there is nothing to warn of; and without a log function all is dropped. */
  logged[0] = 0;
  container = new_container();
  MUST_OK(kind_register(container, "key", &kinds[1], SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &kinds[1]);
  CHECK_OK(svk_container_destroy(container));
  CHECK(strstr(logged, "2:") == NULL && strstr(logged, "1:") == NULL);
  CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
  container = new_container();
  MUST_OK(kind_register(container, "key", &kinds[1], SVK_SCOPE_CACHED));
  svk_handle *handle = RESOLVE(container, "key");
  logged[0] = 0;
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_release(handle));
  CHECK_EQ(logged[0], 0);
}

/* Handles that instances hold by hand, and give back in their destroy: not held any more when it comes to the
 * log. */
static svk_status resolve_by_hand(svk_resolver *resolver, struct kind *kind) {
  kind->context = RESOLVE(svk_resolver_container(resolver), "low-by-hand");
  return SVK_OK;
}
static void release_by_hand(struct instance *instance) {
  struct instance *low = svk_instance(instance->kind->context);
  CHECK(low != NULL && low->magic == INSTANCE_LIVES);
  CHECK_OK(svk_release(instance->kind->context));
}

static void test_handles_of_instances(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED };
  CHECK_OK(svk_set_log(write_log, SVK_LOG_DEBUG, NULL, NULL));
  for (int s = 0; s < 3; s++)
    for (int first = 0; first < 2; first++) {
      svk_container *container = new_container();
      struct kind low = { .name = "low" }, high = { .name = "high" };
      high.on_create = resolve_by_hand;
      high.on_destroy = release_by_hand;
      MUST_OK(kind_register(container, "low-by-hand", &low, scopes[s]));
      MUST_OK(kind_register(container, "high", &high, SVK_SCOPE_CACHED));
      if (first)
        CHECK(kind_of(container, "low-by-hand") == &low);
      int built = low.built;
      CHECK(kind_of(container, "high") == &high);
      logged[0] = 0;
      CHECK_OK(svk_container_destroy(container));
      CHECK_EQ(warnings_with("low-by-hand"), 0);
      CHECK_GONE(&high, 1);
      CHECK_GONE(&low, built + !(first && scopes[s] == SVK_SCOPE_CACHED));
    }
  CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
}

/* A log function that gives back what it is told is still held. */
static svk_handle *still_held[3];
static void release_what_is_held(int32_t level, const char *message, void *user_data) {
  (void)user_data;
  for (int i = 0; i < 3; i++)
    if (level == SVK_LOG_WARNING && still_held[i] != NULL && strstr(message, "held-key") != NULL) {
      svk_handle *handle = still_held[i];
      still_held[i] = NULL;
      CHECK_OK(svk_release(handle));
    }
}

static void test_released_in_the_log(void) {
  for (int pop = 0; pop < 2; pop++) {
    svk_container *container = new_container();
    struct kind kind = { .name = NULL };
    CHECK_OK(svk_container_push(container));
    MUST_OK(kind_register(container, "held-key", &kind, SVK_SCOPE_CACHED));
    for (int i = 0; i < 3; i++)
      still_held[i] = RESOLVE(container, "held-key");
    CHECK_OK(svk_set_log(release_what_is_held, SVK_LOG_WARNING, NULL, NULL));
    if (pop)
      CHECK_OK(svk_container_pop(container));
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
    for (int i = 0; i < 3; i++)
      CHECK(still_held[i] == NULL);
    CHECK_GONE(&kind, 1);
  }
}

/* Any graph, any scopes, any handles held until whenever: kind_destroy sees to it that what is needed still
 * lives. */
static void test_any_graph(void) {
  enum { KEYS = 30, HELD = 60 };
  static char names[KEYS][16];
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED,    SVK_SCOPE_SHARED,
                                    SVK_SCOPE_GRAPH,  SVK_SCOPE_SINGLETON, SVK_SCOPE_CUSTOM };
  unsigned seed = 12345;
  svk_scope *scope = NULL;
  MUST_OK(svk_scope_create("scope", &scope));
  for (int i = 0; i < KEYS; i++)
    snprintf(names[i], sizeof names[i], "key-%d", i);
  for (int round = 0; round < iterations(150); round++) {
    svk_container *chain[3];
    chain[0] = new_container();
    chain[1] = new_child(chain[0]);
    chain[2] = new_child(chain[1]);
    static struct kind kinds[KEYS];
    memset(kinds, 0, sizeof kinds);
    int level[KEYS];
    for (int i = 0; i < KEYS; i++) {
      level[i] = rand_r(&seed) % 3;
      int count = rand_r(&seed) % 3;
      /* Of lower number, and where the container that builds can find it. Few, since the unique ones
       * multiply. */
      for (int n = 0; n < count && i > 0; n++) {
        int need = i - 1 - rand_r(&seed) % (i < 6 ? i : 6);
        if (level[need] > level[i])
          break;
        kinds[i].needs[n] = names[need];
      }
      svk_factory_options options = kind_options(&kinds[i], scopes[rand_r(&seed) % 6]);
      options.custom_scope = scope;
      MUST_OK(kind_register_with(chain[level[i]], names[i], NULL, &options));
    }
    svk_handle *held[HELD];
    for (int i = 0; i < HELD; i++)
      held[i] = RESOLVE(chain[2], names[rand_r(&seed) % KEYS]);
    for (int i = 0; i < HELD; i++)
      if (rand_r(&seed) % 2) {
        CHECK_OK(svk_release(held[i]));
        held[i] = NULL;
      }
    int steps[] = { 0, 1, 2, 3, 4, 5 };
    for (int i = 5; i > 0; i--) {
      int j = rand_r(&seed) % (i + 1), t = steps[i];
      steps[i] = steps[j];
      steps[j] = t;
    }
    for (int i = 0; i < 6; i++)
      switch (steps[i]) {
      case 0:
      case 1:
      case 2:
        CHECK_OK(svk_container_destroy(chain[steps[i]]));
        break;
      case 3:
        CHECK_OK(svk_singleton_reset(NULL));
        break;
      case 4:
        CHECK_OK(svk_scope_reset(scope));
        break;
      default:
        for (int h = 0; h < HELD; h++)
          if (held[h] != NULL) {
            struct instance *instance = svk_instance(held[h]);
            CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
            CHECK_OK(svk_release(held[h]));
          }
      }
    for (int i = 0; i < KEYS; i++) {
      CHECK_EQ(kinds[i].built, kinds[i].destroyed);
      CHECK_EQ(kinds[i].registered, kinds[i].freed);
    }
  }
  CHECK_OK(svk_scope_destroy(scope));
}

/* A chain of dependencies so long that a teardown by recursion would run out of stack. */
static void test_a_long_chain(void) {
  enum { LENGTH = 100000 };
  int length = check_slow() ? LENGTH / 20 : LENGTH;
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SHARED };
  char(*names)[16] = calloc((size_t)length, sizeof *names);
  struct kind *kinds = calloc((size_t)length, sizeof *kinds);
  MUST(names != NULL && kinds != NULL);
  for (int s = 0; s < 2; s++) {
    svk_container *container = new_container();
    svk_handle *last = NULL;
    memset(kinds, 0, (size_t)length * sizeof *kinds);
    for (int i = 0; i < length; i++) {
      snprintf(names[i], sizeof names[i], "%d", i);
      kinds[i].needs[0] = i > 0 ? names[i - 1] : NULL;
      MUST_OK(kind_register(container, names[i], &kinds[i], scopes[s]));
      svk_handle *handle = RESOLVE(container, names[i]);
      if (last != NULL)
        CHECK_OK(svk_release(last));
      last = handle;
    }
    CHECK_EQ(kinds[0].destroyed, 0);
    if (s == 0) {
      CHECK_OK(svk_release(last));
      CHECK_OK(svk_container_destroy(container));
    } else {
      CHECK_OK(svk_release(last)); /* all of them go at once */
      CHECK_EQ(kinds[0].destroyed, 1);
      CHECK_OK(svk_container_destroy(container));
    }
    int gone = 0;
    for (int i = 0; i < length; i++)
      gone += kinds[i].built == 1 && kinds[i].destroyed == 1 && kinds[i].freed == 1;
    CHECK_EQ(gone, length);
  }
  free(kinds);
  free(names);
}

int main(void) {
  RUN(test_dependents_first);
  RUN(test_release);
  RUN(test_requirements_in_destroy);
  RUN(test_held_handles_are_logged);
  RUN(test_handles_of_instances);
  RUN(test_released_in_the_log);
  RUN(test_any_graph);
  RUN(test_a_long_chain);
  return check_done();
}
