#define _GNU_SOURCE
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SYSMON_RECORDING /* the build says where it is */
#define SYSMON_RECORDING "examples-c/sysmon/recording.txt"
#endif

static const char help[] =
    "Usage: sysmon [options]\n"
    "Shows the load of this machine, as bars in a terminal and as lines elsewhere. Ctrl-C ends it.\n"
    "\n"
    "  --context NAME    live: this machine (the default)\n"
    "                    preview: a recording\n"
    "                    test: states that are always the same\n"
    "                    Without it the environment variable SERVICEKIT_CONTEXT counts.\n"
    "  --count N         end after N states\n"
    "  --interval TIME   from one state to the next: 300ms, 2s, 0.5s (default: 1s)\n"
    "  --recording FILE  what preview replays\n"
    "  --graph           print who needs whom, in the DOT language of Graphviz, and end\n"
    "  --help            this text\n";

static int parse_count(const char *text, uint64_t *count) {
  char *end;
  errno = 0;
  *count = strtoull(text, &end, 10);
  return isdigit((unsigned char)*text) && *end == '\0' && errno == 0 && *count > 0;
}

static int parse_interval(const char *text, int64_t *interval_ns) {
  char *end;
  double value = strtod(text, &end);
  double unit = !strcmp(end, "ms") ? 1e6 : !strcmp(end, "s") ? 1e9 : 0;
  if (!isdigit((unsigned char)*text) || !(value * unit >= 1e6 && value * unit <= 3600e9))
    return 0;
  *interval_ns = (int64_t)(value * unit);
  return 1;
}

static int is_context(const char *name) {
  return !strcmp(name, "live") || !strcmp(name, "preview") || !strcmp(name, "test");
}

static int complain(const char *format, const char *what) {
  fputs("sysmon: ", stderr);
  fprintf(stderr, format, what);
  fputs("\nTry: sysmon --help\n", stderr);
  return 2;
}

int options_parse(options *self, int argc, char **argv) {
  static const struct option known[] = {
    { "context", required_argument, NULL, 'c' },
    { "count", required_argument, NULL, 'n' },
    { "interval", required_argument, NULL, 'i' },
    { "graph", no_argument, NULL, 'g' },
    { "recording", required_argument, NULL, 'r' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  *self = (options){ .recording = SYSMON_RECORDING, .interval_ns = 1000000000 };
  opterr = 0; /* the messages are ours */
  for (int option; (option = getopt_long(argc, argv, ":h", known, NULL)) != -1;) {
    switch (option) {
    case 'c':
      if (!is_context(optarg))
        return complain("--context is live, preview or test, not \"%s\"", optarg);
      self->context = optarg;
      break;
    case 'n':
      if (!parse_count(optarg, &self->count))
        return complain("--count is a number from 1, not \"%s\"", optarg);
      break;
    case 'i':
      if (!parse_interval(optarg, &self->interval_ns))
        return complain("--interval is a time from 1ms to 3600s with its unit, not \"%s\"", optarg);
      break;
    case 'g':
      self->graph = 1;
      break;
    case 'r':
      self->recording = optarg;
      break;
    case 'h':
      fputs(help, stdout);
      return 0;
    case ':':
      return complain("%s needs a value", argv[optind - 1]);
    default:
      return complain("there is no option %s", argv[optind - 1]);
    }
  }
  if (optind < argc)
    return complain("what is \"%s\" for?", argv[optind]);
  return -1;
}
