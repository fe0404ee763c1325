/* A service watched with plain epoll, edge-triggered: a dispatch that leaves work behind signals again. */
#include "counter.h"

#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static void on_state(const svk_state *state, void *user_data) {
  int number;
  (void)user_data;
  memcpy(&number, state->data, sizeof number);
  printf("epoll: %d\n", number);
}

static void on_finish(void *done) { *(int *)done = 1; }

int main(void) {
  int done = 0, epoll = epoll_create1(EPOLL_CLOEXEC);
  counter *counter = counter_start(5);
  svk_dispatcher *dispatcher = counter ? counter_watch(counter, on_state, on_finish, &done) : NULL;
  struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.ptr = dispatcher };
  if (!dispatcher || epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, svk_dispatcher_fd(dispatcher), &event) != 0)
    return fprintf(stderr, "cannot watch: %s\n", svk_last_error()), 1;

  while (!done && epoll_wait(epoll, &event, 1, -1) == 1)
    svk_dispatcher_dispatch(event.data.ptr, 0, 0, NULL);

  close(epoll);
  counter_stop(counter);
  return !done;
}
