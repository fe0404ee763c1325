/* svk_last_error: what failed, and which key; per thread; untouched by successes. */
#include "factory.h"

static void on_a_new_thread(int index, void *argument) {
  svk_container *container = argument;
  svk_handle *handle = NULL;
  char key[32], copy[256];
  MUST(svk_last_error() != NULL);
  CHECK(strcmp(svk_last_error(), "") == 0); /* nothing has failed here yet */
  handle = RESOLVE(container, "good");
  CHECK_OK(svk_release(handle));
  CHECK(strcmp(svk_last_error(), "") == 0);
  snprintf(key, sizeof key, "missing-on-%d", index);
  for (int i = 0; i < iterations(2000); i++) {
    CHECK_STATUS(svk_resolve(container, key, &handle), SVK_NOT_FOUND);
    CHECK_STR(svk_last_error(), key);
    const char *kept = svk_last_error();
    snprintf(copy, sizeof copy, "%.255s", kept);
    /* Later successes leave it as it is, and so do failures on other threads. */
    handle = RESOLVE(container, "good");
    CHECK_OK(svk_release(handle));
    CHECK(strncmp(kept, copy, 255) == 0);
    CHECK(strncmp(svk_last_error(), copy, 255) == 0);
  }
}

static void test_per_thread(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  svk_handle *handle = NULL;
  MUST_OK(kind_register(container, "good", &kind, SVK_SCOPE_CACHED));
  CHECK_STATUS(svk_resolve(container, "missing-on-main", &handle), SVK_NOT_FOUND);
  run_threads(6, on_a_new_thread, container);
  CHECK_STR(svk_last_error(), "missing-on-main");
  CHECK_OK(svk_container_destroy(container));
}

/* The words differ from version to version, but they name the key; and each failure has its own. */
static void expect(svk_status actual, svk_status expected, const char *part, const char *call, int line) {
  check_status(actual, expected, call, __FILE__, line);
  check_text(svk_last_error(), part, __FILE__, line);
  CHECK(strlen(svk_last_error()) > 10);
  CHECK(strchr(svk_last_error(), '\n') == NULL);
}
#define EXPECT(call, status, part) expect((call), (status), (part), #call, __LINE__)

