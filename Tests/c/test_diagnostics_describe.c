/* svk_container_describe: the sizes, and what is in each of the three formats. */
#include "factory.h"
#include <ctype.h>

/* Asks for the size, then for the text in a block of exactly that size. */
static char *describe(svk_container *container, int32_t format) {
  size_t needed = 0, again = 0;
  CHECK_STATUS(svk_container_describe(container, format, NULL, 0, &needed), SVK_BUFFER_TOO_SMALL);
  MUST(needed > 0);
  char *text = malloc(needed);
  MUST(text != NULL);
  memset(text, 'x', needed);
  MUST_OK(svk_container_describe(container, format, text, needed, &again));
  CHECK_EQ(again, needed);
  CHECK_EQ(strlen(text) + 1, needed); /* the NUL is counted */
  return text;
}

/* ---- A tiny reader of JSON: is it well-formed, and does it have these strings? ---- */

static const char *skip(const char *at) {
  while (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r')
    at++;
  return at;
}

static const char *json_value(const char *at, int depth);

static const char *json_string(const char *at) {
  if (*at++ != '"')
    return NULL;
  for (; *at != '"'; at++) {
    if ((unsigned char)*at < 0x20)
      return NULL; /* the end, too */
    if (*at == '\\') {
      at++;
      if (*at == 'u') {
        for (int i = 0; i < 4; i++)
          if (!isxdigit((unsigned char)*++at))
            return NULL;
      } else if (*at == 0 || strchr("\"\\/bfnrt", *at) == NULL) {
        return NULL;
      }
    }
  }
  return at + 1;
}

static const char *json_sequence(const char *at, char end, int is_object, int depth) {
  at = skip(at + 1);
  if (*at == end)
    return at + 1;
  for (;;) {
    if (is_object) {
      at = json_string(at);
      if (at == NULL || *(at = skip(at)) != ':')
        return NULL;
      at = skip(at + 1);
    }
    at = json_value(at, depth + 1);
    if (at == NULL)
      return NULL;
    at = skip(at);
    if (*at == end)
      return at + 1;
    if (*at != ',')
      return NULL;
    at = skip(at + 1);
  }
}

static const char *json_value(const char *at, int depth) {
  if (depth > 50)
    return NULL;
  if (*at == '{')
    return json_sequence(at, '}', 1, depth);
  if (*at == '[')
    return json_sequence(at, ']', 0, depth);
  if (*at == '"')
    return json_string(at);
  static const char *const words[] = { "true", "false", "null" };
  for (int i = 0; i < 3; i++)
    if (strncmp(at, words[i], strlen(words[i])) == 0)
      return at + strlen(words[i]);
  char *end = NULL;
  if (*at != '-' && !isdigit((unsigned char)*at))
    return NULL;
  strtod(at, &end);
  return end == at ? NULL : end;
}

/* One JSON object, and nothing after it. */
static void check_json(const char *text) {
  const char *at = skip(text);
  CHECK(*at == '{');
  at = json_value(at, 0);
  if (CHECK(at != NULL))
    CHECK(*skip(at) == 0);
  else
    fprintf(stderr, "%s\n", text);
}

/* DOT: begins as a directed graph, and the braces and quotes close. */
static void check_dot(const char *text) {
  CHECK(strncmp(text, "digraph", 7) == 0 || strncmp(text, "strict digraph", 14) == 0);
  int depth = 0, quoted = 0;
  for (const char *at = text; *at != 0; at++) {
    if (quoted && *at == '\\' && at[1] != 0)
      at++;
    else if (*at == '"')
      quoted = !quoted;
    else if (!quoted && *at == '{')
      depth++;
    else if (!quoted && *at == '}')
      CHECK(--depth >= 0);
  }
  CHECK_EQ(depth, 0);
  CHECK_EQ(quoted, 0);
}

/* ---- The tests ---- */

static svk_container *make_example(struct kind *kinds, svk_scope *scope) {
  svk_container *container = new_container();
  kinds[1].needs[0] = "logger";
  kinds[2].needs[0] = "store";
  kinds[2].needs[1] = "logger";
  svk_factory_options options = kind_options(&kinds[0], SVK_SCOPE_CACHED);
  options.type = "org.example.logger/1";
  MUST_OK(kind_register_with(container, "logger", NULL, &options));
  MUST_OK(kind_register_for(container, "logger", "preview", &kinds[0], SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "store", &kinds[1], SVK_SCOPE_SHARED));
  MUST_OK(kind_register(container, "view", &kinds[2], SVK_SCOPE_UNIQUE));
  options = kind_options(&kinds[3], SVK_SCOPE_CUSTOM);
  options.custom_scope = scope;
  MUST_OK(kind_register_with(container, "never-built", NULL, &options));
  return container;
}

static void test_formats(void) {
  struct kind kinds[4];
  memset(kinds, 0, sizeof kinds);
  svk_scope *scope = NULL;
  MUST_OK(svk_scope_create("my-session", &scope));
  svk_container *container = make_example(kinds, scope);
  svk_handle *view = RESOLVE(container, "view"), *logger = RESOLVE(container, "logger");
  static const char *const parts[] = { "logger", "store", "view", "never-built" };

  char *text = describe(container, SVK_FORMAT_TEXT);
  for (int i = 0; i < 4; i++)
    CHECK_STR(text, parts[i]);
  CHECK_STR(text, "org.example.logger/1");
  CHECK_STR(text, "preview");
  free(text);

  text = describe(container, SVK_FORMAT_JSON);
  check_json(text);
  for (int i = 0; i < 4; i++) {
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\"", parts[i]);
    CHECK_STR(text, quoted);
  }
  CHECK_STR(text, "\"org.example.logger/1\"");
  CHECK_STR(text, "\"preview\"");
  free(text);

  text = describe(container, SVK_FORMAT_DOT);
  check_dot(text);
  for (int i = 0; i < 4; i++)
    CHECK_STR(text, parts[i]);
  CHECK_STR(text, "\"store\" -> \"logger\"");
  CHECK_STR(text, "\"view\" -> \"store\"");
  CHECK_STR(text, "\"view\" -> \"logger\"");
  CHECK(strstr(text, "\"logger\" -> ") == NULL);
  free(text);

  CHECK_OK(svk_release(view));
  CHECK_OK(svk_release(logger));
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_scope_destroy(scope));
}

