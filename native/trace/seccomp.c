/* The seccomp filter, made from the call tables: stop what is recorded or counted, let everything else run.
 *
 * Per machine a binary search over the numbers, so that a call costs a handful of comparisons; calls that are
 * always let through cost nothing at all (the kernel keeps a bitmap of them). Pure: makes a program, installs
 * nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/net.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seccomp.h"

#define X32_BIT 0x40000000u
#define MOST 4096

#define STOP BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)
#define PASS BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define LOW(argument) (offsetof(struct seccomp_data, args) + 8 * (argument))
#define HIGH(argument) (LOW(argument) + 4)
#define UNLESS_EQUAL(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)
#define IF_EQUAL(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, skip, 0)
#define IF_SET(bits, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, skip, 0)
#define UNLESS_SET(bits, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, skip)
#define UNLESS_LESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, skip, 0)

struct writer {
    struct sock_filter *code;
    size_t used;
    bool split;
    enum stopping stopping;
};

static void put(struct writer *out, struct sock_filter instruction)
{
    if (out->used < MOST)
        out->code[out->used] = instruction;
    out->used++;
}

#define PUT(out, ...) put(out, (struct sock_filter)__VA_ARGS__)

static void put_shared_write(struct writer *out)
{
    PUT(out, LOAD(LOW(2)));
    PUT(out, UNLESS_SET(PROT_WRITE, 4));
    PUT(out, LOAD(LOW(3)));
    PUT(out, IF_SET(MAP_ANONYMOUS, 2));
    PUT(out, UNLESS_SET(MAP_SHARED, 1)); /* the bit is in MAP_SHARED_VALIDATE, too */
    PUT(out, STOP);
    PUT(out, PASS);
}

static void put_watched_descriptor(struct writer *out, uint32_t argument)
{
    PUT(out, LOAD(LOW(argument)));
    PUT(out, UNLESS_LESS(LOW_WATCHED, 1));
    PUT(out, STOP);
    PUT(out, UNLESS_EQUAL(ALONE_WATCHED, 1));
    PUT(out, STOP);
    PUT(out, UNLESS_LESS(SPLIT_FIRST, 1));
    PUT(out, PASS);
    PUT(out, UNLESS_LESS(SPLIT_FIRST + SPLIT_COUNT, 1));
    PUT(out, STOP);
    PUT(out, PASS);
}

#define OPENS_TO_CHANGE (O_ACCMODE | O_CREAT | O_TRUNC)
#define LEAVES_ROOT (CLONE_NEWNS | CLONE_NEWUSER)

static const uint32_t attaching[] = {PTRACE_ATTACH, PTRACE_SEIZE};
/* What we, or the recorder, do not ignore or read; 32 and 33 are the C library's own. */
static const uint32_t ending_or_stopping[] = {SIGKILL, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGSEGV, SIGBUS,
                                              SIGFPE,  SIGILL,  SIGTRAP, SIGSYS,  SIGABRT, 32,      33};
#define COUNT(values) (sizeof(values) / sizeof *(values))

/* They name who gets the signals of a descriptor. */
static const uint32_t fcntl_owners[] = {F_SETOWN, F_SETOWN_EX};
static const uint32_t fcntl_owners_and_copies[] = {F_SETOWN, F_SETOWN_EX, F_DUPFD, F_DUPFD_CLOEXEC};
static const uint32_t ioctl_owners[] = {FIOSETOWN, SIOCSPGRP, TIOCSPGRP};

static bool is_among(uint64_t value, const uint32_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if ((uint32_t)value == values[i])
            return true;
    }
    return false;
}

bool ends_or_stops(uint64_t number)
{
    return is_among(number, ending_or_stopping, COUNT(ending_or_stopping));
}

/* Where it depends on an argument whether the filter stops a call beside a probe: which one, and what must be
 * in it. */
static uint32_t deciding_argument(const struct call *call)
{
    switch (call->beside) {
    case BESIDE_IF_CHANGING:
        return (uint32_t)call->flags;
    case BESIDE_IF_BINDING:
        return 0;
    default:
        return (uint32_t)call->arg;
    }
}

bool stops_beside_probe(const struct call *call, const uint64_t args[6])
{
    switch (call->beside) {
    case BESIDE_PASS:
        return false;
    case BESIDE_IF_CHANGING:
        return args[deciding_argument(call)] & OPENS_TO_CHANGE;
    case BESIDE_IF_LEAVING:
        return args[deciding_argument(call)] & LEAVES_ROOT;
    case BESIDE_IF_BINDING:
        return (uint32_t)args[deciding_argument(call)] == SYS_BIND;
    case BESIDE_IF_ATTACHING:
        return is_among(args[deciding_argument(call)], attaching, COUNT(attaching));
    case BESIDE_IF_ENDING:
        return ends_or_stops(args[deciding_argument(call)]);
    default:
        return call->when != WHEN_OTHERS_LIMIT || ((uint32_t)args[0] && args[2]);
    }
}

