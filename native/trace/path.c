/* What a path means to the caller: looked up by the kernel through /proc/TID/{cwd,root,fd}, never modelled.
 *
 * Everything is opened with O_PATH, which has no effect on what it names: it neither waits for a FIFO nor
 * wakes a device. While no process of the run has changed its root or its mounts, absolute paths mean the
 * same to us.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "path.h"
#include "probe_record.h"
#include "procfs.h"
#include "seccomp.h"
#include "text.h"

#define MAX_LINKS 8

const char *as_the_caller(const struct stop *stop, const char *path, char rewritten[PATH_MAX])
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

void base_path(const struct stop *stop, int dir, char base[64])
{
    if (dir == AT_FDCWD)
        snprintf(base, 64, "/proc/%d/cwd", stop->tid);
    else
        snprintf(base, 64, "/proc/%d/fd/%d", stop->tid, dir);
}

ssize_t read_link(const char *path, char into[PATH_MAX])
{
    ssize_t length = readlink(path, into, PATH_MAX - 1);
    into[length < 0 ? 0 : length] = 0;
    return length;
}

/* Opens `path` as the caller would; a descriptor or -errno. */
static int look_up(const struct stop *stop, int dir, const char *path, int flags)
{
    char base[64], joined[PATH_MAX];
    if (path[0] == '/') {
        if (stop->other_root)
            return open_in_root(stop, as_the_caller(stop, path, joined), flags);
        int fd = open(as_the_caller(stop, path, joined), LOOK | flags);
        return fd < 0 ? -errno : fd;
    }
    base_path(stop, dir, base);
    if (stop->other_root) {
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

bool name_of(const struct stop *stop, int fd, struct resolved_path *place)
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

/* Whether the next directory of ours on the way lies in another file system than a file of this name. */
static bool lies_elsewhere(const char *path, const struct stat *found)
{
    char parent[PATH_MAX];
    struct stat ours;
    snprintf(parent, sizeof parent, "%s", path);
    for (char *slash; (slash = strrchr(parent, '/'));) {
        *slash = 0;
        if (lstat(parent[0] ? parent : "/", &ours) == 0)
            return ours.st_dev != found->st_dev || strncmp(path, "/proc/", 6) == 0; /* of a process that is gone: nobody's */
    }
    return false;
}

void compare_roots(struct resolved_path *place, const char *path, const struct stat *found)
{
    struct stat ours;
    if (!(place->notes & NOTE_OTHER_ROOT))
        return;
    bool there = lstat(path, &ours) == 0;
    place->compared = there || lies_elsewhere(path, found);
    if (there && ours.st_dev == found->st_dev && ours.st_ino == found->st_ino)
        place->notes &= (uint16_t)~NOTE_OTHER_ROOT;
}

bool is_called(const char *name, const struct stat *found)
{
    struct stat named;
    return lstat(name, &named) == 0 && named.st_dev == found->st_dev && named.st_ino == found->st_ino;
}

static void strip_deleted(struct resolved_path *place)
{
    static const char mark[] = " (deleted)";
    size_t length = strlen(place->resolved), tail = sizeof mark - 1;
    if (length <= tail || strcmp(place->resolved + length - tail, mark) != 0)
        return;
    if (!place->found.st_nlink || !is_called(place->resolved, &place->found)) { /* that name of it, at least, is gone */
        place->resolved[length - tail] = 0;
        place->notes |= NOTE_DELETED;
    }
}

/* Words instead of a look: for what cannot be reached. A name that would be relative, or is longer than we
 * can tell, is none. */
static void join_by_words(const struct stop *stop, int dir, const char *path, struct resolved_path *place)
{
    char base[64], start[PATH_MAX] = "";
    base_path(stop, dir, base);
    if (path[0] != '/' && read_link(base, start) < 0)
        start[0] = 0;
    place->resolved[0] = 0;
    if ((path[0] == '/' || start[0] == '/') && strlen(start) + strlen(path) + 2 <= PATH_MAX)
        join_paths(start, path, place->resolved, PATH_MAX);
    place->notes |= NOTE_NOT_RESOLVED;
}

void read_target(struct resolved_path *place)
{
    if (S_ISLNK(place->found.st_mode)) {
        ssize_t length = readlinkat(place->fd, "", place->target, PATH_MAX - 1);
        place->target[length < 0 ? 0 : length] = 0;
    }
}

/* The name that /proc tells of a file in a mount that lies in no directory begins at the root of that mount. */
static bool is_misleading(const struct stop *stop, const struct resolved_path *place, const struct stat *found)
{
    bool may_be = atomic_load(&stop->run->mounts_detached) && !(place->notes & (NOTE_OTHER_ROOT | NOTE_DELETED));
    return may_be && place->resolved[0] == '/' && !is_called(place->resolved, found);
}

void take(const struct stop *stop, int dir, const char *path, int fd, struct resolved_path *place)
{
    place->fd = fd;
    place->exists = fstat(fd, &place->found) == 0;
    if (!name_of(stop, fd, place))
        join_by_words(stop, dir, path, place);
    else
        strip_deleted(place);
    if (is_misleading(stop, place, &place->found)) {
        place->resolved[0] = 0;
        place->notes |= NOTE_NOT_RESOLVED;
    }
    compare_roots(place, place->resolved, &place->found);
    read_target(place);
}

/* The last name of a path, behind `start` bytes: its length, or 0 where there is none that could be made. */
static size_t entry_of(const char *path, size_t *start)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    for (*start = length; *start > 0 && path[*start - 1] != '/';)
        --*start;
    const char *name = path + *start;
    length -= *start;
    bool special = (length == 1 && name[0] == '.') || (length == 2 && name[0] == '.' && name[1] == '.');
    return special ? 0 : length;
}

/* The directory, which is there, gives the name that would be made in it. */
static void name_entry(const struct stop *stop, int directory, const char *name, size_t length, struct resolved_path *place)
{
    struct stat found;
    bool named = name_of(stop, directory, place) && fstat(directory, &found) == 0 && !is_misleading(stop, place, &found);
    if (named)
        compare_roots(place, place->resolved, &found);
    close(directory);
    size_t used = strlen(place->resolved);
    if (named && used + 1 + length < PATH_MAX) {
        snprintf(place->resolved + used, PATH_MAX - used, "%s%.*s", used > 1 ? "/" : "", (int)length, name);
        return;
    }
    place->resolved[0] = 0;
    place->error = ENAMETOOLONG; /* longer than we can name, not than it may be */
    place->notes |= NOTE_NOT_RESOLVED;
}

/* Nothing is there: its directory is, perhaps, and gives the name that would be made. */
static void resolve_absent(const struct stop *stop, int dir, const char *path, struct resolved_path *place)
{
    char parent[PATH_MAX];
    size_t start, length = entry_of(path, &start);
    snprintf(parent, sizeof parent, "%.*s", (int)start, path);
    int directory = length ? look_up(stop, dir, start ? parent : ".", O_DIRECTORY) : -1;
    if (directory >= 0)
        name_entry(stop, directory, path + start, length, place);
    else
        join_by_words(stop, dir, path, place);
}

/* "FILE/" and "FILE/." name nothing, but FILE is there, and it is what the record must not call absent. */
static bool is_file_with_slash(const struct stop *stop, int dir, const char *path, struct resolved_path *place)
{
    char name[PATH_MAX];
    if (!ends_as_directory(path))
        return false;
    snprintf(name, sizeof name, "%s", path);
    while (name[1] && ends_as_directory(name))
        name[strlen(name) - 1] = 0;
    int fd = look_up(stop, dir, name, O_NOFOLLOW);
    if (fd >= 0)
        take(stop, dir, name, fd, place);
    return fd >= 0;
}

static void not_there(const struct stop *stop, int dir, const char *path, int error, struct resolved_path *place)
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

void start_place(const struct stop *stop, struct resolved_path *place)
{
    place->resolved[0] = place->target[0] = 0;
    place->fd = -1;
    place->error = 0;
    place->exists = place->known_result = place->compared = false;
    memset(&place->found, 0, sizeof place->found);
    /* Beside a filter nothing has changed yet: before it lets a change through, the ring is read. */
    bool passes = stop->call && !stops_beside_probe(stop->call, stop->args);
    bool late = stop->probed && (stop->run->listener < 0 || atomic_load(&stop->run->looks_are_late) || !passes);
    place->notes = (uint16_t)((stop->other_root ? NOTE_OTHER_ROOT : 0) | (late ? NOTE_LATE : 0));
}

/* What lies below /proc/self/cwd: the probe took along where that led. NULL: it is another path. */
static const char *below_own_cwd(const struct stop *stop, const char *path, char rewritten[PATH_MAX])
{
    char own[2][64];
    const char *means = as_the_caller(stop, path, rewritten);
    snprintf(own[0], sizeof own[0], "/proc/%d/cwd", stop->pid);
    snprintf(own[1], sizeof own[1], "/proc/%d/task/%d/cwd", stop->pid, stop->tid);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        size_t length = strlen(own[i]);
        if (strncmp(means, own[i], length) != 0 || means[length] != '/')
            continue;
        const char *rest = means + length + strspn(means + length, "/");
        return *rest && find_part(stop->probed, PART_BASE, (uint64_t)(int64_t)AT_FDCWD) ? rest : NULL;
    }
    return NULL;
}

