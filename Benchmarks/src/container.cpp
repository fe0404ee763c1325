// Resolving and registering, on one thread.
#include "support.h"

#include <benchmark/benchmark.h>

#include <map>
#include <memory>

FilledContainer &FilledContainer::of(size_t count) {
  static std::map<size_t, std::unique_ptr<FilledContainer>> made;
  auto &filled = made[count];
  if (!filled)
    filled = std::make_unique<FilledContainer>(count);
  return *filled;
}

namespace {

/// A container with one registration, and its key.
struct One {
  One(int32_t scope, const char *name) : name(name) {
    must(svk_container_create(&container));
    svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
    options.create = create_trivial;
    options.scope = scope;
    must(svk_register(container, name, &options));
    must(svk_key_intern(name, &key));
  }
  const char *name;
  svk_container *container = nullptr;
  svk_key *key = nullptr;
};

void resolve_key(benchmark::State &state, One &one) {
  for (auto _ : state) {
    svk_handle *handle;
    svk_resolve_key(one.container, one.key, &handle);
    svk_release(handle);
  }
}
void resolve_cached(benchmark::State &state) {
  static One one(SVK_SCOPE_CACHED, "org.example.cached");
  resolve_key(state, one);
}
BENCHMARK(resolve_cached)->Name("servicekit/resolve_key/cached");
void resolve_singleton(benchmark::State &state) {
  static One one(SVK_SCOPE_SINGLETON, "org.example.singleton");
  resolve_key(state, one);
}
BENCHMARK(resolve_singleton)->Name("servicekit/resolve_key/singleton");
void resolve_shared(benchmark::State &state) {
  static One one(SVK_SCOPE_SHARED, "org.example.shared");
  svk_handle *held;
  must(svk_resolve(one.container, one.name, &held));
  resolve_key(state, one);
  svk_release(held);
}
BENCHMARK(resolve_shared)->Name("servicekit/resolve_key/shared");
void resolve_unique(benchmark::State &state) {
  static One one(SVK_SCOPE_UNIQUE, "org.example.unique");
  resolve_key(state, one);
}
BENCHMARK(resolve_unique)->Name("servicekit/unique");

void resolve(benchmark::State &state, FilledContainer &filled, const char *(RandomKeys::*next)()) {
  for (auto _ : state) {
    svk_handle *handle;
    svk_resolve(filled.container, (filled.keys.*next)(), &handle);
    svk_release(handle);
  }
}
/// The same few names, among so many registrations.
void resolve_few(benchmark::State &state) {
  resolve(state, FilledContainer::of(state.range(0)), &RandomKeys::next_of_few);
}
BENCHMARK(resolve_few)->Name("servicekit/resolve_few")->Arg(10)->Arg(1000)->Arg(100'000);
/// Any of all names, so that at many registrations nothing is in the processor's cache.
void resolve_any(benchmark::State &state) {
  resolve(state, FilledContainer::of(state.range(0)), &RandomKeys::next);
}
BENCHMARK(resolve_any)->Name("servicekit/resolve_any")->Arg(10)->Arg(1000)->Arg(100'000);

void instance(benchmark::State &state) {
  static One one(SVK_SCOPE_CACHED, "org.example.instance");
  svk_handle *handle;
  must(svk_resolve(one.container, one.name, &handle));
  for (auto _ : state)
    benchmark::DoNotOptimize(svk_instance(handle));
  svk_release(handle);
}
BENCHMARK(instance)->Name("servicekit/instance");

/// A needs B and C, B needs C; A is new for each resolve, B and C for each graph.
struct Graph {
  Graph() {
    must(svk_container_create(&container));
    svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
    options.scope = SVK_SCOPE_GRAPH;
    options.create = create_trivial;
    must(svk_register(container, "org.example.C", &options));
    options.create = [](svk_resolver *resolver, void **instance, void *) -> svk_status {
      return svk_require(resolver, "org.example.C", instance);
    };
    must(svk_register(container, "org.example.B", &options));
    options.scope = SVK_SCOPE_UNIQUE;
    options.create = [](svk_resolver *resolver, void **instance, void *) -> svk_status {
      svk_status status = svk_require(resolver, "org.example.B", instance);
      return status == SVK_OK ? svk_require(resolver, "org.example.C", instance) : status;
    };
    must(svk_register(container, "org.example.A", &options));
    must(svk_key_intern("org.example.A", &key));
  }
  svk_container *container = nullptr;
  svk_key *key = nullptr;
};
void graph(benchmark::State &state) {
  static Graph graph;
  for (auto _ : state) {
    svk_handle *handle;
    must(svk_resolve_key(graph.container, graph.key, &handle));
    svk_release(handle);
  }
}
BENCHMARK(graph)->Name("servicekit/graph");

void register_unregister(benchmark::State &state) {
  auto &filled = FilledContainer::of(state.range(0));
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = create_trivial;
  for (auto _ : state) {
    svk_register(filled.container, "org.example.another", &options);
    svk_unregister(filled.container, "org.example.another");
  }
}
BENCHMARK(register_unregister)->Name("servicekit/register")->Arg(10)->Arg(100'000);

} // namespace