/* What was never resolved has no edges; and an empty container has a description. */
static void test_before_anything(void) {
  struct kind kinds[4];
  memset(kinds, 0, sizeof kinds);
  svk_scope *scope = NULL;
  MUST_OK(svk_scope_create("my-session", &scope));
  svk_container *container = make_example(kinds, scope), *empty = new_container();
  char *text = describe(container, SVK_FORMAT_DOT);
  check_dot(text);
  CHECK(strstr(text, "->") == NULL);
  free(text);
  svk_container *const both[] = { container, empty };
  for (int i = 0; i < 2; i++) {
    free(describe(both[i], SVK_FORMAT_TEXT));
    text = describe(both[i], SVK_FORMAT_JSON);
    check_json(text);
    free(text);
    text = describe(both[i], SVK_FORMAT_DOT);
    check_dot(text);
    free(text);
  }
  for (int i = 0; i < 4; i++)
    CHECK_EQ(kinds[i].asked, 0); /* it builds nothing */
  CHECK_OK(svk_container_destroy(empty));
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_scope_destroy(scope));
}

/* Each change shows: live instances, leases, scopes. */
static void test_what_changes(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  for (int32_t format = SVK_FORMAT_TEXT; format <= SVK_FORMAT_JSON; format++) {
    char *registered = describe(container, format);
    svk_handle *first = RESOLVE(container, "key");
    char *one = describe(container, format);
    svk_handle *second = RESOLVE(container, "key");
    char *two = describe(container, format);
    CHECK(strcmp(registered, one) != 0); /* an instance lives */
    CHECK(strcmp(one, two) != 0);        /* and has more leases */
    CHECK_OK(svk_release(second));
    char *again = describe(container, format);
    CHECK(strcmp(one, again) == 0);
    CHECK_OK(svk_release(first));
    CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
    char *none = describe(container, format);
    CHECK(strcmp(registered, none) == 0);
    free(registered);
    free(one);
    free(two);
    free(again);
    free(none);
  }
  CHECK_OK(svk_container_destroy(container));
}

