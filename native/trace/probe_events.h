/* Tells what the probe saw: a record becomes events. */
#ifndef STENO_PROBE_EVENTS_H
#define STENO_PROBE_EVENTS_H

#include "probe_record.h"

struct probe_events;
struct probe_events *start_probe_events(void);
void log_probe_record(struct run *run, struct probe_events *witness, const struct probed_call *seen);
/* Tells what waited for a call that has not come. */
void end_probe_events(struct run *run, struct probe_events *witness);

#endif
