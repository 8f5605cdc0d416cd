/* Looking at what a call names, and the event that tells it. Shared by every handler with a path. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "backup.h"
#include "compare_names.h"
#include "log.h"
#include "path.h"
#include "path_event.h"
#include "probe_record.h"
#include "procfs.h"
#include "store_guard.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

uint64_t argument(const struct stop *stop, int position)
{
    return position < 0 ? 0 : stop->args[position];
}

int directory(const struct stop *stop, int position)
{
    return position < 0 ? AT_FDCWD : (int)stop->args[position];
}

bool may_succeed(const struct stop *stop)
{
    return !stop->probed || probed_success(stop->probed);
}

static int64_t nanoseconds(struct timespec time)
{
    enum { SECOND = 1000000000 };
    const int64_t first = INT32_MIN, last = first + (int64_t)(UINT64_MAX / SECOND) - 1; /* what 64 bits tell apart: from 1901 to 2486 */
    int64_t seconds = time.tv_sec < first ? first : time.tv_sec > last ? last : time.tv_sec;
    return (int64_t)((uint64_t)seconds * SECOND + (uint64_t)time.tv_nsec); /* from 2262 on it is negative */
}

/* `changes`: the operation that may change it, or 0. */
static uint32_t state_of(struct run *run, const struct resolved_path *place, uint32_t resolved, enum op changes, uint64_t flags)
{
    if (!place->exists) {
        bool absent = place->resolved[0] && (place->error == ENOENT || place->error == ENOTDIR);
        return absent ? WIRE_STATE_ABSENT : WIRE_STATE_NONE;
    }
    const struct stat *found = &place->found;
    struct wire_state state = {
        .dev = found->st_dev,
        .ino = found->st_ino,
        .size = (uint64_t)found->st_size,
        .mtime_ns = nanoseconds(found->st_mtim),
        .ctime_ns = nanoseconds(found->st_ctim),
        .mode = found->st_mode,
        .uid = found->st_uid,
        .gid = found->st_gid,
        .nlink = (uint32_t)found->st_nlink,
        .target = intern_text(run, place->target),
        .rdev = (uint32_t)(major(found->st_rdev) << 20 | minor(found->st_rdev)),
    };
    if (changes)
        backup_content(run, changes, flags, place, &state);
    else
        recall_backup(run, place, &state);
    return intern_state(run, resolved, &state);
}

/* Whether a file may be there after it where nothing was. */
static bool makes_file(enum op op, uint64_t flags)
{
    return op == OP_MKNOD || op == OP_RENAME_TO || op == OP_LINK_TO || (op == OP_OPEN && flags & O_CREAT);
}

/* What the state at the stop says of the outcome, if it settles it. */
static int16_t result_of(enum op op, const struct resolved_path *place, uint64_t flags)
{
    if (op == OP_RENAME_TO && place->exists && flags & RENAME_NOREPLACE)
        return WIRE_RESULT_FAILED; /* EEXIST, unless something else is found wrong before: another mount, one to read only */
    if (!place->exists && place->known_result) {
        bool makes = op == OP_MKDIR || op == OP_SYMLINK || makes_file(op, flags);
        bool could_be_made = makes && place->error == ENOENT && !(place->notes & NOTE_NOT_RESOLVED);
        if (could_be_made && op == OP_RENAME_TO && flags & RENAME_EXCHANGE)
            return WIRE_RESULT_FAILED; /* ENOENT, unless something else is found wrong before */
        return could_be_made ? WIRE_RESULT_UNKNOWN : (int16_t)-place->error;
    }
    if (!place->exists)
        return WIRE_RESULT_UNKNOWN;
    if (place->error && place->known_result)
        return (int16_t)-place->error;
    bool is_link = S_ISLNK(place->found.st_mode);
    switch (op) {
    case OP_FOLLOW:
        return 0;
    case OP_READLINK:
        return is_link ? WIRE_RESULT_UNKNOWN : -EINVAL;
    case OP_MKDIR:
    case OP_MKNOD:
    case OP_SYMLINK:
    case OP_LINK_TO:
        return -EEXIST;
    case OP_OPEN:
        return (flags & O_CREAT) && (flags & O_EXCL) ? -EEXIST : WIRE_RESULT_UNKNOWN;
    default:
        return WIRE_RESULT_UNKNOWN;
    }
}

/* A change that cannot be told under a name of ours: because it is in another root, or because its name was
 * not learned. */
static void count_what_is_unclear(const struct stop *stop, enum op op, const struct resolved_path *place)
{
    bool of_mounts = op == OP_MOUNT || op == OP_UMOUNT || op == OP_PIVOT_ROOT; /* its own, if it has any */
    bool other_root = place->notes & NOTE_OTHER_ROOT, compared = !stop->probed || place->compared || of_mounts;
    bool nameless = stop->probed && !place->resolved[0]; /* and yet it was done */
    bool was_there = place->exists || place->error == ENAMETOOLONG || nameless;
    if ((other_root && !compared) || (was_there && place->notes & NOTE_NOT_RESOLVED))
        count(&stop->run->header->unresolved);
    if (other_root && compared)
        count(&stop->run->header->elsewhere);
}

