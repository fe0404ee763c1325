/* svk_dispatcher_destroy: wakes the waiter, cancels and closes what delivers there; from inside too. */
#include "check_state.h"

static void *wait_for_the_end(void *dispatcher) {
  size_t count = 99;
  svk_status status = svk_dispatcher_dispatch(dispatcher, 0, FOR_EVER, &count);
  CHECK(status == SVK_CLOSED || status == SVK_INVALID_HANDLE); /* the latter if it came too late */
  CHECK_EQ(count, 0);
  return (void *)(intptr_t)status;
}

static void test_wakes_the_waiter(void) {
  for (int i = iterations(300); i > 0; i--) {
    svk_dispatcher *dispatcher = new_dispatcher();
    pthread_t thread = start_thread(wait_for_the_end, dispatcher);
    if (i % 2)
      while (svk_dispatcher_dispatch(dispatcher, 0, 0, NULL) != SVK_BUSY) /* so that it does wait */
        sched_yield();
    CHECK_OK(svk_dispatcher_destroy(dispatcher));
    void *status;
    MUST(pthread_join(thread, &status) == 0);
    if (i % 2)
      CHECK_STATUS((svk_status)(intptr_t)status, SVK_CLOSED);
    CHECK_STATUS(svk_dispatcher_dispatch(dispatcher, 0, FOR_EVER, NULL), SVK_INVALID_HANDLE);
  }
}

static void test_cancels_and_closes(void) {
  svk_dispatcher *dispatcher = new_dispatcher(), *other = new_dispatcher();
  struct watch watch = WATCH_INIT, there = WATCH_INIT, elsewhere = WATCH_INIT, own = WATCH_INIT,
               follower = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0), *second = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  observe(service, &there, SVK_DELIVER_DISPATCHER, dispatcher);
  observe(service, &elsewhere, SVK_DELIVER_DISPATCHER, other);
  svk_service *queued = new_service(second, SVK_DELIVER_DISPATCHER, dispatcher, &own, 0);
  observe(queued, &follower, SVK_DELIVER_DISPATCHER, other);
  for (int i = 1; i <= 3; i++) {
    CHECK_OK(send_number(stream, i));
    CHECK_OK(send_number(second, i));
  }
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
  atomic_store(&there.quiet, 1);
  atomic_store(&own.quiet, 1);
  atomic_store(&follower.quiet, 1);
  /* What delivers there has ended, as by svk_subscription_cancel and svk_service_close. */
  CHECK_EQ(there.freed, 1);
  CHECK_EQ(there.count, 0);
  CHECK_STATUS(svk_subscription_cancel(there.subscription), SVK_INVALID_HANDLE);
  CHECK_EQ(own.freed, 1);
  CHECK_EQ(own.count, 0);
  CHECK_EQ(own.finished, 0);
  CHECK_STATUS(svk_service_close(queued), SVK_INVALID_HANDLE);
  CHECK_EQ(follower.freed, 1);
  CHECK_STATUS(svk_subscription_cancel(follower.subscription), SVK_INVALID_HANDLE);
  CHECK_STATUS(send_number(second, 4), SVK_CLOSED);
  /* Everything else goes on. */
  CHECK_OK(send_number(stream, 4));
  CHECK_EQ(watch.count, 4);
  CHECK_EQ(drain(other), 4);
  CHECK_EQ(elsewhere.count, 4);
  CHECK_EQ(there.count + own.count + follower.count, 0);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_stream_destroy(second));
  CHECK_OK(svk_dispatcher_destroy(other));
}

/* ---- From inside ---- */

static void destroy_own(struct watch *watch, const svk_state *state) {
  (void)state;
  svk_dispatcher *dispatcher = watch->context;
  CHECK_STATUS(svk_dispatcher_destroy(dispatcher), SVK_DEFERRED);
  CHECK_STATUS(svk_dispatcher_destroy(dispatcher), SVK_INVALID_HANDLE);
  CHECK_EQ(watch->freed, 0);
}

