/* A buffer in front of a pipe that is never waited for: what was written on the terminal, for the recorder. */
#ifndef STENO_TTY_TOLD_H
#define STENO_TTY_TOLD_H

#include "tty.h"

struct tty_told;
struct tty_told *start_tty_told(struct run *run, int pipe);
/* Whether a piece of this length fits; asked before it is written to the terminal. */
bool can_tell(struct tty_told *telling, size_t length);
void tell_written(struct tty_told *telling, enum stream stream, const void *bytes, size_t length);
/* Writes what the pipe takes now. */
void flush_telling(struct tty_told *telling);
/* Milliseconds until what is kept should be flushed; -1: nothing is kept. */
int telling_timeout(const struct tty_told *telling);
/* The pipe, when it must take something before more can be told; else -1. */
int telling_waits_for(const struct tty_told *telling);
/* Waits until everything is told or nobody listens, and closes the pipe. */
void end_tty_told(struct tty_told *telling);

#endif
