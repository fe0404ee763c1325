/* svk_container_reset: what each mask drops, and what it leaves. */
#include "factory.h"

static void ignore_decorator(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)instance, (void)key, (void)is_new;
  atomic_fetch_add((_Atomic int *)user_data, 1);
}

/* A container with one of everything, and what is left of it after a reset. */
static void check_reset(uint32_t what) {
  svk_container *parent = new_container(), *container = new_child(parent), *child = new_child(container);
  struct kind plain = { .name = NULL }, both_plain = { .name = NULL }, both_test = { .name = NULL },
              only_test = { .name = NULL }, shared = { .name = NULL }, custom = { .name = NULL },
              single = { .name = NULL }, pinned = { .name = NULL }, of_parent = { .name = NULL },
              of_child = { .name = NULL }, held = { .name = NULL };
  svk_scope *scope = NULL;
  _Atomic int decorated = 0;
  void *pin = NULL;
  MUST_OK(svk_scope_create("scope", &scope));
  MUST_OK(kind_register(parent, "of-parent", &of_parent, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(child, "of-child", &of_child, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "plain", &plain, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "both", &both_plain, SVK_SCOPE_CACHED));
  MUST_OK(kind_register_for(container, "both", "test", &both_test, SVK_SCOPE_CACHED));
  MUST_OK(kind_register_for(container, "only-test", "test", &only_test, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "shared", &shared, SVK_SCOPE_SHARED));
  svk_factory_options options = kind_options(&custom, SVK_SCOPE_CUSTOM);
  options.custom_scope = scope;
  MUST_OK(kind_register_with(container, "custom", NULL, &options));
  MUST_OK(kind_register(container, "single", &single, SVK_SCOPE_SINGLETON));
  MUST_OK(kind_register(container, "pinned", &pinned, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "held", &held, SVK_SCOPE_CACHED));
  CHECK_OK(svk_decorate(container, NULL, ignore_decorator, &decorated, NULL));
  CHECK_OK(svk_container_set_contexts(container, "test"));
  svk_handle *handles[] = { RESOLVE(child, "shared"), RESOLVE(child, "held") };
  static const char *const keys[] = { "of-parent", "of-child", "plain", "both",
                                      "only-test", "custom",   "single" };
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    CHECK(kind_of(child, keys[i]) != NULL);
  CHECK_OK(svk_pin(container, "pinned", &pin));

  CHECK_OK(svk_container_reset(container, what));
  int registrations = (what & SVK_RESET_REGISTRATIONS) != 0, contexts = (what & SVK_RESET_CONTEXTS) != 0,
      scopes = (what & SVK_RESET_SCOPES) != 0;

  /* Instances: those of plain registrations go with them; all go with the caches. */
  CHECK_EQ(plain.destroyed, registrations || scopes);
  CHECK_EQ(custom.destroyed, registrations || scopes);
  if (scopes) {
    CHECK_EQ(both_test.destroyed, 1);
    CHECK_EQ(only_test.destroyed, 1);
  }
  /* Never: what is held, pinned, a singleton, or another container's. */
  CHECK_EQ(shared.destroyed, 0);
  CHECK_EQ(held.destroyed, 0);
  CHECK_EQ(pinned.destroyed, 0);
  CHECK_EQ(single.destroyed, 0);
  CHECK_EQ(of_parent.destroyed, 0);
  CHECK_EQ(of_child.destroyed, 0);
  CHECK(((struct instance *)pin)->magic == INSTANCE_LIVES);
  for (int i = 0; i < 2; i++)
    CHECK(((struct instance *)svk_instance(handles[i]))->magic == INSTANCE_LIVES);

  /* Registrations: a resolve tells. Under `test` explicitly, which is the list that a reset of contexts
   * drops. */
  CHECK(kind_of(child, "of-parent") == &of_parent);
  CHECK(kind_of(child, "of-child") == &of_child);
  CHECK_EQ(of_parent.built, 1);
  CHECK_EQ(of_child.built, 1);
  CHECK(kind_of(child, "plain") == (registrations ? NULL : &plain));
  CHECK(kind_of(child, "shared") == (registrations ? NULL : &shared));
  CHECK(kind_of(child, "custom") == (registrations ? NULL : &custom));
  CHECK(kind_of(child, "held") == (registrations ? NULL : &held));
  CHECK(kind_of(child, "pinned") == (registrations ? NULL : &pinned));
  CHECK(kind_of(child, "single") == (registrations ? NULL : &single));
  if (!contexts)
    CHECK(kind_of(child, "only-test") == &only_test);
  else if (scopes)
    CHECK(kind_of(child, "only-test") == NULL);
  CHECK_EQ(single.built, 1);
  if (!registrations) {
    CHECK_EQ(held.built, scopes ? 2 : 1); /* what is held retires, and a new one is built */
    CHECK_EQ(shared.built, scopes ? 2 : 1);
  }
  if (!contexts) { /* the list is still `test` */
    CHECK(kind_of(child, "both") == &both_test);
  } else if (scopes) { /* the list is inherited again: `live`; and the context's registrations are gone */
    CHECK(kind_of(child, "both") == (registrations ? NULL : &both_plain));
    CHECK_OK(svk_container_set_contexts(container, "test"));
    CHECK(kind_of(child, "both") == (registrations ? NULL : &both_plain));
  }

  /* Decorators stay. */
  int before = decorated;
  MUST_OK(kind_register(container, "new", &plain, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "new") == &plain);
  CHECK_EQ(decorated, before + 1);

  CHECK_OK(svk_release(handles[0]));
  CHECK_OK(svk_release(handles[1]));
  if (registrations) {
    CHECK_GONE(&held, 1);
    CHECK_GONE(&shared, 1);
  }
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_container_destroy(parent));
  CHECK_OK(svk_singleton_reset(NULL));
  CHECK_OK(svk_scope_destroy(scope));
  struct kind *const all[] = { &plain,  &both_plain, &both_test, &only_test, &shared, &custom,
                               &single, &pinned,     &of_parent, &of_child,  &held };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    CHECK_EQ(all[i]->built, all[i]->destroyed);
    CHECK_EQ(all[i]->registered, all[i]->freed);
  }
}

