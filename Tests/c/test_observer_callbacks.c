/* Observers that are added, cancelled, and used in other ways, from inside callbacks. */
#include "check_state.h"

static struct {
  svk_stream *stream;
  svk_service *service;
  struct watch watch;
} base;

static void open_base(void) {
  struct watch fresh = WATCH_INIT;
  base.watch = fresh;
  base.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  base.service = new_service(base.stream, SVK_DELIVER_INLINE, NULL, &base.watch, 70);
}

static void close_base(void) {
  close_watch(&base.watch);
  CHECK_OK(svk_stream_destroy(base.stream));
}

/* ---- Adding ---- */

struct adding {
  struct watch added[2]; /* without and with the current state */
  int done;
};

static void add_two(struct watch *watch, const svk_state *state) {
  struct adding *adding = watch->context;
  if (adding->done)
    return;
  adding->done = 1;
  observe(base.service, &adding->added[0], SVK_DELIVER_INLINE, NULL);
  svk_observer_options options = observer_options(&adding->added[1], SVK_DELIVER_INLINE, NULL);
  options.flags = SVK_OBSERVE_CURRENT;
  observe_with(base.service, &options);
  CHECK_EQ(adding->added[1].count, 1); /* before observe returns, here too */
  CHECK_EQ(adding->added[1].versions[0], state->version);
  CHECK_EQ(adding->added[1].numbers[0], number_of(state));
}

static void test_added_inside(void) {
  for (int by_observer = 0; by_observer < 2; by_observer++) {
    struct adding adding = { { WATCH_INIT, WATCH_INIT }, 0 };
    struct watch observer = WATCH_INIT;
    open_base();
    observe(base.service, &observer, SVK_DELIVER_INLINE, NULL);
    struct watch *adder = by_observer ? &observer : &base.watch;
    adder->context = &adding;
    adder->on_state = add_two;
    for (int i = 1; i <= 3; i++)
      CHECK_OK(send_number(base.stream, 70 + i));
    /* The one sees the state that is under way or begins after it; the other has it once, and no gap. */
    struct watch *plain = &adding.added[0], *current = &adding.added[1];
    CHECK(plain->count == 2 || plain->count == 3);
    CHECK_EQ(plain->last_version, 3);
    CHECK_EQ(current->count, 3);
    for (int i = 0; i < 3; i++)
      CHECK_EQ(current->versions[i], i + 1);
    CHECK_EQ(plain->dropped_sum + current->dropped_sum, 0);
    cancel_watch(plain);
    cancel_watch(current);
    CHECK_OK(send_number(base.stream, 74));
    CHECK_EQ(current->count, 3);
    cancel_watch(&observer);
    close_base();
  }
}

/* Each observer adds the next one: a long list, built from within. */
struct chain {
  struct watch watches[40];
  int used;
};

static void add_next(struct watch *watch, const svk_state *state) {
  struct chain *chain = watch->context;
  if (watch != &chain->watches[chain->used - 1] || chain->used == 40)
    return;
  struct watch *next = &chain->watches[chain->used++];
  next->context = chain;
  next->on_state = add_next;
  observe(base.service, next, SVK_DELIVER_INLINE, NULL);
  (void)state;
}

static void test_chain(void) {
  static struct chain chain;
  struct watch fresh = WATCH_INIT;
  for (int i = 0; i < 40; i++)
    chain.watches[i] = fresh;
  open_base();
  chain.used = 1;
  chain.watches[0].context = &chain;
  chain.watches[0].on_state = add_next;
  observe(base.service, &chain.watches[0], SVK_DELIVER_INLINE, NULL);
  for (int i = 1; i <= 40; i++)
    CHECK_OK(send_number(base.stream, i));
  CHECK_EQ(chain.used, 40);
  for (int i = 0; i < 40; i++) {
    CHECK_EQ(chain.watches[i].last_version, 40);
    CHECK(i == 0 || chain.watches[i].count <= chain.watches[i - 1].count);
    CHECK_EQ(chain.watches[i].versions[0] + (uint64_t)chain.watches[i].count, 41); /* no gap */
  }
  close_base();
  for (int i = 0; i < 40; i++)
    CHECK_EQ(chain.watches[i].freed, 1);
}

/* ---- Cancelling oneself ---- */

static void cancel_self(struct watch *watch, const svk_state *state) {
  int nowait = watch->context != NULL;
  if (state->version < 2)
    return;
  CHECK_STATUS(nowait ? svk_subscription_cancel_nowait(watch->subscription)
                      : svk_subscription_cancel(watch->subscription),
               SVK_DEFERRED);
  CHECK_EQ(watch->freed, 0);
  /* The token ended with it, whatever it answered. */
  CHECK_STATUS(svk_subscription_cancel(watch->subscription), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_subscription_cancel_nowait(watch->subscription), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_subscription_dropped(watch->subscription, NULL), SVK_INVALID_HANDLE);
  CHECK_OK(send_number(base.stream, 99));
  CHECK_EQ(watch->freed, 0);
}

