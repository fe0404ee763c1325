/*
 * A factory that keeps books: what it built, what was destroyed, what was freed, and in which order. For the
 * tests of containers. Each instance knows what it required, and at its end checks that all of that still
 * lives.
 */
#ifndef FACTORY_H
#define FACTORY_H

#include "check.h"

enum { INSTANCE_LIVES = 0x11fe11fe, INSTANCE_DEAD = 0x0dead0de, NEEDS_MAX = 4, PARAMETER_MAX = 64 };

struct instance;

/* What to build, and what became of it. Zero is a fine start. Must outlive every registration and instance.
 */
struct kind {
  const char *name;             /* for the journal; NULL: not written there */
  const char *needs[NEEDS_MAX]; /* the keys that the factory requires, up to the first NULL */
  _Atomic svk_status answer;    /* not SVK_OK: the factory answers this instead of building */
  int gives_null;               /* the factory answers SVK_OK without an instance */
  void *context;                /* for the two hooks */
  svk_status (*on_create)(svk_resolver *resolver,
                          struct kind *kind);    /* before building; a failure is handed on */
  void (*on_destroy)(struct instance *instance); /* before the end of an instance */
  _Atomic int registered, asked, built, destroyed, freed;
};

struct instance {
  uint32_t magic;
  int number; /* of this kind, from 1 */
  struct kind *kind;
  struct instance *needs[NEEDS_MAX];
  size_t parameter_size;
  unsigned char parameter[PARAMETER_MAX];
};

/* ---- The journal: "+a " for built, "-a " for destroyed ---- */

static pthread_mutex_t journal_mutex = PTHREAD_MUTEX_INITIALIZER;
static char journal_text[4096];

static CHECK_UNUSED void journal_clear(void) {
  pthread_mutex_lock(&journal_mutex);
  journal_text[0] = 0;
  pthread_mutex_unlock(&journal_mutex);
}

static CHECK_UNUSED void journal_write(const char *sign, const char *name) {
  pthread_mutex_lock(&journal_mutex);
  size_t used = strlen(journal_text);
  snprintf(journal_text + used, sizeof journal_text - used, "%s%s ", sign, name);
  pthread_mutex_unlock(&journal_mutex);
}

static CHECK_UNUSED void journal_check(const char *expected, const char *file, int line) {
  pthread_mutex_lock(&journal_mutex);
  int equal = strcmp(journal_text, expected) == 0;
  if (!equal)
    fprintf(stderr, "%s:%d: expected \"%s\"\n  got \"%s\"\n", file, line, expected, journal_text);
  pthread_mutex_unlock(&journal_mutex);
  check_true(equal, "the journal", file, line);
}

/* All that was built and destroyed since journal_clear, in this order. */
#define CHECK_JOURNAL(expected) journal_check((expected), __FILE__, __LINE__)

/* ---- The factory ---- */

static CHECK_UNUSED svk_status kind_create(svk_resolver *resolver, void **out, void *user_data) {
  struct kind *kind = user_data;
  atomic_fetch_add_explicit(&kind->asked, 1, memory_order_relaxed);
  CHECK(out != NULL && *out == NULL);
  if (kind->on_create != NULL) {
    svk_status status = kind->on_create(resolver, kind);
    if (status != SVK_OK)
      return status;
  }
  struct instance *instance = calloc(1, sizeof *instance);
  MUST(instance != NULL);
  for (int i = 0; i < NEEDS_MAX && kind->needs[i] != NULL; i++) {
    void *needed = NULL;
    svk_status status = svk_require(resolver, kind->needs[i], &needed);
    if (status != SVK_OK) {
      CHECK(needed == NULL);
      free(instance);
      return status;
    }
    instance->needs[i] = needed;
    CHECK(instance->needs[i] != NULL && instance->needs[i]->magic == INSTANCE_LIVES);
  }
  svk_status answer = atomic_load(&kind->answer);
  if (answer != SVK_OK || kind->gives_null) {
    free(instance);
    return answer;
  }
  const void *parameter = instance;
  size_t size = 99;
  CHECK_OK(svk_resolver_parameter(resolver, &parameter, &size));
  if (parameter != NULL && size <= PARAMETER_MAX)
    memcpy(instance->parameter, parameter, size);
  instance->parameter_size = size;
  instance->kind = kind;
  instance->number = atomic_fetch_add_explicit(&kind->built, 1, memory_order_relaxed) + 1;
  instance->magic = INSTANCE_LIVES;
  if (kind->name != NULL)
    journal_write("+", kind->name);
  *out = instance;
  return SVK_OK;
}

