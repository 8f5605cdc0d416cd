/* Looking at what a call names: shared by the handlers of files and of programs. */
#ifndef STENO_PATH_EVENT_H
#define STENO_PATH_EVENT_H

#include "trace.h"

/* The argument at a position of the call's row, or 0 when it has none. */
uint64_t argument(const struct stop *stop, int position);
int directory(const struct stop *stop, int position);

/* Whether it is not known to have failed before it is looked at. */
bool may_succeed(const struct stop *stop);

/* Looks at a path; a link that the call follows is told by itself, and `place` is what it leads to. */
void look(struct stop *stop, int dir, const char *path, bool nofollow, struct resolved_path *place);
/* Reads and looks at the first path of the call. */
void look_at_argument(struct stop *stop, char path[PATH_MAX], struct resolved_path *place);

/* The event of a call that names a place. `changes`: keep the content first. `flags` are those of an open. */
struct wire_event event_at(struct stop *stop, enum op op, const char *path, const struct resolved_path *place, bool changes,
                           uint64_t flags);
/* Appends it with the arguments that the call's row names. */
void tell(struct stop *stop, struct wire_event *event);

#endif
