/* The processes of the run: who is who, who made whom, and how each ended.
 *
 * Everything is learned from the kernel: a thread is met at its first stop, a process is keyed by pid and
 * start time, its end is told by its pidfd. The table holds living processes only.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "processes.h"
#include "procfs.h"
#include "ring.h"
#include "text.h"

/* The table of processes: who is in it, found by thread, and what is told when one comes or goes. The lock is
 * held. */
#define RESERVED_DESCRIPTORS 128

static struct thread **bucket_of(struct processes *processes, pid_t tid)
{
    return &processes->buckets[(uint32_t)tid % THREAD_BUCKETS];
}

struct thread *find_thread(struct processes *processes, pid_t tid)
{
    struct thread *thread = *bucket_of(processes, tid);
    while (thread && thread->tid != tid)
        thread = thread->next;
    return thread;
}

struct thread *add_thread(struct processes *processes, struct process *process, pid_t tid)
{
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    struct thread **bucket = bucket_of(processes, tid);
    *thread = (struct thread){tid, process, *bucket, process->threads, 0};
    *bucket = thread;
    process->threads = thread;
    return thread;
}

void drop_thread(struct processes *processes, struct thread *gone)
{
    struct thread **link = bucket_of(processes, gone->tid);
    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    link = &gone->process->threads;
    while (*link != gone)
        link = &(*link)->sibling;
    *link = gone->sibling;
    gone->process->forks_open -= gone->forks_open;
    free(gone);
}

static int descriptors_to_spend(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX)
        return INT_MAX;
    int most = (int)limit.rlim_cur;
    return most - (most / 2 < RESERVED_DESCRIPTORS ? most / 2 : RESERVED_DESCRIPTORS);
}

static void watch_end(struct processes *processes, struct process *process)
{
    if (!processes->most_watched)
        processes->most_watched = descriptors_to_spend();
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = process};
    process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    bool watched = processes->told_by_probe || epoll_ctl(processes->poll, EPOLL_CTL_ADD, process->pidfd, &event) == 0;
    if (process->pidfd >= 0 && (process->pidfd > processes->most_watched || !watched)) {
        close(process->pidfd);
        process->pidfd = -1;
    }
    processes->unwatched += process->pidfd < 0;
}

struct process *add_born(struct run *run, pid_t pid, pid_t parent, const struct birth *birth, uint64_t at_ns)
{
    struct processes *processes = run->processes;
    struct process *process = calloc(1, sizeof *process);
    if (!process)
        return NULL;
    *process = (struct process){.pid = pid, .number = processes->next_number, .asked = NOT_ASKED, .exec_at = UINT64_MAX,
                                .start_ticks = birth->start_ticks};
    if (!add_thread(processes, process, pid)) {
        free(process);
        return NULL;
    }
    processes->next_number++;
    processes->alive++;
    watch_end(processes, process);
    struct thread *maker = find_thread(processes, parent ? parent : birth->parent);
    if (maker && maker->process->forks_unmet)
        maker->process->forks_unmet--;
    else if (!maker && process->number > 1)
        count(&run->header->unknown_parents);
    uint64_t parent_number = maker ? maker->process->number : 0;
    process->parent = (uint32_t)parent_number;
    process->other_root = maker ? maker->process->other_root : processes->any_other_root;
    append_event(run, &(struct wire_event){.mono_ns = at_ns, .process = process->number, .tid = (uint32_t)pid,
                                   .op = OP_PROCESS, .arg = (uint32_t)pid | parent_number << 32,
                                   .arg2 = birth->start_ticks});
    return process;
}

struct process *add_process(struct run *run, pid_t pid, pid_t parent)
{
    struct birth birth = {0};
    return read_birth(pid, &birth) ? add_born(run, pid, parent, &birth, now_ns(run)) : NULL;
}

void meet_orphans(struct run *run, const struct process *parent)
{
    char path[96], text[16384];
    if (!parent->forks_unmet || !parent->threads)
        return;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", run->own_pid, run->own_pid);
    const char *rest = read_small_file(path, text, sizeof text) > 0 ? text : "";
    for (pid_t child; parent->forks_unmet && (child = next_child(&rest));) {
        if (!find_thread(run->processes, child))
            (void)add_process(run, child, parent->pid); /* NULL: it has ended as well, and is counted */
    }
}

