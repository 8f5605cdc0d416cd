/* Our clocks beside those of the kernel, which the probe tells: we may live in a time namespace, and a
 * library may make times up. In: nothing. Out: nanoseconds since the run began. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "clock.h"
#include "procfs.h"

#define SECOND 1000000000

static int64_t nanoseconds(const struct timespec *time)
{
    return (int64_t)time->tv_sec * SECOND + time->tv_nsec;
}

/* By no library, which may answer in the kernel's place. */
static int64_t ask_the_kernel(clockid_t clock)
{
    struct timespec now = {0};
#if defined(__x86_64__)
    long result = SYS_clock_gettime;
    __asm__ volatile("syscall" : "+a"(result) : "D"((long)clock), "S"(&now) : "rcx", "r11", "memory");
#else
    register long number __asm__("x8") = SYS_clock_gettime, result __asm__("x0") = clock;
    register struct timespec *into __asm__("x1") = &now;
    __asm__ volatile("svc 0" : "+r"(result) : "r"(number), "r"(into) : "memory");
#endif
    return result == 0 ? nanoseconds(&now) : 0;
}

/* How far a clock of our time namespace is ahead of that of the first one. */
static int64_t ahead_by_namespace(const char *clock)
{
    char text[256];
    long long seconds = 0, rest = 0;
    const char *line = read_small_file("/proc/self/timens_offsets", text, sizeof text) > 0 ? strstr(text, clock) : NULL;
    return line && sscanf(line + strlen(clock), "%lld %lld", &seconds, &rest) == 2 ? seconds * SECOND + rest : 0;
}

void compare_clocks(struct run *run)
{
    struct timespec ours = {0};
    int64_t kernel = ask_the_kernel(CLOCK_MONOTONIC);
    clock_gettime(CLOCK_MONOTONIC, &ours);
    run->clock_ahead_ns = ahead_by_namespace("monotonic");
    int64_t made_up = nanoseconds(&ours) - kernel;
    if (kernel && (made_up >= SECOND || made_up <= -SECOND)) /* less is the time between the two questions */
        run->clock_ahead_ns += made_up;
    run->boot_clock_ahead_ns = ahead_by_namespace("boottime");
}

static uint64_t since_origin(const struct run *run, int64_t ours)
{
    int64_t since = ours - (int64_t)run->options.origin_ns;
    return since > 0 ? (uint64_t)since : 0;
}

uint64_t now_ns(const struct run *run)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return since_origin(run, nanoseconds(&now));
}

uint64_t told_at_ns(const struct run *run, uint64_t kernel_ns)
{
    return since_origin(run, (int64_t)kernel_ns + run->clock_ahead_ns);
}

uint64_t start_ticks(const struct run *run, uint64_t kernel_ns)
{
    return ((uint64_t)((int64_t)kernel_ns + run->boot_clock_ahead_ns)) / NANOSECONDS_A_TICK;
}
