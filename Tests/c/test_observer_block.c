/* An observer's blocking buffer: the sender waits for that observer, unless it would wait for itself. */
#include "check_state.h"

static struct {
  svk_dispatcher *dispatcher;
  svk_stream *stream;
  svk_service *service;
} base;

static void open_base(void) {
  base.dispatcher = new_dispatcher();
  base.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  base.service = new_inline_service(base.stream);
}

static void close_base(void) {
  CHECK_OK(svk_service_close(base.service));
  CHECK_OK(svk_stream_destroy(base.stream));
  CHECK_OK(svk_dispatcher_destroy(base.dispatcher));
}

static svk_subscription *observe_blocking(struct watch *watch, int32_t delivery, size_t capacity) {
  svk_observer_options options = observer_options(watch, delivery, base.dispatcher);
  options.buffering = SVK_BUFFER_BLOCK;
  options.capacity = capacity;
  return observe_with(base.service, &options);
}

/* Sends 1 to count. */
struct sender {
  int count;
  _Atomic int sent;
  svk_status last;
  pthread_t thread;
};

static void *sender_run(void *pointer) {
  struct sender *sender = pointer;
  for (int i = 1; i <= sender->count; i++) {
    sender->last = send_number(base.stream, i);
    if (sender->last != SVK_OK)
      break;
    atomic_fetch_add(&sender->sent, 1);
  }
  return NULL;
}

static void let_others_run(void) {
  for (int i = 0; i < 100; i++)
    sched_yield();
}

static void test_the_sender_waits(void) {
  struct watch watch = WATCH_INIT;
  open_base();
  observe_blocking(&watch, SVK_DELIVER_DISPATCHER, 2);
  struct sender sender = { .count = 50 };
  sender.thread = start_thread(sender_run, &sender);
  for (int i = 1; i <= 50; i++) {
    let_others_run();
    /* The buffer holds two, and one more send may be waiting. */
    CHECK(atomic_load(&sender.sent) <= watch.count + 2);
    size_t count = 0;
    CHECK_OK(svk_dispatcher_dispatch(base.dispatcher, 1, FOR_EVER, &count));
    CHECK_EQ(count, 1);
  }
  join_thread(sender.thread);
  CHECK_OK(sender.last);
  CHECK_EQ(watch.count, 50);
  CHECK_EQ(watch.last_version, 50);
  CHECK_EQ(watch.dropped_sum, 0);
  CHECK_EQ(dropped_total(watch.subscription), 0);
  cancel_watch(&watch);
  close_base();
}

static void test_the_sender_waits_for_a_puller(void) {
  open_base();
  svk_subscription *pull = observe_pull(base.service, 0, SVK_BUFFER_BLOCK, 1);
  struct sender sender = { .count = 50 };
  sender.thread = start_thread(sender_run, &sender);
  for (int i = 1; i <= 50; i++) {
    uint64_t version;
    CHECK(atomic_load(&sender.sent) <= i);
    CHECK_OK(svk_subscription_next_copy(pull, FOR_EVER, &(long){ 0 }, sizeof(long), NULL, &version, NULL));
    CHECK_EQ(version, i);
  }
  join_thread(sender.thread);
  CHECK_OK(sender.last);
  CHECK_EQ(dropped_total(pull), 0);
  close_base();
}

static void test_the_sender_waits_for_the_worker(void) {
  struct watch watch = WATCH_INIT;
  open_base();
  observe_blocking(&watch, SVK_DELIVER_BACKGROUND, 1);
  struct sender sender = { .count = iterations(2000) };
  sender.thread = start_thread(sender_run, &sender);
  join_thread(sender.thread);
  counter_wait(&watch.calls, sender.count);
  cancel_watch(&watch);
  CHECK_EQ(watch.last_version, sender.count);
  CHECK_EQ(watch.dropped_sum, 0);
  close_base();
}