/* A change through what a process has in /proc. Nothing is ever made or removed in /proc itself. */
static bool changes_through_a_process(const struct stop *stop, const char *path)
{
    static const char processes[] = "/proc/";
    char plain[PATH_MAX];
    if (!stop->probed || !stop->call || !op_changes(stop->call->op) || stop->call->op == OP_LINK || path[0] != '/')
        return false;
    join_paths("", path, plain, sizeof plain);
    const char *first = plain + sizeof processes - 1;
    return strncmp(plain, processes, sizeof processes - 1) == 0 && *first >= '0' && *first <= '9' && probed_success(stop->probed);
}

void resolve(struct stop *stop, int dir, const char *path, int nofollow, struct resolved_path *place)
{
    start_place(stop, place);
    if (stop->notes & (NOTE_PATH_UNREADABLE | NOTE_PATH_CUT)) {
        place->error = stop->notes & NOTE_PATH_CUT ? ENAMETOOLONG : EFAULT;
        place->known_result = stop->notes & NOTE_PATH_CUT && !stop->probed; /* the probe may cut what the kernel does not */
        place->notes |= NOTE_NOT_RESOLVED;
        return;
    }
    if (!path[0]) { /* names nothing, not even the working directory */
        place->error = ENOENT;
        place->known_result = true;
        return;
    }
    char words[PATH_MAX], rewritten[PATH_MAX];
    const char *below_cwd = stop->probed ? below_own_cwd(stop, path, rewritten) : NULL;
    if (below_cwd)
        path = below_cwd, dir = AT_FDCWD;
    /* A link makes another name of a file that has none yet: that name is what counts. */
    bool by_process = stop->probed && !below_cwd && stop->call && stop->call->op != OP_LINK && differs_by_caller(stop, path);
    if (stop->probed && path[0] != '/') { /* its directory is known; the process may be gone */
        if (!probed_words(stop->probed, dir, path, words)) {
            const struct probe_part *base = find_part(stop->probed, PART_BASE, (uint64_t)(int64_t)dir);
            bool nameless = base ? base->flags & NAME_DELETED : !probed_success(stop->probed);
            place->error = nameless ? EBADF : ENAMETOOLONG; /* longer than we can name, not than it may be */
            place->notes |= NOTE_NOT_RESOLVED;
            return;
        }
        path = words, dir = AT_FDCWD;
    }
    bool through_a_process = !below_cwd && changes_through_a_process(stop, path);
    if (nofollow && !through_a_process && resolve_by_words(stop, dir, path, place))
        return;
    int fd = look_up(stop, dir, path, nofollow ? O_NOFOLLOW : 0);
    if (fd >= 0) {
        take(stop, dir, path, fd, place);
        return;
    }
    if (by_process && probed_own_descriptor(stop->probed, path, words)) { /* it had it open; the probe took its name along */
        fd = look_up(stop, AT_FDCWD, words, O_NOFOLLOW);
        if (fd >= 0) {
            take(stop, AT_FDCWD, words, fd, place);
            return;
        }
    }
    not_there(stop, dir, path, -fd, place);
    bool led_nowhere = by_process && place->notes & NOTE_NOT_RESOLVED;
    if (led_nowhere || (through_a_process && strncmp(place->resolved, "/proc/", sizeof "/proc/" - 1) == 0)) {
        place->resolved[0] = 0; /* the process is gone, and with it what its name in /proc led to */
        place->error = ENAMETOOLONG;
        place->notes |= NOTE_NOT_RESOLVED;
    }
}

