/* What the probe saw, told as the filter would tell it: by the same handlers, over what the probe took along.
 *
 * A call that the filter stopped is told already; its events get their result. Processes are born and end
 * here in the order of the ring, so that no call of theirs comes after their end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/audit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "clock.h"
#include "correlate.h"
#include "dns.h"
#include "log.h"
#include "path_cache.h"
#include "probe_events.h"
#include "probe_record.h"
#include "processes.h"
#include "repeat_cache.h"
#include "seccomp.h"
#include "sys_process.h"
#include "text.h"

#define BUCKETS 4096u
#define MOST_WAITING 65536u
#define ADDRESS_TEXT 256

/* An endpoint that the kernel was given; the call that gave it should follow, of the same thread. */
struct endpoint {
    pid_t tid, pid;
    uint64_t start_ns; /* of the process */
    enum op op;
    uint64_t at_ns;
    char text[ADDRESS_TEXT];
    struct endpoint *next; /* in its bucket, later ones behind */
};

struct probe_events {
    struct path_cache *cache;
    struct repeat_cache *recent;
    struct endpoint *endpoints[BUCKETS]; /* by thread */
    size_t waiting;
};

struct probe_events *start_probe_events(void)
{
    struct probe_events *witness = calloc(1, sizeof *witness);
    if (witness && (!(witness->cache = start_path_cache()) || !(witness->recent = start_repeat_cache()))) {
        free(witness);
        return NULL;
    }
    return witness;
}

static uint64_t ended_at(const struct run *run, const struct probed_call *seen)
{
    return told_at_ns(run, seen->record->end_ns);
}

static const struct call *find_call_of(uint32_t number, bool compat)
{
#if defined(__x86_64__)
    return find_call(compat ? AUDIT_ARCH_I386 : AUDIT_ARCH_X86_64, number);
#else
    (void)compat;
    return find_call(AUDIT_ARCH_AARCH64, number);
#endif
}

static struct stop stop_of(struct run *run, struct probe_events *witness, const struct probed_call *seen)
{
    const struct probe_record *record = seen->record;
    struct stop stop = {.run = run, .probed = seen, .cache = witness->cache, .number = record->call, .tid = (pid_t)record->tid,
                        .pid = (pid_t)record->pid, .compat = record->flags & PROBE_COMPAT};
    stop.call = find_call_of(record->call, stop.compat);
    memcpy(stop.args, record->args, sizeof stop.args);
    return stop;
}

/* --- endpoints ------------------------------------------------------------------------------------------- */

static void tell_endpoint(struct run *run, struct probe_events *witness, const struct endpoint *endpoint)
{
    struct stop stop = {.run = run, .cache = witness->cache, .tid = endpoint->tid, .pid = endpoint->pid};
    if (!identify_seen(&stop, endpoint->start_ns, endpoint->at_ns)) {
        count(&run->header->unreadable);
        return;
    }
    struct wire_event event = event_of(&stop, endpoint->op);
    event.mono_ns = endpoint->at_ns;
    event.notes |= NOTE_BY_PROBE;
    event.path = intern_text(run, endpoint->text);
    append_event(run, &event);
}

/* Those of a thread, or of all (0). What came after `since_ns` is told by a call that named it. */
static void take_endpoints(struct run *run, struct probe_events *witness, size_t bucket, pid_t tid, uint64_t since_ns)
{
    for (struct endpoint **link = &witness->endpoints[bucket], *one; (one = *link);) {
        if (tid && one->tid != tid) {
            link = &one->next;
            continue;
        }
        if (one->at_ns < since_ns)
            tell_endpoint(run, witness, one);
        *link = one->next;
        free(one);
        witness->waiting--;
    }
}

void end_probe_events(struct run *run, struct probe_events *witness)
{
    for (size_t bucket = 0; bucket < BUCKETS; bucket++)
        take_endpoints(run, witness, bucket, 0, UINT64_MAX);
}

static void on_endpoint(struct run *run, struct probe_events *witness, const struct probed_call *seen)
{
    const struct probe_record *record = seen->record;
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = (in_port_t)record->args[1], .sin_addr = {(in_addr_t)record->args[3]}};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = (in_port_t)record->args[1]};
    memcpy(&v6.sin6_addr, &record->args[3], sizeof v6.sin6_addr);
    if (witness->waiting == MOST_WAITING)
        end_probe_events(run, witness);
    struct endpoint *endpoint = calloc(1, sizeof *endpoint);
    if (!endpoint) {
        count(&run->header->lost_events);
        return;
    }
    *endpoint = (struct endpoint){.tid = (pid_t)record->tid, .pid = (pid_t)record->pid, .start_ns = record->start_ns,
                                  .op = record->args[2] ? OP_SEND : OP_CONNECT, .at_ns = ended_at(run, seen)};
    bool is_v4 = record->args[0] == AF_INET;
    (void)format_address(is_v4 ? (void *)&v4 : (void *)&v6, is_v4 ? sizeof v4 : sizeof v6, endpoint->text, ADDRESS_TEXT - 1);
    struct endpoint **link = &witness->endpoints[record->tid % BUCKETS];
    while (*link)
        link = &(*link)->next;
    *link = endpoint;
    witness->waiting++;
}

/* A call of the thread ended: if it is one that names endpoints, it tells of those that were given during it. */
static void settle_endpoints(struct run *run, struct probe_events *witness, const struct stop *stop)
{
    handler *serve = stop->call->serve;
    bool names = serve == sys_address || serve == sys_message || serve == sys_socketcall;
    uint64_t began = told_at_ns(run, stop->probed->record->begin_ns);
    take_endpoints(run, witness, (uint32_t)stop->tid % BUCKETS, stop->tid, !names ? UINT64_MAX : began);
}

