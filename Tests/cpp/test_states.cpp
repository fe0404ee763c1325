/* Streams, services, observers, snapshots and dispatchers through the C++ face. */
#include "check.hpp"

#include <chrono>
#include <memory>
#include <poll.h>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

struct sample {
  double load;
  std::int32_t tasks;
  std::int32_t padding;
};

bool readable(int fd) {
  pollfd watched{ fd, POLLIN, 0 };
  return poll(&watched, 1, 0) == 1;
}

void typed_states() {
  auto stream = svk::stream::create().value();
  auto service = svk::service::create(sample{ 1, 2, 0 }, stream).value();
  CHECK_EQ(service.read<sample>().value().value.tasks, 2);
  CHECK_EQ(service.read<sample>().value().version, 0);

  std::vector<int> seen;
  std::vector<std::uint64_t> versions;
  auto first = service.observe<sample>([&seen](const sample &now) { seen.push_back(now.tasks); }).value();
  svk::observer_options options;
  options.current = true;
  bool finished = false;
  auto second =
      service
          .observe<sample>(
              options,
              [&versions](const sample &, const svk_state &state) { versions.push_back(state.version); },
              [&finished] { finished = true; })
          .value();
  auto third =
      service.observe([&seen](const svk_state &state) { seen.push_back(-static_cast<int>(state.size)); });
  CHECK_OK(third);
  CHECK_OK(stream.send(sample{ 1.5, 3, 0 }));
  CHECK_OK(stream.send_within(sample{ 1.5, 4, 0 }, 1s));
  CHECK_OK(stream.send_owned(std::make_unique<sample>(sample{ 1.5, 5, 0 })));
  const int size = -static_cast<int>(sizeof(sample));
  CHECK(seen == (std::vector<int>{ 3, size, 4, size, 5, size }));
  CHECK(versions == (std::vector<std::uint64_t>{ 0, 1, 2, 3 }));
  CHECK_OK(first.cancel());
  CHECK_STATUS(first.cancel(), SVK_INVALID_HANDLE);
  CHECK_OK(stream.finish());
  CHECK(finished);
  CHECK_STATUS(stream.send(sample{}), SVK_CLOSED);
  CHECK_EQ(service.read<sample>().value().value.tasks, 5);
  CHECK_OK(service.close());
  CHECK_STATUS(service.read<sample>(), SVK_INVALID_HANDLE);
}

void states_of_another_size() {
  auto stream = svk::stream::create().value();
  auto service = svk::service::create("text", stream).value();
  auto read = service.read<sample>();
  CHECK_STATUS(read, SVK_TYPE_MISMATCH);
  CHECK_CONTAINS(read.message(), "4 bytes");
  CHECK_STATUS(service.read<char>(), SVK_TYPE_MISMATCH);
  CHECK(service.acquire()->as<sample>() == nullptr);
  CHECK(service.acquire()->bytes() == "text");

  int seen = 0;
  auto observer = service.observe<sample>([&seen](const sample &) { ++seen; }).value();
  auto pull = service.pull().value();
  auto sent = stream.send("more text");
  CHECK_STATUS(sent, svk::threw);
  CHECK_CONTAINS(sent.message(), "9 bytes");
  CHECK_OK(stream.send(sample{}));
  CHECK_EQ(seen, 1);
  CHECK_STATUS(pull.next<char>(), SVK_TYPE_MISMATCH); /* taken, not given */
  CHECK_EQ(pull.next<sample>(0s)->version, 2);
  CHECK_STATUS(pull.next<sample>(0s), SVK_TIMEOUT);
}

void pulling_and_drops() {
  auto stream = svk::stream::create().value();
  auto service = svk::service::create(0, stream).value();
  auto pull = service.pull(svk::newest(2)).value();
  CHECK(!readable(pull.fd()));
  for (int i = 1; i <= 5; ++i)
    stream.send(i).value();
  CHECK(readable(pull.fd()));
  auto state = pull.next<int>().value();
  CHECK_EQ(state.value, 4);
  CHECK_EQ(state.dropped, 3);
  auto snapshot = pull.next(1ms).value();
  CHECK_EQ(*snapshot.as<int>(), 5);
  CHECK_EQ(snapshot.version(), 5);
  CHECK_EQ(snapshot.dropped(), 0);
  CHECK_EQ(pull.dropped().value(), 3);
  CHECK_STATUS(pull.next(0ns), SVK_TIMEOUT);
  CHECK_STATUS(pull.next(-1h), SVK_TIMEOUT); /* over already, not for ever */
  CHECK_OK(stream.destroy());
  CHECK_STATUS(pull.next(), SVK_CLOSED);
  CHECK(readable(pull.fd()));
  CHECK_OK(service.close());
  CHECK_EQ(*snapshot.as<int>(), 5); /* outlives both */
  CHECK_STATUS(service.pull(), SVK_INVALID_HANDLE);
}

