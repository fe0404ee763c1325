/* Concurrent first resolves build once; the others wait. Waiting is per key: a slow factory holds up nobody
 * else. */
#include "factory.h"

enum { THREADS = 8 };

struct storm {
  svk_container *container, *children[THREADS];
  svk_handle *handles[THREADS];
};

static void resolve_one(int index, void *argument) {
  struct storm *storm = argument;
  storm->handles[index] = RESOLVE(storm->children[index], "key");
}

static void check_once(struct kind *kind, const svk_factory_options *options, int rounds, int with_children) {
  for (int i = 0; i < rounds; i++) {
    struct storm storm = { .container = new_container() };
    kind->built = kind->destroyed = kind->freed = kind->registered = 0;
    for (int t = 0; t < THREADS; t++)
      storm.children[t] = with_children ? new_child(storm.container) : storm.container;
    MUST_OK(kind_register_with(storm.container, "key", NULL, options));
    run_threads(THREADS, resolve_one, &storm);
    CHECK_EQ(kind->built, 1);
    for (int t = 1; t < THREADS; t++) {
      CHECK(storm.handles[t] != storm.handles[0]);
      CHECK(svk_instance(storm.handles[t]) == svk_instance(storm.handles[0]));
    }
    for (int t = 0; t < THREADS; t++) {
      CHECK_EQ(kind->destroyed, 0);
      CHECK_OK(svk_release(storm.handles[t]));
      if (with_children)
        CHECK_OK(svk_container_destroy(storm.children[t]));
    }
    CHECK_OK(svk_container_destroy(storm.container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_GONE(kind, 1);
  }
}

static void test_once(void) {
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_SINGLETON,
                                    SVK_SCOPE_CUSTOM };
  svk_scope *scope = NULL;
  MUST_OK(svk_scope_create("scope", &scope));
  for (int i = 0; i < 8; i++) {
    struct kind kind = { .name = NULL };
    svk_factory_options options = kind_options(&kind, scopes[i % 4]);
    options.custom_scope = scope;
    check_once(&kind, &options, iterations(150), i >= 4);
  }
  CHECK_OK(svk_scope_destroy(scope));
}

/* Unique: as many as were asked for. */
struct unique_storm {
  svk_container *container;
  int rounds;
};

static void resolve_many(int index, void *argument) {
  (void)index;
  struct unique_storm *storm = argument;
  for (int i = 0; i < storm->rounds; i++)
    CHECK_OK(svk_release(RESOLVE(storm->container, "key")));
}

static void test_unique(void) {
  struct unique_storm storm = { new_container(), iterations(20000) };
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(storm.container, "key", &kind, SVK_SCOPE_UNIQUE));
  run_threads(4, resolve_many, &storm);
  CHECK_OK(svk_container_destroy(storm.container));
  CHECK_GONE(&kind, 4 * storm.rounds);
}

/* Shared ones end with their last lease, and begin anew, at any moment: never a dead one, nor another while
 * held. */
static void hold_shared(int index, void *argument) {
  (void)index;
  struct unique_storm *storm = argument;
  for (int i = 0; i < storm->rounds; i++) {
    svk_handle *first = RESOLVE(storm->container, "key"), *second = RESOLVE(storm->container, "key");
    CHECK(svk_instance(first) == svk_instance(second)); /* held in between, so it cannot have changed */
    CHECK_OK(svk_release(first));
    CHECK_OK(svk_release(second));
  }
}

static void test_shared(void) {
  struct unique_storm storm = { new_container(), iterations(20000) };
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(storm.container, "key", &kind, SVK_SCOPE_SHARED));
  run_threads(4, hold_shared, &storm);
  CHECK_EQ(kind.built, kind.destroyed);
  CHECK_OK(svk_container_destroy(storm.container));
  CHECK_EQ(kind.built, kind.destroyed);
}

/* A factory that is in the middle of it until told otherwise. */
static struct counter entered = COUNTER_INIT, leave = COUNTER_INIT, asleep = COUNTER_INIT;

static svk_status be_slow(svk_resolver *resolver, struct kind *kind) {
  (void)resolver, (void)kind;
  counter_add(&entered, 1);
  counter_wait(&leave, 1);
  return SVK_OK;
}

static void be_slow_to_end(struct instance *instance) {
  (void)instance;
  counter_add(&entered, 1);
  counter_wait(&leave, 1);
}

static void reset_counters(void) {
  counter_reset(&entered);
  counter_reset(&leave);
  counter_reset(&asleep);
}

static void ignore_decorator(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)instance, (void)key, (void)is_new, (void)user_data;
}

