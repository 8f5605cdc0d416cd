/* Tells what the probe saw: a record becomes events. */
#ifndef STENO_PROBE_EVENTS_H
#define STENO_PROBE_EVENTS_H

#include "probe_record.h"

struct witness;
struct witness *start_witness(void);
void tell_record(struct run *run, struct witness *witness, const struct seen *seen);
/* Tells what waited for a call that has not come. */
void end_witness(struct run *run, struct witness *witness);

#endif
