/* What the probe took along of one call: memory, names of directories, open files. Nothing is read from the
 * process: it may be gone. Records come from the kernel, yet no length in them is trusted. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "path.h"
#include "probe_record.h"
#include "procfs.h"
#include "text.h"

#define FIRST_RESTART 512
#define LAST_RESTART 516
#define SECOND 1000000000
#define MINOR_BITS 20

bool read_record(const void *bytes, size_t size, struct probed_call *seen)
{
    const struct probe_record *record = bytes;
    size_t header = sizeof *record + sizeof(uint64_t); /* the probe's own counters lie between header and parts */
    if (size < header || record->size < sizeof *record || record->size - sizeof *record > size - header)
        return false;
    *seen = (struct probed_call){record, (const uint8_t *)bytes + header, record->size - sizeof *record};
    return true;
}

const uint8_t *part_bytes(const struct probe_part *part)
{
    return (const uint8_t *)(part + 1);
}

static const struct probe_part *part_at(const struct probed_call *seen, size_t offset)
{
    if (offset > seen->size || seen->size - offset < sizeof(struct probe_part))
        return NULL;
    const struct probe_part *part = (const struct probe_part *)(seen->parts + offset);
    return part->length <= seen->size - offset - sizeof *part ? part : NULL;
}

const struct probe_part *next_part(const struct probed_call *seen, const struct probe_part *previous)
{
    if (!previous)
        return part_at(seen, 0);
    size_t offset = (size_t)((const uint8_t *)previous - seen->parts);
    return part_at(seen, offset + sizeof *previous + ((previous->length + 7u) & ~7u));
}

const struct probe_part *find_part(const struct probed_call *seen, uint16_t kind, uint64_t address)
{
    const struct probe_part *part = NULL;
    while ((part = next_part(seen, part))) {
        if (part->kind == kind && part->address == address)
            return part;
    }
    return NULL;
}

ssize_t probed_memory(const struct probed_call *seen, uint64_t address, void *into, size_t length)
{
    const struct probe_part *part = NULL;
    while ((part = next_part(seen, part))) {
        if (part->kind != PART_MEMORY || address < part->address || address - part->address >= part->length)
            continue;
        size_t skip = (size_t)(address - part->address), there = part->length - skip;
        size_t got = there < length ? there : length;
        memcpy(into, part_bytes(part) + skip, got);
        return (ssize_t)got;
    }
    return -EFAULT;
}

ssize_t caller_memory(const struct stop *stop, uint64_t address, void *into, size_t length)
{
    return stop->probed ? probed_memory(stop->probed, address, into, length) : read_memory(stop->tid, address, into, length);
}

ssize_t caller_string(const struct stop *stop, uint64_t address, char *into, size_t size)
{
    if (!stop->probed)
        return read_string(stop->tid, address, into, size);
    const struct probe_part *part = find_part(stop->probed, PART_MEMORY, address);
    if (!part)
        return -EFAULT;
    ssize_t got = probed_memory(stop->probed, address, into, size);
    const char *end = got > 0 ? memchr(into, 0, (size_t)got) : NULL;
    if (end && !(part->flags & NAME_CUT))
        return end - into;
    if (size)
        into[got > 0 ? got - 1 : 0] = 0;
    return -ENAMETOOLONG;
}

bool probed_success(const struct probed_call *seen)
{
    return seen->record->result >= 0 && !(seen->record->flags & PROBE_NO_BEGIN);
}

bool probed_interrupted(const struct probed_call *seen)
{
    int64_t result = seen->record->result;
    return result <= -FIRST_RESTART && result >= -LAST_RESTART;
}

int16_t probed_result(const struct probed_call *seen)
{
    int64_t result = seen->record->result;
    if (result >= 0)
        return probed_success(seen) ? 0 : WIRE_RESULT_FAILED;
    if (probed_interrupted(seen))
        return -EINTR;
    return result > -4096 ? (int16_t)result : WIRE_RESULT_UNKNOWN;
}

/* The name in a part behind `skip` bytes. */
static bool copy_name(const struct probe_part *part, size_t skip, char name[PATH_MAX])
{
    size_t length = part->length < skip ? 0 : part->length - skip;
    if (!length || length >= PATH_MAX || part->flags & (NAME_CUT | NAME_UNREAD))
        return false;
    memcpy(name, part_bytes(part) + skip, length);
    name[length] = 0;
    return true;
}