void waiting_between_threads() {
  auto stream = svk::stream::create().value();
  auto service = svk::service::create(0, stream).value();
  CHECK_STATUS(service.wait(0, 0s), SVK_TIMEOUT);
  std::thread sender([&] { CHECK_OK(stream.send(1)); });
  CHECK_EQ(service.wait(0).value(), 1);
  sender.join();
  CHECK_STATUS(service.wait(0, std::chrono::hours::max()), SVK_OK); /* more than fits: as long as there is */
}

void timeouts_saturate() {
  using svk::timeout;
  static_assert(timeout(1ms).nanoseconds() == 1000000);
  static_assert(timeout(1.5s).nanoseconds() == 1500000000);
  static_assert(timeout(svk::forever).nanoseconds() == -1);
  static_assert(timeout(-5s).nanoseconds() == 0);
  static_assert(timeout(std::chrono::nanoseconds::max()).nanoseconds() == INT64_MAX);
  static_assert(timeout(std::chrono::nanoseconds::min()).nanoseconds() == 0);
  static_assert(timeout(std::chrono::hours::max()).nanoseconds() == INT64_MAX);
  static_assert(timeout(std::chrono::duration<double>(1e200)).nanoseconds() == INT64_MAX);
  const std::chrono::duration<double> no_number(std::numeric_limits<double>::quiet_NaN());
  CHECK_EQ(timeout(no_number).nanoseconds(), 0);
}

void through_a_dispatcher() {
  auto token = std::make_shared<int>(0);
  auto stream = svk::stream::create().value();
  auto dispatcher = svk::dispatcher::create().value();
  auto service = svk::service::create(0, stream).value();
  const auto here = std::this_thread::get_id();
  int sum = 0;
  bool ended = false;
  auto observer = service
                      .observe<int>(
                          dispatcher,
                          [&, token](const int &now) {
                            CHECK(std::this_thread::get_id() == here);
                            sum += now;
                          },
                          [&ended] { ended = true; })
                      .value();
  CHECK_STATUS(dispatcher.dispatch(), SVK_TIMEOUT);
  std::thread sender([&] {
    for (int i = 1; i <= 100; ++i)
      stream.send(i).value();
  });
  sender.join();
  CHECK_EQ(sum, 0);
  CHECK(readable(dispatcher.fd()));
  CHECK_EQ(dispatcher.dispatch(svk::forever, 10).value(), 10);
  CHECK_EQ(sum, 55);
  CHECK_EQ(dispatcher.dispatch().value(), 90);
  CHECK_EQ(sum, 5050);
  CHECK(!readable(dispatcher.fd()));
  CHECK_OK(dispatcher.wake());
  CHECK_EQ(dispatcher.dispatch(svk::forever).value(), 0);
  CHECK_OK(stream.finish());
  CHECK_EQ(dispatcher.dispatch(1s).value(), 1);
  CHECK(ended);
  CHECK_EQ(token.use_count(), 2);
  CHECK_OK(observer.cancel_nowait());
  CHECK_EQ(token.use_count(), 1);
  CHECK_OK(dispatcher.destroy());
  CHECK_EQ(dispatcher.fd(), -1);
}

