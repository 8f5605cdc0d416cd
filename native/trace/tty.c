/* Telling stdout from stderr on a terminal: the calls that write on it, copy its descriptors, and open it by
 * name.
 *
 * A write on the terminal is done by us in the caller's place (tty_writer.c). A terminal that is opened by
 * name is opened by us, so that we hold that open file as well. A descriptor that the filter would not see
 * writes on is put on a number where it does.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "path.h"
#include "path_event.h"
#include "processes.h"
#include "procfs.h"
#include "ring.h"
#include "seccomp.h"
#include "tty.h"
#include "tty_writer.h"

/* Which stream a descriptor of the caller's belongs to.
 *
 * The command's 0, 1 and 2 are three open files of one terminal. We hold each of them, and kcmp(2) tells
 * whether a descriptor is one of ours, however often it was duplicated, inherited or passed on. Evidence
 * comes first; the rule for what is left is that it is told as stdout, and counted apart.
 */
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

struct tty_file *hold_file(struct run *run, int fd, enum stream stream, bool by_name)
{
    struct split *split = run->split;
    size_t at = 0;
    if (split->count == MOST_HELD)
        let_go_of_oldest(split);
    if (search(split, run->own_pid, run->own_pid, fd, &at) != 0)
        return NULL;
    memmove(&split->held[at + 1], &split->held[at], (split->count - at) * sizeof split->held[0]);
    split->held[at] = (struct tty_file){fd, stream, by_name, ++split->clock};
    split->count++;
    return &split->held[at];
}

/* A file of the terminal that came into being unseen. */
static struct tty_file *hold_stranger(struct stop *stop, int fd)
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
    struct tty_file *held = taken < 0 ? NULL : hold_file(stop->run, taken, STREAM_NONE, true);
    if (taken >= 0 && !held)
        close(taken);
    return held;
}

/* The terminal's file behind a descriptor, or NULL: then `error` tells whether that is certain. */
struct tty_file *find_tty_file(struct stop *stop, int fd, int *error)
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

/* A file without a stream of its own belongs to the standard descriptor that it is, too; else it is told as
 * stdout. */
enum stream stream_of(struct stop *stop, struct tty_file *held, int fd)
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

#define MOST_BYTES 0x7ffff000u /* of one write, as the kernel has it */
/* Where the addresses of a program end, and the bits of one that mean a place: aarch64 lets programs mark
 * pointers in the highest byte. */
#if defined(__aarch64__)
#define USER_END ((uint64_t)1 << 52)
#define PLACE_BITS (((uint64_t)1 << 56) - 1)
#else
#define USER_END ((uint64_t)1 << 47)
#define PLACE_BITS UINT64_MAX
#endif
#define LOOK_AGAIN_MS 10
#define ONE_MOMENT_NS 1000000u
#define OPEN_FLAGS_KEPT (O_ACCMODE | O_NONBLOCK | O_APPEND | O_SYNC | O_DSYNC | O_DIRECT | O_LARGEFILE | O_NOATIME)

/* --- writes ---------------------------------------------------------------------------------------------- */

static bool add_part(struct pending *pending, uint64_t address, uint64_t length)
{
    address &= PLACE_BITS;
    if (length > INT64_MAX || address + length > USER_END || address + length < address)
        return false;
    if (length > MOST_BYTES - pending->total)
        length = MOST_BYTES - pending->total;
    pending->parts[pending->count++] = (struct iovec){(void *)(uintptr_t)address, (size_t)length};
    pending->total += (size_t)length;
    return true;
}

static bool add_vector(struct stop *stop, struct pending *pending)
{
    uint64_t words[2 * MOST_PARTS];
    uint32_t half_words[2 * MOST_PARTS];
    uint64_t count = stop->args[2];
    if (count > MOST_PARTS)
        return false;
    size_t size = 2 * count * (stop->compat ? sizeof half_words[0] : sizeof words[0]);
    void *into = stop->compat ? (void *)half_words : (void *)words;
    if (read_memory(stop->tid, stop->args[1], into, size) != (ssize_t)size)
        return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t address = stop->compat ? half_words[2 * i] : words[2 * i];
        uint64_t length = stop->compat ? half_words[2 * i + 1] : words[2 * i + 1];
        if ((stop->compat && length > INT32_MAX) || !add_part(pending, address, length))
            return false;
    }
    return true;
}

