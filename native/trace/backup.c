/* The content of a file before the command changes it: copied, encrypted, into the spool.
 *
 * What the run itself made had no content before it (backup.c); what somebody else made meanwhile has. Each
 * file has one number, given when the run is about to change it for the first time, and every name of the
 * file that is met from then on tells it: what was kept then is what each of its names had. If its only name
 * is changed again, and somebody may have written to it since, the content that the run is about to destroy
 * is kept as well, within bounds, and the file has another number from then on. A second process that is
 * about to change the same file waits until the first copy is whole; no lock is held meanwhile, because the
 * file may lie in a file system that a process of the run serves.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backup.h"
#include "crypto.h"
#include "hashtable.h"
#include "log.h"
#include "path.h"

/* Names of which no content needs to be kept any more: what was there before the run is kept already, or the
 * run itself made what is there, where nothing was. A name that something else comes to is not settled any
 * more. A keyed hash of 63 bits stands for a name. The table never forgets one; when it is full, contents are
 * copied that nobody needs. */
#define NAME_SLOTS (1u << 20)
enum { SETTLED = 1, MADE = 2 };

struct names {
    pthread_mutex_t lock;
    struct hashtable table; /* SETTLED and MADE, by keyed hash */
    uint8_t hash_key[16];
};

struct names *start_names(void)
{
    struct names *names = calloc(1, sizeof *names);
    bool started = names && start_hashtable(&names->table, NAME_SLOTS) && random_key(names->hash_key);
    return started && pthread_mutex_init(&names->lock, NULL) == 0 ? names : NULL;
}

/* 0: it has no name. The same words in another root are another name. */
static uint64_t hash_of_path(const struct names *names, const struct resolved_path *place)
{
    if (place->resolved[0] != '/' || place->notes & NOTE_NOT_RESOLVED)
        return 0;
    uint64_t hash = siphash(names->hash_key, place->resolved, strlen(place->resolved));
    return (place->notes & NOTE_OTHER_ROOT ? ~hash : hash) | 1;
}

static bool has_bit(struct names *names, const struct resolved_path *place, uint64_t bit)
{
    uint64_t hash = hash_of_path(names, place);
    pthread_mutex_lock(&names->lock);
    bool found = hash && hashtable_find(&names->table, hash)->value & bit;
    pthread_mutex_unlock(&names->lock);
    return found;
}

bool is_settled_name(struct names *names, const struct resolved_path *place)
{
    return has_bit(names, place, SETTLED);
}

bool is_made_name(struct names *names, const struct resolved_path *place)
{
    return has_bit(names, place, MADE);
}

static void settle(struct names *names, const struct resolved_path *place, uint64_t bits)
{
    uint64_t hash = hash_of_path(names, place);
    pthread_mutex_lock(&names->lock);
    struct hash_entry *known = hash ? hashtable_find(&names->table, hash) : NULL;
    if (known && (known->key || !hashtable_is_full(&names->table)))
        hashtable_put(&names->table, known, hash, bits);
    pthread_mutex_unlock(&names->lock);
}

void settle_name(struct names *names, const struct resolved_path *place)
{
    settle(names, place, is_made_name(names, place) ? SETTLED | MADE : SETTLED);
}

void settle_made_name(struct names *names, const struct resolved_path *place)
{
    settle(names, place, SETTLED | MADE);
}

void unsettle_name(struct names *names, const struct resolved_path *place)
{
    uint64_t hash = hash_of_path(names, place);
    pthread_mutex_lock(&names->lock);
    if (hash)
        hashtable_find(&names->table, hash)->value = 0; /* a free one stays free */
    pthread_mutex_unlock(&names->lock);
}

#define SLOTS (1u << 18)
#define MOST_KNOWN (SLOTS / 2)
#define PART (128u * 1024)
#define MOST_VERSIONS 16u

struct kept {
    uint64_t dev, ino;
    struct statx_timestamp born; /* the number of a file that is gone is soon another's */
    enum { FREE, BEING_COPIED, DONE } stage;
    uint32_t content, number; /* 0: the run made it */
    uint64_t name;            /* under which that was kept; under another one, what was kept first is told */
    uint32_t first_content, first_number;
    uint32_t versions;        /* kept so far, and their size */
    uint64_t bytes;
    off_t size;
    struct timespec modified;
    bool has_names; /* or is about to get a second one: it may be met again under another */
};

