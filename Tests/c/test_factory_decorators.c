/* Decorators: which one runs, when, with what, and when its user_data is freed. */
#include "factory.h"

struct decorator {
  const char *key; /* expected; NULL: any */
  _Atomic int calls, news, freed;
  void *last;
  void (*inside)(struct decorator *, struct instance *);
  svk_container *container;
};

static void decorate(void *instance, const char *key, int32_t is_new, void *user_data) {
  struct decorator *decorator = user_data;
  CHECK(instance != NULL && ((struct instance *)instance)->magic == INSTANCE_LIVES);
  CHECK(key != NULL);
  CHECK(is_new == 0 || is_new == 1);
  CHECK_EQ(decorator->freed, 0);
  if (decorator->key != NULL)
    CHECK(strcmp(key, decorator->key) == 0);
  atomic_fetch_add(&decorator->calls, 1);
  atomic_fetch_add(&decorator->news, is_new);
  if (decorator->inside != NULL)
    decorator->inside(decorator, instance);
}

static void decorator_free(void *user_data) {
  struct decorator *decorator = user_data;
  CHECK_EQ(atomic_fetch_add(&decorator->freed, 1), 0);
}

static svk_status set(svk_container *container, const char *key, struct decorator *decorator) {
  return svk_decorate(container, key, decorate, decorator, decorator_free);
}

static void test_hits_and_builds(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED,
                                    SVK_SCOPE_SINGLETON };
  for (int i = 0; i < 4; i++) {
    svk_container *container = new_container();
    struct kind kind = { .name = NULL };
    struct decorator decorator = { .key = "key" };
    MUST_OK(kind_register(container, "key", &kind, scopes[i]));
    CHECK_OK(set(container, "key", &decorator));
    CHECK_EQ(decorator.calls, 0);
    svk_handle *first = RESOLVE(container, "key");
    CHECK_EQ(decorator.calls, 1);
    CHECK_EQ(decorator.news, 1);
    CHECK(kind_of(container, "key") == &kind);
    CHECK_EQ(decorator.calls, 2);
    CHECK_EQ(decorator.news, scopes[i] == SVK_SCOPE_UNIQUE ? 2 : 1);
    svk_key *key = NULL;
    svk_handle *handle = NULL;
    CHECK_OK(svk_key_intern("key", &key));
    CHECK_OK(svk_resolve_key(container, key, &handle));
    CHECK_OK(svk_release(handle));
    CHECK_EQ(decorator.calls, 3);
    CHECK_OK(svk_resolve_with(container, "key", "p", 1, &handle));
    CHECK_OK(svk_release(handle));
    CHECK_EQ(decorator.calls, 4);
    void *pinned = NULL;
    if (scopes[i] != SVK_SCOPE_UNIQUE) {
      CHECK_OK(svk_pin(container, "key", &pinned));
      CHECK_EQ(decorator.calls, 5);
    }
    CHECK_OK(svk_release(first));
    CHECK_EQ(decorator.freed, 0);
    CHECK_OK(svk_container_destroy(container));
    CHECK_EQ(decorator.freed, 1);
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_EQ(kind.built, kind.destroyed);
  }
}

