/* An observer's own buffer: what is kept when it lags, and how exactly the rest is counted. */
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

static svk_subscription *observe_bounded(struct watch *watch, int32_t buffering, size_t capacity) {
  svk_observer_options options = observer_options(watch, SVK_DELIVER_DISPATCHER, base.dispatcher);
  options.buffering = buffering;
  options.capacity = capacity;
  return observe_with(base.service, &options);
}

static void test_unbounded(void) {
  struct watch watch = WATCH_INIT;
  open_base();
  svk_subscription *subscription = observe_bounded(&watch, SVK_BUFFER_UNBOUNDED, 1);
  int many = iterations(50000);
  for (int i = 1; i <= many; i++)
    CHECK_OK(send_number(base.stream, i));
  CHECK_EQ(drain(base.dispatcher), many);
  CHECK_EQ(watch.count, many);
  CHECK_EQ(watch.last_version, many);
  CHECK_EQ(watch.dropped_sum, 0);
  CHECK_EQ(dropped_total(subscription), 0);
  cancel_watch(&watch);
  close_base();
}

static void test_newest(void) {
  for (int capacity = 1; capacity <= 4; capacity++) {
    struct watch watch = WATCH_INIT;
    open_base();
    svk_subscription *subscription = observe_bounded(&watch, SVK_BUFFER_NEWEST, (size_t)capacity);
    int sent = 0, lost = 0;
    for (int round = 0; round <= 9; round++) {
      int before = watch.count, kept = round < capacity ? round : capacity;
      for (int i = 0; i < round; i++)
        CHECK_OK(send_number(base.stream, ++sent)); /* the stream's buffer has room */
      lost += round - kept;
      CHECK_EQ(dropped_total(subscription), lost);
      CHECK_EQ(drain(base.dispatcher), kept);
      for (int i = 0; i < kept; i++) {
        CHECK_EQ(watch.versions[before + i], sent - kept + 1 + i);
        CHECK_EQ(watch.numbers[before + i], sent - kept + 1 + i);
        CHECK_EQ(watch.dropped[before + i], i == 0 ? round - kept : 0);
      }
      CHECK_EQ(watch.last_version, sent > 0 ? sent : 0);
      CHECK_EQ(watch.dropped_sum, lost);
      CHECK_EQ(dropped_total(subscription), lost);
    }
    cancel_watch(&watch);
    close_base();
  }
}

/*
 * The newest ones are lost, after those that were kept. Whether they are told with the next call in time or
 * with the next state in order, no call tells of them twice, and the sum is right.
 */
static void test_oldest(void) {
  for (int capacity = 1; capacity <= 4; capacity++) {
    struct watch watch = WATCH_INIT;
    open_base();
    svk_subscription *subscription = observe_bounded(&watch, SVK_BUFFER_OLDEST, (size_t)capacity);
    int sent = 0, lost = 0;
    for (int round = 1; round <= 9; round++) {
      int before = watch.count, kept = round < capacity ? round : capacity, first = sent + 1;
      for (int i = 0; i < round; i++)
        CHECK_OK(send_number(base.stream, ++sent));
      lost += round - kept;
      CHECK_EQ(dropped_total(subscription), lost); /* those after the last delivered one included */
      CHECK_EQ(drain(base.dispatcher), kept);
      CHECK_EQ(watch.count, before + kept);
      for (int i = 0; i < kept; i++)
        CHECK_EQ(watch.versions[before + i], first + i);
      CHECK(watch.dropped_sum <= (uint64_t)lost);
      CHECK_EQ(dropped_total(subscription), lost);
    }
    CHECK_OK(send_number(base.stream, ++sent)); /* now all of it must have been told */
    CHECK_EQ(drain(base.dispatcher), 1);
    CHECK_EQ(watch.dropped_sum, lost);
    CHECK_EQ((int)watch.dropped_sum + watch.count, sent);
    CHECK_EQ(dropped_total(subscription), lost);
    cancel_watch(&watch);
    close_base();
  }
}

