/* Which stream a descriptor of the caller's belongs to.
 *
 * The command's 0, 1 and 2 are three open files of one terminal. We hold each of them, and kcmp(2) tells whether a
 * descriptor is one of ours, however often it was duplicated, inherited or passed on. Evidence comes first; the rule
 * for what is left is that it is told as stdout, and counted apart.
 */
#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "split.h"

int compare_files(pid_t one, int fd, pid_t other, int other_fd)
{
    long order = syscall(SYS_kcmp, one, other, KCMP_FILE, (unsigned long)fd, (unsigned long)other_fd);
    return order < 0 ? -errno : (int)order;
}

/* Where it is, or where it would be; -errno of the comparison. */
static int search(struct split *split, pid_t own, pid_t tid, int fd, size_t *at)
{
    size_t low = 0, high = split->count;
    size_t likely = (unsigned)fd < sizeof split->likely / sizeof split->likely[0] ? split->likely[fd] : 0;
    if (likely && likely <= split->count && compare_files(own, split->held[likely - 1].fd, tid, fd) == SAME) {
        *at = likely - 1;
        return 1;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_files(own, split->held[middle].fd, tid, fd);
        if (order < 0)
            return order;
        if (order == SAME) {
            if ((unsigned)fd < sizeof split->likely / sizeof split->likely[0])
                split->likely[fd] = (uint16_t)(middle + 1);
            *at = middle;
            return 1;
        }
        if (order == LESS)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return 0;
}

static void let_go_of_oldest(struct split *split)
{
    size_t oldest = 0;
    bool found = false;
    for (size_t i = 0; i < split->count; i++) {
        if (split->held[i].by_name && (!found || split->held[i].used < split->held[oldest].used)) {
            oldest = i;
            found = true;
        }
    }
    close(split->held[oldest].fd);
    memmove(&split->held[oldest], &split->held[oldest + 1], (--split->count - oldest) * sizeof split->held[0]);
    atomic_store(&split->strangers, true);
}

struct held *hold_file(struct run *run, int fd, enum stream stream, bool by_name)
{
    struct split *split = run->split;
    size_t at = 0;
    if (split->count == MOST_HELD)
        let_go_of_oldest(split);
    if (search(split, run->own_pid, run->own_pid, fd, &at) != 0)
        return NULL;
    memmove(&split->held[at + 1], &split->held[at], (split->count - at) * sizeof split->held[0]);
    split->held[at] = (struct held){fd, stream, by_name, ++split->clock};
    split->count++;
    return &split->held[at];
}

/* A file of the terminal that came into being unseen. */
static struct held *hold_stranger(struct stop *stop, int fd)
{
    char path[64];
    struct stat found;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", stop->tid, fd);
    if (stat(path, &found) != 0 || !S_ISCHR(found.st_mode))
        return NULL;
    bool through_its_session = found.st_rdev == CONTROLLING_TERMINAL && getsid(stop->tid) == stop->run->split->session;
    if (found.st_rdev != stop->run->split->device && !through_its_session)
        return NULL;
    int taken = take_descriptor(stop->pid, fd);
    struct held *held = taken < 0 ? NULL : hold_file(stop->run, taken, STREAM_NONE, true);
    if (taken >= 0 && !held)
        close(taken);
    return held;
}

/* The terminal's file behind a descriptor, or NULL: then `error` tells whether that is certain. */
struct held *find_held(struct stop *stop, int fd, int *error)
{
    size_t at = 0;
    int found = search(stop->run->split, stop->run->own_pid, stop->tid, fd, &at);
    *error = found < 0 ? -found : 0;
    if (found == 0 && atomic_load(&stop->run->split->strangers))
        return hold_stranger(stop, fd);
    if (found <= 0)
        return NULL;
    stop->run->split->held[at].used = ++stop->run->split->clock;
    return &stop->run->split->held[at];
}

/* A file without a stream of its own belongs to the standard descriptor that it is, too; else it is told as stdout. */
enum stream stream_of(struct stop *stop, struct held *held, int fd)
{
    if (held->stream != STREAM_NONE)
        return held->stream;
    for (int standard = STREAM_STDOUT; standard <= STREAM_STDERR; standard++) {
        if (fd != standard && compare_files(stop->tid, fd, stop->tid, standard) != SAME)
            continue;
        if (held->by_name)
            held->stream = (enum stream)standard;
        return (enum stream)standard;
    }
    return STREAM_NONE;
}
