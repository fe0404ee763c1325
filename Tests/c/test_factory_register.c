/* Registering, replacing, unregistering, resetting: what stays, what goes, and when user_data is freed. */
#include "factory.h"

static void test_replace_what_nobody_holds(void) {
  svk_container *container = new_container();
  struct kind first = { .name = NULL }, second = { .name = NULL };
  MUST_OK(kind_register(container, "key", &first, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &first);
  CHECK_EQ(first.destroyed, 0);
  CHECK_EQ(first.freed, 0);
  MUST_OK(kind_register(container, "key", &second, SVK_SCOPE_CACHED));
  CHECK_GONE(&first, 1); /* before svk_register returned */
  CHECK(kind_of(container, "key") == &second);
  CHECK(kind_of(container, "key") == &second);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&second, 1);
}

static void test_replace_what_was_never_built(void) {
  svk_container *container = new_container();
  struct kind first = { .name = NULL }, second = { .name = NULL };
  MUST_OK(kind_register(container, "key", &first, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "key", &second, SVK_SCOPE_CACHED));
  CHECK_GONE(&first, 0);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&second, 0);
}

static void test_replace_what_is_held(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED };
  for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
    svk_container *container = new_container();
    struct kind first = { .name = NULL }, second = { .name = NULL };
    MUST_OK(kind_register(container, "key", &first, scopes[i]));
    svk_handle *held = RESOLVE(container, "key");
    struct instance *instance = svk_instance(held);
    MUST_OK(kind_register(container, "key", &second, scopes[i]));
    CHECK_EQ(first.destroyed, 0);
    CHECK_EQ(first.freed, 0);
    CHECK(svk_instance(held) == instance);
    CHECK(instance->magic == INSTANCE_LIVES);
    svk_handle *new_one = RESOLVE(container, "key");
    CHECK(((struct instance *)svk_instance(new_one))->kind == &second);
    CHECK_OK(svk_release(held));
    CHECK_GONE(&first, 1);
    CHECK_EQ(second.destroyed, 0);
    CHECK_OK(svk_release(new_one));
    CHECK_OK(svk_container_destroy(container));
    CHECK_GONE(&second, 1);
  }
}

/* A dependent keeps the dependency that it was built with. */
static void test_replace_what_is_required(void) {
  svk_container *container = new_container();
  struct kind first = { .name = NULL }, second = { .name = NULL }, dependent = { .needs = { "dependency" } };
  MUST_OK(kind_register(container, "dependency", &first, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "dependent", &dependent, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "dependent") == &dependent);
  MUST_OK(kind_register(container, "dependency", &second, SVK_SCOPE_CACHED));
  CHECK_EQ(first.destroyed, 0);
  svk_handle *held = RESOLVE(container, "dependent");
  CHECK(((struct instance *)svk_instance(held))->needs[0]->kind == &first);
  CHECK_OK(svk_release(held));
  CHECK(kind_of(container, "dependency") == &second);
  CHECK_OK(svk_reset(container, "dependent", SVK_RESET_SCOPES));
  CHECK_EQ(dependent.destroyed, 1);
  CHECK_GONE(&first, 1);
  held = RESOLVE(container, "dependent");
  CHECK(((struct instance *)svk_instance(held))->needs[0]->kind == &second);
  CHECK_OK(svk_release(held));
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&second, 1);
  CHECK_GONE(&dependent, 2);
}

static void test_replace_many_times_while_held(void) {
  enum { TIMES = 100 };
  svk_container *container = new_container();
  static struct kind kinds[TIMES];
  svk_handle *held[TIMES];
  for (int i = 0; i < TIMES; i++) {
    MUST_OK(kind_register(container, "key", &kinds[i], SVK_SCOPE_CACHED));
    held[i] = RESOLVE(container, "key");
  }
  for (int i = 0; i < TIMES; i++) {
    struct instance *instance = svk_instance(held[i]);
    MUST(instance != NULL);
    CHECK(instance->kind == &kinds[i] && instance->magic == INSTANCE_LIVES);
  }
  for (int i = 1; i < TIMES; i += 2)
    CHECK_OK(svk_release(held[i]));
  for (int i = 0; i < TIMES - 1; i++)
    CHECK_EQ(kinds[i].destroyed, i % 2);
  CHECK_EQ(kinds[TIMES - 1].destroyed, 0); /* still cached */
  for (int i = 0; i < TIMES; i += 2)
    CHECK_OK(svk_release(held[i]));
  CHECK_OK(svk_container_destroy(container));
  for (int i = 0; i < TIMES; i++)
    CHECK_GONE(&kinds[i], 1);
}

