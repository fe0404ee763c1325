// What a C++ programmer writes in an afternoon: a mutex, a map from type or name to a function, shared
// pointers.
#include "support.h"
#include "together.h"

#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace {

class Registry {
public:
  using Pointer = std::shared_ptr<void>;
  using Factory = std::function<Pointer(Registry &)>;

  void add(const std::string &name, bool is_kept, Factory factory) {
    std::lock_guard<std::recursive_mutex> guard(mutex);
    entries[name] = { std::move(factory), is_kept, nullptr };
  }
  void remove(const std::string &name) {
    std::lock_guard<std::recursive_mutex> guard(mutex);
    entries.erase(name);
  }
  Pointer resolve(const std::string &name) {
    std::lock_guard<std::recursive_mutex> guard(mutex);
    auto found = entries.find(name);
    if (found == entries.end())
      return nullptr;
    Entry &entry = found->second;
    if (entry.kept)
      return entry.kept;
    Pointer made = entry.factory(*this);
    if (entry.is_kept)
      entry.kept = made;
    return made;
  }

private:
  struct Entry {
    Factory factory;
    bool is_kept = false;
    Pointer kept;
  };
  std::recursive_mutex mutex;
  std::unordered_map<std::string, Entry> entries;
};

Registry::Pointer make(Registry &) { return std::make_shared<int>(1); }

Registry &registry_of(size_t count) {
  static std::unordered_map<size_t, std::unique_ptr<Registry>> made;
  auto &registry = made[count];
  if (!registry) {
    registry = std::make_unique<Registry>();
    for (size_t index = 0; index < count; ++index)
      registry->add(key_number(index), true, make);
  }
  return *registry;
}

void resolve_any(benchmark::State &state) {
  auto &registry = registry_of(state.range(0));
  RandomKeys keys(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(registry.resolve(keys.next()));
}
BENCHMARK(resolve_any)->Name("plain/resolve_any")->Arg(10)->Arg(1000)->Arg(100'000);

void resolve_cached(benchmark::State &state) {
  auto &registry = registry_of(10);
  const std::string name = key_number(1);
  for (auto _ : state)
    benchmark::DoNotOptimize(registry.resolve(name));
}
BENCHMARK(resolve_cached)->Name("plain/resolve_key/cached");

void unique(benchmark::State &state) {
  Registry registry;
  registry.add("unique", false, make);
  const std::string name = "unique";
  for (auto _ : state)
    benchmark::DoNotOptimize(registry.resolve(name));
}
BENCHMARK(unique)->Name("plain/unique");

void graph(benchmark::State &state) {
  struct B {
    Registry::Pointer c;
  };
  struct A {
    Registry::Pointer b, c;
  };
  Registry registry;
  registry.add("C", false, make);
  registry.add("B", false, [](Registry &inner) { return std::make_shared<B>(B{ inner.resolve("C") }); });
  registry.add("A", false, [](Registry &inner) {
    return std::make_shared<A>(A{ inner.resolve("B"), inner.resolve("C") });
  });
  const std::string name = "A";
  for (auto _ : state)
    benchmark::DoNotOptimize(registry.resolve(name));
}
BENCHMARK(graph)->Name("plain/graph");

void add_and_remove(benchmark::State &state) {
  auto &registry = registry_of(state.range(0));
  for (auto _ : state) {
    registry.add("org.example.another", true, make);
    registry.remove("org.example.another");
  }
}
BENCHMARK(add_and_remove)->Name("plain/register")->Arg(10)->Arg(100'000);

constexpr long operations = 10'000;
void threads(benchmark::State &state, bool is_same) {
  auto &registry = registry_of(10);
  const std::string names[2] = { key_number(0), key_number(1) };
  time_together(state, static_cast<int>(state.range(0)), operations, [&](int thread) {
    for (long count = 0; count < operations; ++count)
      benchmark::DoNotOptimize(registry.resolve(names[is_same ? 0 : thread]));
  });
}
void same_key(benchmark::State &state) { threads(state, true); }
void different_keys(benchmark::State &state) { threads(state, false); }
BENCHMARK(same_key)->Name("plain/threads_same_key")->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK(different_keys)->Name("plain/threads_different_keys")->Arg(1)->Arg(2)->UseManualTime();

} // namespace
