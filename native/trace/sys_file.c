/* Calls that name files. Each handler: read the path, look at what is there, keep what may change, tell it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backup.h"
#include "compare_names.h"
#include "correlate.h"
#include "log.h"
#include "mounts.h"
#include "path.h"
#include "path_event.h"
#include "probe_record.h"
#include "processes.h"
#include "procfs.h"
#include "sys_reach.h"
#include "tty.h"

/* What lies in a directory that gets another name: each entry loses one name and gains one.
 *
 * The tree is walked before the rename takes effect, by descriptors, following no link, within bounds; a tree
 * that is larger is counted, so that the record can say that it is not whole. Beside it goes what has the new
 * name until then: a directory that is exchanged with it, or one that is not empty, for which the kernel will
 * refuse the rename.
 */
#define MOST_ENTRIES 100000u
#define MOST_DEPTH 64

struct walk {
    struct stop *stop;
    uint32_t entries;
    bool cut;
    bool to_nothing;
    struct resolved_path old, new;
};

static void look_at_entry(int directory, const char *name, struct resolved_path *place)
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
    struct resolved_path *old = &walk->old, *new = &walk->new;
    look_at_entry(directory, name, old);
    look_at_entry(replaced, name, new);
    struct wire_event from = event_at(walk->stop, OP_MOVED, "", old, false, 0);
    struct wire_event to = event_at(walk->stop, OP_MOVED_TO, "", new, false, 0);
    from.extra = to.resolved, to.extra = from.resolved;
    from.result = to.result = WIRE_RESULT_UNKNOWN;
    log_event(walk->stop, &from);
    log_event(walk->stop, &to);
    if (!walk->stop->probed)
        note_moved(walk->stop->run, old, new, walk->to_nothing);
}

/* Puts the name behind a path; false when there is no room. */
static bool push(char path[PATH_MAX], size_t length, const char *name)
{
    return snprintf(path + length, PATH_MAX - length, "/%s", name) < (int)(PATH_MAX - length);
}

static bool is_directory(const struct resolved_path *place)
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

void list_renamed(struct stop *stop, const struct resolved_path *directory, const struct resolved_path *replaced, const char *new_name)
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

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

static uint32_t second_word(struct stop *stop)
{
    char word[PATH_MAX];
    if (stop->call->path2 < 0)
        return 0;
    ssize_t got = caller_string(stop, stop->args[stop->call->path2], word, sizeof word);
    if (got < 0)
        return 0;
    note_words(stop, stop->call->path2, word, (size_t)got);
    return intern(stop->run, word, (size_t)got);
}

/* Newer C libraries ask for a descriptor's status with an empty path. */
static bool is_fstat(const struct stop *stop)
{
    char first = 1;
    bool descriptor = stop->call->dir >= 0 && directory(stop, stop->call->dir) >= 0;
    return descriptor && argument(stop, stop->call->flags) & AT_EMPTY_PATH &&
           (stop->args[stop->call->path] == 0 || caller_memory(stop, stop->args[stop->call->path], &first, 1) == 1) &&
           (first == 0 || stop->args[stop->call->path] == 0);
}

static bool changes_mounts(enum op op)
{
    return op == OP_MOUNT || op == OP_UMOUNT;
}

static void on_one_path(struct stop *stop, enum op op)
{
    char path[PATH_MAX];
    struct resolved_path place;
    if (op == OP_STAT && is_fstat(stop))
        return; /* what a descriptor shows was told when it was opened */
    stop->only_looks = stop->call->effect == EFFECT_LOOK;
    look_at_argument(stop, path, &place);
    if (stop->probed)
        probed_outcome(stop, op, 0, &place);
    bool our_mounts = changes_mounts(op) && (!stop->other_root || sees_our_mounts(stop->tid));
    if (changes_mounts(op) && !our_mounts)
        place.notes |= NOTE_OTHER_ROOT; /* the directory may be ours; what is mounted upon it is not */
    if (still_waiting(stop)) {
        struct wire_event event = event_at(stop, op, path, &place, op_changes(op), 0);
        event.extra = second_word(stop);
        if (op == OP_MOUNT && stop->call->dir2 >= 0 && !event.extra)
            event.extra = source_of_mount(stop, directory(stop, stop->call->dir2));
        if (op == OP_UMOUNT)
            atomic_store(&stop->run->mounts_detached, true); /* lazily, it may be in use */
        if (our_mounts && !stop->probed && event.result == WIRE_RESULT_UNKNOWN && !may_change_our_mounts(stop->tid))
            event.result = WIRE_RESULT_FAILED;
        tell(stop, &event);
        if (our_mounts && !stop->run->ring && event.result == WIRE_RESULT_UNKNOWN)
            note_mount(stop);
    }
    close_place(&place);
}