/* The directory that an open started from, when the file that it opened lies in it. */
static bool name_of_directory(const struct probed_call *seen, char base[PATH_MAX])
{
    const struct probe_part *file = find_part(seen, PART_FILE, (uint32_t)seen->record->result);
    if (!file || !(file->flags & NAME_IN_BASE) || !copy_name(file, sizeof(struct probe_file), base))
        return false;
    char *slash = strrchr(base, '/');
    if (!slash)
        return false;
    slash[slash == base] = 0;
    return true;
}

/* A directory that was removed still has the one above it: what begins with ".." has a name. Returns the rest
 * of the path. */
static const char *climb_out(const char *path, char base[PATH_MAX])
{
    const char *rest = path;
    while (strncmp(rest, "..", 2) == 0 && (!rest[2] || rest[2] == '/')) {
        char *slash = strrchr(base, '/');
        if (!slash)
            return NULL;
        slash[slash == base] = 0;
        rest += 2 + strspn(rest + 2, "/");
    }
    return rest == path ? NULL : rest;
}

bool probed_words(const struct probed_call *seen, int dir, const char *path, char words[PATH_MAX])
{
    char base[PATH_MAX];
    const struct probe_part *part = find_part(seen, PART_BASE, (uint64_t)(int64_t)dir);
    if (!(part ? copy_name(part, 0, base) : name_of_directory(seen, base)))
        return false;
    if (part && part->flags & NAME_DELETED && !(path = climb_out(path, base)))
        return false;
    if (part && part->flags & NAME_ELSEWHERE)
        return false;
    if (strlen(base) + strlen(path) + 2 > PATH_MAX)
        return false; /* what does not fit would be left out */
    join_paths(base, path, words, PATH_MAX);
    return true;
}

bool probed_own_descriptor(const struct probed_call *seen, const char *path, char name[PATH_MAX])
{
    static const char way[] = "/proc/self/fd/";
    char *end;
    if (strncmp(path, way, sizeof way - 1) != 0 || path[sizeof way - 1] < '0' || path[sizeof way - 1] > '9')
        return false;
    unsigned long number = strtoul(path + sizeof way - 1, &end, 10);
    const struct probe_part *part = *end || number > INT_MAX ? NULL : find_part(seen, PART_BASE, number);
    return part && !(part->flags & (NAME_DELETED | NAME_ELSEWHERE | NAME_DETACHED)) && copy_name(part, 0, name);
}

static struct timespec time_of(int64_t nanoseconds)
{
    if (nanoseconds < (int64_t)INT32_MIN * SECOND) /* from 2262 on */
        return (struct timespec){(time_t)((uint64_t)nanoseconds / SECOND), (long)((uint64_t)nanoseconds % SECOND)};
    struct timespec time = {nanoseconds / SECOND, nanoseconds % SECOND};
    if (time.tv_nsec < 0)
        time.tv_sec--, time.tv_nsec += SECOND;
    return time;
}

dev_t device_of(uint64_t number)
{
    return makedev((unsigned)(number >> MINOR_BITS), (unsigned)(number & ((1u << MINOR_BITS) - 1)));
}

/* What has no name in the file system is called as /proc calls it. */
static void name_detached(struct resolved_path *place, const struct probe_part *part)
{
    char name[PATH_MAX] = "/";
    mode_t mode = place->found.st_mode;
    (void)copy_name(part, sizeof(struct probe_file), name);
    if (S_ISREG(mode)) { /* memory that is a file */
        memcpy(place->resolved, name, sizeof name);
        place->notes |= NOTE_DELETED;
    } else if (S_ISSOCK(mode) || S_ISFIFO(mode)) {
        snprintf(place->resolved, PATH_MAX, "%s:[%llu]", S_ISSOCK(mode) ? "socket" : "pipe",
                 (unsigned long long)place->found.st_ino);
    } else {
        snprintf(place->resolved, PATH_MAX, "anon_inode:%.*s", PATH_MAX / 2, name + 1);
    }
    place->notes &= (uint16_t)~NOTE_NOT_RESOLVED;
}

