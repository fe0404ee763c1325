/* Parameters: passed byte for byte, copied, and a part of the cache's key where the registration says so. */
#include "factory.h"

static svk_handle *resolve_with(svk_container *container, const char *key, const void *data, size_t size) {
  svk_handle *handle = NULL;
  MUST_OK(svk_resolve_with(container, key, data, size, &handle));
  return handle;
}

/* The number of the instance that this parameter gives. */
static int number_with(svk_container *container, const char *key, const void *data, size_t size) {
  svk_handle *handle = resolve_with(container, key, data, size);
  struct instance *instance = svk_instance(handle);
  MUST(instance != NULL);
  int number = instance->number;
  CHECK_OK(svk_release(handle));
  return number;
}

static void register_by_parameter(svk_container *container, const char *key, struct kind *kind,
                                  int32_t scope) {
  svk_factory_options options = kind_options(kind, scope);
  options.flags = SVK_FACTORY_CACHE_BY_PARAMETER;
  MUST_OK(kind_register_with(container, key, NULL, &options));
}

static void test_bytes_arrive(void) {
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_UNIQUE));
  static const char zeros[] = "a\0b\0\0c";
  for (size_t size = 1; size <= sizeof zeros; size++) {
    char *copy = malloc(size); /* nothing beyond is there to be read */
    MUST(copy != NULL);
    memcpy(copy, zeros, size);
    svk_handle *handle = resolve_with(container, "key", copy, size);
    free(copy);
    struct instance *instance = svk_instance(handle);
    MUST(instance != NULL);
    CHECK_EQ(instance->parameter_size, size);
    CHECK(memcmp(instance->parameter, zeros, size) == 0);
    CHECK_OK(svk_release(handle));
  }
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, (int)sizeof zeros);
}

static size_t expected_size;
static const unsigned char *expected_data;

static svk_status compare(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  const void *data = kind;
  size_t size = 77;
  CHECK_OK(svk_resolver_parameter(resolver, &data, &size));
  CHECK_EQ(size, expected_size);
  if (expected_size == 0)
    CHECK(data == NULL);
  else if (size == expected_size)
    CHECK(data != NULL && memcmp(data, expected_data, size) == 0);
  const void *again = NULL;
  CHECK_OK(svk_resolver_parameter(resolver, &again, NULL));
  CHECK(again == data);
  size = 77;
  CHECK_STATUS(svk_resolver_parameter(resolver, NULL, &size), SVK_INVALID_ARGUMENT);
  CHECK_EQ(size, 0);
  return SVK_OK;
}

static void test_none(void) {
  svk_container *container = new_container();
  struct kind kind = { .on_create = compare };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_UNIQUE));
  expected_size = 0;
  CHECK(kind_of(container, "key") == &kind);
  CHECK_EQ(number_with(container, "key", NULL, 0), 2);
  svk_key *key = NULL;
  MUST_OK(svk_key_intern("key", &key));
  svk_handle *handle = NULL;
  CHECK_OK(svk_resolve_key(container, key, &handle));
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 3);
}

/* The limit is 65536 bytes. */
static void test_size(void) {
  svk_container *container = new_container();
  struct kind kind = { .on_create = compare };
  unsigned char *data = malloc(65537);
  MUST(data != NULL);
  for (int i = 0; i < 65537; i++)
    data[i] = (unsigned char)(i * 7 + i / 256);
  expected_data = data;
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_UNIQUE));
  static const size_t good[] = { 1, 7, 8, 63, 64, 65, 255, 256, 4095, 4096, 65535, 65536 };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    expected_size = good[i];
    CHECK_EQ(number_with(container, "key", data, good[i]), (int)i + 1);
  }
  static const size_t bad[] = { 65537, 1u << 20, SIZE_MAX / 2, SIZE_MAX };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    svk_handle *handle = (svk_handle *)&kind;
    CHECK_STATUS(svk_resolve_with(container, "key", data, bad[i], &handle), SVK_INVALID_ARGUMENT);
    CHECK(handle == NULL);
    handle = (svk_handle *)&kind;
    CHECK_STATUS(svk_resolve_with(container, "key", NULL, bad[i], &handle), SVK_INVALID_ARGUMENT);
    CHECK(handle == NULL);
  }
  svk_handle *handle = (svk_handle *)&kind;
  CHECK_STATUS(svk_resolve_with(container, "key", NULL, 1, &handle), SVK_INVALID_ARGUMENT);
  CHECK(handle == NULL);
  CHECK_STATUS(svk_resolve_with(container, "key", data, 1, NULL), SVK_INVALID_ARGUMENT);
  free(data);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, (int)(sizeof good / sizeof *good));
}

