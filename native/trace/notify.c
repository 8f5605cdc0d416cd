/* The loop: take a stop, find its row, let the handler look, answer.
 *
 * Several threads serve one listener. A call that we do not know, or cannot look into, is counted and let
 * through: we never fail a call because we failed to understand it.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "correlate.h"
#include "log.h"
#include "mounts.h"
#include "notify.h"
#include "path_cache.h"
#include "processes.h"
#include "procfs.h"
#include "ring.h"
#include "seccomp.h"

#define RELIEF_MS 200
#define MOST_RELIEF 128u

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1u
#endif

/* What the probe saw of files must be looked up while they are what they were: before a call that may change
 * them. */
static void read_what_was_seen(const struct stop *stop)
{
    bool may_change = stop->call && stop->call->effect >= EFFECT_OPEN;
    if (stop->run->ring && may_change && !drain_ring(stop->run))
        atomic_store(&stop->run->looks_are_late, true);
}

static void look_into(struct stop *stop)
{
    if (atomic_load(&stop->run->released))
        return;
    if (!identify(stop)) {
        if (still_waiting(stop)) /* it is there, and we could not find out who it is */
            count(&stop->run->header->unreadable);
        return;
    }
    settle_move(stop);
    settle_mount(stop);
    read_what_was_seen(stop);
    if (stop->call && stop->call->class == CALL_RECORDED)
        stop->call->serve(stop);
    else
        count_call(stop);
    if (stop->number == SYS_fsmount)
        atomic_store(&stop->run->mounts_detached, true);
    if (stop->call && stop->call->effect == EFFECT_MOVE)
        note_move(stop);
}

/* False: the caller was killed meanwhile. */
static bool answer(struct stop *stop, struct seccomp_notif_resp *response)
{
    *response = (struct seccomp_notif_resp){.id = stop->notif->id};
    if (stop->error)
        response->error = -stop->error;
    else if (stop->replaces)
        response->val = stop->value;
    else
        response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    int sent;
    do
        sent = ioctl(stop->run->listener, SECCOMP_IOCTL_NOTIF_SEND, response);
    while (sent != 0 && errno == EINTR);
    if (sent == 0)
        return true;
    if (errno == EINPROGRESS) {
        count(&stop->run->header->taken_over);
        return true;
    }
    if (errno != ENOENT)
        abort(); /* the caller would wait for ever */
    return false;
}

static void serve_one(struct run *run, struct seccomp_notif *notif, struct seccomp_notif_resp *response,
                      struct path_cache *known)
{
    struct stop stop = {
        .run = run,
        .cache = known,
        .notif = notif,
        .number = (uint32_t)notif->data.nr,
        .tid = (pid_t)notif->pid,
        .call = find_call(notif->data.arch, (uint32_t)notif->data.nr),
#if defined(__x86_64__)
        .compat = notif->data.arch == AUDIT_ARCH_I386,
#endif
    };
    memcpy(stop.args, notif->data.args, sizeof stop.args);
    look_into(&stop);
    if (!stop.answered)
        expect_probe(&stop);
    if (!stop.answered && !answer(&stop, response)) {
        call_never_ran(&stop);
        forget_expected(&stop);
    }
}

/* A receive also fails when the caller was killed in between, or we were interrupted. */
static bool nobody_left(const struct run *run)
{
    struct pollfd listener = {run->listener, 0, 0};
    return poll(&listener, 1, 0) == 1 && listener.revents & POLLHUP;
}

/* Stops that a thread has taken. The kernel numbers them one by one, from a number of its choice. */
static atomic_uint_fast64_t begun;
static pthread_mutex_t numbering = PTHREAD_MUTEX_INITIALIZER;
static uint64_t first_number, last_number;

static void note_number(uint64_t number)
{
    pthread_mutex_lock(&numbering);
    bool is_first = atomic_fetch_add_explicit(&begun, 1, memory_order_relaxed) == 0;
    if (is_first || (int64_t)(number - first_number) < 0)
        first_number = number;
    if (is_first || (int64_t)(number - last_number) > 0)
        last_number = number;
    pthread_mutex_unlock(&numbering);
}

uint64_t notifications_missed(void)
{
    pthread_mutex_lock(&numbering);
    uint64_t taken = atomic_load_explicit(&begun, memory_order_relaxed);
    uint64_t missed = taken ? last_number - first_number + 1 - taken : 0;
    pthread_mutex_unlock(&numbering);
    return missed;
}

static void *serve(void *context)
{
    struct run *run = context;
    struct seccomp_notif_sizes sizes = {0};
    if (seccomp_sizes(&sizes) != 0)
        abort();
    struct seccomp_notif *notif = calloc(1, sizes.seccomp_notif);
    struct seccomp_notif_resp *response = calloc(1, sizes.seccomp_notif_resp);
    struct path_cache *known = start_path_cache();
    if (!notif || !response || !known)
        abort();
    for (;;) {
        memset(notif, 0, sizes.seccomp_notif);
        if (ioctl(run->listener, SECCOMP_IOCTL_NOTIF_RECV, notif) == 0) {
            note_number(notif->id);
            serve_one(run, notif, response, known);
        } else if (nobody_left(run)) {
            return NULL;
        }
    }
}

static int start_thread(struct run *run, void *(*body)(void *))
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, body, run);
    if (!error)
        pthread_detach(thread);
    return -error;
}

/* A stop may have to wait for another process of the run: a file system that it serves, memory that it fills.
 * When all threads wait like that and somebody is due, there must be more. */
static void *relieve(void *context)
{
    struct run *run = context;
    uint64_t before = UINT64_MAX;
    for (;;) {
        poll(NULL, 0, RELIEF_MS);
        struct pollfd listener = {run->listener, POLLIN, 0};
        bool due = poll(&listener, 1, 0) == 1 && listener.revents & POLLIN;
        if (listener.revents & POLLHUP)
            return NULL;
        uint64_t now = atomic_load_explicit(&begun, memory_order_relaxed);
        uint32_t threads = run->header->threads, twice = due && now == before ? 2 * threads : 0;
        for (; threads < twice && threads < MOST_RELIEF && start_thread(run, serve) == 0; threads++)
            run->header->threads++;
        before = now;
    }
}

int start_notify(struct run *run, int threads)
{
    uint64_t flags = SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP;
    if (ioctl(run->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags) == 0)
        run->header->features |= FEATURE_SYNC_WAKE_UP;
    for (int i = 0; i < threads; i++) {
        int error = start_thread(run, serve);
        if (error && i == 0)
            return error;
        if (error)
            break;
        run->header->threads++;
    }
    (void)start_thread(run, relieve); /* without it we serve those that we can */
    return 0;
}