void forget_process(struct run *run, struct process *process)
{
    meet_orphans(run, process);
    run->header->unmet_forks += process->forks_unmet;
    while (process->threads)
        drop_thread(run->processes, process->threads);
    if (process->pidfd >= 0)
        close(process->pidfd);
    else
        run->processes->unwatched--;
    run->processes->alive--;
    free(process);
}

void remove_process_at(struct run *run, struct process *process, int status, bool told, uint64_t at_ns)
{
    append_event(run, &(struct wire_event){.mono_ns = at_ns, .process = process->number, .tid = (uint32_t)process->pid,
                                   .op = OP_EXIT, .arg = (uint32_t)status, .arg2 = told});
    forget_process(run, process);
}

void remove_process(struct run *run, struct process *process, int status, bool told)
{
    remove_process_at(run, process, status, told, now_ns(run));
}

/* Whether a process that no pidfd watches is still the one that we met. */
bool has_ended(const struct process *process)
{
    struct birth birth = {0};
    return !read_birth(process->pid, &birth) || birth.start_ticks != process->start_ticks;
}

void remove_unseen(struct run *run, struct process *process)
{
    count(&run->header->unseen_exits);
    if (process->asked == NOT_ASKED)
        forget_process(run, process); /* nothing is known, so nothing is told */
    else
        remove_process(run, process, process->asked << 8, false);
}

bool pidfd_has_ended(const struct process *process)
{
    struct pollfd end = {process->pidfd, POLLIN, 0};
    return process->pidfd >= 0 && poll(&end, 1, 0) == 1;
}

#define CLONE_THREAD_FLAG 0x00010000u
#define CLONE_FS_FLAG 0x00000200u
#define EVENTS_AT_ONCE 64
#define LOOK_AGAIN_MS 1000
#define MOST_DRAINS 3 /* a record may be half written when we look */

/* linux/pidfd.h of 6.15: how a process ended, also after its parent has taken note. */
struct pidfd_info {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
};
#define PIDFD_GET_INFO _IOWR(0xFF, 11, struct pidfd_info)
#define PIDFD_INFO_EXIT 8u

struct processes *start_processes(struct run *run)
{
    (void)run;
    struct processes *processes = calloc(1, sizeof *processes);
    if (!processes || pthread_mutex_init(&processes->lock, NULL) != 0)
        return NULL;
    processes->poll = epoll_create1(EPOLL_CLOEXEC);
    processes->next_number = 1;
    return processes->poll < 0 ? NULL : processes;
}

int processes_poll_fd(const struct run *run)
{
    return run->processes->poll;
}

/* Meets the children that a fork left behind without a stop of their own. */
static void meet_children(struct run *run, struct thread *maker)
{
    char path[96], text[16384];
    struct process *parent = maker->process;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent->pid, maker->tid);
    ssize_t got = read_small_file(path, text, sizeof text);
    const char *rest = got > 0 ? text : "";
    for (pid_t child; (child = next_child(&rest));) {
        if (!find_thread(run->processes, child))
            (void)add_process(run, child, parent->pid); /* NULL: gone in between, and counted below */
    }
    parent->forks_open -= maker->forks_open;
    maker->forks_open = 0;
    bool all_listed = got < (ssize_t)sizeof text - 1; /* else those behind are met at a call of their own */
    if (all_listed && parent->forks_unmet > parent->forks_open) {
        run->header->unmet_forks += parent->forks_unmet - parent->forks_open;
        parent->forks_unmet = parent->forks_open;
    }
}

/* A new stack: it succeeded. The same one, and who asked for it goes on: it failed. Other threads run until
 * it ends. */
static void settle_exec(struct run *run, struct process *process, pid_t tid)
{
    struct birth birth = {0};
    if (!read_birth(process->pid, &birth))
        return;
    bool hidden = !process->exec_stack || !birth.stack, same = birth.stack == process->exec_stack;
    if (same && tid != process->exec_tid)
        return;
    if (!hidden && (!same || stacks_are_random(process->pid)))
        amend_result(run, process->exec_at, same ? WIRE_RESULT_FAILED : 0);
    process->exec_at = UINT64_MAX;
}

/* --- what the stops tell --------------------------------------------------------------------------------- */

/* Whether the process has ended and somebody else has its number now. Its pidfd will tell how it ended. */
static bool is_another(struct processes *processes, struct process *process)
{
    if (process->forks_checked == processes->forks && !processes->told_by_probe)
        return false;
    process->forks_checked = processes->forks;
    if (!pidfd_has_ended(process))
        return false;
    while (process->threads)
        drop_thread(processes, process->threads);
    return true;
}

