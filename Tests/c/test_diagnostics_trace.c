/* Trace events: one per resolve, when it ends, on its thread, to the nearest container with a trace function.
 */
#include "factory.h"

struct tracer {
  const char *name;
  _Atomic int events, freed;
  void (*inside)(struct tracer *);
  svk_container *container;
};

/* "kind:depth:key " for each event, and who got it if it has a name. */
static char seen[4096];
static pthread_t expected_thread;

static void trace(const svk_trace_event *event, void *user_data) {
  struct tracer *tracer = user_data;
  MUST(event != NULL && event->key != NULL);
  CHECK(event->size >= sizeof(svk_trace_event));
  CHECK_EQ(tracer->freed, 0);
  CHECK(pthread_equal(pthread_self(), expected_thread));
  CHECK((event->instance == NULL) == (event->kind == SVK_TRACE_FAILED));
  if (event->instance != NULL)
    CHECK(((struct instance *)event->instance)->magic == INSTANCE_LIVES);
  size_t used = strlen(seen);
  snprintf(seen + used, sizeof seen - used, "%s%d:%u:%s ", tracer->name != NULL ? tracer->name : "",
           (int)event->kind, (unsigned)event->depth, event->key);
  atomic_fetch_add(&tracer->events, 1);
  if (tracer->inside != NULL)
    tracer->inside(tracer);
}

static void tracer_free(void *user_data) {
  CHECK_EQ(atomic_fetch_add(&((struct tracer *)user_data)->freed, 1), 0);
}

static void set(svk_container *container, struct tracer *tracer) {
  CHECK_OK(svk_container_set_trace(container, trace, tracer, tracer_free));
}

static void check_seen(const char *expected, int line) {
  if (!check_true(strcmp(seen, expected) == 0, "the events", __FILE__, line))
    fprintf(stderr, "  expected \"%s\"\n  got      \"%s\"\n", expected, seen);
  seen[0] = 0;
}
#define CHECK_SEEN(expected) check_seen((expected), __LINE__)

static void test_kinds_and_depths(void) {
  svk_container *container = new_container();
  struct tracer tracer = { .name = NULL };
  struct kind low = { .name = NULL }, middle = { .needs = { "low" } }, top = { .needs = { "middle", "low" } },
              test = { .needs = { "low" } },
              failing = { .needs = { "low" }, .answer = SVK_FACTORY_ERROR_BASE },
              above = { .needs = { "failing" } };
  svk_handle *handle = NULL;
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "middle", &middle, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "top", &top, SVK_SCOPE_CACHED));
  MUST_OK(kind_register_for(container, "contextual", "live", &test, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "failing", &failing, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "above", &above, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "middle") == &middle); /* nobody listens yet */
  CHECK_OK(svk_reset(container, "low", SVK_RESET_SCOPES));
  set(container, &tracer);
  CHECK_SEEN("");
  CHECK(kind_of(container, "top") == &top);
  CHECK_SEEN("2:2:low 2:1:middle 3:1:low 2:0:top ");
  CHECK(kind_of(container, "top") == &top);
  CHECK_SEEN("3:0:top ");
  CHECK(kind_of(container, "contextual") == &test);
  CHECK_SEEN("3:1:low 1:0:contextual ");
  CHECK_STATUS(svk_resolve(container, "nothing", &handle), SVK_NOT_FOUND);
  CHECK_SEEN("4:0:nothing ");
  CHECK_STATUS(svk_resolve(container, "failing", &handle), SVK_FACTORY_ERROR_BASE);
  CHECK_SEEN("3:1:low 4:0:failing ");
  CHECK_STATUS(svk_resolve(container, "above", &handle), SVK_FACTORY_ERROR_BASE);
  CHECK_SEEN("3:2:low 4:1:failing 4:0:above ");
  svk_key *key = NULL;
  void *pinned = NULL;
  CHECK_OK(svk_key_intern("low", &key));
  CHECK_OK(svk_resolve_key(container, key, &handle));
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_resolve_with(container, "low", "p", 1, &handle));
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_pin(container, "low", &pinned));
  CHECK_SEEN("3:0:low 3:0:low 3:0:low ");
  CHECK_EQ(tracer.freed, 0);
  CHECK_OK(svk_container_destroy(container));
  CHECK_SEEN("");
  CHECK_EQ(tracer.freed, 1);
}

/* svk_resolve in a factory is one deeper; in another container, too. */
static svk_status resolve_inside(svk_resolver *resolver, struct kind *kind) {
  (void)resolver;
  svk_handle *handle = RESOLVE(kind->context, "low");
  CHECK_OK(svk_release(handle));
  return SVK_OK;
}

