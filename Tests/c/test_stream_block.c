/* The stream's own blocking buffer: the sender waits for room, and is woken by it or by the end. */
#include "check_state.h"

/* A sender on a thread of its own. */
struct sender {
  svk_stream *stream;
  int how; /* 0: send, 1: send_owned, 2: send_within */
  long number;
  _Atomic int returned;
  svk_status status;
  pthread_t thread;
};

static void *sender_run(void *pointer) {
  struct sender *sender = pointer;
  long *number = malloc(sizeof *number);
  MUST(number != NULL);
  *number = sender->number;
  if (sender->how == 0)
    sender->status = svk_stream_send(sender->stream, number, sizeof *number);
  else if (sender->how == 1)
    sender->status = svk_stream_send_owned(sender->stream, number, sizeof *number, free);
  else
    sender->status = svk_stream_send_within(sender->stream, number, sizeof *number, FOR_EVER);
  if (sender->how != 1)
    free(number);
  atomic_store(&sender->returned, 1);
  return NULL;
}

static void sender_start(struct sender *sender, svk_stream *stream, int how, long number) {
  *sender = (struct sender){ .stream = stream, .how = how, .number = number };
  sender->thread = start_thread(sender_run, sender);
}

/* Gives a thread that is about to wait the time to do so. No check depends on it. */
static void let_others_run(void) {
  for (int i = 0; i < 100; i++)
    sched_yield();
}

