/* What becomes of exceptions in callbacks, and of failures that nobody looks at. */
#include "check.hpp"

#include <mutex>
#include <thread>

namespace {

std::atomic<int> handled{ 0 };
std::mutex last_lock;
std::string last_handled;

void handle(std::exception_ptr exception) {
  ++handled;
  std::lock_guard<std::mutex> guard(last_lock);
  try {
    std::rethrow_exception(exception);
  } catch (const std::exception &thrown) {
    last_handled = thrown.what();
  } catch (...) {
    last_handled = "?";
  }
}

struct throws_at_its_end {
  counted tag;
  ~throws_at_its_end() noexcept(false) { throw std::runtime_error("destructor"); }
};

void in_factories() {
  auto container = svk::container::create().value();
  container.add("own", []() -> int { throw svk::error(1007, "no paper"); }).value();
  container.add("other", []() -> int { throw std::runtime_error("disk full"); }).value();
  container.add("odd", []() -> int { throw 5; }).value();
  container.add("ok", []() -> int { throw svk::error(SVK_OK, "not ok at all"); }).value();
  container.add("status", []() -> svk::result<int> { return svk::failure{ 1007 }; }).value();
  container.add("above", [](svk::resolver &r) { return *r.require<int>("other").value() + 1; }).value();
  container
      .add("hands on",
           [](svk::resolver &r) -> svk::result<int> {
             auto other = r.require<int>("other");
             return svk::failure{ other.status() };
           })
      .value();

  auto own = container.resolve<int>("own");
  CHECK_STATUS(own, 1007);
  CHECK_CONTAINS(own.message(), "no paper");
  CHECK_CONTAINS(own.message(), "\"own\"");
  CHECK_CONTAINS(own.error().what(), "no paper");
  auto status = container.resolve<int>("status"); /* the same status, but these words are not its own */
  CHECK_STATUS(status, 1007);
  CHECK(status.message().find("no paper") == std::string::npos);
  auto other = container.resolve<int>("other");
  CHECK_STATUS(other, svk::threw);
  CHECK_CONTAINS(other.message(), "disk full");
  CHECK_STATUS(container.resolve<int>("odd"), svk::threw);
  CHECK_STATUS(container.resolve<int>("ok"), SVK_FACTORY_FAILED);
  auto above = container.resolve<int>("above");
  CHECK_STATUS(above, svk::threw);
  CHECK_CONTAINS(above.message(), "disk full");
  auto on = container.resolve<int>("hands on");
  CHECK_STATUS(on, svk::threw);
  CHECK_CONTAINS(on.message(), "disk full");
  CHECK_THROWS(container.resolve<int>("own").value(), 1007);
  CHECK_EQ(container.resolve<int>("missing").status(), SVK_NOT_FOUND);
  CHECK(container.resolve<int>("missing").message().find("disk full") == std::string::npos);
  CHECK_CONTAINS(container.resolve<int>("missing").message(), "missing");

  std::string endless(2000, 'x');
  for (std::size_t i = 0; i < endless.size(); i += 2)
    endless.replace(i, 2, "ä");
  container.add("long", [&endless]() -> int { throw std::runtime_error(endless); }).value();
  const std::string cut = container.resolve<int>("long").message();
  CHECK_CONTAINS(cut, "äää");
  CHECK(cut.size() < 700 && (static_cast<unsigned char>(cut.back()) & 0xc0) == 0x80 &&
        cut.substr(cut.size() - 2) == "ä");
}

void in_observers() {
  auto stream = svk::stream::create().value();
  auto service = svk::service::create(0, stream).value();
  int good = 0;
  auto bad = service
                 .observe<int>([](const int &now) {
                   if (now == 1)
                     throw std::runtime_error("observer");
                 })
                 .value();
  auto fine = service.observe<int>([&good](const int &now) { good += now; }).value();
  svk::set_exception_handler(handle);
  auto sent = stream.send(1);
  CHECK_STATUS(sent, svk::threw);
  CHECK_CONTAINS(sent.message(), "observer");
  CHECK_THROWS(stream.send(1).value(), svk::threw);
  CHECK_EQ(good, 2); /* delivered to the others all the same */
  CHECK_OK(stream.send(2));
  CHECK_EQ(handled, 2);
  CHECK_OK(bad.cancel());

  auto dispatcher = svk::dispatcher::create().value();
  auto dispatched =
      service.observe<int>(dispatcher, [](const int &) { throw svk::error(1001, "dispatched"); }).value();
  CHECK_OK(stream.send(3));
  CHECK_OK(stream.send(4));
  auto count = dispatcher.dispatch();
  CHECK_STATUS(count, svk::threw);
  CHECK_EQ(*count, 2);
  CHECK_CONTAINS(count.message(), "dispatched");
  CHECK_STATUS(dispatcher.dispatch(), SVK_TIMEOUT);
  CHECK_OK(dispatched.cancel());

  svk::observer_options current;
  current.current = true;
  auto at_once = service.observe<int>(current, [](const int &) { throw std::runtime_error("at once"); });
  CHECK_STATUS(at_once, svk::threw);
  CHECK(static_cast<bool>(*at_once)); /* it observes all the same */
  CHECK_OK((*at_once).cancel());

  auto ends = service.observe<int>({}, [](const int &) {}, [] { throw std::runtime_error("end"); }).value();
  auto finish = stream.finish();
  CHECK_STATUS(finish, svk::threw);
  CHECK_CONTAINS(finish.message(), "end");
  CHECK_STATUS(stream.finish(), SVK_CLOSED);
  svk::set_exception_handler(nullptr);
}

void where_nobody_answers() {
  svk::set_exception_handler(handle);
  handled = 0;
  auto stream = svk::stream::create().value();
  auto service = svk::service::create(0, stream).value();
  auto done = svk::stream::create().value();
  auto done_service = svk::service::create(0, done).value();
  auto background =
      service
          .observe<int>(
              svk::delivery::in_background, [](const int &) { throw std::runtime_error("worker"); },
              [&done] { done.send(1).value(); })
          .value();
  CHECK_OK(stream.send(1));
  CHECK_OK(stream.finish());
  CHECK_EQ(done_service.wait(0).value(), 1);
  CHECK_EQ(handled, 1);
  CHECK(last_handled == "worker");
  {
    auto container = svk::container::create().value();
    container.add("x", [] { return std::make_unique<throws_at_its_end>(); }).value();
    CHECK_OK(container.resolve<throws_at_its_end>("x"));
    CHECK_EQ(handled, 2);
    container
        .decorate<throws_at_its_end>("x", [](throws_at_its_end &, bool) { throw std::runtime_error("deco"); })
        .value();
    CHECK_OK(container.resolve<throws_at_its_end>("x"));
    CHECK_EQ(handled, 4);
    container.set_trace([](const svk_trace_event &) { throw 1; }).value();
    CHECK_STATUS(container.resolve<int>("none"), SVK_NOT_FOUND);
    CHECK_EQ(handled, 5);
  }
  CHECK_EQ(counted::alive, 0);
  svk::set_exception_handler(nullptr);
}

void results() {
  svk::result<int> good = 3;
  svk::result<int> bad = svk::failure{ SVK_NOT_FOUND };
  CHECK(good && good.has_value() && *good == 3 && good.message().empty());
  CHECK(!bad && bad.status() == SVK_NOT_FOUND);
  CHECK_EQ(svk::result<int>(bad).value_or(9), 9);
  CHECK_EQ(svk::result<int>(good).value_or(9), 3);
  CHECK_THROWS(bad.value(), SVK_NOT_FOUND);
  CHECK_STATUS(svk::check(svk_release(nullptr)), SVK_INVALID_HANDLE);
  CHECK(svk::result<void>(svk::failure{ SVK_DEFERRED }).has_value());
  CHECK(svk::result<void>(svk::failure{ SVK_DEFERRED }).deferred());
  CHECK_THROWS((svk::check(svk_release(nullptr)).value(), 0), SVK_INVALID_HANDLE);
}

/* Two threads fail in two ways at the same time; each sees its own words. */
void words_belong_to_their_thread() {
  auto container = svk::container::create().value();
  container.add("a", []() -> int { throw svk::error(2001, "words of a"); }).value();
  container.add("b", []() -> int { throw svk::error(2001, "words of b"); }).value();
  std::atomic<int> right{ 0 };
  auto ask = [&](const char *key, const char *words) {
    for (int i = 0; i < 500; ++i)
      right += container.resolve<int>(key).message().find(words) != std::string::npos;
  };
  std::thread other(ask, "a", "words of a");
  ask("b", "words of b");
  other.join();
  CHECK_EQ(right, 1000);
}

} // namespace

int main() {
  in_factories();
  in_observers();
  where_nobody_answers();
  results();
  words_belong_to_their_thread();
  return check_done();
}
