/* Containers: creating, children, the shared one, and what their end leaves. */
#include "factory.h"

static void test_create(void) {
  svk_container *one = NULL, *two = NULL;
  CHECK_STATUS(svk_container_create(NULL), SVK_INVALID_ARGUMENT);
  CHECK_OK(svk_container_create(&one));
  CHECK_OK(svk_container_create(&two));
  CHECK(one != NULL && two != NULL && one != two);
  CHECK_STATUS(svk_container_create_child(one, NULL), SVK_INVALID_ARGUMENT);
  CHECK_OK(svk_container_destroy(one));
  CHECK_OK(svk_container_destroy(two));
}

/* Every function that takes a container, with one that is none. */
static void check_ended(svk_container *container) {
  struct kind kind = { .name = NULL };
  svk_container *child = (svk_container *)&kind;
  svk_handle *handle = (svk_handle *)&kind;
  svk_key *key = NULL;
  void *instance = &kind;
  char text[8] = "text";
  size_t needed = 7;
  CHECK_OK(svk_key_intern("key", &key));
  CHECK_STATUS(svk_container_create_child(container, &child), SVK_INVALID_HANDLE);
  CHECK(child == NULL);
  CHECK_STATUS(svk_container_reset(container, SVK_RESET_ALL), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_push(container), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_pop(container), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_set_contexts(container, "test"), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_set_strict(container, 1), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_set_default_scope(container, SVK_SCOPE_CACHED), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_validate(container), SVK_INVALID_HANDLE);
  for (int32_t format = SVK_FORMAT_TEXT; format <= SVK_FORMAT_DOT; format++) {
    needed = 7;
    CHECK_STATUS(svk_container_describe(container, format, text, sizeof text, &needed), SVK_INVALID_HANDLE);
    CHECK_EQ(needed, 0);
    CHECK(strcmp(text, "text") == 0);
  }
  CHECK_STATUS(kind_register(container, "key", &kind, SVK_SCOPE_CACHED), SVK_INVALID_HANDLE);
  CHECK_STATUS(kind_register_for(container, "key", "test", &kind, SVK_SCOPE_CACHED), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_unregister(container, "key"), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_reset(container, "key", SVK_RESET_ALL), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_decorate(container, NULL, NULL, &kind, kind_free), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_resolve(container, "key", &handle), SVK_INVALID_HANDLE);
  CHECK(handle == NULL);
  handle = (svk_handle *)&kind;
  CHECK_STATUS(svk_resolve_with(container, "key", "p", 1, &handle), SVK_INVALID_HANDLE);
  CHECK(handle == NULL);
  handle = (svk_handle *)&kind;
  CHECK_STATUS(svk_resolve_typed(container, "key", "type", &handle), SVK_INVALID_HANDLE);
  CHECK(handle == NULL);
  handle = (svk_handle *)&kind;
  CHECK_STATUS(svk_resolve_key(container, key, &handle), SVK_INVALID_HANDLE);
  CHECK(handle == NULL);
  CHECK_STATUS(svk_pin(container, "key", &instance), SVK_INVALID_HANDLE);
  CHECK(instance == NULL);
  CHECK_STATUS(svk_container_set_trace(container, NULL, &kind, kind_free), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_destroy(container), SVK_INVALID_HANDLE);
  CHECK(svk_last_error()[0] != 0);
  CHECK_EQ(kind.freed, 0);
}

static void test_ended(void) {
  check_ended(NULL);
  svk_container *container = new_container();
  CHECK_OK(svk_container_destroy(container));
  check_ended(container);
  svk_container *another = new_container(); /* the place may be used again, the token not */
  CHECK(another != container);
  check_ended(container);
  CHECK_OK(svk_container_destroy(another));
  check_ended(another);
}

