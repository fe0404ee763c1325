/* What costs nothing in C costs nothing here: no allocation, no copies, no wider tokens. */
#include "check.hpp"

#include <cstdlib>
#include <new>

static std::atomic<long> allocations{ 0 };

/* Every form of new comes to this one, and every delete to that. */
void *operator new(std::size_t size) {
  ++allocations;
  if (void *block = std::malloc(size != 0 ? size : 1))
    return block;
  throw std::bad_alloc();
}
void operator delete(void *block) noexcept { std::free(block); }
void operator delete(void *block, std::size_t) noexcept { std::free(block); }

namespace {

struct sample {
  int value;
};
struct logger {
  int lines = 0;
};

static_assert(sizeof(svk::container) == sizeof(svk_container *));
static_assert(sizeof(svk::stream) == sizeof(svk_stream *));
static_assert(sizeof(svk::service) == sizeof(svk_service *));
static_assert(sizeof(svk::subscription) == sizeof(svk_subscription *));
static_assert(sizeof(svk::dispatcher) == sizeof(svk_dispatcher *));
static_assert(sizeof(svk::result<void>) == sizeof(svk_status));
static_assert(std::is_trivially_copyable_v<svk::result<void>>); /* returned in a register */
static_assert(sizeof(svk::handle<int>) == 2 * sizeof(void *));  /* and the instance, asked for once */

template <class Call> long allocated_by(Call &&call) {
  const long before = allocations;
  call();
  return allocations - before;
}

} // namespace

int main() {
  logger one;
  auto container = svk::container::create().value();
  auto stream = svk::stream::create().value();
  auto dispatcher = svk::dispatcher::create().value();
  int seen = 0;

  CHECK_EQ(allocated_by([&] {
             container.add("logger", svk::scope::cached, [&one] { return &one; }).value();
             container
                 .add("none", svk::scope::cached, [] { return svk::result<logger *>(svk::failure{ 1001 }); })
                 .value();
           }),
           0);
  const std::string_view view = std::string_view("logger and more").substr(0, 6);
  auto key = svk::key::intern("logger").value();
  CHECK_EQ(allocated_by([&] {
             for (int i = 0; i < 100; ++i) {
               container.resolve<logger>("logger").value()->lines++;
               container.resolve<logger>(view).value()->lines++;
               container.resolve_unchecked<logger>(key).value()->lines++;
               if (container.resolve<logger>("missing")) /* words are fetched when asked for */
                 one.lines = -1000;
               if (container.resolve<logger>("none"))
                 one.lines = -1000;
             }
           }),
           0);
  CHECK_EQ(one.lines, 300);

  CHECK_EQ(
      allocated_by([&] {
        auto service = svk::service::create(sample{ 0 }, stream).value();
        auto inline_observer =
            service.observe<sample>([&seen](const sample &now) { seen += now.value; }).value();
        auto dispatched =
            service.observe<sample>(dispatcher, [&seen](const sample &now) { seen += now.value; }).value();
        auto pull = service.pull(svk::newest(4)).value();
        for (int i = 1; i <= 100; ++i) {
          stream.send(sample{ i }).value();
          dispatcher.dispatch().value();
          seen += pull.next<sample>()->value.value;
          seen += service.read<sample>()->value.value;
          (void)service.wait(1000, std::chrono::nanoseconds(0)).status();
        }
      }),
      0);
  CHECK_EQ(seen, 4 * 5050);

  const long heap =
      allocated_by([&] { /* what does not fit into a pointer: once, and no more */
                         const int more[4] = { 1, 2, 3, 4 };
                         container.add("large", [&one, more] { return one.lines += more[0], &one; }).value();
                         for (int i = 0; i < 10; ++i)
                           container.resolve<logger>("large").value();
      });
  CHECK_EQ(heap, 1);
  return check_done();
}
