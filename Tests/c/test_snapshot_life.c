/* Snapshots keep a state alive and unchanged: beyond newer states, the service, the stream, other threads. */
#include "check_state.h"

static void test_beyond_everything(void) {
  svk_dispatcher *dispatcher = new_dispatcher();
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_DISPATCHER, dispatcher, NULL, 70);
  svk_snapshot *snapshots[4];
  svk_state states[4];
  CHECK_OK(svk_service_acquire(service, &snapshots[0], &states[0]));
  for (int i = 1; i < 4; i++) {
    CHECK_OK(send_number(stream, 70 + i));
    drain(dispatcher);
    CHECK_OK(svk_service_acquire(service, &snapshots[i], &states[i]));
  }
  for (int i = 0; i < 4; i++) {
    CHECK_EQ(number_of(&states[i]), 70 + i);
    CHECK_EQ(states[i].version, i);
    CHECK_EQ(states[i].dropped, 0);
    CHECK_EQ((uintptr_t)states[i].data % 16, 0);
    for (int j = 0; j < i; j++)
      CHECK(snapshots[i] != snapshots[j]);
  }
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_dispatcher_destroy(dispatcher));
  CHECK_STATUS(svk_service_close(service), SVK_INVALID_HANDLE); /* the dispatcher's end closed it */
  for (int i = 3; i >= 0; i--) {
    CHECK_EQ(number_of(&states[i]), 70 + i);
    CHECK_OK(svk_snapshot_release(snapshots[i]));
    CHECK_STATUS(svk_snapshot_release(snapshots[i]), SVK_INVALID_HANDLE);
  }
}

/* Two of the same state are two, and end one by one. */
static void test_two_of_one_state(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, NULL, 70);
  svk_snapshot *one, *other;
  svk_state first, second;
  CHECK_OK(svk_service_acquire(service, &one, &first));
  CHECK_OK(svk_service_acquire(service, &other, &second));
  CHECK(one != other);
  CHECK_OK(send_number(stream, 71));
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_OK(svk_snapshot_release(one));
  CHECK_STATUS(svk_snapshot_release(one), SVK_INVALID_HANDLE);
  CHECK_EQ(number_of(&second), 70);
  CHECK_OK(svk_snapshot_release(other));
}

/* Those of a pull subscription, beyond its cancel. */
static void test_pulled(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  svk_subscription *pull = observe_pull(service, 0, SVK_BUFFER_UNBOUNDED, 0);
  CHECK_OK(send_number(stream, 71));
  CHECK_OK(send_number(stream, 72));
  svk_snapshot *snapshot = NULL;
  svk_state state;
  CHECK_OK(svk_subscription_next(pull, 0, &snapshot, &state));
  CHECK_OK(svk_subscription_cancel(pull));
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_EQ(number_of(&state), 71);
  CHECK_OK(svk_snapshot_release(snapshot));
}

/* Taken on one thread, released on another, by one of two; and on a thread that has ended. */
static svk_snapshot *taken;
static svk_state taken_state;

static void *take_on_a_thread(void *service) {
  CHECK_OK(svk_service_acquire(service, &taken, &taken_state));
  return NULL;
}

static void release_run(int index, void *winners) {
  (void)index;
  svk_status status = svk_snapshot_release(taken);
  if (status == SVK_OK)
    atomic_fetch_add((_Atomic int *)winners, 1);
  else
    CHECK_STATUS(status, SVK_INVALID_HANDLE);
}

static void test_threads(void) {
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, NULL, 70);
  for (int i = iterations(300); i > 0; i--) {
    pthread_t thread = start_thread(take_on_a_thread, service);
    join_thread(thread); /* the thread is gone, the snapshot is not */
    CHECK_OK(send_number(stream, i));
    CHECK_EQ(number_of(&taken_state), i == iterations(300) ? 70 : i + 1);
    _Atomic int winners = 0;
    run_threads(2, release_run, &winners);
    CHECK_EQ(winners, 1);
  }
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
}

/* Inside callbacks, of the state that is delivered: it outlives the callback. */
struct keeper {
  svk_snapshot *snapshots[8];
  svk_state states[8];
  int used;
};

static void keep(struct watch *watch, const svk_state *state) {
  struct keeper *keeper = watch->context;
  svk_state *kept = &keeper->states[keeper->used];
  CHECK_OK(svk_service_acquire(watch->service, &keeper->snapshots[keeper->used++], kept));
  CHECK_EQ(kept->version, state->version);
}

static void test_inside_callbacks(void) {
  struct watch watch = WATCH_INIT;
  struct keeper keeper = { .used = 0 };
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  watch.context = &keeper;
  watch.on_state = keep;
  new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
  for (int i = 1; i <= 8; i++)
    CHECK_OK(send_number(stream, i));
  close_watch(&watch);
  CHECK_OK(svk_stream_destroy(stream));
  for (int i = 0; i < 8; i++) {
    CHECK_EQ(number_of(&keeper.states[i]), i + 1);
    CHECK_OK(svk_snapshot_release(keeper.snapshots[i]));
  }
}

/* Many at once, released in another order. */
static void test_many(void) {
  int many = iterations(20000);
  svk_snapshot **snapshots = calloc((size_t)many, sizeof *snapshots);
  svk_state *states = calloc((size_t)many, sizeof *states);
  MUST(snapshots != NULL && states != NULL);
  svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_service *service = new_inline_service(stream);
  for (int i = 0; i < many; i++) {
    if (i % 2)
      CHECK_OK(send_number(stream, i));
    CHECK_OK(svk_service_acquire(service, &snapshots[i], &states[i]));
  }
  CHECK_OK(svk_service_close(service));
  CHECK_OK(svk_stream_destroy(stream));
  for (int step = 0; step < 3; step++)
    for (int i = step; i < many; i += 3) {
      if (number_of(&states[i]) != (i % 2 ? i : i > 0 ? i - 1 : 0))
        CHECK(!"the number");
      CHECK_OK(svk_snapshot_release(snapshots[i]));
    }
  free(snapshots);
  free(states);
}

int main(void) {
  RUN(test_beyond_everything);
  RUN(test_two_of_one_state);
  RUN(test_pulled);
  RUN(test_threads);
  RUN(test_inside_callbacks);
  RUN(test_many);
  return check_done();
}
