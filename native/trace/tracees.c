/* The processes of the run: who is who, who made whom, and how each ended.
 *
 * Everything is learned from the kernel: a thread is met at its first stop, a process is keyed by pid and start time,
 * its end is told by its pidfd. The table holds living processes only.
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

#include "trace.h"

#define BUCKETS (1u << 16)
#define CLONE_THREAD_FLAG 0x00010000u
#define CLONE_FS_FLAG 0x00000200u
#define EVENTS_AT_ONCE 64
#define NOT_ASKED (-1)
#define RESERVED_DESCRIPTORS 128
#define LOOK_AGAIN_MS 1000

/* linux/pidfd.h of 6.15: how a process ended, also after its parent has taken note. */
struct pidfd_info {
    uint64_t mask, cgroup;
    uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    int32_t exit_code;
};
#define PIDFD_GET_INFO _IOWR(0xFF, 11, struct pidfd_info)
#define PIDFD_INFO_EXIT 8u

struct process {
    pid_t pid;
    uint32_t number;
    int pidfd;                 /* -1: its end must be looked for */
    uint64_t start_ticks;
    int asked;                 /* what it gave exit_group, or NOT_ASKED */
    bool reaped;               /* `status` is known */
    int status;
    uint32_t forks_unmet;      /* forks whose child we have not met */
    uint32_t forks_open;       /* forks of threads that have not come back since */
    uint64_t exec_at;          /* event of an exec whose outcome is open, or UINT64_MAX */
    uint64_t exec_stack;       /* where its stack began then */
    pid_t exec_tid;            /* who asked for it */
    uint32_t forks_checked;    /* it was alive when the run had forked so often */
    struct thread *threads;
};

struct thread {
    pid_t tid;
    struct process *process;
    struct thread *next;       /* in its bucket */
    struct thread *sibling;
    uint32_t forks_open;
};

struct tracees {
    pthread_mutex_t lock;
    struct thread *buckets[BUCKETS];
    int poll;
    uint32_t next_number;
    bool cwd_shared;           /* by two processes, somewhere */
    uint32_t forks;            /* since each of these a number may stand for another process */
    uint32_t alive, unwatched; /* of these, processes without a pidfd */
    int most_watched;          /* descriptors above this one are for looking at files */
};

struct tracees *start_tracees(struct run *run)
{
    (void)run;
    struct tracees *tracees = calloc(1, sizeof *tracees);
    if (!tracees || pthread_mutex_init(&tracees->lock, NULL) != 0)
        return NULL;
    tracees->poll = epoll_create1(EPOLL_CLOEXEC);
    tracees->next_number = 1;
    return tracees->poll < 0 ? NULL : tracees;
}

int tracees_poll_fd(const struct run *run)
{
    return run->tracees->poll;
}

/* --- the table; the lock is held ------------------------------------------------------------------------- */

static struct thread **bucket_of(struct tracees *tracees, pid_t tid)
{
    return &tracees->buckets[(uint32_t)tid % BUCKETS];
}

static struct thread *find_thread(struct tracees *tracees, pid_t tid)
{
    struct thread *thread = *bucket_of(tracees, tid);
    while (thread && thread->tid != tid)
        thread = thread->next;
    return thread;
}

static struct thread *add_thread(struct tracees *tracees, struct process *process, pid_t tid)
{
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    struct thread **bucket = bucket_of(tracees, tid);
    *thread = (struct thread){tid, process, *bucket, process->threads, 0};
    *bucket = thread;
    process->threads = thread;
    return thread;
}

static void drop_thread(struct tracees *tracees, struct thread *gone)
{
    struct thread **link = bucket_of(tracees, gone->tid);
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

static void watch_end(struct tracees *tracees, struct process *process)
{
    if (!tracees->most_watched)
        tracees->most_watched = descriptors_to_spend();
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = process};
    process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->pidfd >= 0 && (process->pidfd > tracees->most_watched ||
                                epoll_ctl(tracees->poll, EPOLL_CTL_ADD, process->pidfd, &event) != 0)) {
        close(process->pidfd);
        process->pidfd = -1;
    }
    tracees->unwatched += process->pidfd < 0;
}

