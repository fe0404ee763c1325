/* Tokens: NULL, stale, forged, of another kind, released twice. Every function recognises them; nothing
 * crashes. */
#include "factory.h"

/* One live token of each kind, and everything else as a stale or forged one. */
enum token_kind {
  CONTAINER,
  RESOLVER,
  HANDLE,
  KEY,
  SCOPE,
  STREAM,
  SERVICE,
  SNAPSHOT,
  SUBSCRIPTION,
  DISPATCHER
};
enum { TOKEN_KINDS = DISPATCHER + 1 };

static void ignore_state(const svk_state *state, void *user_data) { (void)state, (void)user_data; }

/* Each function that takes a token of this kind, with this one, which is none of that kind. */
static void check_container(void *token) {
  svk_container *bad = token, *child = token;
  svk_handle *handle = token;
  void *instance = &handle;
  size_t needed = 9;
  struct kind kind = { .name = NULL };
  CHECK_STATUS(svk_container_create_child(bad, &child), SVK_INVALID_HANDLE);
  CHECK(child == NULL);
  CHECK_STATUS(svk_container_destroy(bad), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_reset(bad, SVK_RESET_ALL), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_push(bad), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_pop(bad), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_set_contexts(bad, "test"), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_set_strict(bad, 0), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_set_default_scope(bad, SVK_SCOPE_UNIQUE), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_validate(bad), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_container_describe(bad, SVK_FORMAT_TEXT, NULL, 0, &needed), SVK_INVALID_HANDLE);
  CHECK_EQ(needed, 0);
  CHECK_STATUS(kind_register(bad, "key", &kind, SVK_SCOPE_CACHED), SVK_INVALID_HANDLE);
  CHECK_STATUS(kind_register_for(bad, "key", "test", &kind, SVK_SCOPE_CACHED), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_unregister(bad, "key"), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_reset(bad, "key", SVK_RESET_ALL), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_decorate(bad, "key", NULL, &kind, kind_free), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_resolve(bad, "key", &handle), SVK_INVALID_HANDLE);
  CHECK(handle == NULL);
  handle = token;
  CHECK_STATUS(svk_resolve_with(bad, "key", "p", 1, &handle), SVK_INVALID_HANDLE);
  CHECK(handle == NULL);
  handle = token;
  CHECK_STATUS(svk_resolve_typed(bad, "key", "type", &handle), SVK_INVALID_HANDLE);
  CHECK(handle == NULL);
  svk_key *key = NULL;
  CHECK_OK(svk_key_intern("key", &key));
  handle = token;
  CHECK_STATUS(svk_resolve_key(bad, key, &handle), SVK_INVALID_HANDLE);
  CHECK(handle == NULL);
  CHECK_STATUS(svk_pin(bad, "key", &instance), SVK_INVALID_HANDLE);
  CHECK(instance == NULL);
  CHECK_STATUS(svk_container_set_trace(bad, NULL, &kind, kind_free), SVK_INVALID_HANDLE);
  CHECK_EQ(kind.freed, 0);
}

static void check_resolver(void *token) {
  svk_resolver *bad = token;
  void *instance = &bad;
  const void *data = &bad;
  size_t size = 9;
  CHECK_STATUS(svk_require(bad, "key", &instance), SVK_INVALID_HANDLE);
  CHECK(instance == NULL);
  instance = &bad;
  CHECK_STATUS(svk_require_with(bad, "key", "p", 1, &instance), SVK_INVALID_HANDLE);
  CHECK(instance == NULL);
  CHECK_STATUS(svk_resolver_parameter(bad, &data, &size), SVK_INVALID_HANDLE);
  CHECK(data == NULL && size == 0);
  CHECK(svk_resolver_container(bad) == NULL);
}

static void check_handle(void *token) {
  CHECK(svk_instance(token) == NULL);
  CHECK_STATUS(svk_release(token), SVK_INVALID_HANDLE);
}

static svk_container *container; /* a live one */

