/* Keys, types and names: what is refused, what is not, and that they are compared byte by byte. */
#include "factory.h"

static const char *const bad_keys[] = {
  "",
  "\x01",
  "a\nb",
  "tab\t",
  "a\x1f",
  "\x7f",
  "del\x7f.",
  "\xc2\x80",  /* U+0080 */
  "a\xc2\x85", /* U+0085 */
  "\xc2\x9f",  /* U+009F */
  "\x80",      /* a continuation byte alone */
  "a\xbf",
  "\xc3", /* cut off */
  "\xe2\x82",
  "a\xf0\x9f\x98",
  "\xc3(", /* no continuation byte */
  "\xe2(\xa1",
  "\xe2\x82(",
  "\xf0\x9f\x98(",
  "\xc0\x80", /* overlong */
  "\xc0\xaf",
  "\xc1\xbf",
  "\xe0\x80\x80",
  "\xe0\x9f\xbf",
  "\xf0\x80\x80\x80",
  "\xf0\x8f\xbf\xbf",
  "\xed\xa0\x80", /* surrogates */
  "\xed\xaf\xbf",
  "\xed\xbf\xbf",
  "\xf4\x90\x80\x80", /* above U+10FFFF */
  "\xf5\x80\x80\x80",
  "\xf8\x88\x80\x80\x80",
  "\xfe",
  "\xff",
  "good\xff",
};
enum { BAD_KEYS = sizeof bad_keys / sizeof *bad_keys };

static const char *const good_keys[] = {
  " ",
  "a",
  "~",
  "A",
  "a b",
  "a,b",
  "a/b.c:d-e_f\"'\\%s%n",
  "\xc2\xa0", /* U+00A0 */
  "\xc3\xa9",
  "e\xcc\x81",
  "\xdf\xbf",
  "\xe0\xa0\x80",
  "\xe2\x80\xa8", /* U+2028 is no control character */
  "\xed\x9f\xbf", /* U+D7FF */
  "\xee\x80\x80", /* U+E000 */
  "\xef\xbf\xbf", /* U+FFFF */
  "\xf0\x90\x80\x80",
  "\xf0\x9f\x98\x80",
  "\xf4\x8f\xbf\xbf", /* U+10FFFF */
};
enum { GOOD_KEYS = sizeof good_keys / sizeof *good_keys };

/* One svk_require and one svk_require_with of `wanted`, from inside a factory. */
static const char *wanted;

static svk_status require_bad(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  void *instance = kind;
  CHECK_STATUS(svk_require(resolver, wanted, &instance), SVK_INVALID_ARGUMENT);
  CHECK(instance == NULL);
  instance = kind;
  CHECK_STATUS(svk_require_with(resolver, wanted, "p", 1, &instance), SVK_INVALID_ARGUMENT);
  CHECK(instance == NULL);
  return SVK_OK;
}

