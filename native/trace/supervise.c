/* The keeper's life: start the command under the filter, watch it end, stay until the recorder lets go.
 *
 * On a terminal we are the session leader, as a login shell would be. We take over the processes that the
 * command leaves behind (subreaper), so that the kernel lets us look into them and we learn how they end. As
 * long as one of them lives we answer its calls, also when nothing is recorded any more: nobody else can.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"
#include "notify.h"
#include "processes.h"
#include "ring.h"
#include "seccomp.h"
#include "supervise.h"
#include "tty.h"

/* Our own descriptors in the command's process stay clear of those whose writes are watched. */
#define ABOVE_WATCHED 20
#define STRAGGLERS_MS 250
#define RING_MS 5 /* ends come through the ring, which tells nobody at once */
#define LOOK_AGAIN_MS 1000
#define NOT_EXECUTED 127

enum what { STARTED = 1, NOT_STARTED, STOPPED, CONTINUED, ENDED, OBSERVED, RELEASED, PROBE };

/* As capture/launcher.py reads it. */
struct __attribute__((packed)) status_record {
    uint8_t what;
    int32_t value;
    int64_t user_us, system_us, max_rss_kib;
    int64_t at_ns; /* of CLOCK_MONOTONIC, when the command started or ended */
};

struct launch {
    struct run *run;
    pid_t command;
    int failure[2];  /* errno of an exec that failed; closed by one that succeeds */
    int listener[2]; /* the child sends it, or why there is none */
    int go[2];
    int signals;
    bool filtered;   /* the command is under the filter, and waits for ever if nobody serves it */
    bool ended, released;
    sigset_t found_mask;
    struct rlimit found_limit;
};

/* The C library keeps these two for itself, and whoever spawns with it leaves them ignored. */
#define FIRST_OF_LIBRARY 32
#define LAST_OF_LIBRARY 33

/* A fault of our own must end us; SIGCHLD and SIGHUP are read. */
static bool is_ignored(int number)
{
    static const int others[] = {SIGKILL, SIGSTOP, SIGCONT, SIGCHLD, SIGHUP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (number == others[i])
            return false;
    }
    return number < FIRST_OF_LIBRARY || number > LAST_OF_LIBRARY;
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void send_status(struct run *run, struct status_record record)
{
    if (run->options.status >= 0 && write(run->options.status, &record, sizeof record) != sizeof record) {
        close(run->options.status); /* the recorder is gone; the command goes on, and so do we */
        run->options.status = -1;
    }
}

/* --- in the child ---------------------------------------------------------------------------------------- */

static void place_descriptors(const int standard[3])
{
    int copies[3];
    for (int i = 0; i < 3; i++)
        copies[i] = standard[i] < 0 ? -1 : fcntl(standard[i], F_DUPFD_CLOEXEC, 3);
    for (int i = 0; i < 3; i++) {
        if (copies[i] < 0)
            close(i);
        else if (dup2(copies[i], i) < 0)
            _exit(NOT_EXECUTED);
    }
}

static void fail(struct launch *launch, int error)
{
    ssize_t told = write(launch->failure[1], &error, sizeof error);
    _exit(told == sizeof error ? NOT_EXECUTED : NOT_EXECUTED + 1);
}

static int above_watched(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, ABOVE_WATCHED);
    return moved < 0 ? fd : moved;
}

static void restore_signals(const bool was_ignored[NSIG], const sigset_t *found_mask)
{
    for (int number = 1; number < NSIG; number++) {
        if (is_ignored(number) && !was_ignored[number])
            signal(number, SIG_DFL);
    }
    for (int number = FIRST_OF_LIBRARY; number <= LAST_OF_LIBRARY; number++) {
        const struct { /* as the kernel has it; the C library refuses to touch them */
            uint64_t handler, flags, restorer, mask;
        } as_any_program = {0};
        if (!was_ignored[number] && syscall(SYS_rt_sigaction, number, &as_any_program, NULL, sizeof as_any_program.mask) != 0)
            _exit(NOT_EXECUTED);
    }
    sigprocmask(SIG_SETMASK, found_mask, NULL);
}

/* As execvp(3) and every shell: a script without an interpreter line is given to sh. */
static int execute(char **command)
{
    execvp(command[0], command);
    return errno;
}

