/* A journal that keeps its entries in memory, and prints them when it is destroyed. */
#define _GNU_SOURCE
#include "plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY 16 /* then it forgets the oldest */

typedef struct memory {
  journal base; /* first: a pointer to the one is a pointer to the other */
  size_t count;
  char *entries[CAPACITY];
} memory;

static void memory_write(journal *journal, const char *entry) {
  memory *self = (memory *)journal;
  char **place = &self->entries[self->count++ % CAPACITY];
  free(*place);
  *place = strdup(entry);
}

static size_t memory_count(journal *self) { return ((memory *)self)->count; }

static svk_status create(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver, (void)user_data;
  memory *self = calloc(1, sizeof *self);
  if (!self)
    return SVK_FACTORY_ERROR_BASE;
  self->base = (journal){ "memory", memory_write, memory_count };
  *instance = self;
  return SVK_OK;
}

static void destroy(void *instance, void *user_data) {
  (void)user_data;
  memory *self = instance;
  for (size_t i = self->count > CAPACITY ? self->count - CAPACITY : 0; i < self->count; i++) {
    char *entry = self->entries[i % CAPACITY];
    printf("        memory journal: had \"%s\"\n", entry ? entry : "");
    free(entry);
  }
  printf("        memory journal: destroyed\n");
  free(self);
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
