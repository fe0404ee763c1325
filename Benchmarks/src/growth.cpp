// The same operations at every size: resolving stays flat, sending flat per observer.
#include "states.h"
#include "support.h"

#include <benchmark/benchmark.h>

namespace {

void resolve(benchmark::State &state) {
  auto &filled = FilledContainer::of(state.range(0));
  for (auto _ : state) {
    svk_handle *handle;
    svk_resolve(filled.container, filled.keys.next(), &handle);
    svk_release(handle);
  }
}
BENCHMARK(resolve)->Name("growth/resolve")->RangeMultiplier(10)->Range(10, 1'000'000);

void send(benchmark::State &state) {
  Published published;
  long calls = 0;
  for (long index = 0; index < state.range(0); ++index)
    published.observe(calls);
  State32 sent = {};
  for (auto _ : state)
    svk_stream_send(published.stream, &sent, sizeof sent);
  benchmark::DoNotOptimize(calls);
}
BENCHMARK(send)->Name("growth/send")->RangeMultiplier(10)->Range(1, 10'000);

} // namespace
