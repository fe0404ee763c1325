/* A service watched from libuv: the dispatcher's descriptor is one more uv_poll_t. */
#include "counter.h"

#include <stdio.h>
#include <string.h>
#include <uv.h>

static void on_state(const svk_state *state, void *user_data) {
  int number;
  (void)user_data;
  memcpy(&number, state->data, sizeof number);
  printf("libuv: %d\n", number);
}

/* Closing the watcher leaves the loop without work, so that uv_run returns. */
static void on_finish(void *watcher) { uv_close(watcher, NULL); }

static void on_readable(uv_poll_t *watcher, int status, int events) {
  (void)status, (void)events;
  svk_dispatcher_dispatch(watcher->data, 0, 0, NULL);
}

int main(void) {
  uv_loop_t loop;
  uv_poll_t watcher;
  counter *counter = counter_start(5);
  svk_dispatcher *dispatcher = counter ? counter_watch(counter, on_state, on_finish, &watcher) : NULL;
  if (!dispatcher)
    return fprintf(stderr, "cannot watch: %s\n", svk_last_error()), 1;
  watcher.data = dispatcher;
  int status = uv_loop_init(&loop);
  if (status == 0)
    status = uv_poll_init(&loop, &watcher, svk_dispatcher_fd(dispatcher));
  if (status == 0)
    status = uv_poll_start(&watcher, UV_READABLE, on_readable);
  if (status != 0)
    return fprintf(stderr, "libuv: %s\n", uv_strerror(status)), 1;

  uv_run(&loop, UV_RUN_DEFAULT);

  counter_stop(counter);
  return uv_loop_close(&loop) != 0;
}
