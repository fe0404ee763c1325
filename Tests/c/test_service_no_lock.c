/*
 * The library holds no lock while it runs a callback, and what "never waits" does not: from inside each kind
 * of callback another thread uses everything there is, on the same things, and the callback waits for it.
 */
#include "check_state.h"

static struct {
  svk_dispatcher *dispatcher;
  svk_stream *stream;
  svk_service *service;
  svk_subscription *pull;
  int in_dispatch; /* whether the callback runs in a dispatch of that dispatcher */
  int helped;
} base;

static void ignore_start(svk_stream *stream, void *user_data) { (void)stream, (void)user_data; }

/* Every state function that never waits, or is told not to. */
static void use_everything(void) {
  long number = 0;
  uint64_t version;
  svk_snapshot *snapshot = NULL;
  svk_state state;
  svk_status status = send_number(base.stream, 5); /* a delivery is under way, or it makes one */
  CHECK(status == SVK_OK || status == SVK_CLOSED);
  status = svk_stream_send_owned(base.stream, malloc(8), 8, free);
  CHECK(status == SVK_OK || status == SVK_CLOSED);
  CHECK_OK(svk_service_read(base.service, &number, sizeof number, NULL, &version));
  CHECK_OK(svk_service_acquire(base.service, &snapshot, &state));
  CHECK_OK(svk_snapshot_release(snapshot));
  svk_service_wait(base.service, version, 0, NULL);
  CHECK(svk_service_api(base.service) == NULL);
  if (svk_subscription_next(base.pull, 0, &snapshot, &state) == SVK_OK)
    CHECK_OK(svk_snapshot_release(snapshot));
  svk_subscription_next_copy(base.pull, 0, &number, sizeof number, NULL, NULL, NULL);
  CHECK(svk_subscription_fd(base.pull) >= 0);
  CHECK_OK(svk_subscription_dropped(base.pull, &version));
  CHECK(svk_dispatcher_fd(base.dispatcher) >= 0);
  CHECK_OK(svk_dispatcher_wake(base.dispatcher));
  status = svk_dispatcher_dispatch(base.dispatcher, 0, 0, NULL);
  if (base.in_dispatch)
    CHECK_STATUS(status, SVK_BUSY);
  else
    CHECK(status == SVK_OK || status == SVK_TIMEOUT);

  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_PULL; delivery++) {
    struct watch watch = WATCH_INIT;
    svk_observer_options options = observer_options(&watch, delivery, base.dispatcher);
    options.flags = SVK_OBSERVE_CURRENT;
    observe_with(base.service, &options);
    if (delivery == SVK_DELIVER_INLINE)
      CHECK(watch.count > 0); /* with the current state, although another delivery is under way */
    CHECK_OK(svk_subscription_dropped(watch.subscription, &version));
    status = svk_subscription_cancel_nowait(watch.subscription);
    CHECK(status == SVK_OK || (status == SVK_DEFERRED && delivery != SVK_DELIVER_PULL));
    while (atomic_load(&watch.freed) == 0)
      sched_yield();
  }

  svk_stream_options options = SVK_STREAM_OPTIONS_INIT;
  options.start = ignore_start;
  svk_stream *stream = NULL;
  CHECK_OK(svk_stream_create(&options, &stream));
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, base.dispatcher, NULL, 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(svk_stream_finish(stream));
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_stream_void(&stream));
  CHECK_OK(svk_stream_destroy(stream));
  svk_dispatcher *dispatcher = new_dispatcher();
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
  CHECK_OK(svk_set_log(NULL, SVK_LOG_ERROR, NULL, NULL));
}

static void *help(void *argument) {
  (void)argument;
  use_everything();
  return NULL;
}

/* What every callback here does: another thread, then this one. */
static void callback(void) {
  if (base.helped)
    return;
  base.helped = 1;
  join_thread(start_thread(help, NULL));
  use_everything();
}

static void in_state(struct watch *watch, const svk_state *state) {
  (void)watch, (void)state;
  callback();
}