/* The accumulator holds the argument. Goes on behind the next instruction if it is none of the values. */
static void put_unless_among(struct writer *out, const uint32_t *values, size_t count)
{
    for (size_t left = count - 1; left > 0; left--)
        PUT(out, IF_EQUAL(values[count - 1 - left], (uint8_t)left));
    PUT(out, UNLESS_EQUAL(values[count - 1], 1));
}

/* The same as `stops_beside_probe`, as a program. False: the call is stopped as without a probe. */
static bool put_beside_probe(struct writer *out, const struct call *call)
{
    if (call->beside == BESIDE_STOP || call->beside == BESIDE_BLIND)
        return false;
    if (call->beside != BESIDE_PASS) {
        PUT(out, LOAD(LOW(deciding_argument(call))));
        if (call->beside == BESIDE_IF_CHANGING)
            PUT(out, UNLESS_SET(OPENS_TO_CHANGE, 1));
        else if (call->beside == BESIDE_IF_LEAVING)
            PUT(out, UNLESS_SET(LEAVES_ROOT, 1));
        else if (call->beside == BESIDE_IF_BINDING)
            PUT(out, UNLESS_EQUAL(SYS_BIND, 1));
        else if (call->beside == BESIDE_IF_ATTACHING)
            put_unless_among(out, attaching, COUNT(attaching));
        else
            put_unless_among(out, ending_or_stopping, COUNT(ending_or_stopping));
        PUT(out, STOP);
    }
    PUT(out, PASS);
    return true;
}

/* What to do once the number is known. Ends with a return on every way. */
static void put_verdict(struct writer *out, const struct call *call)
{
    if (out->stopping == STOP_CHANGES && put_beside_probe(out, call))
        return;
    switch (call->when) {
    case WHEN_ADDRESS:
        PUT(out, LOAD(LOW(4)));
        PUT(out, UNLESS_EQUAL(0, 2));
        PUT(out, LOAD(HIGH(4)));
        PUT(out, IF_EQUAL(0, 1));
        PUT(out, STOP);
        PUT(out, PASS);
        return;
    case WHEN_SHARED_WRITE:
        put_shared_write(out);
        return;
    case WHEN_SET_SECCOMP:
        PUT(out, LOAD(LOW(0)));
        PUT(out, UNLESS_EQUAL(PR_SET_SECCOMP, 1));
        PUT(out, STOP);
        PUT(out, PASS);
        return;
    case WHEN_OTHERS_LIMIT:
        PUT(out, LOAD(LOW(0)));
        PUT(out, UNLESS_EQUAL(0, 1));
        PUT(out, PASS);
        PUT(out, LOAD(LOW(2)));
        PUT(out, UNLESS_EQUAL(0, 2));
        PUT(out, LOAD(HIGH(2)));
        PUT(out, IF_EQUAL(0, 1));
        PUT(out, STOP);
        PUT(out, PASS);
        return;
    case WHEN_SPLIT:
        if (!out->split)
            PUT(out, PASS);
        else if (call->serve == sys_write || call->serve == sys_transfer)
            put_watched_descriptor(out, (uint32_t)call->dir);
        else
            PUT(out, STOP);
        return;
    case WHEN_FCNTL:
        PUT(out, LOAD(LOW(1)));
        if (out->split)
            put_unless_among(out, fcntl_owners_and_copies, COUNT(fcntl_owners_and_copies));
        else
            put_unless_among(out, fcntl_owners, COUNT(fcntl_owners));
        PUT(out, STOP);
        PUT(out, PASS);
        return;
    case WHEN_IOCTL:
        PUT(out, LOAD(LOW(1)));
        put_unless_among(out, ioctl_owners, COUNT(ioctl_owners));
        PUT(out, STOP);
        PUT(out, PASS);
        return;
    default:
        PUT(out, STOP);
    }
}

/* A search tree: the accumulator holds the number. Distances beyond 255 need a jump of their own. */
static void put_search(struct writer *out, const struct call *calls, size_t count)
{
    if (count == 1) {
        PUT(out, IF_EQUAL(calls[0].number, 1));
        PUT(out, PASS);
        put_verdict(out, &calls[0]);
        return;
    }
    size_t half = count / 2;
    PUT(out, UNLESS_LESS(calls[half].number, 1));
    PUT(out, BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0));
    size_t jump = out->used;
    PUT(out, BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0));
    put_search(out, calls, half);
    if (jump < MOST)
        out->code[jump].k = (uint32_t)(out->used - jump - 1);
    put_search(out, calls + half, count - half);
}

static void put_machine(struct writer *out, const struct call_table *table)
{
    PUT(out, LOAD(offsetof(struct seccomp_data, nr)));
    PUT(out, UNLESS_LESS(table->highest + 1, 1));
    PUT(out, BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0));
    PUT(out, STOP); /* newer than the tables, or of another kind: counted */
    put_search(out, table->calls, table->count);
}

