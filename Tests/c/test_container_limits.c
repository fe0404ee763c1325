/* Very many of everything, and very deep: no table that overflows, no recursion that runs out of stack. */
#include "factory.h"

static struct kind kind;

/* Much more than elsewhere, so much less than elsewhere where it is slow. */
static int very(int many) { return check_slow() ? many / 20 : many; }

static void begin(void) { memset(&kind, 0, sizeof kind); }

static void check_end(void) {
  CHECK_EQ(kind.built, kind.destroyed);
  CHECK_EQ(kind.registered, kind.freed);
}

static void *array(int count, size_t size) {
  void *memory = calloc((size_t)count, size);
  MUST(memory != NULL);
  return memory;
}

static void test_many_handles(void) {
  begin();
  int many = very(1200000); /* more than 2 to the 20 */
  svk_handle **handles = array(many, sizeof *handles);
  svk_container *container = new_container();
  svk_key *key = NULL;
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
  MUST_OK(svk_key_intern("key", &key));
  for (int i = 0; i < many; i++)
    if (svk_resolve_key(container, key, &handles[i]) != SVK_OK)
      MUST(!"resolve");
  void *instance = svk_instance(handles[0]);
  for (int i = 0; i < many; i++)
    if (svk_instance(handles[i]) != instance)
      MUST(!"the instance");
  CHECK_OK(svk_reset(container, "key", SVK_RESET_SCOPES));
  for (int i = 0; i < many; i++)
    if (svk_release(handles[i]) != SVK_OK)
      MUST(!"release");
  CHECK_EQ(kind.destroyed, 1);
  for (int i = 0; i < many; i += 997)
    CHECK_STATUS(svk_release(handles[i]), SVK_INVALID_HANDLE);
  CHECK_OK(svk_container_destroy(container));
  free(handles);
  check_end();
}

static void test_many_instances(void) {
  begin();
  int many = very(200000);
  svk_handle **handles = array(many, sizeof *handles);
  svk_container *container = new_container();
  MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_UNIQUE));
  for (int i = 0; i < many; i++)
    handles[i] = RESOLVE(container, "key");
  CHECK_OK(svk_container_destroy(container));
  for (int i = 0; i < many; i++)
    CHECK_OK(svk_release(handles[(int)((long)i * 7919 % many)]));
  free(handles);
  CHECK_GONE(&kind, many);
}

static void test_many_containers(void) {
  begin();
  int many = very(70000); /* more than 2 to the 16 */
  svk_container **containers = array(many, sizeof *containers);
  for (int i = 0; i < many; i++) {
    containers[i] = new_container();
    if (i % 100 == 0)
      MUST_OK(kind_register(containers[i], "key", &kind, SVK_SCOPE_CACHED));
  }
  for (int i = 0; i < many; i += 100)
    CHECK(kind_of(containers[i], "key") == &kind);
  CHECK(kind_of(containers[many - 1], "key") == NULL);
  for (int i = 0; i < many; i++)
    CHECK_OK(svk_container_destroy(containers[i]));
  for (int i = 0; i < many; i += 997)
    CHECK_STATUS(svk_container_destroy(containers[i]), SVK_INVALID_HANDLE);
  free(containers);
  check_end();
}

static void test_many_scopes(void) {
  begin();
  int many = very(70000);
  svk_scope **scopes = array(many, sizeof *scopes);
  svk_container *container = new_container();
  for (int i = 0; i < many; i++)
    MUST_OK(svk_scope_create("scope", &scopes[i]));
  for (int i = 0; i < many; i += 100) {
    char key[32];
    snprintf(key, sizeof key, "key-%d", i);
    svk_factory_options options = kind_options(&kind, SVK_SCOPE_CUSTOM);
    options.custom_scope = scopes[i];
    MUST_OK(kind_register_with(container, key, NULL, &options));
    CHECK(kind_of(container, key) == &kind);
  }
  for (int i = 0; i < many; i++)
    CHECK_OK(svk_scope_destroy(scopes[i]));
  CHECK_EQ(kind.built, kind.destroyed);
  CHECK_OK(svk_container_destroy(container));
  free(scopes);
  check_end();
}