/* A context registration clears no cache, whatever built what is in it; the plain one clears it always. */
static void test_the_cache_of_a_key_is_one(void) {
  svk_container *container = new_container();
  struct kind plain = { .name = NULL }, live = { .name = NULL }, live2 = { .name = NULL },
              plain2 = { .name = NULL };
  MUST_OK(svk_container_set_contexts(container, "live"));
  MUST_OK(kind_register(container, "key", &plain, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &plain);
  MUST_OK(kind_register_for(container, "key", "live", &live, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &plain); /* still there */
  CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
  CHECK_EQ(plain.destroyed, 1);
  CHECK_EQ(plain.freed, 0);
  CHECK(kind_of(container, "key") == &live);
  /* The context's registration is replaced: its instance stays, so its user_data does. */
  MUST_OK(kind_register_for(container, "key", "live", &live2, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &live);
  CHECK_EQ(live.destroyed, 0);
  CHECK_EQ(live.freed, 0);
  /* A plain registration retires the instance that the context's built. */
  MUST_OK(kind_register(container, "key", &plain2, SVK_SCOPE_CACHED));
  CHECK_GONE(&live, 1);
  CHECK_GONE(&plain, 1);
  CHECK(kind_of(container, "key") == &live2);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&live2, 1);
  CHECK_GONE(&plain2, 0);
}

static void test_unregister(void) {
  svk_container *container = new_container();
  struct kind plain = { .name = NULL }, live = { .name = NULL }, test = { .name = NULL };
  svk_handle *handle = NULL;
  CHECK_STATUS(svk_unregister(container, "key"), SVK_NOT_FOUND);
  CHECK_STR(svk_last_error(), "key");
  MUST_OK(kind_register(container, "key", &plain, SVK_SCOPE_CACHED));
  MUST_OK(kind_register_for(container, "key", "live", &live, SVK_SCOPE_CACHED));
  MUST_OK(kind_register_for(container, "key", "test", &test, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &live);
  CHECK_OK(svk_unregister(container, "key"));
  CHECK_GONE(&plain, 0);
  CHECK_GONE(&live, 1);
  CHECK_GONE(&test, 0);
  CHECK_STATUS(svk_resolve(container, "key", &handle), SVK_NOT_FOUND);
  CHECK_STATUS(svk_unregister(container, "key"), SVK_NOT_FOUND);
  CHECK_STATUS(svk_reset(container, "key", SVK_RESET_ALL), SVK_NOT_FOUND);

  struct kind again = { .name = NULL };
  MUST_OK(kind_register(container, "key", &again, SVK_SCOPE_CACHED));
  handle = RESOLVE(container, "key");
  CHECK_OK(svk_unregister(container, "key"));
  CHECK_EQ(again.destroyed, 0);
  CHECK_EQ(again.freed, 0);
  struct instance *instance = svk_instance(handle);
  CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
  CHECK_OK(svk_release(handle));
  CHECK_GONE(&again, 1);
  CHECK_OK(svk_container_destroy(container));
}

/* Only a key that has nothing but context registrations. */
static void test_unregister_only_contexts(void) {
  svk_container *container = new_container();
  struct kind test = { .name = NULL };
  svk_handle *handle = NULL;
  MUST_OK(kind_register_for(container, "key", "test", &test, SVK_SCOPE_CACHED));
  CHECK_STATUS(svk_resolve(container, "key", &handle), SVK_NOT_FOUND); /* `live` is active */
  CHECK_OK(svk_unregister(container, "key"));
  CHECK_GONE(&test, 0);
  CHECK_STATUS(svk_unregister(container, "key"), SVK_NOT_FOUND);
  CHECK_OK(svk_container_destroy(container));
}

static void test_only_this_containers_own(void) {
  svk_container *parent = new_container(), *child = new_child(parent);
  struct kind of_parent = { .name = NULL }, of_child = { .name = NULL };
  MUST_OK(kind_register(parent, "key", &of_parent, SVK_SCOPE_CACHED));
  CHECK(kind_of(child, "key") == &of_parent);
  CHECK_STATUS(svk_unregister(child, "key"), SVK_NOT_FOUND);
  CHECK_STATUS(svk_reset(child, "key", SVK_RESET_ALL), SVK_NOT_FOUND);
  CHECK_STATUS(svk_reset(child, "key", SVK_RESET_SCOPES), SVK_NOT_FOUND);
  CHECK_EQ(of_parent.destroyed, 0);
  MUST_OK(kind_register(child, "key", &of_child, SVK_SCOPE_CACHED));
  CHECK(kind_of(child, "key") == &of_child);
  CHECK(kind_of(parent, "key") == &of_parent);
  CHECK_OK(svk_unregister(child, "key"));
  CHECK_GONE(&of_child, 1);
  CHECK(kind_of(child, "key") == &of_parent);
  CHECK_EQ(of_parent.built, 1);
  CHECK_OK(svk_container_destroy(child));
  CHECK_EQ(of_parent.destroyed, 0);
  CHECK_OK(svk_container_destroy(parent));
  CHECK_GONE(&of_parent, 1);
}

static void test_reset_of_a_key(void) {
  svk_container *container = new_container();
  struct kind plain = { .name = NULL }, live = { .name = NULL }, neighbour = { .name = NULL };
  svk_handle *handle = NULL;
  MUST_OK(kind_register(container, "neighbour", &neighbour, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "neighbour") == &neighbour);
  MUST_OK(kind_register(container, "key", &plain, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &plain);
  CHECK_STATUS(svk_reset(container, "key", 0), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_reset(container, "key", 8), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_reset(container, "key", SVK_RESET_ALL | 0x80000000u), SVK_INVALID_ARGUMENT);
  CHECK_EQ(plain.destroyed, 0);

  /* Scopes: the instance goes, the registrations stay. */
  CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
  CHECK_EQ(plain.destroyed, 1);
  CHECK_EQ(plain.freed, 0);
  handle = RESOLVE(container, "key");
  CHECK_EQ(plain.built, 2);
  CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES)); /* held: it retires */
  CHECK_EQ(plain.destroyed, 1);
  CHECK(kind_of(container, "key") == &plain);
  CHECK_EQ(plain.built, 3);
  CHECK_OK(svk_release(handle));
  CHECK_EQ(plain.destroyed, 2);

  /* Contexts: the registrations for contexts go, the instance in the cache stays. */
  MUST_OK(kind_register_for(container, "key", "live", &live, SVK_SCOPE_CACHED));
  CHECK_OK(svk_reset(container, "key", SVK_RESET_CONTEXTS));
  CHECK_GONE(&live, 0);
  CHECK(kind_of(container, "key") == &plain);
  CHECK_EQ(plain.built, 3);

  /* Registrations: the plain one and the instance go, those for contexts stay. */
  struct kind live2 = { .name = NULL };
  MUST_OK(kind_register_for(container, "key", "live", &live2, SVK_SCOPE_CACHED));
  CHECK_OK(svk_reset(container, "key", SVK_RESET_REGISTRATIONS));
  CHECK_GONE(&plain, 3);
  CHECK(kind_of(container, "key") == &live2);
  CHECK_OK(svk_reset(container, "key", SVK_RESET_REGISTRATIONS)); /* there is no plain one: the instance */
  CHECK_EQ(live2.destroyed, 1);
  CHECK_EQ(live2.freed, 0);
  CHECK(kind_of(container, "key") == &live2);

  /* All. */
  CHECK_OK(svk_reset(container, "key", SVK_RESET_ALL));
  CHECK_GONE(&live2, 2);
  CHECK_STATUS(svk_resolve(container, "key", &handle), SVK_NOT_FOUND);
  CHECK_STATUS(svk_reset(container, "key", SVK_RESET_ALL), SVK_NOT_FOUND);
  CHECK_EQ(neighbour.built, 1);
  CHECK_EQ(neighbour.destroyed, 0);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&neighbour, 1);
}

/* A reset of an instance does not reach what required it, nor what it required and others keep. */
static void test_reset_leaves_dependents_alone(void) {
  svk_container *container = new_container();
  struct kind low = { .name = "low" }, high = { .name = "high", .needs = { "low" } };
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "high", &high, SVK_SCOPE_CACHED));
  journal_clear();
  CHECK(kind_of(container, "high") == &high);
  CHECK_OK(svk_reset(container, "low", SVK_RESET_SCOPES));
  CHECK_JOURNAL("+low +high ");
  CHECK(kind_of(container, "low") == &low);
  CHECK_JOURNAL("+low +high +low ");
  CHECK_OK(svk_reset(container, "high", SVK_RESET_SCOPES));
  CHECK_JOURNAL("+low +high +low -high -low ");
  CHECK_OK(svk_container_destroy(container));
  CHECK_JOURNAL("+low +high +low -high -low -low ");
  CHECK_GONE(&low, 2);
  CHECK_GONE(&high, 1);
}

