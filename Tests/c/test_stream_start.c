/* `start`: called once, when a service attaches, on that thread. One service in a stream's life. */
#include "check_state.h"

struct producer {
  void (*on_start)(struct producer *producer, svk_stream *stream);
  svk_stream *stream;
  svk_service *service;
  struct watch watch;
  pthread_t thread;
  _Atomic int started, returned, freed;
};

#define PRODUCER_INIT { .watch = WATCH_INIT }

static void producer_start(svk_stream *stream, void *user_data) {
  struct producer *producer = user_data;
  CHECK_EQ(atomic_fetch_add(&producer->started, 1), 0);
  CHECK_EQ(producer->freed, 0);
  CHECK(stream == producer->stream); /* the token from svk_stream_create */
  producer->thread = pthread_self();
  if (producer->on_start != NULL)
    producer->on_start(producer, stream);
  atomic_fetch_add(&producer->returned, 1);
}

static void producer_free(void *user_data) {
  struct producer *producer = user_data;
  CHECK_EQ(producer->started, producer->returned);
  CHECK_EQ(atomic_fetch_add(&producer->freed, 1), 0);
}

static void producer_create(struct producer *producer) {
  svk_stream_options options = SVK_STREAM_OPTIONS_INIT;
  options.start = producer_start;
  options.user_data = producer;
  options.user_data_free = producer_free;
  MUST_OK(svk_stream_create(&options, &producer->stream));
}

static svk_service_options producer_service(struct producer *producer) {
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = producer->stream;
  options.on_state = watch_state;
  options.on_finish = watch_finish;
  options.user_data = &producer->watch;
  options.user_data_free = watch_free;
  return options;
}

static svk_status producer_attach(struct producer *producer) {
  svk_service_options options = producer_service(producer);
  return svk_service_create(&options, &producer->service);
}

static void test_start_is_called_once(void) {
  struct producer producer = PRODUCER_INIT;
  producer_create(&producer);
  CHECK_EQ(producer.started, 0);
  CHECK_OK(send_number(producer.stream, 1));
  CHECK_EQ(producer.started, 0);
  CHECK_OK(producer_attach(&producer));
  CHECK_EQ(producer.started, 1);
  CHECK(pthread_equal(producer.thread, pthread_self()));
  CHECK_EQ(producer.watch.count, 1);
  CHECK_OK(send_number(producer.stream, 2));
  CHECK_EQ(producer.watch.count, 2);
  CHECK_OK(svk_service_close(producer.service));
  CHECK_EQ(producer.started, 1);
  CHECK_EQ(producer.freed, 0); /* the stream lives */
  CHECK_OK(svk_stream_destroy(producer.stream));
  CHECK_EQ(producer.freed, 1);
}

static void test_no_service_no_start(void) {
  struct producer producer = PRODUCER_INIT;
  producer_create(&producer);
  CHECK_OK(send_number(producer.stream, 1));
  CHECK_OK(svk_stream_destroy(producer.stream));
  CHECK_EQ(producer.started, 0);
  CHECK_EQ(producer.freed, 1);
}

static void *attach_elsewhere(void *pointer) {
  struct producer *producer = pointer;
  CHECK_OK(producer_attach(producer));
  CHECK(pthread_equal(producer->thread, pthread_self()));
  return NULL;
}

static void test_start_runs_on_the_attaching_thread(void) {
  struct producer producer = PRODUCER_INIT;
  producer_create(&producer);
  pthread_t thread = start_thread(attach_elsewhere, &producer);
  join_thread(thread);
  CHECK_EQ(producer.started, 1);
  CHECK_OK(svk_stream_destroy(producer.stream));
  CHECK_OK(svk_service_close(producer.service));
  CHECK_EQ(producer.freed, 1);
}

/* start may send, read the service that is set already, and observe it. */
static struct watch early = WATCH_INIT;

static void send_three(struct producer *producer, svk_stream *stream) {
  MUST(producer->service != NULL);
  svk_snapshot *snapshot = NULL;
  svk_state state;
  CHECK_OK(svk_service_acquire(producer->service, &snapshot, &state));
  CHECK_OK(svk_snapshot_release(snapshot));
  observe(producer->service, &early, SVK_DELIVER_INLINE, NULL);
  for (int i = 3; i <= 5; i++)
    CHECK_OK(send_number(stream, i));
}

