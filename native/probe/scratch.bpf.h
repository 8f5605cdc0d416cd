/* The probe's maps, and how a record is put together in them: begun, given parts, sent. */
#ifndef STENO_SCRATCH_BPF_H
#define STENO_SCRATCH_BPF_H

#include "record.h"

#include "kernel_types.h"

#include <bpf/bpf_helpers.h>

#include <bpf/bpf_core_read.h>

/* linux/bpf.h pulls in headers that a machine for building need not have. */
enum { ARRAY = 2, PERCPU_ARRAY = 6, CGROUP_ARRAY = 8, RINGBUF = 27, TASK_STORAGE = 29 };
enum { NO_PREALLOC = 1, CREATE = 1, NO_WAKEUP = 1, FORCE_WAKEUP = 2, AVAILABLE_DATA = 0 };

#define TAIL 65536u
#define ROOM (2 * PROBE_ARGUMENTS_MAX)
#define NAME 4096u
#define COPY 2048u
#define NAME_FLAGS 16
#define MOST_DEPTH 512
#define MOST_LEVELS 64
#define UNIFIED 0 /* the hierarchy of cgroup v2 */
#define CWD (-100)
#define TS_COMPAT 2u
#define FOREIGN_OVERLAY 0x794c7630u /* these show other numbers to stat(2) than their inodes have */
#define FOREIGN_BTRFS 0x9123683eu
#define EMPTY_PATH 0x1000u
#define GROUP_EXIT 4u
#define CREATED (1u << 20) /* FMODE_CREATED */
#define SET_SECCOMP 22
#define MOST_MESSAGES 1024
#define DNS_PORT 53
#define UNIX 1
#define INET 2
#define INET6 10

char permission[] SEC("license") = "GPL";

const volatile struct probe_constants constants = {.wake_bytes = 65536};

struct scratch {
    struct probe_record record;
    uint32_t used;
    uint32_t part;
    uint8_t tail[TAIL + ROOM];
    uint8_t name[NAME + 512];
    uint8_t copy[COPY]; /* of something of the kernel's: one read of all is faster than one of each part */
};

struct {
    __uint(type, RINGBUF);
    __uint(max_entries, 8 << 20);
} ring SEC(".maps");

/* The run's cgroup: it and all below it are ours. */
struct {
    __uint(type, CGROUP_ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, uint32_t);
} scope SEC(".maps");

struct {
    __uint(type, ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct probe_shapes);
} shapes SEC(".maps");

/* One for each processor: too large for a per-processor map. */
struct {
    __uint(type, ARRAY);
    __uint(max_entries, 1);
    __type(key, uint32_t);
    __type(value, struct scratch);
} scratches SEC(".maps");

struct {
    __uint(type, PERCPU_ARRAY);
    __uint(max_entries, COUNTS);
    __type(key, uint32_t);
    __type(value, uint64_t);
} counts SEC(".maps");

/* When the call of a thread began. */
struct {
    __uint(type, TASK_STORAGE);
    __uint(map_flags, NO_PREALLOC);
    __type(key, int);
    __type(value, uint64_t);
} begun SEC(".maps");

/* The compiler sees what a mask cannot change and drops it; the verifier wants to see it. */
#define BOUND(value, mask) asm volatile("%0 &= %1" : "+r"(value) : "i"(mask))

static __always_inline uint64_t add_count(uint32_t which)
{
    uint64_t *value = bpf_map_lookup_elem(&counts, &which);
    return value ? ++*value : 0;
}

static __always_inline bool is_ours(void)
{
    return bpf_current_task_under_cgroup(&scope, 0) == 1;
}

static __always_inline struct task_struct *current_task(void)
{
    return (void *)bpf_get_current_task();
}

static __always_inline struct scratch *own_scratch(void)
{
    uint32_t cpu = bpf_get_smp_processor_id();
    return bpf_map_lookup_elem(&scratches, &cpu);
}

