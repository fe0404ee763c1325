// The scenario in C++, through servicekit.hpp: linked, with poll as the event loop.
#include <servicekit.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <poll.h>
#include <string>
#include <thread>
#include <vector>

namespace {

int points = 0;
void point(bool ok, const char *name) { std::printf("%sok %d - %s\n", ok ? "" : "not ", ++points, name); }

int made = 0;
std::vector<std::string> ended;

struct block {
  std::int64_t value;
  std::string name;
  block(std::int64_t value, const char *name) : value(value), name(name) { ++made; }
  ~block() { ended.push_back(name); }
};
using owned = std::unique_ptr<block>;

// The deleter of what `counter` makes: a service that tells when it is closed.
struct closes_counter {
  void operator()(svk_service *service) const {
    ended.push_back("counter");
    svk_service_close(service);
  }
};

std::int64_t constant(const char *name) {
  std::int64_t value;
  return svk_constant(name, &value) == SVK_OK ? value : -1;
}

struct counts_its_end {
  int *ends;
  explicit counts_its_end(int *ends) : ends(ends) {}
  counts_its_end(counts_its_end &&other) noexcept : ends(std::exchange(other.ends, nullptr)) {}
  ~counts_its_end() {
    if (ends != nullptr)
      ++*ends;
  }
};

} // namespace

