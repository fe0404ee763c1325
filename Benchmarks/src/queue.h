// One producer and one consumer thread, 64 bytes a state, so many in flight at most.
#pragma once

#include "support.h"
#include "together.h"

/// What the consumer has had, so that the producer does not run away from it: everybody's queue would grow
/// without end.
class Window {
public:
  /// The producer's, before it sends number `index`.
  void wait(long index) {
    if (index % 64 != 0)
      return;
    for (int spins = 0; index - count.load(std::memory_order_acquire) > 4096;)
      if (++spins % 1000 == 0)
        sched_yield();
  }
  /// The consumer's, for each state.
  void consume() { count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  long consumed() const { return count.load(std::memory_order_relaxed); }
  void reset() { count.store(0, std::memory_order_relaxed); }

private:
  alignas(128) std::atomic<long> count{ 0 };
};

/// `consume(window, until)` returns when the window has counted to `until`; `produce(state)` sends one. An
/// iteration is `queue_length` states, from the first send to the last state's arrival.
constexpr long queue_length = 20'000;
template <class Produce, class Consume>
void time_queue(benchmark::State &state, Produce produce, Consume consume) {
  Window window;
  auto work = [&](int thread) {
    if (thread == 0) {
      consume(window, queue_length);
      window.reset();
      return;
    }
    State64 sent = {};
    for (long index = 0; index < queue_length; ++index) {
      window.wait(index);
      sent.bytes[0] = static_cast<unsigned char>(index);
      produce(sent);
    }
  };
  Together<decltype(work)> together(2, work);
  for (auto _ : state) {
    auto &stretches = together.run();
    auto start = std::min(stretches[0].start, stretches[1].start);
    state.SetIterationTime(std::chrono::duration<double>(stretches[0].end - start).count());
  }
}
