/* The probe's ring buffer: taken over from steno-probe, read here, told by probe_events.c.
 *
 * The sequence numbers of each processor have a hole where the ring was full; the hole is told where it lies.
 * One thread reads; at the end of a run whoever ends it reads the rest.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../probe/handover.h"
#include "clock.h"
#include "correlate.h"
#include "log.h"
#include "probe_events.h"
#include "probe_record.h"
#include "probe_spec.h"
#include "procfs.h"
#include "ring.h"
#include "text.h"

#define LOOK_EVERY_MS 20
#define PATIENCE_MS 20
#define MOST_TRIES 10
#define FIRST (-20)
#define HANDOVER_MS 20000 /* loading takes a tenth of a second; nobody is to wait for ever */
#define BUSY 0x80000000u
#define DISCARDED 0x40000000u
#define RECORD_HEADER 8u
#define RELEASE_EVERY 32u

struct ring {
    pthread_mutex_t lock;
    struct probe_events *witness;
    int maps[HANDED_LINKS];
    int pairs[MOST_HANDED]; /* each a link and its program */
    size_t link_count;
    uint64_t size;
    uint32_t processors;
    uint64_t *sequence; /* last seen, by processor */
    unsigned long *consumed;
    const unsigned long *produced;
    const uint8_t *data;
    atomic_bool ended;
};

static long bpf_map(int command, int map, const void *key, const void *value)
{
    union bpf_attr attr = {.map_fd = (uint32_t)map, .key = (uint64_t)(uintptr_t)key, .value = (uint64_t)(uintptr_t)value};
    return syscall(SYS_bpf, command, &attr, sizeof attr);
}

/* --- taking over ----------------------------------------------------------------------------------------- */

static int receive(int from, struct handover *says, int handed[MOST_HANDED], size_t *count)
{
    char room[CMSG_SPACE(MOST_HANDED * sizeof(int))];
    struct iovec words = {says, sizeof *says};
    struct msghdr message = {.msg_iov = &words, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct pollfd there = {from, POLLIN, 0};
    if (poll(&there, 1, HANDOVER_MS) != 1)
        return PROBE_GONE;
    ssize_t got;
    do
        got = recvmsg(from, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got != sizeof *says)
        return PROBE_GONE;
    *count = 0;
    struct cmsghdr *control = CMSG_FIRSTHDR(&message);
    if (control && control->cmsg_type == SCM_RIGHTS) {
        *count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(handed, CMSG_DATA(control), *count * sizeof(int));
    }
    return (int)says->state;
}

static bool map_ring(struct ring *ring)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *own = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, ring->maps[HANDED_RING], 0);
    /* Its data is there twice, one behind the other, so that no record is cut. */
    void *theirs = mmap(NULL, page + 2 * ring->size, PROT_READ, MAP_SHARED, ring->maps[HANDED_RING], (off_t)page);
    if (own == MAP_FAILED || theirs == MAP_FAILED)
        return false;
    ring->consumed = own;
    ring->produced = theirs;
    ring->data = (const uint8_t *)theirs + page;
    return true;
}

int take_probe(struct run *run)
{
    struct handover says = {0};
    int handed[MOST_HANDED];
    size_t count = 0;
    int state = receive(run->options.probe, &says, handed, &count);
    close(run->options.probe);
    run->options.probe = -1;
    if (state != PROBE_READY)
        return state;
    struct ring *ring = calloc(1, sizeof *ring);
    if (!ring || count != HANDED_LINKS + 2 * (size_t)says.links || pthread_mutex_init(&ring->lock, NULL) != 0)
        return PROBE_GONE;
    memcpy(ring->maps, handed, sizeof ring->maps);
    memcpy(ring->pairs, handed + HANDED_LINKS, 2 * says.links * sizeof(int));
    ring->link_count = says.links;
    ring->size = says.ring_bytes;
    ring->processors = says.processors;
    ring->sequence = calloc(ring->processors, sizeof *ring->sequence);
    ring->witness = start_probe_events();
    run->correlation = start_correlation();
    if (!ring->sequence || !ring->witness || !run->correlation)
        return PROBE_GONE;
    run->ring = ring;
    run->header->features |= FEATURE_EBPF;
    return PROBE_READY;
}