static void test_too_small(void) {
  struct kind kinds[4];
  memset(kinds, 0, sizeof kinds);
  svk_scope *scope = NULL;
  MUST_OK(svk_scope_create("my-session", &scope));
  svk_container *container = make_example(kinds, scope);
  for (int32_t format = SVK_FORMAT_TEXT; format <= SVK_FORMAT_DOT; format++) {
    size_t needed = 0;
    CHECK_STATUS(svk_container_describe(container, format, NULL, 0, &needed), SVK_BUFFER_TOO_SMALL);
    for (size_t capacity = 0; capacity < needed; capacity += capacity < 5 || capacity + 3 > needed ? 1 : 7) {
      char *buffer = malloc(capacity + 1), *before = malloc(capacity + 1);
      MUST(buffer != NULL && before != NULL);
      memset(buffer, 'x', capacity + 1);
      memset(before, 'x', capacity + 1);
      size_t again = 0;
      CHECK_STATUS(svk_container_describe(container, format, buffer, capacity, &again), SVK_BUFFER_TOO_SMALL);
      CHECK_EQ(again, needed);
      CHECK(memcmp(buffer, before, capacity + 1) == 0); /* not written */
      CHECK_STATUS(svk_container_describe(container, format, buffer, capacity, NULL), SVK_BUFFER_TOO_SMALL);
      free(buffer);
      free(before);
    }
    char *large = malloc(needed + 100);
    MUST(large != NULL);
    memset(large, 'x', needed + 100);
    size_t again = 0;
    CHECK_OK(svk_container_describe(container, format, large, needed + 100, &again));
    CHECK_EQ(again, needed);
    CHECK_EQ(strlen(large) + 1, needed);
    CHECK_OK(svk_container_describe(container, format, large, needed, NULL));
    for (size_t i = needed; i < needed + 100; i++)
      CHECK(large[i] == 'x');
    free(large);
  }
  CHECK_OK(svk_container_destroy(container));
  CHECK_OK(svk_scope_destroy(scope));
}

static void test_bad_arguments(void) {
  svk_container *container = new_container();
  static const int32_t formats[] = { -1, SVK_FORMAT_DOT + 1, INT32_MIN, INT32_MAX };
  char buffer[8] = "before";
  size_t needed;
  for (int i = 0; i < 4; i++) {
    needed = 77;
    CHECK_STATUS(svk_container_describe(container, formats[i], buffer, sizeof buffer, &needed),
                 SVK_INVALID_ARGUMENT);
    CHECK_EQ(needed, 0);
    CHECK_STATUS(svk_container_describe(container, formats[i], NULL, 0, NULL), SVK_INVALID_ARGUMENT);
  }
  needed = 77;
  CHECK_STATUS(svk_container_describe(container, SVK_FORMAT_TEXT, NULL, 8, &needed), SVK_INVALID_ARGUMENT);
  CHECK_EQ(needed, 0);
  CHECK(strcmp(buffer, "before") == 0);
  CHECK_OK(svk_container_destroy(container));
}