/* Replaced or unregistered while its factory runs, by the factory itself: the instance is good, and not kept.
 */
static struct kind next;

static svk_status replace_myself(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  CHECK_OK(kind_register(svk_resolver_container(resolver), "key", &next, SVK_SCOPE_CACHED));
  return SVK_OK;
}

static svk_status unregister_myself(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  CHECK_OK(svk_unregister(svk_resolver_container(resolver), "key"));
  return SVK_OK;
}

static void test_replaced_while_it_builds(void) {
  svk_container *container = new_container();
  memset(&next, 0, sizeof next);
  struct kind kind = { .on_create = replace_myself };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  svk_handle *handle = RESOLVE(container, "key");
  CHECK(((struct instance *)svk_instance(handle))->kind == &kind);
  CHECK_EQ(kind.freed, 0);
  CHECK(kind_of(container, "key") == &next);
  CHECK_OK(svk_release(handle));
  CHECK_GONE(&kind, 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&next, 1);
}

static void test_unregistered_while_it_builds(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_GRAPH };
  for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++) {
    svk_container *container = new_container();
    struct kind kind = { .on_create = unregister_myself };
    MUST_OK(kind_register(container, "key", &kind, scopes[i]));
    svk_handle *handle = RESOLVE(container, "key"), *none = NULL;
    CHECK_EQ(kind.freed, 0);
    CHECK_STATUS(svk_resolve(container, "key", &none), SVK_NOT_FOUND);
    CHECK_OK(svk_release(handle));
    CHECK_GONE(&kind, 1);
    CHECK_OK(svk_container_destroy(container));
  }
}