static CHECK_UNUSED void kind_destroy(void *pointer, void *user_data) {
  struct instance *instance = pointer;
  struct kind *kind = user_data;
  MUST(instance != NULL);
  CHECK(instance->magic == INSTANCE_LIVES);
  instance->magic = INSTANCE_DEAD;
  CHECK(instance->kind == kind);
  CHECK(atomic_load(&kind->freed) < atomic_load(&kind->registered));
  for (int i = 0; i < NEEDS_MAX; i++)
    if (instance->needs[i] != NULL)
      CHECK(instance->needs[i]->magic == INSTANCE_LIVES);
  if (kind->on_destroy != NULL)
    kind->on_destroy(instance);
  if (kind->name != NULL)
    journal_write("-", kind->name);
  atomic_fetch_add_explicit(&kind->destroyed, 1, memory_order_relaxed);
  free(instance);
}

static CHECK_UNUSED void kind_free(void *user_data) {
  struct kind *kind = user_data;
  CHECK(atomic_fetch_add(&kind->freed, 1) < atomic_load(&kind->registered));
}

static CHECK_UNUSED svk_factory_options kind_options(struct kind *kind, int32_t scope) {
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = kind_create;
  options.destroy = kind_destroy;
  options.user_data = kind;
  options.user_data_free = kind_free;
  options.scope = scope;
  return options;
}

/* Registers with options from kind_options, changed to taste; for one context unless that is NULL. */
static CHECK_UNUSED svk_status kind_register_with(svk_container *container, const char *key,
                                                  const char *context, const svk_factory_options *options) {
  struct kind *kind = options->user_data;
  atomic_fetch_add(&kind->registered, 1);
  svk_status status = context != NULL ? svk_register_for(container, key, context, options)
                                      : svk_register(container, key, options);
  if (status != SVK_OK)
    atomic_fetch_sub(&kind->registered, 1);
  return status;
}

static CHECK_UNUSED svk_status kind_register(svk_container *container, const char *key, struct kind *kind,
                                             int32_t scope) {
  svk_factory_options options = kind_options(kind, scope);
  return kind_register_with(container, key, NULL, &options);
}

static CHECK_UNUSED svk_status kind_register_for(svk_container *container, const char *key,
                                                 const char *context, struct kind *kind, int32_t scope) {
  svk_factory_options options = kind_options(kind, scope);
  return kind_register_with(container, key, context, &options);
}

static CHECK_UNUSED int kind_alive(struct kind *kind) {
  return atomic_load(&kind->built) - atomic_load(&kind->destroyed);
}

/* ---- Short ways ---- */

/* Resolves; NULL, and a failed check, if that fails. */
static CHECK_UNUSED svk_handle *check_resolve(svk_container *container, const char *key, const char *file,
                                              int line) {
  svk_handle *handle = NULL;
  if (!check_status(svk_resolve(container, key, &handle), SVK_OK, key, file, line))
    return NULL;
  struct instance *instance = svk_instance(handle);
  if (check_true(instance != NULL, "svk_instance of a new handle", file, line))
    check_true(instance->magic == INSTANCE_LIVES, "the instance lives", file, line);
  return handle;
}
#define RESOLVE(container, key) check_resolve((container), (key), __FILE__, __LINE__)

/* The kind that the present instance of a key comes from; NULL if it cannot be resolved. */
static CHECK_UNUSED struct kind *kind_of(svk_container *container, const char *key) {
  svk_handle *handle = NULL;
  if (svk_resolve(container, key, &handle) != SVK_OK)
    return NULL;
  struct instance *instance = svk_instance(handle);
  struct kind *kind = instance != NULL ? instance->kind : NULL;
  CHECK_OK(svk_release(handle));
  return kind;
}

static CHECK_UNUSED svk_container *new_container(void) {
  svk_container *container = NULL;
  MUST_OK(svk_container_create(&container));
  MUST(container != NULL);
  return container;
}

static CHECK_UNUSED svk_container *new_child(svk_container *parent) {
  svk_container *container = NULL;
  MUST_OK(svk_container_create_child(parent, &container));
  MUST(container != NULL);
  return container;
}

/* So many were built, all of them were destroyed, and user_data was freed once for every registration. */
static CHECK_UNUSED void check_gone(struct kind *kind, int built, const char *name, const char *file,
                                    int line) {
  check_number(kind->built, built, name, file, line);
  check_number(kind->destroyed, kind->built, name, file, line);
  check_number(kind->freed, kind->registered, name, file, line);
}
#define CHECK_GONE(kind, built) \
  check_gone((kind), (built), #kind ": built, destroyed, freed", __FILE__, __LINE__)

#endif