struct backups {
    pthread_mutex_t lock;
    pthread_cond_t copied;
    struct names *names;
    struct kept *table;
    uint32_t known;
    uint32_t next_number;
    atomic_bool have_names; /* some of them have several */
    uint8_t hash_key[16];
};

struct backups *start_backups(void)
{
    struct backups *backups = calloc(1, sizeof *backups);
    if (!backups)
        return NULL;
    backups->names = start_names();
    backups->table = calloc(SLOTS, sizeof *backups->table);
    backups->next_number = 1;
    if (!backups->names || !backups->table || !random_key(backups->hash_key) || pthread_mutex_init(&backups->lock, NULL) != 0 ||
        pthread_cond_init(&backups->copied, NULL) != 0)
        return NULL;
    return backups;
}

static bool is_ignored(const struct run *run, const char *path)
{
    for (char **prefix = run->options.ignored; prefix && *prefix; prefix++) {
        size_t length = strlen(*prefix);
        if (strncmp(path, *prefix, length) == 0 && (path[length] == 0 || path[length] == '/'))
            return true;
    }
    return false;
}

static bool lies_in_git(const char *path)
{
    for (const char *git = path; (git = strstr(git, "/.git")); git++) {
        if (git[5] == '/' || git[5] == 0)
            return true;
    }
    return false;
}

static uint32_t slot_of(const struct backups *backups, uint64_t dev, uint64_t ino)
{
    uint64_t identity[2] = {dev, ino};
    return (uint32_t)siphash(backups->hash_key, identity, sizeof identity) % SLOTS;
}

/* Its place in the table, or the free one that it would have. */
static struct kept *find(const struct backups *backups, uint64_t dev, uint64_t ino)
{
    uint32_t slot = slot_of(backups, dev, ino);
    struct kept *kept = &backups->table[slot];
    while (kept->stage && (kept->dev != dev || kept->ino != ino))
        kept = &backups->table[slot = (slot + 1) % SLOTS];
    return kept;
}

/* What follows moves up, so that it is still found. */
static void forget(struct backups *backups, uint32_t slot)
{
    struct kept *table = backups->table;
    for (uint32_t next = (slot + 1) % SLOTS; table[next].stage; next = (next + 1) % SLOTS) {
        uint32_t home = slot_of(backups, table[next].dev, table[next].ino);
        if ((next - home) % SLOTS >= (next - slot) % SLOTS)
            table[slot] = table[next], slot = next;
    }
    table[slot] = (struct kept){0};
    backups->known--;
}

/* Those that are being copied are waited for, and stay; those that may be met under another name, unless they
 * are too many. */
static void make_room(struct backups *backups)
{
    uint32_t with_names = 0;
    if (backups->known < MOST_KNOWN)
        return;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        with_names += backups->table[slot].has_names;
    bool too_many = with_names > MOST_KNOWN / 2;
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const struct kept *kept = &backups->table[slot];
        while (kept->stage && kept->stage != BEING_COPIED && (too_many || !kept->has_names))
            forget(backups, slot);
    }
}

static bool write_all(int fd, const uint8_t *bytes, size_t length)
{
    while (length) {
        ssize_t wrote = write(fd, bytes, length);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes += wrote, length -= (size_t)wrote;
    }
    return true;
}

