/* The probe's ring of records. */
#ifndef STENO_RING_H
#define STENO_RING_H

#include "trace.h"

/* Takes the probe over; an enum probe_state. */
int take_probe(struct run *run);
/* From now on calls are told. */
int start_ring(struct run *run);
/* Reads all that is there. False: not all of it, because somebody else reads and takes long. */
bool drain_ring(struct run *run);
/* Takes the probe away, reads what is left and counts what was lost. */
void end_ring(struct run *run);

#endif
