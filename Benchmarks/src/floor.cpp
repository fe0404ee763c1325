// What no implementation goes below: the prices of the machine's own means, in the same run.
#include "support.h"

#include <benchmark/benchmark.h>
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>

extern "C" int bench_empty(void *, void *, void *);

namespace {

void call(benchmark::State &state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(bench_empty(nullptr, nullptr, nullptr));
}
BENCHMARK(call)->Name("floor/call");

/// M, in which the limits are given.
void mutex(benchmark::State &state) {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  for (auto _ : state) {
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
}
BENCHMARK(mutex)->Name("floor/mutex");

void atomic_add(benchmark::State &state) {
  static std::atomic<long> count;
  for (auto _ : state)
    count.fetch_add(1);
}
BENCHMARK(atomic_add)->Name("floor/atomic_add");

void allocation(benchmark::State &state) {
  for (auto _ : state) {
    void *memory = std::malloc(64);
    benchmark::DoNotOptimize(memory);
    std::free(memory);
  }
}
BENCHMARK(allocation)->Name("floor/malloc");

/// A good hash table: open addressing, hashes beside the pointers, one thread, nothing removed.
class Table {
public:
  explicit Table(const std::vector<std::string> &names) {
    size_t capacity = 16;
    while (capacity < names.size() * 2)
      capacity *= 2;
    slots.resize(capacity);
    for (auto &name : names) {
      entries.push_back(std::make_unique<Entry>(Entry{ name }));
      size_t hash = hash_of(name.data(), name.size());
      size_t index = hash & (capacity - 1);
      while (slots[index].entry)
        index = (index + 1) & (capacity - 1);
      slots[index] = { hash, entries.back().get() };
    }
  }

  const void *find(const char *name) const {
    size_t length = std::strlen(name);
    size_t hash = hash_of(name, length);
    for (size_t index = hash & (slots.size() - 1);; index = (index + 1) & (slots.size() - 1)) {
      const Slot &slot = slots[index];
      if (!slot.entry)
        return nullptr;
      if (slot.hash == hash && slot.entry->name.size() == length &&
          !std::memcmp(slot.entry->name.data(), name, length))
        return slot.entry;
    }
  }

private:
  static size_t hash_of(const char *data, size_t length) {
    uint64_t hash = length;
    for (; length >= 8; data += 8, length -= 8)
      hash = mix(hash ^ word(data, 8));
    return length ? mix(hash ^ word(data, length)) : hash;
  }
  static uint64_t word(const char *data, size_t length) {
    uint64_t word = 0;
    std::memcpy(&word, data, length);
    return word;
  }
  static uint64_t mix(uint64_t value) {
    value *= 0x9E3779B97F4A7C15;
    return value ^ (value >> 32);
  }

  struct Entry {
    std::string name;
  };
  struct Slot {
    size_t hash = 0;
    const Entry *entry = nullptr;
  };
  std::vector<Slot> slots;
  std::vector<std::unique_ptr<Entry>> entries;
};

void find(benchmark::State &state, const char *(RandomKeys::*next)()) {
  struct Fixture {
    explicit Fixture(size_t count) : keys(count), table(keys.names) {}
    RandomKeys keys;
    Table table;
  };
  static std::map<size_t, std::unique_ptr<Fixture>> fixtures;
  auto &fixture = fixtures[state.range(0)];
  if (!fixture)
    fixture = std::make_unique<Fixture>(state.range(0));
  for (auto _ : state)
    benchmark::DoNotOptimize(fixture->table.find((fixture->keys.*next)()));
}
void find_few(benchmark::State &state) { find(state, &RandomKeys::next_of_few); }
void find_any(benchmark::State &state) { find(state, &RandomKeys::next); }
BENCHMARK(find_few)->Name("floor/resolve_few")->Arg(10)->Arg(1000)->Arg(100'000);
BENCHMARK(find_any)->Name("floor/resolve_any")->Arg(10)->Arg(1000)->Arg(100'000);

/// An array of function pointers and what they are called with.
void function_pointers(benchmark::State &state) {
  struct Observer {
    void (*function)(const State32 *, void *);
    void *user_data;
  };
  long calls = 0;
  std::vector<Observer> observers(
      state.range(0),
      { [](const State32 *, void *user_data) { ++*static_cast<long *>(user_data); }, &calls });
  benchmark::DoNotOptimize(observers.data());
  State32 sent = {};
  for (auto _ : state) {
    State32 kept = sent;
    benchmark::DoNotOptimize(&kept);
    for (auto &observer : observers)
      observer.function(&kept, observer.user_data);
  }
  benchmark::DoNotOptimize(calls);
}
BENCHMARK(function_pointers)->Name("floor/send")->Arg(1)->Arg(10)->Arg(100);

} // namespace