static void test_inside_its_own_callback(void) {
  for (int by_observer = 0; by_observer < 2; by_observer++) {
    struct watch watch = WATCH_INIT, other = WATCH_INIT;
    svk_dispatcher *dispatcher = new_dispatcher();
    svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    svk_service *service;
    watch.context = dispatcher;
    watch.on_state = destroy_own;
    if (by_observer) {
      service = new_inline_service(stream);
      observe(service, &watch, SVK_DELIVER_DISPATCHER, dispatcher);
    } else {
      service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
    }
    observe(service, &other, SVK_DELIVER_DISPATCHER, dispatcher);
    CHECK_OK(send_number(stream, 1));
    CHECK_OK(send_number(stream, 2));
    size_t count = 99;
    CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, 0, &count));
    CHECK_EQ(watch.count, 1); /* nothing new starts */
    CHECK_EQ((int)count, watch.count + other.count);
    CHECK_EQ(watch.freed, 1);
    CHECK_EQ(other.freed, 1);
    CHECK_STATUS(svk_dispatcher_dispatch(dispatcher, 0, 0, NULL), SVK_INVALID_HANDLE);
    CHECK_STATUS(svk_service_close(service), by_observer ? SVK_OK : SVK_INVALID_HANDLE);
    CHECK_OK(svk_stream_destroy(stream));
  }
}

/* Inside another callback, with nothing of it running: done at once. */
static void destroy_idle(struct watch *watch, const svk_state *state) {
  (void)state;
  CHECK_OK(svk_dispatcher_destroy(watch->context));
}

static void test_inside_another_callback(void) {
  struct watch watch = WATCH_INIT, victim = WATCH_INIT;
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  watch.context = dispatcher;
  watch.on_state = destroy_idle;
  observe(service, &victim, SVK_DELIVER_DISPATCHER, dispatcher);
  observe(service, &watch, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(send_number(stream, 1));
  CHECK_EQ(victim.freed, 1);
  CHECK_EQ(victim.count, 0);
  watch.on_state = NULL;
  CHECK_OK(send_number(stream, 2));
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

/* ---- While another thread is in a callback of it ---- */

static struct counter inside = COUNTER_INIT, go_on = COUNTER_INIT;
static _Atomic int left;

static void stay(struct watch *watch, const svk_state *state) {
  (void)watch, (void)state;
  counter_add(&inside, 1);
  counter_wait(&go_on, 1);
  for (int i = 0; i < 200; i++)
    sched_yield();
  atomic_store(&left, 1);
}

static void *dispatch_one(void *dispatcher) {
  size_t count = 99;
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, FOR_EVER, &count));
  CHECK_EQ(count, 1);
  return NULL;
}

static void test_waits_for_a_callback(void) {
  for (int by_observer = 0; by_observer < 2; by_observer++) {
    struct watch watch = WATCH_INIT;
    svk_dispatcher *dispatcher = new_dispatcher();
    svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    svk_service *service = by_observer ? new_inline_service(stream)
                                       : new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
    counter_reset(&inside);
    counter_reset(&go_on);
    atomic_store(&left, 0);
    watch.on_state = stay;
    if (by_observer)
      observe(service, &watch, SVK_DELIVER_DISPATCHER, dispatcher);
    CHECK_OK(send_number(stream, 1));
    CHECK_OK(send_number(stream, 2));
    pthread_t thread = start_thread(dispatch_one, dispatcher);
    counter_wait(&inside, 1);
    counter_add(&go_on, 1);
    CHECK_OK(svk_dispatcher_destroy(dispatcher));
    CHECK_EQ(left, 1);
    CHECK_EQ(watch.freed, 1);
    atomic_store(&watch.quiet, 1);
    join_thread(thread);
    CHECK_EQ(watch.count, 1);
    CHECK_STATUS(svk_service_close(service), by_observer ? SVK_OK : SVK_INVALID_HANDLE);
    CHECK_OK(svk_stream_destroy(stream));
  }
}

static void destroy_running(struct watch *watch, const svk_state *state) {
  (void)state;
  CHECK_STATUS(svk_dispatcher_destroy(watch->context), SVK_DEFERRED);
}

