// How much memory this process has, as the system counts it.
#pragma once

#include <stdio.h>
#include <unistd.h>

static inline long resident_bytes(void) {
  long total = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2)
    resident = 0;
  if (file)
    fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}