static void test_registrations(void) { check_reset(SVK_RESET_REGISTRATIONS); }
static void test_contexts(void) { check_reset(SVK_RESET_CONTEXTS); }
static void test_scopes(void) { check_reset(SVK_RESET_SCOPES); }
static void test_registrations_and_contexts(void) {
  check_reset(SVK_RESET_REGISTRATIONS | SVK_RESET_CONTEXTS);
}
static void test_registrations_and_scopes(void) { check_reset(SVK_RESET_REGISTRATIONS | SVK_RESET_SCOPES); }
static void test_contexts_and_scopes(void) { check_reset(SVK_RESET_CONTEXTS | SVK_RESET_SCOPES); }
static void test_all(void) {
  CHECK_EQ(SVK_RESET_ALL, SVK_RESET_REGISTRATIONS | SVK_RESET_CONTEXTS | SVK_RESET_SCOPES);
  check_reset(SVK_RESET_ALL);
}

static void test_masks(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_STATUS(svk_container_reset(container, 0), SVK_INVALID_ARGUMENT);
  for (int bit = 3; bit < 32; bit++) {
    CHECK_STATUS(svk_container_reset(container, (uint32_t)1 << bit), SVK_INVALID_ARGUMENT);
    CHECK_STATUS(svk_container_reset(container, (uint32_t)1 << bit | SVK_RESET_ALL), SVK_INVALID_ARGUMENT);
  }
  CHECK_EQ(kind.destroyed, 0);
  CHECK_OK(svk_container_destroy(container));
}

/* Dependents first. */
static void test_order(void) {
  svk_container *container = new_container();
  struct kind a = { .name = "a" }, b = { .name = "b", .needs = { "a" } },
              c = { .name = "c", .needs = { "b", "a" } }, d = { .name = "d", .needs = { "c" } };
  MUST_OK(kind_register(container, "d", &d, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "b", &b, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "a", &a, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "c", &c, SVK_SCOPE_CACHED));
  journal_clear();
  CHECK(kind_of(container, "b") == &b);
  CHECK(kind_of(container, "d") == &d);
  CHECK_OK(svk_container_reset(container, SVK_RESET_SCOPES));
  CHECK_JOURNAL("+a +b +c +d -d -c -b -a ");
  CHECK_OK(svk_container_destroy(container));
}

/* From inside a factory of the container, all of it. */
static svk_status reset_inside(svk_resolver *resolver, struct kind *kind) {
  void *low = NULL;
  CHECK_OK(svk_require(resolver, "low", &low));
  CHECK_OK(svk_container_reset(svk_resolver_container(resolver), SVK_RESET_ALL));
  CHECK(((struct instance *)low)->magic == INSTANCE_LIVES); /* leased */
  CHECK_STATUS(svk_require(resolver, "low", &low), SVK_NOT_FOUND);
  (void)kind;
  return SVK_OK;
}

static void test_from_inside_a_factory(void) {
  svk_container *container = new_container();
  struct kind low = { .name = "low" }, high = { .name = "high", .on_create = reset_inside };
  svk_handle *none = NULL;
  MUST_OK(kind_register(container, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "high", &high, SVK_SCOPE_CACHED));
  journal_clear();
  svk_handle *handle = RESOLVE(container, "high");
  CHECK_STATUS(svk_resolve(container, "high", &none), SVK_NOT_FOUND);
  CHECK_JOURNAL("+low +high ");
  CHECK_OK(svk_release(handle));
  CHECK_JOURNAL("+low +high -high -low ");
  CHECK_GONE(&high, 1);
  CHECK_GONE(&low, 1);
  CHECK_OK(svk_container_destroy(container));
}

int main(void) {
  RUN(test_registrations);
  RUN(test_contexts);
  RUN(test_scopes);
  RUN(test_registrations_and_contexts);
  RUN(test_registrations_and_scopes);
  RUN(test_contexts_and_scopes);
  RUN(test_all);
  RUN(test_masks);
  RUN(test_order);
  RUN(test_from_inside_a_factory);
  return check_done();
}