/* Drops after the last delivered state are in svk_subscription_dropped, also after the stream's end. */
static void test_losses_at_the_end(void) {
  struct watch watch = WATCH_INIT;
  open_base();
  svk_subscription *subscription = observe_bounded(&watch, SVK_BUFFER_OLDEST, 1);
  for (int i = 1; i <= 4; i++)
    CHECK_OK(send_number(base.stream, i));
  CHECK_OK(svk_stream_finish(base.stream));
  CHECK_EQ(dropped_total(subscription), 3);
  CHECK_EQ(drain(base.dispatcher), 2);
  CHECK_EQ(watch.count, 1);
  CHECK_EQ(watch.versions[0], 1);
  CHECK_EQ(watch.finished, 1);
  CHECK_EQ(dropped_total(subscription), 3);
  CHECK_OK(svk_subscription_dropped(subscription, NULL));
  cancel_watch(&watch);
  uint64_t total = 99;
  CHECK_STATUS(svk_subscription_dropped(subscription, &total), SVK_INVALID_HANDLE);
  CHECK_EQ(total, 0);
  close_base();
}

/* One slow observer takes nothing from another. */
static void test_observers_are_independent(void) {
  struct watch slow = WATCH_INIT, all = WATCH_INIT, by_call = WATCH_INIT;
  open_base();
  observe_bounded(&slow, SVK_BUFFER_NEWEST, 1);
  observe_bounded(&all, SVK_BUFFER_UNBOUNDED, 0);
  observe(base.service, &by_call, SVK_DELIVER_INLINE, NULL);
  svk_subscription *pull = observe_pull(base.service, 0, SVK_BUFFER_OLDEST, 2);
  for (int i = 1; i <= 10; i++)
    CHECK_OK(send_number(base.stream, i));
  CHECK_EQ(by_call.count, 10);
  CHECK_EQ(drain(base.dispatcher), 11);
  CHECK_EQ(slow.count, 1);
  CHECK_EQ(slow.versions[0], 10);
  CHECK_EQ(slow.dropped[0], 9);
  CHECK_EQ(all.count, 10);
  CHECK_EQ(all.dropped_sum, 0);
  CHECK_EQ(dropped_total(pull), 8);
  CHECK_EQ(dropped_total(by_call.subscription), 0);
  cancel_watch(&slow);
  cancel_watch(&all);
  cancel_watch(&by_call);
  close_base();
}

/* A cancelled observer's buffer is empty for ever. */
static void test_cancel_with_states_in_the_buffer(void) {
  struct watch watch = WATCH_INIT, other = WATCH_INIT;
  open_base();
  observe_bounded(&watch, SVK_BUFFER_UNBOUNDED, 0);
  observe_bounded(&other, SVK_BUFFER_UNBOUNDED, 0);
  for (int i = 1; i <= 5; i++)
    CHECK_OK(send_number(base.stream, i));
  cancel_watch(&watch);
  CHECK_EQ(drain(base.dispatcher), 5);
  CHECK_EQ(watch.count, 0);
  CHECK_EQ(other.count, 5);
  close_base();
}

/* The callback lags: states come while it runs. */
struct lag {
  svk_stream *stream;
  int burst;
  int32_t delivery;
  struct counter sent; /* the first send has returned: its thread does not deliver what comes now */
};

static void send_burst(struct watch *watch, const svk_state *state) {
  struct lag *lag = watch->context;
  if (state->version == 1 && lag->delivery != SVK_DELIVER_INLINE)
    counter_wait(&lag->sent, 1);
  if (state->version == 1)
    for (int i = 0; i < lag->burst; i++)
      CHECK_OK(send_number(lag->stream, 2 + i));
}

static void test_states_during_a_callback(void) {
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_BACKGROUND; delivery++) {
    struct watch watch = WATCH_INIT;
    open_base();
    struct lag lag = { base.stream, 5, delivery, COUNTER_INIT };
    watch.context = &lag;
    watch.on_state = send_burst;
    svk_observer_options options = observer_options(&watch, delivery, base.dispatcher);
    options.buffering = SVK_BUFFER_NEWEST;
    options.capacity = 2;
    svk_subscription *subscription = observe_with(base.service, &options);
    CHECK_OK(send_number(base.stream, 1));
    counter_add(&lag.sent, 1);
    if (delivery == SVK_DELIVER_DISPATCHER)
      CHECK_EQ(drain(base.dispatcher), 3);
    if (delivery == SVK_DELIVER_INLINE) { /* each goes through when the stream's buffer hands it on */
      CHECK_EQ(watch.count, 6);
      CHECK_EQ(watch.dropped_sum, 0);
    } else {
      counter_wait(&watch.calls, 3);
      CHECK_EQ(dropped_total(subscription), 3);
      cancel_watch(&watch);
      CHECK_EQ(watch.count, 3);
      CHECK_EQ(watch.versions[1], 5);
      CHECK_EQ(watch.dropped[1], 3);
      CHECK_EQ(watch.versions[2], 6);
      CHECK_EQ(watch.dropped[2], 0);
    }
    close_base();
    CHECK_EQ(watch.freed, 1);
  }
}