void sys_path(struct stop *stop)
{
    bool changes_root = (stop->call->op == OP_CHROOT || stop->call->op == OP_PIVOT_ROOT) && may_succeed(stop);
    if (changes_root && stop->call->op == OP_PIVOT_ROOT && !stop->other_root)
        atomic_store(&stop->run->roots_differ, true); /* of all who see the same mounts, and that may be everybody */
    if (changes_root)
        note_other_root(stop, false);
    on_one_path(stop, stop->call->op);
}

void sys_unlinkat(struct stop *stop)
{
    on_one_path(stop, argument(stop, stop->call->flags) & AT_REMOVEDIR ? OP_RMDIR : OP_UNLINK);
}

void sys_fd(struct stop *stop)
{
    struct resolved_path place;
    stop->only_looks = stop->call->effect == EFFECT_LOOK;
    resolve_descriptor(stop, directory(stop, stop->call->dir), &place);
    if (still_waiting(stop)) {
        enum op op = stop->call->op;
        struct wire_event event = event_at(stop, op, "", &place, op_changes(op), 0);
        event.extra = second_word(stop);
        tell(stop, &event);
    }
    close_place(&place);
}

/* The record is read on any machine: flags that aarch64 numbers in its own way are told as x86_64 numbers
 * them. */
static uint64_t told_flags(uint64_t flags)
{
#if defined(__aarch64__)
    enum { X86_DIRECT = 040000, X86_LARGEFILE = 0100000, X86_DIRECTORY = 0200000, X86_NOFOLLOW = 0400000 };
    enum { DIRECTORY = 040000, NO_FOLLOW = 0100000, DIRECT = 0200000, LARGEFILE = 0400000 };
    uint64_t same = flags & ~(uint64_t)(DIRECTORY | NO_FOLLOW | DIRECT | LARGEFILE);
    return same | (flags & DIRECTORY ? X86_DIRECTORY : 0) | (flags & NO_FOLLOW ? X86_NOFOLLOW : 0) |
           (flags & DIRECT ? X86_DIRECT : 0) | (flags & LARGEFILE ? X86_LARGEFILE : 0);
#else
    return flags;
#endif
}

static bool may_change(uint64_t flags)
{
    return !(flags & O_PATH) && ((flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC));
}

static void open_with(struct stop *stop, const struct open_how *how)
{
    uint64_t flags = how->flags;
    char path[PATH_MAX];
    struct resolved_path place;
    (void)read_path(stop, stop->call->path, path); /* the notes tell */
    stop->only_looks = !may_change(flags) && (!stop->run->split || stop->probed);
    bool nofollow = flags & O_NOFOLLOW || ((flags & O_CREAT) && (flags & O_EXCL));
    if (how->resolve)
        resolve_as_asked(stop, directory(stop, stop->call->dir), path, how->resolve, nofollow, &place);
    else
        look(stop, directory(stop, stop->call->dir), path, nofollow, &place);
    if (stop->probed)
        probed_outcome(stop, OP_OPEN, flags, &place);
    if (still_waiting(stop)) {
        struct wire_event event = event_at(stop, OP_OPEN, path, &place, may_change(flags), flags);
        event.arg = told_flags(flags);
        event.arg2 = how->mode;
        if (may_change(flags) && !stop->probed && reaches_into_us(stop, &place)) {
            stop->error = EACCES;
            event.result = -EACCES;
            event.notes |= NOTE_REFUSED;
        }
        log_event(stop, &event);
        if (may_change(flags))
            tell_reach_by_name(stop, &place);
        if (stop->run->split && !stop->probed && !stop->error) {
            expect_probe(stop);
            split_on_open(stop, &place, flags);
        }
    }
    close_place(&place);
}

void sys_open(struct stop *stop)
{
    bool is_creat = stop->call->flags < 0;
    uint64_t flags = is_creat ? O_CREAT | O_WRONLY | O_TRUNC : argument(stop, stop->call->flags);
    open_with(stop, &(struct open_how){(uint32_t)flags, argument(stop, stop->call->arg2), 0});
}

