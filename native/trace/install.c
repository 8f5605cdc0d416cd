/* Putting a process under the filter, and getting hold of its listener. Features are probed by doing. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
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

static int install_filter(bool split, enum stopping stopping, uint64_t *features)
{
    struct sock_fprog program;
    int error = build_filter(&program, split, stopping);
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

/* What the process under the filter tells; the listener comes along if there is one. */
struct told {
    int error;
    uint64_t features;
};

struct handover {
    int channel, listener;
    struct told told;
    sem_t ready;
};

union rights {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static void send_listener(const struct handover *handover)
{
    struct told told = handover->told;
    struct iovec part = {&told, sizeof told};
    union rights rights = {.head = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (handover->listener >= 0) {
        memcpy(CMSG_DATA(&rights.head), &handover->listener, sizeof(int));
        message.msg_control = &rights;
        message.msg_controllen = sizeof rights.bytes;
    }
    if (sendmsg(handover->channel, &message, MSG_NOSIGNAL) != sizeof told)
        shutdown(handover->channel, SHUT_RDWR); /* who waits for it then knows */
}

static void *hand_over(void *context)
{
    struct handover *handover = context;
    while (sem_wait(&handover->ready) != 0)
        continue;
    send_listener(handover);
    return NULL;
}

/* Every call of the thread under the filter may wait for an answer, and taking descriptors out of a process is refused
 * in many containers. A second thread, made before and not under the filter, sends the listener. */
void install_and_send(int channel, bool split, enum stopping stopping)
{
    struct handover handover = {.channel = channel, .listener = -1};
    pthread_t sender;
    int error = sem_init(&handover.ready, 0, 0) == 0 ? pthread_create(&sender, NULL, hand_over, &handover) : errno;
    if (error) {
        handover.told.error = error;
        send_listener(&handover);
        return;
    }
    handover.listener = install_filter(split, stopping, &handover.told.features);
    handover.told.error = handover.listener < 0 ? -handover.listener : 0;
    sem_post(&handover.ready);
    pthread_join(sender, NULL);
    if (handover.listener >= 0)
        close(handover.listener);
}

int receive_listener(int channel, uint64_t *features, bool *filtered)
{
    struct told told = {EIO, 0};
    struct iovec part = {&told, sizeof told};
    union rights rights;
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &rights, .msg_controllen = sizeof rights};
    ssize_t got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    int listener = -EIO;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (got == sizeof told && head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&listener, CMSG_DATA(head), sizeof listener);
    *filtered = got == sizeof told && told.error == 0;
    *features = told.features;
    return got == sizeof told && told.error ? -told.error : listener;
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

int probe(void)
{
    int stage = 1;
    bool works = try_in_child(&stage) >= 0;
    printf("{\"seccomp_notify\":%s,\"memory\":%s}\n", works || stage > 1 ? "true" : "false", works ? "true" : "false");
    return works ? 0 : 1;
}