/* As `resolve_absent`, by the same rules. */
static void absent_as_asked(struct stop *stop, int base, int dir, const char *path, uint64_t rules, struct resolved_path *place)
{
    char parent[PATH_MAX];
    size_t start, length = entry_of(path, &start);
    snprintf(parent, sizeof parent, "%.*s", (int)start, path);
    struct open_how how = {.flags = (uint64_t)(LOOK | O_DIRECTORY), .resolve = rules};
    bool may_be_made = base >= 0 && length && place->error == ENOENT;
    long directory = may_be_made ? syscall(SYS_openat2, base, start ? parent : ".", &how, sizeof how) : -1;
    if (directory >= 0)
        name_entry(stop, (int)directory, path + start, length, place);
    else
        join_by_words(stop, dir, rules & RESOLVE_IN_ROOT ? path + strspn(path, "/") : path, place);
}

void resolve_as_asked(struct stop *stop, int dir, const char *path, uint64_t rules, int nofollow, struct resolved_path *place)
{
    char base[64];
    if (stop->probed) { /* the file that was opened will tell */
        resolve(stop, dir, rules & RESOLVE_IN_ROOT ? path + strspn(path, "/") : path, NOFOLLOW, place);
        return;
    }
    if (stop->notes & (NOTE_PATH_UNREADABLE | NOTE_PATH_CUT)) {
        resolve(stop, dir, path, nofollow, place); /* nothing to look up, whatever the rules */
        return;
    }
    start_place(stop, place);
    base_path(stop, dir, base);
    int directory = open(base, LOOK);
    struct open_how how = {.flags = (uint64_t)(LOOK | (nofollow ? O_NOFOLLOW : 0)), .resolve = rules};
    long fd = directory < 0 ? -1 : syscall(SYS_openat2, directory, path, &how, sizeof how);
    if (fd >= 0) {
        take(stop, dir, path, (int)fd, place);
    } else {
        place->error = errno;
        place->known_result = errno == ENOENT || errno == ELOOP || errno == EXDEV;
        absent_as_asked(stop, directory, dir, path, rules, place);
    }
    if (directory >= 0)
        close(directory);
}

