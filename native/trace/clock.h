/* Time since the run began. */
#ifndef STENO_CLOCK_H
#define STENO_CLOCK_H

#include "trace.h"

#define NANOSECONDS_A_TICK 10000000u /* of /proc/PID/stat, which counts in hundredths of a second */

/* Before anything is told. */
void compare_clocks(struct run *run);
/* Since the run began; 0 where the clock went back. */
uint64_t now_ns(const struct run *run);
/* The same, of a time that the probe told. */
uint64_t told_at_ns(const struct run *run, uint64_t kernel_ns);
/* When a process began, as /proc tells it to us. */
uint64_t start_ticks(const struct run *run, uint64_t kernel_ns);

#endif