static void check_key(void *token) {
  svk_handle *handle = token;
  CHECK_STATUS(svk_resolve_key(container, token, &handle), SVK_INVALID_HANDLE);
  CHECK(handle == NULL);
}

static void check_scope(void *token) {
  struct kind kind = { .name = NULL };
  svk_factory_options options = kind_options(&kind, SVK_SCOPE_CUSTOM);
  options.custom_scope = token;
  CHECK_STATUS(svk_scope_reset(token), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_scope_destroy(token), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_register(container, "custom", &options), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_register_for(container, "custom", "test", &options), SVK_INVALID_HANDLE);
  CHECK_EQ(kind.freed, 0);
}

static _Atomic int data_freed;
static void free_data(void *data) {
  free(data);
  atomic_fetch_add(&data_freed, 1);
}

static void check_stream(void *token) {
  svk_stream *bad = token;
  CHECK_STATUS(svk_stream_send(bad, "s", 1), SVK_INVALID_HANDLE);
  int before = data_freed;
  CHECK_STATUS(svk_stream_send_owned(bad, malloc(1), 1, free_data), SVK_INVALID_HANDLE);
  CHECK_EQ(data_freed, before + 1); /* taken over, whatever it answers */
  CHECK_STATUS(svk_stream_send_within(bad, "s", 1, 0), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_stream_finish(bad), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_stream_destroy(bad), SVK_INVALID_HANDLE);
  if (token != NULL) { /* in the options, NULL is the void stream */
    svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
    svk_service *service = token;
    options.stream = bad;
    CHECK_STATUS(svk_service_create(&options, &service), SVK_INVALID_HANDLE);
    CHECK(service == NULL);
  }
}

static void check_service(void *token) {
  svk_service *bad = token;
  char buffer[4];
  size_t size = 9;
  uint64_t version = 9;
  svk_snapshot *snapshot = token;
  svk_state state;
  memset(&state, 1, sizeof state);
  svk_subscription *subscription = token;
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.on_state = ignore_state;
  CHECK(svk_service_api(bad) == NULL);
  CHECK_STATUS(svk_service_read(bad, buffer, sizeof buffer, &size, &version), SVK_INVALID_HANDLE);
  CHECK(size == 0 && version == 0);
  CHECK_STATUS(svk_service_acquire(bad, &snapshot, &state), SVK_INVALID_HANDLE);
  CHECK(snapshot == NULL && state.version == 0 && state.data == NULL && state.size == 0 &&
        state.dropped == 0);
  version = 9;
  CHECK_STATUS(svk_service_wait(bad, 0, 0, &version), SVK_INVALID_HANDLE);
  CHECK_EQ(version, 0);
  CHECK_STATUS(svk_service_observe(bad, &options, &subscription), SVK_INVALID_HANDLE);
  CHECK(subscription == NULL);
  CHECK_STATUS(svk_service_close(bad), SVK_INVALID_HANDLE);
}

static void check_snapshot(void *token) { CHECK_STATUS(svk_snapshot_release(token), SVK_INVALID_HANDLE); }

static void check_subscription(void *token) {
  svk_subscription *bad = token;
  svk_snapshot *snapshot = token;
  svk_state state;
  memset(&state, 1, sizeof state);
  char buffer[4];
  size_t size = 9;
  uint64_t version = 9, dropped = 9;
  CHECK_STATUS(svk_subscription_next(bad, 0, &snapshot, &state), SVK_INVALID_HANDLE);
  CHECK(snapshot == NULL && state.version == 0 && state.data == NULL && state.size == 0 &&
        state.dropped == 0);
  CHECK_STATUS(svk_subscription_next_copy(bad, 0, buffer, sizeof buffer, &size, &version, &dropped),
               SVK_INVALID_HANDLE);
  CHECK(size == 0 && version == 0 && dropped == 0);
  CHECK_EQ(svk_subscription_fd(bad), -1);
  dropped = 9;
  CHECK_STATUS(svk_subscription_dropped(bad, &dropped), SVK_INVALID_HANDLE);
  CHECK_EQ(dropped, 0);
  CHECK_STATUS(svk_subscription_cancel_nowait(bad), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_subscription_cancel(bad), SVK_INVALID_HANDLE);
}