/* What was not found once is found when it comes: in the container, or anywhere above. And what went is gone.
 */
static struct kind *found(svk_container *container, svk_key *key) {
  struct kind *by_name = kind_of(container, "late");
  svk_handle *handle = NULL;
  svk_status status = svk_resolve_key(container, key, &handle);
  CHECK(status == (by_name != NULL ? SVK_OK : SVK_NOT_FOUND));
  if (status == SVK_OK) {
    CHECK(((struct instance *)svk_instance(handle))->kind == by_name);
    CHECK_OK(svk_release(handle));
  }
  return by_name;
}

static void test_found_when_it_comes(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_GRAPH };
  for (int s = 0; s < 4; s++) {
    svk_container *chain[3];
    chain[0] = new_container();
    chain[1] = new_child(chain[0]);
    chain[2] = new_child(chain[1]);
    struct kind kinds[3];
    memset(kinds, 0, sizeof kinds);
    svk_key *key = NULL;
    MUST_OK(svk_key_intern("late", &key));
    /* Every set of levels that have it, in every order of coming and going. */
    int has[3] = { 0, 0, 0 };
    unsigned seed = 7;
    for (int step = 0; step < 100; step++) {
      int level = rand_r(&seed) % 3;
      if (has[level])
        CHECK_OK(svk_unregister(chain[level], "late"));
      else
        CHECK_OK(kind_register(chain[level], "late", &kinds[level], scopes[s]));
      has[level] = !has[level];
      for (int from = 2; from >= 0; from--) {
        struct kind *expected = NULL;
        for (int at = from; at >= 0 && expected == NULL; at--)
          expected = has[at] ? &kinds[at] : NULL;
        CHECK(found(chain[from], key) == expected);
      }
    }
    for (int i = 2; i >= 0; i--)
      CHECK_OK(svk_container_destroy(chain[i]));
    for (int i = 0; i < 3; i++)
      CHECK_GONE(&kinds[i], kinds[i].built);
  }
}

