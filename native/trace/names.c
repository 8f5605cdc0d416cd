/* Names of which no content needs to be kept any more: what was there before the run is kept already, or the run itself made
 * what is there, where nothing was. A name that something else comes to is not settled any more. A keyed hash of 62 bits stands for a
 * name. The table never forgets one; when it is full, contents are copied that nobody needs.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "trace.h"

#define SLOTS (1u << 20)
#define MOST_NAMES (SLOTS / 2)
#define SETTLED (UINT64_C(1) << 63)
#define MADE (UINT64_C(1) << 62)
#define HASH (MADE - 1)

struct names {
    pthread_mutex_t lock;
    uint64_t *table; /* 0: free; else a hash, SETTLED and MADE */
    uint32_t count;
    uint8_t hash_key[16];
};

struct names *start_names(void)
{
    struct names *names = calloc(1, sizeof *names);
    if (!names)
        return NULL;
    names->table = calloc(SLOTS, sizeof *names->table);
    bool random = getrandom(names->hash_key, sizeof names->hash_key, 0) == sizeof names->hash_key;
    return names->table && random && pthread_mutex_init(&names->lock, NULL) == 0 ? names : NULL;
}

/* 0: it has no name. The same words in another root are another name. */
static uint64_t hash_of(const struct names *names, const struct place *place)
{
    if (place->resolved[0] != '/' || place->notes & NOTE_NOT_RESOLVED)
        return 0;
    uint64_t hash = siphash(names->hash_key, place->resolved, strlen(place->resolved));
    hash ^= place->notes & NOTE_OTHER_ROOT ? UINT64_MAX : 0;
    hash &= HASH;
    return hash ? hash : 1;
}

static uint64_t *slot_of(const struct names *names, uint64_t hash)
{
    uint32_t slot = (uint32_t)hash % SLOTS;
    while (names->table[slot] && (names->table[slot] & HASH) != hash)
        slot = (slot + 1) % SLOTS;
    return &names->table[slot];
}

static bool has(struct names *names, const struct place *place, uint64_t bit)
{
    uint64_t hash = hash_of(names, place);
    pthread_mutex_lock(&names->lock);
    bool found = hash && *slot_of(names, hash) & bit;
    pthread_mutex_unlock(&names->lock);
    return found;
}

bool is_settled_name(struct names *names, const struct place *place)
{
    return has(names, place, SETTLED);
}

bool is_made_name(struct names *names, const struct place *place)
{
    return has(names, place, MADE);
}

static void settle(struct names *names, const struct place *place, uint64_t bits)
{
    uint64_t hash = hash_of(names, place);
    pthread_mutex_lock(&names->lock);
    uint64_t *slot = hash ? slot_of(names, hash) : NULL;
    bool is_new = slot && !*slot;
    if (slot && (!is_new || names->count < MOST_NAMES)) {
        *slot = hash | bits;
        names->count += is_new;
    }
    pthread_mutex_unlock(&names->lock);
}

void settle_name(struct names *names, const struct place *place)
{
    settle(names, place, is_made_name(names, place) ? SETTLED | MADE : SETTLED);
}

void settle_made_name(struct names *names, const struct place *place)
{
    settle(names, place, SETTLED | MADE);
}

void unsettle_name(struct names *names, const struct place *place)
{
    uint64_t hash = hash_of(names, place);
    pthread_mutex_lock(&names->lock);
    if (hash)
        *slot_of(names, hash) &= HASH; /* a free one stays free */
    pthread_mutex_unlock(&names->lock);
}
