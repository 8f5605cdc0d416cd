/* Calls that only look and were just told: a program that asks the same again gets the same events, without
 * another look.
 *
 * Two records are the same if everything the probe took along is: the arguments, what they point to, the
 * answer. As in path_cache.c that holds until a process of the run moves names about, and for a moment at
 * most.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "crypto.h"
#include "hashtable.h"
#include "log.h"
#include "path.h"
#include "probe_record.h"
#include "repeat_cache.h"

#define SLOTS 2048u
#define MOST_EVENTS 2u

struct repeat_cache {
    uint8_t hash_key[16];
    uint64_t asked; /* the hash of the call that was asked for last */
    struct {
        uint64_t hash, age, until_ns;
        uint32_t pid; /* /proc/self is another place for each */
        size_t count;
        struct wire_event events[MOST_EVENTS];
    } slots[SLOTS];
};

struct repeat_cache *start_repeat_cache(void)
{
    struct repeat_cache *recent = calloc(1, sizeof *recent);
    if (recent && !random_key(recent->hash_key)) {
        free(recent);
        return NULL;
    }
    return recent;
}

/* Everything of a record but who, when and where. */
static uint64_t hash_of(const struct repeat_cache *recent, const struct probed_call *seen)
{
    const struct probe_record *record = seen->record;
    uint64_t of_parts = siphash(recent->hash_key, seen->parts, seen->size);
    uint64_t all[] = {of_parts, record->call, record->flags, (uint64_t)record->result, record->args[0], record->args[1],
                      record->args[2], record->args[3], record->args[4], record->args[5]};
    return siphash(recent->hash_key, all, sizeof all);
}

bool log_again(struct repeat_cache *recent, struct stop *stop)
{
    uint64_t hash = recent->asked = hash_of(recent, stop->probed);
    size_t slot = hash % SLOTS;
    if (recent->slots[slot].hash != hash || recent->slots[slot].pid != (uint32_t)stop->pid ||
        recent->slots[slot].age != atomic_load(&stop->run->age) || now_ns(stop->run) >= recent->slots[slot].until_ns)
        return false;
    for (size_t i = 0; i < recent->slots[slot].count; i++) {
        struct wire_event event = event_of(stop, (enum op)recent->slots[slot].events[i].op);
        uint64_t at_ns = event.mono_ns;
        event = recent->slots[slot].events[i];
        event.mono_ns = at_ns;
        event.process = stop->process;
        event.tid = (uint32_t)stop->tid;
        append_event(stop->run, &event);
    }
    return true;
}

void remember(struct repeat_cache *recent, const struct stop *stop, uint64_t age)
{
    uint64_t hash = recent->asked;
    size_t slot = hash % SLOTS;
    recent->slots[slot].hash = 0;
    if (stop->event_count > MOST_EVENTS)
        return;
    for (size_t i = 0; i < stop->event_count; i++) {
        if (!read_event(stop->run, stop->event_offsets[i], &recent->slots[slot].events[i]))
            return;
    }
    recent->slots[slot].count = stop->event_count;
    recent->slots[slot].age = age;
    recent->slots[slot].pid = (uint32_t)stop->pid;
    recent->slots[slot].until_ns = now_ns(stop->run) + CACHE_NS;
    recent->slots[slot].hash = hash;
}