/* False: there is nothing to write, or the kernel will refuse it. */
static bool collect_parts(struct stop *stop, struct pending *pending)
{
    uint64_t nowhere = stop->compat ? UINT32_MAX : UINT64_MAX;
    bool at_a_place = stop->call->arg >= 0 && argument(stop, stop->call->arg) != nowhere;
    uint32_t flags = (uint32_t)argument(stop, stop->call->flags); /* the kernel takes an int: what is above it means nothing */
    if (at_a_place || flags & ~(uint32_t)(RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_APPEND))
        return false; /* a terminal has no places, and cannot do otherwise than wait */
    bool whole = stop->call->traits & TRAIT_MANY ? add_vector(stop, pending)
                                                 : add_part(pending, stop->args[1], stop->args[2]);
    return whole && pending->total > 0;
}

static bool ignores_sigttou(pid_t tid)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", tid);
    FILE *file = fopen(path, "re");
    uint64_t set = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "SigBlk:", 7) == 0 || strncmp(line, "SigIgn:", 7) == 0)
            set |= strtoull(line + 7, NULL, 16);
    }
    if (file)
        fclose(file);
    return set & (1u << (SIGTTOU - 1));
}

/* Asked once in a moment: a job is not put into the background faster than that. The lock is held. */
static bool background_stops(struct run *run, int terminal)
{
    struct split *split = run->split;
    struct termios modes;
    uint64_t now = now_ns(run);
    if (now - split->modes_read_ns >= ONE_MOMENT_NS) {
        split->modes_read_ns = now;
        split->background_stops = tcgetattr(terminal, &modes) == 0 && modes.c_lflag & TOSTOP;
    }
    return split->background_stops;
}

/* Whether the kernel would stop the caller, or refuse it, for writing from the background. */
static bool may_not_write(struct stop *stop, int terminal)
{
    return background_stops(stop->run, terminal) && getsid(stop->tid) == stop->run->split->session &&
           getpgid(stop->tid) != tcgetpgrp(terminal) && !ignores_sigttou(stop->tid);
}

static bool is_of_terminal(const struct split *split, const struct stat *found)
{
    return S_ISCHR(found->st_mode) && (found->st_rdev == split->device || found->st_rdev == CONTROLLING_TERMINAL);
}

static void count_unattributed(struct run *run, uint64_t bytes)
{
    __atomic_fetch_add(&run->header->split_unattributed, bytes, __ATOMIC_RELAXED);
}

/* It does not write: it stops, and is called again when it continues. Should it write after all, we will know
 * that it did not come back. The lock is held. */
static void leave_to_kernel(struct stop *stop, uint64_t length)
{
    struct left_write *free_slot = &stop->run->split->left[0];
    for (size_t i = 0; i < sizeof stop->run->split->left / sizeof *free_slot; i++) {
        if (stop->run->split->left[i].tid == 0)
            free_slot = &stop->run->split->left[i];
    }
    if (free_slot->tid)
        count_unattributed(stop->run, free_slot->length);
    *free_slot = (struct left_write){stop->tid, stop->args[1], length};
}

static void came_back(struct stop *stop)
{
    for (size_t i = 0; i < sizeof stop->run->split->left / sizeof stop->run->split->left[0]; i++) {
        struct left_write *left = &stop->run->split->left[i];
        if (left->tid == stop->tid && left->address == stop->args[1])
            left->tid = 0;
    }
}

