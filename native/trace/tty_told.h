/* A buffer in front of a pipe that is never waited for: what was written on the terminal, for the recorder. */
#ifndef STENO_TTY_TOLD_H
#define STENO_TTY_TOLD_H

#include "tty.h"

struct telling;
struct telling *start_telling(struct run *run, int pipe);
/* Whether a piece of this length fits; asked before it is written to the terminal. */
bool can_tell(struct telling *telling, size_t length);
void tell_written(struct telling *telling, enum stream stream, const void *bytes, size_t length);
/* Writes what the pipe takes now. */
void flush_telling(struct telling *telling);
/* Milliseconds until what is kept should be flushed; -1: nothing is kept. */
int telling_timeout(const struct telling *telling);
/* The pipe, when it must take something before more can be told; else -1. */
int telling_waits_for(const struct telling *telling);
/* Waits until everything is told or nobody listens, and closes the pipe. */
void end_telling(struct telling *telling);

#endif
