/*
 * What the clock's plug-in and its host agree on. The host may be written in any language: this one's is in
 * examples-swift/plugin-host.
 *
 * It includes no header of the library, so that it can be imported where that one is not at hand.
 */
#ifndef PLUGIN_CLOCK_H
#define PLUGIN_CLOCK_H

#include <stdint.h>

struct svk_container;

/* The host's: something that can be written to. */
#define PLUGIN_LOGGER_KEY "logger"
#define PLUGIN_LOGGER_TYPE "org.example.logger/1"
typedef struct plugin_logger plugin_logger;
struct plugin_logger {
  void (*write)(const plugin_logger *, const char *text);
};

/* The host's: an `svk_service *`, which has a plugin_speed as its state. */
#define PLUGIN_SPEED_KEY "speed"
#define PLUGIN_SPEED_TYPE "org.example.speed/1"
typedef struct plugin_speed {
  uint32_t seconds_per_tick;
} plugin_speed;

/* The plug-in's: an `svk_service *`, which has a plugin_clock as its API and a plugin_time as its state. */
#define PLUGIN_CLOCK_KEY "clock"
#define PLUGIN_CLOCK_TYPE "org.example.clock/1"
typedef struct plugin_clock plugin_clock;
struct plugin_clock {
  void (*tick)(const plugin_clock *);
};
typedef struct plugin_time {
  uint64_t seconds; /* since the clock was made */
} plugin_time;

/* The plug-in's only function: registers the clock in the host's container. Answers an `svk_status`. */
#define PLUGIN_REGISTER "plugin_clock_register"
int32_t plugin_clock_register(struct svk_container *container);

#endif
