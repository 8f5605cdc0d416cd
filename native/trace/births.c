/* The processes of the run as the probe tells of them: births, calls and ends come in the order in which they happened. */
#include "tracees.h"

/* The process of a record: known, or one whose birth we missed. */
static struct process *process_of(struct run *run, pid_t pid, uint64_t start_ns, uint64_t at_ns)
{
    struct birth birth = {.start_ticks = start_ticks(run, start_ns)};
    struct thread *leader = find_thread(run->tracees, pid);
    if (leader && leader->process->pid == pid && leader->process->start_ticks == birth.start_ticks)
        return leader->process;
    if (leader) /* its number is another's now, and its end was lost */
        remove_unseen(run, leader->process);
    return add_born(run, pid, 0, &birth, at_ns);
}

static struct thread *thread_of(struct run *run, struct process *process, pid_t tid)
{
    struct thread *thread = find_thread(run->tracees, tid);
    if (thread && thread->process == process)
        return thread;
    if (thread && thread->tid == thread->process->pid)
        remove_unseen(run, thread->process);
    else if (thread)
        drop_thread(run->tracees, thread);
    return add_thread(run->tracees, process, tid);
}

bool identify_seen(struct stop *stop, uint64_t start_ns, uint64_t at_ns)
{
    struct run *run = stop->run;
    pthread_mutex_lock(&run->tracees->lock);
    struct process *process = process_of(run, stop->pid, start_ns, at_ns);
    struct thread *thread = process ? thread_of(run, process, stop->tid) : NULL;
    if (thread) {
        stop->process = process->number;
        stop->other_root = process->other_root || atomic_load(&run->roots_differ);
    }
    pthread_mutex_unlock(&run->tracees->lock);
    return thread != NULL;
}

void note_birth(struct run *run, pid_t maker, pid_t tid, pid_t pid, uint64_t start_ns, uint64_t at_ns)
{
    struct birth birth = {.start_ticks = start_ticks(run, start_ns)};
    pthread_mutex_lock(&run->tracees->lock);
    struct thread *found = find_thread(run->tracees, tid);
    if (tid != pid) {
        struct thread *leader = find_thread(run->tracees, pid);
        if (leader)
            (void)thread_of(run, leader->process, tid); /* NULL: it is met again at its first call */
    } else if (!found || found->process->start_ticks != birth.start_ticks) {
        if (found)
            remove_unseen(run, found->process);
        (void)add_born(run, pid, maker, &birth, at_ns); /* likewise */
    }
    pthread_mutex_unlock(&run->tracees->lock);
}

void note_end(struct run *run, pid_t pid, pid_t tid, uint64_t start_ns, bool last, int wait_status, uint64_t at_ns)
{
    pthread_mutex_lock(&run->tracees->lock);
    struct thread *leader = find_thread(run->tracees, pid), *thread = find_thread(run->tracees, tid);
    bool ours = leader && leader->process->pid == pid && leader->process->start_ticks == start_ticks(run, start_ns);
    if (ours && last)
        remove_process_at(run, leader->process, wait_status, true, at_ns);
    else if (ours && thread && thread->process == leader->process && tid != pid)
        drop_thread(run->tracees, thread);
    pthread_mutex_unlock(&run->tracees->lock);
}

void let_probe_tell(struct run *run)
{
    run->tracees->told_by_probe = true;
}
