/* The functions that scenario.go exports, as C sees them. */
#include <servicekit.h>

extern svk_status goCreate(svk_resolver *resolver, void **instance, void *user_data);
extern void goDestroy(void *instance, void *user_data);
extern void goFreeFactory(void *user_data);
extern void goOnState(svk_state *state, void *user_data);
extern void goFreeObserver(void *user_data);
