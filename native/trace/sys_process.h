/* Handlers of programs and processes. */
#ifndef STENO_SYS_PROCESS_H
#define STENO_SYS_PROCESS_H

#include "trace.h"

/* The interpreter of a script that runs, as the probe has it. */
void log_what_ran(struct stop *stop);

#endif