static svk_status require_wrongly(svk_resolver *resolver, struct kind *kind) {
  static unsigned char data[65537];
  void *instance = kind;
  CHECK_STATUS(svk_require_with(resolver, "leaf", NULL, 1, &instance), SVK_INVALID_ARGUMENT);
  CHECK(instance == NULL);
  instance = kind;
  CHECK_STATUS(svk_require_with(resolver, "leaf", data, 65537, &instance), SVK_INVALID_ARGUMENT);
  CHECK(instance == NULL);
  instance = kind;
  CHECK_STATUS(svk_require_with(resolver, "leaf", data, SIZE_MAX, &instance), SVK_INVALID_ARGUMENT);
  CHECK(instance == NULL);
  CHECK_STATUS(svk_require_with(resolver, "leaf", data, 1, NULL), SVK_INVALID_ARGUMENT);
  return SVK_OK;
}

static void test_wrong_parameters_of_require(void) {
  svk_container *container = new_container();
  struct kind leaf = { .name = NULL }, kind = { .on_create = require_wrongly };
  MUST_OK(kind_register(container, "leaf", &leaf, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&leaf, 0);
}

/* The bytes are a copy: the caller's buffer may change under the factory's hands. */
static char callers_buffer[8];

static svk_status change_the_callers(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  const void *data = NULL;
  size_t size = 0;
  memset(callers_buffer, 'X', sizeof callers_buffer);
  CHECK_OK(svk_resolver_parameter(resolver, &data, &size));
  CHECK(size == 8 && data != NULL && memcmp(data, "original", 8) == 0);
  return SVK_OK;
}

static void test_a_copy(void) {
  svk_container *container = new_container();
  struct kind kind = { .on_create = change_the_callers };
  register_by_parameter(container, "key", &kind, SVK_SCOPE_CACHED);
  memcpy(callers_buffer, "original", 8);
  CHECK_EQ(number_with(container, "key", callers_buffer, 8), 1);
  kind.on_create = NULL;
  CHECK_EQ(number_with(container, "key", "original", 8), 1);
  CHECK_EQ(number_with(container, "key", "XXXXXXXX", 8), 2);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, 2);
}

static void test_no_part_of_the_cache_unless_asked_for(void) {
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_SINGLETON };
  for (int i = 0; i < 3; i++) {
    svk_container *container = new_container();
    struct kind kind = { .name = NULL };
    MUST_OK(kind_register(container, "key", &kind, scopes[i]));
    svk_handle *first = resolve_with(container, "key", "one", 3);
    CHECK_EQ(number_with(container, "key", "two", 3), 1);
    CHECK_EQ(number_with(container, "key", NULL, 0), 1);
    struct instance *instance = svk_instance(first);
    CHECK(instance != NULL && memcmp(instance->parameter, "one", 4) == 0);
    CHECK_OK(svk_release(first));
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_GONE(&kind, 1);
  }
}

/* One instance for each different parameter: all bytes count, the length too. */
static void test_by_parameter(void) {
  static const struct {
    const char *data;
    size_t size;
  } different[] = { { NULL, 0 },
                    { "a", 1 },
                    { "a\0", 2 },
                    { "a\0\0", 3 },
                    { "b", 1 },
                    { "ab", 2 },
                    { "ba", 2 },
                    { "abc", 3 },
                    { "abd", 3 },
                    { "Abc", 3 },
                    { "\0", 1 },
                    { "\0\0", 2 },
                    { "\0\1", 2 },
                    { "\1\0", 2 },
                    { "aaaaaaaaX", 9 },
                    { "aaaaaaaaY", 9 },
                    { "Xaaaaaaaa", 9 },
                    { "12345678", 8 },
                    { "123456789abcdef0", 16 },
                    { "123456789abcdef1", 16 } };
  enum { DIFFERENT = sizeof different / sizeof *different };
  static const int32_t scopes[] = { SVK_SCOPE_CACHED, SVK_SCOPE_SHARED, SVK_SCOPE_SINGLETON,
                                    SVK_SCOPE_CUSTOM };
  for (int s = 0; s < 4; s++) {
    svk_container *container = new_container();
    struct kind kind = { .name = NULL };
    svk_scope *scope = NULL;
    MUST_OK(svk_scope_create("scope", &scope));
    svk_factory_options options = kind_options(&kind, scopes[s]);
    options.flags = SVK_FACTORY_CACHE_BY_PARAMETER;
    options.custom_scope = scope;
    MUST_OK(kind_register_with(container, "key", NULL, &options));
    svk_handle *held[DIFFERENT];
    for (int i = 0; i < DIFFERENT; i++) {
      held[i] = resolve_with(container, "key", different[i].data, different[i].size);
      struct instance *instance = svk_instance(held[i]);
      MUST(instance != NULL);
      CHECK_EQ(instance->number, i + 1);
      CHECK_EQ(instance->parameter_size, different[i].size);
    }
    for (int i = DIFFERENT - 1; i >= 0; i--)
      CHECK_EQ(number_with(container, "key", different[i].data, different[i].size), i + 1);
    for (int i = 0; i < DIFFERENT; i++)
      CHECK_OK(svk_release(held[i]));
    int kept = scopes[s] == SVK_SCOPE_SHARED ? 0 : DIFFERENT;
    CHECK_EQ(kind_alive(&kind), kept);
    /* A reset reaches all of them. */
    if (scopes[s] == SVK_SCOPE_SINGLETON)
      CHECK_OK(svk_singleton_reset("key"));
    else if (scopes[s] == SVK_SCOPE_CUSTOM)
      CHECK_OK(svk_scope_reset(scope));
    else
      CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
    CHECK_EQ(kind_alive(&kind), 0);
    CHECK_EQ(number_with(container, "key", "abc", 3), DIFFERENT + 1);
    CHECK_OK(svk_container_destroy(container));
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_OK(svk_scope_destroy(scope));
    CHECK_GONE(&kind, DIFFERENT + 1);
  }
}