static void test_the_key_is_named(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL }, failing = { .answer = SVK_FACTORY_ERROR_BASE + 7 },
              null = { .gives_null = 1 }, garbage = { .answer = -3 }, cycle = { .needs = { "cyclic" } },
              above = { .needs = { "failing" } }, unlucky = { .needs = { "not-there" } };
  svk_handle *handle = NULL;
  svk_key *key = NULL;
  void *instance = NULL;
  int64_t value = 0;
  svk_factory_options options = kind_options(&kind, SVK_SCOPE_UNIQUE);
  options.type = "the-type/1";
  MUST_OK(kind_register_with(container, "typed-key", NULL, &options));
  MUST_OK(kind_register(container, "untyped-key", &kind, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "failing", &failing, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "null-giver", &null, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "garbage-giver", &garbage, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "cyclic", &cycle, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "above", &above, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "unlucky", &unlucky, SVK_SCOPE_CACHED));
  MUST_OK(svk_key_intern("not-there", &key));
  EXPECT(svk_resolve(container, "not-there", &handle), SVK_NOT_FOUND, "not-there");
  EXPECT(svk_resolve_with(container, "nor-this", "p", 1, &handle), SVK_NOT_FOUND, "nor-this");
  EXPECT(svk_resolve_key(container, key, &handle), SVK_NOT_FOUND, "not-there");
  EXPECT(svk_resolve_typed(container, "typed-key", "other", &handle), SVK_TYPE_MISMATCH, "typed-key");
  EXPECT(svk_resolve_typed(container, "untyped-key", "other", &handle), SVK_TYPE_MISMATCH, "untyped-key");
  EXPECT(svk_pin(container, "untyped-key", &instance), SVK_INVALID_ARGUMENT, "untyped-key");
  EXPECT(svk_pin(container, "no-pin", &instance), SVK_NOT_FOUND, "no-pin");
  EXPECT(svk_resolve(container, "failing", &handle), SVK_FACTORY_ERROR_BASE + 7, "failing");
  EXPECT(svk_resolve(container, "null-giver", &handle), SVK_FACTORY_FAILED, "null-giver");
  EXPECT(svk_resolve(container, "garbage-giver", &handle), SVK_FACTORY_FAILED, "garbage-giver");
  EXPECT(svk_resolve(container, "cyclic", &handle), SVK_CYCLE, "cyclic \xe2\x86\x92 cyclic");
  EXPECT(svk_resolve(container, "above", &handle), SVK_FACTORY_ERROR_BASE + 7, "failing"); /* the cause */
  EXPECT(svk_resolve(container, "unlucky", &handle), SVK_NOT_FOUND, "not-there");
  EXPECT(svk_unregister(container, "never-registered"), SVK_NOT_FOUND, "never-registered");
  EXPECT(svk_reset(container, "never-either", SVK_RESET_ALL), SVK_NOT_FOUND, "never-either");
  EXPECT(svk_reset(container, "typed-key", 0), SVK_INVALID_ARGUMENT, "");
  EXPECT(svk_singleton_reset("no-singleton"), SVK_NOT_FOUND, "no-singleton");
  EXPECT(svk_constant("SVK_WHAT", &value), SVK_NOT_FOUND, "SVK_WHAT");
  EXPECT(svk_resolve(container, "typed-key", NULL), SVK_INVALID_ARGUMENT, "");
  EXPECT(svk_resolve(NULL, "typed-key", &handle), SVK_INVALID_HANDLE, "");
  EXPECT(svk_release(NULL), SVK_INVALID_HANDLE, "");
  EXPECT(svk_container_pop(container), SVK_NOT_FOUND, "");
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK_OK(svk_container_set_strict(container, 1));
  EXPECT(svk_resolve(container, "typed-key", &handle), SVK_CONTEXT_MISSING, "typed-key");
  CHECK_OK(svk_container_destroy(container));
}

/* Functions that answer no status leave their reason there, too. */
static void test_without_a_status(void) {
  svk_release(NULL);
  CHECK(svk_subscription_fd(NULL) == -1);
  CHECK(strlen(svk_last_error()) > 0);
  CHECK(svk_dispatcher_fd(NULL) == -1);
  CHECK(strlen(svk_last_error()) > 0);
}

/* The longest of keys, and keys with characters of their own, in the text as they are. */
static void test_special_keys(void) {
  svk_container *container = new_container();
  static const char *const keys[] = { "percent-%s-%n-%d", "quote\"backslash\\", "\xe6\x97\xa5\xe6\x9c\xac",
                                      "\xf0\x9f\x98\x80" };
  svk_handle *handle = NULL;
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    EXPECT(svk_resolve(container, keys[i], &handle), SVK_NOT_FOUND, keys[i]);
  char longest[256];
  memset(longest, 'L', 255);
  longest[255] = 0;
  EXPECT(svk_resolve(container, longest, &handle), SVK_NOT_FOUND, longest);
  CHECK_OK(svk_container_destroy(container));
}

/* Failures inside a factory are this thread's as well; a failure that was handed on is the last one. */
static svk_status fail_and_recover(svk_resolver *resolver, struct kind *kind) {
  void *instance = NULL;
  (void)kind;
  CHECK_STATUS(svk_require(resolver, "inner-missing", &instance), SVK_NOT_FOUND);
  CHECK_STR(svk_last_error(), "inner-missing");
  return SVK_OK;
}

static void test_inside_a_factory(void) {
  svk_container *container = new_container();
  struct kind kind = { .on_create = fail_and_recover };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_STR(svk_last_error(), "inner-missing"); /* the resolve succeeded: no later failure */
  CHECK_OK(svk_container_destroy(container));
}

int main(void) {
  RUN(test_per_thread);
  RUN(test_the_key_is_named);
  RUN(test_without_a_status);
  RUN(test_special_keys);
  RUN(test_inside_a_factory);
  return check_done();
}
