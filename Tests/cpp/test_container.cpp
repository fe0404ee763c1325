/* Factories, scopes, contexts, parameters, keys: the container through the C++ face. */
#include "check.hpp"

#include <memory>
#include <thread>
#include <vector>

namespace {

struct animal {
  virtual ~animal() = default;
  virtual std::string says() const = 0;
};
struct dog : animal {
  counted tag{ 1 };
  std::string says() const override { return "wuff"; }
};
struct cat : animal {
  std::string says() const override { return "meow"; }
};
struct named {
  static constexpr const char *service_type = "org.example.named/1";
  int value = 7;
};

void what_a_factory_may_return() {
  int ours = 5;
  {
    auto container = svk::container::create().value();
    CHECK_OK(container.add("unique_ptr", svk::scope::cached, [] { return std::make_unique<counted>(1); }));
    CHECK_OK(container.add("value", [] { return counted(2); }));
    CHECK_OK(container.add("pointer", [&ours] { return &ours; }));
    CHECK_OK(container.add<animal>("base", svk::scope::shared, [] { return std::make_unique<dog>(); }));
    CHECK_OK(container.add("result", []() -> svk::result<counted> { return counted(3); }));
    CHECK_OK(container.add("failure", []() -> svk::result<counted> { return svk::failure{ 1234 }; }));
    CHECK_OK(container.add("null", [] { return std::unique_ptr<counted>(); }));

    auto first = container.resolve<counted>("unique_ptr").value();
    auto second = container.resolve<counted>("unique_ptr").value();
    CHECK(first.instance() == second.instance());
    CHECK_EQ(first->number, 1);
    CHECK_EQ(container.resolve<counted>("value").value()->number, 2);
    auto third = container.resolve<counted>("value").value(),
         fourth = container.resolve<counted>("value").value();
    CHECK(third.instance() != fourth.instance());
    CHECK(&*container.resolve<int>("pointer").value() == &ours);
    CHECK(container.resolve<animal>("base").value()->says() == "wuff");
    CHECK_EQ(container.resolve<counted>("result").value()->number, 3);
    CHECK_STATUS(container.resolve<counted>("failure"), 1234);
    CHECK_STATUS(container.resolve<counted>("null"), SVK_FACTORY_FAILED);
    CHECK_EQ(counted::alive, 3);
    CHECK_OK(third.reset());
    CHECK_EQ(counted::alive, 2);
    CHECK(!third && third.get() == nullptr && third.instance() == nullptr);
    svk::handle<counted> moved = std::move(fourth);
    CHECK(fourth.instance() == nullptr && moved.instance() != nullptr);
    svk::handle<counted> &itself = moved;
    moved = std::move(itself);
    CHECK(moved.instance() != nullptr && moved->number == 2);
    svk_handle *token = moved.release();
    CHECK(!moved && moved.instance() == nullptr);
    CHECK_OK(svk::check(svk_release(token)));
    CHECK_EQ(counted::alive, 1);
    CHECK_STATUS(third.reset(), SVK_INVALID_HANDLE);
  }
  CHECK_EQ(counted::alive, 0);
}

void types_are_checked() {
  auto container = svk::container::create().value();
  container.add<animal>("animal", [] { return cat(); }).value();
  CHECK(container.resolve<animal>("animal").value()->says() == "meow");
  CHECK_STATUS(container.resolve<counted>("animal"), SVK_TYPE_MISMATCH);
  CHECK_STATUS(container.resolve<cat>("animal"), SVK_TYPE_MISMATCH); /* known as an animal only */

  container.add("named", svk::scope::cached, [] { return named(); }).value();
  svk_handle *from_c = nullptr;
  CHECK_OK(svk::check(svk_resolve_typed(container.get(), "named", "org.example.named/1", &from_c)));
  CHECK_EQ(svk::handle<named>(from_c)->value, 7);

  static int plain = 9;
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = [](svk_resolver *, void **instance, void *) -> svk_status {
    *instance = &plain;
    return SVK_OK;
  };
  CHECK_OK(svk::check(svk_register(container.get(), "plain", &options)));
  CHECK_STATUS(container.resolve<int>("plain"), SVK_TYPE_MISMATCH);
  CHECK_EQ(*container.resolve_unchecked<int>("plain").value(), 9);
}

void dependencies_and_their_order() {
  static std::vector<std::string> ends;
  struct part {
    std::string name;
    explicit part(const char *name) : name(name) {}
    ~part() { ends.push_back(name); }
  };
  {
    auto container = svk::container::create().value();
    auto options = svk::factory_options(svk::scope::cached);
    options.required_keys = { "engine", "wheel" };
    container
        .add("car", options,
             [](svk::resolver &resolver) {
               part *engine = resolver.require<part>("engine").value();
               CHECK(engine->name == "engine");
               CHECK(resolver.container().get() != nullptr);
               return std::make_unique<part>("car");
             })
        .value();
    CHECK_STATUS(container.validate(), SVK_NOT_FOUND);
    container.add("engine", svk::scope::cached, [] { return std::make_unique<part>("engine"); }).value();
    container.add("wheel", svk::scope::cached, [] { return std::make_unique<part>("wheel"); }).value();
    CHECK_OK(container.validate());
    CHECK_OK(container.resolve<part>("car"));
    CHECK_CONTAINS(container.describe().value(), "engine");
    CHECK_CONTAINS(container.describe(svk::format::json).value(), "{");
  }
  CHECK(ends == (std::vector<std::string>{ "car", "engine" }));
}

void cycles_have_words() {
  auto container = svk::container::create().value();
  container.add("a", [](svk::resolver &r) { return *r.require<int>("b").value(); }).value();
  container
      .add("b",
           [](svk::resolver &r) -> svk::result<int> {
             auto a = r.require<int>("a");
             if (!a)
               return svk::failure{ a.status() };
             return **a;
           })
      .value();
  auto cycle = container.resolve<int>("a");
  CHECK_STATUS(cycle, SVK_CYCLE);
  CHECK_CONTAINS(cycle.message(), "a → b → a");
  CHECK_THROWS(container.resolve<int>("a").value(), SVK_CYCLE);
}

void names_of_every_kind() {
  auto container = svk::container::create().value();
  const std::string text = "a longer name that is no literal";
  CHECK_OK(container.add(text, [] { return 1; }));
  CHECK_OK(container.resolve<int>(text));
  CHECK_OK(container.resolve<int>(std::string_view(text)));
  const std::string_view part = std::string_view("loggers are many").substr(0, 6);
  CHECK_OK(container.add(part, [] { return 2; }));
  CHECK_EQ(*container.resolve<int>("logger").value(), 2);

  CHECK_STATUS(container.add(std::string_view(), [] { return 1; }), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(container.add(std::string_view("a\0b", 3), [] { return 1; }), SVK_INVALID_ARGUMENT);
  CHECK_STATUS(container.add(std::string("a\0b", 3), [] { return 1; }), SVK_INVALID_ARGUMENT);
  CHECK_OK(container.add(std::string(255, 'k'), [] { return 1; }));
  CHECK_OK(container.resolve<int>(std::string_view(std::string(255, 'k'))));
  for (std::size_t size : { 256, 257, 300, 70000 }) {
    CHECK_STATUS(container.add(std::string(size, 'k'), [] { return 1; }), SVK_INVALID_ARGUMENT);
    CHECK_STATUS(container.resolve<int>(std::string_view(std::string(size, 'k'))), SVK_INVALID_ARGUMENT);
  }
  CHECK_STATUS(container.resolve<int>(static_cast<const char *>(nullptr)), SVK_INVALID_ARGUMENT);

  auto key = svk::key::intern("logger").value();
  CHECK(key.get() == svk::key::intern(part).value().get());
  CHECK_EQ(*container.resolve_unchecked<int>(key).value(), 2);
  CHECK_STATUS(container.resolve_unchecked<int>(svk::key()), SVK_INVALID_HANDLE);
}

void parameters() {
  auto container = svk::container::create().value();
  svk::factory_options options(svk::scope::cached);
  options.cache_by_parameter = true;
  container
      .add("square", options,
           [](svk::resolver &r) -> svk::result<int> {
             auto side = r.parameter<int>();
             if (!side)
               return svk::failure{ side.status() };
             return *side * *side;
           })
      .value();
  CHECK_EQ(*container.resolve_with<int>("square", 7).value(), 49);
  CHECK(container.resolve_with<int>("square", 7).value().instance() ==
        container.resolve_with<int>("square", 7).value().instance());
  CHECK_EQ(*container.resolve_with<int>("square", 8).value(), 64);
  auto wrong = container.resolve_with<int>("square", std::string_view("text of another size"));
  CHECK_STATUS(wrong, SVK_TYPE_MISMATCH);
  container.add("echo", [](svk::resolver &r) { return std::string(r.parameter_bytes()); }).value();
  CHECK(*container.resolve_with<std::string>("echo", "some text").value() == "some text");
  container
      .add("outer",
           [](svk::resolver &r) { return std::string(*r.require_with<std::string>("echo", "in").value()); })
      .value();
  CHECK(*container.resolve<std::string>("outer").value() == "in");
}

void contexts_scopes_and_settings() {
  auto container = svk::container::create().value();
  container.add("place", [] { return std::string("plain"); }).value();
  container.add_for("place", "test", [] { return std::string("test"); }).value();
  container
      .add_for("place", std::string("preview"), svk::scope::cached, [] { return std::string("preview"); })
      .value();
  CHECK(*container.resolve<std::string>("place").value() == "plain");
  CHECK_OK(container.set_contexts("preview,live"));
  CHECK(*container.resolve<std::string>("place").value() == "preview");
  CHECK_OK(container.set_contexts(nullptr));
  auto child = svk::container::create_child(container).value();
  CHECK_OK(child.set_contexts("test"));
  CHECK_OK(child.reset(svk::reset::scopes | svk::reset::registrations));
  CHECK_OK(container.reset(svk::reset::scopes));
  CHECK(*child.resolve<std::string>("place").value() == "test"); /* whose contexts: those of who asks */
  CHECK_OK(container.set_contexts("test"));
  CHECK_OK(container.set_strict());
  container.add("live only", [] { return 1; }).value();
  CHECK_STATUS(container.resolve<int>("live only"), SVK_CONTEXT_MISSING);
  CHECK_OK(container.set_strict(false));

  CHECK_OK(container.push());
  CHECK_OK(container.add("live only", [] { return 2; }));
  CHECK_OK(container.set_default_scope(svk::scope::cached));
  CHECK_EQ(*container.resolve<int>("live only").value(), 2);
  CHECK_OK(container.pop());
  CHECK_EQ(*container.resolve<int>("live only").value(), 1);
  CHECK_STATUS(container.pop(), SVK_NOT_FOUND);
  CHECK_OK(container.remove("live only"));
  CHECK_STATUS(container.remove("live only"), SVK_NOT_FOUND);

  auto scope = svk::custom_scope::create("session").value();
  container.add("custom", scope, [] { return counted(); }).value();
  auto before = container.resolve<counted>("custom").value();
  CHECK(before.instance() == container.resolve<counted>("custom").value().instance());
  CHECK_OK(scope.reset());
  CHECK(before.instance() != container.resolve<counted>("custom").value().instance());
  CHECK_OK(scope.destroy());
  CHECK_STATUS(container.resolve<counted>("custom"), SVK_INVALID_HANDLE);

  CHECK(svk::container::shared().get() == svk::container::shared().get());
  container.add("pinned", svk::scope::cached, [] { return counted(4); }).value();
  CHECK_EQ(container.pin<counted>("pinned").value()->number, 4);
  CHECK_EQ(svk::version(), svk_version());
}

void callables_are_owned() {
  auto token = std::make_shared<int>(1);
  {
    auto container = svk::container::create().value();
    CHECK_OK(container.add("kept", [token] { return *token; }));
    CHECK_EQ(token.use_count(), 2);
    CHECK_OK(container.add("kept", [token] { return *token + 1; })); /* in place of the one before */
    CHECK_EQ(token.use_count(), 2);
    CHECK_STATUS(container.add("", [token] { return *token; }), SVK_INVALID_ARGUMENT);
    CHECK_EQ(token.use_count(), 2);
    CHECK_OK(
        container.decorate<int>("kept", [token](int &value, bool is_new) { value += is_new ? 10 : 100; }));
    CHECK_EQ(token.use_count(), 3);
    CHECK_EQ(*container.resolve<int>("kept").value(), 12);
    CHECK_OK(container.undecorate("kept"));
    CHECK_EQ(token.use_count(), 2);
    int seen = 0;
    CHECK_OK(container.decorate_all(
        [&seen](void *, const char *key, bool) { seen += key == std::string("kept"); }));
    int traced = 0;
    CHECK_OK(container.set_trace([&traced, token](const svk_trace_event &event) {
      traced += event.kind == SVK_TRACE_REGISTRATION && event.instance != nullptr;
    }));
    CHECK_EQ(*container.resolve<int>("kept").value(), 2);
    CHECK_EQ(seen, 1);
    CHECK_EQ(traced, 1);
    CHECK_OK(container.remove_trace());
    CHECK_OK(container.undecorate_all());
    CHECK_EQ(token.use_count(), 2);
    int calls = 0;
    CHECK_OK(container.add("mutable", [calls]() mutable { return ++calls; }));
    CHECK_EQ(*container.resolve<int>("mutable").value(), 1);
    CHECK_EQ(*container.resolve<int>("mutable").value(), 2);
  }
  CHECK_EQ(token.use_count(), 1);

  int warnings = 0;
  CHECK_OK(svk::set_log(svk::log_level::warning, [&warnings, token](svk::log_level level, const char *text) {
    warnings += level == svk::log_level::warning && std::string(text).find("held") != std::string::npos;
  }));
  svk::handle<int> held;
  {
    auto container = svk::container::create().value();
    container.add("held", [] { return 1; }).value();
    held = container.resolve<int>("held").value();
  }
  CHECK_EQ(warnings, 1);
  CHECK_EQ(*held, 1);
  CHECK_OK(svk::remove_log());
  CHECK_EQ(token.use_count(), 1);
}

void ended_and_empty_things() {
  svk::container empty;
  CHECK(!empty);
  CHECK_STATUS(empty.resolve<int>("x"), SVK_INVALID_HANDLE);
  CHECK_STATUS(empty.destroy(), SVK_INVALID_HANDLE);
  auto container = svk::container::create().value();
  svk::container_ref borrowed = container;
  container.add("x", [] { return 1; }).value();
  svk::container moved = std::move(container);
  CHECK(!container && moved.get() == borrowed.get());
  svk::container &itself = moved;
  moved = std::move(itself);
  CHECK_OK(borrowed.resolve<int>("x"));
  moved = svk::container::create().value();
  CHECK_STATUS(borrowed.resolve<int>("x"), SVK_INVALID_HANDLE);
  CHECK_THROWS(borrowed.resolve<int>("x").value(), SVK_INVALID_HANDLE);
  CHECK_OK(moved.destroy());
  CHECK_STATUS(moved.destroy(), SVK_INVALID_HANDLE);
  static_assert(!std::is_copy_constructible_v<svk::container> && !std::is_copy_assignable_v<svk::container>);
  static_assert(std::is_nothrow_move_constructible_v<svk::container>);
  static_assert(!std::is_copy_constructible_v<svk::handle<int>>);
  static_assert(!std::is_copy_constructible_v<svk::service_handle>);
  static_assert(std::is_trivially_copyable_v<svk::container_ref>);
}

void threads_share_a_container() {
  auto container = svk::container::create().value();
  counted::made = 0;
  container.add("one", svk::scope::cached, [] { return std::make_unique<counted>(1); }).value();
  std::vector<std::thread> threads;
  std::atomic<int> good{ 0 };
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n)
        good += container.resolve<counted>("one").value()->number;
    });
  for (auto &thread : threads)
    thread.join();
  CHECK_EQ(good, 4000);
  CHECK_EQ(counted::made, 1);
}

} // namespace

int main() {
  what_a_factory_may_return();
  types_are_checked();
  dependencies_and_their_order();
  cycles_have_words();
  names_of_every_kind();
  parameters();
  contexts_scopes_and_settings();
  callables_are_owned();
  ended_and_empty_things();
  threads_share_a_container();
  CHECK_EQ(counted::alive, 0);
  return check_done();
}
