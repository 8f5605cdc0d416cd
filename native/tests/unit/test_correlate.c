// with: correlate.c
/* Stops of the filter and records of the probe: each record finds the stop it belongs to, whatever came between, and what is
 * left over was seen by one witness alone. */
#include <string.h>

#include "../check.h"
#include "handlers.h"
#include "clock.h"
#include "compare_names.h"
#include "correlate.h"
#include "log.h"
#include "probe_record.h"
#include "trace.h"

enum { OPENAT = 257, EXECVE = 59, EXECVEAT = 322, RENAME = 82 };
#define EVENTS 64

static uint64_t clock_ns;
static struct wire_event events[EVENTS];

uint64_t now_ns(const struct run *run)
{
    (void)run;
    return clock_ns;
}

void count(uint64_t *counter)
{
    ++*counter;
}

void amend_witnessed(struct run *run, uint64_t at, int16_t result, uint16_t notes)
{
    (void)run;
    CHECK(at < EVENTS);
    events[at].result = result;
    events[at].notes |= notes;
}

static enum likeness likeness;

enum likeness compare_names(const struct run *of, const struct named *named, const struct probed_call *seen)
{
    (void)of, (void)named, (void)seen;
    return likeness;
}

static bool is_seven(pid_t tid)
{
    return tid == 7;
}

static const struct call openat = {.number = OPENAT, .class = CALL_RECORDED, .serve = sys_open};
static const struct call rename_call = {.number = RENAME, .class = CALL_RECORDED, .serve = sys_two_paths};
static const struct call execve = {.number = EXECVE, .class = CALL_RECORDED, .serve = sys_exec};
static const struct call execveat = {.number = EXECVEAT, .class = CALL_RECORDED, .serve = sys_exec};
static const struct call write_call = {.number = 1, .class = CALL_RECORDED, .when = WHEN_SPLIT, .beside = BESIDE_BLIND, .serve = sys_write};
static const struct call setuid_call = {.number = 105, .class = CALL_COUNTED};

static struct wire_header header;
static struct run run = {.header = &header};

static void begin(void)
{
    memset(events, 0, sizeof events);
    memset(&header, 0, sizeof header);
    clock_ns = 100;
}

static struct stop stop_at(uint64_t at_ns, pid_t tid, const struct call *call, uint64_t event)
{
    clock_ns = at_ns;
    struct stop stop = {.run = &run, .tid = tid, .call = call, .number = call->number, .event_offsets = {event}, .event_count = 1};
    expect_probe(&stop);
    return stop;
}

static bool is_confirmed(uint64_t event, int16_t result)
{
    return events[event].notes == NOTE_CONFIRMED && events[event].result == result;
}

static bool is_unconfirmed(uint64_t event)
{
    return events[event].notes == NOTE_UNCONFIRMED && events[event].result == WIRE_RESULT_UNKNOWN;
}

static void a_call_that_both_saw_gets_its_result(void)
{
    begin();
    stop_at(100, 7, &openat, 1);
    CHECK(correlate(&run, 7, OPENAT, false, 150, -2, NULL) && is_confirmed(1, -2));
    CHECK(!correlate(&run, 7, OPENAT, false, 160, 0, NULL)); /* once */
    settle_thread(&run, 7);
    CHECK(!header.only_notify);
}

static void all_events_of_a_call_get_its_result(void)
{
    begin();
    struct stop stop = {.run = &run, .tid = 7, .call = &rename_call, .number = RENAME, .event_offsets = {1, 2, 3, 4}, .event_count = MAX_EVENTS};
    expect_probe(&stop);
    expect_probe(&stop); /* it is expected once */
    CHECK(correlate(&run, 7, RENAME, false, 150, 0, NULL));
    CHECK(is_confirmed(1, 0) && is_confirmed(2, 0) && is_confirmed(3, 0) && is_confirmed(4, 0));
    settle_thread(&run, 7);
    CHECK(!header.only_notify);
}

