/* What one serving thread has just learned from the kernel, and may use again for a moment.
 *
 * A directory that was found to have no link on its way keeps that until a process of the run moves names about, and a
 * working directory until one is changed; each such call begins a new age. A change from outside of the run, or
 * by a thread that moves names while another looks, can be missed for MOMENT_NS: docs/coverage.md says so. Threads that share a
 * working directory can change it under each other, so it is remembered for processes of one thread only.
 */
#include <stdlib.h>
#include <string.h>

#include "trace.h"

#define MOMENT_NS 50000000u
#define DIRECTORIES 256u
#define PROCESSES 16u

struct age {
    uint64_t number;
    uint64_t until_ns;
};

struct known {
    uint8_t hash_key[16];
    struct {
        struct age age;
        uint64_t hash;
    } directories[DIRECTORIES];
    struct {
        struct age age;
        uint32_t process;
        char path[PATH_MAX];
    } cwds[PROCESSES];
};

struct known *start_knowing(void)
{
    struct known *known = calloc(1, sizeof *known);
    if (known)
        memcpy(known->hash_key, &known, sizeof known); /* only this thread uses it; it need not be a secret */
    return known;
}

bool moves_names(enum op op)
{
    switch (op) {
    case OP_RENAME:
    case OP_SYMLINK:
    case OP_RMDIR:
    case OP_UNLINK:
    case OP_MOUNT:
    case OP_UMOUNT:
    case OP_PIVOT_ROOT:
    case OP_CHDIR:
    case OP_CHROOT:
    case OP_NAMESPACE:
        return true;
    default:
        return false;
    }
}

static struct age age_now(const struct stop *stop)
{
    return (struct age){atomic_load(&stop->run->age), now_ns(stop->run) + MOMENT_NS};
}

static bool is_current(const struct stop *stop, struct age age)
{
    return age.number == atomic_load(&stop->run->age) && now_ns(stop->run) < age.until_ns;
}

static uint64_t hash_of_directory(const struct stop *stop, const char *path)
{
    const char *slash = strrchr(path, '/');
    return siphash(stop->known->hash_key, path, slash ? (size_t)(slash - path) : 0);
}

bool directory_is_plain(const struct stop *stop, const char *path)
{
    uint64_t hash = hash_of_directory(stop, path);
    return stop->known->directories[hash % DIRECTORIES].hash == hash &&
           is_current(stop, stop->known->directories[hash % DIRECTORIES].age);
}

void note_plain_directory(const struct stop *stop, const char *path)
{
    uint64_t hash = hash_of_directory(stop, path);
    stop->known->directories[hash % DIRECTORIES].hash = hash;
    stop->known->directories[hash % DIRECTORIES].age = age_now(stop);
}

const char *known_cwd(const struct stop *stop)
{
    uint32_t slot = stop->process % PROCESSES;
    bool known = stop->alone && stop->known->cwds[slot].process == stop->process &&
                 is_current(stop, stop->known->cwds[slot].age);
    return known ? stop->known->cwds[slot].path : NULL;
}

void note_cwd(const struct stop *stop, const char *path)
{
    uint32_t slot = stop->process % PROCESSES;
    stop->known->cwds[slot].age = age_now(stop);
    stop->known->cwds[slot].process = stop->process;
    memcpy(stop->known->cwds[slot].path, path, strlen(path) + 1);
}
