/* svk_container_validate: missing requirements, cycles, lifetimes, strictness; and that it builds nothing. */
#include "factory.h"

static struct kind kind;
static svk_scope *scope;

static void declare_for(svk_container *container, const char *key, const char *context,
                        int32_t scope_constant, const char *first, const char *second) {
  const char *const needs[] = { first, second, NULL };
  svk_factory_options options = kind_options(&kind, scope_constant);
  options.required_keys = needs;
  options.custom_scope = scope;
  MUST_OK(kind_register_with(container, key, context, &options));
}

static void declare(svk_container *container, const char *key, int32_t scope_constant, const char *first,
                    const char *second) {
  declare_for(container, key, NULL, scope_constant, first, second);
}

static void test_all_is_well(void) {
  svk_container *container = new_container();
  CHECK_OK(svk_container_validate(container));
  declare(container, "a", SVK_SCOPE_CACHED, NULL, NULL);
  CHECK_OK(svk_container_validate(container));
  declare(container, "b", SVK_SCOPE_CACHED, "a", NULL);
  declare(container, "c", SVK_SCOPE_UNIQUE, "a", "b");
  declare(container, "d", SVK_SCOPE_CACHED, "c", "b");
  CHECK_OK(svk_container_validate(container));
  MUST_OK(kind_register(container, "undeclared", &kind, SVK_SCOPE_CACHED));
  CHECK_OK(svk_container_validate(container));
  CHECK_EQ(kind.asked, 0);
  CHECK_OK(svk_container_destroy(container));
}

static void test_missing(void) {
  svk_container *parent = new_container(), *container = new_child(parent);
  declare(container, "top", SVK_SCOPE_CACHED, "there", "not-there");
  declare(container, "there", SVK_SCOPE_CACHED, NULL, NULL);
  CHECK_STATUS(svk_container_validate(container), SVK_NOT_FOUND);
  CHECK_STR(svk_last_error(), "not-there");
  CHECK_STR(svk_last_error(), "top");
  /* A registration for a context that is not active does not count, one in the parent does. */
  declare_for(container, "not-there", "test", SVK_SCOPE_CACHED, NULL, NULL);
  CHECK_STATUS(svk_container_validate(container), SVK_NOT_FOUND);
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK_OK(svk_container_validate(container));
  CHECK_OK(svk_container_set_contexts(container, NULL));
  declare(parent, "not-there", SVK_SCOPE_CACHED, NULL, NULL);
  CHECK_OK(svk_container_validate(container));
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_container_destroy(parent));
}

static void test_cycles(void) {
  svk_container *container = new_container();
  declare(container, "self", SVK_SCOPE_CACHED, "self", NULL);
  CHECK_STATUS(svk_container_validate(container), SVK_CYCLE);
  CHECK_STR(svk_last_error(), "self \xe2\x86\x92 self");
  CHECK_OK(svk_unregister(container, "self"));
  CHECK_OK(svk_container_validate(container));
  declare(container, "a", SVK_SCOPE_UNIQUE, "b", NULL);
  declare(container, "b", SVK_SCOPE_UNIQUE, "c", NULL);
  declare(container, "c", SVK_SCOPE_UNIQUE, NULL, NULL);
  CHECK_OK(svk_container_validate(container));
  declare(container, "c", SVK_SCOPE_UNIQUE, "a", NULL);
  CHECK_STATUS(svk_container_validate(container), SVK_CYCLE);
  CHECK_STR(svk_last_error(), "\xe2\x86\x92");
  CHECK_STR(svk_last_error(), "a");
  /* Only in a context that is not active: no cycle now. */
  declare(container, "c", SVK_SCOPE_UNIQUE, NULL, NULL);
  declare_for(container, "c", "test", SVK_SCOPE_UNIQUE, "a", NULL);
  CHECK_OK(svk_container_validate(container));
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK_STATUS(svk_container_validate(container), SVK_CYCLE);
  CHECK_OK(svk_container_destroy(container));
}