/* --- reading --------------------------------------------------------------------------------------------- */

static void tell_lost(struct run *run, uint64_t lost, uint32_t processor, uint64_t at_ns)
{
    __atomic_fetch_add(&run->header->ring_lost, lost, __ATOMIC_RELAXED);
    append_event(run, &(struct wire_event){.mono_ns = at_ns, .op = OP_LOST, .result = WIRE_RESULT_UNKNOWN,
                                   .notes = NOTE_BY_PROBE, .arg = lost, .arg2 = processor});
}

static void take_record(struct run *run, const void *bytes, size_t size)
{
    struct ring *ring = run->ring;
    struct probed_call seen;
    if (!read_record(bytes, size, &seen) || seen.record->cpu >= ring->processors) {
        count(&run->header->lost_events);
        return;
    }
    uint64_t *last = &ring->sequence[seen.record->cpu];
    if (seen.record->sequence > *last + 1)
        tell_lost(run, seen.record->sequence - *last - 1, seen.record->cpu, told_at_ns(run, seen.record->end_ns));
    *last = seen.record->sequence ? seen.record->sequence : *last;
    log_probe_record(run, ring->witness, &seen);
}

/* Whoever reads may have to wait for a file system that a process of the run serves; and that process for us. */
static bool lock_soon(struct ring *ring)
{
    for (int waited = 0; waited < PATIENCE_MS; waited++) {
        if (pthread_mutex_trylock(&ring->lock) == 0)
            return true;
        poll(NULL, 0, 1);
    }
    return false;
}

/* False: somebody else reads and takes long, or a record is being written. */
static bool drain_once(struct run *run)
{
    struct ring *ring = run->ring;
    /* What is added meanwhile is not waited for: that may go on for ever. */
    unsigned long until = __atomic_load_n(ring->produced, __ATOMIC_ACQUIRE);
    if (!lock_soon(ring))
        return false;
    unsigned long at = __atomic_load_n(ring->consumed, __ATOMIC_ACQUIRE);
    unsigned taken = 0;
    while (at < until) {
        const uint8_t *record = ring->data + (at & (ring->size - 1));
        uint32_t length = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
        if (length & BUSY)
            break;
        uint32_t size = length & ~DISCARDED;
        if (!(length & DISCARDED))
            take_record(run, record + RECORD_HEADER, size);
        at += (size + RECORD_HEADER + 7u) & ~7ul;
        if (++taken % RELEASE_EVERY == 0) /* each release disturbs the processor that writes */
            __atomic_store_n(ring->consumed, at, __ATOMIC_RELEASE);
    }
    __atomic_store_n(ring->consumed, at, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&ring->lock);
    return at >= until;
}

/* A record that is being written is whole in a moment. */
bool drain_ring(struct run *run)
{
    bool whole = drain_once(run);
    for (int i = 0; i < MOST_TRIES && !whole; i++) {
        sched_yield();
        whole = drain_once(run);
    }
    return whole;
}

static void *read_ring(void *context)
{
    struct run *run = context;
    /* The command may take all processors; then what it does must still be read before it is lost. */
    (void)!setpriority(PRIO_PROCESS, (id_t)gettid(), FIRST);
    while (!atomic_load(&run->ring->ended)) {
        struct pollfd full = {run->ring->maps[HANDED_RING], POLLIN, 0};
        poll(&full, 1, LOOK_EVERY_MS);
        (void)drain_ring(run); /* or the next time */
    }
    return NULL;
}

/* Filters that we are under ourselves, as in a container; the command inherits them. */
static uint32_t own_filters(void)
{
    char text[4096];
    const char *line = read_small_file("/proc/self/status", text, sizeof text) > 0 ? strstr(text, "Seccomp_filters:") : NULL;
    return line ? (uint32_t)strtoul(line + sizeof "Seccomp_filters:" - 1, NULL, 10) : 0;
}