static void test_cancel_self(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_BACKGROUND; delivery++)
    for (int nowait = 0; nowait < 2; nowait++) {
      struct watch watch = WATCH_INIT, other = WATCH_INIT;
      open_base();
      watch.on_state = cancel_self;
      watch.context = nowait ? &watch : NULL;
      observe(base.service, &watch, delivery, dispatcher);
      observe(base.service, &other, SVK_DELIVER_INLINE, NULL);
      for (int i = 1; i <= 3; i++)
        CHECK_OK(send_number(base.stream, i));
      if (delivery == SVK_DELIVER_DISPATCHER)
        CHECK_EQ(drain(dispatcher), 2);
      while (atomic_load(&watch.freed) == 0)
        if (!CHECK(delivery == SVK_DELIVER_BACKGROUND)) /* elsewhere it is done when the delivery is */
          break;
        else
          sched_yield();
      CHECK_EQ(watch.count, 2);
      CHECK_EQ(watch.freed, 1);
      CHECK_EQ(watch.finished, 0);
      if (delivery != SVK_DELIVER_BACKGROUND)
        CHECK_EQ(other.count, 4);
      CHECK_OK(svk_stream_finish(base.stream));
      CHECK_EQ(drain(dispatcher), 0);
      close_base();
      CHECK_EQ(watch.count, 2);
    }
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* ---- Cancelling others ---- */

/* Cancels the watch in the context, which is not in the middle of a callback: done at once. */
static void cancel_other(struct watch *watch, const svk_state *state) {
  struct watch *other = watch->context;
  if (state->version != 2)
    return;
  CHECK_OK(svk_subscription_cancel(other->subscription));
  CHECK_EQ(other->freed, 1);
  atomic_store(&other->quiet, 1);
}

