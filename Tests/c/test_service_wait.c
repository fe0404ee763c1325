/* svk_service_wait: at once, woken by a state, by the end, by the close, or by the time. */
#include "check_state.h"

static void test_at_once(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  uint64_t version = 99;
  CHECK_STATUS(svk_service_wait(service, 0, 0, &version), SVK_TIMEOUT);
  CHECK_EQ(version, 0);
  CHECK(svk_last_error()[0] != 0);
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(send_number(stream, 2));
  CHECK_OK(svk_service_wait(service, 0, 0, &version));
  CHECK_EQ(version, 2); /* the current one, not the next */
  CHECK_OK(svk_service_wait(service, 1, FOR_EVER, &version));
  CHECK_EQ(version, 2);
  CHECK_OK(svk_service_wait(service, 1, 5 * MILLISECOND, NULL));
  version = 99;
  CHECK_STATUS(svk_service_wait(service, 2, 0, &version), SVK_TIMEOUT);
  CHECK_EQ(version, 0);
  CHECK_STATUS(svk_service_wait(service, UINT64_MAX, 0, &version), SVK_TIMEOUT);
  CHECK_OK(svk_service_close(service));
  version = 99;
  CHECK_STATUS(svk_service_wait(service, 0, FOR_EVER, &version), SVK_INVALID_HANDLE);
  CHECK_EQ(version, 0);
  CHECK_OK(svk_stream_destroy(stream));
}

static void test_the_time(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  for (int64_t time = 1; time <= 30 * MILLISECOND; time *= 30) {
    int64_t before = now_ns();
    uint64_t version = 99;
    CHECK_STATUS(svk_service_wait(service, 0, time, &version), SVK_TIMEOUT);
    CHECK(now_ns() - before >= time);
    CHECK_EQ(version, 0);
  }
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

/* ---- Waiters on threads of their own ---- */

struct waiter {
  svk_service *service;
  uint64_t after, version;
  int64_t timeout;
  svk_status status;
  pthread_t thread;
};

static void *waiter_run(void *pointer) {
  struct waiter *waiter = pointer;
  waiter->status = svk_service_wait(waiter->service, waiter->after, waiter->timeout, &waiter->version);
  return NULL;
}

static void waiter_start(struct waiter *waiter, svk_service *service, uint64_t after, int64_t timeout) {
  *waiter = (struct waiter){ .service = service, .after = after, .version = 99, .timeout = timeout };
  waiter->thread = start_thread(waiter_run, waiter);
}

enum { WAITERS = 3 };
enum { BY_STATE, BY_FINISH, BY_DESTROY, BY_CLOSE, BY_DISPATCHER, WAYS };

static void test_woken(void) {
  for (int i = iterations(100); i > 0; i--)
    for (int way = 0; way < WAYS; way++) {
      struct waiter waiters[WAITERS];
      svk_dispatcher *dispatcher = new_dispatcher();
      svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
      svk_service *service = new_service(
          stream, way == BY_DISPATCHER ? SVK_DELIVER_DISPATCHER : SVK_DELIVER_INLINE, dispatcher, NULL, 0);
      for (int j = 0; j < WAITERS; j++)
        waiter_start(&waiters[j], service, 0, j ? FOR_EVER : INT64_MAX);
      for (int j = i % 2 ? 50 : 0; j > 0; j--)
        sched_yield();
      if (way == BY_STATE)
        CHECK_OK(send_number(stream, 1));
      else if (way == BY_FINISH)
        CHECK_OK(svk_stream_finish(stream));
      else if (way == BY_DESTROY)
        CHECK_OK(svk_stream_destroy(stream));
      else if (way == BY_CLOSE)
        CHECK_OK(svk_service_close(service));
      else
        CHECK_OK(svk_dispatcher_destroy(dispatcher)); /* closes it */
      for (int j = 0; j < WAITERS; j++) {
        join_thread(waiters[j].thread);
        if (way == BY_STATE) {
          CHECK_OK(waiters[j].status);
          CHECK_EQ(waiters[j].version, 1);
        } else {
          /* Whoever came after the close finds the token dead. */
          CHECK(waiters[j].status == SVK_CLOSED ||
                (way >= BY_CLOSE && waiters[j].status == SVK_INVALID_HANDLE));
          CHECK_EQ(waiters[j].version, 0);
        }
      }
      if (way < BY_CLOSE)
        CHECK_OK(svk_service_close(service));
      if (way != BY_DESTROY)
        CHECK_OK(svk_stream_destroy(stream));
      if (way != BY_DISPATCHER)
        CHECK_OK(svk_dispatcher_destroy(dispatcher));
    }
}

static void test_woken_by_the_dispatch(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  struct waiter waiter;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, NULL, 0);
  waiter_start(&waiter, service, 0, FOR_EVER);
  CHECK_OK(send_number(stream, 1));
  drain(dispatcher);
  join_thread(waiter.thread);
  CHECK_OK(waiter.status);
  CHECK_EQ(waiter.version, 1);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
}