void probed_file(const struct probe_part *part, struct resolved_path *place)
{
    struct probe_file file;
    if (part->length < sizeof file)
        return;
    memcpy(&file, part_bytes(part), sizeof file);
    struct stat *found = &place->found;
    if (!(part->flags & STATE_FOREIGN)) {
        memset(found, 0, sizeof *found);
        found->st_dev = device_of(file.dev);
        found->st_ino = file.ino;
        found->st_size = (off_t)file.size;
        found->st_mode = file.mode;
        found->st_uid = file.uid;
        found->st_gid = file.gid;
        found->st_nlink = file.nlink;
        found->st_rdev = device_of(file.rdev);
        found->st_mtim = time_of(file.mtime_ns);
        found->st_ctim = time_of(file.ctime_ns);
        place->exists = true;
        place->error = 0;
        place->notes &= (uint16_t)~NOTE_LATE;
    }
    if (part->flags & NAME_DETACHED)
        name_detached(place, part);
    else if (!(part->flags & NAME_ELSEWHERE) && copy_name(part, sizeof file, place->resolved))
        place->notes &= (uint16_t)~NOTE_NOT_RESOLVED;
    if (part->flags & NAME_ELSEWHERE) {
        place->resolved[0] = 0;
        place->notes |= NOTE_NOT_RESOLVED;
    }
    if (part->flags & NAME_DELETED && !(part->flags & NAME_DETACHED))
        place->notes |= NOTE_DELETED;
    if (place->exists)
        compare_roots(place, place->resolved, &place->found);
}

/* --- what the answer tells ------------------------------------------------------------------------------- */

static bool seen_status(const struct stop *stop, struct resolved_path *place)
{
#if defined(__x86_64__)
    enum { STAT = 4, LSTAT = 6, NEWFSTATAT = 262, STATX = 332 };
    uint64_t at = stop->number == STATX ? stop->args[4] : stop->args[stop->number == NEWFSTATAT ? 2 : 1];
    if (stop->compat || (stop->number != STAT && stop->number != LSTAT && stop->number != NEWFSTATAT && stop->number != STATX))
        return false;
    if (stop->number != STATX)
        return probed_memory(stop->probed, at, &place->found, sizeof place->found) == sizeof place->found;
    struct statx all;
    if (probed_memory(stop->probed, at, &all, sizeof all) != sizeof all || (all.stx_mask & STATX_BASIC_STATS) != STATX_BASIC_STATS)
        return false;
    struct stat *found = &place->found;
    memset(found, 0, sizeof *found);
    found->st_dev = makedev(all.stx_dev_major, all.stx_dev_minor);
    found->st_rdev = makedev(all.stx_rdev_major, all.stx_rdev_minor);
    found->st_ino = all.stx_ino;
    found->st_size = (off_t)all.stx_size;
    found->st_mode = all.stx_mode;
    found->st_uid = all.stx_uid;
    found->st_gid = all.stx_gid;
    found->st_nlink = all.stx_nlink;
    found->st_mtim = (struct timespec){all.stx_mtime.tv_sec, all.stx_mtime.tv_nsec};
    found->st_ctim = (struct timespec){all.stx_ctime.tv_sec, all.stx_ctime.tv_nsec};
    return true;
#else
    (void)stop, (void)place;
    return false;
#endif
}

/* Whether the words of an absolute path are a name as the kernel writes it. */
static bool is_plain(const char *path)
{
    for (const char *slash = path; slash; slash = strchr(slash + 1, '/')) {
        size_t length = strcspn(slash + 1, "/");
        bool dots = (length == 1 && slash[1] == '.') || (length == 2 && slash[1] == '.' && slash[2] == '.');
        if (*slash != '/' || length == 0 || dots)
            return false;
    }
    return true;
}