static struct process *add_process(struct run *run, pid_t pid, pid_t parent)
{
    struct tracees *tracees = run->tracees;
    struct birth birth = {0};
    struct process *process = calloc(1, sizeof *process);
    if (!process || !read_birth(pid, &birth)) {
        free(process);
        return NULL;
    }
    *process = (struct process){.pid = pid, .number = tracees->next_number, .asked = NOT_ASKED, .exec_at = UINT64_MAX,
                                .start_ticks = birth.start_ticks};
    if (!add_thread(tracees, process, pid)) {
        free(process);
        return NULL;
    }
    tracees->next_number++;
    tracees->alive++;
    watch_end(tracees, process);
    struct thread *maker = find_thread(tracees, parent ? parent : birth.parent);
    if (maker && maker->process->forks_unmet)
        maker->process->forks_unmet--;
    else if (!maker && process->number > 1)
        count(&run->header->unknown_parents);
    uint64_t parent_number = maker ? maker->process->number : 0;
    emit(run, &(struct wire_event){.mono_ns = now_ns(run), .process = process->number, .tid = (uint32_t)pid,
                                   .op = OP_PROCESS, .arg = (uint32_t)pid | parent_number << 32,
                                   .arg2 = birth.start_ticks});
    return process;
}

static void forget_process(struct run *run, struct process *process)
{
    while (process->threads)
        drop_thread(run->tracees, process->threads);
    if (process->pidfd >= 0)
        close(process->pidfd);
    else
        run->tracees->unwatched--;
    run->tracees->alive--;
    free(process);
}

