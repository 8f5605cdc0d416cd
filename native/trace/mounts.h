/* Whether our own mounts are as they were. */
#ifndef STENO_MOUNTS_H
#define STENO_MOUNTS_H

#include "trace.h"

/* The last event of this stop may change our mounts, and nobody will tell its result. */
void note_mount(struct stop *stop);
/* The caller is back: if our mounts are as they were, its call failed. */
void settle_mount(struct stop *stop);
/* The directory that a descriptor of the caller's was made of, as text. */
uint32_t source_of_mount(struct stop *stop, int descriptor);

#endif
