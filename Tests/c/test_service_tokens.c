/*
 * Bad tokens of every kind to every function of streams, services, snapshots, observers and dispatchers:
 * NULL, forged, stale, released, of another kind. SVK_INVALID_HANDLE, outputs zeroed, nothing else happens.
 */
#include "check_state.h"

static int frees;

static void count_free(void *block) {
  (void)block;
  frees++;
}

static void never_state(const svk_state *state, void *user_data) {
  (void)state, (void)user_data;
  CHECK(!"a callback");
}

static void never_free(void *user_data) {
  (void)user_data;
  CHECK(!"a free");
}

static void *const dirt = &frees;

static int is_zero(const svk_state *state) {
  return state->version == 0 && state->data == NULL && state->size == 0 && state->dropped == 0;
}

/* Every function with this token as its first argument, except those for whose kind it is good. */
enum {
  NO_STREAM = 1,
  NO_SERVICE = 2,
  NO_SNAPSHOT = 4,
  NO_SUBSCRIPTION = 8,
  NO_DISPATCHER = 16,
  NO_KIND = 31
};

static void check_bad(void *token, int kinds) {
  char buffer[8];
  size_t size;
  uint64_t first, second;
  svk_snapshot *snapshot;
  svk_state state;

  if (kinds & NO_STREAM) {
    CHECK_STATUS(svk_stream_send(token, "x", 1), SVK_INVALID_HANDLE);
    CHECK_STATUS(svk_stream_send(token, NULL, 0), SVK_INVALID_HANDLE);
    CHECK_STATUS(svk_stream_send_within(token, "x", 1, FOR_EVER), SVK_INVALID_HANDLE);
    frees = 0;
    CHECK_STATUS(svk_stream_send_owned(token, buffer, sizeof buffer, count_free), SVK_INVALID_HANDLE);
    CHECK_EQ(frees, 1);
    CHECK_STATUS(svk_stream_finish(token), SVK_INVALID_HANDLE);
    CHECK_STATUS(svk_stream_destroy(token), SVK_INVALID_HANDLE);
    if (token != NULL) { /* NULL is a void stream */
      svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
      options.stream = token;
      options.on_state = never_state;
      options.user_data_free = never_free;
      svk_service *service = dirt;
      CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_HANDLE);
      CHECK(service == NULL);
    }
  }
  if (kinds & NO_SERVICE) {
    CHECK_STATUS(svk_service_close(token), SVK_INVALID_HANDLE);
    CHECK(svk_service_api(token) == NULL);
    size = first = 99;
    CHECK_STATUS(svk_service_read(token, buffer, sizeof buffer, &size, &first), SVK_INVALID_HANDLE);
    CHECK(size == 0 && first == 0);
    CHECK_STATUS(svk_service_read(token, NULL, 0, NULL, NULL), SVK_INVALID_HANDLE);
    snapshot = dirt;
    state = (svk_state){ 9, dirt, 9, 9 };
    CHECK_STATUS(svk_service_acquire(token, &snapshot, &state), SVK_INVALID_HANDLE);
    CHECK(snapshot == NULL && is_zero(&state));
    first = 99;
    CHECK_STATUS(svk_service_wait(token, 0, FOR_EVER, &first), SVK_INVALID_HANDLE);
    CHECK_EQ(first, 0);
    CHECK_STATUS(svk_service_wait(token, 0, 0, NULL), SVK_INVALID_HANDLE);
    svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
    options.flags = SVK_OBSERVE_CURRENT;
    options.on_state = never_state;
    options.user_data_free = never_free;
    svk_subscription *subscription = dirt;
    CHECK_STATUS(svk_service_observe(token, &options, &subscription), SVK_INVALID_HANDLE);
    CHECK(subscription == NULL);
  }
  if (kinds & NO_SNAPSHOT)
    CHECK_STATUS(svk_snapshot_release(token), SVK_INVALID_HANDLE);
  if (kinds & NO_SUBSCRIPTION) {
    CHECK_STATUS(svk_subscription_cancel(token), SVK_INVALID_HANDLE);
    CHECK_STATUS(svk_subscription_cancel_nowait(token), SVK_INVALID_HANDLE);
    snapshot = dirt;
    state = (svk_state){ 9, dirt, 9, 9 };
    CHECK_STATUS(svk_subscription_next(token, FOR_EVER, &snapshot, &state), SVK_INVALID_HANDLE);
    CHECK(snapshot == NULL && is_zero(&state));
    size = first = second = 99;
    CHECK_STATUS(svk_subscription_next_copy(token, FOR_EVER, buffer, sizeof buffer, &size, &first, &second),
                 SVK_INVALID_HANDLE);
    CHECK(size == 0 && first == 0 && second == 0);
    CHECK_STATUS(svk_subscription_next_copy(token, 0, NULL, 0, NULL, NULL, NULL), SVK_INVALID_HANDLE);
    CHECK_EQ(svk_subscription_fd(token), -1);
    first = 99;
    CHECK_STATUS(svk_subscription_dropped(token, &first), SVK_INVALID_HANDLE);
    CHECK_EQ(first, 0);
    CHECK_STATUS(svk_subscription_dropped(token, NULL), SVK_INVALID_HANDLE);
  }
  if (kinds & NO_DISPATCHER) {
    CHECK_STATUS(svk_dispatcher_destroy(token), SVK_INVALID_HANDLE);
    CHECK_EQ(svk_dispatcher_fd(token), -1);
    CHECK_STATUS(svk_dispatcher_wake(token), SVK_INVALID_HANDLE);
    size = 99;
    CHECK_STATUS(svk_dispatcher_dispatch(token, 0, FOR_EVER, &size), SVK_INVALID_HANDLE);
    CHECK_EQ(size, 0);
    CHECK_STATUS(svk_dispatcher_dispatch(token, 1, 0, NULL), SVK_INVALID_HANDLE);
    svk_service_options service_options = SVK_SERVICE_OPTIONS_INIT;
    service_options.delivery = SVK_DELIVER_DISPATCHER;
    service_options.dispatcher = token;
    service_options.on_state = never_state;
    service_options.user_data_free = never_free;
    svk_service *service = dirt;
    CHECK_STATUS(svk_service_create(&service_options, &service), SVK_INVALID_HANDLE);
    CHECK(service == NULL);
  }
}

