/* A library that makes the monotonic clock up, as those for tests of programs do: LD_PRELOAD, and SHIFT seconds; "back" is a clock that goes
 * a second back whenever somebody asks. */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FAR_AHEAD 1000000

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static long asked;
    const char *shift = getenv("SHIFT");
    long result = syscall(SYS_clock_gettime, clock, now);
    if (shift && clock == CLOCK_MONOTONIC)
        now->tv_sec += strcmp(shift, "back") == 0 ? FAR_AHEAD - asked++ : atol(shift);
    return (int)result;
}