static void test_within(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT;
  svk_stream *stream = new_stream(SVK_BUFFER_BLOCK, 2);
  CHECK_OK(svk_stream_send_within(stream, &(long){ 1 }, sizeof(long), 0));
  CHECK_OK(svk_stream_send_within(stream, &(long){ 2 }, sizeof(long), FOR_EVER));
  /* Also while no service is attached. */
  CHECK_STATUS(svk_stream_send_within(stream, &(long){ 3 }, sizeof(long), 0), SVK_TIMEOUT);
  int64_t before = now_ns();
  CHECK_STATUS(svk_stream_send_within(stream, &(long){ 3 }, sizeof(long), 20 * MILLISECOND), SVK_TIMEOUT);
  CHECK(now_ns() - before >= 20 * MILLISECOND);
  CHECK(svk_last_error()[0] != 0);
  CHECK_STATUS(svk_stream_send_within(stream, NULL, 1, 0), SVK_INVALID_ARGUMENT);
  new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
  CHECK_STATUS(svk_stream_send_within(stream, &(long){ 3 }, sizeof(long), 0), SVK_TIMEOUT);
  size_t count;
  CHECK_OK(svk_dispatcher_dispatch(dispatcher, 1, 0, &count));
  CHECK_OK(svk_stream_send_within(stream, &(long){ 3 }, sizeof(long), 0));
  CHECK_STATUS(svk_stream_send_within(stream, &(long){ 4 }, sizeof(long), MILLISECOND), SVK_TIMEOUT);
  drain(dispatcher);
  CHECK_EQ(watch.count, 3);
  CHECK_EQ(watch.last_version, 3); /* what was not taken has no version */
  CHECK_EQ(watch.last_number, 3);
  CHECK_EQ(watch.dropped_sum, 0);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* The other bufferings do not wait. */
static void test_within_elsewhere(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_NEWEST, 1);
  CHECK_OK(svk_stream_send_within(stream, "1", 1, FOR_EVER));
  CHECK_OK(svk_stream_send_within(stream, "2", 1, 0));
  CHECK_OK(svk_stream_destroy(stream));
  stream = new_stream(SVK_BUFFER_OLDEST, 1);
  CHECK_OK(svk_stream_send_within(stream, "1", 1, 0));
  CHECK_STATUS(svk_stream_send_within(stream, "2", 1, 0), SVK_BUFFER_FULL);
  CHECK_OK(svk_stream_destroy(stream));
  stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(svk_stream_send_within(stream, "1", 1, 0));
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_woken_by_the_consumer(void) {
  for (int how = 0; how < 3; how++) {
    svk_dispatcher *dispatcher = new_dispatcher();
    struct watch watch = WATCH_INIT;
    struct sender senders[3];
    svk_stream *stream = new_stream(SVK_BUFFER_BLOCK, 1);
    new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
    CHECK_OK(send_number(stream, 1));
    for (int i = 0; i < 3; i++)
      sender_start(&senders[i], stream, how, 2 + i);
    let_others_run();
    for (int i = 0; i < 3; i++)
      CHECK_EQ(senders[i].returned, 0); /* there is no room for any of them */
    while (watch.count < 4)
      CHECK_OK(svk_dispatcher_dispatch(dispatcher, 1, FOR_EVER, NULL));
    for (int i = 0; i < 3; i++) {
      join_thread(senders[i].thread);
      CHECK_OK(senders[i].status);
    }
    CHECK_EQ(watch.last_version, 4);
    CHECK_EQ(watch.numbers[0], 1);
    CHECK_EQ(watch.numbers[1] + watch.numbers[2] + watch.numbers[3], 2 + 3 + 4);
    close_watch(&watch);
    CHECK_OK(svk_stream_destroy(stream));
    CHECK_OK(svk_dispatcher_destroy(dispatcher));
  }
}

/* Attaching a service makes room too. */
static void test_woken_by_an_attach(void) {
  for (int i = iterations(50); i > 0; i--) {
    struct watch watch = WATCH_INIT;
    struct sender sender;
    svk_stream *stream = new_stream(SVK_BUFFER_BLOCK, 1);
    CHECK_OK(send_number(stream, 1));
    sender_start(&sender, stream, 0, 2);
    if (i % 2)
      let_others_run();
    new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
    join_thread(sender.thread);
    CHECK_OK(sender.status);
    counter_wait(&watch.calls, 2);
    CHECK_EQ(watch.numbers[0], 1);
    CHECK_EQ(watch.numbers[1], 2);
    close_watch(&watch);
    CHECK_OK(svk_stream_destroy(stream));
  }
}

enum { BY_FINISH, BY_DESTROY, BY_CLOSE, BY_DISPATCHER, WAYS };

static void test_woken_by_the_end(void) {
  for (int i = iterations(100); i > 0; i--)
    for (int way = 0; way < WAYS; way++) {
      svk_dispatcher *dispatcher = new_dispatcher();
      struct watch watch = WATCH_INIT;
      struct sender senders[3];
      svk_stream *stream = new_stream(SVK_BUFFER_BLOCK, 1);
      svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, &watch, 0);
      CHECK_OK(send_number(stream, 1));
      for (int j = 0; j < 3; j++)
        sender_start(&senders[j], stream, j, 2);
      if (i % 2)
        let_others_run();
      if (way == BY_FINISH)
        CHECK_OK(svk_stream_finish(stream));
      else if (way == BY_DESTROY)
        CHECK_OK(svk_stream_destroy(stream));
      else if (way == BY_CLOSE)
        CHECK_OK(svk_service_close(service));
      else
        CHECK_OK(svk_dispatcher_destroy(dispatcher));
      for (int j = 0; j < 3; j++) {
        join_thread(senders[j].thread);
        /* One that came too late finds the token dead. */
        CHECK(senders[j].status == SVK_CLOSED ||
              (way == BY_DESTROY && senders[j].status == SVK_INVALID_HANDLE));
      }
      if (way == BY_FINISH || way == BY_DESTROY) {
        CHECK_EQ(drain(dispatcher), 2);
        CHECK_EQ(watch.count, 1);
        CHECK_EQ(watch.finished, 1);
        CHECK_OK(svk_service_close(service));
      } else {
        CHECK_EQ(watch.count, 0);
        CHECK_EQ(watch.finished, 0);
      }
      CHECK_EQ(watch.freed, 1);
      if (way != BY_DESTROY)
        CHECK_OK(svk_stream_destroy(stream));
      if (way != BY_DISPATCHER)
        CHECK_OK(svk_dispatcher_destroy(dispatcher));
    }
}

