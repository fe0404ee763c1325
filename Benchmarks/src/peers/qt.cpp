// Qt's signals: direct ones, and queued ones from thread to thread.
#include "qt.h"

#include "queue.h"

#include <benchmark/benchmark.h>

#include <QCoreApplication>

namespace {

void send(benchmark::State &state) {
  QtEmitter emitter;
  long calls = 0;
  for (long index = 0; index < state.range(0); ++index)
    QObject::connect(&emitter, &QtEmitter::changed, [&calls](const State32 &) { ++calls; });
  State32 sent = {};
  for (auto _ : state)
    emit emitter.changed(sent);
  benchmark::DoNotOptimize(calls);
}
BENCHMARK(send)->Name("qt/send")->Arg(1)->Arg(10)->Arg(100);

void observe(benchmark::State &state) {
  QtEmitter emitter;
  long calls = 0;
  auto count_call = [&calls](const State32 &) { ++calls; };
  QObject::connect(&emitter, &QtEmitter::changed, count_call);
  for (auto _ : state)
    QObject::disconnect(QObject::connect(&emitter, &QtEmitter::changed, count_call));
}
BENCHMARK(observe)->Name("qt/observe");

void queue(benchmark::State &state) {
  static int count = 0;
  static QCoreApplication application(count, nullptr);
  qRegisterMetaType<State64>("State64");
  QtEmitter emitter;
  QObject receiver;
  Window *consumed = nullptr;
  QObject::connect(
      &emitter, &QtEmitter::queued, &receiver,
      [&consumed](const State64 &state) {
        benchmark::DoNotOptimize(state);
        consumed->consume();
      },
      Qt::QueuedConnection);
  time_queue(
      state, [&emitter](const State64 &sent) { emit emitter.queued(sent); },
      [&consumed](Window &window, long until) {
        consumed = &window;
        while (window.consumed() < until)
          QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
      });
}
BENCHMARK(queue)->Name("qt/queue")->UseManualTime();

} // namespace
