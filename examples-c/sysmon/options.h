/* The command line. */
#ifndef SYSMON_OPTIONS_H
#define SYSMON_OPTIONS_H

#include <stdint.h>

typedef struct options {
  const char *context;   /* NULL: as the environment says, else live */
  const char *recording; /* what preview replays */
  int64_t interval_ns;
  uint64_t count; /* how many states to show; 0: no limit */
  int graph;
} options;

/* -1: go on; else the program ends with that status, and everything has been said. */
int options_parse(options *, int argc, char **argv);

#endif
