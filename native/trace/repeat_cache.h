/* Calls that only look and were just told. */
#ifndef STENO_REPEAT_CACHE_H
#define STENO_REPEAT_CACHE_H

#include "trace.h"

struct recent *start_remembering(void);
/* True: the same was just told, and is told again. */
bool tell_again(struct recent *recent, struct stop *stop);
/* What was told of the call that was just asked for, which began at that age. */
void remember(struct recent *recent, const struct stop *stop, uint64_t age);

#endif
