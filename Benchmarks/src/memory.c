// What so many of a thing take, in bytes each.
//   memory registrations|handles|observers <count> → {"bytes": …}
#include <servicekit.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resident.h"

static void must(svk_status status) {
  if (status == SVK_OK)
    return;
  fprintf(stderr, "%s: %s\n", svk_status_name(status), svk_last_error());
  exit(1);
}

static svk_status create(svk_resolver *resolver, void **instance, void *user_data) {
  (void)resolver;
  *instance = user_data;
  return SVK_OK;
}

static void ignore(const svk_state *state, void *user_data) { (void)state, (void)user_data; }

static void add_registrations(svk_container *container, long from, long to) {
  svk_factory_options options = SVK_FACTORY_OPTIONS_INIT;
  options.create = create;
  options.user_data = container;
  options.scope = SVK_SCOPE_CACHED;
  for (long index = from; index < to; ++index) {
    char key[64];
    snprintf(key, sizeof key, "org.example.service.%ld", index);
    must(svk_register(container, key, &options));
  }
}

static long registrations(long count) {
  svk_container *container;
  must(svk_container_create(&container));
  add_registrations(container, 0, 1);
  long before = resident_bytes();
  add_registrations(container, 1, count + 1);
  return resident_bytes() - before;
}

static long handles(long count) {
  svk_container *container;
  must(svk_container_create(&container));
  add_registrations(container, 0, 1);
  svk_handle *first;
  must(svk_resolve(container, "org.example.service.0", &first));
  long before = resident_bytes();
  for (long index = 0; index < count; ++index) {
    svk_handle *handle; // The token is the caller's memory, and not counted.
    must(svk_resolve(container, "org.example.service.0", &handle));
  }
  return resident_bytes() - before;
}

static long observers(long count) {
  svk_stream *stream;
  must(svk_stream_create(NULL, &stream));
  svk_service_options service_options = SVK_SERVICE_OPTIONS_INIT;
  service_options.stream = stream;
  svk_service *service;
  must(svk_service_create(&service_options, &service));
  svk_observer_options options = SVK_OBSERVER_OPTIONS_INIT;
  options.on_state = ignore;
  svk_subscription *subscription;
  must(svk_service_observe(service, &options, &subscription));
  long before = resident_bytes();
  for (long index = 0; index < count; ++index)
    must(svk_service_observe(service, &options, &subscription));
  return resident_bytes() - before;
}

int main(int argument_count, char **arguments) {
  long count = argument_count == 3 ? atol(arguments[2]) : 0;
  if (count <= 0)
    return 2;
  resident_bytes();
  long bytes;
  if (!strcmp(arguments[1], "registrations"))
    bytes = registrations(count);
  else if (!strcmp(arguments[1], "handles"))
    bytes = handles(count);
  else if (!strcmp(arguments[1], "observers"))
    bytes = observers(count);
  else
    return 2;
  printf("{\"bytes\": %ld}\n", bytes);
  return 0;
}