/* One of each kind that is alive. */
struct living {
  svk_stream *stream;
  svk_service *service;
  svk_snapshot *snapshot;
  svk_subscription *subscription;
  svk_dispatcher *dispatcher;
  svk_container *container;
  svk_scope *scope;
  svk_key *key;
};

static struct living live(void) {
  struct living living;
  living.stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  living.service = new_inline_service(living.stream);
  svk_state state;
  MUST_OK(svk_service_acquire(living.service, &living.snapshot, &state));
  living.subscription = observe_pull(living.service, 0, SVK_BUFFER_UNBOUNDED, 0);
  living.dispatcher = new_dispatcher();
  MUST_OK(svk_container_create(&living.container));
  MUST_OK(svk_scope_create("tokens", &living.scope));
  MUST_OK(svk_key_intern("tokens", &living.key));
  return living;
}

static void end(struct living *living) {
  CHECK_OK(svk_subscription_cancel(living->subscription));
  CHECK_OK(svk_snapshot_release(living->snapshot));
  CHECK_OK(svk_service_close(living->service));
  CHECK_OK(svk_stream_destroy(living->stream));
  CHECK_OK(svk_dispatcher_destroy(living->dispatcher));
  CHECK_OK(svk_container_destroy(living->container));
  CHECK_OK(svk_scope_destroy(living->scope));
}

/* The living are none the worse for it. */
static void check_alive(struct living *living) {
  CHECK_OK(send_number(living->stream, 5));
  CHECK_EQ(read_number(living->service, NULL), 5);
  long number;
  CHECK_OK(svk_subscription_next_copy(living->subscription, 0, &number, sizeof number, NULL, NULL, NULL));
  CHECK_EQ(number, 5);
  CHECK(svk_dispatcher_fd(living->dispatcher) >= 0);
  CHECK_STATUS(svk_dispatcher_dispatch(living->dispatcher, 0, 0, NULL), SVK_TIMEOUT);
}