/* The key's own instead of the container's, nearest first. */
static void test_which_one(void) {
  svk_container *root = new_container(), *middle = new_child(root), *leaf = new_child(middle);
  svk_container *chain[] = { leaf, middle, root };
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(root, "key", &kind, SVK_SCOPE_CACHED));
  struct decorator decorators[6];
  memset(decorators, 0, sizeof decorators);
  /* From the strongest to the weakest: key's of leaf, middle, root; then the containers' of leaf, middle,
   * root. */
  for (int i = 0; i < 6; i++)
    CHECK_OK(set(chain[i % 3], i < 3 ? "key" : NULL, &decorators[i]));
  for (int i = 0; i < 6; i++) {
    CHECK(kind_of(leaf, "key") == &kind);
    for (int j = 0; j < 6; j++)
      CHECK_EQ(decorators[j].calls, j <= i);
    CHECK_OK(svk_decorate(chain[i % 3], i < 3 ? "key" : NULL, NULL, &decorators[5], decorator_free));
    CHECK_EQ(decorators[i].freed, 1);
  }
  CHECK(kind_of(leaf, "key") == &kind);
  for (int i = 0; i < 6; i++) {
    CHECK_EQ(decorators[i].calls, 1);
    CHECK_EQ(decorators[i].freed, 1);
  }
  /* A container's own does not reach upwards. */
  struct decorator of_leaf = { .key = NULL }, of_other = { .key = NULL };
  CHECK_OK(set(leaf, NULL, &of_leaf));
  CHECK_OK(set(leaf, "other", &of_other));
  CHECK(kind_of(middle, "key") == &kind);
  CHECK_EQ(of_leaf.calls, 0);
  CHECK(kind_of(leaf, "key") == &kind);
  CHECK_EQ(of_leaf.calls, 1);
  CHECK_EQ(of_other.calls, 0);
  CHECK_OK(svk_container_destroy(leaf));
  CHECK_EQ(of_leaf.freed, 1);
  CHECK_EQ(of_other.freed, 1);
  CHECK_OK(svk_container_destroy(middle));
  CHECK_OK(svk_container_destroy(root));
  CHECK_GONE(&kind, 1);
}

static void test_replace_and_remove(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  struct decorator first = { .key = "key" }, second = { .key = "key" }, ignored = { .key = "key" };
  CHECK_OK(svk_decorate(container, "key", NULL, &ignored, decorator_free)); /* there is none: still fine */
  CHECK_OK(svk_decorate(container, NULL, NULL, &ignored, decorator_free));
  CHECK_EQ(ignored.freed, 0);
  CHECK_OK(set(container, "key", &first)); /* the key is not registered yet */
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(first.calls, 1);
  CHECK_OK(set(container, "key", &second));
  CHECK_EQ(first.freed, 1);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(first.calls, 1);
  CHECK_EQ(second.calls, 1);
  CHECK_EQ(second.news, 0);
  /* It stays with the key when the registration goes, and through resets. */
  CHECK_OK(svk_unregister(container, "key"));
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK_OK(svk_container_reset(container, SVK_RESET_ALL));
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK_OK(svk_reset(container, "key", SVK_RESET_ALL));
  CHECK_EQ(second.freed, 0);
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(second.calls, 2);
  CHECK_EQ(second.news, 1);
  CHECK_OK(svk_decorate(container, "key", NULL, NULL, NULL));
  CHECK_EQ(second.freed, 1);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(second.calls, 2);
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(ignored.freed, 0);
  CHECK_GONE(&kind, 2);
}

/* Dependencies pass through theirs, before their dependents. */
static void write_name(struct decorator *decorator, struct instance *instance) {
  (void)decorator;
  journal_write("*", instance->kind->name);
}

static void test_required_ones_too(void) {
  svk_container *container = new_container();
  struct kind low = { .name = "low" }, high = { .name = "high", .needs = { "low", "low" } };
  struct decorator decorator = { .inside = write_name };
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "high", &high, SVK_SCOPE_CACHED));
  CHECK_OK(set(container, NULL, &decorator));
  journal_clear();
  CHECK(kind_of(container, "high") == &high);
  CHECK_JOURNAL("+low *low *low +high *high ");
  CHECK_EQ(decorator.news, 2);
  CHECK(kind_of(container, "high") == &high);
  CHECK_JOURNAL("+low *low *low +high *high *high ");
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(decorator.freed, 1);
}

static void test_not_for_failures(void) {
  svk_container *container = new_container();
  struct kind failing = { .answer = SVK_FACTORY_ERROR_BASE };
  struct decorator decorator = { .key = NULL };
  svk_handle *handle = NULL;
  MUST_OK(kind_register(container, "failing", &failing, SVK_SCOPE_CACHED));
  CHECK_OK(set(container, NULL, &decorator));
  CHECK_STATUS(svk_resolve(container, "failing", &handle), SVK_FACTORY_ERROR_BASE);
  CHECK_STATUS(svk_resolve(container, "nothing", &handle), SVK_NOT_FOUND);
  CHECK_EQ(decorator.calls, 0);
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(decorator.freed, 1);
}