/* Without any service. */
static void test_woken_by_the_end_of_a_lone_stream(void) {
  for (int way = BY_FINISH; way <= BY_DESTROY; way++) {
    struct sender sender;
    svk_stream *stream = new_stream(SVK_BUFFER_BLOCK, 1);
    CHECK_OK(send_number(stream, 1));
    sender_start(&sender, stream, 0, 2);
    let_others_run();
    CHECK_OK(way == BY_FINISH ? svk_stream_finish(stream) : svk_stream_destroy(stream));
    join_thread(sender.thread);
    CHECK(sender.status == SVK_CLOSED || (way == BY_DESTROY && sender.status == SVK_INVALID_HANDLE));
    if (way == BY_FINISH)
      CHECK_OK(svk_stream_destroy(stream));
  }
}

/* ---- The one who would have to drain it itself ---- */

struct burst {
  svk_stream *stream;
  int accepted, full;
};

static void send_burst(struct watch *watch, const svk_state *state) {
  struct burst *burst = watch->context;
  if (state->version != 1)
    return;
  for (int i = 0; i < 6; i++) {
    long number = 2 + i;
    svk_status status = i % 2 ? send_number(burst->stream, number)
                              : svk_stream_send_within(burst->stream, &number, sizeof number, FOR_EVER);
    if (status == SVK_OK) {
      CHECK_EQ(burst->full, 0);
      burst->accepted++;
    } else {
      CHECK_STATUS(status, SVK_BUFFER_FULL);
      burst->full++;
    }
  }
  CHECK_STATUS(svk_stream_send_owned(burst->stream, malloc(16), 16, free), SVK_BUFFER_FULL);
}

