/*
 * sysmon shows the load of a machine. It knows nothing of /proc, recordings or tests: it asks a container
 * for "sampler", and which one it gets depends on the context.
 *
 * The sampler sends its states from a thread of its own. They are delivered through a dispatcher, whose
 * file descriptor the program watches with epoll beside its other event, the signal that ends it. So all
 * of this file runs on the main thread.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "display.h"
#include "logger.h"
#include "options.h"
#include "sampler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

typedef struct monitor {
  display display;
  uint64_t left; /* states to show before the end; 0: no limit */
  int done;
} monitor;

/* For a failure of the library: what was tried, and the library's own words about it. */
static int fail(const char *what, svk_status status) {
  fprintf(stderr, "sysmon: %s: %s (%s)\n", what, svk_last_error(), svk_status_name(status));
  return 1;
}

static int fail_system(const char *what) {
  fprintf(stderr, "sysmon: %s: %s\n", what, strerror(errno));
  return 1;
}

static void on_state(const svk_state *state, void *user_data) {
  monitor *self = user_data;
  if (self->done)
    return;
  int shown = display_show(&self->display, state->data, state->dropped);
  if (!shown || (self->left && --self->left == 0))
    self->done = 1;
}

static void on_finish(void *user_data) {
  monitor *self = user_data;
  self->done = 1;
}

static int watch(int epoll, int fd) {
  struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Waits for states and signals until there is a reason to end. */
static int loop(monitor *self, svk_dispatcher *dispatcher, const sigset_t *signals) {
  int result = 1, states = svk_dispatcher_fd(dispatcher);
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  int interrupts = signalfd(-1, signals, SFD_CLOEXEC);
  if (epoll < 0 || interrupts < 0 || !watch(epoll, states) || !watch(epoll, interrupts)) {
    fail_system("cannot watch for events");
  } else {
    while (!self->done) {
      struct epoll_event event;
      int count = epoll_wait(epoll, &event, 1, -1);
      if (count < 0 && errno != EINTR) {
        fail_system("cannot wait for events");
        break;
      }
      if (count == 1 && event.data.fd == interrupts)
        self->done = 1;
      else if (count == 1)
        svk_dispatcher_dispatch(dispatcher, 0, 0, NULL); /* calls on_state and on_finish */
    }
    result = !self->done;
  }
  if (interrupts >= 0)
    close(interrupts);
  if (epoll >= 0)
    close(epoll);
  return result;
}

static int show(svk_service *sampler, const options *options, const sigset_t *signals) {
  const sampler_api *api = svk_service_api(sampler);
  monitor monitor = { .left = options->count };
  svk_dispatcher *dispatcher;
  svk_subscription *subscription;

  svk_status status = svk_dispatcher_create(&dispatcher);
  if (status != SVK_OK)
    return fail("cannot listen to the sampler", status);

  /* If the terminal holds us up, rather miss old states than keep ever more of them. */
  svk_observer_options observer = SVK_OBSERVER_OPTIONS_INIT;
  observer.flags = SVK_OBSERVE_CURRENT;
  observer.delivery = SVK_DELIVER_DISPATCHER;
  observer.dispatcher = dispatcher;
  observer.buffering = SVK_BUFFER_NEWEST;
  observer.capacity = 64;
  observer.on_state = on_state;
  observer.on_finish = on_finish;
  observer.user_data = &monitor;
  int result;
  status = svk_service_observe(sampler, &observer, &subscription);
  if (status != SVK_OK) {
    result = fail("cannot observe the sampler", status);
  } else if (api->start(sampler, options->interval_ns) != SVK_OK) {
    fputs("sysmon: the sampler cannot start its thread\n", stderr);
    result = 1;
  } else {
    display_open(&monitor.display, api->source);
    result = loop(&monitor, dispatcher, signals);
    if (!display_close(&monitor.display))
      result = fail_system("cannot write");
  }
  svk_subscription_cancel(subscription); /* a NULL token does no harm */
  svk_dispatcher_destroy(dispatcher);
  return result;
}

static int print_graph(svk_container *container) {
  char *text = NULL;
  size_t size = 0;
  svk_status status;
  while ((status = svk_container_describe(container, SVK_FORMAT_DOT, text, size, &size)) ==
         SVK_BUFFER_TOO_SMALL) {
    char *larger = realloc(text, size);
    if (!larger) {
      free(text);
      return fail_system("cannot describe the container");
    }
    text = larger;
  }
  int result = 0;
  if (status != SVK_OK)
    result = fail("cannot describe the container", status);
  else if (fputs(text, stdout) == EOF || fflush(stdout) == EOF)
    result = fail_system("cannot write");
  free(text);
  return result;
}

static int run(svk_container *container, const options *options, const sigset_t *signals) {
  svk_status status = clock_register(container);
  if (status == SVK_OK)
    status = logger_register(container);
  if (status == SVK_OK)
    status = sampler_register(container, "live", &live_source, NULL);
  if (status == SVK_OK)
    status = sampler_register(container, "preview", &preview_source, options->recording);
  if (status == SVK_OK)
    status = sampler_register(container, "test", &test_source, NULL);
  if (status == SVK_OK)
    status = svk_container_set_contexts(container, options->context);
  if (status == SVK_OK)
    status = svk_container_set_strict(container, 1); /* under test nothing live is used by accident */
  if (status == SVK_OK)
    status = svk_container_validate(container);
  if (status != SVK_OK)
    return fail("the services do not fit together", status);

  svk_handle *handle;
  status = svk_resolve_typed(container, SAMPLER_KEY, SAMPLER_TYPE, &handle);
  if (status != SVK_OK)
    return fail("there is no sampler", status);
  int result = options->graph ? print_graph(container) : show(svk_instance(handle), options, signals);
  svk_release(handle);
  return result;
}

static void print_log(int32_t level, const char *message, void *user_data) {
  (void)level, (void)user_data;
  fprintf(stderr, "servicekit: %s\n", message);
}

int main(int argc, char **argv) {
  options options;
  int result = options_parse(&options, argc, argv);
  if (result >= 0)
    return result;

  /* Before there is a second thread, which inherits it: the signals come through the signalfd only. */
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, NULL);

  svk_set_log(print_log, SVK_LOG_WARNING, NULL, NULL);
  svk_container *container;
  svk_status status = svk_container_create(&container);
  if (status != SVK_OK)
    return fail("cannot create a container", status);
  result = run(container, &options, &signals);
  svk_container_destroy(container); /* the sampler first, then the logger, then the clock */
  return result;
}
