/* The processes of the run: who is who, who made whom, and how each ended.
 *
 * Everything is learned from the kernel: a thread is met at its first stop, a process is keyed by pid and start time,
 * its end is told by its pidfd. The table holds living processes only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace.h"

#define BUCKETS (1u << 16)
#define CLONE_THREAD_FLAG 0x00010000u
#define EVENTS_AT_ONCE 64
#define NOT_ASKED (-1)

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
    int pidfd;
    int asked;                 /* what it gave exit_group, or NOT_ASKED */
    bool reaped;               /* `status` is known */
    int status;
    uint32_t forks_unmet;      /* forks whose child we have not met */
    uint64_t exec_at;          /* event of an exec whose outcome is open, or UINT64_MAX */
    uint64_t exec_stack;       /* where its stack began then */
    struct thread *threads;
};

struct thread {
    pid_t tid;
    struct process *process;
    struct thread *next;       /* in its bucket */
    struct thread *sibling;
};

struct tracees {
    pthread_mutex_t lock;
    struct thread *buckets[BUCKETS];
    int poll;
    uint32_t next_number;
    uint32_t alive;
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

/* --- what /proc tells ------------------------------------------------------------------------------------ */

struct birth {
    pid_t parent;
    uint64_t start_ticks;
    uint64_t stack;
    int exit_code;
    char state;
};

static ssize_t read_small_file(const char *path, char *into, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t got = read(fd, into, size - 1);
    close(fd);
    into[got < 0 ? 0 : got] = 0;
    return got;
}

/* Fields by their numbers in proc(5); the name before them may hold anything, so they count from its end. */
static bool read_birth(pid_t pid, struct birth *birth)
{
    enum { STATE = 3, PARENT = 4, START = 22, STACK = 28, EXIT_CODE = 52 };
    char path[64], text[2048], *rest = NULL;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (read_small_file(path, text, sizeof text) <= 0)
        return false;
    char *name_end = strrchr(text, ')');
    if (!name_end)
        return false;
    int field = STATE;
    for (char *word = strtok_r(name_end + 1, " ", &rest); word; word = strtok_r(NULL, " ", &rest), field++) {
        if (field == STATE)
            birth->state = word[0];
        else if (field == PARENT)
            birth->parent = (pid_t)strtol(word, NULL, 10);
        else if (field == START)
            birth->start_ticks = strtoull(word, NULL, 10);
        else if (field == STACK)
            birth->stack = strtoull(word, NULL, 10);
        else if (field == EXIT_CODE)
            birth->exit_code = (int)strtol(word, NULL, 10);
    }
    return field > START;
}

static pid_t thread_group(pid_t tid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", tid);
    if (read_small_file(path, text, sizeof text) <= 0)
        return 0;
    const char *line = strstr(text, "\nTgid:");
    return line ? (pid_t)strtol(line + 6, NULL, 10) : 0;
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
    *thread = (struct thread){tid, process, *bucket, process->threads};
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
    free(gone);
}

static void watch_end(struct tracees *tracees, struct process *process)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = process};
    process->pidfd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (process->pidfd >= 0 && epoll_ctl(tracees->poll, EPOLL_CTL_ADD, process->pidfd, &event) != 0) {
        close(process->pidfd);
        process->pidfd = -1;
    }
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
    *process = (struct process){.pid = pid, .number = tracees->next_number, .asked = NOT_ASKED, .exec_at = UINT64_MAX};
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

static void remove_process(struct run *run, struct process *process, int status, bool told)
{
    emit(run, &(struct wire_event){.mono_ns = now_ns(run), .process = process->number, .tid = (uint32_t)process->pid,
                                   .op = OP_EXIT, .arg = (uint32_t)status, .arg2 = told});
    while (process->threads)
        drop_thread(run->tracees, process->threads);
    if (process->pidfd >= 0)
        close(process->pidfd);
    run->tracees->alive--;
    free(process);
}

/* Meets the children that a fork left behind without a stop of their own. */
static void meet_children(struct run *run, struct process *parent, pid_t tid)
{
    char path[96], text[16384];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent->pid, tid);
    parent->forks_unmet = 0;
    if (read_small_file(path, text, sizeof text) <= 0)
        return;
    char *rest = text;
    for (char *end; *rest; rest = end) {
        pid_t child = (pid_t)strtol(rest, &end, 10);
        if (end == rest)
            return;
        if (!find_thread(run->tracees, child))
            (void)add_process(run, child, parent->pid); /* gone in between: its end is the parent's to know */
    }
}

static void settle_exec(struct run *run, struct process *process)
{
    struct birth birth = {0};
    if (!read_birth(process->pid, &birth))
        return;
    if (process->exec_stack && birth.stack) /* both 0: the kernel hides it from us */
        amend_result(run, process->exec_at, birth.stack != process->exec_stack ? 0 : WIRE_RESULT_FAILED);
    process->exec_at = UINT64_MAX;
}

/* --- what the stops tell --------------------------------------------------------------------------------- */

static struct process *meet(struct run *run, pid_t tid)
{
    struct tracees *tracees = run->tracees;
    struct thread *thread = find_thread(tracees, tid);
    if (thread)
        return thread->process;
    pid_t pid = thread_group(tid);
    if (pid == 0)
        return NULL;
    if (pid == tid)
        return add_process(run, pid, 0);
    struct thread *leader = find_thread(tracees, pid);
    struct process *process = leader ? leader->process : add_process(run, pid, 0);
    return process && add_thread(tracees, process, tid) ? process : NULL;
}

bool identify(struct stop *stop)
{
    struct run *run = stop->run;
    pthread_mutex_lock(&run->tracees->lock);
    struct process *process = meet(run, stop->tid);
    if (process) {
        stop->pid = process->pid;
        stop->process = process->number;
        if (process->exec_at != UINT64_MAX)
            settle_exec(run, process);
        if (process->forks_unmet)
            meet_children(run, process, stop->tid);
    }
    pthread_mutex_unlock(&run->tracees->lock);
    return process != NULL;
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
    struct thread *thread = find_thread(stop->run->tracees, stop->tid);
    if (thread)
        thread->process->forks_unmet++;
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
    if (thread && thread->process->pid == pid)
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
        count(&run->header->unseen_exits);
        remove_process(run, process, process->asked == NOT_ASKED ? 0 : process->asked << 8, false);
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