static void remove_process(struct run *run, struct process *process, int status, bool told)
{
    emit(run, &(struct wire_event){.mono_ns = now_ns(run), .process = process->number, .tid = (uint32_t)process->pid,
                                   .op = OP_EXIT, .arg = (uint32_t)status, .arg2 = told});
    forget_process(run, process);
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
        if (!find_thread(run->tracees, child))
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

/* A new stack: it succeeded. The same one, and who asked for it goes on: it failed. Other threads run until it ends. */
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

/* Whether a process that no pidfd watches is still the one that we met. */
static bool has_ended(const struct process *process)
{
    struct birth birth = {0};
    return !read_birth(process->pid, &birth) || birth.start_ticks != process->start_ticks;
}

static void remove_unseen(struct run *run, struct process *process)
{
    count(&run->header->unseen_exits);
    if (process->asked == NOT_ASKED)
        forget_process(run, process); /* nothing is known, so nothing is told */
    else
        remove_process(run, process, process->asked << 8, false);
}

/* --- what the stops tell --------------------------------------------------------------------------------- */

static bool pidfd_has_ended(const struct process *process)
{
    struct pollfd end = {process->pidfd, POLLIN, 0};
    return process->pidfd >= 0 && poll(&end, 1, 0) == 1;
}

/* Whether the process has ended and somebody else has its number now. Its pidfd will tell how it ended. */
static bool is_another(struct tracees *tracees, struct process *process)
{
    if (process->forks_checked == tracees->forks)
        return false;
    process->forks_checked = tracees->forks;
    if (!pidfd_has_ended(process))
        return false;
    while (process->threads)
        drop_thread(tracees, process->threads);
    return true;
}

static struct thread *meet(struct run *run, pid_t tid)
{
    struct tracees *tracees = run->tracees;
    struct thread *thread = find_thread(tracees, tid);
    if (thread && is_another(tracees, thread->process))
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
    struct thread *leader = find_thread(tracees, pid);
    struct process *process = leader ? leader->process : add_process(run, pid, 0);
    return !process ? NULL : pid == tid ? find_thread(tracees, pid) : add_thread(tracees, process, tid);
}

bool identify(struct stop *stop)
{
    struct run *run = stop->run;
    pthread_mutex_lock(&run->tracees->lock);
    struct thread *thread = meet(run, stop->tid);
    if (thread) {
        struct process *process = thread->process;
        stop->pid = process->pid;
        stop->process = process->number;
        stop->alone = !process->threads->sibling && !run->tracees->cwd_shared;
        if (process->exec_at != UINT64_MAX)
            settle_exec(run, process, stop->tid);
        if (thread->forks_open)
            meet_children(run, thread);
    }
    pthread_mutex_unlock(&run->tracees->lock);
    return thread != NULL;
}

void meet_command(struct run *run, pid_t pid)
{
    pthread_mutex_lock(&run->tracees->lock);
    (void)meet(run, pid); /* it waits for us: it cannot be gone */
    pthread_mutex_unlock(&run->tracees->lock);
}

void note_fork(struct stop *stop, uint64_t flags)
{
    if (flags & CLONE_THREAD_FLAG)
        return;
    pthread_mutex_lock(&stop->run->tracees->lock);
    stop->run->tracees->cwd_shared |= (flags & CLONE_FS_FLAG) != 0;
    stop->run->tracees->forks++;
    struct thread *thread = find_thread(stop->run->tracees, stop->tid);
    if (thread)
        thread->process->forks_unmet++, thread->process->forks_open++, thread->forks_open++;
    pthread_mutex_unlock(&stop->run->tracees->lock);
}

void note_exec(struct stop *stop, uint64_t event_at)
{
    struct birth birth = {0};
    (void)read_birth(stop->pid, &birth); /* without it the outcome stays unknown */
    pthread_mutex_lock(&stop->run->tracees->lock);
    struct thread *thread = find_thread(stop->run->tracees, stop->tid);
    if (thread) {
        struct process *process = thread->process;
        process->exec_at = event_at;
        process->exec_tid = stop->tid;
        process->exec_stack = birth.stack;
        /* If it succeeds, the other threads end and this one takes the leader's number. */
        for (struct thread *one = process->threads, *next; one; one = next) {
            next = one->sibling;
            if (one->tid != process->pid)
                drop_thread(stop->run->tracees, one);
        }
    }
    pthread_mutex_unlock(&stop->run->tracees->lock);
}

void note_exit_request(struct stop *stop, int code)
{
    pthread_mutex_lock(&stop->run->tracees->lock);
    struct thread *thread = find_thread(stop->run->tracees, stop->tid);
    if (thread)
        thread->process->asked = code & 0xff;
    pthread_mutex_unlock(&stop->run->tracees->lock);
}

void note_thread_end(struct stop *stop)
{
    pthread_mutex_lock(&stop->run->tracees->lock);
    struct thread *thread = find_thread(stop->run->tracees, stop->tid);
    if (thread && thread->tid != thread->process->pid)
        drop_thread(stop->run->tracees, thread);
    pthread_mutex_unlock(&stop->run->tracees->lock);
}

/* --- ends ------------------------------------------------------------------------------------------------ */

void note_reaped(struct run *run, pid_t pid, int wait_status)
{
    pthread_mutex_lock(&run->tracees->lock);
    struct thread *thread = find_thread(run->tracees, pid);
    /* Reaped, its number may be another's by now; then its pidfd tells. */
    if (thread && thread->process->pid == pid && (thread->process->pidfd < 0 || pidfd_has_ended(thread->process)))
        remove_process(run, thread->process, wait_status, true);
    pthread_mutex_unlock(&run->tracees->lock);
}

/* A process has ended. Its status is final once its parent took note, or as long as it is a zombie. */
static void end_process(struct run *run, struct process *process, bool reaped_by_parent)
{
    struct pidfd_info info = {.mask = PIDFD_INFO_EXIT};
    struct birth birth = {0};
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
    int count_ready = epoll_wait(run->tracees->poll, events, EVENTS_AT_ONCE, 0);
    pthread_mutex_lock(&run->tracees->lock);
    for (int i = 0; i < count_ready; i++)
        end_process(run, events[i].data.ptr, events[i].events & EPOLLHUP);
    pthread_mutex_unlock(&run->tracees->lock);
}

static struct process *next_survivor(struct run *run, size_t bucket, struct thread *after)
{
    struct thread *thread = after ? after->next : run->tracees->buckets[bucket];
    while (thread && thread->tid != thread->process->pid)
        thread = thread->next;
    return thread ? thread->process : NULL;
}

uint32_t tell_survivors(struct run *run, bool tell)
{
    uint32_t alive = 0;
    pthread_mutex_lock(&run->tracees->lock);
    for (size_t bucket = 0; bucket < BUCKETS && run->tracees->alive; bucket++) {
        struct thread *last = NULL;
        for (struct process *process; (process = next_survivor(run, bucket, last));) {
            if (process->reaped) { /* a zombie: nobody will take note of it in time */
                remove_process(run, process, process->status, true);
                continue;
            }
            if (process->pidfd < 0 && has_ended(process)) {
                remove_unseen(run, process);
                continue;
            }
            alive++;
            last = find_thread(run->tracees, process->pid);
            if (tell)
                emit(run, &(struct wire_event){.mono_ns = now_ns(run), .process = process->number,
                                               .tid = (uint32_t)process->pid, .op = OP_OUTLIVED,
                                               .result = WIRE_RESULT_UNKNOWN, .arg = (uint32_t)process->pid});
        }
    }
    pthread_mutex_unlock(&run->tracees->lock);
    return alive;
}

int tracees_patience(struct run *run)
{
    pthread_mutex_lock(&run->tracees->lock);
    bool all_watched = !run->tracees->unwatched;
    pthread_mutex_unlock(&run->tracees->lock);
    return all_watched ? -1 : LOOK_AGAIN_MS;
}

bool any_process(struct run *run, bool (*question)(pid_t pid, void *context), void *context)
{
    bool found = false;
    pthread_mutex_lock(&run->tracees->lock);
    for (size_t bucket = 0; bucket < BUCKETS && run->tracees->alive && !found; bucket++) {
        struct thread *last = NULL;
        for (struct process *process; !found && (process = next_survivor(run, bucket, last));) {
            found = question(process->pid, context);
            last = find_thread(run->tracees, process->pid);
        }
    }
    pthread_mutex_unlock(&run->tracees->lock);
    return found;
}
