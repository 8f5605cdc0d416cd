/* steno-trace: runs a command under a seccomp filter and writes what the kernel was asked to do.
 *
 * In: descriptors and options from the recorder (see `usage`). Out: the files of native/wire.toml in the
 * spool, and status records. It is started by `steno run`; by hand only `--probe` is of use.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backup.h"
#include "clock.h"
#include "log.h"
#include "mapped_file.h"
#include "processes.h"
#include "procfs.h"
#include "seccomp.h"
#include "store_guard.h"
#include "supervise.h"
#include "tty.h"

#define OWN_FAILURE 125

static int usage(void)
{
    fputs("usage: steno-trace --probe\n"
          "       steno-trace --status FD --leash FD --spool FD --key FD --origin NS --cwd DIR [--terminal FD]\n"
          "                   --stdin FD --stdout FD --stderr FD [--split FD] [--max-blob BYTES] [--allow-io-uring]\n"
          "                   [--drain FD]... [--hold FD] [--ignore PREFIX]... [--cgroup FD] [--ended-by SIGNAL]...\n"
          "                   [--store FD --run-id ID [--keys FD] [--store-link PATH]...]\n"
          "                   [--observer notify|ebpf|both [--probe-at FD [--probe-optional]]] -- COMMAND [ARGUMENT]...\n",
          stderr);
    return 2;
}

static int start(struct run *run)
{
    compare_clocks(run);
    const int pipes[] = {run->options.status, run->options.leash, run->options.split};
    for (size_t i = 0; i < sizeof pipes / sizeof *pipes; i++) {
        struct stat found;
        if (fstat(pipes[i], &found) == 0)
            run->pipes[i] = found.st_ino;
        else if (pipes[i] >= 0)
            return -errno;
    }
    int error = survive_truncation();
    error = error ? error : start_log(run);
    if (error)
        return error;
    run->processes = start_processes(run);
    run->backups = start_backups();
    if (!run->processes || !run->backups)
        return -ENOMEM;
    if (run->options.store >= 0) {
        run->store = guard_store(run->options.store, run->options.run_id, run->options.keys, run->options.store_links);
        if (!run->store)
            return -EINVAL;
    }
    if (run->options.split >= 0 && run->options.terminal >= 0 && start_split(run) != 0)
        run->split = NULL; /* the streams stay one; the header says so */
    return supervise_command(run);
}

static int try_in_child(int *stage)
{
    int ends[2];
    uint64_t features = 0;
    bool filtered = false;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return -errno;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0) /* as a command is */
            _exit(1);
        install_and_send(ends[1], false, STOP_ALL);
        pause();
        _exit(0);
    }
    close(ends[1]);
    int result = child < 0 ? -EAGAIN : receive_listener(ends[0], &features, &filtered);
    if (result >= 0) {
        char byte;
        *stage = 2;
        ssize_t read_back = read_memory(child, (uint64_t)(uintptr_t)&byte, &byte, 1);
        result = read_back == 1 ? 0 : (int)read_back;
    }
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return result;
}

static int say_what_works(void)
{
    int stage = 1;
    bool works = try_in_child(&stage) >= 0;
    printf("{\"seccomp_notify\":%s,\"memory\":%s}\n", works || stage > 1 ? "true" : "false", works ? "true" : "false");
    return works ? 0 : 1;
}

/* A closed 0, 1 or 2 must not become one of our own files. */
static bool guard_standard_descriptors(void)
{
    for (;;) {
        int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return false;
        if (fd > 2)
            return close(fd) == 0;
    }
}

int main(int argc, char **argv)
{
    /* Or the command could take our listener, and write into our memory. */
    if (!guard_standard_descriptors() || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return OWN_FAILURE;
    static struct run run; /* threads that serve it are there until the process is not */
    run = (struct run){.listener = -1, .own_pid = getpid(), .recorder = getppid()};
    enum wish wish = read_options(argc, argv, &run.options);
    if (wish == WISH_PROBE)
        return say_what_works();
    if (wish == WISH_UNCLEAR)
        return usage();
    int error = start(&run);
    if (error)
        fprintf(stderr, "steno-trace: %s\n", strerror(-error));
    return error ? OWN_FAILURE : 0;
}
