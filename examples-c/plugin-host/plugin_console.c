/* A journal that prints its entries. */
#include "plugin.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct console {
  journal base; /* first: a pointer to the one is a pointer to the other */
  size_t count;
} console;

static void console_write(journal *self, const char *entry) {
  ((console *)self)->count++;
  printf("        console journal: %s\n", entry);
}

static size_t console_count(journal *self) { return ((console *)self)->count; }

static svk_status create(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver, (void)user_data;
  console *self = calloc(1, sizeof *self);
  if (!self)
    return SVK_FACTORY_ERROR_BASE;
  self->base = (journal){ "console", console_write, console_count };
  *instance = self;
  return SVK_OK;
}

static void destroy(void *instance, void *user_data) {
  (void)user_data;
  printf("        console journal: destroyed\n");
  free(instance);
}

svk_status plugin_register(svk_container *container, void *user_data, svk_free_fn user_data_free) {
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = create;
  options.destroy = destroy;
  options.user_data = user_data;
  options.user_data_free = user_data_free;
  options.scope = SVK_SCOPE_CACHED;
  options.type = JOURNAL_TYPE;
  return svk_register(container, JOURNAL_KEY, &options);
}
