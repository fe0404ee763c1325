// Threads that work at the same time, timed only while they really do.
#pragma once

#include <benchmark/benchmark.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

/// One stretch of work of one thread.
struct Stretch {
  using clock = std::chrono::steady_clock;
  clock::time_point start, end;
  /// The system took the processor away meanwhile, for somebody else.
  bool was_preempted = false;

  template <class Work> void time(Work &&work) {
    long before = preemptions();
    start = clock::now();
    work();
    end = clock::now();
    was_preempted = preemptions() != before;
  }
  double seconds() const { return std::chrono::duration<double>(end - start).count(); }

private:
  static long preemptions() {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nivcsw;
  }
};

/// So many threads, of which the caller is the first, that do a round of work each time they are told to.
///
/// Rounds in which other programs had one of the processors are done again, so that a busy machine gives the
/// same figures as a quiet one. Waiting for each other, which is the work's own fault, counts.
template <class Work> class Together {
public:
  Together(int count, Work work) : work(work), stretches(count) {
    for (int index = 1; index < count; ++index)
      helpers.emplace_back([this, index] { help(index); });
  }
  ~Together() {
    is_over = true;
    ++round;
    for (auto &helper : helpers)
      helper.join();
  }

  /// The stretches of a round without disturbance; after many attempts, of one with.
  const std::vector<Stretch> &run() {
    for (int attempt = 0; attempt < 60; ++attempt) {
      run_once();
      if (is_undisturbed())
        break;
    }
    return stretches;
  }

private:
  void run_once() {
    int others = static_cast<int>(helpers.size());
    ready = 0;
    arrived = 0;
    ++round;
    while (ready < others)
      sched_yield();
    go = round.load();
    stretches[0].time([this] { work(0); });
    while (arrived < others)
      sched_yield();
  }

  void help(int index) {
    for (unsigned seen = 0;;) {
      while (round == seen)
        sched_yield();
      seen = round;
      if (is_over)
        return;
      ++ready;
      while (go != seen)
        continue;
      stretches[index].time([this, index] { work(index); });
      ++arrived;
    }
  }

  bool is_undisturbed() const {
    auto first = stretches[0].start, last = first;
    for (auto &stretch : stretches) {
      if (stretch.was_preempted)
        return false;
      first = std::min(first, stretch.start);
      last = std::max(last, stretch.start);
    }
    return std::chrono::duration<double>(last - first).count() <= 0.1 * stretches[0].seconds();
  }

  Work work;
  std::vector<Stretch> stretches;
  std::vector<std::thread> helpers;
  std::atomic<unsigned> round{ 0 }, go{ 0 };
  std::atomic<int> ready{ 0 }, arrived{ 0 };
  std::atomic<bool> is_over{ false };
};

/// As an iteration's time: what `operations` of each of `count` threads take, so that it halves where two do
/// not disturb each other.
template <class Work> void time_together(benchmark::State &state, int count, long operations, Work work) {
  Together<Work> together(count, work);
  for (auto _ : state) {
    double rate = 0;
    for (auto &stretch : together.run())
      rate += static_cast<double>(operations) / stretch.seconds();
    state.SetIterationTime(static_cast<double>(operations) / rate);
  }
}