/* Before whoever asked gets it: also whoever waited for it on another thread. */
static void raise_number(struct decorator *decorator, struct instance *instance) {
  (void)decorator;
  __atomic_fetch_add(&instance->number, 1000, __ATOMIC_RELAXED);
}

static void test_before_anybody_has_it(void) {
  svk_container *container = new_container();
  struct kind low = { .name = NULL }, high = { .needs = { "low" } };
  struct decorator decorator = { .inside = raise_number };
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "high", &high, SVK_SCOPE_CACHED));
  CHECK_OK(set(container, "low", &decorator));
  svk_handle *handle = RESOLVE(container, "high");
  CHECK_EQ(((struct instance *)svk_instance(handle))->needs[0]->number, 1001);
  CHECK_OK(svk_release(handle));
  handle = RESOLVE(container, "low");
  CHECK_EQ(((struct instance *)svk_instance(handle))->number, 2001);
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_container_destroy(container));
}

/* A decorator that replaces or removes itself: freed once, after it has returned. */
static void replace_itself(struct decorator *decorator, struct instance *instance) {
  (void)instance;
  decorator->inside = NULL;
  struct decorator *following = decorator->last;
  if (following != NULL)
    CHECK_OK(set(decorator->container, "key", following));
  else
    CHECK_OK(svk_decorate(decorator->container, "key", NULL, NULL, NULL));
  CHECK_EQ(decorator->freed, 0);
}

static void test_from_inside_itself(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  struct decorator second = { .inside = replace_itself, .container = container },
                   first = { .inside = replace_itself, .container = container, .last = &second };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK_OK(set(container, "key", &first));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(first.calls, 1);
  CHECK_EQ(first.freed, 1);
  CHECK_EQ(second.calls, 0);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(second.calls, 1);
  CHECK_EQ(second.freed, 1);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(second.calls, 1);
  CHECK_OK(svk_container_destroy(container));
}

/* Resolves the same key once more, from inside. */
static void resolve_again(struct decorator *decorator, struct instance *instance) {
  if (decorator->calls > 5)
    return;
  svk_handle *handle = RESOLVE(decorator->container, "key");
  CHECK(svk_instance(handle) == instance);
  CHECK_OK(svk_release(handle));
}

static void test_resolve_from_inside(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  struct decorator decorator = { .inside = resolve_again, .container = container };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK_OK(set(container, "key", &decorator));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(decorator.calls, 6);
  CHECK_EQ(decorator.news, 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 1);
}

/* A decorator that drops the very instance from its cache: whoever asked still gets it, alive. */
static void drop_it(struct decorator *decorator, struct instance *instance) {
  CHECK_OK(svk_reset(decorator->container, "key", SVK_RESET_SCOPES));
  CHECK(instance->magic == INSTANCE_LIVES);
  if (decorator->calls % 2 == 0)
    CHECK_OK(svk_unregister(decorator->container, "key"));
  CHECK(instance->magic == INSTANCE_LIVES);
}

static void test_drop_from_inside(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  struct decorator decorator = { .inside = drop_it, .container = container };
  CHECK_OK(set(container, "key", &decorator));
  for (int i = 1; i <= 6; i++) {
    if (i % 2 == 1)
      MUST_OK(kind_register(container, "key", &kind, i < 4 ? SVK_SCOPE_CACHED : SVK_SCOPE_SHARED));
    svk_handle *handle = RESOLVE(container, "key");
    CHECK_EQ(kind.destroyed, i - 1);
    CHECK_OK(svk_release(handle));
    CHECK_EQ(kind.destroyed, i);
  }
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 6);
}

/* The last running call of a replaced decorator ends on another thread: only then it is freed. */
static struct counter entered = COUNTER_INIT, leave = COUNTER_INIT;