/* A later version than the next one. */
static void test_not_woken_too_early(void) {
  struct waiter waiter;
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  waiter_start(&waiter, service, 5, FOR_EVER);
  for (int i = 1; i <= 6; i++)
    CHECK_OK(send_number(stream, i));
  join_thread(waiter.thread);
  CHECK_OK(waiter.status);
  CHECK_EQ(waiter.version, 6);
  waiter_start(&waiter, service, 9, FOR_EVER); /* which never comes */
  CHECK_OK(send_number(stream, 7));
  CHECK_OK(svk_stream_finish(stream));
  join_thread(waiter.thread);
  CHECK_STATUS(waiter.status, SVK_CLOSED);
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

/* The waiter sees the state that it was woken for. */
struct chase {
  svk_stream *stream;
  svk_service *service;
  int length;
};

static void chase_run(int index, void *pointer) {
  struct chase *chase = pointer;
  if (index == 0) {
    for (int i = 1; i <= chase->length; i++)
      CHECK_OK(send_number(chase->stream, i));
    CHECK_OK(svk_stream_finish(chase->stream));
    return;
  }
  uint64_t known = 0;
  for (;;) {
    uint64_t version, current;
    svk_status status = svk_service_wait(chase->service, known, FOR_EVER, &version);
    if (status == SVK_CLOSED)
      break;
    if (!CHECK_OK(status))
      break;
    CHECK(version > known);
    long number = read_number(chase->service, &current);
    CHECK(current >= version);
    CHECK_EQ(number, current);
    known = current;
  }
  CHECK_EQ(known, chase->length); /* the last one is never missed */
}

static void test_the_last_one_is_never_missed(void) {
  for (int i = iterations(40); i > 0; i--) {
    struct chase chase = { .stream = new_stream(SVK_BUFFER_UNBOUNDED, 0), .length = 1 + i * 17 % 300 };
    chase.service = new_inline_service(chase.stream);
    run_threads(4, chase_run, &chase);
    CHECK_OK(svk_service_close(chase.service));
    CHECK_OK(svk_stream_destroy(chase.stream));
  }
}

/* To and fro: each side waits for the other's version. A lost wake-up would hang here. */
static void ping_run(int index, void *pointer) {
  struct chase *both = pointer;
  struct chase *own = &both[index], *other = &both[!index];
  for (int i = 1; i <= own->length; i++) {
    if (index == 0)
      CHECK_OK(send_number(own->stream, i));
    CHECK_OK(svk_service_wait(other->service, (uint64_t)i - 1, FOR_EVER, NULL));
    if (index == 1)
      CHECK_OK(send_number(own->stream, i));
  }
}

static void test_ping_pong(void) {
  struct chase both[2];
  for (int i = 0; i < 2; i++) {
    both[i] = (struct chase){ .stream = new_stream(SVK_BUFFER_UNBOUNDED, 0), .length = iterations(5000) };
    both[i].service = new_inline_service(both[i].stream);
  }
  run_threads(2, ping_run, both);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(svk_service_close(both[i].service));
    CHECK_OK(svk_stream_destroy(both[i].stream));
  }
}

/* Timeouts that race with states: whatever it answers is true. */
static void brief_run(int index, void *pointer) {
  struct chase *chase = pointer;
  if (index == 0) {
    for (int i = 1; i <= chase->length; i++)
      CHECK_OK(send_number(chase->stream, i));
    return;
  }
  uint64_t known = 0;
  while (known < (uint64_t)chase->length) {
    uint64_t version = 99;
    svk_status status = svk_service_wait(chase->service, known, index * 1000, &version);
    if (status == SVK_TIMEOUT) {
      CHECK_EQ(version, 0);
      continue;
    }
    if (!CHECK_OK(status))
      break;
    CHECK(version > known);
    known = version;
  }
}

static void test_short_waits(void) {
  struct chase chase = { .stream = new_stream(SVK_BUFFER_UNBOUNDED, 0), .length = iterations(20000) };
  chase.service = new_inline_service(chase.stream);
  run_threads(4, brief_run, &chase);
  CHECK_OK(svk_service_close(chase.service));
  CHECK_OK(svk_stream_destroy(chase.stream));
}

/* A callback may wait, on another service for ever, on its own with a timeout. */
static void wait_inside(struct watch *watch, const svk_state *state) {
  uint64_t version;
  CHECK_STATUS(svk_service_wait(watch->service, state->version, MILLISECOND, &version), SVK_TIMEOUT);
  CHECK_OK(svk_service_wait(watch->context, 0, FOR_EVER, &version));
}

static void test_inside_a_callback(void) {
  struct watch watch = WATCH_INIT;
  struct chase other = { .stream = new_stream(SVK_BUFFER_UNBOUNDED, 0), .length = 1 };
  other.service = new_inline_service(other.stream);
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  new_service(stream, SVK_DELIVER_BACKGROUND, NULL, &watch, 0);
  watch.context = other.service;
  watch.on_state = wait_inside;
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(send_number(other.stream, 1));
  counter_wait(&watch.calls, 1);
  close_watch(&watch);
  CHECK_OK(svk_service_close(other.service));
  CHECK_OK(svk_stream_destroy(other.stream));
  CHECK_OK(svk_stream_destroy(stream));
}

int main(void) {
  RUN(test_at_once);
  RUN(test_the_time);
  RUN(test_woken);
  RUN(test_woken_by_the_dispatch);
  RUN(test_not_woken_too_early);
  RUN(test_the_last_one_is_never_missed);
  RUN(test_ping_pong);
  RUN(test_short_waits);
  RUN(test_inside_a_callback);
  return check_done();
}
