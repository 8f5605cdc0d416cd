/* Looking at what a call names: shared by the handlers of files and of programs. */
#ifndef STENO_LOOK_H
#define STENO_LOOK_H

#include "trace.h"

/* The argument at a position of the call's row, or 0 when it has none. */
uint64_t argument(const struct stop *stop, int position);
int directory(const struct stop *stop, int position);

/* Whether it is not known to have failed before it is looked at. */
bool may_succeed(const struct stop *stop);

/* Looks at a path; a link that the call follows is told by itself, and `place` is what it leads to. */
void look(struct stop *stop, int dir, const char *path, bool nofollow, struct place *place);
/* Reads and looks at the first path of the call. */
void look_at_argument(struct stop *stop, char path[PATH_MAX], struct place *place);

/* The event of a call that names a place. `changes`: keep the content first. `flags` are those of an open. */
struct wire_event event_at(struct stop *stop, enum op op, const char *path, const struct place *place, bool changes,
                           uint64_t flags);
/* A directory is about to get another name: so is everything in it. `replaced` is what has that name until then, or null. */
void tell_moved(struct stop *stop, const struct place *directory, const struct place *replaced, const char *new_name);
/* reach.c: of a file that is opened to be written. Whether it is our memory; and whose, if that is to be told. */
bool reaches_into_us(struct stop *stop, const struct place *place);
void tell_reach_by_name(struct stop *stop, const struct place *place);
/* Appends it with the arguments that the call's row names. */
void tell(struct stop *stop, struct wire_event *event);

#endif
