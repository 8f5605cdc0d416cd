/* What lies in a directory that gets another name: each entry loses one name and gains one.
 *
 * The tree is walked before the rename takes effect, by descriptors, following no link, within bounds; a tree that is
 * larger is counted, so that the record can say that it is not whole.
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

static void tell_entry(struct walk *walk, int directory, const char *name)
{
    struct place *old = &walk->old, *new = &walk->new;
    old->exists = fstatat(directory, name, &old->found, AT_SYMLINK_NOFOLLOW) == 0;
    old->error = old->exists ? 0 : errno;
    old->target[0] = 0;
    if (old->exists && S_ISLNK(old->found.st_mode)) {
        ssize_t length = readlinkat(directory, name, old->target, PATH_MAX - 1);
        old->target[length < 0 ? 0 : length] = 0;
    }
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

static void walk_directory(struct walk *walk, int fd, int depth)
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
        tell_entry(walk, dirfd(stream), entry->d_name);
        if (walk->old.exists && S_ISDIR(walk->old.found.st_mode)) {
            int below = openat(dirfd(stream), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (below >= 0)
                walk_directory(walk, below, depth + 1);
            else
                walk->cut = true;
        }
    }
    walk->old.resolved[old_length] = walk->new.resolved[new_length] = 0;
    closedir(stream);
}

void tell_moved(struct stop *stop, const struct place *directory, const struct place *new)
{
    if (!directory->exists || directory->fd < 0 || !S_ISDIR(directory->found.st_mode))
        return;
    struct walk walk = {.stop = stop, .to_nothing = !new->exists, .old = {.fd = -1, .notes = directory->notes},
                        .new = {.fd = -1, .error = ENOENT, .notes = directory->notes}};
    snprintf(walk.old.resolved, PATH_MAX, "%s", directory->resolved);
    snprintf(walk.new.resolved, PATH_MAX, "%s", new->resolved);
    bool named = directory->resolved[0] == '/' && new->resolved[0] == '/';
    int fd = named ? openat(directory->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0)
        walk_directory(&walk, fd, 0);
    if (fd < 0 || walk.cut)
        count(&stop->run->header->unlisted);
}
