/* Many threads end the same thing, and use it meanwhile: one wins, the others are told, nothing is freed
 * twice. */
#include "check_state.h"

enum { THREADS = 4 };

struct ends {
  svk_stream *stream;
  svk_service *service;
  svk_dispatcher *dispatcher;
  svk_subscription *inline_one, *queued, *background, *pull;
  svk_snapshot *snapshot;
  struct watch watch, watches[4];
  _Atomic int streams, services, dispatchers, subscriptions, snapshots;
};

/* Counts the winners; the others must find a dead token. */
static void won(svk_status status, _Atomic int *winners) {
  if (status == SVK_OK)
    atomic_fetch_add(winners, 1);
  else
    CHECK_STATUS(status, SVK_INVALID_HANDLE);
}

static void free_watch(void *user_data) {
  watch_free(user_data);
  free(user_data);
}

static void use(struct ends *ends) {
  svk_snapshot *snapshot = NULL;
  svk_state state;
  uint64_t number;
  long buffer;
  send_number(ends->stream, 1);
  svk_stream_send_owned(ends->stream, malloc(8), 8, free);
  svk_service_read(ends->service, &buffer, sizeof buffer, NULL, &number);
  if (svk_service_acquire(ends->service, &snapshot, &state) == SVK_OK)
    CHECK_OK(svk_snapshot_release(snapshot));
  svk_service_wait(ends->service, 0, 0, &number);
  svk_service_api(ends->service);
  if (svk_subscription_next(ends->pull, 0, &snapshot, &state) == SVK_OK)
    CHECK_OK(svk_snapshot_release(snapshot));
  svk_subscription_next_copy(ends->pull, 0, &buffer, sizeof buffer, NULL, NULL, NULL);
  svk_subscription_dropped(ends->queued, &number);
  svk_subscription_fd(ends->pull);
  svk_dispatcher_fd(ends->dispatcher);
  svk_dispatcher_wake(ends->dispatcher);
  svk_dispatcher_dispatch(ends->dispatcher, 0, 0, NULL);
  struct watch fresh = WATCH_INIT, *other = malloc(sizeof *other);
  MUST(other != NULL);
  *other = fresh;
  svk_observer_options options = observer_options(other, SVK_DELIVER_DISPATCHER, ends->dispatcher);
  options.user_data_free = free_watch;
  if (svk_service_observe(ends->service, &options, &other->subscription) != SVK_OK)
    free(other);
}

static void ends_run(int index, void *pointer) {
  struct ends *ends = pointer;
  for (int step = 0; step < 8; step++)
    switch ((step + 2 * index) % 8) {
    case 0:
      won(svk_service_close(ends->service), &ends->services);
      break;
    case 1:
      won(svk_stream_destroy(ends->stream), &ends->streams);
      break;
    case 2:
      won(svk_subscription_cancel(ends->inline_one), &ends->subscriptions);
      break;
    case 3:
      won(svk_subscription_cancel(ends->queued), &ends->subscriptions);
      break;
    case 4:
      won(svk_dispatcher_destroy(ends->dispatcher), &ends->dispatchers);
      break;
    case 5:
      won(svk_subscription_cancel(ends->pull), &ends->subscriptions);
      break;
    case 6:
      won(svk_subscription_cancel(ends->background), &ends->subscriptions);
      break;
    case 7:
      won(svk_snapshot_release(ends->snapshot), &ends->snapshots);
      break;
    }
}

static void storm_run(int index, void *pointer) {
  if (index < THREADS)
    ends_run(index, pointer);
  else
    use(pointer);
}

static struct ends *ends_create(int32_t delivery) {
  struct ends *ends = calloc(1, sizeof *ends);
  MUST(ends != NULL);
  struct watch fresh = WATCH_INIT;
  ends->watch = fresh;
  for (int i = 0; i < 4; i++)
    ends->watches[i] = fresh;
  ends->dispatcher = new_dispatcher();
  ends->stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  ends->service = new_service(ends->stream, delivery, ends->dispatcher, &ends->watch, 0);
  ends->inline_one = observe(ends->service, &ends->watches[0], SVK_DELIVER_INLINE, NULL);
  ends->queued = observe(ends->service, &ends->watches[1], SVK_DELIVER_DISPATCHER, ends->dispatcher);
  ends->background = observe(ends->service, &ends->watches[2], SVK_DELIVER_BACKGROUND, NULL);
  ends->pull = observe(ends->service, &ends->watches[3], SVK_DELIVER_PULL, NULL);
  svk_state state;
  MUST_OK(svk_service_acquire(ends->service, &ends->snapshot, &state));
  return ends;
}

static void test_ends_and_uses(void) {
  for (int i = iterations(600); i > 0; i--) {
    struct ends *ends = ends_create(i % 2 ? SVK_DELIVER_INLINE : SVK_DELIVER_DISPATCHER);
    CHECK_OK(send_number(ends->stream, 1));
    run_threads(THREADS + 2, storm_run, ends);
    CHECK_EQ(ends->streams, 1);
    CHECK(ends->services <= 1); /* the dispatcher's end closes it too, where it delivers there */
    CHECK_EQ(ends->dispatchers, 1);
    CHECK(ends->subscriptions <= 4);
    CHECK_EQ(ends->snapshots, 1);
    CHECK_EQ(ends->watch.freed, 1);
    for (int j = 0; j < 4; j++)
      CHECK_EQ(ends->watches[j].freed, 1);
    free(ends);
  }
}

