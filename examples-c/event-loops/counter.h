/*
 * What the three event loops of this folder watch: a service whose states are ints, sent by a thread of its
 * own. It delivers to a dispatcher, so all that the loop's program does happens on the loop's thread.
 */
#ifndef COUNTER_H
#define COUNTER_H

#include <servicekit.h>

typedef struct counter counter;

/* Starts to count from 1 to `last`, and then ends. NULL on failure, with the words in svk_last_error. */
counter *counter_start(int last);

/* Calls on_state and on_finish in svk_dispatcher_dispatch of the dispatcher that this gives. */
svk_dispatcher *counter_watch(counter *counter, svk_state_fn on_state, svk_finish_fn on_finish,
                              void *user_data);

/* Ends it, and its dispatcher: stop to watch its descriptor before. */
void counter_stop(counter *counter);

#endif
