/* What a call that mounts did, where nobody tells its result: whether our mounts are others when its caller
 * is back. And what a descriptor that is mounted stands for: open_tree(2) makes one of a directory, and
 * move_mount(2) names it by that alone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "crypto.h"
#include "log.h"
#include "mounts.h"
#include "path.h"
#include "path_event.h"

#define MOST_WAITING 16u
#define TREES 64u

static struct {
    pthread_mutex_t lock;
    atomic_uint waiting;
    uint64_t calls; /* that may change our mounts */
    struct {
        pid_t tid; /* 0: free */
        uint64_t at, mounts, calls;
    } of[MOST_WAITING];
    struct {
        dev_t dev;
        ino_t ino;
        char path[PATH_MAX];
    } trees[TREES]; /* the last ones */
    uint64_t next_tree;
} mounts = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Stands for all mounts that we see, and their order; false: they could not be read. */
static bool fingerprint_of_mounts(uint64_t *all)
{
    static const uint8_t key[16];
    uint8_t part[8192 + sizeof *all];
    int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    ssize_t got = -1;
    *all = 0;
    while (fd >= 0 && (got = read(fd, part + sizeof *all, sizeof part - sizeof *all)) > 0) {
        memcpy(part, all, sizeof *all);
        *all = siphash(key, part, sizeof *all + (size_t)got);
    }
    if (fd >= 0)
        close(fd);
    return got == 0;
}

void note_mount(struct stop *stop)
{
    uint64_t now;
    bool known = fingerprint_of_mounts(&now);
    pthread_mutex_lock(&mounts.lock);
    mounts.calls++;
    for (size_t i = 0; known && i < MOST_WAITING; i++) {
        if (mounts.of[i].tid && mounts.of[i].tid != stop->tid)
            continue;
        if (!mounts.of[i].tid)
            atomic_fetch_add(&mounts.waiting, 1);
        mounts.of[i].tid = stop->tid;
        mounts.of[i].at = stop->event_offsets[stop->event_count - 1];
        mounts.of[i].mounts = now;
        mounts.of[i].calls = mounts.calls;
        break;
    }
    pthread_mutex_unlock(&mounts.lock);
}

void settle_mount(struct stop *stop)
{
    uint64_t now;
    if (!atomic_load_explicit(&mounts.waiting, memory_order_relaxed))
        return;
    pthread_mutex_lock(&mounts.lock);
    for (size_t i = 0; i < MOST_WAITING; i++) {
        if (mounts.of[i].tid != stop->tid)
            continue;
        /* If another call came in between, one may have undone what the other did. */
        if (mounts.of[i].calls == mounts.calls && fingerprint_of_mounts(&now) && now == mounts.of[i].mounts)
            amend_result(stop->run, mounts.of[i].at, WIRE_RESULT_FAILED);
        mounts.of[i].tid = 0;
        atomic_fetch_sub(&mounts.waiting, 1);
    }
    pthread_mutex_unlock(&mounts.lock);
}

void sys_open_tree(struct stop *stop)
{
    char path[PATH_MAX];
    struct resolved_path place;
    count_call(stop);
    if (argument(stop, stop->call->flags) & OPEN_TREE_CLONE)
        atomic_store(&stop->run->mounts_detached, true);
    look_at_argument(stop, path, &place);
    if (place.exists && may_succeed(stop)) {
        pthread_mutex_lock(&mounts.lock);
        size_t next = mounts.next_tree++ % TREES;
        mounts.trees[next].dev = place.found.st_dev;
        mounts.trees[next].ino = place.found.st_ino;
        memcpy(mounts.trees[next].path, place.resolved, sizeof place.resolved);
        pthread_mutex_unlock(&mounts.lock);
    }
    close_place(&place);
}

uint32_t source_of_mount(struct stop *stop, int descriptor)
{
    struct resolved_path place;
    resolve_descriptor(stop, descriptor, &place);
    const char *source = place.resolved;
    pthread_mutex_lock(&mounts.lock);
    for (uint64_t back = 1; place.exists && back <= TREES && back <= mounts.next_tree; back++) {
        size_t at = (mounts.next_tree - back) % TREES;
        if (mounts.trees[at].dev == place.found.st_dev && mounts.trees[at].ino == place.found.st_ino) {
            source = mounts.trees[at].path;
            break;
        }
    }
    uint32_t text = intern_text(stop->run, source);
    pthread_mutex_unlock(&mounts.lock);
    close_place(&place);
    return text;
}