/* One thing at a time, ended by all: exactly one winner, and it is quiet for all when the winner is back. */
struct single {
  int kind;
  void *token;
  _Atomic int winners;
};

static void single_run(int index, void *pointer) {
  struct single *single = pointer;
  svk_status status = SVK_OK;
  switch (single->kind) {
  case 0:
    status = svk_stream_destroy(single->token);
    break;
  case 1:
    status = svk_service_close(single->token);
    break;
  case 2:
    status =
        index % 2 ? svk_subscription_cancel(single->token) : svk_subscription_cancel_nowait(single->token);
    break;
  case 3:
    status = svk_dispatcher_destroy(single->token);
    break;
  case 4:
    status = svk_snapshot_release(single->token);
    break;
  }
  won(status, &single->winners);
}

static void test_one_winner(void) {
  for (int i = iterations(400); i > 0; i--)
    for (int kind = 0; kind < 5; kind++) {
      struct watch watch = WATCH_INIT, observer = WATCH_INIT;
      svk_dispatcher *dispatcher = new_dispatcher();
      svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
      svk_service *service = new_service(stream, SVK_DELIVER_INLINE, NULL, &watch, 0);
      svk_subscription *subscription = observe(service, &observer, SVK_DELIVER_DISPATCHER, dispatcher);
      svk_snapshot *snapshot = NULL;
      svk_state state;
      CHECK_OK(svk_service_acquire(service, &snapshot, &state));
      CHECK_OK(send_number(stream, 1));
      void *tokens[] = { stream, service, subscription, dispatcher, snapshot };
      struct single single = { .kind = kind, .token = tokens[kind] };
      run_threads(THREADS, single_run, &single);
      CHECK_EQ(single.winners, 1);
      CHECK_EQ(observer.freed, kind == 1 || kind == 2 || kind == 3);
      CHECK_EQ(watch.freed, kind == 1);
      if (kind != 4)
        CHECK_OK(svk_snapshot_release(snapshot));
      if (kind != 1)
        CHECK_OK(svk_service_close(service));
      if (kind != 0)
        CHECK_OK(svk_stream_destroy(stream));
      if (kind != 3)
        CHECK_OK(svk_dispatcher_destroy(dispatcher));
      CHECK_EQ(observer.freed, 1);
      CHECK_EQ(watch.freed, 1);
    }
}

/* Every order of the end is safe. */
static void test_every_order(void) {
  static const int orders[24][4] = { { 0, 1, 2, 3 }, { 0, 1, 3, 2 }, { 0, 2, 1, 3 }, { 0, 2, 3, 1 },
                                     { 0, 3, 1, 2 }, { 0, 3, 2, 1 }, { 1, 0, 2, 3 }, { 1, 0, 3, 2 },
                                     { 1, 2, 0, 3 }, { 1, 2, 3, 0 }, { 1, 3, 0, 2 }, { 1, 3, 2, 0 },
                                     { 2, 0, 1, 3 }, { 2, 0, 3, 1 }, { 2, 1, 0, 3 }, { 2, 1, 3, 0 },
                                     { 2, 3, 0, 1 }, { 2, 3, 1, 0 }, { 3, 0, 1, 2 }, { 3, 0, 2, 1 },
                                     { 3, 1, 0, 2 }, { 3, 1, 2, 0 }, { 3, 2, 0, 1 }, { 3, 2, 1, 0 } };
  for (int i = 0; i < 24; i++)
    for (int queued = 0; queued < 2; queued++) {
      struct ends *ends = ends_create(queued ? SVK_DELIVER_DISPATCHER : SVK_DELIVER_INLINE);
      CHECK_OK(send_number(ends->stream, 1));
      CHECK_OK(send_number(ends->stream, 2));
      int dispatcher_gone = 0;
      for (int j = 0; j < 4; j++)
        switch (orders[i][j]) {
        case 0:
          CHECK_OK(svk_stream_destroy(ends->stream));
          break;
        case 1:
          CHECK_STATUS(svk_service_close(ends->service),
                       queued && dispatcher_gone ? SVK_INVALID_HANDLE : SVK_OK);
          break;
        case 2:
          CHECK_OK(svk_dispatcher_destroy(ends->dispatcher));
          dispatcher_gone = 1;
          break;
        case 3:
          CHECK_OK(svk_snapshot_release(ends->snapshot));
          break;
        }
      CHECK_EQ(ends->watch.freed, 1);
      for (int j = 0; j < 4; j++)
        CHECK_EQ(ends->watches[j].freed, 1);
      free(ends);
    }
}

int main(void) {
  RUN(test_ends_and_uses);
  RUN(test_one_winner);
  RUN(test_every_order);
  return check_done();
}
