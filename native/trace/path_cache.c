/* What one serving thread has just learned from the kernel, and may use again for a moment.
 *
 * Where the words of a directory lead, through links and "..", stays so until a process of the run moves
 * names about, and a working directory until one is changed. Each such call begins a new age when it is
 * stopped, and another at the next stop of its thread, when it is over: what others learned in between may be
 * of before. A change from outside of the run, or by a thread that did not come back yet, can be missed for
 * MOMENT_NS: docs/coverage.md says so. Threads that share a working directory can change it under each other,
 * so it is remembered for processes of one thread only.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "crypto.h"
#include "hashtable.h"
#include "path.h"
#include "path_cache.h"

#define DIRECTORIES 256u
#define LONGEST_REAL 256u
#define PROCESSES 16u
#define MOVERS 1024u

struct age {
    uint64_t number;
    uint64_t until_ns;
};

struct path_cache {
    uint8_t hash_key[16];
    struct {
        struct age age;
        uint64_t hash;
        char real[LONGEST_REAL];
    } directories[DIRECTORIES];
    struct {
        struct age age;
        uint32_t process;
        char path[PATH_MAX];
    } cwds[PROCESSES];
};

struct path_cache *start_path_cache(void)
{
    struct path_cache *known = calloc(1, sizeof *known);
    if (known && !random_key(known->hash_key)) {
        free(known); /* with a key that can be guessed, two directories could be made to look like one */
        return NULL;
    }
    return known;
}

/* Threads that were let go to move names. One that loses its place to another is not waited for. */
static atomic_int movers[MOVERS];

void note_move(const struct stop *stop)
{
    atomic_store(&movers[(uint32_t)stop->tid % MOVERS], stop->tid);
    atomic_fetch_add(&stop->run->age, 1);
}

void settle_move(const struct stop *stop)
{
    atomic_int *mover = &movers[(uint32_t)stop->tid % MOVERS];
    int own = stop->tid;
    if (atomic_load_explicit(mover, memory_order_relaxed) == own && atomic_compare_exchange_strong(mover, &own, 0))
        atomic_fetch_add(&stop->run->age, 1);
}

static struct age age_now(const struct stop *stop)
{
    return (struct age){atomic_load(&stop->run->age), now_ns(stop->run) + CACHE_NS};
}

static bool is_current(const struct stop *stop, struct age age)
{
    return age.number == atomic_load(&stop->run->age) && now_ns(stop->run) < age.until_ns;
}

const char *cached_directory(const struct stop *stop, const char *words, size_t length)
{
    uint64_t hash = siphash(stop->cache->hash_key, words, length);
    size_t slot = hash % DIRECTORIES;
    bool known = stop->cache->directories[slot].hash == hash && is_current(stop, stop->cache->directories[slot].age);
    return known ? stop->cache->directories[slot].real : NULL;
}

void cache_directory(const struct stop *stop, const char *words, size_t length, const char *real, size_t real_length)
{
    uint64_t hash = siphash(stop->cache->hash_key, words, length);
    size_t slot = hash % DIRECTORIES;
    if (real_length >= LONGEST_REAL)
        return;
    stop->cache->directories[slot].hash = hash;
    stop->cache->directories[slot].age = age_now(stop);
    memcpy(stop->cache->directories[slot].real, real, real_length);
    stop->cache->directories[slot].real[real_length] = 0;
}

const char *cached_cwd(const struct stop *stop)
{
    uint32_t slot = stop->process % PROCESSES;
    bool known = stop->single_threaded && stop->cache->cwds[slot].process == stop->process &&
                 is_current(stop, stop->cache->cwds[slot].age);
    return known ? stop->cache->cwds[slot].path : NULL;
}

void cache_cwd(const struct stop *stop, const char *path)
{
    uint32_t slot = stop->process % PROCESSES;
    stop->cache->cwds[slot].age = age_now(stop);
    stop->cache->cwds[slot].process = stop->process;
    memcpy(stop->cache->cwds[slot].path, path, strlen(path) + 1);
}
