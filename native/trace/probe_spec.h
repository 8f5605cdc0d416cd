/* What the probe is to send of every call. In: the tables of calls. Out: the probe's table. Pure. */
#ifndef STENO_PROBE_SPEC_H
#define STENO_PROBE_SPEC_H

#include "../probe/record.h"
#include "trace.h"

void fill_shapes(struct probe_shapes *shapes);

#endif