/* Whatever is in a key, JSON and DOT stay what they are. */
static void test_special_keys(void) {
  svk_container *container = new_container();
  static const char *const keys[] = { "quote\"",  "back\\slash", "brace}{",
                                      "a -> b;",  "\\\"",        "percent%s%n",
                                      "[1,2]",    "end\\",       "\xc3\xa9\xf0\x9f\x98\x80",
                                      "<b>&amp;", "\xe2\x80\xa8" };
  enum { KEYS = sizeof keys / sizeof *keys };
  struct kind kinds[KEYS];
  memset(kinds, 0, sizeof kinds);
  for (int i = 0; i < KEYS; i++) {
    kinds[i].needs[0] = i > 0 ? keys[i - 1] : NULL;
    svk_factory_options options = kind_options(&kinds[i], SVK_SCOPE_CACHED);
    options.type = keys[KEYS - 1 - i];
    MUST_OK(kind_register_with(container, keys[i], NULL, &options));
    MUST_OK(kind_register_for(container, keys[i], i == 6 ? "x" : keys[i], &kinds[i], SVK_SCOPE_CACHED));
  }
  CHECK(kind_of(container, keys[KEYS - 1]) == &kinds[KEYS - 1]);
  char *text = describe(container, SVK_FORMAT_JSON);
  check_json(text);
  CHECK_STR(text, "\"quote\\\"\"");
  CHECK_STR(text, "\"back\\\\slash\"");
  CHECK_STR(text, "\"a -> b;\"");
  free(text);
  text = describe(container, SVK_FORMAT_DOT);
  check_dot(text);
  CHECK_STR(text, "quote\\\"");
  free(text);
  text = describe(container, SVK_FORMAT_TEXT);
  for (int i = 0; i < KEYS; i++)
    CHECK_STR(text, keys[i]);
  free(text);
  CHECK_OK(svk_container_destroy(container));
}

/* Edges that cross containers, and a child's description. */
static void test_child(void) {
  svk_container *parent = new_container(), *child = new_child(parent);
  struct kind low = { .name = NULL }, high = { .needs = { "low" } };
  MUST_OK(kind_register(parent, "low", &low, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(child, "high", &high, SVK_SCOPE_CACHED));
  CHECK(kind_of(child, "high") == &high);
  char *text = describe(child, SVK_FORMAT_DOT);
  check_dot(text);
  CHECK_STR(text, "\"high\" -> \"low\"");
  free(text);
  text = describe(child, SVK_FORMAT_JSON);
  check_json(text);
  CHECK_STR(text, "\"high\"");
  free(text);
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(parent));
}

/* While others change it: each text is whole. */
struct storm {
  svk_container *container;
  struct kind kind;
  int rounds;
  _Atomic int done;
};

static void change_or_describe(int index, void *argument) {
  struct storm *storm = argument;
  if (index == 0) {
    char key[16];
    for (int i = 0; i < storm->rounds; i++) {
      snprintf(key, sizeof key, "key-%d", i % 50);
      CHECK_OK(kind_register(storm->container, key, &storm->kind, SVK_SCOPE_CACHED));
      CHECK(kind_of(storm->container, key) == &storm->kind);
      if (i % 3 == 0)
        CHECK_OK(svk_unregister(storm->container, key));
    }
    atomic_store(&storm->done, 1);
    return;
  }
  for (int32_t format = index % 3; !atomic_load(&storm->done); format = (format + 1) % 3) {
    size_t capacity = 0, needed = 0;
    char *text = NULL;
    svk_status status;
    while ((status = svk_container_describe(storm->container, format, text, capacity, &needed)) ==
           SVK_BUFFER_TOO_SMALL) {
      free(text);
      capacity = needed;
      text = malloc(capacity);
    }
    CHECK_OK(status);
    CHECK_EQ(strlen(text) + 1, needed);
    if (format == SVK_FORMAT_JSON)
      check_json(text);
    if (format == SVK_FORMAT_DOT)
      check_dot(text);
    free(text);
  }
}

static void test_storm(void) {
  static struct storm storm;
  storm.container = new_container();
  storm.rounds = iterations(20000);
  run_threads(3, change_or_describe, &storm);
  CHECK_OK(svk_container_destroy(storm.container));
  CHECK_EQ(storm.kind.built, storm.kind.destroyed);
}

int main(void) {
  RUN(test_formats);
  RUN(test_before_anything);
  RUN(test_what_changes);
  RUN(test_too_small);
  RUN(test_bad_arguments);
  RUN(test_special_keys);
  RUN(test_child);
  RUN(test_storm);
  return check_done();
}
