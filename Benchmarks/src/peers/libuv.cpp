// libuv: a locked vector, and uv_async_send to tell the loop.
#include "queue.h"

#include <uv.h>

namespace {

struct Inbox {
  uv_mutex_t mutex;
  uv_async_t async;
  std::vector<State64> kept, taken;
  Window *window = nullptr;
};

void queue(benchmark::State &state) {
  uv_loop_t loop;
  Inbox inbox;
  uv_loop_init(&loop);
  uv_mutex_init(&inbox.mutex);
  uv_async_init(&loop, &inbox.async, [](uv_async_t *async) {
    auto &inbox = *static_cast<Inbox *>(async->data);
    uv_mutex_lock(&inbox.mutex);
    inbox.kept.swap(inbox.taken);
    uv_mutex_unlock(&inbox.mutex);
    for (auto &state : inbox.taken) {
      benchmark::DoNotOptimize(state);
      inbox.window->consume();
    }
    inbox.taken.clear();
  });
  inbox.async.data = &inbox;
  time_queue(
      state,
      [&inbox](const State64 &sent) {
        uv_mutex_lock(&inbox.mutex);
        inbox.kept.push_back(sent);
        uv_mutex_unlock(&inbox.mutex);
        uv_async_send(&inbox.async);
      },
      [&](Window &window, long until) {
        inbox.window = &window;
        while (window.consumed() < until)
          uv_run(&loop, UV_RUN_ONCE);
      });
  uv_close(reinterpret_cast<uv_handle_t *>(&inbox.async), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  uv_mutex_destroy(&inbox.mutex);
}
BENCHMARK(queue)->Name("libuv/queue")->UseManualTime();

} // namespace
