/* Tables of what was met before. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "hashtable.h"

bool start_hashtable(struct hashtable *table, uint32_t slots)
{
    *table = (struct hashtable){calloc(slots, sizeof *table->entries), slots, 0}; /* pages that nobody touches cost nothing */
    return table->entries != NULL;
}

bool hashtable_is_full(const struct hashtable *table)
{
    return table->used >= table->slots / 2;
}

struct hash_entry *hashtable_find(const struct hashtable *table, uint64_t key)
{
    uint32_t slot = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & (table->slots - 1); /* numbers of ours are next to each other */
    while (table->entries[slot].key && table->entries[slot].key != key)
        slot = (slot + 1) & (table->slots - 1);
    return &table->entries[slot];
}

void hashtable_put(struct hashtable *table, struct hash_entry *entry, uint64_t key, uint64_t value)
{
    table->used += !entry->key;
    *entry = (struct hash_entry){key, value};
}

void hashtable_clear(struct hashtable *table)
{
    memset(table->entries, 0, table->slots * sizeof *table->entries);
    table->used = 0;
}

bool random_key(uint8_t key[16])
{
    return getrandom(key, 16, 0) == 16;
}
