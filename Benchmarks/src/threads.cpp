// The throughput of two threads beside that of one.
#include "support.h"
#include "together.h"

namespace {

constexpr long operations = 10'000;

struct Keys {
  Keys() {
    must(svk_container_create(&container));
    svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
    options.create = create_trivial;
    options.scope = SVK_SCOPE_CACHED;
    for (int index = 0; index < 2; ++index) {
      std::string name = key_number(index);
      must(svk_register(container, name.c_str(), &options));
      must(svk_key_intern(name.c_str(), &keys[index]));
    }
  }
  svk_container *container = nullptr;
  svk_key *keys[2] = {};
};

void resolve(benchmark::State &state, bool is_same) {
  static Keys keys;
  time_together(state, static_cast<int>(state.range(0)), operations, [is_same](int thread) {
    svk_key *key = keys.keys[is_same ? 0 : thread];
    for (long count = 0; count < operations; ++count) {
      svk_handle *handle;
      svk_resolve_key(keys.container, key, &handle);
      svk_release(handle);
    }
  });
}
void same_key(benchmark::State &state) { resolve(state, true); }
void different_keys(benchmark::State &state) { resolve(state, false); }
BENCHMARK(same_key)->Name("servicekit/threads_same_key")->Arg(1)->Arg(2)->UseManualTime();
BENCHMARK(different_keys)->Name("servicekit/threads_different_keys")->Arg(1)->Arg(2)->UseManualTime();

/// What a count that two threads share costs them.
void atomic_add(benchmark::State &state) {
  static std::atomic<long> count;
  time_together(state, static_cast<int>(state.range(0)), operations, [](int) {
    for (long done = 0; done < operations; ++done)
      count.fetch_add(1);
  });
}
BENCHMARK(atomic_add)->Name("floor/threads_same_key")->Arg(1)->Arg(2)->UseManualTime();

} // namespace
