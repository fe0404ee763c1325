/* Shows states: as bars that move in a terminal, else as one line each. */
#ifndef SYSMON_DISPLAY_H
#define SYSMON_DISPLAY_H

#include "sampler.h"

typedef struct display {
  const char *title;
  int bars;  /* whether stdout is a terminal */
  int utf8;  /* whether it can show block characters */
  int drawn; /* whether there is a chart above the cursor */
} display;

/* `title` must stay valid. */
void display_open(display *, const char *title);

/* `lost` says how many states were missed since the last one. 0: it could not be written. */
int display_show(display *, const load_state *, uint64_t lost);

/* Leaves a terminal as it was found. 0: something could not be written. */
int display_close(display *);

#endif