static void test_start_sends(void) {
  struct producer producer = PRODUCER_INIT;
  producer.on_start = send_three;
  producer_create(&producer);
  CHECK_OK(send_number(producer.stream, 1));
  CHECK_OK(send_number(producer.stream, 2));
  CHECK_OK(producer_attach(&producer));
  CHECK_EQ(producer.watch.count, 5);
  for (int i = 0; i < 5; i++) {
    CHECK_EQ(producer.watch.versions[i], i + 1);
    CHECK_EQ(producer.watch.numbers[i], i + 1);
  }
  CHECK(early.count >= 3 && early.last_version == 5);
  CHECK_OK(svk_service_close(producer.service));
  CHECK_EQ(producer.watch.freed, 1);
  CHECK_EQ(early.freed, 1);
  CHECK_OK(svk_stream_destroy(producer.stream));
}

/* A start that lasts, with a sender on another thread meanwhile. */
static struct counter started = COUNTER_INIT, sent = COUNTER_INIT;

static void wait_for_sender(struct producer *producer, svk_stream *stream) {
  (void)producer;
  counter_add(&started, 1);
  counter_wait(&sent, 1);
  CHECK_OK(send_number(stream, 2));
}

static void *send_during_start(void *pointer) {
  struct producer *producer = pointer;
  counter_wait(&started, 1);
  CHECK_OK(send_number(producer->stream, 1));
  counter_add(&sent, 1);
  return NULL;
}

static void test_sends_from_elsewhere_during_start(void) {
  struct producer producer = PRODUCER_INIT;
  producer.on_start = wait_for_sender;
  producer_create(&producer);
  pthread_t thread = start_thread(send_during_start, &producer);
  CHECK_OK(producer_attach(&producer));
  join_thread(thread);
  CHECK_EQ(producer.watch.count, 2);
  CHECK_EQ(producer.watch.numbers[0], 1);
  CHECK_EQ(producer.watch.numbers[1], 2);
  CHECK_OK(svk_service_close(producer.service));
  CHECK_OK(svk_stream_destroy(producer.stream));
}

static void finish_it(struct producer *producer, svk_stream *stream) {
  (void)producer;
  CHECK_OK(send_number(stream, 1));
  CHECK_OK(svk_stream_finish(stream));
  CHECK_STATUS(send_number(stream, 2), SVK_CLOSED);
}

static void test_start_finishes(void) {
  struct producer producer = PRODUCER_INIT;
  producer.on_start = finish_it;
  producer_create(&producer);
  CHECK_OK(producer_attach(&producer));
  CHECK_EQ(producer.watch.count, 1);
  CHECK_EQ(producer.watch.finished, 1);
  CHECK_OK(svk_service_close(producer.service));
  CHECK_OK(svk_stream_destroy(producer.stream));
}

/* user_data must live until start has returned. */
static void destroy_it(struct producer *producer, svk_stream *stream) {
  CHECK_OK(svk_stream_destroy(stream));
  CHECK_EQ(producer->freed, 0);
  CHECK_STATUS(send_number(stream, 1), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_stream_destroy(stream), SVK_INVALID_HANDLE);
}

static void test_start_destroys(void) {
  struct producer producer = PRODUCER_INIT;
  producer.on_start = destroy_it;
  producer_create(&producer);
  CHECK_OK(producer_attach(&producer));
  CHECK_EQ(producer.freed, 1);
  CHECK_EQ(producer.watch.finished, 1);
  CHECK_OK(svk_service_close(producer.service));
}

static void *destroy_during_start(void *pointer) {
  struct producer *producer = pointer;
  counter_wait(&started, 1);
  CHECK_OK(svk_stream_destroy(producer->stream)); /* does not wait */
  CHECK_EQ(producer->freed, 0);
  counter_add(&sent, 1);
  return NULL;
}

static void wait_only(struct producer *producer, svk_stream *stream) {
  (void)stream;
  counter_add(&started, 1);
  counter_wait(&sent, 1);
  CHECK_EQ(producer->freed, 0);
}

static void test_destroy_during_start(void) {
  struct producer producer = PRODUCER_INIT;
  counter_reset(&started);
  counter_reset(&sent);
  producer.on_start = wait_only;
  producer_create(&producer);
  pthread_t thread = start_thread(destroy_during_start, &producer);
  CHECK_OK(producer_attach(&producer));
  join_thread(thread);
  CHECK_EQ(producer.freed, 1);
  CHECK_EQ(producer.watch.finished, 1);
  CHECK_OK(svk_service_close(producer.service));
}

static void close_it(struct producer *producer, svk_stream *stream) {
  svk_status status = svk_service_close(producer->service);
  CHECK(status == SVK_OK || status == SVK_DEFERRED);
  CHECK_STATUS(send_number(stream, 1), SVK_CLOSED);
}

static void test_start_closes(void) {
  struct producer producer = PRODUCER_INIT;
  producer.on_start = close_it;
  producer_create(&producer);
  CHECK_OK(producer_attach(&producer));
  CHECK_STATUS(svk_service_close(producer.service), SVK_INVALID_HANDLE);
  CHECK_EQ(producer.watch.freed, 1);
  CHECK_EQ(producer.watch.count, 0);
  CHECK_EQ(producer.watch.finished, 0);
  CHECK_OK(svk_stream_destroy(producer.stream));
  CHECK_EQ(producer.freed, 1);
}

