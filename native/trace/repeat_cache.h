/* Calls that only look and were just told. */
#ifndef STENO_REPEAT_CACHE_H
#define STENO_REPEAT_CACHE_H

#include "trace.h"

struct repeat_cache *start_repeat_cache(void);
/* True: the same was just told, and is told again. */
bool log_again(struct repeat_cache *recent, struct stop *stop);
/* What was told of the call that was just asked for, which began at that age. */
void remember(struct repeat_cache *recent, const struct stop *stop, uint64_t age);

#endif
