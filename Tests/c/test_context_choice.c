/* Contexts: which of several registrations of a key wins. */
#include "factory.h"
#include <sys/wait.h>

static void test_which_wins(void) {
  svk_container *container = new_container();
  struct kind plain = { .name = NULL }, live = { .name = NULL }, preview = { .name = NULL },
              test = { .name = NULL };
  MUST_OK(kind_register_for(container, "key", "test", &test, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "key") == NULL); /* `live` is active, and has none */
  MUST_OK(kind_register(container, "key", &plain, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "key") == &plain);
  MUST_OK(kind_register_for(container, "key", "live", &live, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "key") == &live);
  MUST_OK(kind_register_for(container, "key", "preview", &preview, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "key") == &live);
  static const struct {
    const char *contexts;
    int expected; /* 0 plain, 1 live, 2 preview, 3 test */
  } rows[] = {
    { "test", 3 },
    { "preview", 2 },
    { "preview,live", 2 },
    { "live,preview", 1 },
    { "test,preview,live", 3 },
    { "other", 0 },
    { "other,preview", 2 },
    { "  other ,  preview ", 2 },
    { " test", 3 },
    { "test ", 3 },
    { "preview,preview", 2 },
    { "LIVE", 0 },
    { "liv", 0 },
    { "tes t", 0 },
    { NULL, 1 },
    { "", 1 },
    { "   ", 1 },
  };
  struct kind *const kinds[] = { &plain, &live, &preview, &test };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK_OK(svk_container_set_contexts(container, rows[i].contexts));
    CHECK(kind_of(container, "key") == kinds[rows[i].expected]);
  }
  /* What is malformed changes nothing. */
  CHECK_OK(svk_container_set_contexts(container, "test"));
  static const char *const malformed[] = { ",", "live,", "preview,,live", "a\nb", "\xff" };
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
    CHECK_STATUS(svk_container_set_contexts(container, malformed[i]), SVK_INVALID_ARGUMENT);
    CHECK(kind_of(container, "key") == &test);
  }
  CHECK_OK(svk_container_destroy(container));
}