void callbacks_of_a_service() {
  auto token = std::make_shared<int>(0);
  svk::stream_ref producer;
  auto stream = svk::stream::create(svk::unbounded, [&producer, token](svk::stream_ref given) {
                  producer = given;
                  CHECK_OK(given.send(1));
                }).value();
  CHECK(!producer);
  static const int api = 11;
  svk::service_options options(stream);
  options.api = &api;
  options.skip_equal = true;
  std::vector<int> seen;
  bool ended = false;
  auto service =
      svk::service::create<int>(
          0, options, [&seen, token](const int &now) { seen.push_back(now); }, [&ended] { ended = true; })
          .value();
  CHECK(producer.get() == stream.get());
  CHECK_EQ(*service.api<int>(), 11);
  CHECK_OK(producer.send(1));
  CHECK_OK(producer.send(2));
  CHECK(seen == (std::vector<int>{ 1, 2 }));
  CHECK_STATUS(svk::service::create(0, stream), SVK_ALREADY_EXISTS);
  CHECK_STATUS(svk::service::create<int>(0, stream, [token](const int &) {}), SVK_ALREADY_EXISTS);
  CHECK_EQ(token.use_count(), 3);
  CHECK_OK(stream.destroy());
  CHECK(ended);
  CHECK_EQ(token.use_count(), 2);
  CHECK_OK(service.close());
  CHECK_EQ(token.use_count(), 1);
  auto none = svk::stream::none().value();
  CHECK_STATUS(none.send(1), SVK_CLOSED);
  CHECK_STATUS(svk::stream::create(svk::oldest(0)), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(svk::stream::create(svk::oldest(0), [token](svk::stream_ref) {}), SVK_INVALID_ARGUMENT);
  CHECK_EQ(token.use_count(), 1);
}

void bounded_streams() {
  auto stream = svk::stream::create(svk::oldest(1)).value();
  CHECK_OK(stream.send(1));
  CHECK_STATUS(stream.send(2), SVK_BUFFER_FULL);
  auto blocking = svk::stream::create(svk::blocking(1)).value();
  CHECK_OK(blocking.send(1));
  CHECK_STATUS(blocking.send_within(2, 1ms), SVK_TIMEOUT);
  auto values = std::make_unique<int[]>(3);
  values[2] = 7;
  auto newest = svk::stream::create(svk::newest(1)).value();
  CHECK_OK(newest.send_owned(std::move(values), 3));
  auto service = svk::service::create("", newest).value();
  CHECK_EQ(service.acquire()->size(), 3 * sizeof(int));
}

void in_the_background() {
  auto stream = svk::stream::create().value();
  auto service = svk::service::create(0, stream).value();
  std::atomic<int> sum{ 0 };
  std::atomic<bool> elsewhere{ true };
  const auto here = std::this_thread::get_id();
  auto ended = svk::stream::create().value();
  auto end = svk::service::create(0, ended).value();
  auto observer = service
                      .observe<int>(
                          svk::delivery::in_background,
                          [&](const int &now) {
                            sum += now;
                            elsewhere = elsewhere && std::this_thread::get_id() != here;
                          },
                          [&] { ended.send(1).value(); })
                      .value();
  for (int i = 1; i <= 100; ++i)
    stream.send(i).value();
  stream.finish().value();
  CHECK_EQ(end.wait(0).value(), 1);
  CHECK_EQ(sum, 5050);
  CHECK(elsewhere);
}

void out_of_a_container() {
  auto stream = svk::stream::create().value();
  auto container = svk::container::create().value();
  container.add("weather", svk::scope::shared, [&stream] { return svk::service::create("fog", stream); })
      .value();
  std::string last;
  svk::subscription observer;
  {
    auto weather = container.resolve_service("weather").value();
    observer = weather
                   .observe([&last](const svk_state &state) {
                     last.assign(static_cast<const char *>(state.data), state.size);
                   })
                   .value();
    CHECK_OK(stream.send("rain"));
    CHECK(last == "rain");
    svk::service_handle moved = std::move(weather);
    CHECK(moved.acquire()->bytes() == "rain");
    CHECK_STATUS(weather.acquire(), SVK_INVALID_HANDLE);
    auto snapshot = moved.acquire().value();
    svk::snapshot other = std::move(snapshot);
    CHECK(snapshot.bytes().empty() && other.bytes() == "rain");
    CHECK_STATUS(container.resolve<svk_container *>("weather"), SVK_TYPE_MISMATCH);
  }
  CHECK_STATUS(stream.send("sun"), SVK_CLOSED); /* shared, and nobody held it */
  CHECK_STATUS(observer.cancel(), SVK_INVALID_HANDLE);
  CHECK_STATUS(container.resolve_service("weather"), SVK_ALREADY_EXISTS);
}

} // namespace

int main() {
  typed_states();
  states_of_another_size();
  pulling_and_drops();
  waiting_between_threads();
  timeouts_saturate();
  through_a_dispatcher();
  callbacks_of_a_service();
  bounded_streams();
  in_the_background();
  out_of_a_container();
  return check_done();
}
