/* A service watched from GLib's main loop: the dispatcher's descriptor is one more source. */
#include "counter.h"

#include <glib-unix.h>
#include <stdio.h>
#include <string.h>

static void on_state(const svk_state *state, void *user_data) {
  int number;
  (void)user_data;
  memcpy(&number, state->data, sizeof number);
  printf("GLib: %d\n", number);
}

static void on_finish(void *loop) { g_main_loop_quit(loop); }

static gboolean on_readable(gint fd, GIOCondition condition, gpointer dispatcher) {
  (void)fd, (void)condition;
  svk_dispatcher_dispatch(dispatcher, 0, 0, NULL);
  return G_SOURCE_CONTINUE;
}

int main(void) {
  GMainLoop *loop = g_main_loop_new(NULL, FALSE);
  counter *counter = counter_start(5);
  svk_dispatcher *dispatcher = counter ? counter_watch(counter, on_state, on_finish, loop) : NULL;
  if (!dispatcher)
    return fprintf(stderr, "cannot watch: %s\n", svk_last_error()), 1;
  guint source = g_unix_fd_add(svk_dispatcher_fd(dispatcher), G_IO_IN, on_readable, dispatcher);

  g_main_loop_run(loop);

  g_source_remove(source);
  counter_stop(counter);
  g_main_loop_unref(loop);
  return 0;
}
