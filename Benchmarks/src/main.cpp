#include <benchmark/benchmark.h>

#include <cstring>
#include <thread>

/// With `--threaded` as the first argument the process has a second thread, which sleeps: without, glibc's
/// mutexes do without atomic instructions.
int main(int count, char **arguments) {
  if (count > 1 && !std::strcmp(arguments[1], "--threaded")) {
    std::thread([] {
      for (;;)
        std::this_thread::sleep_for(std::chrono::hours(1));
    }).detach();
    arguments[1] = arguments[0];
    --count, ++arguments;
  }
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments))
    return 2;
  benchmark::AddCustomContext("missing_peers", MISSING_PEERS);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