/* Every function that takes a key refuses this one. */
static void check_refused(svk_container *container, const char *key) {
  struct kind kind = { .name = NULL };
  CHECK_STATUS(kind_register(container, key, &kind, SVK_SCOPE_CACHED), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(kind_register_for(container, key, "test", &kind, SVK_SCOPE_CACHED), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_unregister(container, key), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_reset(container, key, SVK_RESET_ALL), SVK_INVALID_ARGUMENT);

  svk_handle *handle = (svk_handle *)&kind;
  CHECK_STATUS(svk_resolve(container, key, &handle), SVK_INVALID_ARGUMENT);
  CHECK(handle == NULL);
  handle = (svk_handle *)&kind;
  CHECK_STATUS(svk_resolve_with(container, key, "p", 1, &handle), SVK_INVALID_ARGUMENT);
  CHECK(handle == NULL);
  handle = (svk_handle *)&kind;
  CHECK_STATUS(svk_resolve_typed(container, key, "type", &handle), SVK_INVALID_ARGUMENT);
  CHECK(handle == NULL);
  void *instance = &kind;
  CHECK_STATUS(svk_pin(container, key, &instance), SVK_INVALID_ARGUMENT);
  CHECK(instance == NULL);
  svk_key *interned = (svk_key *)&kind;
  CHECK_STATUS(svk_key_intern(key, &interned), SVK_INVALID_ARGUMENT);
  CHECK(interned == NULL);

  svk_scope *scope = (svk_scope *)&kind;
  CHECK_STATUS(svk_scope_create(key, &scope), SVK_INVALID_ARGUMENT);
  CHECK(scope == NULL);

  struct kind asker = { .on_create = require_bad };
  wanted = key;
  MUST_OK(kind_register(container, "asker", &asker, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "asker") == &asker);
  CHECK_OK(svk_unregister(container, "asker"));
  CHECK_GONE(&asker, 1);

  CHECK_EQ(kind.freed, 0);
  CHECK_EQ(kind.asked, 0);
}

static void decorator(void *instance, const char *key, int32_t is_new, void *user_data) {
  (void)instance, (void)key, (void)is_new, (void)user_data;
}

/* As check_refused, where NULL has a meaning of its own: decorators, all singletons, no type. */
static void check_refused_where_null_is_not(svk_container *container, const char *key) {
  struct kind kind = { .name = NULL };
  CHECK_STATUS(svk_decorate(container, key, decorator, &kind, kind_free), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_decorate(container, key, NULL, NULL, NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_singleton_reset(key), SVK_INVALID_ARGUMENT);

  svk_factory_options options = kind_options(&kind, SVK_SCOPE_CACHED);
  options.type = key;
  CHECK_STATUS(kind_register_with(container, "good", NULL, &options), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(kind_register_with(container, "good", "test", &options), SVK_INVALID_ARGUMENT);
  options = kind_options(&kind, SVK_SCOPE_CACHED);
  const char *const needs[] = { "good", key, NULL };
  options.required_keys = needs;
  CHECK_STATUS(kind_register_with(container, "good", NULL, &options), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(kind_register_with(container, "good", "test", &options), SVK_INVALID_ARGUMENT);
  CHECK_EQ(kind.freed, 0);
  svk_handle *handle = NULL;
  CHECK_STATUS(svk_resolve(container, "good", &handle), SVK_NOT_FOUND);
}

static void test_bad_keys(void) {
  svk_container *container = new_container();
  for (int i = 0; i < BAD_KEYS; i++) {
    check_refused(container, bad_keys[i]);
    check_refused_where_null_is_not(container, bad_keys[i]);
  }
  check_refused(container, NULL);
  CHECK_OK(svk_container_destroy(container));
}

static void test_bad_type_of_resolve_typed(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  svk_factory_options options = kind_options(&kind, SVK_SCOPE_CACHED);
  options.type = "good";
  MUST_OK(kind_register_with(container, "good", NULL, &options));
  for (int i = 0; i < BAD_KEYS + 1; i++) {
    svk_handle *handle = (svk_handle *)&kind;
    CHECK_STATUS(svk_resolve_typed(container, "good", i < BAD_KEYS ? bad_keys[i] : NULL, &handle),
                 SVK_INVALID_ARGUMENT);
    CHECK(handle == NULL);
  }
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 0);
}

static void test_good_keys(void) {
  svk_container *container = new_container();
  static struct kind kinds[GOOD_KEYS];
  for (int i = 0; i < GOOD_KEYS; i++)
    CHECK_OK(kind_register(container, good_keys[i], &kinds[i], SVK_SCOPE_CACHED));
  for (int i = 0; i < GOOD_KEYS; i++) {
    CHECK(kind_of(container, good_keys[i]) == &kinds[i]);
    svk_key *key = NULL, *again = NULL;
    CHECK_OK(svk_key_intern(good_keys[i], &key));
    CHECK_OK(svk_key_intern(good_keys[i], &again));
    CHECK(key != NULL && key == again);
    svk_handle *handle = NULL;
    CHECK_OK(svk_resolve_key(container, key, &handle));
    struct instance *instance = svk_instance(handle);
    CHECK(instance != NULL && instance->kind == &kinds[i]);
    CHECK_OK(svk_release(handle));
  }
  CHECK_OK(svk_container_destroy(container));
  for (int i = 0; i < GOOD_KEYS; i++)
    CHECK_GONE(&kinds[i], 1);
}

static void test_length(void) {
  svk_container *container = new_container();
  char key[300];
  struct kind kind = { .name = NULL };
  memset(key, 'k', sizeof key);
  key[255] = 0;
  MUST_OK(kind_register(container, key, &kind, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, key) == &kind);
  key[254] = 0; /* one byte less is another key */
  svk_handle *handle = NULL;
  CHECK_STATUS(svk_resolve(container, key, &handle), SVK_NOT_FOUND);
  key[254] = 'k';

  for (int length = 256; length < 299; length++) {
    memset(key, 'k', sizeof key);
    key[length] = 0;
    check_refused(container, key);
    check_refused_where_null_is_not(container, key);
  }
  memset(key, 'k', sizeof key); /* the 255th byte begins a character of two */
  memcpy(key + 254, "\xc3\xa9", 3);
  check_refused(container, key);
  memcpy(key + 253, "\xc3\xa9", 3); /* and here it ends one */
  struct kind other = { .name = NULL };
  CHECK_OK(kind_register(container, key, &other, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, key) == &other);

  size_t huge = 1 << 20;
  char *long_key = malloc(huge);
  MUST(long_key != NULL);
  memset(long_key, 'k', huge);
  long_key[huge - 1] = 0;
  check_refused(container, long_key);
  free(long_key);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 1);
  CHECK_GONE(&other, 1);
}

/* A bad name of a context, and how blanks and commas are treated. */
static void test_names_of_contexts(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  char name[300];
  for (int i = 0; i < BAD_KEYS; i++) {
    if (strchr(bad_keys[i], '\t') != NULL)
      continue; /* a blank? */
    CHECK_STATUS(kind_register_for(container, "key", bad_keys[i], &kind, SVK_SCOPE_CACHED),
                 SVK_INVALID_ARGUMENT);
    if (bad_keys[i][0] != 0) {
      CHECK_STATUS(svk_container_set_contexts(container, bad_keys[i]), SVK_INVALID_ARGUMENT);
      snprintf(name, sizeof name, "test,%s", bad_keys[i]);
      CHECK_STATUS(svk_container_set_contexts(container, name), SVK_INVALID_ARGUMENT);
      snprintf(name, sizeof name, "%s,test", bad_keys[i]);
      CHECK_STATUS(svk_container_set_contexts(container, name), SVK_INVALID_ARGUMENT);
    }
  }
  static const char *const bad[] = { NULL, " ", "   ", ",", "a,b", "a,", ",a" };
  svk_factory_options options = kind_options(&kind, SVK_SCOPE_CACHED);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_STATUS(svk_register_for(container, "key", bad[i], &options), SVK_INVALID_ARGUMENT);
  static const char *const bad_lists[] = { ",", "a,", ",a", "a,,b", "a, ,b", " , " };
  for (size_t i = 0; i < sizeof bad_lists / sizeof *bad_lists; i++)
    CHECK_STATUS(svk_container_set_contexts(container, bad_lists[i]), SVK_INVALID_ARGUMENT);

  memset(name, 'n', sizeof name);
  name[256] = 0;
  CHECK_STATUS(kind_register_for(container, "key", name, &kind, SVK_SCOPE_CACHED), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_container_set_contexts(container, name), SVK_INVALID_ARGUMENT);
  CHECK_EQ(kind.freed, 0);
  name[255] = 0;
  CHECK_OK(kind_register_for(container, "key", name, &kind, SVK_SCOPE_CACHED));
  CHECK_OK(svk_container_set_contexts(container, name));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 1);
}

static void test_keys_differ_by_bytes(void) {
  svk_container *container = new_container();
  static const char *const keys[] = { "logger", "Logger",  "logger ",  " logger",
                                      "logge",  "loggers", "\xc3\xa9", "e\xcc\x81" };
  enum { KEYS = sizeof keys / sizeof *keys };
  static struct kind kinds[KEYS];
  for (int i = 0; i < KEYS; i++)
    MUST_OK(kind_register(container, keys[i], &kinds[i], SVK_SCOPE_CACHED));
  for (int i = 0; i < KEYS; i++)
    CHECK(kind_of(container, keys[i]) == &kinds[i]);
  CHECK_OK(svk_container_destroy(container));
  for (int i = 0; i < KEYS; i++)
    CHECK_GONE(&kinds[i], 1);
}

/* The library copies: what was passed may change or go at once. */
static void test_strings_are_copied(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL }, other = { .name = NULL };
  char *key = strdup("key"), *context = strdup("test"), *type = strdup("type/1"), *need = strdup("need"),
       *list = strdup(" test , live"), *name = strdup("scope");
  const char **needs = calloc(2, sizeof *needs);
  svk_factory_options *options = malloc(sizeof *options);
  MUST(key && context && type && need && list && name && needs && options);
  *options = kind_options(&kind, SVK_SCOPE_CACHED);
  options->type = type;
  needs[0] = need;
  options->required_keys = needs;
  svk_scope *scope = NULL;
  svk_key *interned = NULL;
  CHECK_OK(kind_register_with(container, key, NULL, options));
  options->user_data = &other;
  CHECK_OK(kind_register_with(container, key, context, options));
  CHECK_OK(svk_container_set_contexts(container, list));
  CHECK_OK(svk_scope_create(name, &scope));
  CHECK_OK(svk_key_intern(key, &interned));
  char *all[] = { key, context, type, need, list, name };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    memset(all[i], 'X', strlen(all[i]));
    free(all[i]);
  }
  memset(needs, 0xff, sizeof *needs);
  free(needs);
  memset(options, 0xff, sizeof *options);
  free(options);

  svk_handle *handle = NULL;
  CHECK_OK(svk_resolve_typed(container, "key", "type/1", &handle));
  struct instance *instance = svk_instance(handle);
  CHECK(instance != NULL && instance->kind == &other);
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_resolve_key(container, interned, &handle));
  CHECK(svk_instance(handle) == instance);
  CHECK_OK(svk_release(handle));
  CHECK_STATUS(svk_container_validate(container), SVK_NOT_FOUND);
  CHECK_STR(svk_last_error(), "need");
  CHECK_OK(svk_scope_destroy(scope));
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 0);
  CHECK_GONE(&other, 1);
}