int start_ring(struct run *run)
{
    uint32_t first = 0;
    struct probe_shapes *shapes = malloc(sizeof *shapes);
    pthread_t thread;
    if (!shapes)
        return -ENOMEM;
    if (!map_ring(run->ring)) { /* not before the command was made: what is mapped would count as its memory */
        free(shapes);
        return -ENOMEM;
    }
    fill_shapes(shapes);
    shapes->filters = own_filters() + (run->options.filtered ? 1 : 0);
    long filled = bpf_map(BPF_MAP_UPDATE_ELEM, run->ring->maps[HANDED_SHAPES], &first, shapes);
    int error = filled == 0 ? 0 : -errno;
    free(shapes);
    error = error ? error : -pthread_create(&thread, NULL, read_ring, run);
    if (!error)
        pthread_detach(thread);
    return error;
}

/* --- the end --------------------------------------------------------------------------------------------- */

static uint64_t counted(const struct ring *ring, uint32_t which, uint64_t by_processor[])
{
    uint64_t sum = 0;
    memset(by_processor, 0, ring->processors * sizeof *by_processor);
    if (bpf_map(BPF_MAP_LOOKUP_ELEM, ring->maps[HANDED_COUNTS], &which, by_processor) != 0)
        return 0;
    for (uint32_t i = 0; i < ring->processors; i++)
        sum += by_processor[i];
    return sum;
}

static bool is_alive(pid_t tid)
{
    struct birth birth = {0};
    return read_birth(tid, &birth) && birth.state != 'Z' && birth.state != 'X';
}

static bool ask_about(int object, void *told, size_t size)
{
    union bpf_attr attr = {.info = {.bpf_fd = (uint32_t)object, .info_len = (uint32_t)size, .info = (uint64_t)(uintptr_t)told}};
    return syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof attr) == 0;
}

/* Whoever may can take a program off a cgroup; those at tracepoints stay as long as we hold them. */
static bool is_in_place(int link)
{
    struct bpf_link_info told = {0};
    return ask_about(link, &told, sizeof told) && (told.type != BPF_LINK_TYPE_CGROUP || told.cgroup.cgroup_id != 0);
}

/* The kernel passes a program by that is at work on the same processor already, and counts how often; for all
 * processes of the machine, so one of these may have been the run's. */
static uint64_t passed_by(int program)
{
    struct bpf_prog_info told = {0};
    return ask_about(program, &told, sizeof told) ? told.recursion_misses : 1;
}

void end_ring(struct run *run)
{
    struct ring *ring = run->ring;
    uint64_t *by_processor = calloc(ring->processors, sizeof *by_processor), until_ns = now_ns(run);
    for (size_t i = 0; i < ring->link_count; i++) {
        int link = ring->pairs[2 * i], program = ring->pairs[2 * i + 1];
        if (!is_in_place(link))
            count(&run->header->lost_events); /* what it would have seen is not known */
        close(link);
        __atomic_fetch_add(&run->header->lost_events, passed_by(program), __ATOMIC_RELAXED);
        close(program);
    }
    if (!drain_ring(run))
        count(&run->header->lost_events); /* what is in it is not told */
    end_probe_events(run, ring->witness);
    if (!by_processor) {
        count(&run->header->lost_events); /* what the probe lost is not known */
        return;
    }
    run->header->probe_unread = counted(ring, COUNT_UNREAD, by_processor);
    run->header->probe_unplaced = counted(ring, COUNT_UNPLACED, by_processor);
    uint64_t unnumbered = counted(ring, COUNT_UNNUMBERED_LOST, by_processor);
    if (unnumbered)
        tell_lost(run, unnumbered, 0, now_ns(run));
    (void)counted(ring, COUNT_SENT, by_processor); /* records that were lost at the very end leave no hole */
    (void)drain_ring(run); /* of those that were not, the last may have come just now */
    for (uint32_t i = 0; i < ring->processors; i++) {
        if (by_processor[i] > ring->sequence[i])
            tell_lost(run, by_processor[i] - ring->sequence[i], i, now_ns(run));
    }
    settle_all(run, until_ns, is_alive);
    atomic_store(&ring->ended, true);
    free(by_processor);
}
