// From thread to thread: a dispatcher, and what a program would write without one.
#include "queue.h"

#include "states.h"

#include <pthread.h>

#include <memory>

namespace {

void dispatcher(benchmark::State &state) {
  svk_dispatcher *dispatcher;
  must(svk_dispatcher_create(&dispatcher));
  {
    Published published;
    Window *consumed = nullptr;
    svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
    options.delivery = SVK_DELIVER_DISPATCHER;
    options.dispatcher = dispatcher;
    options.on_state = [](const svk_state *state, void *user_data) {
      benchmark::DoNotOptimize(*static_cast<const State64 *>(state->data));
      (*static_cast<Window **>(user_data))->consume();
    };
    options.user_data = &consumed;
    svk_subscription *subscription;
    must(svk_service_observe(published.service, &options, &subscription));
    time_queue(
        state, [&](const State64 &sent) { svk_stream_send(published.stream, &sent, sizeof sent); },
        [&](Window &window, long until) {
          consumed = &window;
          while (window.consumed() < until)
            svk_dispatcher_dispatch(dispatcher, 0, -1, nullptr);
        });
  }
  svk_dispatcher_destroy(dispatcher);
}
BENCHMARK(dispatcher)->Name("servicekit/queue")->UseManualTime();

/// A mutex, a condition, and a vector that the consumer swaps for an empty one.
void condition(benchmark::State &state) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  bool is_waiting = false;
  std::vector<State64> kept, taken;
  time_queue(
      state,
      [&](const State64 &sent) {
        pthread_mutex_lock(&mutex);
        kept.push_back(sent);
        bool must_signal = is_waiting;
        is_waiting = false;
        pthread_mutex_unlock(&mutex);
        if (must_signal)
          pthread_cond_signal(&changed);
      },
      [&](Window &window, long until) {
        while (window.consumed() < until) {
          pthread_mutex_lock(&mutex);
          while (kept.empty()) {
            is_waiting = true;
            pthread_cond_wait(&changed, &mutex);
          }
          is_waiting = false;
          kept.swap(taken);
          pthread_mutex_unlock(&mutex);
          for (auto &state : taken) {
            benchmark::DoNotOptimize(state);
            window.consume();
          }
          taken.clear();
        }
      });
}
BENCHMARK(condition)->Name("plain/queue")->UseManualTime();

/// A ring of which each end is one thread's, who spins.
void ring(benchmark::State &state) {
  constexpr size_t capacity = 1024;
  struct Ring {
    alignas(128) std::atomic<size_t> head{ 0 };
    alignas(128) std::atomic<size_t> tail{ 0 };
    alignas(128) State64 states[capacity];
  };
  auto shared = std::make_unique<Ring>();
  time_queue(
      state,
      [ring = shared.get()](const State64 &sent) {
        size_t head = ring->head.load(std::memory_order_relaxed);
        for (int spins = 0; head - ring->tail.load(std::memory_order_acquire) == capacity;)
          if (++spins % 1000 == 0)
            sched_yield();
        ring->states[head % capacity] = sent;
        ring->head.store(head + 1, std::memory_order_release);
      },
      [ring = shared.get()](Window &window, long until) {
        size_t tail = ring->tail.load(std::memory_order_relaxed);
        for (int spins = 0; window.consumed() < until;) {
          if (ring->head.load(std::memory_order_acquire) == tail) {
            if (++spins % 1000 == 0)
              sched_yield();
            continue;
          }
          benchmark::DoNotOptimize(ring->states[tail % capacity]);
          window.consume();
          ring->tail.store(++tail, std::memory_order_release);
        }
      });
}
BENCHMARK(ring)->Name("floor/queue")->UseManualTime();

} // namespace
