/* Versions, svk_constant, svk_status_name, and the layout of the structs, which is frozen. */
#include "check.h"

#define EACH_CONSTANT(X) \
  X(SVK_VERSION_MAJOR) \
  X(SVK_VERSION_MINOR) \
  X(SVK_VERSION_PATCH) \
  X(SVK_OK) \
  X(SVK_INVALID_ARGUMENT) \
  X(SVK_INVALID_HANDLE) \
  X(SVK_NOT_FOUND) \
  X(SVK_ALREADY_EXISTS) \
  X(SVK_TYPE_MISMATCH) \
  X(SVK_CYCLE) \
  X(SVK_FACTORY_FAILED) \
  X(SVK_CONTEXT_MISSING) \
  X(SVK_CLOSED) \
  X(SVK_BUFFER_FULL) \
  X(SVK_BUFFER_TOO_SMALL) \
  X(SVK_TIMEOUT) \
  X(SVK_BUSY) \
  X(SVK_UNSUPPORTED) \
  X(SVK_DEFERRED) \
  X(SVK_SYSTEM_ERROR) \
  X(SVK_FACTORY_ERROR_BASE) \
  X(SVK_SCOPE_DEFAULT) \
  X(SVK_SCOPE_UNIQUE) \
  X(SVK_SCOPE_CACHED) \
  X(SVK_SCOPE_SHARED) \
  X(SVK_SCOPE_SINGLETON) \
  X(SVK_SCOPE_GRAPH) \
  X(SVK_SCOPE_CUSTOM) \
  X(SVK_RESET_REGISTRATIONS) \
  X(SVK_RESET_CONTEXTS) \
  X(SVK_RESET_SCOPES) \
  X(SVK_RESET_ALL) \
  X(SVK_FACTORY_CACHE_BY_PARAMETER) \
  X(SVK_SERVICE_SKIP_EQUAL) \
  X(SVK_OBSERVE_CURRENT) \
  X(SVK_FORMAT_TEXT) \
  X(SVK_FORMAT_JSON) \
  X(SVK_FORMAT_DOT) \
  X(SVK_DELIVER_INLINE) \
  X(SVK_DELIVER_DISPATCHER) \
  X(SVK_DELIVER_BACKGROUND) \
  X(SVK_DELIVER_PULL) \
  X(SVK_BUFFER_UNBOUNDED) \
  X(SVK_BUFFER_NEWEST) \
  X(SVK_BUFFER_OLDEST) \
  X(SVK_BUFFER_BLOCK) \
  X(SVK_LOG_ERROR) \
  X(SVK_LOG_WARNING) \
  X(SVK_LOG_INFO) \
  X(SVK_LOG_DEBUG) \
  X(SVK_TRACE_CONTEXT) \
  X(SVK_TRACE_REGISTRATION) \
  X(SVK_TRACE_CACHE) \
  X(SVK_TRACE_FAILED)

struct constant {
  const char *name;
  int64_t value;
};

#define ROW(name) { #name, (int64_t)(name) },
static const struct constant constants[] = { EACH_CONSTANT(ROW) };
enum { CONSTANTS = sizeof constants / sizeof *constants };

static void test_every_constant(void) {
  for (int i = 0; i < CONSTANTS; i++) {
    int64_t value = -77;
    if (!CHECK_OK(svk_constant(constants[i].name, &value)))
      fprintf(stderr, "  %s\n", constants[i].name);
    if (!CHECK_EQ(value, constants[i].value))
      fprintf(stderr, "  %s\n", constants[i].name);
  }
}

static void test_a_name_in_memory_of_ones_own(void) {
  char name[64];
  snprintf(name, sizeof name, "SVK_%s", "SCOPE_CACHED");
  int64_t value = -77;
  CHECK_OK(svk_constant(name, &value));
  CHECK_EQ(value, SVK_SCOPE_CACHED);
}

static void test_unknown_constants(void) {
  static const char *const unknown[] = { "",
                                         "SVK_",
                                         "SVK",
                                         "OK",
                                         "svk_ok",
                                         "SVK_OK ",
                                         " SVK_OK",
                                         "SVK_OKAY",
                                         "SVK_SCOPE_CACHE",
                                         "SVK_SCOPE_CACHEDD",
                                         "SVK_API",
                                         "SVK_NULLABLE",
                                         "SVK_FACTORY_OPTIONS_INIT",
                                         "SERVICEKIT_H",
                                         "svk_version",
                                         "SVK_NO_SUCH_THING",
                                         "SVK_\xff\xfe" };
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    int64_t value = -77;
    CHECK_STATUS(svk_constant(unknown[i], &value), SVK_NOT_FOUND);
    CHECK_EQ(value, 0);
  }
  char *longest = malloc(1 << 20);
  MUST(longest != NULL);
  memset(longest, 'A', 1 << 20);
  memcpy(longest, "SVK_OK", 6);
  longest[(1 << 20) - 1] = 0;
  int64_t value = -77;
  CHECK_STATUS(svk_constant(longest, &value), SVK_NOT_FOUND);
  CHECK_EQ(value, 0);
  free(longest);
  CHECK_STATUS(svk_constant("SVK_NO_SUCH_THING", &value), SVK_NOT_FOUND);
  CHECK_STR(svk_last_error(), "SVK_NO_SUCH_THING");
}

