/* The spool of one run: events, states and strings. Each string and each unchanged state is written once.
 *
 * One lock keeps the files in step: what an event refers to is whole before the event is. The tables that know what
 * was written already are bounded; when one is full it is emptied, and things are written once more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "crypto.h"
#include "log.h"
#include "mapped_file.h"
#include "probe_record.h"

#define SLOTS (1u << 18)
#define I386_COUNTERS 1024u
#define MOST_KNOWN (SLOTS / 2)

struct known_string {
    uint64_t hash;
    uint32_t id;
};

struct known_state {
    uint32_t resolved; /* string id of the path; 0: free */
    uint32_t id;
    struct wire_state state;
};

struct emitter {
    pthread_mutex_t lock;
    struct growing events, states, strings;
    uint8_t key[32];
    uint8_t hash_key[16];
    struct known_string *known_strings;
    struct known_state *known_states;
    uint32_t strings_known, states_known;
    uint32_t next_string, next_state;
};

static int read_key(struct run *run, uint8_t key[32])
{
    ssize_t got = read(run->options.key, key, 32);
    close(run->options.key);
    return got == 32 ? 0 : -EINVAL;
}

static int map_header(struct run *run)
{
    int fd = openat(run->options.spool, FILE_HEADER, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int error = posix_fallocate(fd, 0, sizeof *run->header);
    void *header = error ? MAP_FAILED : mmap(NULL, sizeof *run->header, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (header == MAP_FAILED)
        return error ? -error : -errno;
    run->header = header;
    run->header->magic = WIRE_MAGIC;
    run->header->version = WIRE_VERSION;
#if defined(__aarch64__)
    run->header->features |= FEATURE_AARCH64;
#endif
    /* The last four of the twelve bytes that are used are 0 for the strings, and the number of a blob for a blob, from 1. */
    return getrandom(run->header->nonce, 8, 0) == 8 ? 0 : -EIO;
}

int start_emitting(struct run *run)
{
    struct emitter *emitter = calloc(1, sizeof *emitter);
    if (!emitter)
        return -ENOMEM;
    run->emitter = emitter;
    /* Pages of a table that nobody touches cost nothing. */
    emitter->known_strings = calloc(SLOTS, sizeof *emitter->known_strings);
    emitter->known_states = calloc(SLOTS, sizeof *emitter->known_states);
    if (!emitter->known_strings || !emitter->known_states)
        return -ENOMEM;
    emitter->next_string = 1;
    emitter->next_state = WIRE_STATE_FIRST;
    if (getrandom(emitter->hash_key, sizeof emitter->hash_key, 0) != sizeof emitter->hash_key)
        return -EIO;
    int error = pthread_mutex_init(&emitter->lock, NULL);
    error = error ? -error : read_key(run, emitter->key);
    error = error ? error : map_header(run);
    error = error ? error : growing_open(&emitter->events, run->options.spool, FILE_EVENTS);
    error = error ? error : growing_open(&emitter->states, run->options.spool, FILE_STATES);
    return error ? error : growing_open(&emitter->strings, run->options.spool, FILE_STRINGS);
}

const uint8_t *spool_key(const struct run *run)
{
    return run->emitter->key;
}

void count(uint64_t *counter)
{
    __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

void count_call(const struct stop *stop)
{
    uint32_t slot = stop->number < I386_COUNTERS ? stop->number : I386_COUNTERS - 1;
    __atomic_fetch_add(&stop->run->header->counted[slot + (stop->compat ? I386_COUNTERS : 0)], 1, __ATOMIC_RELAXED);
    count(&stop->run->header->undecoded);
}

static bool append(struct growing *file, const void *bytes, size_t length, uint64_t *whole)
{
    uint8_t *at = growing_reserve(file, length);
    if (!at)
        return false;
    memcpy(at, bytes, length);
    growing_commit(file, length);
    __atomic_store_n(whole, file->used, __ATOMIC_RELEASE);
    return true;
}

static bool append_string(struct run *run, const char *bytes, uint32_t length)
{
    struct emitter *emitter = run->emitter;
    struct growing *file = &emitter->strings;
    uint8_t *at = growing_reserve(file, sizeof length + length);
    if (!at)
        return false;
    memcpy(at, &length, sizeof length);
    memcpy(at + sizeof length, bytes, length);
    chacha20_xor(emitter->key, run->header->nonce, file->used, at, sizeof length + length);
    growing_commit(file, sizeof length + length);
    __atomic_store_n(&run->header->strings, file->used, __ATOMIC_RELEASE);
    return true;
}

/* The slot of this hash, or a free one. A keyed hash of 64 bits stands for the string: two that agree are one. */
static struct known_string *find_string(struct emitter *emitter, uint64_t hash)
{
    uint32_t slot = (uint32_t)hash % SLOTS;
    while (emitter->known_strings[slot].id && emitter->known_strings[slot].hash != hash)
        slot = (slot + 1) % SLOTS;
    return &emitter->known_strings[slot];
}

static void forget(struct emitter *emitter)
{
    memset(emitter->known_strings, 0, SLOTS * sizeof *emitter->known_strings);
    memset(emitter->known_states, 0, SLOTS * sizeof *emitter->known_states);
    emitter->strings_known = emitter->states_known = 0;
}

uint32_t intern(struct run *run, const char *bytes, size_t length)
{
    struct emitter *emitter = run->emitter;
    if (length == 0 || atomic_load(&run->released))
        return 0;
    uint64_t hash = siphash(emitter->hash_key, bytes, length);
    pthread_mutex_lock(&emitter->lock);
    if (emitter->strings_known >= MOST_KNOWN)
        forget(emitter);
    struct known_string *known = find_string(emitter, hash);
    if (!known->id && append_string(run, bytes, (uint32_t)length)) {
        *known = (struct known_string){hash, emitter->next_string++};
        emitter->strings_known++;
    } else if (!known->id && !atomic_load(&run->released)) {
        run->header->lost_events++; /* the event that names it says less than was seen */
    }
    uint32_t id = known->id;
    pthread_mutex_unlock(&emitter->lock);
    return id;
}

uint64_t fingerprint(const struct run *run, const char *bytes, size_t length)
{
    return siphash(run->emitter->hash_key, bytes, length) | 1;
}

uint32_t intern_text(struct run *run, const char *text)
{
    return intern(run, text, strlen(text));
}

uint32_t intern_state(struct run *run, uint32_t resolved, const struct wire_state *state)
{
    struct emitter *emitter = run->emitter;
    pthread_mutex_lock(&emitter->lock);
    if (emitter->states_known >= MOST_KNOWN)
        forget(emitter);
    uint32_t slot = resolved * 2654435761u % SLOTS; /* ids are ours, not the command's to choose */
    struct known_state *known = &emitter->known_states[slot];
    while (known->resolved && known->resolved != resolved)
        known = &emitter->known_states[slot = (slot + 1) % SLOTS];
    uint32_t id = known->resolved && memcmp(&known->state, state, sizeof *state) == 0 ? known->id : 0;
    if (!id && !atomic_load(&run->released) &&
        append(&emitter->states, state, sizeof *state, &run->header->states)) {
        id = emitter->next_state++;
        if (resolved) { /* what has no name is written each time */
            emitter->states_known += !known->resolved;
            *known = (struct known_state){resolved, id, *state};
        }
    } else if (!id && !atomic_load(&run->released)) {
        run->header->lost_events++;
    }
    pthread_mutex_unlock(&emitter->lock);
    return id;
}

static uint64_t seen_at(const struct stop *stop)
{
    const struct probe_record *record = stop->seen->record;
    return told_at_ns(stop->run, record->begin_ns ? record->begin_ns : record->end_ns);
}

struct wire_event event_of(const struct stop *stop, enum op op)
{
    return (struct wire_event){
        .mono_ns = stop->seen ? seen_at(stop) : now_ns(stop->run),
        .process = stop->process,
        .tid = (uint32_t)stop->tid,
        .op = (uint16_t)op,
        .call = (uint16_t)stop->number,
        .notes = (uint16_t)(stop->notes | (stop->compat ? NOTE_COMPAT : 0) | (stop->seen ? NOTE_BY_PROBE : 0)),
        .result = WIRE_RESULT_UNKNOWN,
    };
}

uint64_t emit(struct run *run, const struct wire_event *event)
{
    struct emitter *emitter = run->emitter;
    uint64_t at = UINT64_MAX;
    pthread_mutex_lock(&emitter->lock);
    uint64_t end = emitter->events.used;
    if (atomic_load(&run->released))
        at = UINT64_MAX; /* a stop that began before the end and is over after it */
    else if (append(&emitter->events, event, sizeof *event, &run->header->events))
        at = end;
    else
        run->header->lost_events++;
    pthread_mutex_unlock(&emitter->lock);
    return at;
}

void record_event(struct stop *stop, const struct wire_event *event)
{
    struct wire_event answered = *event;
    bool of_the_call = event->op != OP_FOLLOW && event->op != OP_INTERPRETER;
    if (stop->seen && of_the_call)
        answered.result = seen_result(stop->seen);
    if (answered.mono_ns < stop->told_ns) /* in the order in which they are told, whenever they were made up */
        answered.mono_ns = stop->told_ns;
    stop->told_ns = answered.mono_ns;
    uint64_t at = emit(stop->run, &answered);
    if (stop->told_count < MAX_TOLD)
        stop->told_at[stop->told_count++] = at;
}

void call_never_ran(struct stop *stop)
{
    for (size_t i = 0; i < stop->told_count; i++)
        amend_result(stop->run, stop->told_at[i], WIRE_RESULT_FAILED);
}

void amend_result(struct run *run, uint64_t at, int16_t result)
{
    if (at == UINT64_MAX)
        return;
    pthread_mutex_lock(&run->emitter->lock);
    if (!atomic_load(&run->released) &&
        !growing_amend(&run->emitter->events, at + offsetof(struct wire_event, result), &result, sizeof result))
        run->header->lost_events++;
    pthread_mutex_unlock(&run->emitter->lock);
}

bool read_event(struct run *run, uint64_t at, struct wire_event *event)
{
    pthread_mutex_lock(&run->emitter->lock);
    bool found = at != UINT64_MAX && !atomic_load(&run->released) && growing_look(&run->emitter->events, at, event, sizeof *event);
    pthread_mutex_unlock(&run->emitter->lock);
    return found;
}

void amend_witnessed(struct run *run, uint64_t at, int16_t result, uint16_t notes)
{
    if (at == UINT64_MAX)
        return;
    struct growing *events = &run->emitter->events;
    struct wire_event event;
    pthread_mutex_lock(&run->emitter->lock);
    if (!atomic_load(&run->released)) {
        bool found = growing_look(events, at, &event, sizeof event);
        event.notes |= notes;
        if (result != WIRE_RESULT_UNKNOWN && event.op != OP_FOLLOW && event.op != OP_INTERPRETER)
            event.result = result;
        if (!found || !growing_amend(events, at, &event, sizeof event))
            run->header->lost_events++;
    }
    pthread_mutex_unlock(&run->emitter->lock);
}

void end_emitting(struct run *run)
{
    struct emitter *emitter = run->emitter;
    pthread_mutex_lock(&emitter->lock);
    atomic_store(&run->released, true);
    growing_close(&emitter->events);
    growing_close(&emitter->states);
    growing_close(&emitter->strings);
    run->header->closed = 1;
    pthread_mutex_unlock(&emitter->lock);
}
