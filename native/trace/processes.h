/* The processes of the run. What is below the table wants its lock to be held. */
#ifndef STENO_PROCESSES_H
#define STENO_PROCESSES_H

#include "trace.h"

struct processes *start_processes(struct run *run);
/* Finds the process of a thread, or meets it for the first time. False: it is gone already. */
bool identify(struct stop *stop);
/* Reads the first process before it runs. */
void meet_command(struct run *run, pid_t pid);
void note_fork(struct stop *stop, uint64_t flags);
void note_exec(struct stop *stop, uint64_t event_at);
/* The caller, and what it makes from now on, may see another root or other mounts; `family`: what it made
 * already, too. */
void note_other_root(struct stop *stop, bool family);
void note_exit_request(struct stop *stop, int code);
void note_thread_end(struct stop *stop);
void note_reaped(struct run *run, pid_t pid, int wait_status);
/* The same, told by the probe. */
void let_probe_tell(struct run *run);
bool identify_seen(struct stop *stop, uint64_t start_ns, uint64_t at_ns);
void note_birth(struct run *run, pid_t maker, pid_t tid, pid_t pid, uint64_t start_ns, uint64_t at_ns);
void note_end(struct run *run, pid_t pid, pid_t tid, uint64_t start_ns, bool last, int wait_status, uint64_t at_ns);
int processes_poll_fd(const struct run *run);
/* Learns of ends that the kernel tells through pidfds. */
void collect_exits(struct run *run);
/* How many processes are alive; their `outlived` events when `tell`. */
uint32_t log_survivors(struct run *run, bool tell);
/* For how many milliseconds nothing needs to be looked for; -1: the kernel will tell. */
int processes_timeout(struct run *run);
/* Whether it is a process or thread of the run that has not ended, as far as was told. */
bool is_of_the_run(struct run *run, pid_t tid);
/* Whether the question is true of a living process. */
bool any_process(struct run *run, bool (*question)(pid_t pid, void *context), void *context);

/* --- the table --- */

#define THREAD_BUCKETS (1u << 16)
#define NOT_ASKED (-1)

struct process {
    pid_t pid;
    uint32_t number, parent;
    bool other_root;           /* it, or one it came of, may have changed its root or its mounts */
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
    int waited_for;            /* how often its end was looked for in the ring */
    struct thread *threads;
};

struct thread {
    pid_t tid;
    struct process *process;
    struct thread *next;       /* in its bucket */
    struct thread *sibling;
    uint32_t forks_open;
};

struct processes {
    pthread_mutex_t lock;
    struct thread *buckets[THREAD_BUCKETS];
    int poll;
    uint32_t next_number;
    bool cwd_shared;           /* by two processes, somewhere */
    bool any_other_root;       /* some process may see another root */
    uint32_t forks;            /* since each of these a number may stand for another process */
    uint32_t alive, unwatched; /* of these, processes without a pidfd */
    bool told_by_probe;        /* births and ends come through the ring, in the order of the calls */
    int most_watched;          /* descriptors above this one are for looking at files */
};

struct thread *find_thread(struct processes *processes, pid_t tid);
struct thread *add_thread(struct processes *processes, struct process *process, pid_t tid);
void drop_thread(struct processes *processes, struct thread *gone);

/* A process that is met for the first time. */
struct process *add_born(struct run *run, pid_t pid, pid_t parent, const struct birth *birth, uint64_t at_ns);
/* The same; NULL: it is gone. */
struct process *add_process(struct run *run, pid_t pid, pid_t parent);
/* Meets what a process left that was killed before it came back from a fork: its children are ours now. */
void meet_orphans(struct run *run, const struct process *parent);
/* Its end is told, or not. */
void remove_process_at(struct run *run, struct process *process, int status, bool told, uint64_t at_ns);
void remove_process(struct run *run, struct process *process, int status, bool told);
void remove_unseen(struct run *run, struct process *process);
void forget_process(struct run *run, struct process *process);

bool has_ended(const struct process *process);
bool pidfd_has_ended(const struct process *process);

#endif