static void wait_inside(struct decorator *decorator, struct instance *instance) {
  (void)decorator, (void)instance;
  counter_add(&entered, 1);
  counter_wait(&leave, 1);
  CHECK_EQ(decorator->freed, 0);
}

struct pair {
  svk_container *container;
  struct decorator *first, *second;
  struct kind *kind;
};

static void resolve_or_replace(int index, void *argument) {
  struct pair *pair = argument;
  if (index == 0) {
    CHECK(kind_of(pair->container, "key") == pair->kind);
  } else {
    counter_wait(&entered, 1);
    CHECK_OK(set(pair->container, "key", pair->second));
    CHECK_EQ(pair->first->freed, 0);
    CHECK(kind_of(pair->container, "key") == pair->kind); /* nor is anything held up by it */
    CHECK_EQ(pair->second->calls, 1);
    counter_add(&leave, 1);
  }
}

static void test_replaced_while_it_runs(void) {
  struct kind kind = { .name = NULL };
  struct decorator first = { .inside = wait_inside }, second = { .key = "key" };
  struct pair pair = { new_container(), &first, &second, &kind };
  MUST_OK(kind_register(pair.container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK_OK(set(pair.container, "key", &first));
  run_threads(2, resolve_or_replace, &pair);
  CHECK_EQ(first.freed, 1);
  CHECK_EQ(second.freed, 0);
  CHECK_OK(svk_container_destroy(pair.container));
  CHECK_EQ(second.freed, 1);
}

/* is_new is 1 once for each instance; each user_data is freed once, however often it is replaced meanwhile.
 */
struct storm {
  svk_container *container;
  struct kind kind;
  _Atomic int calls, news, set, freed;
  int rounds;
};

static void count(void *instance, const char *key, int32_t is_new, void *user_data) {
  struct storm *storm = *(struct storm **)user_data;
  CHECK(instance != NULL && key != NULL);
  atomic_fetch_add(&storm->calls, 1);
  atomic_fetch_add(&storm->news, is_new);
}

static void count_free(void *user_data) {
  atomic_fetch_add(&(*(struct storm **)user_data)->freed, 1);
  free(user_data);
}

static void set_new(struct storm *storm) {
  struct storm **data = malloc(sizeof *data);
  MUST(data != NULL);
  *data = storm;
  atomic_fetch_add(&storm->set, 1);
  CHECK_OK(svk_decorate(storm->container, "key", count, data, count_free));
}

static void resolve_reset_decorate(int index, void *argument) {
  struct storm *storm = argument;
  for (int i = 0; i < storm->rounds; i++) {
    svk_handle *handle = RESOLVE(storm->container, "key");
    CHECK_OK(svk_release(handle));
    if (index == 0)
      CHECK_OK(svk_reset(storm->container, "key", SVK_RESET_SCOPES));
    if (index == 1)
      set_new(storm);
  }
}

static void test_storm(void) {
  static struct storm storm;
  storm.container = new_container();
  storm.rounds = iterations(20000);
  MUST_OK(kind_register(storm.container, "key", &storm.kind, SVK_SCOPE_CACHED));
  set_new(&storm);
  run_threads(4, resolve_reset_decorate, &storm);
  CHECK_EQ(storm.calls, 4 * storm.rounds);
  CHECK_EQ(storm.news, storm.kind.built);
  CHECK_OK(svk_container_destroy(storm.container));
  CHECK_EQ(storm.set, storm.freed);
  CHECK_EQ(storm.kind.built, storm.kind.destroyed);
}

int main(void) {
  RUN(test_hits_and_builds);
  RUN(test_which_one);
  RUN(test_replace_and_remove);
  RUN(test_required_ones_too);
  RUN(test_not_for_failures);
  RUN(test_before_anybody_has_it);
  RUN(test_from_inside_itself);
  RUN(test_resolve_from_inside);
  RUN(test_drop_from_inside);
  RUN(test_replaced_while_it_runs);
  RUN(test_storm);
  return check_done();
}