/* Copies exactly the bytes that were there when we looked; what grows meanwhile is not ours to follow. */
static uint32_t copy(struct run *run, int from, int into, uint32_t number, const struct stat *found, bool *full)
{
    uint8_t nonce[12], part[PART];
    memcpy(nonce, run->header->nonce, 8);
    memcpy(nonce + 8, &number, sizeof number);
    uint64_t done = 0, size = (uint64_t)found->st_size;
    while (done < size) {
        size_t wanted = size - done < PART ? (size_t)(size - done) : PART;
        ssize_t got = read(from, part, wanted);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? CONTENT_UNREADABLE : CONTENT_CHANGING;
        chacha20_xor(spool_key(run), nonce, done, part, (size_t)got);
        if (!write_all(into, part, (size_t)got)) {
            *full = errno == ENOSPC || errno == EDQUOT;
            return CONTENT_UNREADABLE;
        }
        done += (uint64_t)got;
    }
    struct stat now;
    bool same = fstat(from, &now) == 0 && now.st_size == found->st_size &&
                memcmp(&now.st_mtim, &found->st_mtim, sizeof now.st_mtim) == 0;
    return same ? CONTENT_KEPT : CONTENT_CHANGING;
}

int open_for_us(const struct resolved_path *place)
{
    enum { READ = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY };
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", place->fd);
    int fd = open(link, READ | O_NOATIME);
    return fd < 0 && errno == EPERM ? open(link, READ) : fd; /* only its owner may leave the time alone */
}

