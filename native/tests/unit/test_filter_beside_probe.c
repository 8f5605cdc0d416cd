// with: ../generated/calls.c seccomp.c probe_spec.c
/* The seccomp program beside a probe: it stops what may change something, and `stops_beside_probe` says what it does of every
 * call that the probe sends. */
#include <fcntl.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "classic_bpf.h"
#include "handlers.h"
#include "log.h"
#include "probe_spec.h"
#include "seccomp.h"

static struct sock_fprog program, alone;
static struct probe_shapes shapes;

/* As the probe decides; of a path of fstat it looks at the memory, which decides nothing here. */
static bool is_sent(const struct probe_shape *shape, const uint64_t args[6])
{
    if (shape->wish & SHAPE_IF_ADDRESS)
        return args[4] != 0;
    if (shape->wish & SHAPE_IF_SHARED)
        return args[2] & PROT_WRITE && args[3] & MAP_SHARED && !(args[3] & MAP_ANONYMOUS);
    if (shape->wish & SHAPE_IF_SECCOMP)
        return (uint32_t)args[0] == PR_SET_SECCOMP;
    return shape->wish != 0;
}

static const uint64_t words[] = {
    0, 1, 2, 3, 9, 16, 19, 22, 32, 33, 34, O_CREAT, O_TRUNC, O_CREAT | O_WRONLY, O_PATH, O_CLOEXEC, CLONE_NEWNS, CLONE_NEWUSER, CLONE_VM | CLONE_THREAD,
    CLONE_NEWPID, 0xffffffff, 0x100000000, 0x100000002, 0x100000016, 0xffffffff00000000, UINT64_MAX,
};
#define WORD_COUNT (sizeof words / sizeof *words)

static void check_call(uint32_t arch, const struct call *call, const struct probe_shape *shape)
{
    for (size_t first = 0; first < WORD_COUNT; first++) {
        for (size_t second = 0; second < WORD_COUNT; second++) {
            uint64_t args[6] = {words[first], words[second], words[first], words[second], words[first], words[second]};
            bool stopped = stops(&program, arch, call->number, args);
            CHECK(!stopped || stops(&alone, arch, call->number, args)); /* never more than without a probe */
            CHECK(!stopped || call->beside == BESIDE_BLIND || is_sent(shape, args));
            CHECK(!is_sent(shape, args) || stopped == stops_beside_probe(call, args));
        }
    }
}

static void what_is_said_is_what_is_done(uint32_t arch, const struct call_table *table, const struct probe_shape *of)
{
    for (size_t i = 0; i < table->count; i++)
        check_call(arch, &table->calls[i], &of[table->calls[i].number]);
}

static void a_number_that_is_not_known_is_stopped(uint32_t arch, const struct call_table *table)
{
    const uint64_t args[6] = {0};
    for (uint32_t number = 0; number < table->highest + 50; number++)
        CHECK(find_call(arch, number) || stops(&program, arch, number, args) == (number > table->highest));
}

#if defined(__x86_64__)
enum { I386_OPEN = 5, I386_SOCKETCALL = 102, I386_CHDIR = 12, I386_STAT64 = 195, I386_CLONE = 120 };
enum {
    OPEN = 2, STAT = 4, MMAP = 9, SENDTO = 44, CONNECT = 42, BIND = 49, CLONE = 56, FORK = 57, EXECVE = 59, EXIT = 60, KILL = 62,
    RENAME = 82, CREAT = 85, CHDIR = 80, GETDENTS = 78, READLINK = 89, CHROOT = 161, EXIT_GROUP = 231, OPENAT = 257, UNLINKAT = 263,
    UNSHARE = 272, SETUID = 105, CLONE3 = 435, OPENAT2 = 437,
};

static bool native(uint32_t number, uint64_t first, uint64_t second, uint64_t third)
{
    const uint64_t args[6] = {first, second, third};
    return stops(&program, AUDIT_ARCH_X86_64, number, args);
}

static bool compat(uint32_t number, uint64_t first, uint64_t second)
{
    const uint64_t args[6] = {first, second};
    return stops(&program, AUDIT_ARCH_I386, number, args);
}