static struct thread *meet(struct run *run, pid_t tid)
{
    struct processes *processes = run->processes;
    struct thread *thread = find_thread(processes, tid);
    if (thread && is_another(processes, thread->process))
        thread = NULL;
    if (thread && thread->process->pidfd < 0 && has_ended(thread->process)) {
        remove_unseen(run, thread->process);
        thread = NULL;
    }
    if (thread)
        return thread;
    pid_t pid = thread_group(tid);
    if (pid == 0)
        return NULL;
    struct thread *leader = find_thread(processes, pid);
    struct process *process = leader ? leader->process : add_process(run, pid, 0);
    return !process ? NULL : pid == tid ? find_thread(processes, pid) : add_thread(processes, process, tid);
}

bool identify(struct stop *stop)
{
    struct run *run = stop->run;
    pthread_mutex_lock(&run->processes->lock);
    for (int i = 0; run->processes->told_by_probe && i < MOST_DRAINS && !find_thread(run->processes, stop->tid); i++) {
        pthread_mutex_unlock(&run->processes->lock);
        (void)drain_ring(run); /* its birth is in there, and perhaps that of its parents */
        pthread_mutex_lock(&run->processes->lock);
    }
    struct thread *thread = meet(run, stop->tid);
    if (thread) {
        struct process *process = thread->process;
        stop->pid = process->pid;
        stop->process = process->number;
        stop->single_threaded = !process->threads->sibling && !run->processes->cwd_shared;
        stop->other_root = process->other_root || atomic_load(&run->roots_differ);
        if (process->exec_at != UINT64_MAX)
            settle_exec(run, process, stop->tid);
        if (thread->forks_open)
            meet_children(run, thread);
    }
    pthread_mutex_unlock(&run->processes->lock);
    return thread != NULL;
}

void meet_command(struct run *run, pid_t pid)
{
    pthread_mutex_lock(&run->processes->lock);
    (void)meet(run, pid); /* it waits for us: it cannot be gone */
    pthread_mutex_unlock(&run->processes->lock);
}

void note_fork(struct stop *stop, uint64_t flags)
{
    if (flags & CLONE_THREAD_FLAG)
        return;
    pthread_mutex_lock(&stop->run->processes->lock);
    stop->run->processes->cwd_shared |= (flags & CLONE_FS_FLAG) != 0;
    stop->run->processes->forks++;
    struct thread *thread = find_thread(stop->run->processes, stop->tid);
    if (thread && !stop->run->processes->told_by_probe) /* it tells of every child; one that has ended is not to be met again */
        thread->process->forks_unmet++, thread->process->forks_open++, thread->forks_open++;
    pthread_mutex_unlock(&stop->run->processes->lock);
}

void note_exec(struct stop *stop, uint64_t event_at)
{
    struct birth birth = {0};
    (void)read_birth(stop->pid, &birth); /* without it the outcome stays unknown */
    pthread_mutex_lock(&stop->run->processes->lock);
    struct thread *thread = find_thread(stop->run->processes, stop->tid);
    if (thread) {
        struct process *process = thread->process;
        process->exec_at = stop->run->processes->told_by_probe ? UINT64_MAX : event_at; /* else it is told how it ended */
        process->exec_tid = stop->tid;
        process->exec_stack = birth.stack;
        /* If it succeeds, the other threads end and this one takes the leader's number. */
        for (struct thread *one = process->threads, *next; one; one = next) {
            next = one->sibling;
            if (one->tid != process->pid)
                drop_thread(stop->run->processes, one);
        }
    }
    pthread_mutex_unlock(&stop->run->processes->lock);
}

/* All that came of a process. */
static void mark_children(struct processes *processes, uint32_t parent)
{
    for (size_t bucket = 0; bucket < THREAD_BUCKETS; bucket++) {
        for (struct thread *thread = processes->buckets[bucket]; thread; thread = thread->next) {
            struct process *process = thread->process;
            if (process->parent == parent && !process->other_root) {
                process->other_root = true;
                mark_children(processes, process->number);
            }
        }
    }
}

void note_other_root(struct stop *stop, bool family)
{
    struct processes *processes = stop->run->processes;
    stop->other_root = true;
    pthread_mutex_lock(&processes->lock);
    struct thread *thread = find_thread(processes, stop->tid);
    processes->any_other_root = true;
    if (thread)
        thread->process->other_root = true;
    if (thread && family)
        mark_children(processes, thread->process->number);
    /* Who came of whom is known for certain only from the probe; a process that waits for us can be asked where it is. */
    if (!processes->told_by_probe || !thread || atomic_load(&stop->run->roots_shared))
        atomic_store(&stop->run->roots_differ, true);
    pthread_mutex_unlock(&processes->lock);
}