static __always_inline void begin_header(struct probe_record *record, uint16_t kind)
{
    uint64_t who = bpf_get_current_pid_tgid();
    record->kind = kind;
    record->flags = 0;
    record->cpu = bpf_get_smp_processor_id();
    record->call = 0;
    record->begin_ns = 0;
    record->end_ns = bpf_ktime_get_ns();
    record->pid = who >> 32;
    record->tid = (uint32_t)who;
    record->start_ns = BPF_CORE_READ(current_task(), group_leader, start_boottime);
}

static __always_inline struct scratch *begin_record(uint16_t kind)
{
    struct scratch *scratch = own_scratch();
    if (!scratch)
        return 0;
    begin_header(&scratch->record, kind);
    scratch->used = 0;
    return scratch;
}

static __always_inline void send(struct scratch *scratch)
{
    uint32_t size = scratch->used;
    if (size > TAIL + PROBE_ARGUMENTS_MAX)
        size = TAIL + PROBE_ARGUMENTS_MAX;
    size += sizeof(struct probe_record);
    scratch->record.size = size;
    /* Losses count, too: the sequence has a hole where a record is missing. */
    scratch->record.sequence = add_count(COUNT_SENT);
    bool failed = scratch->record.result < 0 && !(scratch->record.flags & PROBE_NO_BEGIN);
    if (scratch->record.flags & PROBE_UNREAD && !failed) /* of a call that failed, its note says enough */
        add_count(COUNT_UNREAD);
    bool wake = !(scratch->record.sequence & 15) && bpf_ringbuf_query(&ring, AVAILABLE_DATA) > constants.wake_bytes;
    /* `used` and `part` lie between the header and the parts; the reader knows. */
    bpf_ringbuf_output(&ring, scratch, size + 8, wake ? FORCE_WAKEUP : NO_WAKEUP);
}

/* --- parts ----------------------------------------------------------------------------------------------- */

static __always_inline bool begin_part(struct scratch *scratch, uint16_t kind, uint64_t address)
{
    uint32_t at = scratch->used;
    if (at > TAIL - 64) {
        scratch->record.flags |= PROBE_CUT;
        return false;
    }
    struct probe_part *part = (void *)(scratch->tail + at);
    part->kind = kind;
    part->flags = 0;
    part->length = 0;
    part->address = address;
    scratch->part = at;
    scratch->used = at + sizeof *part;
    return true;
}

static __always_inline void end_part(struct scratch *scratch, uint32_t length, uint16_t flags)
{
    uint32_t at = scratch->part;
    if (at > TAIL - 64)
        return;
    struct probe_part *part = (void *)(scratch->tail + at);
    part->length = length;
    part->flags = flags;
    scratch->used += (length + 7) & ~7u;
}

/* The functions from here on that are not static take numbers only: the verifier looks at each of them once, whoever calls
 * it, and loading takes half the time. */
__noinline int add_string(uint64_t address)
{
    struct scratch *scratch = own_scratch();
    if (!scratch || !begin_part(scratch, PART_MEMORY, address))
        return -1;
    uint32_t at = scratch->used & (TAIL - 1);
    long got = bpf_probe_read_user_str(scratch->tail + at, PROBE_PATH_MAX, (void *)address);
    if (got < 0) {
        scratch->record.flags |= PROBE_UNREAD;
        scratch->used = scratch->part; /* nothing is better than half */
        return -1;
    }
    end_part(scratch, (uint32_t)got, got == PROBE_PATH_MAX ? NAME_CUT : 0);
    return scratch->tail[at];
}

__noinline int add_memory(uint64_t address, uint32_t length)
{
    struct scratch *scratch = own_scratch();
    if (!scratch || length > 256 || !begin_part(scratch, PART_MEMORY, address))
        return -1;
    uint32_t at = scratch->used & (TAIL - 1);
    uint64_t size = length;
    BOUND(size, 511);
    if (bpf_probe_read_user(scratch->tail + at, (uint32_t)size, (void *)address) != 0) {
        scratch->record.flags |= PROBE_UNREAD;
        scratch->used = scratch->part;
        return -1;
    }
    end_part(scratch, length, 0);
    return 0;
}

#endif
