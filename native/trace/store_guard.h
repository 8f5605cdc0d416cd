/* The records, which the run cannot change. */
#ifndef STENO_STORE_GUARD_H
#define STENO_STORE_GUARD_H

#include "trace.h"

struct store *guard_store(int fd, const char *own, int keys, char **links);
/* Whether a call that may change what is there is to be refused. */
bool is_guarded(struct stop *stop, enum op op, const struct resolved_path *place);

#endif
