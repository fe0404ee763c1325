/* A thread that calls a function at regular intervals. */
#ifndef SYSMON_TICKER_H
#define SYSMON_TICKER_H

#include <stdint.h>

typedef struct ticker ticker;

/* `tick` answers 0 to be called no more. NULL when there is no memory. */
ticker *ticker_create(int (*tick)(void *argument), void *argument);

/* The first tick comes one interval from now. Called again it only changes the interval. 0: failed. */
int ticker_start(ticker *, int64_t interval_ns);

/* Ends it: when this has returned, no tick runs or will run. Says whether it was started. NULL is allowed. */
int ticker_free(ticker *);

#endif