static void test_does_not_wait_inside_a_callback(void) {
  struct watch watch = WATCH_INIT, other = WATCH_INIT;
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0), *second = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  new_service(second, SVK_DELIVER_INLINE, NULL, &other, 0);
  counter_reset(&inside);
  counter_reset(&go_on);
  watch.on_state = stay;
  other.context = dispatcher;
  other.on_state = destroy_running;
  observe(service, &watch, SVK_DELIVER_DISPATCHER, dispatcher);
  CHECK_OK(send_number(stream, 1));
  pthread_t thread = start_thread(dispatch_one, dispatcher);
  counter_wait(&inside, 1);
  CHECK_OK(send_number(second, 1));
  CHECK_EQ(watch.freed, 0);
  counter_add(&go_on, 1);
  join_thread(thread);
  CHECK_EQ(watch.freed, 1);
  close_watch(&other);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_stream_destroy(second));
}

/* ---- Storm: senders, a dispatching thread and observers that come, against the end ---- */

struct storm {
  svk_dispatcher *dispatcher;
  svk_stream *stream;
  svk_service *service;
  _Atomic int late, dead, observed, freed;
  struct milestone middle;
};

static void storm_state(const svk_state *state, void *user_data) {
  (void)state;
  struct storm *storm = user_data;
  if (atomic_load(&storm->dead))
    atomic_fetch_add(&storm->late, 1);
}

static void storm_free(void *user_data) {
  struct storm *storm = user_data;
  atomic_fetch_add(&storm->freed, 1);
}

static void storm_run(int index, void *pointer) {
  struct storm *storm = pointer;
  if (index == 0) {
    milestone_wait(&storm->middle);
    CHECK_OK(svk_dispatcher_destroy(storm->dispatcher));
    atomic_store(&storm->dead, 1);
  } else if (index == 1) {
    while (!atomic_load(&storm->dead))
      CHECK_OK(send_number(storm->stream, 1));
  } else if (index == 2) {
    svk_status status;
    do
      status = svk_dispatcher_dispatch(storm->dispatcher, 2, FOR_EVER, NULL);
    while (status == SVK_OK);
    CHECK(status == SVK_CLOSED || status == SVK_INVALID_HANDLE);
  } else {
    svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
    options.delivery = SVK_DELIVER_DISPATCHER;
    options.dispatcher = storm->dispatcher;
    options.buffering = SVK_BUFFER_NEWEST;
    options.capacity = 2;
    options.on_state = storm_state;
    options.user_data = storm;
    options.user_data_free = storm_free;
    for (;;) {
      svk_subscription *subscription = NULL;
      svk_status status = svk_service_observe(storm->service, &options, &subscription);
      if (status != SVK_OK) {
        CHECK_STATUS(status, SVK_INVALID_HANDLE);
        break;
      }
      atomic_fetch_add(&storm->observed, 1);
      milestone_pass(&storm->middle, 9);
      if (atomic_load(&storm->observed) % 8 != 0) {
        status = svk_subscription_cancel(subscription);
        CHECK(status == SVK_OK || status == SVK_INVALID_HANDLE);
      }
    }
  }
}

static void test_storm(void) {
  for (int i = iterations(200); i > 0; i--) {
    struct storm storm = { .dispatcher = new_dispatcher(),
                           .stream = new_stream(SVK_BUFFER_NEWEST, 4),
                           .middle = MILESTONE_INIT };
    storm.service = new_inline_service(storm.stream);
    run_threads(4, storm_run, &storm);
    CHECK_EQ(storm.late, 0);
    CHECK_EQ(storm.freed, storm.observed); /* none was left behind by a dispatcher that had ended */
    CHECK_OK(svk_service_close(storm.service));
    CHECK_OK(svk_stream_destroy(storm.stream));
  }
}

int main(void) {
  RUN(test_wakes_the_waiter);
  RUN(test_cancels_and_closes);
  RUN(test_inside_its_own_callback);
  RUN(test_inside_another_callback);
  RUN(test_waits_for_a_callback);
  RUN(test_does_not_wait_inside_a_callback);
  RUN(test_storm);
  return check_done();
}
