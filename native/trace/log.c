/* The spool of one run: events, states and strings. Each string and each unchanged state is written once.
 *
 * One lock keeps the files in step: what an event refers to is whole before the event is. The tables that
 * know what was written already are bounded; when one is full it is emptied, and things are written once
 * more.
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
#include "hashtable.h"
#include "log.h"
#include "mapped_file.h"
#include "probe_record.h"

#define SLOTS (1u << 18)
#define I386_COUNTERS 1024u

struct log {
    pthread_mutex_t lock;
    struct growing events_file, states_file, strings_file;
    uint8_t key[32];
    uint8_t hash_key[16];
    struct hashtable strings;        /* number by keyed hash: two strings that agree are one */
    struct hashtable states;         /* number of the last state of a path, by the number of the path */
    struct wire_state *last_states;  /* what it was, by slot of that table */
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

int start_log(struct run *run)
{
    struct log *log = calloc(1, sizeof *log);
    if (!log)
        return -ENOMEM;
    run->log = log;
    log->last_states = calloc(SLOTS, sizeof *log->last_states);
    if (!log->last_states || !start_hashtable(&log->strings, SLOTS) || !start_hashtable(&log->states, SLOTS))
        return -ENOMEM;
    log->next_string = 1;
    log->next_state = WIRE_STATE_FIRST;
    if (!random_key(log->hash_key))
        return -EIO;
    int error = pthread_mutex_init(&log->lock, NULL);
    error = error ? -error : read_key(run, log->key);
    error = error ? error : map_header(run);
    error = error ? error : growing_open(&log->events_file, run->options.spool, FILE_EVENTS);
    error = error ? error : growing_open(&log->states_file, run->options.spool, FILE_STATES);
    return error ? error : growing_open(&log->strings_file, run->options.spool, FILE_STRINGS);
}

const uint8_t *spool_key(const struct run *run)
{
    return run->log->key;
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
    struct log *log = run->log;
    struct growing *file = &log->strings_file;
    uint8_t *at = growing_reserve(file, sizeof length + length);
    if (!at)
        return false;
    memcpy(at, &length, sizeof length);
    memcpy(at + sizeof length, bytes, length);
    chacha20_xor(log->key, run->header->nonce, file->used, at, sizeof length + length);
    growing_commit(file, sizeof length + length);
    __atomic_store_n(&run->header->strings, file->used, __ATOMIC_RELEASE);
    return true;
}

static void forget(struct log *log)
{
    hashtable_clear(&log->strings);
    hashtable_clear(&log->states);
}

uint32_t intern(struct run *run, const char *bytes, size_t length)
{
    struct log *log = run->log;
    if (length == 0 || atomic_load(&run->released))
        return 0;
    uint64_t hash = siphash(log->hash_key, bytes, length) | 1;
    pthread_mutex_lock(&log->lock);
    if (hashtable_is_full(&log->strings))
        forget(log);
    struct hash_entry *known = hashtable_find(&log->strings, hash);
    uint32_t id = known->key ? (uint32_t)known->value : 0;
    if (!id && append_string(run, bytes, (uint32_t)length)) {
        id = log->next_string++;
        hashtable_put(&log->strings, known, hash, id);
    } else if (!id && !atomic_load(&run->released)) {
        run->header->lost_events++; /* the event that names it says less than was seen */
    }
    pthread_mutex_unlock(&log->lock);
    return id;
}

uint64_t fingerprint(const struct run *run, const char *bytes, size_t length)
{
    return siphash(run->log->hash_key, bytes, length) | 1;
}

uint32_t intern_text(struct run *run, const char *text)
{
    return intern(run, text, strlen(text));
}

uint32_t intern_state(struct run *run, uint32_t resolved, const struct wire_state *state)
{
    struct log *log = run->log;
    pthread_mutex_lock(&log->lock);
    if (hashtable_is_full(&log->states))
        forget(log);
    struct hash_entry *known = hashtable_find(&log->states, resolved);
    struct wire_state *last = &log->last_states[known - log->states.entries];
    bool same = resolved && known->key && memcmp(last, state, sizeof *state) == 0;
    uint32_t id = same ? (uint32_t)known->value : 0;
    if (!id && !atomic_load(&run->released) && append(&log->states_file, state, sizeof *state, &run->header->states)) {
        id = log->next_state++;
        if (resolved) { /* what has no name is written each time */
            hashtable_put(&log->states, known, resolved, id);
            *last = *state;
        }
    } else if (!id && !atomic_load(&run->released)) {
        run->header->lost_events++;
    }
    pthread_mutex_unlock(&log->lock);
    return id;
}