/* All that must not wait for a callback on another thread; it lets that callback end only afterwards. */
static void use_meanwhile(svk_container *container, struct kind *kind) {
  svk_container *other = new_container(), *child = new_child(container);
  svk_handle *handle = NULL;
  svk_scope *scope = NULL;
  void *pinned = NULL;
  size_t needed = 0;
  static const char *const keys[] = { "cached", "first-time", "unique", "shared", "custom" };
  CHECK_OK(svk_scope_create("scope", &scope));
  svk_factory_options options = kind_options(kind, SVK_SCOPE_CUSTOM);
  options.custom_scope = scope;
  CHECK_OK(kind_register_with(container, "custom", NULL, &options));
  CHECK_OK(kind_register(container, "first-time", kind, SVK_SCOPE_CACHED));
  CHECK_OK(kind_register(container, "unique", kind, SVK_SCOPE_UNIQUE));
  CHECK_OK(kind_register(container, "shared", kind, SVK_SCOPE_SHARED));
  CHECK_OK(kind_register(container, "single", kind, SVK_SCOPE_SINGLETON));
  CHECK_OK(kind_register(other, "slow", kind, SVK_SCOPE_CACHED));
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    CHECK(kind_of(container, keys[i]) == kind);
    CHECK(kind_of(child, keys[i]) == kind);
  }
  CHECK(kind_of(container, "single") == kind);
  CHECK(kind_of(other, "slow") == kind); /* the same name in another container */
  CHECK_OK(svk_pin(container, "cached", &pinned));
  CHECK_OK(svk_decorate(container, "slow", ignore_decorator, NULL, NULL));
  CHECK_OK(svk_decorate(container, "slow", NULL, NULL, NULL));
  for (int32_t format = SVK_FORMAT_TEXT; format <= SVK_FORMAT_DOT; format++)
    CHECK_STATUS(svk_container_describe(container, format, NULL, 0, &needed), SVK_BUFFER_TOO_SMALL);
  CHECK_OK(svk_container_validate(container));
  CHECK_OK(svk_container_set_contexts(container, NULL));
  CHECK_OK(svk_container_set_strict(container, 0));
  CHECK_OK(svk_container_set_default_scope(container, SVK_SCOPE_UNIQUE));
  CHECK_OK(svk_container_push(container));
  CHECK_OK(kind_register(container, "first-time", kind, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "first-time") == kind);
  CHECK_OK(svk_container_pop(container));
  CHECK_OK(svk_reset(container, "first-time", SVK_RESET_ALL));
  CHECK_OK(svk_unregister(container, "unique"));
  CHECK_OK(svk_scope_reset(scope));
  CHECK_OK(svk_scope_destroy(scope));
  CHECK_OK(svk_singleton_reset("single"));
  CHECK_STATUS(svk_resolve(container, "nothing", &handle), SVK_NOT_FOUND);
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(other));
}

struct slow {
  svk_container *container;
  struct kind *slow, *quick;
  int replace;
  svk_handle *handles[2];
  int thread;
};

static void slow_or_quick(int index, void *argument) {
  struct slow *slow = argument;
  if (index == 0) {
    svk_handle *handle = RESOLVE(slow->container, "slow");
    CHECK(((struct instance *)svk_instance(handle))->kind == slow->slow);
    CHECK_OK(svk_release(handle));
  } else {
    counter_wait(&entered, 1);
    use_meanwhile(slow->container, slow->quick);
    if (slow->replace == 1)
      CHECK_OK(kind_register(slow->container, "slow", slow->quick, SVK_SCOPE_CACHED));
    if (slow->replace == 2)
      CHECK_OK(svk_unregister(slow->container, "slow"));
    if (slow->replace == 3)
      CHECK_OK(svk_reset(slow->container, "slow", SVK_RESET_SCOPES));
    if (slow->replace == 4)
      CHECK_OK(svk_container_reset(slow->container, SVK_RESET_ALL));
    counter_add(&leave, 1);
  }
}

static void test_a_slow_factory_holds_up_nobody(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_GRAPH };
  for (int i = 0; i < 4 * 5; i++) {
    reset_counters();
    struct kind slow_kind = { .on_create = be_slow }, quick = { .name = NULL };
    struct slow slow = {
      .container = new_container(), .slow = &slow_kind, .quick = &quick, .replace = i / 4
    };
    MUST_OK(kind_register(slow.container, "cached", &quick, SVK_SCOPE_CACHED));
    MUST_OK(kind_register(slow.container, "slow", &slow_kind, scopes[i % 4]));
    run_threads(2, slow_or_quick, &slow);
    CHECK_OK(svk_container_destroy(slow.container));
    CHECK_GONE(&slow_kind, 1);
    CHECK_EQ(quick.built, quick.destroyed);
    CHECK_EQ(quick.registered, quick.freed);
  }
}

/* Nor does a slow destroy, or a slow singleton. */
static void slow_end_or_quick(int index, void *argument) {
  struct slow *slow = argument;
  if (index == 0) {
    CHECK_OK(svk_reset(slow->container, "slow", SVK_RESET_SCOPES));
    CHECK_EQ(slow->slow->destroyed, 1);
  } else {
    counter_wait(&entered, 1);
    use_meanwhile(slow->container, slow->quick);
    slow->slow->on_destroy = NULL;
    CHECK(kind_of(slow->container, "slow") == slow->slow); /* a new one can be had already */
    counter_add(&leave, 1);
  }
}

