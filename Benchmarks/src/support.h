// What every benchmark needs: failing aloud, keys, and memory for what stays from one repetition to the next.
#pragma once

#include <servicekit.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

inline void must(svk_status status) {
  if (status == SVK_OK)
    return;
  std::fprintf(stderr, "%s: %s\n", svk_status_name(status), svk_last_error());
  std::abort();
}

inline svk_status create_trivial(svk_resolver *, void **instance, void *) {
  static int it;
  *instance = &it;
  return SVK_OK;
}

/// All of one length, so that what is measured is no processor's guess at the length.
inline std::string key_number(size_t number) {
  char name[64];
  std::snprintf(name, sizeof name, "org.example.service.%07zu", number);
  return name;
}

/// Names to ask for, in an order that no processor foresees. The strings lie apart, as a program's do.
class RandomKeys {
public:
  explicit RandomKeys(size_t count) : names(count) {
    std::mt19937 random(7);
    for (size_t index = 0; index < count; ++index)
      names[index] = key_number(index);
    for (auto &choice : order)
      choice = names[random() % count].c_str();
  }
  /// One of all.
  const char *next() { return order[position++ % order.size()]; }
  /// One of the same ten, whatever the number of all.
  const char *next_of_few() { return order[position++ % 10]; }

  std::vector<std::string> names;

private:
  std::vector<const char *> order = std::vector<const char *>(1 << 16);
  size_t position = 0;
};

/// A container with so many registrations that build at once what they are asked for, and keep it.
struct FilledContainer {
  explicit FilledContainer(size_t count) : keys(count) {
    must(svk_container_create(&container));
    svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
    options.create = create_trivial;
    options.scope = SVK_SCOPE_CACHED;
    for (auto &name : keys.names)
      must(svk_register(container, name.c_str(), &options));
  }
  /// Never destroyed: repetitions come back to it.
  static FilledContainer &of(size_t count);

  RandomKeys keys;
  svk_container *container = nullptr;
};

struct State32 {
  unsigned char bytes[32];
};
struct State64 {
  unsigned char bytes[64];
};