/* A link that leads nowhere: where would it lead? `place` holds the link; it becomes the place behind it. */
void resolve_dangling(struct stop *stop, struct resolved_path *place)
{
    for (int depth = 0; depth < MAX_LINKS; depth++) {
        char path[PATH_MAX], parent[PATH_MAX];
        if (place->resolved[0] != '/' && place->target[0] != '/') { /* from where, we cannot tell */
            close_place(place);
            place->exists = false;
            place->error = ENAMETOOLONG;
            return;
        }
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

/* Two looks that agree: the caller waits, and nobody else can change what the descriptor is in between. */
static bool look_at_descriptor(const struct stop *stop, const char *link, struct resolved_path *place)
{
    struct stat found;
    if (!stop->only_looks || !stop->single_threaded || stat(link, &found) != 0 || S_ISLNK(found.st_mode) ||
        read_link(link, place->resolved) < 0)
        return false;
    place->found = found;
    place->exists = true;
    strip_deleted(place);
    compare_roots(place, place->resolved, &place->found);
    return true;
}

void resolve_descriptor(struct stop *stop, int number, struct resolved_path *place)
{
    char link[64];
    start_place(stop, place);
    if (stop->probed) {
        const struct probe_part *part = find_part(stop->probed, PART_FILE, (uint32_t)number);
        place->error = EBADF;
        place->known_result = !part;
        place->notes |= part ? 0 : NOTE_NOT_RESOLVED;
        if (part)
            probed_file(part, place);
        return;
    }
    snprintf(link, sizeof link, "/proc/%d/fd/%d", stop->tid, number);
    if (look_at_descriptor(stop, link, place))
        return;
    int fd = open(link, LOOK);
    if (fd < 0) {
        place->error = errno == ENOENT ? EBADF : errno;
        place->known_result = place->error == EBADF;
        place->notes |= NOTE_NOT_RESOLVED;
        return;
    }
    take(stop, number, "", fd, place);
}

/* A descriptor of the caller's tells which file system the handle is of. Whoever may use handles at all may
 * do so here. */
static int open_handle(const struct stop *stop, int mount, uint64_t address)
{
    char base[64], name[80];
    union {
        struct file_handle handle;
        uint8_t bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } read = {0};
    size_t fixed = sizeof read.handle;
    if (read_memory(stop->tid, address, &read, fixed) != (ssize_t)fixed || read.handle.handle_bytes > MAX_HANDLE_SZ)
        return -1;
    size_t rest = read.handle.handle_bytes;
    if (read_memory(stop->tid, address + fixed, read.bytes + fixed, rest) != (ssize_t)rest)
        return -1;
    base_path(stop, mount, base);
    snprintf(name, sizeof name, "%s/.", base); /* a directory only: to open it does nothing to it */
    int directory = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = directory < 0 ? -1 : open_by_handle_at(directory, &read.handle, LOOK);
    if (directory >= 0)
        close(directory);
    return fd;
}

void resolve_handle(struct stop *stop, int mount, uint64_t address, struct resolved_path *place)
{
    start_place(stop, place);
    const struct probed_call *seen = stop->probed && probed_success(stop->probed) ? stop->probed : NULL;
    const struct probe_part *part = seen ? find_part(seen, PART_FILE, (uint32_t)seen->record->result) : NULL;
    int fd = stop->probed ? -1 : open_handle(stop, mount, address);
    place->notes |= fd < 0 ? NOTE_NOT_RESOLVED : 0;
    place->error = fd < 0 ? ENAMETOOLONG : 0; /* it is there, perhaps, and we have no name for it */
    if (part)
        probed_file(part, place);
    else if (fd >= 0)
        take(stop, mount, "", fd, place);
}

void close_place(struct resolved_path *place)
{
    if (place->fd >= 0)
        close(place->fd);
    place->fd = -1;
}