static void become_command(struct launch *launch, const bool was_ignored[NSIG], bool observed)
{
    struct options *options = &launch->run->options;
    close(launch->go[1]); /* or a keeper that was killed would be waited for, for ever */
    launch->failure[1] = above_watched(launch->failure[1]);
    int listener_channel = above_watched(launch->listener[1]), go = above_watched(launch->go[0]);
    if (options->terminal >= 0 && (setpgid(0, 0) != 0 || tcsetpgrp(options->terminal, getpid()) != 0))
        fail(launch, errno);
    if (setrlimit(RLIMIT_NOFILE, &launch->found_limit) != 0)
        fail(launch, errno);
    place_descriptors(options->standard);
    restore_signals(was_ignored, &launch->found_mask);
    if (chdir(options->cwd) != 0)
        fail(launch, errno);
    char byte;
    /* We are to read its memory; what we have there is gone with the exec, before the command's own code runs. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
        fail(launch, errno);
    if (observed)
        install_and_send(listener_channel, launch->run->split != NULL, launch->run->ring ? STOP_CHANGES : STOP_ALL);
    else if (write(listener_channel, "", 1) != 1)
        _exit(NOT_EXECUTED);
    if (read(go, &byte, 1) != 1)
        _exit(NOT_EXECUTED);
    fail(launch, execute(options->command));
}

/* --- in the keeper --------------------------------------------------------------------------------------- */

static int open_pipes(struct launch *launch)
{
    bool opened = pipe2(launch->failure, O_CLOEXEC) == 0 && pipe2(launch->go, O_CLOEXEC) == 0 &&
                  socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, launch->listener) == 0;
    return opened ? 0 : -errno;
}

static void forget_the_streams(struct run *run)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int given[] = {run->options.standard[0], run->options.standard[1], run->options.standard[2], run->options.terminal};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        bool closed = false; /* one descriptor may be given for several */
        for (size_t before = 0; before < i; before++)
            closed |= given[before] == given[i];
        if (given[i] > 2 && !closed)
            close(given[i]);
    }
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
}

/* Every process of the run costs us a descriptor. */
static void raise_limit(const struct launch *launch)
{
    struct rlimit limit = {launch->found_limit.rlim_max, launch->found_limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return; /* then fewer ends are learned, and each of those is counted */
}

static int filter_calls(struct launch *launch)
{
    struct run *run = launch->run;
    uint64_t features = 0;
    run->listener = receive_listener(launch->listener[0], &features, &launch->filtered);
    if (run->listener < 0)
        return run->listener;
    /* Where a signal can end a stop, the call comes again, and its bytes would be written twice. */
    if (run->split && (!(features & FEATURE_WAIT_KILLABLE) || !begin_split(run)))
        end_split(run, true);
    else if (run->split)
        run->header->features |= FEATURE_SPLIT;
    run->header->features |= features | FEATURE_NOTIFY | (run->options.allow_io_uring ? FEATURE_IO_URING_ALLOWED : 0);
    run->no_new_privs = features & FEATURE_NO_NEW_PRIVS;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    /* A thread for every two cores: more only take turns on one core with the callers they serve. */
    long threads = cores / 2;
    return start_notify(run, threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : (int)threads);
}

/* What a child without a filter does until then is ours, and is not to be told as the command's. */
static void await_child(const struct launch *launch)
{
    char byte;
    (void)!read(launch->listener[0], &byte, 1); /* if it has failed, its failure is read in a moment */
}

static int observe(struct launch *launch)
{
    struct run *run = launch->run;
    if (run->ring)
        let_probe_tell(run);
    if (!run->options.filtered) {
        end_split(run, true); /* nobody stops what is written on the terminal */
        run->header->features |= FEATURE_IO_URING_ALLOWED;
    }
    meet_command(run, launch->command);
    int error = 0;
    if (run->options.filtered)
        error = filter_calls(launch);
    else
        await_child(launch);
    return error || !run->ring ? error : start_ring(run);
}

static void reap(struct launch *launch)
{
    struct rusage usage;
    int status;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage)) > 0;) {
        bool over = WIFEXITED(status) || WIFSIGNALED(status);
        if (over)
            note_reaped(launch->run, pid, status);
        if (pid != launch->command)
            continue;
        if (WIFSTOPPED(status))
            send_status(launch->run, (struct status_record){STOPPED, WSTOPSIG(status), 0, 0, 0, 0});
        else if (WIFCONTINUED(status))
            send_status(launch->run, (struct status_record){CONTINUED, 0, 0, 0, 0, 0});
        else
            launch->ended = true;
        if (over)
            send_status(launch->run, (struct status_record){
                                         ENDED, status, usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec,
                                         usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec, usage.ru_maxrss,
                                         monotonic_ns()});
    }
}

/* As a shell does when a job ends: what the command left behind is now in the background. */
static void take_terminal_back(void)
{
    int terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0)
        return; /* it is gone already */
    if (tcsetpgrp(terminal, getpgrp()) != 0) {
        /* likewise */
    }
    close(terminal);
}