/* A child outlives its parent with its own registrations. */
static void test_a_dead_parent(void) {
  svk_container *root = new_container(), *parent = new_child(root), *child = new_child(parent),
                *grandchild = new_child(child);
  struct kind of_root = { .name = NULL }, of_parent = { .name = NULL }, of_child = { .name = NULL },
              needs_parent = { .needs = { "of-parent" } };
  svk_handle *handle = NULL;
  MUST_OK(kind_register(root, "of-root", &of_root, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(parent, "of-parent", &of_parent, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(child, "of-child", &of_child, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(child, "needs-parent", &needs_parent, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(grandchild, "of-root") == &of_root);
  CHECK(kind_of(grandchild, "needs-parent") == &needs_parent);
  CHECK_EQ(needs_parent.destroyed, 1);
  CHECK_OK(svk_container_destroy(parent));
  CHECK_GONE(&of_parent, 1);
  svk_container *const both[] = { child, grandchild };
  for (int i = 0; i < 2; i++) {
    CHECK(kind_of(both[i], "of-child") == &of_child);
    CHECK_STATUS(svk_resolve(both[i], "of-parent", &handle), SVK_NOT_FOUND);
    CHECK(handle == NULL);
    CHECK_STATUS(svk_resolve(both[i], "needs-parent", &handle), SVK_NOT_FOUND);
    CHECK_STR(svk_last_error(), "of-parent");
    CHECK_STATUS(svk_resolve(both[i], "of-root", &handle), SVK_NOT_FOUND); /* the way there is gone */
  }
  CHECK_EQ(of_child.built, 1);
  struct kind again = { .name = NULL };
  MUST_OK(kind_register(child, "of-parent", &again, SVK_SCOPE_CACHED));
  CHECK(kind_of(grandchild, "needs-parent") == &needs_parent);
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(grandchild));
  CHECK(kind_of(root, "of-root") == &of_root);
  CHECK_OK(svk_container_destroy(root));
  CHECK_GONE(&of_root, 1);
  CHECK_GONE(&of_child, 1);
  CHECK_GONE(&again, 1);
}

/* An instance of the child that requires one of the parent keeps that, beyond the parent's end. */
static void test_leases_beyond_the_parent(void) {
  svk_container *parent = new_container(), *child = new_child(parent);
  struct kind low = { .name = "low" }, high = { .name = "high", .needs = { "low" } };
  MUST_OK(kind_register(parent, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(child, "high", &high, SVK_SCOPE_CACHED));
  journal_clear();
  CHECK(kind_of(child, "high") == &high);
  CHECK_OK(svk_container_destroy(parent));
  CHECK_JOURNAL("+low +high ");
  CHECK(kind_of(child, "high") == &high);
  CHECK_OK(svk_container_destroy(child));
  CHECK_JOURNAL("+low +high -high -low ");
  CHECK_GONE(&low, 1);
  CHECK_GONE(&high, 1);
}

static void test_shared(void) {
  svk_container *shared = svk_container_shared();
  CHECK(shared != NULL);
  CHECK(shared == svk_container_shared());
  struct kind kind = { .name = NULL }, pushed = { .name = NULL };
  MUST_OK(kind_register(shared, "key", &kind, SVK_SCOPE_CACHED));
  CHECK(kind_of(shared, "key") == &kind);
  CHECK_STATUS(svk_container_destroy(shared), SVK_INVALID_ARGUMENT);
  CHECK_EQ(kind.destroyed, 0);
  CHECK(kind_of(shared, "key") == &kind);
  svk_container *child = new_child(shared);
  CHECK(kind_of(child, "key") == &kind);
  CHECK_EQ(kind.built, 1);
  CHECK_OK(svk_container_push(shared));
  MUST_OK(kind_register(shared, "key", &pushed, SVK_SCOPE_CACHED));
  CHECK(kind_of(child, "key") == &pushed);
  CHECK_OK(svk_container_pop(shared));
  CHECK_GONE(&pushed, 1);
  CHECK(kind_of(child, "key") == &kind);
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_reset(shared, SVK_RESET_ALL));
  CHECK_GONE(&kind, 1);
  CHECK(shared == svk_container_shared());
}

static void ask_for_shared(int index, void *argument) {
  ((svk_container **)argument)[index] = svk_container_shared();
}

static void test_shared_from_all_threads(void) {
  svk_container *all[8] = { NULL };
  run_threads(8, ask_for_shared, all);
  for (int i = 0; i < 8; i++)
    CHECK(all[i] != NULL && all[i] == all[0]);
}

/* The end of a container with handles held: they stay good, and so does what they need. */
static void test_held_handles_stay(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_GRAPH };
  for (int i = 0; i < 4; i++) {
    svk_container *container = new_container();
    struct kind low = { .name = "low" }, high = { .name = "high", .needs = { "low" } },
                idle = { .name = "idle" };
    MUST_OK(kind_register(container, "low", &low, scopes[i]));
    MUST_OK(kind_register(container, "high", &high, scopes[i]));
    MUST_OK(kind_register(container, "idle", &idle, SVK_SCOPE_CACHED));
    journal_clear();
    svk_handle *first = RESOLVE(container, "high"), *second = RESOLVE(container, "high");
    int built = scopes[i] == SVK_SCOPE_CACHED || scopes[i] == SVK_SCOPE_SHARED ? 1 : 2;
    CHECK(kind_of(container, "idle") == &idle);
    CHECK_OK(svk_container_destroy(container));
    CHECK_GONE(&idle, 1);
    check_ended(container);
    struct instance *instance = svk_instance(first);
    CHECK(instance != NULL && instance->magic == INSTANCE_LIVES);
    CHECK(instance->needs[0]->magic == INSTANCE_LIVES);
    CHECK_EQ(high.freed, 0);
    CHECK_EQ(low.freed, 0);
    CHECK_OK(svk_release(first));
    CHECK_EQ(high.destroyed, built - 1);
    CHECK(svk_instance(second) != NULL);
    CHECK_OK(svk_release(second));
    CHECK_GONE(&high, built);
    CHECK_GONE(&low, built);
    CHECK_STATUS(svk_release(second), SVK_INVALID_HANDLE);
  }
}

/* Registrations of a container that built nothing, with decorators, trace functions, pushes: all is freed. */
static void ignore_trace(const svk_trace_event *event, void *user_data) { (void)event, (void)user_data; }
static void ignore_decorator(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)instance, (void)key, (void)is_new, (void)user_data;
}

static void test_all_user_data_is_freed(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  for (int i = 0; i < 3; i++) {
    CHECK_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
    CHECK_OK(kind_register_for(container, "key", "test", &kind, SVK_SCOPE_CACHED));
    CHECK_OK(svk_decorate(container, NULL, ignore_decorator, &kind, kind_free));
    CHECK_OK(svk_decorate(container, "key", ignore_decorator, &kind, kind_free));
    CHECK_OK(svk_container_push(container));
  }
  CHECK_OK(svk_container_set_trace(container, ignore_trace, &kind, kind_free));
  atomic_fetch_add(&kind.registered, 7);
  CHECK_EQ(kind.freed, 0); /* the pushes keep them */
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 0);
}