static uint64_t seen_at(const struct stop *stop)
{
    const struct probe_record *record = stop->probed->record;
    return told_at_ns(stop->run, record->begin_ns ? record->begin_ns : record->end_ns);
}

struct wire_event event_of(const struct stop *stop, enum op op)
{
    return (struct wire_event){
        .mono_ns = stop->probed ? seen_at(stop) : now_ns(stop->run),
        .process = stop->process,
        .tid = (uint32_t)stop->tid,
        .op = (uint16_t)op,
        .call = (uint16_t)stop->number,
        .notes = (uint16_t)(stop->notes | (stop->compat ? NOTE_COMPAT : 0) | (stop->probed ? NOTE_BY_PROBE : 0)),
        .result = WIRE_RESULT_UNKNOWN,
    };
}

uint64_t append_event(struct run *run, const struct wire_event *event)
{
    struct log *log = run->log;
    uint64_t at = UINT64_MAX;
    pthread_mutex_lock(&log->lock);
    uint64_t end = log->events_file.used;
    if (atomic_load(&run->released))
        at = UINT64_MAX; /* a stop that began before the end and is over after it */
    else if (append(&log->events_file, event, sizeof *event, &run->header->events))
        at = end;
    else
        run->header->lost_events++;
    pthread_mutex_unlock(&log->lock);
    return at;
}

void log_event(struct stop *stop, const struct wire_event *event)
{
    struct wire_event answered = *event;
    bool of_the_call = event->op != OP_FOLLOW && event->op != OP_INTERPRETER;
    if (stop->probed && of_the_call)
        answered.result = probed_result(stop->probed);
    if (answered.mono_ns < stop->last_event_ns) /* in the order in which they are told, whenever they were made up */
        answered.mono_ns = stop->last_event_ns;
    stop->last_event_ns = answered.mono_ns;
    uint64_t at = append_event(stop->run, &answered);
    if (stop->event_count < MAX_EVENTS)
        stop->event_offsets[stop->event_count++] = at;
}

void call_never_ran(struct stop *stop)
{
    for (size_t i = 0; i < stop->event_count; i++)
        amend_result(stop->run, stop->event_offsets[i], WIRE_RESULT_FAILED);
}

void amend_result(struct run *run, uint64_t at, int16_t result)
{
    if (at == UINT64_MAX)
        return;
    pthread_mutex_lock(&run->log->lock);
    if (!atomic_load(&run->released) &&
        !growing_amend(&run->log->events_file, at + offsetof(struct wire_event, result), &result, sizeof result))
        run->header->lost_events++;
    pthread_mutex_unlock(&run->log->lock);
}

bool read_event(struct run *run, uint64_t at, struct wire_event *event)
{
    pthread_mutex_lock(&run->log->lock);
    bool found = at != UINT64_MAX && !atomic_load(&run->released) && growing_look(&run->log->events_file, at, event, sizeof *event);
    pthread_mutex_unlock(&run->log->lock);
    return found;
}

void amend_witnessed(struct run *run, uint64_t at, int16_t result, uint16_t notes)
{
    if (at == UINT64_MAX)
        return;
    struct growing *events = &run->log->events_file;
    struct wire_event event;
    pthread_mutex_lock(&run->log->lock);
    if (!atomic_load(&run->released)) {
        bool found = growing_look(events, at, &event, sizeof event);
        event.notes |= notes;
        if (result != WIRE_RESULT_UNKNOWN && event.op != OP_FOLLOW && event.op != OP_INTERPRETER)
            event.result = result;
        if (!found || !growing_amend(events, at, &event, sizeof event))
            run->header->lost_events++;
    }
    pthread_mutex_unlock(&run->log->lock);
}

void end_log(struct run *run)
{
    struct log *log = run->log;
    pthread_mutex_lock(&log->lock);
    atomic_store(&run->released, true);
    growing_close(&log->events_file);
    growing_close(&log->states_file);
    growing_close(&log->strings_file);
    run->header->closed = 1;
    pthread_mutex_unlock(&log->lock);
}
