/* svk_factory_options: every size, flags, scopes, and what a refusal leaves behind. */
#include "factory.h"

static svk_container *container;

/* Registers from memory that ends exactly where the struct says it ends. */
static svk_status register_sized(struct kind *kind, uint32_t size, size_t allocated, long nonzero_at) {
  unsigned char *memory = calloc(1, allocated);
  MUST(memory != NULL);
  svk_factory_options options = kind_options(kind, SVK_SCOPE_CACHED);
  options.size = size;
  memcpy(memory, &options, allocated < sizeof options ? allocated : sizeof options);
  if (nonzero_at >= 0)
    memory[nonzero_at] = 1;
  svk_status status = svk_register(container, "sized", (const svk_factory_options *)(void *)memory);
  svk_status status_for =
      svk_register_for(container, "sized", "test", (const svk_factory_options *)(void *)memory);
  CHECK_EQ(status, status_for);
  free(memory);
  if (status == SVK_OK) {
    CHECK(kind_of(container, "sized") == kind);
    CHECK_EQ(kind->freed, 0);
    kind->registered = 2;
    CHECK_OK(svk_unregister(container, "sized"));
    CHECK_EQ(kind->built, kind->destroyed);
    CHECK_EQ(kind->freed, 2);
  } else {
    CHECK(kind_of(container, "sized") == NULL);
    CHECK_EQ(kind->freed, 0);
    CHECK_EQ(kind->asked, 0);
  }
  return status;
}

static void test_sizes_too_small(void) {
  /* The smallest is that of version 1.0, which ends after required_keys. */
  size_t first = offsetof(svk_factory_options, required_keys) + sizeof(void *);
  for (uint32_t size = 0; size < first; size++) {
    struct kind kind = { .name = NULL };
    CHECK_STATUS(register_sized(&kind, size, size < 4 ? 4 : size, -1), SVK_INVALID_ARGUMENT);
  }
  struct kind kind = { .name = NULL };
  CHECK_STATUS(register_sized(&kind, (uint32_t)first, first, -1), SVK_OK);
}

static void test_sizes_of_newer_clients(void) {
  for (uint32_t size = sizeof(svk_factory_options) + 1; size <= 4096; size += size < 200 ? 1 : 61) {
    struct kind kind = { .name = NULL };
    CHECK_STATUS(register_sized(&kind, size, size, -1), SVK_OK);
    struct kind first = { .name = NULL }, last = { .name = NULL };
    CHECK_STATUS(register_sized(&first, size, size, sizeof(svk_factory_options)), SVK_INVALID_ARGUMENT);
    CHECK_STATUS(register_sized(&last, size, size, (long)size - 1), SVK_INVALID_ARGUMENT);
  }
  struct kind kind = { .name = NULL };
  CHECK_STATUS(register_sized(&kind, 4096, 4096, -1), SVK_OK);
  for (long at = sizeof(svk_factory_options); at < 4096; at += 97) {
    struct kind other = { .name = NULL };
    CHECK_STATUS(register_sized(&other, 4096, 4096, at), SVK_INVALID_ARGUMENT);
  }
}

static void test_sizes_too_large(void) {
  static const uint32_t sizes[] = { 4097, 5000, 65536, INT32_MAX, 0x80000000u, UINT32_MAX };
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    struct kind kind = { .name = NULL };
    /* Nothing beyond the struct is there to be read. */
    CHECK_STATUS(register_sized(&kind, sizes[i], sizeof(svk_factory_options), -1), SVK_INVALID_ARGUMENT);
    struct kind other = { .name = NULL };
    if (sizes[i] < 100000)
      CHECK_STATUS(register_sized(&other, sizes[i], sizes[i], -1), SVK_INVALID_ARGUMENT);
  }
}

/* Both ways to register refuse these options, and keep nothing. */
static void check_refused(svk_factory_options options, svk_status expected) {
  struct kind kind = { .name = NULL };
  options.user_data = &kind;
  CHECK_STATUS(svk_register(container, "key", &options), expected);
  CHECK_STATUS(svk_register_for(container, "key", "live", &options), expected);
  CHECK(kind_of(container, "key") == NULL);
  CHECK_EQ(kind.freed, 0);
  CHECK_EQ(kind.asked, 0);
}

static void test_flags(void) {
  struct kind kind = { .name = NULL };
  for (int bit = 1; bit < 32; bit++) {
    svk_factory_options options = kind_options(&kind, SVK_SCOPE_CACHED);
    options.flags = (uint32_t)1 << bit;
    check_refused(options, SVK_INVALID_ARGUMENT);
    options.flags |= SVK_FACTORY_CACHE_BY_PARAMETER;
    check_refused(options, SVK_INVALID_ARGUMENT);
  }
}

