// Boost.Signals2, thread-safe as it comes.
#include "support.h"

#include <benchmark/benchmark.h>
#include <boost/signals2.hpp>

namespace {

using Signal = boost::signals2::signal<void(const State32 &)>;

void send(benchmark::State &state) {
  Signal signal;
  long calls = 0;
  for (long index = 0; index < state.range(0); ++index)
    signal.connect([&calls](const State32 &) { ++calls; });
  State32 sent = {};
  for (auto _ : state)
    signal(sent);
  benchmark::DoNotOptimize(calls);
}
BENCHMARK(send)->Name("boost/send")->Arg(1)->Arg(10)->Arg(100);

void observe(benchmark::State &state) {
  Signal signal;
  long calls = 0;
  signal.connect([&calls](const State32 &) { ++calls; });
  for (auto _ : state)
    signal.connect([&calls](const State32 &) { ++calls; }).disconnect();
}
BENCHMARK(observe)->Name("boost/observe");

} // namespace