int build_filter(struct sock_fprog *program, bool split, enum stopping stopping)
{
    struct writer out = {calloc(MOST, sizeof *out.code), 0, split, stopping};
    if (!out.code)
        return -ENOMEM;
    PUT(&out, LOAD(offsetof(struct seccomp_data, arch)));
#if defined(__x86_64__)
    PUT(&out, IF_EQUAL(AUDIT_ARCH_X86_64, 1));
    size_t other = out.used;
    PUT(&out, BPF_JUMP(BPF_JMP | BPF_JA, 0, 0, 0));
    put_machine(&out, &calls_x86_64);
    out.code[other].k = (uint32_t)(out.used - other - 1);
    PUT(&out, IF_EQUAL(AUDIT_ARCH_I386, 1));
    PUT(&out, STOP);
    put_machine(&out, &calls_i386);
#elif defined(__aarch64__)
    PUT(&out, IF_EQUAL(AUDIT_ARCH_AARCH64, 1));
    PUT(&out, STOP);
    put_machine(&out, &calls_aarch64);
#else
#error "steno-trace knows the system calls of x86_64, i386 and aarch64"
#endif
    if (out.used > MOST) {
        free(out.code);
        return -E2BIG;
    }
    *program = (struct sock_fprog){(unsigned short)out.used, out.code};
    return 0;
}

static const struct call *find_in(const struct call_table *table, uint32_t number)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->calls[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < table->count && table->calls[low].number == number ? &table->calls[low] : NULL;
}

const struct call *find_call(uint32_t arch, uint32_t number)
{
#if defined(__x86_64__)
    if (arch == AUDIT_ARCH_X86_64)
        return number & X32_BIT ? NULL : find_in(&calls_x86_64, number);
    return arch == AUDIT_ARCH_I386 ? find_in(&calls_i386, number) : NULL;
#else
    return arch == AUDIT_ARCH_AARCH64 ? find_in(&calls_aarch64, number) : NULL;
#endif
}

/* Putting a process under the filter, and getting hold of its listener. Features are probed by doing. */
int seccomp_sizes(struct seccomp_notif_sizes *sizes)
{
    return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, sizes) == 0 ? 0 : -errno;
}

static int try_install(struct sock_fprog *program, unsigned long flags)
{
    long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    return listener < 0 ? -errno : (int)listener;
}

static int install_filter(bool split, enum stopping stopping, uint64_t *features)
{
    struct sock_fprog program;
    int error = build_filter(&program, split, stopping);
    if (error)
        return error;
    unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    int listener = try_install(&program, flags);
    if (listener == -EACCES) { /* without privilege the kernel wants a promise never to gain any */
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
            *features |= FEATURE_NO_NEW_PRIVS;
        listener = try_install(&program, flags);
    }
    if (listener == -EINVAL) /* before 5.19 */
        listener = try_install(&program, flags & ~SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    else
        *features |= FEATURE_WAIT_KILLABLE;
    free(program.filter);
    return listener;
}

/* What the process under the filter tells; the listener comes along if there is one. */
struct told {
    int error;
    uint64_t features;
};

struct handover {
    int channel, listener;
    struct told told;
    sem_t ready;
};

union rights {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static void send_listener(const struct handover *handover)
{
    struct told told = handover->told;
    struct iovec part = {&told, sizeof told};
    union rights rights = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (handover->listener >= 0) {
        memcpy(CMSG_DATA(&rights.head), &handover->listener, sizeof(int));
        message.msg_control = &rights;
        message.msg_controllen = sizeof rights.bytes;
    }
    if (sendmsg(handover->channel, &message, MSG_NOSIGNAL) != sizeof told)
        shutdown(handover->channel, SHUT_RDWR); /* who waits for it then knows */
}

static void *hand_over(void *context)
{
    struct handover *handover = context;
    while (sem_wait(&handover->ready) != 0)
        continue;
    send_listener(handover);
    return NULL;
}

/* Every call of the thread under the filter may wait for an answer, and taking descriptors out of a process
 * is refused in many containers. A second thread, made before and not under the filter, sends the listener. */
void install_and_send(int channel, bool split, enum stopping stopping)
{
    struct handover handover = {.channel = channel, .listener = -1};
    pthread_t sender;
    int error = sem_init(&handover.ready, 0, 0) == 0 ? pthread_create(&sender, NULL, hand_over, &handover) : errno;
    if (error) {
        handover.told.error = error;
        send_listener(&handover);
        return;
    }
    handover.listener = install_filter(split, stopping, &handover.told.features);
    handover.told.error = handover.listener < 0 ? -handover.listener : 0;
    sem_post(&handover.ready);
    pthread_join(sender, NULL);
    if (handover.listener >= 0)
        close(handover.listener);
}

int receive_listener(int channel, uint64_t *features, bool *filtered)
{
    struct told told = {EIO, 0};
    struct iovec part = {&told, sizeof told};
    union rights rights;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights};
    ssize_t got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    int listener = -EIO;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (got == sizeof told && head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&listener, CMSG_DATA(head), sizeof listener);
    *filtered = got == sizeof told && told.error == 0;
    *features = told.features;
    return got == sizeof told && told.error ? -told.error : listener;
}

int take_descriptor(pid_t pid, int descriptor)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return -errno;
    long taken = syscall(SYS_pidfd_getfd, pidfd, descriptor, 0);
    int error = errno;
    close(pidfd);
    return taken < 0 ? -error : (int)taken;
}