static void check_full_inside(int32_t delivery, int by_observer) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct watch watch = WATCH_INIT, observer = WATCH_INIT;
  struct burst burst = { new_stream(SVK_BUFFER_BLOCK, 2), 0, 0 };
  watch.context = observer.context = &burst;
  (by_observer ? &observer : &watch)->on_state = send_burst;
  svk_service *service = new_service(burst.stream, delivery, dispatcher, &watch, 0);
  observe(service, &observer, SVK_DELIVER_INLINE, NULL);
  CHECK_OK(send_number(burst.stream, 1));
  if (delivery == SVK_DELIVER_DISPATCHER)
    drain(dispatcher);
  else if (delivery == SVK_DELIVER_BACKGROUND) /* watch.calls and so on come last of all */
    while (counter_value(&observer.calls) < 3)
      sched_yield();
  CHECK_EQ(burst.accepted, 2);
  CHECK_EQ(burst.full, 4);
  close_watch(&watch);
  CHECK_EQ(watch.count, 3);
  CHECK_EQ(watch.last_version, 3);
  CHECK_EQ(observer.count, 3);
  CHECK_EQ(observer.freed, 1);
  CHECK_OK(svk_stream_destroy(burst.stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

static void test_full_instead_of_a_deadlock(void) {
  for (int by_observer = 0; by_observer < 2; by_observer++) {
    check_full_inside(SVK_DELIVER_INLINE, by_observer);
    check_full_inside(SVK_DELIVER_DISPATCHER, by_observer);
    check_full_inside(SVK_DELIVER_BACKGROUND, by_observer);
  }
}

/* A sender on another thread waits meanwhile, as it should. */
static struct counter inside = COUNTER_INIT, leave = COUNTER_INIT;

static void stay(struct watch *watch, const svk_state *state) {
  (void)watch;
  if (state->version == 1) {
    counter_add(&inside, 1);
    counter_wait(&leave, 1);
  }
}

static void test_others_wait_for_an_inline_delivery(void) {
  struct watch watch = WATCH_INIT;
  struct sender first, second, third;
  watch.on_state = stay;
  svk_stream *stream = new_stream(SVK_BUFFER_BLOCK, 1);
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  sender_start(&first, stream, 0, 1);
  counter_wait(&inside, 1);
  CHECK_OK(send_number(stream, 2)); /* into the buffer */
  CHECK_STATUS(svk_stream_send_within(stream, "x", 1, 0), SVK_TIMEOUT);
  sender_start(&second, stream, 0, 3);
  sender_start(&third, stream, 1, 4);
  let_others_run();
  CHECK_EQ(second.returned, 0);
  CHECK_EQ(third.returned, 0);
  counter_add(&leave, 1);
  join_thread(first.thread);
  join_thread(second.thread);
  join_thread(third.thread);
  CHECK_OK(first.status);
  CHECK_OK(second.status);
  CHECK_OK(third.status);
  CHECK_EQ(watch.count, 4);
  CHECK_EQ(watch.last_version, 4);
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
}

/* ---- Storms ---- */

struct block_storm {
  svk_stream *stream;
  svk_dispatcher *dispatcher;
  int each, capacity;
  uint64_t last;
  _Atomic int accepted, begun, errors;
};

static void storm_state(const svk_state *state, void *user_data) {
  struct block_storm *storm = user_data;
  if (state->version != ++storm->last || state->dropped != 0)
    atomic_fetch_add(&storm->errors, 1);
  atomic_fetch_add(&storm->begun, 1);
}

static void storm_run(int index, void *pointer) {
  struct block_storm *storm = pointer;
  if (index == 0 && storm->dispatcher != NULL) {
    while (atomic_load(&storm->begun) < 3 * storm->each)
      CHECK_OK(svk_dispatcher_dispatch(storm->dispatcher, 0, FOR_EVER, NULL));
    return;
  }
  for (int i = 0; i < storm->each; i++) {
    svk_status status = send_number(storm->stream, i);
    int accepted = atomic_fetch_add(&storm->accepted, 1) + 1;
    /* One may have left the buffer and not have been counted yet. */
    if (status != SVK_OK || accepted > atomic_load(&storm->begun) + storm->capacity + 1)
      atomic_fetch_add(&storm->errors, 1);
  }
}

static void check_storm(int32_t delivery, int capacity) {
  struct block_storm storm = { .each = iterations(4000), .capacity = capacity };
  storm.stream = new_stream(SVK_BUFFER_BLOCK, (size_t)capacity);
  if (delivery == SVK_DELIVER_DISPATCHER)
    storm.dispatcher = new_dispatcher();
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = storm.stream;
  options.delivery = delivery;
  options.dispatcher = storm.dispatcher;
  options.on_state = storm_state;
  options.user_data = &storm;
  svk_service *service = NULL;
  MUST_OK(svk_service_create(&options, &service));
  int senders = storm.dispatcher != NULL ? 3 : 4;
  run_threads(4, storm_run, &storm);
  while (atomic_load(&storm.begun) < senders * storm.each)
    sched_yield();
  CHECK_OK(svk_service_close(service));
  CHECK_EQ(storm.last, senders * storm.each);
  CHECK_EQ(storm.errors, 0);
  CHECK_OK(svk_stream_destroy(storm.stream));
  if (storm.dispatcher != NULL)
    CHECK_OK(svk_dispatcher_destroy(storm.dispatcher));
}

static void test_storms(void) {
  for (int capacity = 1; capacity <= 5; capacity += 4) {
    check_storm(SVK_DELIVER_INLINE, capacity);
    check_storm(SVK_DELIVER_DISPATCHER, capacity);
    check_storm(SVK_DELIVER_BACKGROUND, capacity);
  }
}

int main(void) {
  RUN(test_within);
  RUN(test_within_elsewhere);
  RUN(test_woken_by_the_consumer);
  RUN(test_woken_by_an_attach);
  RUN(test_woken_by_the_end);
  RUN(test_woken_by_the_end_of_a_lone_stream);
  RUN(test_full_instead_of_a_deadlock);
  RUN(test_others_wait_for_an_inline_delivery);
  RUN(test_storms);
  return check_done();
}
