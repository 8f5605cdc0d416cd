/* What a path means to the caller, by its absolute words: the shorter way of resolving, for most paths.
 *
 * In: a path, and where it begins. Out: the place, or nothing, and then path.c goes the long way. Words are
 * never folded: what links and ".." on the way lead to is asked of the kernel, and remembered for a moment
 * (path_cache.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "path.h"
#include "path_cache.h"
#include "text.h"

static const char deleted[] = " (deleted)";

static bool ends_in(const char *text, size_t length, const char *tail)
{
    size_t tail_length = strlen(tail);
    return length > tail_length && strcmp(text + length - tail_length, tail) == 0;
}

/* The absolute words of a path, if they mean the same to everybody. */
static bool absolute_words(const struct stop *stop, int dir, const char *path, char words[PATH_MAX])
{
    char base[64], start[PATH_MAX], rewritten[PATH_MAX];
    if (path[0] == '/') {
        path = as_the_caller(stop, path, rewritten);
        return path != rewritten && join_paths("", path, words, PATH_MAX) < PATH_MAX - 1;
    }
    bool may_mislead = atomic_load(&stop->run->mounts_detached);
    const char *cwd = dir == AT_FDCWD && !may_mislead ? cached_cwd(stop) : NULL;
    if (cwd && strlen(cwd) + strlen(path) + 2 <= PATH_MAX) {
        join_paths(cwd, path, words, PATH_MAX);
        return true;
    }
    base_path(stop, dir, base);
    ssize_t length = read_link(base, start);
    if (length <= 0 || start[0] != '/' || (size_t)length + strlen(path) + 2 > PATH_MAX)
        return false;
    struct stat found;
    if (ends_in(start, (size_t)length, deleted) || (may_mislead && (stat(base, &found) != 0 || !is_called(start, &found))))
        return false;
    if (dir == AT_FDCWD)
        cache_cwd(stop, start);
    join_paths(start, path, words, PATH_MAX);
    return true;
}

static int open_words(const char *words, int flags, uint64_t rules)
{
    struct open_how how = {.flags = (uint64_t)(LOOK | flags), .resolve = rules};
    return (int)syscall(SYS_openat2, AT_FDCWD, words, &how, sizeof how);
}

static size_t directory_length(const char *words, const char *name)
{
    return (size_t)(name - words) - 1;
}

/* `directory` may be `resolved` itself. */
static bool set_name(char resolved[PATH_MAX], const char *directory, size_t length, const char *name)
{
    size_t name_size = strlen(name) + 1;
    if (length + 1 + name_size > PATH_MAX)
        return false;
    memmove(resolved, directory, length);
    resolved[length] = '/';
    memcpy(resolved + length + 1, name, name_size);
    return true;
}

static void set_absent(struct resolved_path *place)
{
    place->error = ENOENT;
    place->known_result = true;
}

/* Without a descriptor: enough for a call that only looks. */
static bool look_in_cache(const struct stop *stop, const char *words, struct resolved_path *place)
{
    struct stat found;
    const char *name = last_name(words);
    const char *real = name ? cached_directory(stop, words, directory_length(words, name)) : NULL;
    if (!real || !set_name(place->resolved, real, strlen(real), name))
        return false;
    if (lstat(place->resolved, &found) != 0) {
        bool absent = errno == ENOENT;
        if (absent)
            set_absent(place);
        return absent;
    }
    if (S_ISLNK(found.st_mode) && read_link(place->resolved, place->target) <= 0)
        return false;
    place->found = found;
    return place->exists = true;
}

/* The common case: no link anywhere on the way. Then the words are the name. */
static bool resolve_plainly(const struct stop *stop, const char *words, struct resolved_path *place)
{
    const char *name = last_name(words);
    int fd = open_words(words, O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
    if (fd < 0 && errno != ENOENT)
        return false;
    place->fd = fd;
    if (fd < 0)
        set_absent(place);
    else
        place->exists = fstat(fd, &place->found) == 0;
    memcpy(place->resolved, words, strlen(words) + 1);
    if (name) /* what is not there will be no link either, unless somebody moves names */
        cache_directory(stop, words, directory_length(words, name), words, directory_length(words, name));
    read_target(place); /* a link at the end of the way is opened itself */
    return true;
}

/* Links or ".." on the way have led to `resolved`. In /proc they may lead each process elsewhere. */
static void learn_directory(const struct stop *stop, const char *words, const char *resolved)
{
    const char *name = last_name(words), *found = last_name(resolved);
    if (name && found && strcmp(name, found) == 0 && resolved[0] == '/' && strncmp(resolved, "/proc/", 6) != 0)
        cache_directory(stop, words, directory_length(words, name), resolved, directory_length(resolved, found));
}

/* Neither it nor its directory is there: where ".." would have led, nobody knows. */
static void leave_as_words(const char *words, struct resolved_path *place)
{
    memcpy(place->resolved, words, strlen(words) + 1);
    place->error = ENOENT;
    place->notes |= NOTE_NOT_RESOLVED;
}

/* Nothing is there; the directory gives the name that would be made. */
static bool resolve_missing(const struct stop *stop, const char *words, struct resolved_path *place)
{
    const char *name = last_name(words);
    char parent[PATH_MAX];
    if (!name)
        return false;
    memcpy(parent, words, (size_t)(name - words));
    parent[name - words] = 0;
    int fd = open_words(parent, O_DIRECTORY, RESOLVE_NO_MAGICLINKS);
    if (fd < 0 && errno != ENOENT)
        return false;
    if (fd < 0) {
        leave_as_words(words, place);
        return true;
    }
    bool named = name_of(stop, fd, place);
    close(fd);
    size_t length = strlen(place->resolved);
    if (!named || ends_in(place->resolved, length, deleted) ||
        !set_name(place->resolved, place->resolved, length > 1 ? length : 0, name))
        return false;
    set_absent(place);
    learn_directory(stop, words, place->resolved);
    return true;
}

/* Not through /proc/PID/fd and the like, which change without a call that we see. */
static bool resolve_through_links(const struct stop *stop, const char *words, struct resolved_path *place)
{
    int fd = open_words(words, O_NOFOLLOW, RESOLVE_NO_MAGICLINKS);
    if (fd < 0)
        return errno == ENOENT && resolve_missing(stop, words, place);
    take(stop, AT_FDCWD, words, fd, place);
    if (!(place->notes & (NOTE_DELETED | NOTE_NOT_RESOLVED)))
        learn_directory(stop, words, place->resolved);
    return true;
}

static bool resolve_words(const struct stop *stop, const char *words, struct resolved_path *place)
{
    if (stop->only_looks && look_in_cache(stop, words, place))
        return true;
    if (!strstr(words, "/..") && resolve_plainly(stop, words, place))
        return true;
    return resolve_through_links(stop, words, place);
}

bool resolve_by_words(const struct stop *stop, int dir, const char *path, struct resolved_path *place)
{
    char words[PATH_MAX];
    if (stop->other_root || !absolute_words(stop, dir, path, words) ||
        !resolve_words(stop, words, place))
        return false;
    if (!ends_as_directory(path) || !place->exists || S_ISDIR(place->found.st_mode))
        return true;
    close_place(place); /* a link there is followed, and the words leave out what says so */
    start_place(stop, place);
    return false;
}