static void test_cancel_others(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  for (int32_t delivery = SVK_DELIVER_INLINE; delivery <= SVK_DELIVER_DISPATCHER; delivery++)
    for (int before = 0; before < 2; before++) {
      struct watch canceller = WATCH_INIT, victim = WATCH_INIT, witness = WATCH_INIT;
      open_base();
      canceller.context = &victim;
      canceller.on_state = cancel_other;
      if (before)
        observe(base.service, &victim, delivery, dispatcher);
      observe(base.service, &canceller, delivery, dispatcher);
      if (!before)
        observe(base.service, &victim, delivery, dispatcher);
      observe(base.service, &witness, delivery, dispatcher);
      for (int i = 1; i <= 3; i++) {
        CHECK_OK(send_number(base.stream, i));
        drain(dispatcher);
      }
      CHECK(victim.count == 1 || victim.count == 2);
      CHECK_EQ(canceller.count, 3);
      CHECK_EQ(witness.count, 3);
      close_base();
    }
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* The service's own callback comes before the observers': they get nothing of this state. */
static void test_cancel_from_the_service(void) {
  struct watch victim = WATCH_INIT;
  open_base();
  base.watch.context = &victim;
  base.watch.on_state = cancel_other;
  observe(base.service, &victim, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(send_number(base.stream, 1));
  CHECK_OK(send_number(base.stream, 2));
  CHECK_OK(send_number(base.stream, 3));
  CHECK_EQ(victim.count, 1);
  close_base();
}

/* Everybody cancels everybody, in one delivery. */
struct crowd {
  struct watch watches[8];
  int cancelled;
};

static void cancel_all(struct watch *watch, const svk_state *state) {
  (void)state;
  struct crowd *crowd = watch->context;
  for (int i = 0; i < 8; i++) {
    svk_status status = svk_subscription_cancel(crowd->watches[i].subscription);
    if (status == SVK_INVALID_HANDLE)
      continue;
    CHECK_STATUS(status, &crowd->watches[i] == watch ? SVK_DEFERRED : SVK_OK);
    crowd->cancelled++;
  }
}

static void test_cancel_all(void) {
  struct crowd crowd;
  struct watch fresh = WATCH_INIT;
  crowd.cancelled = 0;
  open_base();
  for (int i = 0; i < 8; i++) {
    crowd.watches[i] = fresh;
    crowd.watches[i].context = &crowd;
    crowd.watches[i].on_state = cancel_all;
    observe(base.service, &crowd.watches[i], SVK_DELIVER_INLINE, NULL);
  }
  CHECK_OK(send_number(base.stream, 1));
  CHECK_OK(send_number(base.stream, 2));
  CHECK_EQ(crowd.cancelled, 8);
  int called = 0;
  for (int i = 0; i < 8; i++) {
    CHECK_EQ(crowd.watches[i].freed, 1);
    called += crowd.watches[i].count;
  }
  CHECK_EQ(called, 1);
  close_base();
}

/* Cancel and observe again, in every callback: the observer replaces itself. */
struct phoenix {
  struct watch watches[30];
  int used;
};

static void replace_self(struct watch *watch, const svk_state *state) {
  struct phoenix *phoenix = watch->context;
  CHECK_STATUS(svk_subscription_cancel(watch->subscription), SVK_DEFERRED);
  if (phoenix->used == 30) /* one that is added in a delivery may be part of it, but not for ever */
    return;
  struct watch *next = &phoenix->watches[phoenix->used++];
  next->context = phoenix;
  next->on_state = replace_self;
  observe(base.service, next, SVK_DELIVER_INLINE, NULL);
  if (state->version % 2)
    CHECK_OK(send_number(base.stream, 0));
}

static void test_replace_self(void) {
  static struct phoenix phoenix;
  struct watch fresh = WATCH_INIT;
  for (int i = 0; i < 30; i++)
    phoenix.watches[i] = fresh;
  open_base();
  phoenix.used = 1;
  phoenix.watches[0].context = &phoenix;
  phoenix.watches[0].on_state = replace_self;
  observe(base.service, &phoenix.watches[0], SVK_DELIVER_INLINE, NULL);
  for (int i = 0; i < 5; i++)
    CHECK_OK(send_number(base.stream, i));
  CHECK(phoenix.used > 10 && phoenix.used < 30);
  for (int i = 0; i < phoenix.used - 1; i++) {
    CHECK_EQ(phoenix.watches[i].count, 1);
    CHECK_EQ(phoenix.watches[i].freed, 1);
  }
  close_base();
  CHECK_EQ(phoenix.watches[phoenix.used - 1].freed, 1);
}

/* ---- user_data_free is a callback, too ---- */

static void observe_in_free(struct watch *watch) {
  observe(base.service, watch->context, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(send_number(base.stream, 5));
}

static void test_use_in_free(void) {
  struct watch first = WATCH_INIT, second = WATCH_INIT;
  open_base();
  first.context = &second;
  first.on_free = observe_in_free;
  observe(base.service, &first, SVK_DELIVER_INLINE, NULL);
  cancel_watch(&first);
  CHECK_EQ(first.count, 0);
  CHECK_EQ(second.count, 1);
  cancel_watch(&second);
  close_base();
}

/* Freed on a thread that is inside the library; for dispatchers in a dispatch, or the cancelling call. */
static pthread_t freed_on;

static void note_thread(struct watch *watch) {
  (void)watch;
  freed_on = pthread_self();
}

static struct counter inside = COUNTER_INIT, go_on = COUNTER_INIT;

static void stay(struct watch *watch, const svk_state *state) {
  (void)watch, (void)state;
  counter_add(&inside, 1);
  counter_wait(&go_on, 1);
}

static void *dispatch_one(void *dispatcher) {
  size_t count = 0;
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 0, FOR_EVER, &count));
  CHECK_EQ(count, 1); /* frees are not counted */
  return NULL;
}

static void test_freed_in_the_dispatch(void) {
  struct watch watch = WATCH_INIT;
  svk_dispatcher *dispatcher = new_dispatcher();
  open_base();
  watch.on_state = stay;
  watch.on_free = note_thread;
  observe(base.service, &watch, SVK_DELIVER_DISPATCHER, dispatcher);
  CHECK_OK(send_number(base.stream, 1));
  CHECK_OK(send_number(base.stream, 2));
  pthread_t thread = start_thread(dispatch_one, dispatcher);
  counter_wait(&inside, 1);
  CHECK_STATUS(svk_subscription_cancel_nowait(watch.subscription), SVK_DEFERRED);
  CHECK_EQ(watch.freed, 0);
  counter_add(&go_on, 1);
  join_thread(thread);
  CHECK_EQ(watch.freed, 1); /* when the dispatch has returned */
  CHECK(pthread_equal(freed_on, thread));
  CHECK_EQ(watch.count, 1);
  close_base();
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

int main(void) {
  RUN(test_added_inside);
  RUN(test_chain);
  RUN(test_cancel_self);
  RUN(test_cancel_others);
  RUN(test_cancel_from_the_service);
  RUN(test_cancel_all);
  RUN(test_replace_self);
  RUN(test_use_in_free);
  RUN(test_freed_in_the_dispatch);
  return check_done();
}