static void test_scopes(void) {
  struct kind kind = { .name = NULL };
  static const int32_t unknown[] = { -1, INT32_MIN, INT32_MAX, SVK_SCOPE_CUSTOM + 1, 100, 256, 65536 };
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    check_refused(kind_options(&kind, unknown[i]), SVK_INVALID_ARGUMENT);
}

static void test_custom_scope(void) {
  struct kind kind = { .name = NULL };
  svk_scope *scope = NULL;
  MUST_OK(svk_scope_create("scope", &scope));
  svk_factory_options options = kind_options(&kind, SVK_SCOPE_CUSTOM);
  check_refused(options, SVK_INVALID_HANDLE); /* none */
  options.custom_scope = (svk_scope *)(uintptr_t)0x1234567;
  check_refused(options, SVK_INVALID_HANDLE); /* forged */
  options.custom_scope = (svk_scope *)(void *)container;
  check_refused(options, SVK_INVALID_HANDLE); /* of another kind */
  CHECK_OK(svk_scope_destroy(scope));
  options.custom_scope = scope;
  check_refused(options, SVK_INVALID_HANDLE); /* ended */

  /* With every other scope the field is not looked at. */
  for (int32_t other = SVK_SCOPE_DEFAULT; other < SVK_SCOPE_CUSTOM; other++) {
    struct kind ignored = { .name = NULL };
    options = kind_options(&ignored, other);
    options.custom_scope = (svk_scope *)(uintptr_t)0x1234567;
    CHECK_OK(kind_register_with(container, "ignored", NULL, &options));
    CHECK(kind_of(container, "ignored") == &ignored);
    CHECK_OK(svk_unregister(container, "ignored"));
    if (other == SVK_SCOPE_SINGLETON)
      CHECK_OK(svk_singleton_reset("ignored"));
    CHECK_GONE(&ignored, 1);
  }
}

static void test_without_create_or_options(void) {
  struct kind kind = { .name = NULL };
  svk_factory_options options = kind_options(&kind, SVK_SCOPE_CACHED);
  options.create = NULL;
  check_refused(options, SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_register(container, "key", NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_register_for(container, "key", "live", NULL), SVK_INVALID_ARGUMENT);
}

/* A failed registration leaves the one before as it was, its instance included. */
static void test_a_refusal_changes_nothing(void) {
  struct kind kind = { .name = NULL }, refused = { .name = NULL };
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &kind);
  svk_factory_options options = kind_options(&refused, SVK_SCOPE_CACHED);
  options.flags = 1u << 30;
  CHECK_STATUS(svk_register(container, "key", &options), SVK_INVALID_ARGUMENT);
  options = kind_options(&refused, 99);
  CHECK_STATUS(svk_register(container, "key", &options), SVK_INVALID_ARGUMENT);
  options = kind_options(&refused, SVK_SCOPE_CUSTOM);
  CHECK_STATUS(svk_register(container, "key", &options), SVK_INVALID_HANDLE);
  CHECK_EQ(kind.destroyed, 0);
  CHECK_EQ(kind.freed, 0);
  CHECK(kind_of(container, "key") == &kind);
  CHECK_OK(svk_unregister(container, "key"));
  CHECK_GONE(&kind, 1);
  CHECK_EQ(refused.freed, 0);
}

static svk_status create_static(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver;
  CHECK(user_data == NULL);
  static int the_instance;
  *instance = &the_instance;
  return SVK_OK;
}

/* All defaults are zero: only size and create are needed. */
static void test_the_least(void) {
  svk_factory_options zeroed, macro = SVK_FACTORY_OPTIONS_INIT;
  memset(&zeroed, 0, sizeof zeroed);
  zeroed.size = sizeof zeroed;
  zeroed.create = macro.create = create_static;
  svk_factory_options *all[] = { &zeroed, &macro };
  for (int i = 0; i < 2; i++) {
    CHECK_OK(svk_register(container, "least", all[i]));
    svk_handle *handle = NULL;
    CHECK_OK(svk_resolve(container, "least", &handle));
    CHECK(svk_instance(handle) != NULL);
    CHECK_OK(svk_release(handle));
    CHECK_OK(svk_unregister(container, "least"));
  }
}

int main(void) {
  container = new_container();
  RUN(test_sizes_too_small);
  RUN(test_sizes_of_newer_clients);
  RUN(test_sizes_too_large);
  RUN(test_flags);
  RUN(test_scopes);
  RUN(test_custom_scope);
  RUN(test_without_create_or_options);
  RUN(test_a_refusal_changes_nothing);
  RUN(test_the_least);
  CHECK_OK(svk_container_destroy(container));
  return check_done();
}
