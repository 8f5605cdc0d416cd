/* The content of a file before the command changes it: copied once per file, encrypted, into the spool.
 *
 * A file that was born during the run had no content before it. A second process that is about to change the same file
 * waits until the first copy is whole; no lock is held meanwhile, because the file may lie in a file system that a
 * process of the run serves.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "trace.h"

#define SLOTS (1u << 18)
#define MOST_KNOWN (SLOTS / 2)
#define PART (128u * 1024)

struct kept {
    uint64_t dev, ino;
    enum { FREE, BEING_COPIED, DONE } stage;
};

struct keeping {
    pthread_mutex_t lock;
    pthread_cond_t copied;
    struct kept *table;
    uint32_t known;
    uint32_t next_blob;
    struct timespec began;
    uint8_t hash_key[16];
};

struct keeping *start_keeping(struct run *run)
{
    (void)run;
    struct keeping *keeping = calloc(1, sizeof *keeping);
    if (!keeping)
        return NULL;
    keeping->table = calloc(SLOTS, sizeof *keeping->table);
    clock_gettime(CLOCK_REALTIME, &keeping->began);
    keeping->next_blob = 1;
    bool random = getrandom(keeping->hash_key, sizeof keeping->hash_key, 0) == sizeof keeping->hash_key;
    if (!keeping->table || !random || pthread_mutex_init(&keeping->lock, NULL) != 0 ||
        pthread_cond_init(&keeping->copied, NULL) != 0)
        return NULL;
    return keeping;
}

/* The kernel stamps files with a clock that is at most late, so an old file never looks newborn. */
static bool born_in_the_run(const struct run *run, const struct place *place)
{
    struct statx found;
    if (statx(place->fd, "", AT_EMPTY_PATH, STATX_BTIME, &found) != 0 || !(found.stx_mask & STATX_BTIME))
        return false;
    const struct timespec *began = &run->keeping->began;
    return found.stx_btime.tv_sec > began->tv_sec ||
           (found.stx_btime.tv_sec == began->tv_sec && found.stx_btime.tv_nsec >= (uint32_t)began->tv_nsec);
}

static bool is_ignored(const struct run *run, const char *path)
{
    for (const char *git = path; (git = strstr(git, "/.git")); git++) {
        if (git[5] == '/' || git[5] == 0)
            return true;
    }
    for (char **prefix = run->options.ignored; prefix && *prefix; prefix++) {
        size_t length = strlen(*prefix);
        if (strncmp(path, *prefix, length) == 0 && (path[length] == 0 || path[length] == '/'))
            return true;
    }
    return false;
}

static struct kept *find(struct keeping *keeping, const struct stat *found)
{
    uint64_t identity[2] = {found->st_dev, found->st_ino};
    if (keeping->known >= MOST_KNOWN) {
        memset(keeping->table, 0, SLOTS * sizeof *keeping->table);
        keeping->known = 0;
    }
    uint32_t slot = (uint32_t)siphash(keeping->hash_key, identity, sizeof identity) % SLOTS;
    struct kept *kept = &keeping->table[slot];
    while (kept->stage && (kept->dev != found->st_dev || kept->ino != found->st_ino))
        kept = &keeping->table[slot = (slot + 1) % SLOTS];
    return kept;
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
static uint32_t copy(struct run *run, int from, int into, uint32_t number, const struct stat *found)
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
            count(&run->header->lost_blobs);
            return CONTENT_UNREADABLE;
        }
        done += (uint64_t)got;
    }
    struct stat now;
    bool same = fstat(from, &now) == 0 && now.st_size == found->st_size &&
                memcmp(&now.st_mtim, &found->st_mtim, sizeof now.st_mtim) == 0;
    return same ? CONTENT_KEPT : CONTENT_CHANGING;
}

static uint32_t copy_to_spool(struct run *run, const struct place *place, uint32_t number)
{
    char link[64], name[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", place->fd);
    int from = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (from < 0)
        return CONTENT_UNREADABLE;
    snprintf(name, sizeof name, FILE_BLOB "%u", number);
    int into = openat(run->options.spool, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    uint32_t content = CONTENT_UNREADABLE;
    if (into < 0) {
        count(&run->header->lost_blobs);
    } else {
        content = copy(run, from, into, number, &place->found);
        close(into);
    }
    close(from);
    if (content != CONTENT_KEPT && into >= 0)
        unlinkat(run->options.spool, name, 0);
    return content;
}

/* Waits for a copy that another thread makes. If there is none, and a number is wanted, it is ours to make. */
static bool is_kept(struct run *run, const struct stat *found, uint32_t *number)
{
    struct keeping *keeping = run->keeping;
    pthread_mutex_lock(&keeping->lock);
    struct kept *kept = find(keeping, found);
    while (kept->stage == BEING_COPIED) {
        pthread_cond_wait(&keeping->copied, &keeping->lock);
        kept = find(keeping, found);
    }
    bool done = kept->stage == DONE;
    if (!done && number) {
        *kept = (struct kept){found->st_dev, found->st_ino, BEING_COPIED};
        keeping->known++;
        *number = keeping->next_blob++;
        run->header->blobs = *number;
    }
    pthread_mutex_unlock(&keeping->lock);
    return done;
}

static void end_copy(struct keeping *keeping, const struct stat *found)
{
    pthread_mutex_lock(&keeping->lock);
    struct kept *kept = find(keeping, found);
    keeping->known += kept->stage == FREE; /* the table was emptied meanwhile */
    *kept = (struct kept){found->st_dev, found->st_ino, DONE};
    pthread_cond_broadcast(&keeping->copied);
    pthread_mutex_unlock(&keeping->lock);
}

void keep_content(struct run *run, const struct place *place, struct wire_state *state)
{
    if (place->fd < 0 || !S_ISREG(place->found.st_mode) || place->notes & NOTE_DELETED)
        return;
    if (is_ignored(run, place->resolved)) {
        state->content = CONTENT_IGNORED;
        return;
    }
    if ((uint64_t)place->found.st_size > run->options.max_blob) {
        state->content = CONTENT_TOO_LARGE;
        return;
    }
    if (is_kept(run, &place->found, NULL) || born_in_the_run(run, place))
        return;
    uint32_t number = 0;
    if (is_kept(run, &place->found, &number))
        return;
    state->content = copy_to_spool(run, place, number);
    state->blob = state->content == CONTENT_KEPT ? number : 0;
    end_copy(run->keeping, &place->found);
}