static void test_many(void) {
  enum { MANY = 300 };
  static svk_container *containers[MANY];
  struct kind kind = { .name = NULL };
  for (int i = 0; i < MANY; i++) {
    containers[i] = i % 3 == 0 ? new_container() : new_child(containers[i - 1]);
    MUST_OK(kind_register(containers[i], "key", &kind, SVK_SCOPE_CACHED));
    CHECK(kind_of(containers[i], "key") == &kind);
    for (int j = 0; j < i; j += 37)
      CHECK(containers[j] != containers[i]);
  }
  CHECK_EQ(kind.built, MANY);
  for (int i = 0; i < MANY; i += 2)
    CHECK_OK(svk_container_destroy(containers[i]));
  for (int i = 0; i < MANY; i++)
    CHECK((kind_of(containers[i], "key") == &kind) == (i % 2 == 1));
  for (int i = 1; i < MANY; i += 2)
    CHECK_OK(svk_container_destroy(containers[i]));
  CHECK_GONE(&kind, MANY);
}

/* A very long chain of parents. */
static void test_depth(void) {
  enum { DEPTH = 200 };
  svk_container *chain[DEPTH];
  struct kind kind = { .name = NULL };
  chain[0] = new_container();
  MUST_OK(kind_register(chain[0], "key", &kind, SVK_SCOPE_CACHED));
  for (int i = 1; i < DEPTH; i++)
    chain[i] = new_child(chain[i - 1]);
  CHECK(kind_of(chain[DEPTH - 1], "key") == &kind);
  svk_handle *handle = NULL;
  CHECK_STATUS(svk_resolve(chain[DEPTH - 1], "nothing", &handle), SVK_NOT_FOUND);
  for (int i = DEPTH - 1; i >= 0; i--)
    CHECK_OK(svk_container_destroy(chain[i]));
  CHECK_GONE(&kind, 1);
}

int main(void) {
  RUN(test_shared_from_all_threads); /* the first use of all */
  RUN(test_create);
  RUN(test_ended);
  RUN(test_a_dead_parent);
  RUN(test_leases_beyond_the_parent);
  RUN(test_shared);
  RUN(test_held_handles_stay);
  RUN(test_all_user_data_is_freed);
  RUN(test_many);
  RUN(test_depth);
  return check_done();
}
