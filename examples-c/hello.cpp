// The container and a stateful service from C++17: a thermometer, registered for live and for tests, and a
// watcher that is told of each new temperature.
#include <servicekit.hpp>

#include <iostream>
#include <memory>
#include <string>

struct celsius {
  double degrees;
};

struct logger {
  virtual ~logger() = default;
  virtual void line(const std::string &text) = 0;
};

struct console : logger {
  void line(const std::string &text) override { std::cout << text << '\n'; }
};

// Owns its service, which whoever resolves the watcher's dependency can observe.
class watcher {
public:
  watcher(logger &log, svk::service_ref thermometer)
      : observer_(thermometer
                      .observe<celsius>([&log](const celsius &now) {
                        log.line("now it has " + std::to_string(now.degrees) + " degrees");
                      })
                      .value()) {}

private:
  svk::subscription observer_; // cancelled before the logger goes: dependents end first
};

int main() {
  try {
    auto sensor = svk::stream::create().value(); // the right to publish
    auto container = svk::container::create().value();
    container.add<logger>("logger", svk::scope::cached, [] { return std::make_unique<console>(); }).value();
    container
        .add("thermometer", svk::scope::cached,
             [&sensor] { return svk::service::create(celsius{ 19.5 }, sensor); })
        .value();
    container
        .add_for("thermometer", "test", svk::scope::cached, [] { return svk::service::create(celsius{ 0 }); })
        .value();
    container
        .add("watcher",
             [](svk::resolver &resolver) {
               auto &log = *resolver.require<logger>("logger").value();
               auto *thermometer = resolver.require<svk_service>("thermometer").value();
               return std::make_unique<watcher>(log, svk::service_ref(thermometer));
             })
        .value();

    auto watching = container.resolve<watcher>("watcher").value();
    sensor.send(celsius{ 20.5 }).value();
    sensor.send(celsius{ 21.25 }).value();

    // Failures as values, for those who like them better than exceptions.
    if (auto missing = container.resolve<logger>("loger"); !missing)
      std::cout << "as expected: " << missing.message() << '\n';
  } catch (const svk::error &failure) {
    std::cerr << svk_status_name(failure.status()) << ": " << failure.what() << '\n';
    return 1;
  }
}