/* Registering the same key again in the very free function, and in the very destroy, of the one before. */
static svk_container *registering;
static struct kind successor;
static int successors;

static void register_in_free(void *user_data) {
  (void)user_data;
  if (successors++ == 0)
    CHECK_OK(kind_register(registering, "key", &successor, SVK_SCOPE_CACHED));
}
static void register_in_destroy(struct instance *instance) {
  (void)instance;
  register_in_free(NULL);
}

static void test_registered_inside_its_end(void) {
  for (int way = 0; way < 6; way++) {
    struct kind first = { .name = NULL }, second = { .name = NULL };
    memset(&successor, 0, sizeof successor);
    successors = 0;
    registering = new_container();
    svk_factory_options options = kind_options(&first, SVK_SCOPE_CACHED);
    if (way % 2 == 0)
      options.user_data_free = register_in_free;
    else
      first.on_destroy = register_in_destroy;
    MUST_OK(svk_register(registering, "key", &options));
    first.registered = 1;
    CHECK(kind_of(registering, "key") == &first);
    if (way / 2 == 0)
      CHECK_OK(kind_register(registering, "key", &second, SVK_SCOPE_CACHED));
    if (way / 2 == 1)
      CHECK_OK(svk_unregister(registering, "key"));
    if (way / 2 == 2)
      CHECK_OK(svk_container_reset(registering, SVK_RESET_ALL));
    CHECK_EQ(successors, 1);
    CHECK_EQ(first.destroyed, 1);
    struct kind *now = kind_of(registering, "key");
    CHECK(now == &successor || (way / 2 == 0 && now == &second));
    CHECK_OK(svk_container_destroy(registering));
    CHECK_GONE(&second, second.built);
    CHECK_GONE(&successor, successor.built);
  }
}

static void test_every_registration_is_freed_at_the_end(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  static const char *const contexts[] = { "live", "preview", "test", "mine" };
  for (int round = 0; round < 3; round++) {
    CHECK_OK(kind_register(container, "a", &kind, SVK_SCOPE_CACHED));
    CHECK_OK(kind_register(container, "b", &kind, SVK_SCOPE_UNIQUE));
    for (int i = 0; i < 4; i++)
      CHECK_OK(kind_register_for(container, "a", contexts[i], &kind, SVK_SCOPE_CACHED));
  }
  CHECK_EQ(kind.registered, 18);
  CHECK_EQ(kind.freed, 12);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 0);
}

static void test_no_free_function_and_no_destroy(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  svk_factory_options options = kind_options(&kind, SVK_SCOPE_CACHED);
  options.user_data_free = NULL;
  MUST_OK(svk_register(container, "key", &options));
  kind.registered = 1;
  CHECK(kind_of(container, "key") == &kind);
  MUST_OK(svk_register(container, "key", &options));
  CHECK_EQ(kind.destroyed, 1);
  CHECK_EQ(kind.freed, 0);
  options.destroy = NULL;
  options.user_data_free = kind_free;
  MUST_OK(svk_register(container, "other", &options));
  svk_handle *handle = RESOLVE(container, "other");
  struct instance *instance = svk_instance(handle);
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(kind.destroyed, 1);
  CHECK_EQ(kind.freed, 1);
  CHECK(instance->magic == INSTANCE_LIVES);
  free(instance);
}

int main(void) {
  RUN(test_replace_what_nobody_holds);
  RUN(test_replace_what_was_never_built);
  RUN(test_replace_what_is_held);
  RUN(test_replace_what_is_required);
  RUN(test_replace_many_times_while_held);
  RUN(test_the_cache_of_a_key_is_one);
  RUN(test_unregister);
  RUN(test_unregister_only_contexts);
  RUN(test_only_this_containers_own);
  RUN(test_reset_of_a_key);
  RUN(test_reset_leaves_dependents_alone);
  RUN(test_replaced_while_it_builds);
  RUN(test_unregistered_while_it_builds);
  RUN(test_found_when_it_comes);
  RUN(test_registered_inside_its_end);
  RUN(test_every_registration_is_freed_at_the_end);
  RUN(test_no_free_function_and_no_destroy);
  return check_done();
}