/* --- calls ----------------------------------------------------------------------------------------------- */

static void tell_answer(const char *name, const char *address, void *context)
{
    struct stop *stop = context;
    struct wire_event event = event_of(stop, OP_ANSWER);
    event.path = intern_text(stop->run, name);
    event.extra = intern_text(stop->run, address);
    log_event(stop, &event);
}

/* Whether it can be told again: nothing is counted or noted beside its events. */
static bool only_looks(const struct stop *stop)
{
    bool reads = stop->call->effect == EFFECT_OPEN && !stops_beside_probe(stop->call, stop->args);
    return !stop->notes && (reads || stop->call->effect == EFFECT_LOOK);
}

static void on_call(struct run *run, struct probe_events *witness, const struct probed_call *seen)
{
    struct stop stop = stop_of(run, witness, seen);
    const struct probe_part *answer = find_part(seen, PART_ANSWER, 0);
    if (!identify_seen(&stop, seen->record->start_ns, ended_at(run, seen))) {
        count(&run->header->unreadable);
        return;
    }
    if (answer) {
        read_dns_answer(part_bytes(answer), answer->length, tell_answer, &stop);
        return;
    }
    if (!stop.call)
        return;
    if (stop.call->class == CALL_COUNTED) {
        count_call(&stop);
        return;
    }
    settle_endpoints(run, witness, &stop);
    bool makes = stop.call->serve == sys_fork || stop.call->serve == sys_clone3;
    if (seen->record->result == 0 && probed_success(seen) && (makes || stop.call->serve == sys_exec))
        return; /* the child comes back from it as well; and a program that runs is told by itself */
    bool filtered = run->listener >= 0;
    if (filtered && correlate(run, stop.tid, stop.number, stop.compat, ended_at(run, seen), probed_result(seen), seen) == AGREED)
        return;
    if (seen->record->flags & PROBE_CUT && probed_success(seen))
        count(&run->header->unreadable);
    /* A filter of the program's own may refuse a call before ours is asked; then only its end is seen. */
    bool unheard = seen->record->flags & PROBE_NO_BEGIN;
    if (unheard)
        stop.notes |= NOTE_REFUSED;
    /* And a signal may end one that waits for us before we take it. */
    bool expected = filtered && !unheard && !probed_interrupted(seen);
    if (expected && stops_beside_probe(stop.call, stop.args)) {
        stop.notes |= NOTE_UNCONFIRMED;
        count(&run->header->only_ebpf);
    }
    bool looks = only_looks(&stop);
    if (looks && log_again(witness->recent, &stop))
        return;
    uint64_t age = atomic_load(&run->age);
    stop.call->serve(&stop);
    if (looks)
        remember(witness->recent, &stop, age);
    if (stop.call->effect == EFFECT_MOVE)
        atomic_fetch_add(&run->age, 1);
}

static void on_program(struct run *run, struct probe_events *witness, const struct probed_call *seen)
{
    struct stop stop = stop_of(run, witness, seen);
    pid_t asked = (pid_t)seen->record->args[0];
    uint64_t end_ns = ended_at(run, seen);
    stop.compat = false;
    if (!identify_seen(&stop, seen->record->start_ns, ended_at(run, seen))) {
        count(&run->header->unreadable);
        return;
    }
    enum verdict verdict = run->listener >= 0 ? correlate_exec(run, asked, end_ns, seen) : NOT_STOPPED;
    if (verdict == AGREED)
        return;
    if (verdict == RUN_BY_ANOTHER) {
        log_what_ran(&stop);
        return;
    }
    if (run->listener >= 0) {
        stop.notes |= NOTE_UNCONFIRMED;
        count(&run->header->only_ebpf);
    }
    stop.call = find_call_of(SYS_execve, false);
    stop.number = SYS_execve;
    stop.args[0] = SEEN_PROGRAM;
    sys_exec(&stop);
}

static bool has_number(pid_t pid, void *wanted)
{
    return pid == *(pid_t *)wanted;
}

static void on_move(struct run *run, const struct probed_call *seen)
{
    pid_t pid = (pid_t)seen->record->pid;
    if (any_process(run, has_number, &pid))
        count(&run->header->escaped);
}

void log_probe_record(struct run *run, struct probe_events *witness, const struct probed_call *seen)
{
    const struct probe_record *record = seen->record;
    switch (record->kind) {
    case PROBE_CALL:
        on_call(run, witness, seen);
        break;
    case PROBE_FORK:
        note_birth(run, (pid_t)record->tid, (pid_t)record->result, (pid_t)record->args[0], record->args[1], ended_at(run, seen));
        if (record->flags & PROBE_OUTSIDE)
            count(&run->header->escaped);
        break;
    case PROBE_EXEC:
        on_program(run, witness, seen);
        break;
    case PROBE_EXIT:
        take_endpoints(run, witness, record->tid % BUCKETS, (pid_t)record->tid, UINT64_MAX);
        settle_thread(run, (pid_t)record->tid);
        note_end(run, (pid_t)record->pid, (pid_t)record->tid, record->start_ns, record->args[0], (int)record->result,
                 ended_at(run, seen));
        break;
    case PROBE_ENDPOINT:
        on_endpoint(run, witness, seen);
        break;
    case PROBE_MOVE:
        on_move(run, seen);
        break;
    default:
        count(&run->header->lost_events);
    }
}
