/* Calls that reach into another process: its memory, its registers, its descriptors, its limits; signals that
 * would end or stop it, now or from a descriptor.
 *
 * What a process outside the run does after that is nowhere in the record: it is told whose process it was.
 * Whoever reaches into us could write the record himself: the kernel refuses that to ordinary users, because
 * we are not dumpable, and we refuse it to root.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "log.h"
#include "path.h"
#include "path_event.h"
#include "probe_record.h"
#include "processes.h"
#include "procfs.h"
#include "seccomp.h"
#include "sys_reach.h"
#include "text.h"

#define MOST_ANCESTORS 4096
#define PROC_FILES 0x9fa0 /* PROC_SUPER_MAGIC */

/* As native/wire.toml says. Nobody: the call fails. */
enum whose { OF_THE_RUN, OUTSIDE, OURS, NOT_KNOWN, NOBODY };

static bool is_ours(const struct run *run, pid_t group)
{
    return group == run->own_pid || (group == run->recorder && getppid() == run->recorder);
}

/* What the run leaves behind becomes our child: every process of it is below us. */
static enum whose whose(const struct run *run, pid_t pid)
{
    struct birth birth = {0};
    pid_t group = pid > 0 ? thread_group(pid) : 0;
    if (group == 0)
        return NOBODY;
    if (is_ours(run, group))
        return OURS;
    for (int i = 0; i < MOST_ANCESTORS && read_birth(group, &birth); i++) {
        group = birth.parent;
        if (group == run->own_pid)
            return OF_THE_RUN;
        if (group <= 1)
            return OUTSIDE;
    }
    return NOT_KNOWN;
}

/* A number means another process in another namespace; there are only processes of the run. When the probe
 * tells of a call, its process may have ended, and its end is not told yet. */
static enum whose whose_number(const struct stop *stop, pid_t number)
{
    bool of_the_run = number > 0 && (!sees_our_numbers(stop->tid) || (stop->probed && is_of_the_run(stop->run, number)));
    enum whose who = of_the_run ? OF_THE_RUN : whose(stop->run, number);
    return who == NOBODY && number > 0 && stop->probed && probed_success(stop->probed) ? NOT_KNOWN : who;
}

/* The process of a pidfd; 0: it is none, or its process has ended; -1: we may not look. */
static pid_t process_of_descriptor(const struct stop *stop, int fd)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", stop->tid, fd);
    if (read_small_file(path, text, sizeof text) < 0)
        return errno == ENOENT ? 0 : -1;
    const char *line = strstr(text, "\nPid:");
    long number = line ? strtol(line + sizeof "\nPid:" - 1, NULL, 10) : 0;
    return number > 0 ? (pid_t)number : 0;
}