/* What the write needs; false when the kernel is to deal with it. The lock is held. */
static bool prepare_write(struct stop *stop, struct pending *pending)
{
    struct wire_header *header = stop->run->header;
    int error = 0;
    struct tty_file *held = find_tty_file(stop, (int)stop->args[0], &error);
    if (!held) {
        if (error == EPERM || error == EACCES) /* it may be the terminal */
            count_unattributed(stop->run, stop->call->traits & TRAIT_MANY ? 1 : stop->args[2]);
        return false;
    }
    int flags = fcntl(held->fd, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || flags & O_PATH)
        return false;
    enum stream stream = stream_of(stop, held, (int)stop->args[0]);
    pending->stream = stream == STREAM_STDERR ? STREAM_STDERR : STREAM_STDOUT;
    pending->counter = stream == STREAM_STDERR   ? &header->split_stderr
                       : stream == STREAM_STDOUT ? &header->split_stdout
                                                 : &header->split_tty;
    pending->may_wait = !(flags & O_NONBLOCK);
    return true;
}

/* Nobody held the terminal when the splitting ended; somebody who opened it since would be in neither stream. */
static void count_what_comes_late(struct stop *stop, int fd, uint64_t length)
{
    char path[64];
    struct stat found;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", stop->tid, fd);
    if (stat(path, &found) == 0 && is_of_terminal(stop->run->split, &found))
        count_unattributed(stop->run, length < MOST_BYTES ? length : MOST_BYTES);
}

void sys_write(struct stop *stop)
{
    struct split *split = stop->run->split;
    struct {
        struct pending pending;
        struct iovec parts[MOST_PARTS];
    } write; /* the parts are many, and mostly one is used */
    if (!split)
        return;
    if (atomic_load(&split->over)) {
        count_what_comes_late(stop, (int)stop->args[0], stop->call->traits & TRAIT_MANY ? 1 : stop->args[2]);
        return;
    }
    write.pending = (struct pending){.id = stop->notif->id, .tid = stop->tid};
    pthread_mutex_lock(&split->lock);
    bool ours = prepare_write(stop, &write.pending);
    pthread_mutex_unlock(&split->lock);
    if (!ours || !collect_parts(stop, &write.pending))
        return;
    pthread_mutex_lock(&split->lock);
    came_back(stop);
    bool stops = may_not_write(stop, terminal_of(split->writer));
    if (stops)
        leave_to_kernel(stop, write.pending.total);
    pthread_mutex_unlock(&split->lock);
    if (!stops)
        stop->answered = write_terminal(split->writer, stop, &write.pending);
}

/* Bytes that go from file to file without passing the caller's memory: at most so many reach the terminal
 * unseen. */
void sys_transfer(struct stop *stop)
{
    struct split *split = stop->run->split;
    int error, to = split ? directory(stop, stop->call->dir) : -1;
    uint64_t length = argument(stop, stop->call->arg);
    if (!split)
        return;
    if (atomic_load(&split->over)) {
        count_what_comes_late(stop, to, length);
        return;
    }
    pthread_mutex_lock(&split->lock);
    if (find_tty_file(stop, to, &error))
        count_unattributed(stop->run, length < MOST_BYTES ? length : MOST_BYTES);
    pthread_mutex_unlock(&split->lock);
}

/* --- descriptors ----------------------------------------------------------------------------------------- */

static bool is_free(const struct stop *stop, unsigned number)
{
    return compare_files(stop->tid, (int)number, stop->tid, (int)number) == -EBADF;
}

static bool is_watched(uint64_t number)
{
    return number < LOW_WATCHED || number == ALONE_WATCHED ||
           (number >= SPLIT_FIRST && number < SPLIT_FIRST + SPLIT_COUNT);
}

/* Whether the number that the kernel would choose is watched. */
static bool lands_watched(const struct stop *stop, uint64_t least)
{
    for (uint64_t number = least; number < LOW_WATCHED; number++) {
        if (is_free(stop, (unsigned)number))
            return true;
    }
    return false;
}

/* Gives the caller our file and answers with its number. The lock is held, so that no two threads take one
 * number. */