void note_exit_request(struct stop *stop, int code)
{
    pthread_mutex_lock(&stop->run->processes->lock);
    struct thread *thread = find_thread(stop->run->processes, stop->tid);
    if (thread)
        thread->process->asked = code & 0xff;
    pthread_mutex_unlock(&stop->run->processes->lock);
}

void note_thread_end(struct stop *stop)
{
    pthread_mutex_lock(&stop->run->processes->lock);
    struct thread *thread = find_thread(stop->run->processes, stop->tid);
    if (thread && thread->tid != thread->process->pid)
        drop_thread(stop->run->processes, thread);
    pthread_mutex_unlock(&stop->run->processes->lock);
}

/* --- ends ------------------------------------------------------------------------------------------------ */

void note_reaped(struct run *run, pid_t pid, int wait_status)
{
    pthread_mutex_lock(&run->processes->lock);
    struct thread *thread = find_thread(run->processes, pid);
    if (thread && run->processes->told_by_probe) { /* calls of it may still be in the ring */
        thread->process->reaped = thread->process->pid == pid && pidfd_has_ended(thread->process);
        thread->process->status = wait_status;
        thread = NULL;
    }
    /* Reaped, its number may be another's by now; then its pidfd tells. */
    if (thread && thread->process->pid == pid && (thread->process->pidfd < 0 || pidfd_has_ended(thread->process)))
        remove_process(run, thread->process, wait_status, true);
    pthread_mutex_unlock(&run->processes->lock);
}

/* A process has ended. Its status is final once its parent took note, or as long as it is a zombie. */
static void end_process(struct run *run, struct process *process, bool reaped_by_parent)
{
    struct pidfd_info info = {.mask = PIDFD_INFO_EXIT};
    struct birth birth = {0};
    meet_orphans(run, process);
    if (reaped_by_parent && ioctl(process->pidfd, PIDFD_GET_INFO, &info) == 0 && info.mask & PIDFD_INFO_EXIT) {
        run->header->features |= FEATURE_EXIT_INFO;
        remove_process(run, process, info.exit_code, true);
    } else if (!reaped_by_parent && read_birth(process->pid, &birth) && birth.state == 'Z' && birth.parent != run->own_pid) {
        process->reaped = true; /* told again, and for good, when the parent takes note */
        process->status = birth.exit_code;
    } else if (reaped_by_parent && process->reaped) {
        remove_process(run, process, process->status, true);
    } else if (reaped_by_parent) {
        remove_unseen(run, process);
    }
}

void collect_exits(struct run *run)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int count_ready = epoll_wait(run->processes->poll, events, EVENTS_AT_ONCE, 0);
    pthread_mutex_lock(&run->processes->lock);
    for (int i = 0; i < count_ready; i++)
        end_process(run, events[i].data.ptr, events[i].events & EPOLLHUP);
    pthread_mutex_unlock(&run->processes->lock);
}

static struct process *next_survivor(struct run *run, size_t bucket, struct thread *after)
{
    struct thread *thread = after ? after->next : run->processes->buckets[bucket];
    while (thread && thread->tid != thread->process->pid)
        thread = thread->next;
    return thread ? thread->process : NULL;
}

uint32_t log_survivors(struct run *run, bool tell)
{
    uint32_t alive = 0;
    pthread_mutex_lock(&run->processes->lock);
    for (size_t bucket = 0; bucket < THREAD_BUCKETS && run->processes->alive; bucket++) {
        struct thread *last = NULL;
        for (struct process *process; (process = next_survivor(run, bucket, last));) {
            if (process->reaped && (tell || !run->processes->told_by_probe)) { /* a zombie: nobody will take note of it in time */
                remove_process(run, process, process->status, true);
                continue;
            }
            bool told = run->processes->told_by_probe, ended = (process->pidfd < 0 || told) && has_ended(process);
            if (ended && (tell || !told || process->waited_for++ == MOST_DRAINS)) {
                remove_unseen(run, process);
                continue;
            }
            alive++; /* or its end is still in the ring */
            last = find_thread(run->processes, process->pid);
            if (tell)
                append_event(run, &(struct wire_event){.mono_ns = now_ns(run), .process = process->number,
                                               .tid = (uint32_t)process->pid, .op = OP_OUTLIVED,
                                               .result = WIRE_RESULT_UNKNOWN, .arg = (uint32_t)process->pid});
        }
    }
    pthread_mutex_unlock(&run->processes->lock);
    return alive;
}

