/* The clock: what time it is. Under test it is one that nobody has to wait for. */
#ifndef SYSMON_CLOCK_H
#define SYSMON_CLOCK_H

#include <servicekit.h>

#define CLOCK_KEY "clock"
#define CLOCK_TYPE "org.example.sysmon.clock/1"

typedef struct sysmon_clock sysmon_clock;
struct sysmon_clock {
  int64_t (*now_ms)(sysmon_clock *); /* milliseconds since 1970-01-01 UTC; from any thread */
};

/* Registers the system's clock, and for `test` one that is a second later each time it is asked. */
svk_status clock_register(svk_container *container);

#endif