/* The waiting sender is freed by whatever takes the observer away. */
enum { BY_CANCEL, BY_NOWAIT, BY_CLOSE, BY_DISPATCHER, WAYS };

static void test_woken_by_the_end(void) {
  for (int i = iterations(100); i > 0; i--)
    for (int way = 0; way < WAYS; way++) {
      struct watch watch = WATCH_INIT, other = WATCH_INIT;
      open_base();
      observe_blocking(&watch, SVK_DELIVER_DISPATCHER, 1);
      observe(base.service, &other, SVK_DELIVER_INLINE, NULL);
      struct sender sender = { .count = 5 };
      sender.thread = start_thread(sender_run, &sender);
      if (i % 2)
        let_others_run();
      svk_status status = SVK_OK;
      if (way == BY_CANCEL)
        status = svk_subscription_cancel(watch.subscription);
      else if (way == BY_NOWAIT)
        status = svk_subscription_cancel_nowait(watch.subscription);
      else if (way == BY_CLOSE)
        status = svk_service_close(base.service);
      else
        status = svk_dispatcher_destroy(base.dispatcher);
      CHECK_OK(status);
      CHECK_EQ(watch.freed, 1);
      join_thread(sender.thread);
      CHECK_EQ(watch.count, 0);
      if (way == BY_CLOSE) {
        /* The send that was on its way had been accepted; the next one finds it closed. */
        CHECK(sender.last == SVK_CLOSED || sender.last == SVK_OK);
      } else {
        CHECK_OK(sender.last);
        CHECK_EQ(sender.sent, 5);
        CHECK_EQ(other.count, 5); /* nobody else lost anything */
        CHECK_OK(svk_service_close(base.service));
      }
      CHECK_OK(svk_stream_destroy(base.stream));
      if (way != BY_DISPATCHER)
        CHECK_OK(svk_dispatcher_destroy(base.dispatcher));
    }
}

/* A sender that waits for the observer of a stream which ends meanwhile: its state was accepted. */
static void test_finish_while_the_sender_waits(void) {
  struct watch watch = WATCH_INIT;
  open_base();
  observe_blocking(&watch, SVK_DELIVER_DISPATCHER, 1);
  struct sender sender = { .count = 2 };
  sender.thread = start_thread(sender_run, &sender);
  while (atomic_load(&sender.sent) < 1)
    sched_yield();
  let_others_run();
  CHECK_OK(svk_stream_finish(base.stream)); /* never waits */
  while (counter_value(&watch.calls) == 0 || atomic_load(&watch.finished) == 0)
    svk_dispatcher_dispatch(base.dispatcher, 0, MILLISECOND, NULL);
  join_thread(sender.thread);
  CHECK_EQ(watch.count, sender.sent);
  CHECK_EQ(watch.finished, 1);
  cancel_watch(&watch);
  close_base();
}

/* ---- Inside that very delivery: lost for this observer, and counted ---- */

/* Set when the send of the first state has returned: until then it could be its thread that delivers the
 * rest. */
static struct counter sent = COUNTER_INIT;

static void send_three(struct watch *watch, const svk_state *state) {
  (void)watch;
  if (state->version == 1 && watch->context != NULL)
    counter_wait(&sent, 1);
  if (state->version == 1)
    for (int i = 2; i <= 4; i++)
      CHECK_OK(send_number(base.stream, i)); /* accepted; the stream's buffer is another */
}

