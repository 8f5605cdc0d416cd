/* What a path means to the caller: looked up by the kernel through /proc/TID/{cwd,root,fd}, never modelled.
 *
 * Everything is opened with O_PATH, which has no effect on what it names: it neither waits for a FIFO nor wakes a
 * device. While no process of the run has changed its root or its mounts, absolute paths mean the same to us.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace.h"

#define MAX_LINKS 8
#define LOOK (O_PATH | O_CLOEXEC)

/* Paths that mean something else to each process. Rewrites `path` to what it means to the caller. */
static const char *as_the_caller(const struct stop *stop, const char *path, char rewritten[PATH_MAX])
{
    static const struct {
        const char *prefix, *means;
    } own[] = {{"/proc/self", "/proc/%d"},       {"/proc/thread-self", "/proc/%d/task/%d"}, {"/dev/fd", "/proc/%d/fd"},
               {"/dev/stdin", "/proc/%d/fd/0"},  {"/dev/stdout", "/proc/%d/fd/1"},          {"/dev/stderr", "/proc/%d/fd/2"}};
    const char *first = path + strspn(path, "/.");
    if (path[0] != '/' || (strncmp(first, "proc", 4) != 0 && strncmp(first, "dev", 3) != 0))
        return path;
    char plain[PATH_MAX];
    size_t plain_length = join_paths("", path, plain, sizeof plain - 1);
    if (path[strlen(path) - 1] == '/') /* then a link at the end is followed */
        memcpy(plain + plain_length, "/", 2);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        size_t length = strlen(own[i].prefix);
        if (strncmp(plain, own[i].prefix, length) != 0 || (plain[length] && plain[length] != '/'))
            continue;
        char means[64];
        snprintf(means, sizeof means, own[i].means, stop->pid, stop->tid);
        if (snprintf(rewritten, PATH_MAX, "%s%s", means, plain + length) < PATH_MAX)
            return rewritten;
    }
    return path;
}

bool differs_by_caller(const struct stop *stop, const char *path)
{
    char rewritten[PATH_MAX];
    return as_the_caller(stop, path, rewritten) == rewritten;
}

static int open_in_root(const struct stop *stop, const char *path, int flags)
{
    char root_path[64];
    snprintf(root_path, sizeof root_path, "/proc/%d/root", stop->tid);
    int root = open(root_path, LOOK | O_DIRECTORY);
    if (root < 0)
        return -errno;
    struct open_how how = {.flags = (uint64_t)(LOOK | flags), .resolve = RESOLVE_IN_ROOT};
    long fd = syscall(SYS_openat2, root, path, &how, sizeof how);
    int error = errno;
    close(root);
    return fd < 0 ? -error : (int)fd;
}

static void base_path(const struct stop *stop, int dir, char base[64])
{
    if (dir == AT_FDCWD)
        snprintf(base, 64, "/proc/%d/cwd", stop->tid);
    else
        snprintf(base, 64, "/proc/%d/fd/%d", stop->tid, dir);
}

static ssize_t read_link(const char *path, char into[PATH_MAX])
{
    ssize_t length = readlink(path, into, PATH_MAX - 1);
    into[length < 0 ? 0 : length] = 0;
    return length;
}

/* Opens `path` as the caller would; a descriptor or -errno. */
static int look_up(const struct stop *stop, int dir, const char *path, int flags)
{
    char base[64], joined[PATH_MAX];
    bool other_root = atomic_load(&stop->run->roots_differ);
    if (path[0] == '/') {
        if (other_root)
            return open_in_root(stop, as_the_caller(stop, path, joined), flags);
        int fd = open(as_the_caller(stop, path, joined), LOOK | flags);
        return fd < 0 ? -errno : fd;
    }
    base_path(stop, dir, base);
    if (other_root) {
        char start[PATH_MAX], root[PATH_MAX], root_link[64];
        snprintf(root_link, sizeof root_link, "/proc/%d/root", stop->tid);
        if (read_link(base, start) < 0 || read_link(root_link, root) < 0)
            return -errno;
        size_t skip = strcmp(root, "/") != 0 && strncmp(start, root, strlen(root)) == 0 ? strlen(root) : 0;
        if (start[skip] && start[skip] != '/')
            skip = 0; /* a directory beside the root whose name begins alike */
        join_paths(start + skip, path, joined, sizeof joined);
        return open_in_root(stop, joined, flags);
    }
    int directory = open(base, LOOK);
    if (directory < 0)
        return errno == ENOENT && dir != AT_FDCWD ? -EBADF : -errno;
    int fd = openat(directory, path, LOOK | flags);
    int error = errno;
    close(directory);
    return fd < 0 ? -error : fd;
}

