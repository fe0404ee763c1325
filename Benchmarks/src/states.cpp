// Sending to observers on the sender's thread, and coming and going of observers.
#include "states.h"

#include "support.h"

#include <benchmark/benchmark.h>

Published::Published() {
  must(svk_stream_create(nullptr, &stream));
  svk_service_options options = SVK_SERVICE_OPTIONS_INIT;
  options.stream = stream;
  must(svk_service_create(&options, &service));
}

Published::~Published() {
  svk_service_close(service);
  svk_stream_destroy(stream);
}

svk_subscription *Published::observe(long &calls) {
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.on_state = [](const svk_state *, void *user_data) { ++*static_cast<long *>(user_data); };
  options.user_data = &calls;
  svk_subscription *subscription;
  must(svk_service_observe(service, &options, &subscription));
  return subscription;
}

namespace {

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
BENCHMARK(send)->Name("servicekit/send")->Arg(1)->Arg(10)->Arg(100);

void observe(benchmark::State &state) {
  Published published;
  long calls = 0;
  // Somebody else is there already.
  published.observe(calls);
  for (auto _ : state)
    svk_subscription_cancel(published.observe(calls));
}
BENCHMARK(observe)->Name("servicekit/observe");

} // namespace
