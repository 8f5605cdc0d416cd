// with: ../generated/calls.c seccomp.c
/* The seccomp program without a probe: for every number of every machine it stops exactly what the tables say, under exactly
 * their conditions. */
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "classic_bpf.h"
#include "handlers.h"
#include "seccomp.h"
#include "trace.h"

static bool is_watched(uint32_t descriptor)
{
    return descriptor < LOW_WATCHED || descriptor == ALONE_WATCHED ||
           (descriptor >= SPLIT_FIRST && descriptor - SPLIT_FIRST < SPLIT_COUNT);
}

/* Said again in words of its own, from native/syscalls.toml. */
static bool should_stop(const struct call *call, bool split, const uint64_t args[6])
{
    switch (call->when) {
    case WHEN_ALWAYS:
        return true;
    case WHEN_ADDRESS:
        return args[4] != 0;
    case WHEN_SHARED_WRITE:
        return args[2] & PROT_WRITE && args[3] & MAP_SHARED && !(args[3] & MAP_ANONYMOUS);
    case WHEN_SET_SECCOMP:
        return (uint32_t)args[0] == PR_SET_SECCOMP;
    case WHEN_OTHERS_LIMIT:
        return (uint32_t)args[0] && args[2];
    case WHEN_FCNTL:
        return (uint32_t)args[1] == F_SETOWN || (uint32_t)args[1] == F_SETOWN_EX ||
               (split && ((uint32_t)args[1] == F_DUPFD || (uint32_t)args[1] == F_DUPFD_CLOEXEC));
    case WHEN_IOCTL:
        return (uint32_t)args[1] == FIOSETOWN || (uint32_t)args[1] == SIOCSPGRP || (uint32_t)args[1] == TIOCSPGRP;
    case WHEN_SPLIT:
        return split && ((call->serve != sys_write && call->serve != sys_transfer) || is_watched((uint32_t)args[call->dir]));
    default:
        CHECK(!"a condition that this test knows");
        return false;
    }
}

static const uint64_t words[] = {
    0, 1, 2, 3, F_SETOWN, 9, 10, F_SETOWN_EX, 22, 33, 34, 35, 254, 255, 256, 959, 960, 1000, 1023, 1024, 1030, TIOCSPGRP, FIOSETOWN, SIOCSPGRP, 0x7fffffff, 0xffffffff,
    0x100000000, 0x100000016, 0x7fff00000000, 0xffffffff00000000, UINT64_MAX,
};
#define WORD_COUNT (sizeof words / sizeof *words)

static void check_number(const struct sock_fprog *program, uint32_t arch, const struct call *call, uint32_t number, bool split,
                         bool above)
{
    for (size_t first = 0; first < WORD_COUNT; first++) {
        for (size_t second = 0; second < WORD_COUNT; second++) {
            uint64_t args[6] = {words[first], words[second], words[first], words[second], words[first], words[second]};
            bool wanted = call ? should_stop(call, split, args) : above;
            CHECK(stops(program, arch, number, args) == wanted);
        }
    }
}

static void check_machine(const struct sock_fprog *program, uint32_t arch, const struct call_table *table, bool split)
{
    for (uint32_t number = 0; number <= table->highest + 100; number++)
        check_number(program, arch, find_call(arch, number), number, split, number > table->highest);
    static const uint32_t strange[] = {1u << 30, (1u << 30) + 2, (1u << 30) + 512, 0x7fffffff, 0x80000000, UINT32_MAX};
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++)
        check_number(program, arch, NULL, strange[i], split, true);
}

static void check_filter(bool split)
{
    struct sock_fprog program;
    CHECK(build_filter(&program, split, STOP_ALL) == 0);
    CHECK(program.len > 0 && program.len < BPF_MAXINSNS);
#if defined(__x86_64__)
    check_machine(&program, AUDIT_ARCH_X86_64, &calls_x86_64, split);
    check_machine(&program, AUDIT_ARCH_I386, &calls_i386, split);
#elif defined(__aarch64__)
    check_machine(&program, AUDIT_ARCH_AARCH64, &calls_aarch64, split);
#endif
    for (uint32_t number = 0; number < 600; number++) /* a machine that we do not know is never let through unseen */
        check_number(&program, AUDIT_ARCH_MIPS, NULL, number, split, true);
    free(program.filter);
}

int main(void)
{
    check_filter(false);
    check_filter(true);
    return 0;
}
