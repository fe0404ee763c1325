// ZeroMQ: a pair of sockets inside the process.
#include "queue.h"

#include <zmq.h>

namespace {

void queue(benchmark::State &state) {
  void *context = zmq_ctx_new();
  void *consumer = zmq_socket(context, ZMQ_PAIR);
  void *producer = zmq_socket(context, ZMQ_PAIR);
  int unlimited = 0;
  zmq_setsockopt(consumer, ZMQ_RCVHWM, &unlimited, sizeof unlimited);
  zmq_setsockopt(producer, ZMQ_SNDHWM, &unlimited, sizeof unlimited);
  zmq_bind(consumer, "inproc://queue");
  zmq_connect(producer, "inproc://queue");
  time_queue(
      state, [producer](const State64 &sent) { zmq_send(producer, &sent, sizeof sent, 0); },
      [consumer](Window &window, long until) {
        while (window.consumed() < until) {
          State64 state;
          zmq_recv(consumer, &state, sizeof state, 0);
          benchmark::DoNotOptimize(state);
          window.consume();
        }
      });
  zmq_close(producer);
  zmq_close(consumer);
  zmq_ctx_term(context);
}
BENCHMARK(queue)->Name("zeromq/queue")->UseManualTime();

} // namespace
