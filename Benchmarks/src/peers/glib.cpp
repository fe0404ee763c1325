// GLib and GObject: a locked table of objects, signals, an asynchronous queue.
#include "queue.h"
#include "support.h"

#include <benchmark/benchmark.h>
#include <glib-object.h>

namespace {

/// An object with one signal.
guint changed;
GType emitter_type() {
  static GType type = [] {
    GType made = g_type_register_static_simple(G_TYPE_OBJECT, "BenchEmitter", sizeof(GObjectClass), nullptr,
                                               sizeof(GObject), nullptr, static_cast<GTypeFlags>(0));
    changed = g_signal_new("changed", made, G_SIGNAL_RUN_LAST, 0, nullptr, nullptr, nullptr, G_TYPE_NONE, 1,
                           G_TYPE_POINTER);
    return made;
  }();
  return type;
}
GObject *make_emitter() { return static_cast<GObject *>(g_object_new(emitter_type(), nullptr)); }

void count_call(GObject *, void *, long *calls) { ++*calls; }

struct Registry {
  explicit Registry(size_t count) : table(g_hash_table_new(g_str_hash, g_str_equal)) {
    g_mutex_init(&mutex);
    for (size_t index = 0; index < count; ++index)
      g_hash_table_insert(table, g_strdup(key_number(index).c_str()), make_emitter());
  }
  void *resolve(const char *name) {
    g_mutex_lock(&mutex);
    void *object = g_object_ref(g_hash_table_lookup(table, name));
    g_mutex_unlock(&mutex);
    return object;
  }
  GMutex mutex;
  GHashTable *table;
};

void resolve_any(benchmark::State &state) {
  static Registry *registries[3];
  auto &registry = registries[state.range(0) == 10 ? 0 : state.range(0) == 1000 ? 1 : 2];
  if (!registry)
    registry = new Registry(state.range(0));
  RandomKeys keys(state.range(0));
  for (auto _ : state)
    g_object_unref(registry->resolve(keys.next()));
}
BENCHMARK(resolve_any)->Name("glib/resolve_any")->Arg(10)->Arg(1000)->Arg(100'000);

Registry &small() {
  static Registry registry(10);
  return registry;
}

void resolve_cached(benchmark::State &state) {
  auto &registry = small();
  const std::string name = key_number(1);
  for (auto _ : state)
    g_object_unref(registry.resolve(name.c_str()));
}
BENCHMARK(resolve_cached)->Name("glib/resolve_key/cached");

constexpr long operations = 10'000;
void threads(benchmark::State &state, bool is_same) {
  auto &registry = small();
  const std::string names[2] = { key_number(0), key_number(1) };
  time_together(state, static_cast<int>(state.range(0)), operations, [&](int thread) {
    for (long count = 0; count < operations; ++count)
      g_object_unref(registry.resolve(names[is_same ? 0 : thread].c_str()));
  });
}
void same_key(benchmark::State &state) { threads(state, true); }
void different_keys(benchmark::State &state) { threads(state, false); }
BENCHMARK(same_key)->Name("glib/threads_same_key")->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK(different_keys)->Name("glib/threads_different_keys")->Arg(1)->Arg(2)->UseManualTime();

void send(benchmark::State &state) {
  GObject *emitter = make_emitter();
  long calls = 0;
  for (long index = 0; index < state.range(0); ++index)
    g_signal_connect(emitter, "changed", G_CALLBACK(count_call), &calls);
  State32 sent = {};
  for (auto _ : state)
    g_signal_emit(emitter, changed, 0, &sent);
  g_object_unref(emitter);
  benchmark::DoNotOptimize(calls);
}
BENCHMARK(send)->Name("glib/send")->Arg(1)->Arg(10)->Arg(100);

void observe(benchmark::State &state) {
  GObject *emitter = make_emitter();
  long calls = 0;
  g_signal_connect(emitter, "changed", G_CALLBACK(count_call), &calls);
  for (auto _ : state)
    g_signal_handler_disconnect(emitter,
                                g_signal_connect(emitter, "changed", G_CALLBACK(count_call), &calls));
  g_object_unref(emitter);
}
BENCHMARK(observe)->Name("glib/observe");

void queue(benchmark::State &state) {
  GAsyncQueue *queue = g_async_queue_new();
  time_queue(
      state,
      [queue](const State64 &sent) {
        auto *copy = static_cast<State64 *>(g_malloc(sizeof sent));
        *copy = sent;
        g_async_queue_push(queue, copy);
      },
      [queue](Window &window, long until) {
        while (window.consumed() < until) {
          auto *state = static_cast<State64 *>(g_async_queue_pop(queue));
          benchmark::DoNotOptimize(*state);
          g_free(state);
          window.consume();
        }
      });
  g_async_queue_unref(queue);
}
BENCHMARK(queue)->Name("glib/queue")->UseManualTime();

} // namespace
