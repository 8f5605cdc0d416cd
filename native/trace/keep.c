/* The content of a file before the command changes it: copied once per file, encrypted, into the spool.
 *
 * A file that was born during the run had no content before it. One lock serialises the copies: a second process that
 * is about to change the same file waits until the first copy is whole.
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
    uint32_t blob; /* 0: looked at, and not kept; the reason is in `content` */
    uint32_t content;
    bool used;
};

struct keeping {
    pthread_mutex_t lock;
    struct kept *table;
    uint32_t known;
    uint32_t next_blob;
    struct timespec began;
    uint8_t hash_key[16];
    uint8_t part[PART];
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
    if (!keeping->table || !random || pthread_mutex_init(&keeping->lock, NULL) != 0)
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
    const char *git = strstr(path, "/.git");
    if (git && (git[5] == '/' || git[5] == 0))
        return true;
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
    while (kept->used && (kept->dev != found->st_dev || kept->ino != found->st_ino))
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
    uint8_t nonce[12];
    memcpy(nonce, run->header->nonce, 8);
    memcpy(nonce + 8, &number, sizeof number);
    uint64_t done = 0, size = (uint64_t)found->st_size;
    while (done < size) {
        size_t wanted = size - done < PART ? (size_t)(size - done) : PART;
        ssize_t got = read(from, run->keeping->part, wanted);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? CONTENT_UNREADABLE : CONTENT_CHANGING;
        chacha20_xor(spool_key(run), nonce, done, run->keeping->part, (size_t)got);
        if (!write_all(into, run->keeping->part, (size_t)got)) {
            run->header->lost_blobs++;
            return CONTENT_UNREADABLE;
        }
        done += (uint64_t)got;
    }
    struct stat now;
    bool same = fstat(from, &now) == 0 && now.st_size == found->st_size &&
                memcmp(&now.st_mtim, &found->st_mtim, sizeof now.st_mtim) == 0;
    return same ? CONTENT_KEPT : CONTENT_CHANGING;
}

static uint32_t copy_to_spool(struct run *run, const struct place *place, uint32_t *blob)
{
    char link[64], name[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", place->fd);
    int from = open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (from < 0)
        return CONTENT_UNREADABLE;
    uint32_t number = run->keeping->next_blob++;
    snprintf(name, sizeof name, FILE_BLOB "%u", number);
    int into = openat(run->options.spool, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    uint32_t content = CONTENT_UNREADABLE;
    if (into < 0) {
        run->header->lost_blobs++;
    } else {
        content = copy(run, from, into, number, &place->found);
        close(into);
    }
    close(from);
    run->header->blobs = number;
    if (content == CONTENT_KEPT)
        *blob = number;
    else if (into >= 0)
        unlinkat(run->options.spool, name, 0);
    return content;
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
    struct keeping *keeping = run->keeping;
    pthread_mutex_lock(&keeping->lock);
    struct kept *kept = find(keeping, &place->found);
    if (!kept->used && !born_in_the_run(run, place)) {
        uint32_t blob = 0, content = copy_to_spool(run, place, &blob);
        *kept = (struct kept){place->found.st_dev, place->found.st_ino, blob, content, true};
        keeping->known++;
        state->blob = blob;
        state->content = content;
    }
    pthread_mutex_unlock(&keeping->lock);
}