static void check_dispatcher(void *token) {
  svk_dispatcher *bad = token;
  size_t count = 9;
  CHECK_EQ(svk_dispatcher_fd(bad), -1);
  CHECK_STATUS(svk_dispatcher_wake(bad), SVK_INVALID_HANDLE);
  CHECK_STATUS(svk_dispatcher_dispatch(bad, 0, 0, &count), SVK_INVALID_HANDLE);
  CHECK_EQ(count, 0);
  CHECK_STATUS(svk_dispatcher_destroy(bad), SVK_INVALID_HANDLE);
}

static void (*const checks[TOKEN_KINDS])(void *) = { check_container, check_resolver, check_handle,
                                                     check_key,       check_scope,    check_stream,
                                                     check_service,   check_snapshot, check_subscription,
                                                     check_dispatcher };

static void check_everything(void *token) {
  for (int kind = 0; kind < TOKEN_KINDS; kind++)
    checks[kind](token);
}

/* ---- One of each ---- */

static void *tokens[TOKEN_KINDS];
static struct kind service_kind;

static void make_tokens(void) {
  svk_stream *stream = NULL;
  svk_service *service = NULL;
  svk_handle *handle = NULL;
  svk_key *key = NULL;
  svk_scope *scope = NULL;
  svk_snapshot *snapshot = NULL;
  svk_subscription *subscription = NULL;
  svk_dispatcher *dispatcher = NULL;
  svk_state state;
  svk_service_options service_options = SVK_SERVICE_OPTIONS_INIT;
  svk_observer_options observer_options = SVK_OBSERVER_OPTIONS_INIT;
  observer_options.delivery = SVK_DELIVER_PULL;
  container = new_container();
  memset(&service_kind, 0, sizeof service_kind);
  MUST_OK(kind_register(container, "key", &service_kind, SVK_SCOPE_CACHED));
  MUST_OK(svk_resolve(container, "key", &handle));
  MUST_OK(svk_key_intern("key", &key));
  MUST_OK(svk_scope_create("scope", &scope));
  MUST_OK(svk_stream_create(NULL, &stream));
  service_options.stream = stream;
  MUST_OK(svk_service_create(&service_options, &service));
  MUST_OK(svk_service_acquire(service, &snapshot, &state));
  MUST_OK(svk_service_observe(service, &observer_options, &subscription));
  MUST_OK(svk_dispatcher_create(&dispatcher));
  void *const all[TOKEN_KINDS] = { container, NULL,    handle,   key,          scope,
                                   stream,    service, snapshot, subscription, dispatcher };
  memcpy(tokens, all, sizeof tokens);
}

static void end_tokens(void) {
  CHECK_OK(svk_subscription_cancel(tokens[SUBSCRIPTION]));
  CHECK_OK(svk_service_close(tokens[SERVICE]));
  CHECK_OK(svk_stream_destroy(tokens[STREAM]));
  CHECK_OK(svk_snapshot_release(tokens[SNAPSHOT]));
  CHECK_OK(svk_dispatcher_destroy(tokens[DISPATCHER]));
  CHECK_OK(svk_release(tokens[HANDLE]));
  CHECK_OK(svk_scope_destroy(tokens[SCOPE]));
  CHECK_OK(svk_container_destroy(tokens[CONTAINER]));
}