/* Nobody of the run may do what we may not, as long as we may not do everything. */
static bool may_be_reached(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* What the event of such a call tells of its end; a call that reaches into us is refused with `error`. */
static void judge(struct stop *stop, enum whose who, pid_t pid, int error, struct wire_event *event)
{
    if (stop->probed)
        return;
    if (who == OURS) {
        stop->error = error;
        event->result = (int16_t)-error;
        event->notes |= NOTE_REFUSED;
    } else if (who == OUTSIDE && !may_be_reached(pid)) {
        event->result = WIRE_RESULT_FAILED;
    }
}

static void tell_reach(struct stop *stop, enum whose who, pid_t pid, int error)
{
    struct wire_event event = event_of(stop, OP_REACH);
    judge(stop, who, pid, error, &event);
    event.arg = who == NOBODY ? OF_THE_RUN : who;
    event.arg2 = (uint32_t)pid;
    log_event(stop, &event);
}

static bool is_worth_telling(enum whose who)
{
    return who != OF_THE_RUN && who != NOBODY;
}

void sys_ptrace(struct stop *stop)
{
    struct wire_event event = event_of(stop, OP_PTRACE);
    uint64_t request = argument(stop, stop->call->arg);
    pid_t pid = (pid_t)argument(stop, stop->call->arg2);
    bool attaches = request == PTRACE_ATTACH || request == PTRACE_SEIZE;
    enum whose who = attaches ? whose_number(stop, pid) : OF_THE_RUN;
    judge(stop, who, pid, EPERM, &event);
    tell(stop, &event);
    if (is_worth_telling(who))
        tell_reach(stop, who, pid, EPERM);
}

/* Writing memory, by a number; or taking a descriptor, by a pidfd. */
void sys_reach_process(struct stop *stop)
{
    bool by_descriptor = stop->call->dir >= 0;
    pid_t pid = by_descriptor ? process_of_descriptor(stop, directory(stop, stop->call->dir)) : (pid_t)argument(stop, stop->call->arg2);
    enum whose who = by_descriptor ? whose(stop->run, pid) : whose_number(stop, pid);
    bool is_guarded = stop->probed && probed_success(stop->probed); /* by now, or its process has ended */
    if (by_descriptor && who == NOBODY && (pid < 0 || is_guarded))
        who = NOT_KNOWN;
    tell_reach(stop, who, pid > 0 ? pid : 0, EPERM);
}

/* A process that may open nothing, or write nothing, observes nothing. The kernel asks for the same user
 * only. */
void sys_prlimit(struct stop *stop)
{
    pid_t pid = (pid_t)argument(stop, stop->call->arg2);
    bool sets = argument(stop, 2) != 0;
    enum whose who = sets && pid && pid != stop->pid ? whose_number(stop, pid) : OF_THE_RUN;
    if (!is_worth_telling(who))
        return;
    struct wire_event event = event_of(stop, OP_REACH);
    if (who == OURS)
        judge(stop, who, pid, EPERM, &event);
    event.arg = who;
    event.arg2 = (uint32_t)pid;
    log_event(stop, &event);
}

/* While we are stopped every call of the run waits, and nobody would answer if we were killed. We are alone
 * in our group; the recorder may share its own with the command, which then ends or stops itself as well. */
void sys_kill(struct stop *stop)
{
    struct wire_event event = event_of(stop, OP_SIGNAL);
    bool by_descriptor = stop->call->dir >= 0;
    pid_t to = by_descriptor ? 0 : (pid_t)argument(stop, stop->call->arg2);
    if (!by_descriptor && to == stop->pid)
        return; /* to itself */
    if (!stop->probed && ends_or_stops(argument(stop, stop->call->arg)) && sees_our_numbers(stop->tid)) {
        pid_t pid = by_descriptor ? process_of_descriptor(stop, directory(stop, stop->call->dir)) : to;
        pid_t group = pid > 0 ? thread_group(pid) : 0;
        if (pid == -stop->run->own_pid || (group && is_ours(stop->run, group)))
            judge(stop, OURS, pid, EPERM, &event);
    }
    if (stop->probed && probed_success(stop->probed) && ends_or_stops(argument(stop, stop->call->arg)) && to == stop->run->recorder &&
        getppid() == to)
        (void)kill(to, SIGCONT); /* it continues us, if it is we who were stopped */
    tell(stop, &event);
}

/* The kernel will send the signals of a descriptor by this number, below zero a group's, without asking us.
 * The recorder's group may be the caller's own: then it stops itself as well. */
static void refuse_our_number(struct stop *stop, int64_t to, bool or_the_recorders_group)
{
    pid_t process = to > 0 ? thread_group((pid_t)to) : 0;
    bool is_our_group = to == -stop->run->own_pid;
    bool is_its_group = or_the_recorders_group && to < 0 && getppid() == stop->run->recorder &&
                        getpgid(stop->run->recorder) == -to && getpgid(stop->pid) != -to;
    if (((process && is_ours(stop->run, process)) || is_our_group || is_its_group) && sees_our_numbers(stop->tid))
        tell_reach(stop, OURS, process ? process : (pid_t)-to, EPERM);
}

void sys_fcntl(struct stop *stop)
{
    struct f_owner_ex owner = {0};
    uint32_t what = (uint32_t)stop->args[1];
    if (what == F_SETOWN) {
        refuse_our_number(stop, (pid_t)stop->args[2], true);
    } else if (what == F_SETOWN_EX) {
        if (read_memory(stop->tid, stop->args[2], &owner, sizeof owner) == (ssize_t)sizeof owner)
            refuse_our_number(stop, owner.type == F_OWNER_PGRP ? -(int64_t)owner.pid : owner.pid, true);
    } else {
        sys_dup(stop);
    }
}

/* A terminal sends its signals to its foreground group, which is rightly given back to where it came from. */
void sys_ioctl(struct stop *stop)
{
    int32_t to = 0;
    if (read_memory(stop->tid, stop->args[2], &to, sizeof to) != (ssize_t)sizeof to)
        return; /* the kernel cannot read it either */
    bool of_terminal = (uint32_t)stop->args[1] == TIOCSPGRP;
    refuse_our_number(stop, of_terminal ? -(int64_t)to : to, !of_terminal);
}

/* /proc/PID/mem or /proc/PID/task/TID/mem, wherever it is mounted; 0: it is neither. */
static pid_t process_of_memory(const struct resolved_path *place)
{
    struct statfs system;
    const char *end = place->resolved + strlen(place->resolved) - (sizeof "/mem" - 1);
    if (end <= place->resolved || strcmp(end, "/mem") != 0)
        return 0;
    const char *number = end;
    while (number > place->resolved && number[-1] >= '0' && number[-1] <= '9')
        number--;
    bool is_process = number < end && number > place->resolved && number[-1] == '/';
    bool in_proc = place->fd >= 0 ? fstatfs(place->fd, &system) == 0 && system.f_type == PROC_FILES : strncmp(place->resolved, "/proc/", 6) == 0;
    return is_process && in_proc ? (pid_t)strtol(number, NULL, 10) : 0;
}

/* Root may open what other processes have open, by its name in /proc; pipes have numbers of their own. */
static bool is_our_pipe(const struct run *run, const struct resolved_path *place)
{
    if (!place->exists || !S_ISFIFO(place->found.st_mode) || strncmp(place->resolved, "pipe:", sizeof "pipe:" - 1) != 0)
        return false;
    for (size_t i = 0; i < sizeof run->pipes / sizeof *run->pipes; i++) {
        if (place->found.st_ino == run->pipes[i])
            return true;
    }
    return false;
}

bool reaches_into_us(struct stop *stop, const struct resolved_path *place)
{
    if (is_our_pipe(stop->run, place))
        return true;
    pid_t pid = process_of_memory(place);
    return pid && whose(stop->run, pid) == OURS;
}

void tell_reach_by_name(struct stop *stop, const struct resolved_path *place)
{
    if (is_our_pipe(stop->run, place)) {
        tell_reach(stop, OURS, stop->run->own_pid, EACCES);
        return;
    }
    pid_t pid = process_of_memory(place);
    enum whose who = pid ? whose(stop->run, pid) : OF_THE_RUN;
    if (is_worth_telling(who))
        tell_reach(stop, who, pid, EACCES);
}