static void test_null(void) {
  check_bad(NULL, NO_KIND);
  CHECK(svk_last_error()[0] != 0);
}

static void test_another_kind(void) {
  struct living living = live();
  check_bad(living.stream, NO_KIND & ~NO_STREAM);
  check_bad(living.service, NO_KIND & ~NO_SERVICE);
  check_bad(living.snapshot, NO_KIND & ~NO_SNAPSHOT);
  check_bad(living.subscription, NO_KIND & ~NO_SUBSCRIPTION);
  check_bad(living.dispatcher, NO_KIND & ~NO_DISPATCHER);
  check_bad(living.container, NO_KIND);
  check_bad(living.scope, NO_KIND);
  check_bad(living.key, NO_KIND);
  check_bad(svk_container_shared(), NO_KIND);
  check_alive(&living);
  end(&living);
}

static void test_ended(void) {
  struct living living = live();
  end(&living);
  check_bad(living.stream, NO_KIND);
  check_bad(living.service, NO_KIND);
  check_bad(living.snapshot, NO_KIND);
  check_bad(living.subscription, NO_KIND);
  check_bad(living.dispatcher, NO_KIND);
  check_bad(living.container, NO_KIND);
  check_bad(living.scope, NO_KIND);
  /* Also when others have taken their places. */
  struct living others[8];
  for (int i = 0; i < 8; i++)
    others[i] = live();
  check_bad(living.stream, NO_KIND);
  check_bad(living.service, NO_KIND);
  check_bad(living.snapshot, NO_KIND);
  check_bad(living.subscription, NO_KIND);
  check_bad(living.dispatcher, NO_KIND);
  for (int i = 0; i < 8; i++) {
    check_alive(&others[i]);
    end(&others[i]);
  }
}

static void test_invented(void) {
  struct living living = live();
  static const uintptr_t invented[] = { 1,
                                        2,
                                        7,
                                        8,
                                        15,
                                        16,
                                        255,
                                        4096,
                                        0xffff,
                                        0x10000,
                                        0xffffffff,
                                        UINTPTR_MAX,
                                        UINTPTR_MAX - 1,
                                        UINTPTR_MAX / 2,
                                        UINTPTR_MAX / 2 + 1 };
  for (size_t i = 0; i < sizeof invented / sizeof *invented; i++)
    check_bad((void *)invented[i], NO_KIND);
  for (int bit = 0; bit < (int)sizeof(uintptr_t) * 8; bit++)
    check_bad((void *)((uintptr_t)1 << bit), NO_KIND);
  check_bad(&living, NO_KIND); /* addresses: of the stack, of data, of code */
  check_bad(&frees, NO_KIND);
  void *code = NULL;
  void (*function)(void *) = count_free;
  memcpy(&code, &function, sizeof code);
  check_bad(code, NO_KIND);
  uint64_t random = 88172645463325252u;
  for (int i = iterations(2000); i > 0; i--) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    check_bad((void *)(uintptr_t)random, NO_KIND);
    check_bad((void *)(uintptr_t)(random >> 32), NO_KIND);
  }
  check_alive(&living);
  end(&living);
}

/* Each bit of a living token turned: none of them is a token of the same kind that lives, by luck. */
static void test_damaged(void) {
  struct living living = live();
  void *tokens[] = { living.stream, living.service, living.snapshot, living.subscription, living.dispatcher };
  for (int i = 0; i < 5; i++)
    for (int bit = 0; bit < (int)sizeof(uintptr_t) * 8; bit++) {
      uintptr_t damaged = (uintptr_t)tokens[i] ^ (uintptr_t)1 << bit;
      int is_other = 0;
      for (int j = 0; j < 5; j++)
        is_other |= damaged == (uintptr_t)tokens[j];
      is_other |= damaged == (uintptr_t)living.container || damaged == (uintptr_t)living.scope;
      if (!is_other)
        check_bad((void *)damaged, NO_KIND);
    }
  check_alive(&living);
  end(&living);
}