int processes_timeout(struct run *run)
{
    pthread_mutex_lock(&run->processes->lock);
    bool all_watched = !run->processes->unwatched;
    pthread_mutex_unlock(&run->processes->lock);
    return all_watched ? -1 : LOOK_AGAIN_MS;
}

bool is_of_the_run(struct run *run, pid_t tid)
{
    pthread_mutex_lock(&run->processes->lock);
    bool found = find_thread(run->processes, tid) != NULL;
    pthread_mutex_unlock(&run->processes->lock);
    return found;
}

bool any_process(struct run *run, bool (*question)(pid_t pid, void *context), void *context)
{
    bool found = false;
    pthread_mutex_lock(&run->processes->lock);
    for (size_t bucket = 0; bucket < THREAD_BUCKETS && run->processes->alive && !found; bucket++) {
        struct thread *last = NULL;
        for (struct process *process; !found && (process = next_survivor(run, bucket, last));) {
            found = question(process->pid, context);
            last = find_thread(run->processes, process->pid);
        }
    }
    pthread_mutex_unlock(&run->processes->lock);
    return found;
}

/* The processes of the run as the probe tells of them: births, calls and ends come in the order in which they
 * happened. */
/* The process of a record: known, or one whose birth we missed. */
static struct process *process_of(struct run *run, pid_t pid, uint64_t start_ns, uint64_t at_ns)
{
    struct birth birth = {.start_ticks = start_ticks(run, start_ns)};
    struct thread *leader = find_thread(run->processes, pid);
    if (leader && leader->process->pid == pid && leader->process->start_ticks == birth.start_ticks)
        return leader->process;
    if (leader) /* its number is another's now, and its end was lost */
        remove_unseen(run, leader->process);
    return add_born(run, pid, 0, &birth, at_ns);
}

static struct thread *thread_of(struct run *run, struct process *process, pid_t tid)
{
    struct thread *thread = find_thread(run->processes, tid);
    if (thread && thread->process == process)
        return thread;
    if (thread && thread->tid == thread->process->pid)
        remove_unseen(run, thread->process);
    else if (thread)
        drop_thread(run->processes, thread);
    return add_thread(run->processes, process, tid);
}

bool identify_seen(struct stop *stop, uint64_t start_ns, uint64_t at_ns)
{
    struct run *run = stop->run;
    pthread_mutex_lock(&run->processes->lock);
    struct process *process = process_of(run, stop->pid, start_ns, at_ns);
    struct thread *thread = process ? thread_of(run, process, stop->tid) : NULL;
    if (thread) {
        stop->process = process->number;
        stop->other_root = process->other_root || atomic_load(&run->roots_differ);
    }
    pthread_mutex_unlock(&run->processes->lock);
    return thread != NULL;
}

void note_birth(struct run *run, pid_t maker, pid_t tid, pid_t pid, uint64_t start_ns, uint64_t at_ns)
{
    struct birth birth = {.start_ticks = start_ticks(run, start_ns)};
    pthread_mutex_lock(&run->processes->lock);
    struct thread *found = find_thread(run->processes, tid);
    if (tid != pid) {
        struct thread *leader = find_thread(run->processes, pid);
        if (leader)
            (void)thread_of(run, leader->process, tid); /* NULL: it is met again at its first call */
    } else if (!found || found->process->start_ticks != birth.start_ticks) {
        if (found)
            remove_unseen(run, found->process);
        (void)add_born(run, pid, maker, &birth, at_ns); /* likewise */
    }
    pthread_mutex_unlock(&run->processes->lock);
}

void note_end(struct run *run, pid_t pid, pid_t tid, uint64_t start_ns, bool last, int wait_status, uint64_t at_ns)
{
    pthread_mutex_lock(&run->processes->lock);
    struct thread *leader = find_thread(run->processes, pid), *thread = find_thread(run->processes, tid);
    bool ours = leader && leader->process->pid == pid && leader->process->start_ticks == start_ticks(run, start_ns);
    if (ours && last)
        remove_process_at(run, leader->process, wait_status, true, at_ns);
    else if (ours && thread && thread->process == leader->process && tid != pid)
        drop_thread(run->processes, thread);
    pthread_mutex_unlock(&run->processes->lock);
}

void let_probe_tell(struct run *run)
{
    run->processes->told_by_probe = true;
}
