/* Two witnesses: each stop of the filter waits here until the probe tells how the call ended.
 *
 * A thread makes one call at a time, so its stops and the probe's records are in the same order: a record
 * belongs to the last stop of its thread, of the same call, that lies before it. What is left over was seen
 * by one witness only. Where both saw a call and not the same name or file, another thread swapped it after
 * the stop: the two disagree, and what the probe saw is told by itself.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "compare_names.h"
#include "correlate.h"
#include "log.h"
#include "probe_record.h"

#define BUCKETS 4096u

struct expected {
    pid_t tid;
    uint32_t number;
    bool compat, execs;
    uint64_t at_ns;
    uint64_t event_offsets[MAX_EVENTS];
    size_t event_count;
    struct named named;
    struct expected *next; /* later stops of the bucket */
};

struct correlation {
    pthread_mutex_t lock;
    struct expected *first[BUCKETS];
};

struct correlation *start_correlation(void)
{
    struct correlation *agreement = calloc(1, sizeof *agreement);
    return agreement && pthread_mutex_init(&agreement->lock, NULL) == 0 ? agreement : NULL;
}

static struct expected **bucket_of(const struct run *run, pid_t tid)
{
    return &run->correlation->first[(uint32_t)tid % BUCKETS];
}

static bool is_for_both(const struct stop *stop)
{
    return stop->run->correlation && stop->call && stop->call->class == CALL_RECORDED && stop->call->beside != BESIDE_BLIND;
}

void expect_probe(struct stop *stop)
{
    if (!is_for_both(stop) || stop->expected)
        return;
    stop->expected = true;
    struct expected *expected = calloc(1, sizeof *expected);
    if (!expected) {
        count(&stop->run->header->only_notify); /* nobody will confirm it */
        return;
    }
    *expected = (struct expected){.tid = stop->tid, .number = stop->number, .compat = stop->compat,
                                  .execs = stop->call && stop->call->serve == sys_exec, .at_ns = now_ns(stop->run), .event_count = stop->event_count, .named = stop->named};
    memcpy(expected->event_offsets, stop->event_offsets, sizeof expected->event_offsets);
    pthread_mutex_lock(&stop->run->correlation->lock);
    struct expected **link = bucket_of(stop->run, stop->tid);
    while (*link)
        link = &(*link)->next;
    *link = expected;
    pthread_mutex_unlock(&stop->run->correlation->lock);
}

static void take_out(struct expected **link)
{
    struct expected *gone = *link;
    *link = gone->next;
    free(gone);
}

void forget_expected(const struct stop *stop)
{
    if (!stop->expected)
        return;
    pthread_mutex_lock(&stop->run->correlation->lock);
    struct expected **last = NULL;
    for (struct expected **link = bucket_of(stop->run, stop->tid); *link; link = &(*link)->next) {
        if ((*link)->tid == stop->tid)
            last = link;
    }
    if (last)
        take_out(last);
    pthread_mutex_unlock(&stop->run->correlation->lock);
}

static void amend_all(struct run *run, const struct expected *expected, int16_t result, uint16_t notes)
{
    for (size_t i = 0; i < expected->event_count; i++)
        amend_witnessed(run, expected->event_offsets[i], result, notes);
}

static void seen_by_filter_alone(struct run *run, const struct expected *expected)
{
    if (run->header->ring_lost)
        return; /* that the probe lost records is told by itself */
    count(&run->header->only_notify);
    amend_all(run, expected, WIRE_RESULT_UNKNOWN, NOTE_UNCONFIRMED);
}

/* `result`: how it ended for the probe. What the kernel opened or ran instead is known, so that this was not;
 * of a change by name only the words are known, which may have been swapped after the kernel read them, so
 * that it may have been done. */
static void seen_otherwise(struct run *run, const struct expected *expected, int16_t result, enum likeness likeness)
{
    count(&run->header->only_notify);
    bool not_done = likeness == OTHER_FILE || result != 0;
    amend_all(run, expected, not_done ? WIRE_RESULT_FAILED : WIRE_RESULT_UNKNOWN, NOTE_UNCONFIRMED);
}