/* The name of what is open, as the kernel has it now. */
static bool name_of(const struct stop *stop, int fd, struct place *place)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (read_link(link, place->resolved) < 0)
        return false;
    char own[32];
    int length = snprintf(own, sizeof own, "/proc/%d/", stop->run->own_pid);
    if (strncmp(place->resolved, own, (size_t)length) == 0) { /* it led through /proc/self */
        char rest[PATH_MAX];
        snprintf(rest, sizeof rest, "%s", place->resolved + length);
        if (snprintf(place->resolved, PATH_MAX, "/proc/%d/%s", stop->pid, rest) >= PATH_MAX)
            return false;
    }
    return true;
}

/* Another root or mount namespace is no other place if the name means the same file to us. */
static void compare_roots(struct place *place, const char *path, const struct stat *found)
{
    struct stat ours;
    if (place->notes & NOTE_OTHER_ROOT && lstat(path, &ours) == 0 && ours.st_dev == found->st_dev &&
        ours.st_ino == found->st_ino)
        place->notes &= (uint16_t)~NOTE_OTHER_ROOT;
}

static void strip_deleted(struct place *place)
{
    static const char mark[] = " (deleted)";
    size_t length = strlen(place->resolved), tail = sizeof mark - 1;
    struct stat named;
    if (length <= tail || strcmp(place->resolved + length - tail, mark) != 0)
        return;
    bool so_called = place->found.st_nlink && lstat(place->resolved, &named) == 0 &&
                     named.st_dev == place->found.st_dev && named.st_ino == place->found.st_ino;
    if (!so_called) { /* that name of it, at least, is gone */
        place->resolved[length - tail] = 0;
        place->notes |= NOTE_DELETED;
    }
}

/* Words instead of a look: for what cannot be reached. */
static void join_by_words(const struct stop *stop, int dir, const char *path, struct place *place)
{
    char base[64], start[PATH_MAX] = "";
    base_path(stop, dir, base);
    if (path[0] != '/' && read_link(base, start) < 0)
        start[0] = 0;
    if (path[0] != '/' && start[0] != '/')
        snprintf(place->resolved, PATH_MAX, "%s", path);
    else
        join_paths(start, path, place->resolved, PATH_MAX);
    place->notes |= NOTE_NOT_RESOLVED;
}

static void read_target(struct place *place)
{
    if (S_ISLNK(place->found.st_mode)) {
        ssize_t length = readlinkat(place->fd, "", place->target, PATH_MAX - 1);
        place->target[length < 0 ? 0 : length] = 0;
    }
}

static void take(const struct stop *stop, int dir, const char *path, int fd, struct place *place)
{
    place->fd = fd;
    place->exists = fstat(fd, &place->found) == 0;
    if (!name_of(stop, fd, place))
        join_by_words(stop, dir, path, place);
    else
        strip_deleted(place);
    compare_roots(place, place->resolved, &place->found);
    read_target(place);
}