static void check_tokens_are_well(void) {
  size_t count = 0;
  uint64_t total = 0;
  svk_handle *handle = NULL;
  CHECK(svk_instance(tokens[HANDLE]) != NULL);
  CHECK_OK(svk_resolve_key(container, tokens[KEY], &handle));
  CHECK(svk_instance(handle) == svk_instance(tokens[HANDLE]));
  CHECK_OK(svk_release(handle));
  CHECK_OK(svk_scope_reset(tokens[SCOPE]));
  CHECK_OK(svk_stream_send(tokens[STREAM], "s", 1));
  CHECK_OK(svk_subscription_dropped(tokens[SUBSCRIPTION], &total));
  CHECK_STATUS(svk_dispatcher_dispatch(tokens[DISPATCHER], 0, 0, &count), SVK_TIMEOUT);
  CHECK_OK(svk_container_validate(container));
}

static void test_null(void) {
  make_tokens();
  check_everything(NULL);
  check_tokens_are_well();
  end_tokens();
}

static void *live_resolver;
static svk_status with_resolver(svk_resolver *resolver, struct kind *kind) {
  (void)kind;
  live_resolver = resolver;
  for (int function = 0; function < TOKEN_KINDS; function++)
    if (function != RESOLVER)
      checks[function](resolver);
  return SVK_OK;
}

static void test_of_another_kind(void) {
  make_tokens();
  for (int token = 0; token < TOKEN_KINDS; token++)
    for (int function = 0; function < TOKEN_KINDS; function++)
      if (token != function && tokens[token] != NULL)
        checks[function](tokens[token]);
  struct kind kind = { .on_create = with_resolver };
  MUST_OK(kind_register(container, "resolver", &kind, SVK_SCOPE_UNIQUE));
  CHECK(kind_of(container, "resolver") == &kind);
  check_everything(live_resolver); /* now it has ended */
  check_tokens_are_well();
  end_tokens();
}

static void test_stale(void) {
  for (int round = 0; round < 3; round++) {
    make_tokens();
    void *old[TOKEN_KINDS];
    memcpy(old, tokens, sizeof old);
    end_tokens();
    make_tokens(); /* perhaps in the same places */
    for (int kind = 0; kind < TOKEN_KINDS; kind++)
      if (kind != KEY && old[kind] != NULL) {
        CHECK(old[kind] != tokens[kind]);
        check_everything(old[kind]);
      }
    check_tokens_are_well();
    end_tokens();
  }
}

static int is_live(const void *token) {
  for (int kind = 0; kind < TOKEN_KINDS; kind++)
    if (token == tokens[kind])
      return 1;
  return token == svk_container_shared();
}

/*
 * Interned keys are never freed, and their numbers are no secret: a word that happens to be one is one. So
 * forged words are not tried as keys, nor as containers if they might be the shared one.
 */
static void check_forged(uintptr_t word) {
  void *token = (void *)word;
  if (is_live(token))
    return;
  for (int kind = 0; kind < TOKEN_KINDS; kind++)
    if (kind != KEY)
      checks[kind](token);
}

static void test_forged(void) {
  make_tokens();
  for (uintptr_t word = 1; word < (uintptr_t)iterations(3000); word++) {
    check_forged(word);
    check_forged(~word);
    check_forged(word << 32);
    check_forged(word << 48);
  }
  int local = 0;
  check_forged((uintptr_t)&local);
  check_forged((uintptr_t)tokens);
  check_forged((uintptr_t)&check_forged);
  check_forged((uintptr_t)svk_version_string());
  for (int kind = 0; kind < TOKEN_KINDS; kind++) {
    uintptr_t word = (uintptr_t)tokens[kind];
    if (word == 0)
      continue;
    for (unsigned bit = 0; bit < sizeof word * 8; bit++) {
      check_forged(word ^ (uintptr_t)1 << bit);
      for (unsigned other = bit % (check_slow() ? 16 : 1); other < bit; other += check_slow() ? 16 : 1)
        check_forged(word ^ (uintptr_t)1 << bit ^ (uintptr_t)1 << other);
    }
    for (uintptr_t distance = 1; distance < 20; distance++) {
      check_forged(word + distance);
      check_forged(word - distance);
    }
  }
  uint64_t random = 88172645463325252u;
  for (int i = 0; i < iterations(20000); i++) {
    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
    check_forged((uintptr_t)random);
  }
  check_tokens_are_well();
  end_tokens();
}