static void check_own_delivery(int32_t delivery) {
  struct watch watch = WATCH_INIT, other = WATCH_INIT;
  open_base();
  svk_subscription *subscription = observe_blocking(&watch, delivery, 1);
  observe(base.service, &other, SVK_DELIVER_INLINE, NULL);
  watch.on_state = send_three;
  watch.context = &sent;
  counter_reset(&sent);
  CHECK_OK(send_number(base.stream, 1));
  counter_add(&sent, 1);
  if (delivery == SVK_DELIVER_DISPATCHER)
    CHECK_EQ(drain(base.dispatcher), 2);
  else
    counter_wait(&watch.calls, 2);
  CHECK_EQ(dropped_total(subscription), 2);
  CHECK_OK(send_number(base.stream, 5));
  if (delivery == SVK_DELIVER_DISPATCHER)
    CHECK_EQ(drain(base.dispatcher), 1);
  else
    counter_wait(&watch.calls, 3);
  CHECK_EQ(dropped_total(subscription), 2);
  cancel_watch(&watch);
  CHECK_EQ(watch.count, 3);
  CHECK_EQ(watch.versions[1], 2);
  CHECK_EQ(watch.versions[2], 5);
  CHECK_EQ(watch.dropped_sum, 2);
  CHECK_EQ(other.count, 5);
  close_base();
}

static void test_own_delivery(void) {
  check_own_delivery(SVK_DELIVER_DISPATCHER);
  check_own_delivery(SVK_DELIVER_BACKGROUND);
}

/* An inline observer's buffer never fills: the sender is the one who delivers. */
static void test_inline(void) {
  struct watch watch = WATCH_INIT;
  open_base();
  observe_blocking(&watch, SVK_DELIVER_INLINE, 1);
  watch.on_state = send_three;
  CHECK_OK(send_number(base.stream, 1));
  CHECK_EQ(watch.count, 4);
  CHECK_EQ(watch.dropped_sum, 0);
  cancel_watch(&watch);
  close_base();
}

/* ---- Storm ---- */

struct storm {
  struct watch queued, background;
  svk_subscription *pull;
  _Atomic int sending;
  int each;
};

static void storm_run(int index, void *pointer) {
  struct storm *storm = pointer;
  if (index < 2) {
    for (int i = 0; i < storm->each; i++)
      CHECK_OK(send_number(base.stream, i));
    if (atomic_fetch_sub(&storm->sending, 1) == 1)
      CHECK_OK(svk_stream_finish(base.stream));
  } else if (index == 2) {
    while (!atomic_load(&storm->queued.finished))
      svk_dispatcher_dispatch(base.dispatcher, 0, 100 * MILLISECOND, NULL);
  } else {
    uint64_t last = 0, version;
    while (svk_subscription_next_copy(storm->pull, FOR_EVER, &(long){ 0 }, sizeof(long), NULL, &version,
                                      NULL) == SVK_OK) {
      if (version != last + 1)
        CHECK_EQ(version, last + 1);
      last = version;
    }
    CHECK_EQ(last, 2 * storm->each);
  }
}

static void test_storm(void) {
  struct storm storm = { .queued = WATCH_INIT, .background = WATCH_INIT, .each = iterations(4000) };
  atomic_store(&storm.sending, 2);
  open_base();
  observe_blocking(&storm.queued, SVK_DELIVER_DISPATCHER, 2);
  observe_blocking(&storm.background, SVK_DELIVER_BACKGROUND, 2);
  storm.pull = observe_pull(base.service, 0, SVK_BUFFER_BLOCK, 2);
  run_threads(4, storm_run, &storm);
  counter_wait(&storm.background.calls, 2 * storm.each + 1);
  CHECK_EQ(storm.queued.count, 2 * storm.each);
  CHECK_EQ(storm.queued.dropped_sum, 0);
  CHECK_EQ(storm.background.count, 2 * storm.each);
  CHECK_EQ(storm.background.dropped_sum, 0);
  CHECK_EQ(dropped_total(storm.pull), 0);
  close_base();
}

int main(void) {
  RUN(test_the_sender_waits);
  RUN(test_the_sender_waits_for_a_puller);
  RUN(test_the_sender_waits_for_the_worker);
  RUN(test_woken_by_the_end);
  RUN(test_finish_while_the_sender_waits);
  RUN(test_own_delivery);
  RUN(test_inline);
  RUN(test_storm);
  return check_done();
}