bool probed_place(const struct stop *stop, int dir, const char *path, bool nofollow, struct resolved_path *place)
{
    char words[PATH_MAX];
    const struct probe_record *record = stop->probed->record;
    bool relative = path[0] != '/';
    if (!probed_success(stop->probed) || stop->other_root || !path[0])
        return false;
    bool is_entry = !strchr(path, '/') && strcmp(path, ".") != 0 && strcmp(path, "..") != 0;
    if (relative && (!is_entry || !probed_words(stop->probed, dir, path, words)))
        return false;
    const char *name = relative ? words : path;
    const struct probe_part *file = stop->call->op == OP_OPEN ? find_part(stop->probed, PART_FILE, (uint32_t)record->result) : NULL;
    if (file && is_plain(name)) {
        size_t length = strlen(name), skip = sizeof(struct probe_file);
        bool same = file->length == skip + length && memcmp(part_bytes(file) + skip, name, length) == 0;
        if (!same || file->flags & ~NAME_IN_BASE)
            return false;
        start_place(stop, place);
        probed_file(file, place);
        return true;
    }
    if (stop->call->op != OP_STAT || !nofollow || !relative)
        return false;
    start_place(stop, place);
    snprintf(place->resolved, PATH_MAX, "%s", words);
    place->exists = seen_status(stop, place) && !S_ISLNK(place->found.st_mode); /* a link's target must be read */
    return place->exists;
}

/* Links on the way were changed after the call: the name that we found is not the one that it meant. */
static void doubt_name(const struct stop *stop, struct resolved_path *place)
{
    char path[PATH_MAX], words[PATH_MAX];
    if (caller_string(stop, stop->args[stop->call->path], path, sizeof path) < 0)
        return;
    if (path[0] == '/')
        snprintf(place->resolved, PATH_MAX, "%s", path);
    else if (probed_words(stop->probed, stop->call->dir < 0 ? AT_FDCWD : (int)stop->args[stop->call->dir], path, words))
        snprintf(place->resolved, PATH_MAX, "%s", words);
    place->notes |= NOTE_NOT_RESOLVED;
}

static bool was_created(const struct probe_part *part)
{
    struct probe_file file;
    if (part->length < sizeof file)
        return false;
    memcpy(&file, part_bytes(part), sizeof file);
    return file.created;
}

/* What the place was before the call is known from the call's success. */
static void was_absent(struct resolved_path *place)
{
    close_place(place);
    place->exists = false;
    place->error = ENOENT;
    place->notes &= (uint16_t)~NOTE_LATE;
}

void probed_outcome(struct stop *stop, enum op op, uint64_t flags, struct resolved_path *place)
{
    const struct probed_call *seen = stop->probed;
    int64_t result = seen->record->result;
    if (seen->record->flags & PROBE_NO_BEGIN)
        return; /* the answer is not the kernel's, and tells nothing of the place */
    bool file_with_slash = result == -ENOTDIR && place->exists && !S_ISDIR(place->found.st_mode); /* FILE/ fails, FILE is there */
    bool absent = (result == -ENOENT || result == -ENOTDIR) && !file_with_slash;
    if (absent && !op_changes(op) && !(op == OP_OPEN && flags & O_CREAT)) {
        if (place->exists)
            doubt_name(stop, place);
        was_absent(place); /* so it was before the call, and after */
        place->error = (int)-result;
        place->known_result = true;
    }
    if (result < 0)
        return;
    struct stat late = place->found;
    bool existed = place->exists;
    if (op == OP_STAT && seen_status(stop, place)) {
        if (!existed || late.st_ino != place->found.st_ino || late.st_dev != place->found.st_dev) {
            doubt_name(stop, place);
            place->target[0] = 0; /* it was read of what was there later */
        }
        place->exists = true;
        place->error = 0;
        place->notes &= (uint16_t)~NOTE_LATE;
    }
    if (op == OP_OPEN && (flags & O_TMPFILE) != O_TMPFILE) {
        const struct probe_part *part = find_part(seen, PART_FILE, (uint32_t)result);
        if (part)
            probed_file(part, place);
        if (part && was_created(part))
            was_absent(place);
        else if (part && flags & O_TRUNC)
            place->notes |= NOTE_LATE; /* so the open left it */
    }
    const struct probe_part *cwd = op == OP_CHDIR ? find_part(seen, PART_BASE, (uint64_t)(int64_t)AT_FDCWD) : NULL;
    if (cwd && copy_name(cwd, 0, place->resolved)) {
        place->notes &= (uint16_t)~NOTE_NOT_RESOLVED;
        place->exists = stat(place->resolved, &place->found) == 0; /* a relative path was looked up in the new directory */
        place->error = place->exists ? 0 : errno;
    }
    if (op == OP_MKDIR || op == OP_MKNOD || op == OP_SYMLINK || op == OP_LINK_TO)
        was_absent(place); /* or it would have failed */
}