void sys_openat2(struct stop *stop)
{
    struct open_how how = {0};
    size_t size = stop->args[3] < sizeof how ? (size_t)stop->args[3] : sizeof how;
    if (caller_memory(stop, stop->args[2], &how, size) != (ssize_t)size)
        stop->notes |= NOTE_PATH_UNREADABLE;
    open_with(stop, &how);
}

void sys_open_handle(struct stop *stop)
{
    struct resolved_path place;
    uint64_t flags = argument(stop, stop->call->flags);
    resolve_handle(stop, directory(stop, stop->call->dir), stop->args[1], &place);
    if (stop->probed && place.exists && flags & O_TRUNC)
        place.notes |= NOTE_LATE; /* so the open left it */
    if (still_waiting(stop)) {
        struct wire_event event = event_at(stop, OP_OPEN_HANDLE, "", &place, may_change(flags), flags);
        event.arg = told_flags(flags);
        log_event(stop, &event);
    }
    close_place(&place);
}

/* What moved lies behind its new name already. */
static void tell_moved_already(struct stop *stop, const struct resolved_path *old, const struct resolved_path *new, bool exchange)
{
    struct resolved_path moved = *new;
    if (!probed_success(stop->probed))
        return;
    snprintf(moved.resolved, PATH_MAX, "%s", old->resolved);
    list_renamed(stop, &moved, exchange ? old : NULL, new->resolved);
    if (exchange) {
        moved = *old;
        snprintf(moved.resolved, PATH_MAX, "%s", new->resolved);
        list_renamed(stop, &moved, new, old->resolved);
    }
}

void sys_two_paths(struct stop *stop)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct resolved_path old, new;
    enum op op = stop->call->op, op_to = op == OP_RENAME ? OP_RENAME_TO : OP_LINK_TO;
    uint64_t flags = argument(stop, stop->call->flags);
    look_at_argument(stop, from, &old);
    uint16_t notes = stop->notes;
    stop->notes = 0;
    (void)read_path(stop, stop->call->path2, to); /* the notes tell */
    look(stop, directory(stop, stop->call->dir2), to, true, &new);
    if (stop->probed && op == OP_LINK)
        probed_outcome(stop, OP_LINK_TO, 0, &new);
    if (still_waiting(stop)) {
        uint16_t exchange = op == OP_RENAME && flags & RENAME_EXCHANGE ? NOTE_EXCHANGE : 0;
        struct wire_event second = event_at(stop, op_to, to, &new, true, flags);
        stop->notes = notes;
        struct wire_event first = event_at(stop, op, from, &old, true, flags);
        first.extra = second.resolved, second.extra = first.resolved;
        first.arg = second.arg = flags;
        first.notes |= exchange, second.notes |= exchange;
        if (first.result != WIRE_RESULT_UNKNOWN) /* what one of its names meets is the end of both */
            second.result = first.result;
        else
            first.result = second.result;
        if (stop->error) /* the store is closed to one of them */
            first.result = second.result = (int16_t)-stop->error, first.notes |= NOTE_REFUSED, second.notes |= NOTE_REFUSED;
        log_event(stop, &first);
        log_event(stop, &second);
        if (op == OP_RENAME && stop->probed)
            tell_moved_already(stop, &old, &new, exchange);
        else if (op == OP_RENAME && first.result == WIRE_RESULT_UNKNOWN) {
            list_renamed(stop, &old, &new, new.resolved);
            if (exchange)
                list_renamed(stop, &new, &old, old.resolved);
        }
    }
    close_place(&old);
    close_place(&new);
}

/* i386 packs the arguments of its first mmap into a struct. */
void sys_map_old(struct stop *stop)
{
    enum { PROTECTION = 2, FLAGS = 3, DESCRIPTOR = 4, WORDS = 6 };
    uint32_t words[WORDS];
    if (caller_memory(stop, stop->args[0], words, sizeof words) != sizeof words)
        return;
    if (!(words[PROTECTION] & PROT_WRITE) || !(words[FLAGS] & MAP_SHARED) || words[FLAGS] & MAP_ANONYMOUS)
        return;
    struct resolved_path place;
    resolve_descriptor(stop, (int)words[DESCRIPTOR], &place);
    if (still_waiting(stop)) {
        struct wire_event event = event_at(stop, OP_MAP, "", &place, true, 0);
        event.arg = words[PROTECTION];
        event.arg2 = words[FLAGS];
        log_event(stop, &event);
    }
    close_place(&place);
}
