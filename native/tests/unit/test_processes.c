// with: processes.c
/* Who may see another root: whoever changed it, and whoever came of them; nobody else. */
#include <linux/sched.h>

#include "../check.h"
#include "clock.h"
#include "log.h"
#include "processes.h"
#include "procfs.h"
#include "ring.h"
#include "text.h"
#include "trace.h"

static struct run run;
static struct wire_header header;
static struct processes *all_begun[8]; /* or they are taken for lost */
static size_t begun;

enum { COMMAND = 0x7ff00001, PLAIN, CHANGER, CHILD, LATER };

uint64_t now_ns(const struct run *of)
{
    (void)of;
    return 1;
}

uint64_t start_ticks(const struct run *of, uint64_t kernel_ns)
{
    (void)of;
    return kernel_ns / NANOSECONDS_A_TICK;
}

void count(uint64_t *counter)
{
    ++*counter;
}

uint64_t append_event(struct run *of, const struct wire_event *event)
{
    (void)of, (void)event;
    return 0;
}

void amend_result(struct run *of, uint64_t at, int16_t result)
{
    (void)of, (void)at, (void)result;
}

ssize_t read_small_file(const char *path, char *into, size_t size)
{
    (void)path, (void)into, (void)size;
    return -1;
}

bool read_birth(pid_t pid, struct birth *birth)
{
    (void)pid, (void)birth;
    return false;
}

pid_t thread_group(pid_t tid)
{
    return tid;
}

bool stacks_are_random(pid_t pid)
{
    (void)pid;
    return true;
}

pid_t next_child(const char **text)
{
    (void)text;
    return 0;
}

bool drain_ring(struct run *of)
{
    (void)of;
    return true;
}

static struct stop stop_by(pid_t pid)
{
    struct stop stop = {.run = &run, .tid = pid, .pid = pid};
    CHECK(identify_seen(&stop, 0, 1));
    return stop;
}

static bool may_differ(pid_t pid)
{
    return stop_by(pid).other_root;
}

static void begin(bool told_by_probe)
{
    run = (struct run){.header = &header};
    run.processes = start_processes(&run);
    CHECK(run.processes && begun < sizeof all_begun / sizeof *all_begun);
    all_begun[begun++] = run.processes;
    if (told_by_probe)
        let_probe_tell(&run);
    note_birth(&run, 0, COMMAND, COMMAND, 0, 1);
    note_birth(&run, COMMAND, PLAIN, PLAIN, 0, 1);
    note_birth(&run, COMMAND, CHANGER, CHANGER, 0, 1);
}

static void only_who_changed_its_root_and_what_came_of_it_may_have_another(void)
{
    begin(true);
    struct stop stop = stop_by(CHANGER);
    note_other_root(&stop, false);
    note_birth(&run, CHANGER, CHILD, CHILD, 0, 1);
    note_birth(&run, COMMAND, LATER, LATER, 0, 1);
    CHECK(stop.other_root && may_differ(CHANGER) && may_differ(CHILD));
    CHECK(!may_differ(COMMAND) && !may_differ(PLAIN) && !may_differ(LATER));
}

static void a_child_that_was_born_with_its_own_mounts_is_found_afterwards(void)
{
    begin(true);
    note_birth(&run, CHANGER, CHILD, CHILD, 0, 1);
    note_birth(&run, CHILD, LATER, LATER, 0, 1);
    struct stop stop = stop_by(CHANGER);
    note_other_root(&stop, true);
    CHECK(may_differ(CHILD) && may_differ(LATER) && !may_differ(PLAIN) && !may_differ(COMMAND));
}

static void whoever_shares_a_root_may_have_another_when_one_changes_it(void)
{
    begin(true);
    atomic_store(&run.roots_shared, true);
    struct stop stop = stop_by(CHANGER);
    note_other_root(&stop, false);
    CHECK(may_differ(PLAIN));
}

static void without_a_probe_anybody_may(void)
{
    begin(false);
    struct stop stop = stop_by(CHANGER);
    note_other_root(&stop, false);
    CHECK(may_differ(PLAIN));
}

static void whose_parents_are_not_known_may(void)
{
    begin(true);
    note_birth(&run, INT_MAX, CHILD, CHILD, 0, 1);
    struct stop stop = stop_by(CHANGER);
    note_other_root(&stop, false);
    note_birth(&run, INT_MAX, LATER, LATER, 0, 1);
    CHECK(!may_differ(CHILD) && may_differ(LATER));
}

int main(void)
{
    only_who_changed_its_root_and_what_came_of_it_may_have_another();
    a_child_that_was_born_with_its_own_mounts_is_found_afterwards();
    whoever_shares_a_root_may_have_another_when_one_changes_it();
    without_a_probe_anybody_may();
    whose_parents_are_not_known_may();
    return 0;
}