/* ---- Storm: many senders, slow observers of all deliveries; received and dropped are everything ---- */

struct tally {
  uint64_t last, received, dropped;
  _Atomic int errors, finished;
};

static void tally_take(struct tally *tally, uint64_t version, uint64_t dropped) {
  if (version <= tally->last)
    atomic_fetch_add(&tally->errors, 1);
  tally->last = version;
  tally->received++;
  tally->dropped += dropped;
}

static void tally_state(const svk_state *state, void *user_data) {
  tally_take(user_data, state->version, state->dropped);
}

static void tally_finish(void *user_data) {
  struct tally *tally = user_data;
  atomic_fetch_add(&tally->finished, 1);
}

enum { KINDS = 6 };

struct storm {
  struct tally tallies[KINDS];
  svk_subscription *subscriptions[KINDS];
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
    while (!storm->tallies[0].finished || !storm->tallies[1].finished)
      svk_dispatcher_dispatch(base.dispatcher, 1, 100 * MILLISECOND, NULL);
  } else {
    for (int which = 4; which < 6; which++) /* two pull subscriptions, one after the other */
      for (;;) {
        svk_snapshot *snapshot = NULL;
        svk_state state;
        svk_status status = svk_subscription_next(storm->subscriptions[which], FOR_EVER, &snapshot, &state);
        if (status == SVK_CLOSED)
          break;
        MUST_OK(status);
        tally_take(&storm->tallies[which], state.version, state.dropped);
        CHECK_OK(svk_snapshot_release(snapshot));
      }
  }
}

static void test_storm(void) {
  static const struct {
    int32_t delivery, buffering;
    size_t capacity;
  } kinds[KINDS] = {
    { SVK_DELIVER_DISPATCHER, SVK_BUFFER_NEWEST, 1 }, { SVK_DELIVER_DISPATCHER, SVK_BUFFER_OLDEST, 3 },
    { SVK_DELIVER_BACKGROUND, SVK_BUFFER_NEWEST, 3 }, { SVK_DELIVER_BACKGROUND, SVK_BUFFER_OLDEST, 1 },
    { SVK_DELIVER_PULL, SVK_BUFFER_NEWEST, 2 },       { SVK_DELIVER_PULL, SVK_BUFFER_OLDEST, 2 }
  };
  open_base();
  struct storm *storm = calloc(1, sizeof *storm);
  MUST(storm != NULL);
  storm->each = iterations(20000);
  atomic_store(&storm->sending, 2);
  for (int i = 0; i < KINDS; i++) {
    svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
    options.delivery = kinds[i].delivery;
    options.dispatcher = base.dispatcher;
    options.buffering = kinds[i].buffering;
    options.capacity = kinds[i].capacity;
    options.on_state = tally_state;
    options.on_finish = tally_finish;
    options.user_data = &storm->tallies[i];
    MUST_OK(svk_service_observe(base.service, &options, &storm->subscriptions[i]));
  }
  run_threads(4, storm_run, storm);
  while (!atomic_load(&storm->tallies[2].finished) || !atomic_load(&storm->tallies[3].finished))
    sched_yield();
  uint64_t sent = 2 * (uint64_t)storm->each;
  for (int i = 0; i < KINDS; i++) {
    struct tally *tally = &storm->tallies[i];
    CHECK_EQ(tally->errors, 0);
    CHECK_EQ(tally->received + dropped_total(storm->subscriptions[i]), sent);
    CHECK(tally->dropped <= dropped_total(storm->subscriptions[i]));
    if (kinds[i].buffering == SVK_BUFFER_NEWEST) { /* nothing is lost after the last delivered one */
      CHECK_EQ(tally->last, sent);
      CHECK_EQ(tally->received + tally->dropped, sent);
    }
  }
  close_base();
  free(storm);
}

int main(void) {
  RUN(test_unbounded);
  RUN(test_newest);
  RUN(test_oldest);
  RUN(test_losses_at_the_end);
  RUN(test_observers_are_independent);
  RUN(test_cancel_with_states_in_the_buffer);
  RUN(test_states_during_a_callback);
  RUN(test_storm);
  return check_done();
}
