/* Only compiled, with -fno-exceptions -fno-rtti: every part that has exceptions in it does without. */
#include <servicekit.hpp>

int main() {
  auto container = svk::container::create().value();
  auto stream = svk::stream::create(svk::newest(2), [](svk::stream_ref) {}).value();
  if (!container.add("answer", [] { return 42; }) || !container.resolve<int>("answer"))
    return 1;
  auto service = svk::service::create<int>(0, stream, [](const int &) {}, [] {}).value();
  auto observer = service.observe<int>([](const int &) {}).value();
  return stream.send(1) && service.read<int>().value().value == 1 ? 0 : 1;
}