/* The last stop that lies before the end of the call; the lock is held. */
static struct expected *last_stop(struct run *run, pid_t tid, uint64_t end_ns, bool (*fits)(const struct expected *, const void *),
                                  const void *wanted)
{
    struct expected *match = NULL;
    for (struct expected *one = *bucket_of(run, tid); one; one = one->next) {
        if (one->tid == tid && one->at_ns <= end_ns && fits(one, wanted))
            match = one;
    }
    return match;
}

static bool is_same_call(const struct expected *expected, const void *wanted)
{
    const struct expected *call = wanted;
    return expected->number == call->number && expected->compat == call->compat;
}

static bool is_exec(const struct expected *expected, const void *wanted)
{
    (void)wanted;
    return expected->execs;
}

/* Everything of the thread up to `match`, which has ended so; the lock is held. */
static enum verdict settle_up_to(struct run *run, pid_t tid, const struct expected *match, int16_t result, const struct probed_call *seen)
{
    enum verdict verdict = NOT_STOPPED;
    for (struct expected **link = bucket_of(run, tid); match && *link && verdict == NOT_STOPPED;) {
        if ((*link)->tid != tid) {
            link = &(*link)->next;
            continue;
        }
        if (*link == match) {
            enum likeness likeness = compare_names(run, &match->named, seen);
            verdict = likeness == ALIKE ? AGREED : likeness == OTHER_INTERPRETER ? RUN_BY_ANOTHER : SWAPPED;
            if (verdict != SWAPPED)
                amend_all(run, match, result, NOTE_CONFIRMED);
            else
                seen_otherwise(run, match, result, likeness);
        } else {
            seen_by_filter_alone(run, *link);
        }
        take_out(link);
    }
    return verdict;
}

enum verdict correlate(struct run *run, pid_t tid, uint32_t number, bool compat, uint64_t end_ns, int16_t result,
                       const struct probed_call *seen)
{
    const struct expected call = {.number = number, .compat = compat};
    pthread_mutex_lock(&run->correlation->lock);
    enum verdict verdict = settle_up_to(run, tid, last_stop(run, tid, end_ns, is_same_call, &call), result, seen);
    pthread_mutex_unlock(&run->correlation->lock);
    return verdict;
}

enum verdict correlate_exec(struct run *run, pid_t tid, uint64_t end_ns, const struct probed_call *seen)
{
    pthread_mutex_lock(&run->correlation->lock);
    enum verdict verdict = settle_up_to(run, tid, last_stop(run, tid, end_ns, is_exec, NULL), 0, seen);
    pthread_mutex_unlock(&run->correlation->lock);
    return verdict;
}

/* Whether the probe should have told how it ended: the last call of a living thread may still go on. */
static bool is_overdue(const struct expected *expected, uint64_t until_ns, bool (*is_alive)(pid_t tid))
{
    if (expected->at_ns > until_ns)
        return false;
    for (const struct expected *later = expected->next; later; later = later->next) {
        if (later->tid == expected->tid && later->at_ns <= until_ns)
            return true;
    }
    return !is_alive(expected->tid);
}

void settle_all(struct run *run, uint64_t until_ns, bool (*is_alive)(pid_t tid))
{
    pthread_mutex_lock(&run->correlation->lock);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (const struct expected *one = run->correlation->first[i]; one; one = one->next) {
            if (is_overdue(one, until_ns, is_alive))
                seen_by_filter_alone(run, one);
        }
    }
    pthread_mutex_unlock(&run->correlation->lock);
}

void settle_thread(struct run *run, pid_t tid)
{
    pthread_mutex_lock(&run->correlation->lock);
    for (struct expected **link = bucket_of(run, tid); *link;) {
        if ((*link)->tid != tid) {
            link = &(*link)->next;
            continue;
        }
        seen_by_filter_alone(run, *link);
        take_out(link);
    }
    pthread_mutex_unlock(&run->correlation->lock);
}
