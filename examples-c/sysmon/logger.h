/* The logger: one line per message, on stderr. */
#ifndef SYSMON_LOGGER_H
#define SYSMON_LOGGER_H

#include <servicekit.h>

#define LOGGER_KEY "logger"
#define LOGGER_TYPE "org.example.sysmon.logger/1"

typedef struct logger logger;
struct logger {
  void (*write)(logger *, const char *message); /* from any thread */
};

/* Registers one that writes the time before each message, and requires the clock; for `test` one without. */
svk_status logger_register(svk_container *container);

#endif