static void test_required_out_parameters(void) {
  make_tokens();
  CHECK_STATUS(svk_resolve(container, "key", NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_resolve_with(container, "key", NULL, 0, NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_resolve_typed(container, "key", "type", NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_resolve_key(container, tokens[KEY], NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_pin(container, "key", NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_key_intern("key", NULL), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk_scope_create("name", NULL), SVK_INVALID_ARGUMENT);
  CHECK_EQ(service_kind.built, 1);
  end_tokens();
}

/* ---- Released twice ---- */

static void test_double_release(void) {
  svk_container *own = new_container();
  struct kind kind = { .name = NULL };
  MUST_OK(kind_register(own, "key", &kind, SVK_SCOPE_CACHED));
  svk_handle *first = RESOLVE(own, "key"), *second = RESOLVE(own, "key");
  CHECK_OK(svk_release(first));
  for (int i = 0; i < 10; i++) {
    CHECK_STATUS(svk_release(first), SVK_INVALID_HANDLE);
    CHECK(svk_instance(first) == NULL);
  }
  CHECK(svk_instance(second) != NULL); /* no lease of anybody else was taken */
  CHECK_OK(svk_reset(own, "key", SVK_RESET_SCOPES));
  CHECK_EQ(kind.destroyed, 0);
  CHECK_OK(svk_release(second));
  CHECK_EQ(kind.destroyed, 1);
  CHECK_OK(svk_container_destroy(own));
}

/* Old tokens stay what they are, however often their place is used again. */
static void test_many_generations(void) {
  enum { OLD = 500 };
  static svk_handle *old[OLD];
  svk_container *own = new_container();
  struct kind kind = { .name = NULL };
  svk_key *key = NULL;
  MUST_OK(kind_register(own, "key", &kind, SVK_SCOPE_CACHED));
  MUST_OK(svk_key_intern("key", &key));
  for (int i = 0; i < OLD; i++) {
    old[i] = RESOLVE(own, "key");
    CHECK_OK(svk_release(old[i]));
  }
  long again = 0, rounds = check_slow() ? 500000 : 18000000; /* more than 2 to the 24 */
  for (long i = 0; i < rounds; i++) {
    svk_handle *handle = NULL;
    if (svk_resolve_key(own, key, &handle) != SVK_OK || svk_release(handle) != SVK_OK)
      CHECK(!"resolve and release");
    again += handle == old[i % OLD] || handle == old[0];
  }
  CHECK_EQ(again, 0);
  svk_handle *present = RESOLVE(own, "key");
  for (int i = 0; i < OLD; i++)
    CHECK_STATUS(svk_release(old[i]), SVK_INVALID_HANDLE);
  CHECK(svk_instance(present) != NULL);
  CHECK_OK(svk_release(present));
  CHECK_OK(svk_container_destroy(own));

  svk_container *first = new_container();
  CHECK_OK(svk_container_destroy(first));
  for (int i = 0; i < iterations(100000); i++) {
    svk_container *one = new_container();
    if (one == first)
      CHECK(!"the token of a container comes again");
    CHECK_OK(svk_container_destroy(one));
  }
  CHECK_STATUS(svk_container_destroy(first), SVK_INVALID_HANDLE);
}

/* On many threads at once: exactly one of the releases is the one. */
enum { THREADS = 6, HANDLES = 64 };
struct storm {
  svk_container *container;
  struct kind kind;
  svk_handle *handles[HANDLES];
  svk_scope *scope;
  _Atomic int released[HANDLES], ended, scopes;
};

static void release_all(int index, void *argument) {
  struct storm *storm = argument;
  for (int i = 0; i < HANDLES; i++) {
    int which = index % 2 ? i : HANDLES - 1 - i;
    svk_instance(storm->handles[which]); /* NULL or not, never a crash */
    svk_status status = svk_release(storm->handles[which]);
    if (status == SVK_OK)
      atomic_fetch_add(&storm->released[which], 1);
    else
      CHECK_STATUS(status, SVK_INVALID_HANDLE);
  }
  if (svk_scope_destroy(storm->scope) == SVK_OK)
    atomic_fetch_add(&storm->scopes, 1);
  if (svk_container_destroy(storm->container) == SVK_OK)
    atomic_fetch_add(&storm->ended, 1);
}

static void test_concurrent_double_release(void) {
  static const int32_t scopes[] = { SVK_SCOPE_UNIQUE, SVK_SCOPE_CACHED, SVK_SCOPE_SHARED,
                                    SVK_SCOPE_SINGLETON };
  for (int round = 0; round < iterations(400); round++) {
    static struct storm storm;
    memset(&storm, 0, sizeof storm);
    storm.container = new_container();
    MUST_OK(svk_scope_create("scope", &storm.scope));
    MUST_OK(kind_register(storm.container, "key", &storm.kind, scopes[round % 4]));
    for (int i = 0; i < HANDLES; i++)
      storm.handles[i] = RESOLVE(storm.container, "key");
    run_threads(THREADS, release_all, &storm);
    for (int i = 0; i < HANDLES; i++)
      CHECK_EQ(storm.released[i], 1);
    CHECK_EQ(storm.ended, 1);
    CHECK_EQ(storm.scopes, 1);
    CHECK_OK(svk_singleton_reset(NULL));
    CHECK_GONE(&storm.kind, scopes[round % 4] == SVK_SCOPE_UNIQUE ? HANDLES : 1);
  }
}

/* Two threads that meet at every handle, and release it at the same instant. */
struct duel {
  svk_container *container;
  svk_handle *_Atomic handle;
  _Atomic int arrived, released;
  int rounds;
};

static void meet(struct duel *duel, int n) {
  atomic_fetch_add(&duel->arrived, 1);
  for (int spins = 0; atomic_load(&duel->arrived) < n; spins++)
    if (spins > 1000)
      sched_yield();
}

static void release_together(int index, void *argument) {
  struct duel *duel = argument;
  for (int i = 0; i < duel->rounds; i++) {
    if (index == 0)
      atomic_store(&duel->handle, RESOLVE(duel->container, i % 2 ? "unique" : "cached"));
    meet(duel, i * 4 + 2);
    /* Whichever of them comes out of that first, at some round the other one has caught up. */
    for (volatile int step = 0, steps = index == 0 ? i % 64 : i / 64 % 64; step < steps; step = step + 1)
      continue;
    svk_status status = svk_release(duel->handle);
    if (status == SVK_OK)
      atomic_fetch_add(&duel->released, 1);
    else
      CHECK_STATUS(status, SVK_INVALID_HANDLE);
    meet(duel, i * 4 + 4);
    CHECK_EQ(duel->released, i + 1);
  }
}

static void test_released_at_the_same_instant(void) {
  static struct duel duel;
  struct kind cached = { .name = NULL }, unique = { .name = NULL };
  duel.container = new_container();
  duel.rounds = iterations(50000);
  MUST_OK(kind_register(duel.container, "cached", &cached, SVK_SCOPE_CACHED));
  MUST_OK(kind_register(duel.container, "unique", &unique, SVK_SCOPE_UNIQUE));
  run_threads(2, release_together, &duel);
  CHECK_EQ(unique.built, unique.destroyed);
  CHECK_OK(svk_container_destroy(duel.container));
  CHECK_GONE(&cached, 1);
}

int main(void) {
  RUN(test_null);
  RUN(test_of_another_kind);
  RUN(test_stale);
  RUN(test_forged);
  RUN(test_required_out_parameters);
  RUN(test_double_release);
  RUN(test_many_generations);
  RUN(test_concurrent_double_release);
  RUN(test_released_at_the_same_instant);
  return check_done();
}
