// sigc++, which is for one thread only.
#include "support.h"

#include <benchmark/benchmark.h>
#include <sigc++/sigc++.h>

namespace {

using Signal = sigc::signal<void, const State32 &>;

void count_call(const State32 &, long *calls) { ++*calls; }

void send(benchmark::State &state) {
  Signal signal;
  long calls = 0;
  for (long index = 0; index < state.range(0); ++index)
    signal.connect(sigc::bind(sigc::ptr_fun(count_call), &calls));
  State32 sent = {};
  for (auto _ : state)
    signal.emit(sent);
  benchmark::DoNotOptimize(calls);
}
BENCHMARK(send)->Name("sigc++/send")->Arg(1)->Arg(10)->Arg(100);

void observe(benchmark::State &state) {
  Signal signal;
  long calls = 0;
  signal.connect(sigc::bind(sigc::ptr_fun(count_call), &calls));
  for (auto _ : state)
    sigc::connection(signal.connect(sigc::bind(sigc::ptr_fun(count_call), &calls))).disconnect();
}
BENCHMARK(observe)->Name("sigc++/observe");

} // namespace