int main() {
  std::puts("1..24");
  const std::uint32_t version = svk::version();
  point(version >> 16 == 1 && svk_version_string() == std::to_string(version >> 16) + "." +
                                                          std::to_string(version >> 8 & 255) + "." +
                                                          std::to_string(version & 255),
        "version");
  point(constant("SVK_SCOPE_CACHED") == SVK_SCOPE_CACHED && SVK_SCOPE_CACHED == 2 &&
            constant("SVK_CYCLE") == SVK_CYCLE && constant("SVK_DELIVER_PULL") == SVK_DELIVER_PULL &&
            constant("SVK_BUFFER_NEWEST") == SVK_BUFFER_NEWEST &&
            constant("SVK_FACTORY_ERROR_BASE") == SVK_FACTORY_ERROR_BASE,
        "constants");
  std::int64_t unknown;
  point(svk_constant("SVK_NO_SUCH", &unknown) == SVK_NOT_FOUND, "unknown constant");
  point(svk_status_name(SVK_CYCLE) == std::string("SVK_CYCLE"), "status name");

  int logger_freed = 0, observer_freed = 0;
  std::vector<block *> required;
  auto container = svk::container::create().value();
  auto stream = svk::stream::create().value();
  const auto add = [&container](const char *key, svk::scope scope, auto make) {
    container.add(key, scope, std::move(make)).value();
  };
  add("logger", svk::scope::cached,
      [end = counts_its_end(&logger_freed)] { return std::make_unique<block>(1, "logger"); });
  add("worker", svk::scope::unique, [&required](svk::resolver &resolver) {
    required.push_back(resolver.require<block>("logger").value());
    return std::make_unique<block>(2, "worker");
  });
  add("a", svk::scope::unset, [](svk::resolver &resolver) { return resolver.require<block>("b").value(); });
  add("b", svk::scope::unset, [](svk::resolver &resolver) { return resolver.require<block>("a").value(); });
  add("place", svk::scope::unique, [] { return std::make_unique<block>(10, "place"); });
  container
      .add_for("place", "preview", svk::scope::unique, [] { return std::make_unique<block>(20, "place"); })
      .value();
  container.add_for("place", "test", svk::scope::unique, [] { return std::make_unique<block>(30, "place"); })
      .value();
  add("broken", svk::scope::unset,
      []() -> svk::result<owned> { return svk::failure{ SVK_FACTORY_ERROR_BASE + 7 }; });
  add("throws", svk::scope::unset,
      []() -> owned { throw svk::error(SVK_FACTORY_ERROR_BASE + 8, "disk full"); });
  svk::factory_options untyped(svk::scope::cached);
  untyped.type = "org.example.counter/1";
  container
      .add<svk_service>("counter", untyped,
                        [&stream] {
                          ++made;
                          return std::unique_ptr<svk_service, closes_counter>(
                              svk::service::create(std::int64_t(0), stream).value().release());
                        })
      .value();

  auto logger = container.resolve<block>("logger").value(),
       again = container.resolve<block>("logger").value();
  point(logger.instance() != nullptr && logger.instance() == again.instance() && logger->value == 1,
        "cached");
  auto worker = container.resolve<block>("worker").value(),
       other = container.resolve<block>("worker").value();
  point(worker.instance() != other.instance(), "unique");
  point(required == std::vector<block *>(2, logger.instance()), "require");
  auto cycle = container.resolve<block>("a");
  point(cycle.status() == SVK_CYCLE && cycle.message().find("a → b → a") != std::string::npos, "cycle");
  auto missing = container.resolve<block>("nobody");
  point(missing.status() == SVK_NOT_FOUND && missing.message().find("nobody") != std::string::npos,
        "missing");
  std::int64_t expected = 10;
  for (const char *context : { "live", "preview", "test" }) {
    container.set_contexts(context).value();
    point(container.resolve<block>("place").value()->value == expected, context);
    expected += 10;
  }
  point(container.resolve<block>("broken").status() == SVK_FACTORY_ERROR_BASE + 7, "own status");
  auto thrown = container.resolve<block>("throws");
  point(thrown.status() == SVK_FACTORY_ERROR_BASE + 8 &&
            thrown.message().find("disk full") != std::string::npos,
        "exception");
  svk_handle *stale = worker.release();
  point(svk_release(stale) == SVK_OK && svk_release(stale) == SVK_INVALID_HANDLE &&
            svk_instance(stale) == nullptr,
        "stale handle");

  auto counter = container.resolve_service("counter").value();
  auto state = counter.read<std::int64_t>().value();
  point(state.value == 0 && state.version == 0, "service");
  auto pull = counter.pull(svk::newest(2)).value();
  const auto pulled = [&pull](std::int64_t value, std::uint64_t dropped) {
    const auto next = pull.next<std::int64_t>(std::chrono::nanoseconds(0));
    return next && next->value == value && next->dropped == dropped;
  };
  const auto status = [&pull] { return pull.next(std::chrono::nanoseconds(0)).status(); };
  for (std::int64_t value = 1; value <= 5; ++value)
    stream.send(value).value();
  point(pulled(4, 3) && pulled(5, 0) && status() == SVK_TIMEOUT, "pull");
  state = counter.read<std::int64_t>().value();
  point(state.value == 5 && state.version == 5, "read");

  auto dispatcher = svk::dispatcher::create().value();
  std::vector<std::int64_t> seen;
  const auto here = std::this_thread::get_id();
  auto subscription =
      counter
          .observe<std::int64_t>(dispatcher,
                                 [&seen, here, end = counts_its_end(&observer_freed)](std::int64_t value) {
                                   seen.push_back(std::this_thread::get_id() == here ? value : -1);
                                 })
          .value();
  std::thread sender([&stream] {
    for (std::int64_t value = 6; value <= 8; ++value)
      stream.send(value).value();
  });
  pollfd watched{ dispatcher.fd(), POLLIN, 0 };
  while (seen.size() < 3 && poll(&watched, 1, 30000) == 1)
    (void)dispatcher.dispatch();
  sender.join();
  point(seen == std::vector<std::int64_t>{ 6, 7, 8 }, "event loop");
  point(subscription.cancel() && observer_freed == 1 && stream.send(std::int64_t(9)) &&
            dispatcher.dispatch().status() == SVK_TIMEOUT && seen.size() == 3,
        "cancel");
  stream.finish().value();
  point(pulled(8, 2) && pulled(9, 0) && status() == SVK_CLOSED, "end");
  point(pull.dropped().value() == 5, "drops");
  counter = svk::service_handle();
  point(pull.cancel().status() == SVK_OK && other.reset() && logger.reset() && again.reset() &&
            svk_container_destroy(container.get()) == SVK_OK && stream.destroy() && dispatcher.destroy() &&
            container.resolve<block>("logger").status() == SVK_INVALID_HANDLE,
        "destroy");
  const auto last_worker = std::find(ended.rbegin(), ended.rend(), "worker");
  const auto the_logger = std::find(ended.rbegin(), ended.rend(), "logger");
  point(made == 7 && ended.size() == 7 && the_logger < last_worker && logger_freed == 1, "nothing leaked");
}