static bool inject(struct stop *stop, struct seccomp_notif_addfd added)
{
    added.id = stop->notif->id;
    added.flags |= SECCOMP_ADDFD_FLAG_SEND;
    stop->answered = ioctl(stop->run->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &added) >= 0 || errno == ENOENT;
    return stop->answered;
}

static bool inject_reserved(struct stop *stop, int fd, uint64_t least, uint32_t fd_flags)
{
    uint64_t number = least > SPLIT_FIRST ? least : SPLIT_FIRST;
    while (number < SPLIT_FIRST + SPLIT_COUNT && !is_free(stop, (unsigned)number))
        number++;
    return number < SPLIT_FIRST + SPLIT_COUNT &&
           inject(stop, (struct seccomp_notif_addfd){.flags = SECCOMP_ADDFD_FLAG_SETFD, .srcfd = (uint32_t)fd,
                                                     .newfd = (uint32_t)number, .newfd_flags = fd_flags});
}

static void follow_copy(struct stop *stop, struct tty_file *held)
{
    bool by_fcntl = stop->call->when == WHEN_FCNTL, to_number = !by_fcntl && stop->call->arg >= 0;
    if (to_number) {
        uint64_t target = (uint32_t)argument(stop, stop->call->arg);
        if (held->by_name && held->stream == STREAM_NONE && (target == STREAM_STDOUT || target == STREAM_STDERR))
            held->stream = (enum stream)target;
        if (!is_watched(target))
            count(&stop->run->header->split_unwatched);
        return;
    }
    uint64_t least = by_fcntl ? (uint32_t)stop->args[2] : 0;
    uint32_t fd_flags = by_fcntl && stop->args[1] == F_DUPFD_CLOEXEC ? O_CLOEXEC : 0;
    if (!lands_watched(stop, least) && !inject_reserved(stop, held->fd, least, fd_flags))
        count(&stop->run->header->split_unwatched);
}

void sys_dup(struct stop *stop)
{
    struct split *split = stop->run->split;
    int error;
    if (!split || atomic_load(&split->over))
        return;
    pthread_mutex_lock(&split->lock);
    struct tty_file *held = find_tty_file(stop, (int)stop->args[0], &error);
    if (held)
        follow_copy(stop, held);
    pthread_mutex_unlock(&split->lock);
}

/* --- terminals that are opened by name -------------------------------------------------------------------- */

static bool same_user(pid_t tid)
{
    char path[64];
    struct stat found;
    snprintf(path, sizeof path, "/proc/%d", tid);
    return stat(path, &found) == 0 && found.st_uid == geteuid();
}

/* /dev/stderr and its like name a descriptor of the caller's; -1: the name is of another kind. */
static int named_descriptor(struct stop *stop)
{
    static const char *const prefixes[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
    char path[PATH_MAX];
    if (!read_path(stop, stop->call->path, path))
        return -1;
    if (strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0)
        return strcmp(path, "/dev/stdout") == 0 ? 1 : 2;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        size_t length = strlen(prefixes[i]);
        if (strncmp(path, prefixes[i], length) == 0 && path[length] >= '0' && path[length] <= '9')
            return (int)strtol(path + length, NULL, 10);
    }
    return -1;
}