/* A file that loses its name needs no copy, and no room: the spool gives it another name. */
static bool link_to_spool(struct run *run, const struct resolved_path *place, uint32_t number)
{
    char link[64], name[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", place->fd);
    snprintf(name, sizeof name, FILE_LINKED "%u", number);
    return linkat(AT_FDCWD, link, run->options.spool, name, AT_SYMLINK_FOLLOW) == 0;
}

static uint32_t copy_to_spool(struct run *run, const struct resolved_path *place, uint32_t number, bool loses_name)
{
    char name[32];
    bool full = false;
    int from = open_for_us(place);
    if (from < 0)
        return CONTENT_UNREADABLE;
    snprintf(name, sizeof name, FILE_BLOB "%u", number);
    int into = openat(run->options.spool, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    uint32_t content = CONTENT_UNREADABLE;
    if (into < 0) {
        full = errno == ENOSPC || errno == EDQUOT;
    } else {
        content = copy(run, from, into, number, &place->found, &full);
        close(into);
    }
    close(from);
    if (content != CONTENT_KEPT && into >= 0)
        unlinkat(run->options.spool, name, 0);
    if (full && loses_name && link_to_spool(run, place, number))
        return CONTENT_KEPT;
    if (into < 0 || full)
        count(&run->header->lost_blobs);
    return content;
}

static bool same_time(struct timespec one, struct timespec other)
{
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

/* Whether the content is the one that was there then: only names, links, modes or owners were changed since. */
static bool is_unchanged(const struct kept *kept, const struct stat *found)
{
    return kept->size == found->st_size && same_time(kept->modified, found->st_mtim);
}

/* 0: it is not known. What was only looked at may have been looked at by its name. */
static struct statx_timestamp birth_of(const struct resolved_path *place)
{
    struct statx found;
    bool opened = place->fd >= 0;
    int missing = opened ? statx(place->fd, "", AT_EMPTY_PATH, STATX_BTIME, &found)
                         : statx(AT_FDCWD, place->resolved, AT_SYMLINK_NOFOLLOW, STATX_BTIME | STATX_INO, &found);
    if (missing || !(found.stx_mask & STATX_BTIME))
        return (struct statx_timestamp){0};
    bool same = found.stx_ino == place->found.st_ino && makedev(found.stx_dev_major, found.stx_dev_minor) == place->found.st_dev;
    return opened || same ? found.stx_btime : (struct statx_timestamp){0};
}

static bool is_same_file(const struct kept *kept, struct statx_timestamp born)
{
    return kept->born.tv_sec == born.tv_sec && kept->born.tv_nsec == born.tv_nsec;
}

static uint64_t hash_of_name(const struct backups *backups, const struct resolved_path *place)
{
    return siphash(backups->hash_key, place->resolved, strlen(place->resolved));
}

/* Not every file system tells when a file was made. */
static void tell_kept(const struct backups *backups, const struct kept *kept, const struct resolved_path *place, struct wire_state *state)
{
    if (!kept->born.tv_sec && !kept->born.tv_nsec && !is_unchanged(kept, &place->found))
        return;
    bool by_that_name = kept->number == kept->first_number || kept->name == hash_of_name(backups, place);
    state->content = by_that_name ? kept->content : kept->first_content;
    state->blob = by_that_name ? kept->number : kept->first_number;
}

/* It may be met under another name. */
static bool has_names(enum op op, const struct resolved_path *place)
{
    return place->found.st_nlink > 1 || op == OP_LINK;
}

/* Whether what is there may be gone with the call. */
static bool destroys(enum op op, uint64_t flags)
{
    bool writes = (flags & O_ACCMODE) != O_RDONLY && !(flags & O_APPEND);
    bool opens = op == OP_OPEN || op == OP_OPEN_HANDLE;
    return op == OP_TRUNCATE || op == OP_UNLINK || op == OP_RENAME_TO || (opens && (writes || flags & O_TRUNC));
}

/* A file that is not known lies under a name whose first content is kept already. The run put it there if it
 * made the name; what it brings by a rename is known. */
static bool was_put_there_by_the_run(struct backups *backups, const struct resolved_path *place, bool destroyed)
{
    return is_settled_name(backups->names, place) && !(destroyed && place->found.st_nlink == 1 && !is_made_name(backups->names, place));
}

/* The run's own, or not to be copied under the only name it has. */
static bool needs_nothing(struct backups *backups, enum op op, const struct resolved_path *place, bool destroyed, uint32_t excuse)
{
    pthread_mutex_lock(&backups->lock);
    bool unknown = find(backups, place->found.st_dev, place->found.st_ino)->stage == FREE;
    pthread_mutex_unlock(&backups->lock);
    if (unknown && !excuse && op == OP_RENAME && is_made_name(backups->names, place))
        return false; /* from now on it is known by another name */
    return unknown && ((excuse && !has_names(op, place)) || was_put_there_by_the_run(backups, place, destroyed));
}

/* Why its content is not to be copied, one of CONTENT_; 0: it is. */
static uint32_t excuse_for(const struct run *run, enum op op, const struct resolved_path *place)
{
    /* Git links its objects without end. A link leaves the file as it was, so that it can be copied later; a new mode or
     * another time does not. */
    if (is_ignored(run, place->resolved) || (op == OP_LINK && lies_in_git(place->resolved)))
        return CONTENT_IGNORED;
    return (uint64_t)place->found.st_size > run->options.max_blob ? CONTENT_TOO_LARGE : 0;
}

/* What could not be copied, or needed not, may have to be now. */
static bool is_to_be_tried_again(const struct kept *kept, enum op op, const struct resolved_path *place, bool settled)
{
    bool loses_own_name = settled && (op == OP_UNLINK || op == OP_RENAME || op == OP_RENAME_TO);
    return is_unchanged(kept, &place->found) &&
           (kept->content == CONTENT_UNREADABLE || (kept->content == CONTENT_IGNORED && !loses_own_name));
}

/* It may well be the run's own: who writes is not seen. */
static bool is_another_version(const struct run *run, const struct kept *kept, const struct resolved_path *place)
{
    uint64_t size = (uint64_t)place->found.st_size;
    bool by_that_name = kept->name == hash_of_name(run->backups, place); /* another one had what was kept first */
    return kept->number && size && !kept->has_names && place->found.st_nlink == 1 && !is_unchanged(kept, &place->found) &&
           by_that_name && kept->versions < MOST_VERSIONS && kept->bytes + size <= run->options.max_blob;
}

/* Tells what is known of a file; waits for a copy that another thread makes. True: the copy is ours to make,
 * and `blob` is its number. */
static bool is_to_be_copied(struct run *run, enum op op, const struct resolved_path *place, bool destroyed, uint32_t excuse,
                            struct wire_state *state)
{
    struct backups *backups = run->backups;
    const struct stat *found = &place->found;
    struct statx_timestamp born = birth_of(place);
    bool settled = is_settled_name(backups->names, place), of_the_run = was_put_there_by_the_run(backups, place, destroyed);
    pthread_mutex_lock(&backups->lock);
    struct kept *kept = find(backups, found->st_dev, found->st_ino);
    while (kept->stage == BEING_COPIED) {
        pthread_cond_wait(&backups->copied, &backups->lock);
        kept = find(backups, found->st_dev, found->st_ino);
    }
    bool known = kept->stage == DONE && is_same_file(kept, born);
    bool again = known && !excuse && destroyed && is_another_version(run, kept, place);
    bool copies = again || (!excuse && (known ? is_to_be_tried_again(kept, op, place, settled) : !of_the_run));
    if (!known)
        state->content = excuse;
    if (copies || (!known && (op == OP_RENAME || (excuse && has_names(op, place))))) {
        uint32_t number = known && !again ? kept->number : !copies && !excuse ? 0 : backups->next_number++;
        struct kept before = again ? *kept : (struct kept){.first_content = excuse, .first_number = number};
        if (kept->stage == FREE) {
            make_room(backups);
            kept = find(backups, found->st_dev, found->st_ino);
            backups->known++;
        }
        *kept = (struct kept){.dev = found->st_dev, .ino = found->st_ino, .born = born, .stage = copies ? BEING_COPIED : DONE,
                              .content = excuse, .number = number, .name = hash_of_name(backups, place),
                              .first_content = before.first_content, .first_number = before.first_number,
                              .versions = before.versions + 1, .bytes = before.bytes + (uint64_t)found->st_size,
                              .size = found->st_size, .modified = found->st_mtim};
        known = true;
    }
    if (known) {
        tell_kept(backups, kept, place, state);
        kept->has_names |= has_names(op, place);
        if (kept->has_names)
            atomic_store(&backups->have_names, true);
    }
    if (copies && kept->number > run->header->blobs)
        run->header->blobs = kept->number;
    pthread_mutex_unlock(&backups->lock);
    return copies;
}

static void end_copy(struct backups *backups, const struct stat *found, uint32_t content)
{
    pthread_mutex_lock(&backups->lock);
    struct kept *kept = find(backups, found->st_dev, found->st_ino);
    kept->stage = DONE;
    kept->content = content;
    if (kept->number == kept->first_number)
        kept->first_content = content;
    pthread_cond_broadcast(&backups->copied);
    pthread_mutex_unlock(&backups->lock);
}

static bool is_named_file(const struct resolved_path *place)
{
    return place->exists && S_ISREG(place->found.st_mode) && !(place->notes & NOTE_DELETED);
}

void backup_content(struct run *run, enum op op, uint64_t flags, const struct resolved_path *place, struct wire_state *state)
{
    if (place->fd < 0 || !is_named_file(place))
        return;
    uint32_t excuse = excuse_for(run, op, place);
    bool destroyed = destroys(op, flags);
    if (needs_nothing(run->backups, op, place, destroyed, excuse)) {
        state->content = excuse;
        return;
    }
    if (is_to_be_copied(run, op, place, destroyed, excuse, state)) {
        state->content = copy_to_spool(run, place, state->blob, op == OP_UNLINK || op == OP_RENAME_TO);
        end_copy(run->backups, &place->found, state->content);
    }
    if (!excuse)
        settle_name(run->backups->names, place);
}

void recall_backup(struct run *run, const struct resolved_path *place, struct wire_state *state)
{
    struct backups *backups = run->backups;
    if (!atomic_load(&backups->have_names) || !is_named_file(place))
        return;
    pthread_mutex_lock(&backups->lock);
    struct kept kept = *find(backups, place->found.st_dev, place->found.st_ino);
    pthread_mutex_unlock(&backups->lock);
    bool may_be = kept.stage == DONE && kept.has_names && (kept.born.tv_sec || kept.born.tv_nsec);
    if (may_be && is_same_file(&kept, birth_of(place)))
        tell_kept(backups, &kept, place, state);
}

void note_made(struct run *run, const struct resolved_path *place)
{
    settle_made_name(run->backups->names, place);
}

void note_moved(struct run *run, const struct resolved_path *old, const struct resolved_path *new, bool to_nothing)
{
    if (to_nothing && is_made_name(run->backups->names, old))
        settle_made_name(run->backups->names, new);
    else if (to_nothing && is_settled_name(run->backups->names, old))
        settle_name(run->backups->names, new);
    else
        unsettle_name(run->backups->names, new);
}
