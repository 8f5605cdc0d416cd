/* Putting a process under the filter, and getting hold of its listener. Features are probed by doing. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace.h"

int seccomp_sizes(struct seccomp_notif_sizes *sizes)
{
    return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, sizes) == 0 ? 0 : -errno;
}

static int try_install(struct sock_fprog *program, unsigned long flags)
{
    long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);
    return listener < 0 ? -errno : (int)listener;
}

int install_filter(bool split, uint64_t *features)
{
    struct sock_fprog program;
    int error = build_filter(&program, split);
    if (error)
        return error;
    unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    int listener = try_install(&program, flags);
    if (listener == -EACCES) { /* without privilege the kernel wants a promise never to gain any */
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
            *features |= FEATURE_NO_NEW_PRIVS;
        listener = try_install(&program, flags);
    }
    if (listener == -EINVAL) /* before 5.19 */
        listener = try_install(&program, flags & ~SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
    else
        *features |= FEATURE_WAIT_KILLABLE;
    free(program.filter);
    return listener;
}

int take_descriptor(pid_t pid, int descriptor)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return -errno;
    long taken = syscall(SYS_pidfd_getfd, pidfd, descriptor, 0);
    int error = errno;
    close(pidfd);
    return taken < 0 ? -error : (int)taken;
}

static int try_in_child(int *stage)
{
    int pipe_ends[2];
    uint64_t features = 0;
    if (pipe(pipe_ends) != 0)
        return -errno;
    pid_t child = fork();
    if (child == 0) {
        int listener = install_filter(false, &features);
        ssize_t sent = write(pipe_ends[1], &listener, sizeof listener);
        pause();
        _exit(sent == sizeof listener ? 0 : 1);
    }
    close(pipe_ends[1]);
    int listener = -EIO;
    ssize_t got = child < 0 ? 0 : read(pipe_ends[0], &listener, sizeof listener);
    close(pipe_ends[0]);
    int result = child < 0 ? -EAGAIN : got == sizeof listener ? listener : -EIO;
    if (result >= 0) {
        *stage = 2;
        result = take_descriptor(child, listener);
        if (result >= 0) {
            char byte;
            *stage = 3;
            ssize_t read_back = read_memory(child, (uint64_t)(uintptr_t)&byte, &byte, 1);
            result = read_back == 1 ? 0 : (int)read_back;
        }
    }
    if (child > 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    return result;
}

int probe(void)
{
    static const char *const stages[] = {"", "seccomp_notify", "pidfd_getfd", "process_vm_readv"};
    int stage = 1;
    int result = try_in_child(&stage);
    printf("{\"works\":%s,\"failed\":\"%s\",\"errno\":%d}\n", result >= 0 ? "true" : "false",
           result >= 0 ? "" : stages[stage], result >= 0 ? 0 : -result);
    return result >= 0 ? 0 : 1;
}