/* A look-up among many, and all of them. */
static void test_many_keys(void) {
  enum { MANY = 20000 };
  int many = iterations(MANY);
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  char key[32];
  for (int i = 0; i < many; i++) {
    snprintf(key, sizeof key, "key-%d", i);
    MUST_OK(kind_register(container, key, &kind, SVK_SCOPE_CACHED));
  }
  for (int i = 0; i < many; i++) {
    snprintf(key, sizeof key, "key-%d", i);
    svk_handle *handle = RESOLVE(container, key);
    struct instance *instance = svk_instance(handle);
    CHECK(instance != NULL && instance->number == i + 1);
    CHECK_OK(svk_release(handle));
  }
  for (int i = 0; i < many; i += 2) {
    snprintf(key, sizeof key, "key-%d", i);
    CHECK_OK(svk_unregister(container, key));
  }
  CHECK_EQ(kind.destroyed, (many + 1) / 2);
  CHECK_EQ(kind.freed, (many + 1) / 2);
  for (int i = 0; i < many; i++) {
    snprintf(key, sizeof key, "key-%d", i);
    CHECK((kind_of(container, key) != NULL) == (i % 2 == 1));
  }
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, many);
}

static void intern_all(int index, void *argument) {
  svk_key **keys = (svk_key **)argument + index * 100;
  for (int i = 0; i < 100; i++) {
    char name[32];
    snprintf(name, sizeof name, "interned-%d", i);
    CHECK_OK(svk_key_intern(name, &keys[i]));
  }
}

static void test_interning_on_many_threads(void) {
  static svk_key *keys[8][100];
  run_threads(8, intern_all, keys);
  for (int thread = 1; thread < 8; thread++)
    CHECK(memcmp(keys[0], keys[thread], sizeof keys[0]) == 0);
  for (int i = 1; i < 100; i++)
    CHECK(keys[0][i] != keys[0][i - 1]);
}

int main(void) {
  RUN(test_bad_keys);
  RUN(test_bad_type_of_resolve_typed);
  RUN(test_good_keys);
  RUN(test_length);
  RUN(test_names_of_contexts);
  RUN(test_keys_differ_by_bytes);
  RUN(test_strings_are_copied);
  RUN(test_many_keys);
  RUN(test_interning_on_many_threads);
  return check_done();
}
