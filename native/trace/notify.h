/* Taking stops from the listener and answering them. */
#ifndef STENO_NOTIFY_H
#define STENO_NOTIFY_H

#include "trace.h"

/* Stops that were made and that we did not take. */
uint64_t notifications_missed(void);
int start_notify(struct run *run, int threads);

#endif