/* Blanks around the name of a registration's context are trimmed, too. */
static void test_blanks(void) {
  svk_container *container = new_container();
  struct kind first = { .name = NULL }, second = { .name = NULL };
  MUST_OK(kind_register_for(container, "key", "  my context ", &first, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register_for(container, "key", "my context", &second, SVK_SCOPE_UNIQUE));
  CHECK_GONE(&first, 0); /* the same context: it was replaced */
  CHECK_OK(svk_container_set_contexts(container, " my context"));
  CHECK(kind_of(container, "key") == &second);
  CHECK_OK(svk_container_destroy(container));
}

/* A container's own registrations, plain ones too, come before the parent's. */
static void test_own_before_the_parents(void) {
  svk_container *parent = new_container(), *child = new_child(parent);
  struct kind parent_plain = { .name = NULL }, parent_test = { .name = NULL }, child_plain = { .name = NULL },
              child_test = { .name = NULL };
  CHECK_OK(svk_container_set_contexts(parent, "test"));
  MUST_OK(kind_register(parent, "key", &parent_plain, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(child, "key") == &parent_plain);
  MUST_OK(kind_register_for(parent, "key", "test", &parent_test, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(child, "key") == &parent_test);
  MUST_OK(kind_register(child, "key", &child_plain, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(child, "key") == &child_plain);
  MUST_OK(kind_register_for(child, "key", "test", &child_test, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(child, "key") == &child_test);
  CHECK(kind_of(parent, "key") == &parent_test);
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(parent));
}

static void test_inherited(void) {
  svk_container *root = new_container(), *middle = new_child(root), *leaf = new_child(middle);
  struct kind plain = { .name = NULL }, live = { .name = NULL }, test = { .name = NULL },
              mine = { .name = NULL };
  MUST_OK(kind_register(leaf, "key", &plain, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register_for(leaf, "key", "live", &live, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register_for(leaf, "key", "test", &test, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register_for(leaf, "key", "mine", &mine, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(leaf, "key") == &live);
  CHECK_OK(svk_container_set_contexts(root, "test"));
  CHECK(kind_of(leaf, "key") == &test);
  CHECK_OK(svk_container_set_contexts(middle, "mine"));
  CHECK(kind_of(leaf, "key") == &mine);
  CHECK_OK(svk_container_set_contexts(leaf, "other"));
  CHECK(kind_of(leaf, "key") == &plain);
  CHECK_OK(svk_container_set_contexts(leaf, NULL)); /* inherit again */
  CHECK(kind_of(leaf, "key") == &mine);
  CHECK_OK(svk_container_set_contexts(middle, ""));
  CHECK(kind_of(leaf, "key") == &test);
  CHECK_OK(svk_container_reset(root, SVK_RESET_CONTEXTS)); /* the list goes with it */
  CHECK(kind_of(leaf, "key") == &live);
  /* The other way there is no effect. */
  CHECK_OK(svk_container_set_contexts(leaf, "test"));
  struct kind root_plain = { .name = NULL }, root_test = { .name = NULL };
  MUST_OK(kind_register(root, "root-key", &root_plain, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register_for(root, "root-key", "test", &root_test, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(root, "root-key") == &root_plain);
  CHECK_OK(svk_container_destroy(leaf));
  CHECK_OK(svk_container_destroy(middle));
  CHECK_OK(svk_container_destroy(root));
}

/* It counts for what is built from now on. */
static void test_no_cache_is_cleared(void) {
  svk_container *container = new_container();
  struct kind live = { .name = NULL }, test = { .name = NULL };
  MUST_OK(kind_register_for(container, "key", "live", &live, SVK_SCOPE_CACHED));
  MUST_OK(kind_register_for(container, "key", "test", &test, SVK_SCOPE_CACHED));
  CHECK(kind_of(container, "key") == &live);
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK(kind_of(container, "key") == &live);
  CHECK_EQ(live.destroyed, 0);
  CHECK_OK(svk_container_reset(container, SVK_RESET_SCOPES));
  CHECK(kind_of(container, "key") == &test);
  CHECK_OK(svk_container_set_contexts(container, NULL));
  CHECK(kind_of(container, "key") == &test);
  CHECK_OK(svk_container_destroy(container));
  CHECK_GONE(&live, 1);
  CHECK_GONE(&test, 1);
}

/* Requirements are looked up under the contexts of the container that builds. */
static void test_requirements(void) {
  svk_container *container = new_container();
  struct kind low_live = { .name = NULL }, low_test = { .name = NULL }, high = { .needs = { "low" } };
  MUST_OK(kind_register_for(container, "low", "live", &low_live, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register_for(container, "low", "test", &low_test, SVK_SCOPE_UNIQUE));
  MUST_OK(kind_register(container, "high", &high, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "high") == &high);
  CHECK_EQ(low_live.built, 1);
  CHECK_OK(svk_container_set_contexts(container, "test"));
  CHECK(kind_of(container, "high") == &high);
  CHECK_EQ(low_test.built, 1);
  CHECK_EQ(low_live.built, 1);
  CHECK_OK(svk_container_destroy(container));
}

/* Very many of them. */
static void test_many(void) {
  enum { MANY = 300 };
  static struct kind kinds[MANY];
  static char list[MANY * 16 + 32];
  svk_container *container = new_container();
  for (int i = 0; i < MANY; i++) {
    char name[16];
    snprintf(name, sizeof name, "context-%d", i);
    MUST_OK(kind_register_for(container, "key", name, &kinds[i], SVK_SCOPE_UNIQUE));
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%scontext-%d", used > 0 ? "," : "", MANY + MANY - 1 - i);
  }
  CHECK_OK(svk_container_set_contexts(container, list)); /* none of those is there */
  CHECK(kind_of(container, "key") == NULL);
  strcat(list, ",context-7,context-8");
  CHECK_OK(svk_container_set_contexts(container, list));
  CHECK(kind_of(container, "key") == &kinds[7]);
  CHECK_OK(svk_container_destroy(container));
  for (int i = 0; i < MANY; i++)
    CHECK_GONE(&kinds[i], i == 7);
}

/* ---- The environment: each case in a child of its own, before the library has been used ---- */

static char logged[2048];
static void write_log(int32_t level, const char *message, void *user_data) {
  (void)user_data;
  size_t used = strlen(logged);
  snprintf(logged + used, sizeof logged - used, "%d:%s\n", (int)level, message);
}

struct environment_case {
  const char *value, *expected, *in_log;
  int shared; /* the first container is the shared one */
};

static int in_child(const struct environment_case *row) {
  if (row->value != NULL)
    setenv("SERVICEKIT_CONTEXT", row->value, 1);
  else
    unsetenv("SERVICEKIT_CONTEXT");
  CHECK_OK(svk_set_log(write_log, SVK_LOG_DEBUG, NULL, NULL));
  svk_container *container = row->shared ? svk_container_shared() : new_container();
  setenv("SERVICEKIT_CONTEXT", "too-late", 1); /* it is read once */
  svk_container *later = new_container(), *child = new_child(container);
  svk_container *const all[] = { container, later, child };
  static const char *const contexts[] = { "live", "preview", "test", "too-late", "mine" };
  struct kind kinds[5], plain = { .name = NULL };
  memset(kinds, 0, sizeof kinds);
  for (int i = 0; i < 3; i++) {
    MUST_OK(kind_register(all[i], "key", &plain, SVK_SCOPE_UNIQUE));
    for (int c = 0; c < 5; c++)
      MUST_OK(kind_register_for(all[i], "key", contexts[c], &kinds[c], SVK_SCOPE_UNIQUE));
    struct kind *kind = kind_of(all[i], "key");
    const char *name = kind == &plain ? "plain" : kind != NULL ? contexts[kind - kinds] : "none";
    if (!CHECK(strcmp(name, row->expected) == 0))
      fprintf(stderr, "  SERVICEKIT_CONTEXT=%s gave %s, not %s\n", row->value, name, row->expected);
    /* What is set comes first; inherited again it is the environment's. */
    CHECK_OK(svk_container_set_contexts(all[i], "mine"));
    CHECK(kind_of(all[i], "key") == &kinds[4]);
    CHECK_OK(svk_container_set_contexts(all[i], NULL));
    CHECK(kind_of(all[i], "key") == kind);
  }
  if (row->in_log != NULL) {
    CHECK_STR(logged, row->in_log);
    CHECK_STR(logged, "2:"); /* a warning */
  } else {
    CHECK(strstr(logged, "2:") == NULL);
  }
  CHECK_OK(svk_container_destroy(child));
  CHECK_OK(svk_container_destroy(later));
  if (!row->shared)
    CHECK_OK(svk_container_destroy(container));
  else
    CHECK_OK(svk_container_reset(container, SVK_RESET_ALL));
  CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
  return check_failures != 0;
}

static void test_environment(void) {
  static const struct environment_case rows[] = {
    { NULL, "live", NULL, 0 },
    { "", "live", NULL, 0 },
    { "   ", "live", NULL, 0 },
    { "test", "test", NULL, 0 },
    { "preview", "preview", NULL, 1 },
    { " preview , test ", "preview", NULL, 0 },
    { "unheard-of", "plain", NULL, 0 },
    { "unheard-of,test", "test", NULL, 1 },
    { "b\x01"
      "d,test",
      "test", "SERVICEKIT_CONTEXT", 0 },
    { "\xff,preview", "preview", "SERVICEKIT_CONTEXT", 0 },
    { "test,\xed\xa0\x80", "test", "SERVICEKIT_CONTEXT", 0 },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fflush(NULL);
    pid_t pid = fork();
    MUST(pid >= 0);
    if (pid == 0)
      exit(in_child(&rows[i]));
    int status = -1;
    MUST(waitpid(pid, &status, 0) == pid);
    CHECK_EQ(status, 0);
  }
}

int main(void) {
  RUN(test_environment); /* first: nothing may have used the library before */
  unsetenv("SERVICEKIT_CONTEXT");
  RUN(test_which_wins);
  RUN(test_blanks);
  RUN(test_own_before_the_parents);
  RUN(test_inherited);
  RUN(test_no_cache_is_cleared);
  RUN(test_requirements);
  RUN(test_many);
  return check_done();
}
