/* What the probe is to send of every call. In: the tables of calls. Out: the probe's table. Pure. */
#ifndef STENO_SHAPES_H
#define STENO_SHAPES_H

#include "../probe/record.h"
#include "calls.h"

void fill_shapes(struct probe_shapes *shapes);

#endif
