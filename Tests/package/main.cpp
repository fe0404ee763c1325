// Uses an installed servicekit.hpp: `main 1.0.0` checks that it works, and with that version of the library.
#include <servicekit.hpp>

#include <iostream>
#include <string_view>

int main(int argc, char **argv) {
  if (argc != 2 || std::string_view(argv[1]) != svk_version_string())
    return std::cerr << "got version " << svk_version_string() << '\n', 1;
  auto container = svk::container::create().value();
  container.add("answer", [] { return 42; }).value();
  std::cout << argv[0] << ": " << *container.resolve<int>("answer").value() << '\n';
}