/* A token is not reused soon: thousands of successors, and none has the old name. */
static void test_no_soon_reuse(void) {
  svk_stream *first = new_stream(SVK_BUFFER_UNBOUNDED, 0);
  svk_dispatcher *first_dispatcher = new_dispatcher();
  CHECK_OK(svk_stream_destroy(first));
  CHECK_OK(svk_dispatcher_destroy(first_dispatcher));
  for (int i = iterations(20000); i > 0; i--) {
    svk_stream *stream = new_stream(SVK_BUFFER_UNBOUNDED, 0);
    if (!CHECK(stream != first))
      break;
    CHECK_OK(svk_stream_destroy(stream));
  }
  for (int i = iterations(2000); i > 0; i--) {
    svk_dispatcher *dispatcher = new_dispatcher();
    if (!CHECK(dispatcher != first_dispatcher))
      break;
    CHECK_OK(svk_dispatcher_destroy(dispatcher));
  }
  check_bad(first, NO_KIND);
  check_bad(first_dispatcher, NO_KIND);
}

/* Tokens that die while they are used, by threads that have nothing but the token. */
struct shaky {
  _Atomic(svk_stream *) stream;
  _Atomic(svk_service *) service;
  _Atomic(svk_subscription *) pull;
  _Atomic(svk_dispatcher *) dispatcher;
  _Atomic(svk_snapshot *) snapshot;
  _Atomic int done;
};

static void shaky_run(int index, void *pointer) {
  struct shaky *shaky = pointer;
  if (index == 0) {
    for (int i = iterations(3000); i > 0; i--) {
      svk_stream *stream = new_stream(SVK_BUFFER_NEWEST, 4);
      svk_service *service = new_inline_service(stream);
      svk_subscription *pull = observe_pull(service, SVK_OBSERVE_CURRENT, SVK_BUFFER_NEWEST, 2);
      svk_dispatcher *dispatcher = new_dispatcher();
      svk_snapshot *snapshot = NULL;
      svk_state state;
      CHECK_OK(svk_service_acquire(service, &snapshot, &state));
      atomic_store(&shaky->stream, stream);
      atomic_store(&shaky->service, service);
      atomic_store(&shaky->pull, pull);
      atomic_store(&shaky->dispatcher, dispatcher);
      atomic_store(&shaky->snapshot, snapshot);
      if (i % 2)
        CHECK_OK(svk_subscription_cancel(pull));
      CHECK_OK(svk_service_close(service));
      CHECK_OK(svk_stream_destroy(stream));
      CHECK_OK(svk_dispatcher_destroy(dispatcher));
      svk_snapshot_release(snapshot); /* the others may have been quicker */
    }
    atomic_store(&shaky->done, 1);
    return;
  }
  while (!atomic_load(&shaky->done)) {
    svk_snapshot *snapshot = NULL;
    svk_state state;
    long number = index;
    uint64_t version;
    send_number(atomic_load(&shaky->stream), number);
    svk_service *service = atomic_load(&shaky->service);
    svk_service_read(service, &number, sizeof number, NULL, &version);
    if (svk_service_acquire(service, &snapshot, &state) == SVK_OK) {
      CHECK_EQ(state.size, sizeof number);
      memcpy(&number, state.data, sizeof number);
      CHECK(number >= 0 && number < 4);
      CHECK_OK(svk_snapshot_release(snapshot));
    }
    svk_service_wait(service, 1, 1000, NULL);
    svk_subscription *pull = atomic_load(&shaky->pull);
    svk_subscription_next_copy(pull, 1000, &number, sizeof number, NULL, NULL, NULL);
    svk_subscription_dropped(pull, &version);
    svk_dispatcher *dispatcher = atomic_load(&shaky->dispatcher);
    svk_dispatcher_wake(dispatcher);
    svk_dispatcher_dispatch(dispatcher, 0, 1000, NULL);
    svk_snapshot_release(atomic_load(&shaky->snapshot));
  }
}

static void test_dying_while_used(void) {
  struct shaky shaky = { .done = 0 };
  run_threads(4, shaky_run, &shaky);
}

int main(void) {
  RUN(test_null);
  RUN(test_another_kind);
  RUN(test_ended);
  RUN(test_invented);
  RUN(test_damaged);
  RUN(test_no_soon_reuse);
  RUN(test_dying_while_used);
  return check_done();
}