void split_on_open(struct stop *stop, const struct resolved_path *place, uint64_t flags)
{
    struct split *split = stop->run->split;
    if (atomic_load(&split->over) || !place->exists || place->fd < 0 || !S_ISCHR(place->found.st_mode))
        return;
    bool in_session = getsid(stop->tid) == split->session;
    if (place->found.st_rdev != split->device && !(place->found.st_rdev == CONTROLLING_TERMINAL && in_session))
        return;
    if ((flags & O_ACCMODE) == O_RDONLY || flags & (O_PATH | O_DIRECTORY) ||
        (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
        return; /* nothing can be written, or it will fail */
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", place->fd);
    bool may_become_its_terminal = !in_session && !(flags & O_NOCTTY);
    int fd = same_user(stop->tid) && !may_become_its_terminal
                 ? open(path, (int)(flags & OPEN_FLAGS_KEPT) | O_NOCTTY | O_CLOEXEC)
                 : -1;
    int named = named_descriptor(stop), error;
    pthread_mutex_lock(&split->lock);
    struct tty_file *through = named < 0 ? NULL : find_tty_file(stop, named, &error);
    enum stream stream = through ? through->stream : STREAM_NONE;
    struct tty_file *held = fd < 0 ? NULL : hold_file(stop->run, fd, stream, true);
    if (!held && fd >= 0)
        close(fd);
    bool low = lands_watched(stop, 0);
    uint32_t fd_flags = flags & O_CLOEXEC;
    bool given = held && (low ? inject(stop, (struct seccomp_notif_addfd){.srcfd = (uint32_t)fd, .newfd_flags = fd_flags})
                              : inject_reserved(stop, fd, 0, fd_flags));
    if (!given)
        atomic_store(&split->strangers, true);
    if (!given && !low)
        count(&stop->run->header->split_unwatched);
    pthread_mutex_unlock(&split->lock);
}

/* --- beginning and end ----------------------------------------------------------------------------------- */

static int own_copy(int fd)
{
    return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static bool is_terminal(const struct split *split, int fd)
{
    struct stat found;
    return fd >= 0 && fstat(fd, &found) == 0 && S_ISCHR(found.st_mode) && found.st_rdev == split->device;
}

int start_split(struct run *run)
{
    static const enum stream streams[] = {STREAM_NONE, STREAM_STDOUT, STREAM_STDERR};
    char path[64];
    struct stat found;
    struct split *split = calloc(1, sizeof *split);
    if (!split || pthread_mutex_init(&split->lock, NULL) != 0)
        return -ENOMEM;
    snprintf(path, sizeof path, "/proc/self/fd/%d", run->options.terminal);
    int terminal = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (terminal < 0 || fstat(terminal, &found) != 0)
        return -errno;
    split->device = found.st_rdev;
    run->split = split;
    for (int i = 0; i < 3; i++) {
        int copy = is_terminal(split, run->options.standard[i]) ? own_copy(run->options.standard[i]) : -1;
        if (copy >= 0 && !hold_file(run, copy, streams[i], false))
            close(copy); /* two of them are one open file: the first has it */
    }
    split->writer = start_terminal_writer(run, terminal, run->options.split);
    return split->writer ? 0 : -ENOMEM;
}

bool begin_split(struct run *run)
{
    run->split->session = getsid(0);
    return run_terminal_writer(run->split->writer) == 0;
}

static bool holds_terminal(pid_t pid, void *context)
{
    const struct split *split = context;
    char path[64];
    struct stat found;
    bool holds = false;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && !holds && (entry = readdir(directory));)
        holds = fstatat(dirfd(directory), entry->d_name, &found, 0) == 0 && is_of_terminal(split, &found);
    if (directory)
        closedir(directory);
    return holds;
}

/* Beside a probe we may not have heard yet of somebody who was born and holds it. */
static bool may_be_held(struct run *run)
{
    return (run->ring && !drain_ring(run)) || any_process(run, holds_terminal, run->split);
}

void end_split(struct run *run, bool at_once)
{
    struct split *split = run->split;
    if (!split || atomic_load(&split->over) || (!at_once && may_be_held(run)))
        return;
    atomic_store(&split->over, true);
    end_terminal_writer(split->writer);
    pthread_mutex_lock(&split->lock);
    for (size_t i = 0; i < split->count; i++)
        close(split->held[i].fd);
    split->count = 0;
    for (size_t i = 0; i < sizeof split->left / sizeof split->left[0]; i++) {
        if (split->left[i].tid)
            count_unattributed(run, split->left[i].length);
    }
    pthread_mutex_unlock(&split->lock);
}

int split_timeout(const struct run *run)
{
    return run->split && !atomic_load(&run->split->over) ? LOOK_AGAIN_MS : -1;
}