static void what_looks_passes_and_what_changes_is_stopped(void)
{
    CHECK(!native(OPENAT, AT_FDCWD, 1, O_RDONLY) && !native(OPENAT, AT_FDCWD, 1, O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    CHECK(native(OPENAT, AT_FDCWD, 1, O_WRONLY) && native(OPENAT, AT_FDCWD, 1, O_RDWR) && native(OPENAT, AT_FDCWD, 1, O_CREAT));
    CHECK(native(OPENAT, AT_FDCWD, 1, O_TRUNC)); /* a file can be emptied by whoever only reads it */
    CHECK(!native(OPEN, 1, O_RDONLY, O_WRONLY) && native(OPEN, 1, O_WRONLY, 0) && native(CREAT, 1, 0, 0));
    CHECK(native(OPENAT2, AT_FDCWD, 1, 2)); /* how, it says in memory */
    CHECK(!native(STAT, 1, 2, 0) && !native(READLINK, 1, 2, 3) && !native(GETDENTS, 3, 1, 2));
    CHECK(native(CHDIR, 1, 0, 0) && native(CHROOT, 1, 0, 0) && native(RENAME, 1, 2, 0) && native(UNLINKAT, 3, 1, 0));
    CHECK(native(EXECVE, 1, 2, 3));
}

static void processes_are_told_by_the_probe_unless_they_leave_our_root(void)
{
    CHECK(!native(FORK, 0, 0, 0) && !native(CLONE, SIGCHLD, 0, 0) && !native(CLONE, CLONE_VM | CLONE_THREAD, 0, 0));
    CHECK(native(CLONE, CLONE_NEWNS, 0, 0) && native(CLONE, CLONE_NEWUSER | SIGCHLD, 0, 0) && !native(CLONE, CLONE_NEWPID, 0, 0));
    CHECK(native(CLONE3, 1, 88, 0) && native(UNSHARE, CLONE_NEWPID, 0, 0));
    CHECK(!native(EXIT, 0, 0, 0) && !native(EXIT_GROUP, 0, 0, 0) && !native(KILL, 1, 2, 0) && !native(SETUID, 0, 0, 0));
}

static void of_the_network_only_names_are_stopped(void)
{
    CHECK(native(BIND, 3, 1, 16) && !native(CONNECT, 3, 1, 16) && !native(SENDTO, 3, 1, 5));
}

static void thirty_two_bits_are_stopped_alike(void)
{
    CHECK(compat(I386_SOCKETCALL, SYS_BIND, 1) && !compat(I386_SOCKETCALL, SYS_CONNECT, 1) && !compat(I386_SOCKETCALL, SYS_SOCKET, 1));
    CHECK(!compat(I386_OPEN, 1, O_RDONLY) && compat(I386_OPEN, 1, O_WRONLY | O_CREAT));
    CHECK(compat(I386_CHDIR, 1, 0) && !compat(I386_STAT64, 1, 2) && compat(I386_CLONE, CLONE_NEWNS, 0) && !compat(I386_CLONE, 17, 0));
}
#endif

int main(void)
{
    fill_shapes(&shapes);
    for (int split = 0; split < 2; split++) {
        CHECK(build_filter(&program, split, STOP_CHANGES) == 0 && build_filter(&alone, split, STOP_ALL) == 0);
        CHECK(program.len < BPF_MAXINSNS);
#if defined(__x86_64__)
        what_is_said_is_what_is_done(AUDIT_ARCH_X86_64, &calls_x86_64, shapes.of);
        what_is_said_is_what_is_done(AUDIT_ARCH_I386, &calls_i386, shapes.of + SHAPES_COMPAT);
        a_number_that_is_not_known_is_stopped(AUDIT_ARCH_X86_64, &calls_x86_64);
        a_number_that_is_not_known_is_stopped(AUDIT_ARCH_I386, &calls_i386);
        what_looks_passes_and_what_changes_is_stopped();
        processes_are_told_by_the_probe_unless_they_leave_our_root();
        of_the_network_only_names_are_stopped();
        thirty_two_bits_are_stopped_alike();
#elif defined(__aarch64__)
        what_is_said_is_what_is_done(AUDIT_ARCH_AARCH64, &calls_aarch64, shapes.of);
        a_number_that_is_not_known_is_stopped(AUDIT_ARCH_AARCH64, &calls_aarch64);
#endif
        free(program.filter), free(alone.filter);
    }
    return 0;
}
