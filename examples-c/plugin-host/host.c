/*
 * A program with two plug-ins. Both register a journal under the same key; the second replaces the first
 * while the first is in use. Every promise that the program relies on is checked, and it fails if one is
 * not kept.
 *
 * Usage: plugin-host [plugin_console.so plugin_memory.so]; without arguments they are looked for beside
 * the program.
 */
#define _GNU_SOURCE
#include "plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int broken; /* promises that were not kept */

static void promise(int kept, const char *what) {
  printf("  %s  %s\n", kept ? "ok  " : "FAIL", what);
  broken += !kept;
}

static void step(const char *what) { printf("\n%s\n", what); }

typedef struct plugin {
  char path[PATH_MAX];
  void *code;    /* from dlopen */
  int forgotten; /* whether the container has done with it for good */
} plugin;

static void forget(void *user_data) { ((plugin *)user_data)->forgotten = 1; }

static int load(plugin *self, svk_container *container) {
  self->code = dlopen(self->path, RTLD_NOW | RTLD_LOCAL);
  if (!self->code) {
    fprintf(stderr, "plugin-host: %s\n", dlerror());
    return 0;
  }
  plugin_register_fn plugin_register;
  *(void **)&plugin_register = dlsym(self->code, "plugin_register"); /* as POSIX advises */
  if (!plugin_register) {
    fprintf(stderr, "plugin-host: %s\n", dlerror());
    return 0;
  }
  svk_status status = plugin_register(container, self, forget);
  if (status != SVK_OK)
    fprintf(stderr, "plugin-host: %s: %s\n", self->path, svk_last_error());
  return status == SVK_OK;
}

/*
 * Unloads the plug-in's code, which must not happen before the container has forgotten it. The registration
 * points to its `create`, every journal built by it to its `destroy` and to its functions: after a dlclose
 * all of these would point to nowhere. Replacing the registration is not enough, since a journal lives as
 * long as somebody holds it. Nor may `forget` itself do this: it is called by the library, but on behalf of
 * whoever released the journal, and that may be code of the plug-in.
 */
static int unload(plugin *self) {
  if (!self->forgotten)
    return 0;
  dlclose(self->code);
  void *still_there = dlopen(self->path, RTLD_NOW | RTLD_NOLOAD);
  if (still_there)
    dlclose(still_there);
  return !still_there;
}

static journal *resolve(svk_container *container, svk_handle **handle) {
  if (svk_resolve_typed(container, JOURNAL_KEY, JOURNAL_TYPE, handle) != SVK_OK) {
    fprintf(stderr, "plugin-host: %s\n", svk_last_error());
    exit(1);
  }
  return svk_instance(*handle);
}

static void find(plugin *self, const char *argument, const char *name) {
  char program[PATH_MAX] = ".";
  if (argument) {
    snprintf(self->path, sizeof self->path, "%s", argument);
    return;
  }
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  while (length > 0 && program[length - 1] != '/')
    length--;
  snprintf(self->path, sizeof self->path, "%.*s%s", length > 0 ? (int)length : 0, program, name);
}

int main(int argc, char **argv) {
  plugin console = { 0 }, memory = { 0 };
  if (argc != 1 && argc != 3) {
    fprintf(stderr, "Usage: %s [plugin_console.so plugin_memory.so]\n", argv[0]);
    return 2;
  }
  find(&console, argc == 3 ? argv[1] : NULL, "plugin_console.so");
  find(&memory, argc == 3 ? argv[2] : NULL, "plugin_memory.so");
  setvbuf(stdout, NULL, _IOLBF, 0);

  svk_container *container;
  svk_handle *first, *second, *third;
  if (svk_container_create(&container) != SVK_OK)
    return 1;

  step("Without a plug-in there is no journal.");
  promise(svk_resolve(container, JOURNAL_KEY, &first) == SVK_NOT_FOUND && !first, "the key is not found");

  step("The console plug-in is loaded.");
  if (!load(&console, container))
    return 1;
  journal *old = resolve(container, &first);
  promise(!strcmp(old->name, "console"), "the journal is the console's");
  old->write(old, "good morning");

  step("The memory plug-in is loaded, and replaces it. The old journal is still held.");
  if (!load(&memory, container))
    return 1;
  promise(svk_instance(first) == old, "the held handle still gives the old journal");
  old->write(old, "still here");
  promise(old->count(old) == 2, "which is the same one as before");
  promise(!console.forgotten && !unload(&console), "so the console plug-in must stay loaded");
  journal *new = resolve(container, &second);
  promise(new != old && !strcmp(new->name, "memory"), "whoever resolves now gets the new journal");
  new->write(new, "good evening");
  promise(resolve(container, &third) == new, "and so does the next: it is cached");
  svk_release(third);

  step("The old journal is released.");
  svk_release(first);
  promise(console.forgotten, "it was destroyed, and the container has forgotten its plug-in");
  promise(!svk_instance(first), "the released handle is recognised, and gives nothing");
  promise(svk_release(first) == SVK_INVALID_HANDLE, "releasing it twice is recognised, too");
  promise(unload(&console), "the console plug-in is unloaded");
  new->write(new, "good night");
  promise(new->count(new) == 2, "the new journal does not mind");

  step("The container is destroyed while the new journal is held.");
  promise(svk_container_destroy(container) == SVK_OK, "the container ends");
  promise(svk_resolve(container, JOURNAL_KEY, &third) == SVK_INVALID_HANDLE,
          "nothing resolves there any more");
  promise(!memory.forgotten, "the memory plug-in is still needed");
  new->write(new, "one more");
  promise(new->count(new) == 3, "for the held journal works on");
  svk_release(second);
  promise(memory.forgotten, "after its release the plug-in is forgotten");
  promise(unload(&memory), "and unloaded");

  printf("\n%s\n", broken ? "Not everything was as promised." : "Everything was as promised.");
  return broken != 0;
}
