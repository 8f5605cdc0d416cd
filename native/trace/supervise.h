/* The command, from its start to its end. */
#ifndef STENO_SUPERVISE_H
#define STENO_SUPERVISE_H

#include "trace.h"

int supervise_command(struct run *run);

#endif