/* singleton > cached = custom > shared > graph; unique is always allowed. */
static void test_lifetimes(void) {
  static const int32_t scopes[] = { SVK_SCOPE_SINGLETON, SVK_SCOPE_CACHED, SVK_SCOPE_CUSTOM,
                                    SVK_SCOPE_SHARED,    SVK_SCOPE_GRAPH,  SVK_SCOPE_UNIQUE };
  static const int rank[] = { 4, 3, 3, 2, 1, 0 };
  for (int high = 0; high < 5; high++) /* a unique one may require all */
    for (int low = 0; low < 6; low++) {
      svk_container *container = new_container();
      declare(container, "low-key", scopes[low], NULL, NULL);
      declare(container, "high-key", scopes[high], "low-key", NULL);
      if (low == 5 || rank[low] >= rank[high]) {
        CHECK_OK(svk_container_validate(container));
      } else {
        CHECK_STATUS(svk_container_validate(container), SVK_INVALID_ARGUMENT);
        CHECK_STR(svk_last_error(), "low-key");
        CHECK_STR(svk_last_error(), "high-key");
      }
      CHECK_OK(svk_container_destroy(container));
    }
}

/* The default scope counts as what it means now. */
static void test_default_scope(void) {
  svk_container *container = new_container();
  declare(container, "low-key", SVK_SCOPE_DEFAULT, NULL, NULL);
  declare(container, "high-key", SVK_SCOPE_CACHED, "low-key", NULL);
  CHECK_OK(svk_container_validate(container));
  CHECK_OK(svk_container_set_default_scope(container, SVK_SCOPE_SHARED));
  CHECK_STATUS(svk_container_validate(container), SVK_INVALID_ARGUMENT);
  CHECK_OK(svk_container_set_default_scope(container, SVK_SCOPE_SINGLETON));
  CHECK_OK(svk_container_validate(container));
  CHECK_OK(svk_container_destroy(container));
}

static void test_strict(void) {
  svk_container *container = new_container();
  declare_for(container, "top", "test", SVK_SCOPE_CACHED, "low-key", NULL);
  declare(container, "low-key", SVK_SCOPE_CACHED, NULL, NULL);
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK_OK(svk_container_validate(container));
  CHECK_OK(svk_container_set_strict(container, 1));
  CHECK_STATUS(svk_container_validate(container), SVK_CONTEXT_MISSING);
  CHECK_STR(svk_last_error(), "low-key");
  declare_for(container, "low-key", "test", SVK_SCOPE_CACHED, NULL, NULL);
  CHECK_OK(svk_container_validate(container));
  CHECK_OK(svk_container_destroy(container));
}

/* Wide and deep graphs in no time: each key is looked at once, not once for every path to it. */
static void test_many_paths(void) {
  enum { LEVELS = 60 };
  svk_container *container = new_container();
  char key[32], left[32], right[32];
  for (int level = 0; level < LEVELS; level++) {
    snprintf(left, sizeof left, "left-%d", level - 1);
    snprintf(right, sizeof right, "right-%d", level - 1);
    snprintf(key, sizeof key, "left-%d", level);
    declare(container, key, SVK_SCOPE_UNIQUE, level > 0 ? left : NULL, right);
    snprintf(key, sizeof key, "right-%d", level);
    declare(container, key, SVK_SCOPE_UNIQUE, level > 0 ? left : NULL, right);
  }
  CHECK_OK(svk_container_validate(container));
  CHECK_OK(svk_container_destroy(container));
}

/* A very long chain. */
static void test_depth(void) {
  int depth = iterations(5000);
  svk_container *container = new_container();
  char key[32], need[32];
  for (int i = 0; i < depth; i++) {
    snprintf(key, sizeof key, "chain-%d", i);
    snprintf(need, sizeof need, "chain-%d", i + 1);
    declare(container, key, SVK_SCOPE_UNIQUE, i + 1 < depth ? need : NULL, NULL);
  }
  CHECK_OK(svk_container_validate(container));
  snprintf(key, sizeof key, "chain-%d", depth - 1);
  declare(container, key, SVK_SCOPE_UNIQUE, "chain-0", NULL);
  CHECK_STATUS(svk_container_validate(container), SVK_CYCLE);
  CHECK_OK(svk_container_destroy(container));
}

int main(void) {
  MUST_OK(svk_scope_create("scope", &scope));
  RUN(test_all_is_well);
  RUN(test_missing);
  RUN(test_cycles);
  RUN(test_lifetimes);
  RUN(test_default_scope);
  RUN(test_strict);
  RUN(test_many_paths);
  RUN(test_depth);
  CHECK_OK(svk_scope_destroy(scope));
  CHECK_EQ(kind.asked, 0); /* nothing was ever built */
  CHECK_EQ(kind.registered, kind.freed);
  return check_done();
}
