// with: repeat_cache.c crypto.c probe_record.c text.c hashtable.c
/* The same question of the same process with the same answer is told again as it was, for a moment, and nothing else is. */
#include "no_process.h"
#include "records.h"
#include "clock.h"
#include "log.h"
#include "probe_record.h"
#include "repeat_cache.h"
#include "trace.h"

#define MOMENT 50000000u

static uint64_t clock_ns = 1000;
static struct wire_event spool[64];
static size_t used;

uint64_t now_ns(const struct run *run)
{
    (void)run;
    return clock_ns;
}

struct wire_event event_of(const struct stop *stop, enum op op)
{
    return (struct wire_event){.mono_ns = clock_ns, .op = (uint16_t)op, .process = stop->process};
}

uint64_t append_event(struct run *run, const struct wire_event *event)
{
    (void)run;
    CHECK(used < sizeof spool / sizeof *spool);
    spool[used] = *event;
    return used++;
}

bool read_event(struct run *run, uint64_t at, struct wire_event *event)
{
    (void)run;
    if (at >= used)
        return false;
    *event = spool[at];
    return true;
}

static struct run run;
static struct made made;
static struct probed_call seen;

static struct stop stop_of(pid_t pid, int64_t result, const char *path, uint64_t address)
{
    begin_made(&made, result);
    header_of(&made)->args[0] = address;
    add_made(&made, PART_MEMORY, 0, address, path, strlen(path) + 1);
    seen = seen_of(&made);
    return (struct stop){.run = &run, .probed = &seen, .pid = pid, .tid = pid, .process = (uint32_t)pid};
}

/* As probe_events.c does it: told again, or told and remembered. */
static bool ask(struct repeat_cache *recent, struct stop stop)
{
    if (log_again(recent, &stop))
        return true;
    struct wire_event event = {.mono_ns = clock_ns, .op = OP_STAT, .process = stop.process, .path = 42, .result = -2};
    stop.event_offsets[stop.event_count++] = append_event(&run, &event);
    remember(recent, &stop, atomic_load(&run.age));
    return false;
}

static void the_same_is_told_again_with_its_own_time(struct repeat_cache *recent)
{
    CHECK(!ask(recent, stop_of(7, -2, "/a", 100)));
    clock_ns += 10;
    size_t before = used;
    CHECK(ask(recent, stop_of(7, -2, "/a", 100)) && used == before + 1);
    CHECK(spool[before].mono_ns == clock_ns && spool[before].path == 42 && spool[before].result == -2 && spool[before].process == 7);
}

static void anything_else_is_looked_at(struct repeat_cache *recent)
{
    (void)ask(recent, stop_of(7, -2, "/a", 100));
    CHECK(!ask(recent, stop_of(7, 0, "/a", 100)));  /* another answer */
    CHECK(!ask(recent, stop_of(7, -2, "/b", 100))); /* another name at the same place */
    CHECK(!ask(recent, stop_of(7, -2, "/a", 200)));
    CHECK(!ask(recent, stop_of(8, -2, "/a", 100))); /* another process */
}

static void names_that_were_moved_are_looked_at(struct repeat_cache *recent)
{
    (void)ask(recent, stop_of(7, -2, "/a", 100));
    atomic_fetch_add(&run.age, 1);
    CHECK(!ask(recent, stop_of(7, -2, "/a", 100)) && ask(recent, stop_of(7, -2, "/a", 100)));
}

static void the_moment_passes(struct repeat_cache *recent)
{
    atomic_fetch_add(&run.age, 1);
    CHECK(!ask(recent, stop_of(7, -2, "/a", 100)));
    clock_ns += MOMENT - 1;
    CHECK(ask(recent, stop_of(7, -2, "/a", 100)));
    clock_ns++;
    CHECK(!ask(recent, stop_of(7, -2, "/a", 100)));
}

static void what_has_too_many_events_or_a_lost_one_is_not_remembered(struct repeat_cache *recent)
{
    struct stop stop = stop_of(9, 0, "/many", 100);
    CHECK(!log_again(recent, &stop));
    stop.event_count = 3;
    remember(recent, &stop, atomic_load(&run.age));
    CHECK(!log_again(recent, &stop));
    stop.event_count = 1, stop.event_offsets[0] = UINT64_MAX;
    remember(recent, &stop, atomic_load(&run.age));
    CHECK(!log_again(recent, &stop));
}

int main(void)
{
    struct repeat_cache *recent = start_repeat_cache();
    CHECK(recent);
    the_same_is_told_again_with_its_own_time(recent);
    anything_else_is_looked_at(recent);
    names_that_were_moved_are_looked_at(recent);
    the_moment_passes(recent);
    what_has_too_many_events_or_a_lost_one_is_not_remembered(recent);
    free(recent);
    return 0;
}
