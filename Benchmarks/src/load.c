// Loads one library into a process that has nothing else: how long it takes, and how much memory it adds.
//   load <path> → {"nanoseconds": …, "bytes": …}
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "resident.h"

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char **arguments) {
  if (count != 2)
    return 2;
  resident_bytes(); // what reading it costs is there before
  long bytes = resident_bytes();
  long long start = now();
  void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  long long end = now();
  bytes = resident_bytes() - bytes;
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  printf("{\"nanoseconds\": %lld, \"bytes\": %ld}\n", end - start, bytes);
  return 0;
}