static void on_signals(struct launch *launch)
{
    struct signalfd_siginfo info;
    while (read(launch->signals, &info, sizeof info) == sizeof info) {
        if (info.ssi_signo == SIGHUP && !launch->ended) { /* the terminal vanished: the command must hear of it */
            kill(-launch->command, SIGHUP);
            kill(-launch->command, SIGCONT);
        }
    }
    bool had_ended = launch->ended;
    collect_exits(launch->run); /* what those left behind is met before it is reaped */
    reap(launch);
    if (launch->ended && !had_ended && launch->run->options.terminal >= 0)
        take_terminal_back();
}

static void close_drains(struct run *run)
{
    for (size_t i = 0; i < MAX_DRAINS; i++) {
        if (run->options.drains[i] >= 0)
            close(run->options.drains[i]);
        run->options.drains[i] = -1;
    }
}

/* The recorder is gone. Somebody must take the command's output, or it would wait, or be killed by its next
 * write. */
static void drain(struct run *run, size_t which)
{
    char bytes[65536];
    ssize_t got = read(run->options.drains[which], bytes, sizeof bytes);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) {
        close(run->options.drains[which]);
        run->options.drains[which] = -1;
    }
}

/* A byte on the leash: the command is to meet the end of its output. Its end: the recorder lets go, or is
 * gone. */
static bool was_let_go(struct run *run)
{
    char byte;
    ssize_t got = read(run->options.leash, &byte, 1);
    if (got == 1)
        close_drains(run);
    return got == 0;
}

/* One round: whatever the kernel has to tell, for at most `milliseconds`. True when the leash was let go. */
static bool listen_once(struct launch *launch, int milliseconds)
{
    enum { SIGNALS, EXITS, LEASH, DRAINS };
    const struct options *options = &launch->run->options;
    struct pollfd waits[DRAINS + MAX_DRAINS] = {{launch->signals, POLLIN, 0},
                                                {processes_poll_fd(launch->run), POLLIN, 0},
                                                {launch->released ? -1 : options->leash, POLLIN, 0}};
    for (size_t i = 0; i < MAX_DRAINS; i++)
        waits[DRAINS + i] = (struct pollfd){launch->released ? options->drains[i] : -1, POLLIN, 0};
    int ready = poll(waits, DRAINS + MAX_DRAINS, milliseconds);
    if (launch->ended && ready == 0)
        end_split(launch->run, false);
    if (ready < 0 && errno == EINVAL)
        _exit(NOT_EXECUTED); /* somebody took our right to open anything: better no observer than one that waits for ever */
    if (ready <= 0)
        return false;
    if (waits[SIGNALS].revents)
        on_signals(launch);
    if (waits[EXITS].revents)
        collect_exits(launch->run);
    for (size_t i = 0; i < MAX_DRAINS; i++) {
        if (waits[DRAINS + i].revents)
            drain(launch->run, i);
    }
    if (launch->ended)
        end_split(launch->run, false);
    return waits[LEASH].revents && was_let_go(launch->run);
}

static uint64_t milliseconds_now(void)
{
    return (uint64_t)monotonic_ns() / 1000000;
}

static uint32_t count_survivors(struct run *run)
{
    if (run->ring)
        (void)drain_ring(run); /* then there are more that seem to live */
    return log_survivors(run, false);
}

static void wait_for_stragglers(struct launch *launch)
{
    uint64_t enough = milliseconds_now() + STRAGGLERS_MS;
    while (count_survivors(launch->run) > 0) {
        uint64_t now = milliseconds_now();
        if (now >= enough)
            return;
        uint64_t patience = launch->run->ring && enough - now > RING_MS ? RING_MS : enough - now;
        listen_once(launch, (int)patience);
    }
}

static void close_the_record(struct launch *launch)
{
    struct run *run = launch->run;
    end_split(run, true);
    wait_for_stragglers(launch);
    if (run->ring)
        end_ring(run);
    uint32_t survivors = log_survivors(run, true);
    run->header->outlived = survivors;
    run->header->untaken = notifications_missed();
    end_log(run);
    send_status(run, (struct status_record){RELEASED, (int32_t)survivors, 0, 0, 0, 0});
    if (run->options.status >= 0)
        close(run->options.status);
    run->options.status = -1;
    if (run->options.hold >= 0)
        close(run->options.hold);
    close_drains(run);
}

/* Who is left is not told any more, but is still under the filter. */
static void serve_the_rest(struct launch *launch)
{
    struct pollfd listener = {launch->run->listener, 0, 0};
    while (launch->run->listener >= 0 && !(poll(&listener, 1, 0) == 1 && listener.revents & POLLHUP))
        listen_once(launch, LOOK_AGAIN_MS);
}

static void keep(struct launch *launch)
{
    while (!launch->released) {
        if (listen_once(launch, launch->ended ? split_timeout(launch->run) : -1))
            launch->released = true;
    }
    /* Let go while the command runs: the recorder died. Nothing of the record is lost by that. */
    while (!launch->ended)
        listen_once(launch, -1);
    close_the_record(launch);
    if (launch->run->ring)
        serve_the_rest(launch);
    else
        while (log_survivors(launch->run, false) > 0)
            listen_once(launch, processes_timeout(launch->run));
}