static void test_a_slow_destroy_holds_up_nobody(void) {
  reset_counters();
  struct kind slow_kind = { .name = NULL }, quick = { .name = NULL };
  struct slow slow = { .container = new_container(), .slow = &slow_kind, .quick = &quick };
  slow_kind.on_destroy = be_slow_to_end;
  MUST_OK(kind_register(slow.container, "cached", &quick, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(slow.container, "slow", &slow_kind, SVK_SCOPE_CACHED));
  CHECK(kind_of(slow.container, "slow") == &slow_kind);
  run_threads(2, slow_end_or_quick, &slow);
  CHECK_OK(svk_container_destroy(slow.container));
  CHECK_GONE(&slow_kind, 2);
  CHECK_EQ(quick.built, quick.destroyed);
}

static void test_a_slow_singleton_holds_up_nobody(void) {
  reset_counters();
  struct kind slow_kind = { .on_create = be_slow }, quick = { .name = NULL };
  struct slow slow = { .container = new_container(), .slow = &slow_kind, .quick = &quick };
  MUST_OK(kind_register(slow.container, "cached", &quick, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(slow.container, "slow", &slow_kind, SVK_SCOPE_SINGLETON));
  run_threads(2, slow_or_quick, &slow);
  CHECK_OK(svk_singleton_reset("slow"));
  CHECK_OK(svk_container_destroy(slow.container));
  CHECK_GONE(&slow_kind, 1);
}

/* Who waits gets that instance, or that failure; also when the registration is replaced meanwhile. */
static svk_status be_slow_and_fail(svk_resolver *resolver, struct kind *kind) {
  be_slow(resolver, kind);
  return SVK_FACTORY_ERROR_BASE + 5;
}

struct waiting {
  svk_container *container;
  struct kind kind, replacement;
  int replace;
  svk_status expected;
  svk_handle *handles[3];
  _Atomic int threads[3];
};

static void build_wait_replace(int index, void *argument) {
  struct waiting *waiting = argument;
  if (index < 2) {
    if (index == 1)
      counter_wait(&entered, 1);
    atomic_store(&waiting->threads[index], thread_id());
    counter_add(&asleep, 1);
    CHECK_STATUS(svk_resolve(waiting->container, "key", &waiting->handles[index]), waiting->expected);
    if (waiting->expected != SVK_OK) {
      CHECK(waiting->handles[index] == NULL);
      CHECK_STR(svk_last_error(), "key");
    }
  } else {
    counter_wait(&entered, 1);
    counter_wait(&asleep, 2);
    wait_until_asleep(waiting->threads[1]);
    if (waiting->replace)
      CHECK_OK(kind_register(waiting->container, "key", &waiting->replacement, SVK_SCOPE_CACHED));
    counter_add(&leave, 1);
  }
}

static void test_who_waits_gets_it(void) {
  for (int i = 0; i < iterations(400); i++) {
    reset_counters();
    struct waiting waiting = { .container = new_container(), .replace = i % 2 };
    waiting.kind.on_create = i % 4 < 2 ? be_slow : be_slow_and_fail;
    waiting.expected = i % 4 < 2 ? SVK_OK : SVK_FACTORY_ERROR_BASE + 5;
    MUST_OK(kind_register(waiting.container, "key", &waiting.kind, SVK_SCOPE_CACHED));
    if (i % 4 == 3) /* the one that comes late, if the sleep was another one, finds this */
      waiting.replacement.answer = SVK_FACTORY_ERROR_BASE + 5;
    run_threads(3, build_wait_replace, &waiting);
    if (waiting.expected == SVK_OK) {
      struct instance *first = svk_instance(waiting.handles[0]), *second = svk_instance(waiting.handles[1]);
      MUST(first != NULL && second != NULL);
      CHECK(first->kind == &waiting.kind);
      if (waiting.replace) /* else it was too late, or the instance would not have been kept */
        CHECK(second == first || second->kind == &waiting.replacement);
      else
        CHECK(second == first);
      struct kind *expected = waiting.replace ? &waiting.replacement : &waiting.kind;
      CHECK(kind_of(waiting.container, "key") == expected);
      CHECK_OK(svk_release(waiting.handles[0]));
      CHECK_OK(svk_release(waiting.handles[1]));
      CHECK_EQ(waiting.kind.destroyed, waiting.replace);
    }
    CHECK_OK(svk_container_destroy(waiting.container));
    CHECK_GONE(&waiting.kind, waiting.expected == SVK_OK);
    CHECK_EQ(waiting.replacement.built, waiting.replacement.destroyed);
  }
}

int main(void) {
  RUN(test_once);
  RUN(test_unique);
  RUN(test_shared);
  RUN(test_a_slow_factory_holds_up_nobody);
  RUN(test_a_slow_destroy_holds_up_nobody);
  RUN(test_a_slow_singleton_holds_up_nobody);
  RUN(test_who_waits_gets_it);
  return check_done();
}