struct wire_event event_at(struct stop *stop, enum op op, const char *path, const struct resolved_path *place, bool changes,
                           uint64_t flags)
{
    struct wire_event event = event_of(stop, op);
    if (place->error == EMFILE || place->error == ENFILE || place->error == ENOMEM)
        count(&stop->run->header->unreadable); /* we could not look, whatever the caller meets */
    event.notes |= place->notes;
    event.path = intern_text(stop->run, path);
    event.resolved = strcmp(path, place->resolved) == 0 ? event.path : intern_text(stop->run, place->resolved);
    if (op != OP_FOLLOW && !(op == OP_OPEN && (flags & O_TMPFILE) == O_TMPFILE)) /* which opens a file that has no name */
        note_place(stop, place, op == OP_INTERPRETER);
    bool makes = op == OP_MKDIR || op == OP_SYMLINK || makes_file(op, flags);
    bool refused = changes && (place->exists || makes) && is_guarded(stop, op, place);
    bool in_time = changes && !stop->probed && !refused; /* to keep what is there */
    event.state = state_of(stop->run, place, event.resolved, in_time ? op : 0, flags);
    event.result = result_of(op, place, flags);
    if (refused) {
        count(&stop->run->header->store_refused);
        stop->error = EBUSY;
        event.result = -EBUSY;
        event.notes |= NOTE_REFUSED;
    }
    bool can_be_made = place->error == ENOENT && !(place->notes & NOTE_NOT_RESOLVED) && event.result == WIRE_RESULT_UNKNOWN;
    if (in_time && can_be_made && makes_file(op, flags))
        note_made(stop->run, place);
    bool failed = stop->probed ? !probed_success(stop->probed) : event.result != WIRE_RESULT_UNKNOWN;
    if (changes && !failed)
        count_what_is_unclear(stop, op, place);
    return event;
}

/* Looks at a path; a link that the call follows is told by itself, and `place` is what it leads to. */
void look(struct stop *stop, int dir, const char *path, bool nofollow, struct resolved_path *place)
{
    if (stop->probed && probed_place(stop, dir, path, nofollow, place))
        return;
    resolve(stop, dir, path, NOFOLLOW, place);
    if (nofollow || !place->exists || !S_ISLNK(place->found.st_mode))
        return;
    struct wire_event event = event_at(stop, OP_FOLLOW, path, place, false, 0);
    log_event(stop, &event);
    struct resolved_path behind;
    bool leads_to_own = differs_by_caller(stop, place->target); /* a log that is a link to /dev/stdout */
    resolve(stop, dir, leads_to_own ? place->target : path, FOLLOW, &behind);
    if (behind.exists || behind.error != ENOENT) {
        close_place(place);
        *place = behind;
    } else {
        resolve_dangling(stop, place);
    }
}

static bool has(const struct call *call, unsigned trait)
{
    return call->traits & trait;
}

static bool follows_not(const struct stop *stop)
{
    uint64_t flags = argument(stop, stop->call->flags);
    return has(stop->call, TRAIT_NOFOLLOW) || (has(stop->call, TRAIT_AT_NOFOLLOW) && flags & AT_SYMLINK_NOFOLLOW) ||
           (has(stop->call, TRAIT_AT_FOLLOW) && !(flags & AT_SYMLINK_FOLLOW));
}

/* Whether the call means the descriptor itself: no path, or an empty one where that is allowed. */
static bool means_descriptor(const struct stop *stop, const char *path)
{
    if (has(stop->call, TRAIT_NULL) && stop->args[stop->call->path] == 0)
        return true;
    if (!has(stop->call, TRAIT_EMPTY) || path[0] || stop->notes & NOTE_PATH_UNREADABLE)
        return false;
    return stop->call->flags < 0 || argument(stop, stop->call->flags) & AT_EMPTY_PATH;
}

/* Reads and looks at the first path of the call. */
void look_at_argument(struct stop *stop, char path[PATH_MAX], struct resolved_path *place)
{
    int dir = directory(stop, stop->call->dir);
    path[0] = 0;
    if (!(has(stop->call, TRAIT_NULL) && stop->args[stop->call->path] == 0))
        (void)read_path(stop, stop->call->path, path); /* the notes tell */
    if (!means_descriptor(stop, path))
        look(stop, dir, path, follows_not(stop), place);
    else if (dir == AT_FDCWD)
        look(stop, dir, ".", false, place);
    else
        resolve_descriptor(stop, dir, place);
}

void tell(struct stop *stop, struct wire_event *event)
{
    event->arg = argument(stop, stop->call->arg);
    event->arg2 = argument(stop, stop->call->arg2);
    log_event(stop, event);
}