static int watch_signals(struct launch *launch, bool was_ignored[NSIG])
{
    for (int number = 1; number < NSIG; number++)
        was_ignored[number] = is_ignored(number) ? signal(number, SIG_IGN) == SIG_IGN : !(launch->run->options.ended_by >> (number - 1) & 1);
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGCHLD);
    sigaddset(&watched, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &watched, &launch->found_mask) != 0)
        return -errno;
    launch->signals = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    return launch->signals < 0 ? -errno : 0;
}

/* The command is born into its cgroup: no call of it is outside. As fork(3), but for the cgroup: the C
 * library keeps the number of a thread where the kernel knows it. */
static pid_t fork_into(struct run *run)
{
    struct stat group;
    if (run->options.cgroup < 0 || fstat(run->options.cgroup, &group) != 0)
        return fork();
    struct clone_args how = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)run->options.cgroup};
    uint64_t own_number = 0;
    if (prctl(PR_GET_TID_ADDRESS, &own_number, 0, 0, 0) == 0 && own_number) {
        how.flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
        how.child_tid = own_number;
    }
    pid_t child = (pid_t)syscall(SYS_clone3, &how, sizeof how);
    if (child < 0)
        return fork(); /* the header does not say that it is in the cgroup */
    run->header->features |= FEATURE_CGROUP;
    run->header->cgroup = group.st_ino;
    return child;
}

/* The command stays in the session and the group of whoever started us, and signals to that group are not for
 * us. What the command leaves behind becomes our child: in another session than theirs we do not keep its
 * group from being orphaned, as init would not. On a terminal we lead the session, as a login shell does. */
static void leave_its_session(const struct run *run)
{
    if (run->options.terminal < 0)
        (void)setsid(); /* it is refused only to a leader of a group: then we are in none but our own */
}

/* The child waits for the word to go. */
static int start_command(struct launch *launch, const bool was_ignored[NSIG], bool observed)
{
    int error = open_pipes(launch);
    if (error)
        return error;
    launch->command = fork_into(launch->run);
    if (launch->command < 0)
        return -errno;
    if (launch->command == 0)
        become_command(launch, was_ignored, observed);
    close(launch->failure[1]), close(launch->listener[1]), close(launch->go[0]);
    return 0;
}

/* A filter cannot be taken off: that child has done nothing yet, and another takes its place. */
static int start_again_unobserved(struct launch *launch, const bool was_ignored[NSIG])
{
    kill(launch->command, SIGKILL);
    waitpid(launch->command, NULL, 0);
    close(launch->failure[0]), close(launch->listener[0]), close(launch->go[1]);
    return start_command(launch, was_ignored, false);
}

/* Without the probe there are no two witnesses; whether one will do is for the recorder to say. */
static int await_probe(struct run *run)
{
    int state = take_probe(run);
    send_status(run, (struct status_record){PROBE, state, 0, 0, 0, 0});
    return state == 0 || run->options.probe_optional ? 0 : -ECANCELED;
}

int supervise_command(struct run *run)
{
    struct launch launch = {.run = run};
    bool was_ignored[NSIG] = {false};
    int error = watch_signals(&launch, was_ignored);
    if (error)
        return error;
    if (run->options.terminal >= 0 && (setsid() < 0 || ioctl(run->options.terminal, TIOCSCTTY, 0) != 0))
        return -errno;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || getrlimit(RLIMIT_NOFILE, &launch.found_limit) != 0)
        return -errno;
    error = run->options.probe >= 0 ? await_probe(run) : 0;
    if (error)
        return error;
    error = start_command(&launch, was_ignored, run->options.filtered);
    if (error)
        return error;
    raise_limit(&launch);
    int observed = observe(&launch);
    if (observed != 0) {
        end_split(run, true);
        error = launch.filtered ? start_again_unobserved(&launch, was_ignored) : 0;
        if (error)
            return error;
    }
    forget_the_streams(run);
    leave_its_session(run);
    send_status(run, (struct status_record){OBSERVED, -observed, 0, 0, 0, 0});
    int failure = 0;
    (void)!write(launch.go[1], "", 1); /* if it is gone already, the next line tells */
    ssize_t got = read(launch.failure[0], &failure, sizeof failure);
    if (got == sizeof failure) {
        waitpid(launch.command, NULL, 0);
        launch.ended = true;
        end_split(run, true);
        send_status(run, (struct status_record){NOT_STARTED, failure, 0, 0, 0, 0});
    } else {
        send_status(run, (struct status_record){STARTED, launch.command, 0, 0, 0, monotonic_ns()});
    }
    keep(&launch);
    return 0;
}