static void in_finish_or_free(struct watch *watch) {
  (void)watch;
  callback();
}

static void in_data_free(void *block) {
  free(block);
  callback();
}

static void in_start(svk_stream *stream, void *user_data) {
  (void)user_data;
  base.stream = stream;
  base.pull = observe_pull(base.service, 0, SVK_BUFFER_UNBOUNDED, 0);
  callback();
}

static void open_base(int32_t delivery, struct watch *watch) {
  base.helped = base.in_dispatch = 0;
  base.dispatcher = new_dispatcher();
  base.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  base.service = new_service(base.stream, delivery, base.dispatcher, watch, 0);
  base.pull = observe_pull(base.service, 0, SVK_BUFFER_UNBOUNDED, 0);
  base.in_dispatch = delivery == SVK_DELIVER_DISPATCHER;
}

static void close_base(void) {
  CHECK_EQ(base.helped, 1);
  CHECK_OK(svk_service_close(base.service));
  CHECK_OK(svk_stream_destroy(base.stream));
  CHECK_OK(svk_dispatcher_destroy(base.dispatcher));
}

/* Until the watch has been called. */
static void run(struct watch *watch, int32_t delivery) {
  if (delivery == SVK_DELIVER_DISPATCHER)
    CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 1, 0, NULL));
  counter_wait(&watch->calls, 1);
}

static void test_in_a_services_callbacks(void) {
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_BACKGROUND; delivery++)
    for (int finish = 0; finish < 2; finish++) {
      struct watch watch = WATCH_INIT;
      open_base(delivery, &watch);
      if (finish) {
        watch.on_finish = in_finish_or_free;
        CHECK_OK(svk_stream_finish(base.stream));
      } else {
        watch.on_state = in_state;
        CHECK_OK(send_number(base.stream, 1));
      }
      run(&watch, delivery);
      close_base();
      CHECK_EQ(watch.freed, 1);
    }
}

static void test_in_an_observers_callbacks(void) {
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_BACKGROUND; delivery++)
    for (int finish = 0; finish < 2; finish++) {
      struct watch watch = WATCH_INIT;
      open_base(SVK_DELIVER_INLINE, NULL);
      base.in_dispatch = delivery == SVK_DELIVER_DISPATCHER;
      observe(base.service, &watch, delivery, base.dispatcher);
      if (finish) {
        watch.on_finish = in_finish_or_free;
        CHECK_OK(svk_stream_finish(base.stream));
      } else {
        watch.on_state = in_state;
        CHECK_OK(send_number(base.stream, 1));
      }
      run(&watch, delivery);
      close_base();
      CHECK_EQ(watch.freed, 1);
    }
}

static void test_with_the_current_state(void) {
  struct watch watch = WATCH_INIT;
  open_base(SVK_DELIVER_INLINE, NULL);
  watch.on_state = in_state;
  svk_observer_options options = observer_options(&watch, SVK_DELIVER_INLINE, NULL);
  options.flags = SVK_OBSERVE_CURRENT;
  observe_with(base.service, &options);
  CHECK(watch.count >= 1);
  close_base();
}

static void test_in_user_data_free(void) {
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_PULL; delivery++)
    for (int nowait = 0; nowait < 2; nowait++) {
      struct watch watch = WATCH_INIT;
      open_base(SVK_DELIVER_INLINE, NULL);
      watch.on_free = in_finish_or_free;
      observe(base.service, &watch, delivery, base.dispatcher);
      CHECK_OK(nowait ? svk_subscription_cancel_nowait(watch.subscription)
                      : svk_subscription_cancel(watch.subscription));
      CHECK_EQ(watch.freed, 1);
      close_base();
    }
}

