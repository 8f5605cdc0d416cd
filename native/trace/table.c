/* The table of processes: who is in it, found by thread, and what is told when one comes or goes. The lock is held. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracees.h"

#define RESERVED_DESCRIPTORS 128

static struct thread **bucket_of(struct tracees *tracees, pid_t tid)
{
    return &tracees->buckets[(uint32_t)tid % BUCKETS];
}

struct thread *find_thread(struct tracees *tracees, pid_t tid)
{
    struct thread *thread = *bucket_of(tracees, tid);
    while (thread && thread->tid != tid)
        thread = thread->next;
    return thread;
}

struct thread *add_thread(struct tracees *tracees, struct process *process, pid_t tid)
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

void drop_thread(struct tracees *tracees, struct thread *gone)
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
    bool watched = tracees->told_by_probe || epoll_ctl(tracees->poll, EPOLL_CTL_ADD, process->pidfd, &event) == 0;
    if (process->pidfd >= 0 && (process->pidfd > tracees->most_watched || !watched)) {
        close(process->pidfd);
        process->pidfd = -1;
    }
    tracees->unwatched += process->pidfd < 0;
}

struct process *add_born(struct run *run, pid_t pid, pid_t parent, const struct birth *birth, uint64_t at_ns)
{
    struct tracees *tracees = run->tracees;
    struct process *process = calloc(1, sizeof *process);
    if (!process)
        return NULL;
    *process = (struct process){.pid = pid, .number = tracees->next_number, .asked = NOT_ASKED, .exec_at = UINT64_MAX,
                                .start_ticks = birth->start_ticks};
    if (!add_thread(tracees, process, pid)) {
        free(process);
        return NULL;
    }
    tracees->next_number++;
    tracees->alive++;
    watch_end(tracees, process);
    struct thread *maker = find_thread(tracees, parent ? parent : birth->parent);
    if (maker && maker->process->forks_unmet)
        maker->process->forks_unmet--;
    else if (!maker && process->number > 1)
        count(&run->header->unknown_parents);
    uint64_t parent_number = maker ? maker->process->number : 0;
    process->parent = (uint32_t)parent_number;
    process->other_root = maker ? maker->process->other_root : tracees->any_other_root;
    emit(run, &(struct wire_event){.mono_ns = at_ns, .process = process->number, .tid = (uint32_t)pid,
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
        if (!find_thread(run->tracees, child))
            (void)add_process(run, child, parent->pid); /* NULL: it has ended as well, and is counted */
    }
}

void forget_process(struct run *run, struct process *process)
{
    meet_orphans(run, process);
    run->header->unmet_forks += process->forks_unmet;
    while (process->threads)
        drop_thread(run->tracees, process->threads);
    if (process->pidfd >= 0)
        close(process->pidfd);
    else
        run->tracees->unwatched--;
    run->tracees->alive--;
    free(process);
}

void remove_process_at(struct run *run, struct process *process, int status, bool told, uint64_t at_ns)
{
    emit(run, &(struct wire_event){.mono_ns = at_ns, .process = process->number, .tid = (uint32_t)process->pid,
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
