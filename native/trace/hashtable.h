/* Open addressing in a fixed number of slots, by keys that a hostile program cannot choose: keyed hashes, or
 * numbers of ours. Nothing is ever taken out but all at once. */
#ifndef STENO_HASHTABLE_H
#define STENO_HASHTABLE_H

#include "trace.h"

struct hash_entry {
    uint64_t key; /* 0: free */
    uint64_t value;
};

struct hashtable {
    struct hash_entry *entries;
    uint32_t slots, used;
};

/* `slots` is a power of two. */
bool start_hashtable(struct hashtable *table, uint32_t slots);
/* Half of them are used: what is put in from now on makes it slow. */
bool hashtable_is_full(const struct hashtable *table);
/* The entry of a key, or the free one that it would have. */
struct hash_entry *hashtable_find(const struct hashtable *table, uint64_t key);
/* `entry` is what was found for the key. */
void hashtable_put(struct hashtable *table, struct hash_entry *entry, uint64_t key, uint64_t value);
void hashtable_clear(struct hashtable *table);
/* A key for siphash. False: there is none, and whoever goes on can be aimed at. */
bool random_key(uint8_t key[16]);

#endif