static void test_in_data_free(void) {
  open_base(SVK_DELIVER_INLINE, NULL);
  CHECK_OK(svk_stream_send_owned(base.stream, malloc(16), 16, in_data_free));
  CHECK_EQ(base.helped, 0);
  CHECK_OK(svk_subscription_next_copy(base.pull, 0, &(long[2]){ 0, 0 }, 16, NULL, NULL, NULL));
  CHECK_OK(send_number(base.stream, 1)); /* replaces it */
  close_base();
  /* Of a send that fails. */
  open_base(SVK_DELIVER_INLINE, NULL);
  CHECK_STATUS(svk_stream_send_owned(NULL, malloc(16), 16, in_data_free), SVK_INVALID_HANDLE);
  close_base();
  /* Of the last snapshot. */
  open_base(SVK_DELIVER_INLINE, NULL);
  CHECK_OK(svk_stream_send_owned(base.stream, malloc(16), 16, in_data_free));
  CHECK_OK(svk_subscription_next_copy(base.pull, 0, &(long[2]){ 0, 0 }, 16, NULL, NULL, NULL));
  svk_snapshot *snapshot = NULL;
  svk_state state;
  CHECK_OK(svk_service_acquire(base.service, &snapshot, &state));
  CHECK_OK(send_number(base.stream, 1));
  CHECK_EQ(base.helped, 0);
  CHECK_OK(svk_snapshot_release(snapshot));
  close_base();
}

static void test_in_start(void) {
  svk_stream_options options = SVK_STREAM_OPTIONS_INIT;
  options.start = in_start;
  base.helped = base.in_dispatch = 0;
  base.dispatcher = new_dispatcher();
  MUST_OK(svk_stream_create(&options, &base.stream));
  svk_service_options service_options = SVK_SERVICE_OPTIONS_INIT;
  long initial = 7;
  service_options.initial = &initial;
  service_options.initial_size = sizeof initial;
  service_options.stream = base.stream;
  MUST_OK(svk_service_create(&service_options, &base.service));
  close_base();
}

/* The end of everything, on another thread, while a callback waits for that thread: nothing that never waits
 * may hang, and what does wait says so only outside of callbacks. */
static struct watch *ending;

static void *end_everything(void *argument) {
  (void)argument;
  CHECK_OK(svk_stream_finish(base.stream));
  CHECK_STATUS(svk_stream_finish(base.stream), SVK_CLOSED);
  CHECK_OK(svk_stream_destroy(base.stream));
  CHECK_STATUS(svk_subscription_cancel_nowait(ending->subscription), SVK_DEFERRED);
  CHECK_OK(svk_subscription_cancel_nowait(base.pull));
  CHECK_EQ(ending->freed, 0);
  return NULL;
}

static void in_state_end(struct watch *watch, const svk_state *state) {
  (void)state;
  ending = watch;
  join_thread(start_thread(end_everything, NULL));
  CHECK_STATUS(svk_service_close(base.service), SVK_DEFERRED);
}

static void test_the_end_from_elsewhere(void) {
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_BACKGROUND; delivery++) {
    struct watch watch = WATCH_INIT;
    open_base(SVK_DELIVER_INLINE, NULL);
    watch.on_state = in_state_end;
    observe(base.service, &watch, delivery, base.dispatcher);
    CHECK_OK(send_number(base.stream, 1));
    run(&watch, delivery);
    while (atomic_load(&watch.freed) == 0)
      sched_yield();
    CHECK_EQ(watch.count, 1);
    CHECK_EQ(watch.finished, 0);
    CHECK_STATUS(svk_service_close(base.service), SVK_INVALID_HANDLE);
    CHECK_STATUS(svk_stream_destroy(base.stream), SVK_INVALID_HANDLE);
    CHECK_OK(svk_dispatcher_destroy(base.dispatcher));
  }
}

int main(void) {
  RUN(test_in_a_services_callbacks);
  RUN(test_in_an_observers_callbacks);
  RUN(test_with_the_current_state);
  RUN(test_in_user_data_free);
  RUN(test_in_data_free);
  RUN(test_in_start);
  RUN(test_the_end_from_elsewhere);
  return check_done();
}