static void test_many_parameters(void) {
  int many = iterations(20000);
  svk_container *container = new_container();
  struct kind kind = { .name = NULL };
  register_by_parameter(container, "key", &kind, SVK_SCOPE_CACHED);
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < many; i++)
      CHECK_EQ(number_with(container, "key", &i, sizeof i), i + 1);
  struct kind other = { .name = NULL };
  MUST_OK(kind_register(container, "key", &other, SVK_SCOPE_CACHED));
  CHECK_GONE(&kind, many);
  CHECK_OK(svk_container_destroy(container));
}

/* Each level has its own parameter, or none. */
static svk_status check_own_parameter(svk_resolver *resolver, struct kind *kind) {
  const void *data = NULL;
  size_t size = 0;
  void *instance = NULL;
  const char *own = kind->context;
  if (strcmp(own, "outer") == 0) {
    CHECK_OK(svk_require_with(resolver, "middle", "middle", 6, &instance));
    CHECK(instance != NULL);
    CHECK_OK(svk_require(resolver, "without", &instance));
  } else if (strcmp(own, "middle") == 0) {
    CHECK_OK(svk_require_with(resolver, "inner", "inner", 5, &instance));
  }
  CHECK_OK(svk_resolver_parameter(resolver, &data, &size));
  CHECK_EQ(size, strlen(own));
  CHECK(size == 0 ? data == NULL : data != NULL && memcmp(data, own, size) == 0);
  return SVK_OK;
}

static void test_nested(void) {
  svk_container *container = new_container();
  struct kind outer = { .on_create = check_own_parameter, .context = (char[]){ "outer" } },
              middle = { .on_create = check_own_parameter, .context = (char[]){ "middle" } },
              inner = { .on_create = check_own_parameter, .context = (char[]){ "inner" } },
              without = { .on_create = check_own_parameter, .context = (char[]){ "" } };
  MUST_OK(kind_register(container, "outer", &outer, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "middle", &middle, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "inner", &inner, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "without", &without, SVK_SCOPE_CACHED));
  CHECK_EQ(number_with(container, "outer", "outer", 5), 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&outer, 1);
  CHECK_GONE(&inner, 1);
}

/* Many threads, few parameters: one build each. */
struct storm {
  svk_container *container;
  struct instance *_Atomic seen[16];
};

static void resolve_all(int index, void *argument) {
  struct storm *storm = argument;
  for (int i = 0; i < 16; i++) {
    int which = (i + index) % 16;
    svk_handle *handle = resolve_with(storm->container, "key", &which, sizeof which);
    struct instance *instance = svk_instance(handle);
    MUST(instance != NULL);
    CHECK(memcmp(instance->parameter, &which, sizeof which) == 0);
    struct instance *expected = NULL;
    if (!atomic_compare_exchange_strong(&storm->seen[which], &expected, instance))
      CHECK(expected == instance);
    CHECK_OK(svk_release(handle));
  }
}

static void test_many_threads(void) {
  for (int i = 0; i < iterations(200); i++) {
    struct storm storm = { .container = new_container() };
    struct kind kind = { .name = NULL };
    register_by_parameter(storm.container, "key", &kind, SVK_SCOPE_CACHED);
    run_threads(6, resolve_all, &storm);
    CHECK_EQ(kind.built, 16);
    CHECK_OK(svk_container_destroy(storm.container));
    CHECK_GONE(&kind, 16);
  }
}

int main(void) {
  RUN(test_bytes_arrive);
  RUN(test_none);
  RUN(test_size);
  RUN(test_wrong_parameters_of_require);
  RUN(test_a_copy);
  RUN(test_no_part_of_the_cache_unless_asked_for);
  RUN(test_by_parameter);
  RUN(test_many_parameters);
  RUN(test_nested);
  RUN(test_many_threads);
  return check_done();
}
