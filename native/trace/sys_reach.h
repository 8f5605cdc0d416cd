/* Calls that reach into another process. */
#ifndef STENO_SYS_REACH_H
#define STENO_SYS_REACH_H

#include "trace.h"

/* Of a file that is opened to be written. Whether it is our memory; and whose, if that is to be told. */
bool reaches_into_us(struct stop *stop, const struct resolved_path *place);
void tell_reach_by_name(struct stop *stop, const struct resolved_path *place);

#endif
