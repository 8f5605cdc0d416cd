/* What lies in a directory that gets another name: each entry loses one name and gains one.
 *
 * The tree is walked before the rename takes effect, by descriptors, following no link, within bounds; a tree that is
 * larger is counted, so that the record can say that it is not whole. Beside it goes what has the new name until then: a
 * directory that is exchanged with it, or one that is not empty, for which the kernel will refuse the rename.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "look.h"

#define MOST_ENTRIES 100000u
#define MOST_DEPTH 64

struct walk {
    struct stop *stop;
    uint32_t entries;
    bool cut;
    bool to_nothing;
    struct place old, new;
};

static void look_at_entry(int directory, const char *name, struct place *place)
{
    place->exists = directory >= 0 && fstatat(directory, name, &place->found, AT_SYMLINK_NOFOLLOW) == 0;
    place->error = place->exists ? 0 : directory >= 0 ? errno : ENOENT;
    place->target[0] = 0;
    if (place->exists && S_ISLNK(place->found.st_mode)) {
        ssize_t length = readlinkat(directory, name, place->target, PATH_MAX - 1);
        place->target[length < 0 ? 0 : length] = 0;
    }
}

static void tell_entry(struct walk *walk, int directory, int replaced, const char *name)
{
    struct place *old = &walk->old, *new = &walk->new;
    look_at_entry(directory, name, old);
    look_at_entry(replaced, name, new);
    struct wire_event from = event_at(walk->stop, OP_MOVED, "", old, false, 0);
    struct wire_event to = event_at(walk->stop, OP_MOVED_TO, "", new, false, 0);
    from.extra = to.resolved, to.extra = from.resolved;
    from.result = to.result = WIRE_RESULT_UNKNOWN;
    record_event(walk->stop, &from);
    record_event(walk->stop, &to);
    if (!walk->stop->seen)
        note_moved(walk->stop->run, old, new, walk->to_nothing);
}

/* Puts the name behind a path; false when there is no room. */
static bool push(char path[PATH_MAX], size_t length, const char *name)
{
    return snprintf(path + length, PATH_MAX - length, "/%s", name) < (int)(PATH_MAX - length);
}

static bool is_directory(const struct place *place)
{
    return place->exists && S_ISDIR(place->found.st_mode);
}

static int open_below(int directory, const char *name)
{
    return openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void walk_directory(struct walk *walk, int fd, int replaced, int depth);

static void walk_below(struct walk *walk, int directory, int replaced, const char *name, int depth)
{
    bool is_replaced = is_directory(&walk->new);
    int fd = open_below(directory, name), other = is_replaced ? open_below(replaced, name) : -1;
    if (fd >= 0 && (other >= 0 || !is_replaced)) {
        walk_directory(walk, fd, other, depth + 1);
    } else {
        walk->cut = true;
        if (fd >= 0)
            close(fd);
    }
    if (other >= 0)
        close(other);
}

/* `replaced` is the directory that has the new name now, or -1. */
static void walk_directory(struct walk *walk, int fd, int replaced, int depth)
{
    DIR *stream = fdopendir(fd);
    if (!stream || depth == MOST_DEPTH) {
        walk->cut = true;
        stream ? closedir(stream) : close(fd);
        return;
    }
    size_t old_length = strlen(walk->old.resolved), new_length = strlen(walk->new.resolved);
    for (struct dirent *entry; (entry = readdir(stream));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        walk->cut |= ++walk->entries > MOST_ENTRIES || !push(walk->old.resolved, old_length, entry->d_name) ||
                     !push(walk->new.resolved, new_length, entry->d_name);
        if (walk->cut)
            break;
        tell_entry(walk, dirfd(stream), replaced, entry->d_name);
        if (is_directory(&walk->old))
            walk_below(walk, dirfd(stream), replaced, entry->d_name, depth);
    }
    walk->old.resolved[old_length] = walk->new.resolved[new_length] = 0;
    closedir(stream);
}

void tell_moved(struct stop *stop, const struct place *directory, const struct place *replaced, const char *new_name)
{
    if (!is_directory(directory) || directory->fd < 0)
        return;
    struct walk walk = {.stop = stop, .to_nothing = !replaced || !replaced->exists,
                        .old = {.fd = -1, .notes = directory->notes}, .new = {.fd = -1, .notes = directory->notes}};
    snprintf(walk.old.resolved, PATH_MAX, "%s", directory->resolved);
    snprintf(walk.new.resolved, PATH_MAX, "%s", new_name);
    bool named = directory->resolved[0] == '/' && new_name[0] == '/';
    bool is_replaced = replaced && is_directory(replaced), can_look = named && (!is_replaced || replaced->fd >= 0);
    int fd = can_look ? openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0)
        walk_directory(&walk, fd, is_replaced ? replaced->fd : -1, 0);
    if (fd < 0 || walk.cut)
        count(&stop->run->header->unlisted);
}