static void a_record_belongs_to_its_own_thread_call_and_machine(void)
{
    begin();
    stop_at(100, 7, &openat, 1);
    CHECK(!correlate(&run, 8, OPENAT, false, 150, 0, NULL) && !correlate(&run, 7 + 4096, OPENAT, false, 150, 0, NULL));
    CHECK(!correlate(&run, 7, RENAME, false, 150, 0, NULL) && !correlate(&run, 7, OPENAT, true, 150, 0, NULL));
    CHECK(!correlate(&run, 7, OPENAT, false, 99, 0, NULL)); /* ended before it was stopped */
    CHECK(!events[1].notes);
    CHECK(correlate(&run, 7, OPENAT, false, 100, 0, NULL));
}

static void threads_of_one_bucket_are_kept_apart(void)
{
    begin();
    stop_at(100, 7, &openat, 1);
    stop_at(110, 7 + 4096, &openat, 2);
    stop_at(120, 7 + 8192, &openat, 3);
    CHECK(correlate(&run, 7 + 4096, OPENAT, false, 150, -13, NULL));
    CHECK(!events[1].notes && is_confirmed(2, -13) && !events[3].notes);
    settle_thread(&run, 7 + 8192);
    CHECK(!events[1].notes && is_unconfirmed(3) && header.only_notify == 1);
    CHECK(correlate(&run, 7, OPENAT, false, 150, 0, NULL));
}

/* A call that a signal interrupted is stopped again: the record is of the last time. */
static void of_several_stops_the_last_before_the_end_is_meant(void)
{
    begin();
    stop_at(100, 7, &openat, 1);
    stop_at(200, 7, &openat, 2);
    stop_at(300, 7, &openat, 3);
    CHECK(correlate(&run, 7, OPENAT, false, 250, 0, NULL));
    CHECK(is_unconfirmed(1) && is_confirmed(2, 0) && !events[3].notes && header.only_notify == 1);
    CHECK(correlate(&run, 7, OPENAT, false, 350, -4, NULL) && is_confirmed(3, -4));
}

static void what_came_before_and_never_ended_was_seen_by_the_filter_alone(void)
{
    begin();
    stop_at(100, 7, &rename_call, 1);
    stop_at(200, 7, &openat, 2);
    CHECK(correlate(&run, 7, OPENAT, false, 250, 0, NULL));
    CHECK(is_unconfirmed(1) && is_confirmed(2, 0) && header.only_notify == 1);
    settle_thread(&run, 7);
    CHECK(header.only_notify == 1);
}

static void a_program_that_runs_agrees_with_any_call_that_brings_it_about(void)
{
    begin();
    stop_at(100, 7, &execveat, 1);
    CHECK(correlate_exec(&run, 7, 150, NULL) && is_confirmed(1, 0));
    CHECK(!correlate_exec(&run, 7, 160, NULL));
    stop_at(200, 7, &openat, 2);
    CHECK(!correlate_exec(&run, 7, 250, NULL) && !events[2].notes);
    CHECK(correlate(&run, 7, OPENAT, false, 250, 0, NULL));
}

/* The thread that asks gets the number of its process; the stop has the number that it had. */
static void another_thread_that_becomes_the_program_is_found_by_the_number_it_had(void)
{
    begin();
    stop_at(100, 9, &execve, 1);
    CHECK(!correlate_exec(&run, 7, 150, NULL));
    CHECK(correlate_exec(&run, 9, 150, NULL) && is_confirmed(1, 0));
    settle_thread(&run, 7);
    settle_thread(&run, 9);
    CHECK(!header.only_notify);
}

static void a_caller_that_was_killed_before_it_was_answered_is_not_expected(void)
{
    begin();
    stop_at(100, 7, &openat, 1);
    struct stop killed = stop_at(200, 7, &rename_call, 2);
    forget_expected(&killed);
    struct stop never = {.run = &run, .tid = 7};
    forget_expected(&never);
    CHECK(correlate(&run, 7, OPENAT, false, 300, 0, NULL) && is_confirmed(1, 0) && !events[2].notes && !header.only_notify);
}