/* Nothing is there: its directory is, perhaps, and gives the name that would be made. */
static void resolve_absent(const struct stop *stop, int dir, const char *path, struct place *place)
{
    char parent[PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t start = length;
    while (start > 0 && path[start - 1] != '/')
        start--;
    const char *name = path + start;
    size_t name_length = length - start;
    bool special = (name_length == 1 && name[0] == '.') || (name_length == 2 && name[0] == '.' && name[1] == '.');
    if (name_length && !special) {
        snprintf(parent, sizeof parent, "%.*s", (int)start, path);
        int fd = look_up(stop, dir, start ? parent : ".", O_DIRECTORY);
        if (fd >= 0) {
            bool named = name_of(stop, fd, place);
            struct stat directory;
            if (named && fstat(fd, &directory) == 0)
                compare_roots(place, place->resolved, &directory);
            close(fd);
            size_t used = strlen(place->resolved);
            if (named && used + 1 + name_length < PATH_MAX) {
                snprintf(place->resolved + used, PATH_MAX - used, "%s%.*s", used > 1 ? "/" : "", (int)name_length, name);
                return;
            }
        }
    }
    join_by_words(stop, dir, path, place);
}

/* "FILE/" names nothing, but FILE is there, and it is what the record must not call absent. */
static bool is_file_with_slash(const struct stop *stop, int dir, const char *path, struct place *place)
{
    char name[PATH_MAX];
    size_t length = strlen(path);
    if (length < 2 || path[length - 1] != '/')
        return false;
    while (length > 1 && path[length - 1] == '/')
        length--;
    snprintf(name, sizeof name, "%.*s", (int)length, path);
    int fd = look_up(stop, dir, name, O_NOFOLLOW);
    if (fd >= 0)
        take(stop, dir, name, fd, place);
    return fd >= 0;
}

static void not_there(const struct stop *stop, int dir, const char *path, int error, struct place *place)
{
    if (error == ENOTDIR && is_file_with_slash(stop, dir, path, place)) {
        place->error = error;
        place->known_result = true;
        return;
    }
    place->fd = -1;
    place->exists = false;
    place->error = error;
    resolve_absent(stop, dir, path, place);
    bool looked_up = error == ENOENT || error == ENOTDIR || error == ELOOP || error == ENAMETOOLONG;
    place->known_result = error == EBADF || (looked_up && !(place->notes & NOTE_NOT_RESOLVED));
}

static void start_place(const struct stop *stop, struct place *place)
{
    place->resolved[0] = place->target[0] = 0;
    place->fd = -1;
    place->error = 0;
    place->exists = place->known_result = false;
    memset(&place->found, 0, sizeof place->found);
    place->notes = atomic_load(&stop->run->roots_differ) ? NOTE_OTHER_ROOT : 0;
}

/* The absolute words of a path, if they can be had without a look at each part. */
static bool absolute_words(const struct stop *stop, int dir, const char *path, char words[PATH_MAX])
{
    static const char deleted[] = " (deleted)";
    char base[64], start[PATH_MAX], rewritten[PATH_MAX];
    if (strstr(path, "..") || !path[0])
        return false;
    if (path[0] == '/') {
        path = as_the_caller(stop, path, rewritten);
        return path != rewritten && join_paths("", path, words, PATH_MAX) < PATH_MAX - 1;
    }
    const char *cwd = dir == AT_FDCWD ? known_cwd(stop) : NULL;
    if (cwd && strlen(cwd) + strlen(path) + 2 <= PATH_MAX) {
        join_paths(cwd, path, words, PATH_MAX);
        return true;
    }
    base_path(stop, dir, base);
    ssize_t length = read_link(base, start);
    if (length <= 0 || start[0] != '/' || (size_t)length + strlen(path) + 2 > PATH_MAX)
        return false;
    size_t tail = sizeof deleted - 1;
    if ((size_t)length > tail && strcmp(start + length - tail, deleted) == 0)
        return false;
    if (dir == AT_FDCWD)
        note_cwd(stop, start);
    join_paths(start, path, words, PATH_MAX);
    return true;
}

/* Without a descriptor: enough for a call that only looks. */
static bool look_by_name(struct place *place)
{
    place->exists = lstat(place->resolved, &place->found) == 0;
    if (place->exists)
        return !S_ISLNK(place->found.st_mode);
    place->error = errno;
    return place->known_result = errno == ENOENT;
}

/* The common case: no link anywhere on the way. Then the words are the name, and one look is enough. */
static bool resolve_plainly(const struct stop *stop, int dir, const char *path, struct place *place)
{
    size_t length = strlen(path);
    if (atomic_load(&stop->run->roots_differ) || (length && path[length - 1] == '/'))
        return false;
    if (!absolute_words(stop, dir, path, place->resolved))
        return false;
    if (stop->only_looks && directory_is_plain(stop, place->resolved) && look_by_name(place))
        return true;
    struct open_how how = {.flags = (uint64_t)(LOOK | O_NOFOLLOW), .resolve = RESOLVE_NO_SYMLINKS};
    long fd = syscall(SYS_openat2, AT_FDCWD, place->resolved, &how, sizeof how);
    if (fd < 0 && errno != ENOENT)
        return false;
    place->fd = (int)fd;
    place->error = fd < 0 ? ENOENT : 0;
    place->known_result = fd < 0;
    place->exists = fd >= 0 && fstat((int)fd, &place->found) == 0;
    if (place->exists)
        note_plain_directory(stop, place->resolved);
    read_target(place); /* a link at the end of the way is opened itself */
    return true;
}

void resolve(struct stop *stop, int dir, const char *path, int nofollow, struct place *place)
{
    start_place(stop, place);
    if (stop->notes & (NOTE_PATH_UNREADABLE | NOTE_PATH_CUT)) {
        place->error = stop->notes & NOTE_PATH_CUT ? ENAMETOOLONG : EFAULT;
        place->notes |= NOTE_NOT_RESOLVED;
        return;
    }
    if (!path[0]) { /* names nothing, not even the working directory */
        place->error = ENOENT;
        place->known_result = true;
        return;
    }
    if (resolve_plainly(stop, dir, path, place)) {
        if (nofollow || !S_ISLNK(place->found.st_mode))
            return;
        close_place(place);
        start_place(stop, place);
    }
    int fd = look_up(stop, dir, path, nofollow ? O_NOFOLLOW : 0);
    if (fd < 0)
        not_there(stop, dir, path, -fd, place);
    else
        take(stop, dir, path, fd, place);
}

void resolve_as_asked(struct stop *stop, int dir, const char *path, uint64_t rules, int nofollow, struct place *place)
{
    char base[64];
    start_place(stop, place);
    base_path(stop, dir, base);
    int directory = stop->notes & (NOTE_PATH_UNREADABLE | NOTE_PATH_CUT) ? -1 : open(base, LOOK);
    struct open_how how = {.flags = (uint64_t)(LOOK | (nofollow ? O_NOFOLLOW : 0)), .resolve = rules};
    long fd = directory < 0 ? -1 : syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (fd >= 0) {
        take(stop, dir, path, (int)fd, place);
    } else {
        place->error = errno;
        place->known_result = errno == ENOENT || errno == ELOOP || errno == EXDEV;
        join_by_words(stop, dir, rules & RESOLVE_IN_ROOT ? path + strspn(path, "/") : path, place);
    }
    if (directory >= 0)
        close(directory);
}

/* A link that leads nowhere: where would it lead? `place` holds the link; it becomes the place behind it. */
void resolve_dangling(struct stop *stop, struct place *place)
{
    for (int depth = 0; depth < MAX_LINKS; depth++) {
        char path[PATH_MAX], parent[PATH_MAX];
        snprintf(parent, sizeof parent, "%s", place->resolved);
        char *slash = strrchr(parent, '/');
        if (slash)
            slash[slash == parent] = 0;
        if (join_paths(parent, place->target, path, sizeof path) == 0)
            return;
        close_place(place);
        resolve(stop, AT_FDCWD, path, NOFOLLOW, place);
        if (!place->exists || !S_ISLNK(place->found.st_mode))
            return;
    }
}

void resolve_descriptor(struct stop *stop, int number, struct place *place)
{
    char link[64];
    start_place(stop, place);
    snprintf(link, sizeof link, "/proc/%d/fd/%d", stop->tid, number);
    int fd = open(link, LOOK);
    if (fd < 0) {
        place->error = errno == ENOENT ? EBADF : errno;
        place->known_result = place->error == EBADF;
        place->notes |= NOTE_NOT_RESOLVED;
        return;
    }
    take(stop, number, "", fd, place);
}

void close_place(struct place *place)
{
    if (place->fd >= 0)
        close(place->fd);
    place->fd = -1;
}