static void test_many_interned_keys(void) {
  int many = very(70000);
  svk_key **keys = array(many, sizeof *keys);
  char name[32];
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < many; i++) {
      svk_key *key = NULL;
      snprintf(name, sizeof name, "interned-%d", i);
      MUST_OK(svk_key_intern(name, &key));
      CHECK(key != NULL && (round == 0 || key == keys[i]));
      keys[i] = key;
    }
  free(keys);
}

static void test_a_long_line_of_parents(void) {
  int depth = very(100000);
  svk_container **chain = array(depth, sizeof *chain);
  for (int order = 0; order < 2; order++) {
    begin();
    chain[0] = new_container();
    MUST_OK(kind_register(chain[0], "key", &kind, SVK_SCOPE_CACHED));
    for (int i = 1; i < depth; i++)
      chain[i] = new_child(chain[i - 1]);
    CHECK(kind_of(chain[depth - 1], "key") == &kind);
    CHECK(kind_of(chain[depth - 1], "nothing") == NULL);
    CHECK_OK(svk_container_set_contexts(chain[0], "test"));
    CHECK_OK(svk_container_set_strict(chain[0], 1));
    svk_handle *handle = NULL;
    CHECK_STATUS(svk_resolve(chain[depth - 1], "key", &handle), SVK_CONTEXT_MISSING);
    CHECK_OK(svk_container_validate(chain[depth - 1]));
    for (int i = 0; i < depth; i++)
      CHECK_OK(svk_container_destroy(chain[order ? depth - 1 - i : i]));
    CHECK_GONE(&kind, 1);
  }
  free(chain);
}

static void test_many_pushes(void) {
  begin();
  int depth = very(100000);
  svk_container *container = new_container();
  for (int i = 0; i < depth; i++) {
    MUST_OK(svk_container_push(container));
    if (i % 100 == 0) {
      MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
      CHECK(kind_of(container, "key") == &kind);
    }
  }
  for (int i = 0; i < depth / 2; i++)
    MUST_OK(svk_container_pop(container));
  CHECK(kind_of(container, "key") == &kind);
  CHECK_OK(svk_container_destroy(container));
  check_end();
}

/* Each one replaced while it is held. */
static void test_many_replaced(void) {
  begin();
  int many = very(5000);
  svk_handle **handles = array(many, sizeof *handles);
  svk_container *container = new_container();
  for (int i = 0; i < many; i++) {
    MUST_OK(kind_register(container, "key", &kind, SVK_SCOPE_CACHED));
    handles[i] = RESOLVE(container, "key");
  }
  CHECK_EQ(kind.destroyed, 0);
  for (int i = 0; i < many; i++)
    CHECK_OK(svk_release(handles[i]));
  CHECK_EQ(kind.destroyed, many - 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&kind, many);
  free(handles);
}

/* One instance with very many requirements. */
static svk_status require_many(svk_resolver *resolver, struct kind *own) {
  (void)own;
  void *instance = NULL;
  for (int i = 0; i < very(100000); i++)
    if (svk_require(resolver, i % 2 ? "cached" : "unique", &instance) != SVK_OK)
      MUST(!"require");
  return SVK_OK;
}

static void test_many_requirements(void) {
  begin();
  struct kind top = { .on_create = require_many };
  svk_container *container = new_container();
  MUST_OK(kind_register(container, "cached", &kind, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(container, "unique", &kind, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "top", &top, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "top") == &top);
  CHECK_EQ(kind_alive(&kind), 1);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&top, 1);
  check_end();
}

int main(void) {
  RUN(test_many_replaced); /* first: it costs in proportion to the handles that there ever were */
  RUN(test_many_handles);
  RUN(test_many_instances);
  RUN(test_many_containers);
  RUN(test_many_scopes);
  RUN(test_many_interned_keys);
  RUN(test_a_long_line_of_parents);
  RUN(test_many_pushes);
  RUN(test_many_requirements);
  return check_done();
}