static void some_stops_are_for_the_filter_alone(void)
{
    begin();
    stop_at(100, 7, &write_call, 1);
    stop_at(100, 7, &setuid_call, 2);
    settle_thread(&run, 7);
    CHECK(!header.only_notify);
}

static void where_records_were_lost_nobody_is_said_to_disagree(void)
{
    begin();
    header.ring_lost = 1;
    stop_at(100, 7, &openat, 1);
    settle_thread(&run, 7);
    CHECK(!header.only_notify && !events[1].notes);
}

/* The last call of a living thread may go on for ever, and what came after the probe had gone is not its business. */
static void at_the_end_what_the_probe_should_have_told_was_seen_by_the_filter_alone(void)
{
    begin();
    stop_at(100, 7, &openat, 1);
    stop_at(200, 7, &openat, 2);
    stop_at(100, 8, &openat, 3);
    stop_at(100, 8 + 4096, &openat, 4);
    stop_at(301, 9, &openat, 5);
    settle_all(&run, 300, is_seven);
    CHECK(is_unconfirmed(1) && !events[2].notes && is_unconfirmed(3) && is_unconfirmed(4) && !events[5].notes);
    CHECK(header.only_notify == 3);
    settle_thread(&run, 7), settle_thread(&run, 8), settle_thread(&run, 9), settle_thread(&run, 8 + 4096);
}

static void without_a_probe_nothing_is_expected(void)
{
    begin();
    struct run one = {.header = &header};
    struct stop stop = {.run = &one, .tid = 7, .call = &openat, .number = OPENAT};
    expect_probe(&stop);
    CHECK(!stop.expected);
}

static void a_call_that_the_probe_saw_under_another_name_is_not_confirmed(void)
{
    begin();
    likeness = OTHER_FILE;
    stop_at(100, 7, &openat, 1);
    CHECK(correlate(&run, 7, OPENAT, false, 150, 0, NULL) == SWAPPED && events[1].notes == NOTE_UNCONFIRMED && header.only_notify == 1);
    CHECK(events[1].result == WIRE_RESULT_FAILED); /* another file was opened */
    likeness = OTHER_WORDS;
    stop_at(200, 7, &rename_call, 2);
    CHECK(correlate(&run, 7, RENAME, false, 250, 0, NULL) == SWAPPED && is_unconfirmed(2) && header.only_notify == 2);
    likeness = OTHER_INTERPRETER;
    stop_at(300, 7, &execve, 3);
    CHECK(correlate_exec(&run, 7, 350, NULL) == RUN_BY_ANOTHER && is_confirmed(3, 0) && header.only_notify == 2);
    likeness = ALIKE;
}

int main(void)
{
    run.correlation = start_correlation();
    CHECK(run.correlation);
    a_call_that_both_saw_gets_its_result();
    all_events_of_a_call_get_its_result();
    a_record_belongs_to_its_own_thread_call_and_machine();
    threads_of_one_bucket_are_kept_apart();
    of_several_stops_the_last_before_the_end_is_meant();
    what_came_before_and_never_ended_was_seen_by_the_filter_alone();
    a_program_that_runs_agrees_with_any_call_that_brings_it_about();
    another_thread_that_becomes_the_program_is_found_by_the_number_it_had();
    a_caller_that_was_killed_before_it_was_answered_is_not_expected();
    a_call_that_the_probe_saw_under_another_name_is_not_confirmed();
    some_stops_are_for_the_filter_alone();
    where_records_were_lost_nobody_is_said_to_disagree();
    at_the_end_what_the_probe_should_have_told_was_seen_by_the_filter_alone();
    without_a_probe_nothing_is_expected();
    free(run.correlation);
    return 0;
}