static void test_second_service(void) {
  struct producer producer = PRODUCER_INIT;
  producer_create(&producer);
  CHECK_OK(producer_attach(&producer));
  struct watch other = WATCH_INIT;
  svk_service_options options = producer_service(&producer);
  options.user_data = &other;
  svk_service *service = (svk_service *)&options;
  CHECK_STATUS(svk_service_create(&options, &service), SVK_ALREADY_EXISTS);
  CHECK(service == NULL);
  CHECK(svk_last_error()[0] != 0);
  CHECK_EQ(other.freed, 0);
  CHECK_OK(send_number(producer.stream, 1));
  CHECK_EQ(other.count, 0);
  CHECK_OK(svk_service_close(producer.service));
  service = (svk_service *)&options;
  CHECK_STATUS(svk_service_create(&options, &service), SVK_ALREADY_EXISTS); /* has had one */
  CHECK(service == NULL);
  CHECK_EQ(other.freed, 0);
  CHECK_EQ(producer.started, 1);
  CHECK_OK(svk_stream_destroy(producer.stream));
  service = (svk_service *)&options;
  CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_HANDLE);
  CHECK(service == NULL);
}

/* A failed create has not used the stream up. */
static void test_failed_create_does_not_start(void) {
  struct producer producer = PRODUCER_INIT;
  producer_create(&producer);
  CHECK_OK(send_number(producer.stream, 1));
  svk_service_options options = producer_service(&producer);
  options.delivery = SVK_DELIVER_DISPATCHER; /* and no dispatcher */
  svk_service *service = (svk_service *)&options;
  CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_HANDLE);
  CHECK(service == NULL);
  options = producer_service(&producer);
  options.flags = 0x80;
  CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_ARGUMENT);
  options = producer_service(&producer);
  options.delivery = SVK_DELIVER_PULL;
  CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_ARGUMENT);
  CHECK_EQ(producer.started, 0);
  CHECK_EQ(producer.watch.count, 0);
  CHECK_EQ(producer.watch.freed, 0);
  CHECK_OK(producer_attach(&producer));
  CHECK_EQ(producer.started, 1);
  CHECK_EQ(producer.watch.count, 1);
  CHECK_OK(svk_service_close(producer.service));
  CHECK_OK(svk_stream_destroy(producer.stream));
  CHECK_EQ(producer.freed, 1);
}

/* Many threads attach one stream: one of them gets it. */
struct contest {
  struct producer producer;
  struct watch watches[4];
  _Atomic int won, lost;
};

static void attach_for_contest(int index, void *pointer) {
  struct contest *contest = pointer;
  svk_service_options options = producer_service(&contest->producer);
  options.user_data = &contest->watches[index];
  svk_service *service = NULL;
  svk_status status = svk_service_create(&options, &service);
  if (status == SVK_OK) {
    atomic_fetch_add(&contest->won, 1);
    CHECK_EQ(contest->watches[index].count, 1);
    CHECK_OK(svk_service_close(service));
    CHECK_EQ(contest->watches[index].freed, 1);
  } else {
    CHECK_STATUS(status, SVK_ALREADY_EXISTS);
    CHECK(service == NULL);
    atomic_fetch_add(&contest->lost, 1);
    CHECK_EQ(contest->watches[index].freed, 0);
  }
}

static void test_one_of_many_attaches(void) {
  for (int i = iterations(200); i > 0; i--) {
    struct contest contest = { .producer = PRODUCER_INIT,
                               .watches = { WATCH_INIT, WATCH_INIT, WATCH_INIT, WATCH_INIT } };
    producer_create(&contest.producer);
    CHECK_OK(send_number(contest.producer.stream, 1));
    run_threads(4, attach_for_contest, &contest);
    CHECK_EQ(contest.won, 1);
    CHECK_EQ(contest.lost, 3);
    CHECK_EQ(contest.producer.started, 1);
    CHECK_OK(svk_stream_destroy(contest.producer.stream));
    CHECK_EQ(contest.producer.freed, 1);
  }
}

int main(void) {
  RUN(test_start_is_called_once);
  RUN(test_no_service_no_start);
  RUN(test_start_runs_on_the_attaching_thread);
  RUN(test_start_sends);
  RUN(test_sends_from_elsewhere_during_start);
  RUN(test_start_finishes);
  RUN(test_start_destroys);
  RUN(test_destroy_during_start);
  RUN(test_start_closes);
  RUN(test_second_service);
  RUN(test_failed_create_does_not_start);
  RUN(test_one_of_many_attaches);
  return check_done();
}