static void test_resolve_in_a_factory(void) {
  svk_container *one = new_container(), *two = new_container();
  struct tracer tracer_one = { .name = "one/" }, tracer_two = { .name = "two/" };
  struct kind low = { .name = NULL }, top = { .on_create = resolve_inside, .context = two };
  MUST_OK(kind_register(two, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(one, "top", &top, SVK_SCOPE_CACHED));
  set(one, &tracer_one);
  set(two, &tracer_two);
  CHECK(kind_of(one, "top") == &top);
  CHECK_SEEN("two/2:1:low one/2:0:top ");
  CHECK_OK(svk_container_destroy(one));
  CHECK_OK(svk_container_destroy(two));
}

/* From the container asked up to the root: the nearest, and only that. */
static void test_the_nearest(void) {
  svk_container *root = new_container(), *middle = new_child(root), *leaf = new_child(middle);
  struct tracer of_root = { .name = "root/" }, of_middle = { .name = "middle/" },
                of_leaf = { .name = "leaf/" };
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(root, "key", &kind, SVK_SCOPE_CACHED));
  set(root, &of_root);
  CHECK(kind_of(leaf, "key") == &kind);
  CHECK_SEEN("root/2:0:key ");
  set(middle, &of_middle);
  CHECK(kind_of(leaf, "key") == &kind);
  CHECK_SEEN("middle/3:0:key ");
  set(leaf, &of_leaf);
  CHECK(kind_of(leaf, "key") == &kind);
  CHECK(kind_of(middle, "key") == &kind);
  CHECK(kind_of(root, "key") == &kind);
  CHECK_SEEN("leaf/3:0:key middle/3:0:key root/3:0:key ");
  CHECK_OK(svk_container_set_trace(middle, NULL, &of_middle, tracer_free));
  CHECK_EQ(of_middle.freed, 1);
  CHECK(kind_of(middle, "key") == &kind);
  CHECK_SEEN("root/3:0:key ");
  CHECK_OK(svk_container_destroy(leaf));
  CHECK_OK(svk_container_destroy(middle));
  CHECK_OK(svk_container_destroy(root));
  CHECK_EQ(of_leaf.freed, 1);
  CHECK_EQ(of_root.freed, 1);
}

static void test_replace_and_remove(void) {
  svk_container *container = new_container();
  struct tracer first = { .name = "first/" }, second = { .name = "second/" };
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK_OK(svk_container_set_trace(container, NULL, &first, tracer_free)); /* there is none */
  CHECK_EQ(first.freed, 0);
  set(container, &first);
  set(container, &second);
  CHECK_EQ(first.freed, 1);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_SEEN("second/2:0:key ");
  CHECK_OK(svk_container_set_trace(container, NULL, NULL, NULL));
  CHECK_EQ(second.freed, 1);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_SEEN("");
  CHECK_OK(svk_container_set_trace(container, trace, &kind, NULL)); /* nothing to free */
  CHECK_OK(svk_container_set_trace(container, NULL, NULL, NULL));
  CHECK_OK(svk_container_destroy(container));
  CHECK_EQ(first.freed, 1);
  CHECK_EQ(second.freed, 1);
}

/* A trace function that removes itself. */
static void remove_itself(struct tracer *tracer) {
  CHECK_OK(svk_container_set_trace(tracer->container, NULL, NULL, NULL));
  CHECK_EQ(tracer->freed, 0); /* it still runs */
}

static void test_from_inside_itself(void) {
  svk_container *container = new_container();
  struct tracer tracer = { .inside = remove_itself, .container = container };
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  set(container, &tracer);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(tracer.events, 1);
  CHECK_EQ(tracer.freed, 1);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(tracer.events, 1);
  CHECK_OK(svk_container_destroy(container));
  seen[0] = 0;
}

/* Replaced all the time while others resolve: each event arrives once, each user_data is freed once, at the
 * end. */
struct storm {
  svk_container *container;
  struct kind kind;
  int rounds;
  _Atomic int events, set, freed;
};

static void count(const svk_trace_event *event, void *user_data) {
  struct storm *storm = *(struct storm **)user_data;
  CHECK(event->kind == SVK_TRACE_CACHE || event->kind == SVK_TRACE_REGISTRATION);
  atomic_fetch_add(&storm->events, 1);
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
  CHECK_OK(svk_container_set_trace(storm->container, count, data, count_free));
}

static void resolve_or_set(int index, void *argument) {
  struct storm *storm = argument;
  for (int i = 0; i < storm->rounds; i++)
    if (index == 0)
      set_new(storm);
    else
      CHECK(kind_of(storm->container, "key") == &storm->kind);
}

static void test_storm(void) {
  static struct storm storm;
  storm.container = new_container();
  storm.rounds = iterations(20000);
  MUST_OK(kind_register(storm.container, "key", &storm.kind, SVK_SCOPE_CACHED));
  set_new(&storm);
  run_threads(4, resolve_or_set, &storm);
  CHECK_EQ(storm.events, 3 * storm.rounds);
  CHECK_OK(svk_container_destroy(storm.container));
  CHECK_EQ(storm.set, storm.freed);
}

/* First resolves at the same time: an event for each, and one of them alone has built it. */
struct first {
  svk_container *container;
  _Atomic int built, cached, others;
};

static void count_kinds(const svk_trace_event *event, void *user_data) {
  struct first *first = user_data;
  atomic_fetch_add(event->kind == SVK_TRACE_REGISTRATION ? &first->built
                   : event->kind == SVK_TRACE_CACHE      ? &first->cached
                                                         : &first->others,
                   1);
}

static void resolve_first(int index, void *argument) {
  (void)index;
  struct first *first = argument;
  CHECK_OK(svk_release(RESOLVE(first->container, "key")));
}

static void test_first_resolves(void) {
  for (int round = 0; round < iterations(300); round++) {
    struct first first = { .container = new_container() };
    struct kind kind = { .name = NULL };
    MUST_OK(kind_register(first.container, "key", &kind, SVK_SCOPE_CACHED));
    CHECK_OK(svk_container_set_trace(first.container, count_kinds, &first, NULL));
    run_threads(6, resolve_first, &first);
    CHECK_EQ(first.built, 1);
    CHECK_EQ(first.cached, 5);
    CHECK_EQ(first.others, 0);
    CHECK_OK(svk_container_destroy(first.container));
  }
}

int main(void) {
  expected_thread = pthread_self();
  RUN(test_kinds_and_depths);
  RUN(test_resolve_in_a_factory);
  RUN(test_the_nearest);
  RUN(test_replace_and_remove);
  RUN(test_from_inside_itself);
  RUN(test_first_resolves);
  RUN(test_storm);
  return check_done();
}