static void test_constant_without_arguments(void) {
  int64_t value = -77;
  CHECK_STATUS(svk_constant(NULL, &value), SVK_INVALID_ARGUMENT);
  CHECK_EQ(value, 0);
  CHECK_STATUS(svk_constant("SVK_OK", NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_constant(NULL, NULL), SVK_INVALID_ARGUMENT);
}

static void test_status_names(void) {
  static const char *const statuses[] = { "SVK_OK",
                                          "SVK_INVALID_ARGUMENT",
                                          "SVK_INVALID_HANDLE",
                                          "SVK_NOT_FOUND",
                                          "SVK_ALREADY_EXISTS",
                                          "SVK_TYPE_MISMATCH",
                                          "SVK_CYCLE",
                                          "SVK_FACTORY_FAILED",
                                          "SVK_CONTEXT_MISSING",
                                          "SVK_CLOSED",
                                          "SVK_BUFFER_FULL",
                                          "SVK_BUFFER_TOO_SMALL",
                                          "SVK_TIMEOUT",
                                          "SVK_BUSY",
                                          "SVK_UNSUPPORTED",
                                          "SVK_DEFERRED",
                                          "SVK_SYSTEM_ERROR" };
  for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
    const char *name = svk_status_name((svk_status)i);
    MUST(name != NULL);
    CHECK(strcmp(name, statuses[i]) == 0);
    CHECK(name == svk_status_name((svk_status)i));
    int64_t value = -77;
    CHECK_OK(svk_constant(statuses[i], &value));
    CHECK_EQ(value, i);
  }
  static const svk_status own[] = { SVK_FACTORY_ERROR_BASE, SVK_FACTORY_ERROR_BASE + 1, 123456, INT32_MAX };
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    CHECK(strcmp(svk_status_name(own[i]), "SVK_FACTORY_ERROR_BASE") == 0);
  static const svk_status unknown[] = { -1, INT32_MIN, SVK_SYSTEM_ERROR + 1, SVK_FACTORY_ERROR_BASE - 1 };
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    CHECK(strcmp(svk_status_name(unknown[i]), "unknown status") == 0);
}

static void test_version(void) {
  uint32_t version = svk_version();
  CHECK_EQ(version >> 16, SVK_VERSION_MAJOR);
  CHECK(version >= (SVK_VERSION_MAJOR << 16 | SVK_VERSION_MINOR << 8 | SVK_VERSION_PATCH));
  char text[64];
  snprintf(text, sizeof text, "%u.%u.%u", version >> 16, version >> 8 & 255, version & 255);
  MUST(svk_version_string() != NULL);
  CHECK(strcmp(svk_version_string(), text) == 0);
  CHECK(svk_version_string() == svk_version_string());
}

/* None of these fails, so none of them leaves a trace in svk_last_error. */
static void successes(int index, void *argument) {
  (void)index, (void)argument;
  int64_t value;
  CHECK(strcmp(svk_last_error(), "") == 0);
  CHECK_OK(svk_constant("SVK_CYCLE", &value));
  svk_status_name(99);
  svk_version();
  CHECK(strcmp(svk_last_error(), "") == 0);
}

static void test_successes_are_no_errors(void) { run_threads(1, successes, NULL); }

/* What a program compiled against version 1.0 relies on. */
_Static_assert(sizeof(svk_status) == 4, "svk_status");
_Static_assert(sizeof(svk_container *) == sizeof(void *), "tokens");
#if UINTPTR_MAX == UINT64_MAX
#define AT(type, field, offset) _Static_assert(offsetof(type, field) == (offset), #field)
AT(svk_factory_options, size, 0);
AT(svk_factory_options, flags, 4);
AT(svk_factory_options, create, 8);
AT(svk_factory_options, destroy, 16);
AT(svk_factory_options, user_data, 24);
AT(svk_factory_options, user_data_free, 32);
AT(svk_factory_options, scope, 40);
AT(svk_factory_options, custom_scope, 48);
AT(svk_factory_options, time_to_live_ns, 56);
AT(svk_factory_options, type, 64);
AT(svk_factory_options, required_keys, 72);
AT(svk_trace_event, size, 0);
AT(svk_trace_event, kind, 4);
AT(svk_trace_event, depth, 8);
AT(svk_trace_event, key, 16);
AT(svk_trace_event, instance, 24);
#endif

int main(void) {
  RUN(test_every_constant);
  RUN(test_a_name_in_memory_of_ones_own);
  RUN(test_unknown_constants);
  RUN(test_constant_without_arguments);
  RUN(test_status_names);
  RUN(test_version);
  RUN(test_successes_are_no_errors);
  return check_done();
}
