// with: path_event.c store_guard.c path.c path_fast.c path_cache.c crypto.c probe_record.c text.c hashtable.c
/* What is counted of a change: a name that cannot be learned, another root; and the outcome that the state at the stop settles. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "records.h"
#include "backup.h"
#include "clock.h"
#include "compare_names.h"
#include "log.h"
#include "path.h"
#include "path_cache.h"
#include "path_event.h"
#include "probe_record.h"
#include "procfs.h"
#include "seccomp.h"
#include "trace.h"

#define DEEP 30

static struct run run;
static struct wire_header header;
static const struct call call;
static int noted_as_made;
static char last_text[PATH_MAX];

void note_place(struct stop *stop, const struct resolved_path *place, bool is_interpreter)
{
    (void)stop, (void)place, (void)is_interpreter;
}

void count(uint64_t *counter)
{
    ++*counter;
}

uint64_t now_ns(const struct run *of)
{
    (void)of;
    return 1;
}

ssize_t read_memory(pid_t tid, uint64_t address, void *into, size_t length)
{
    (void)tid, (void)address, (void)into, (void)length;
    return -EFAULT;
}

ssize_t read_string(pid_t tid, uint64_t address, char *into, size_t size)
{
    return read_memory(tid, address, into, size);
}

bool read_path(struct stop *stop, int argument, char path[PATH_MAX])
{
    (void)stop, (void)argument, (void)path;
    return false;
}

bool stops_beside_probe(const struct call *of, const uint64_t args[6])
{
    (void)of, (void)args;
    return false;
}

uint32_t intern_text(struct run *of, const char *text)
{
    (void)of;
    snprintf(last_text, sizeof last_text, "%s", text);
    return text[0] ? 7 : 0;
}

uint32_t intern_state(struct run *of, uint32_t resolved, const struct wire_state *state)
{
    (void)of, (void)resolved, (void)state;
    return WIRE_STATE_FIRST;
}

struct wire_event event_of(const struct stop *stop, enum op op)
{
    (void)stop;
    return (struct wire_event){.op = (uint16_t)op, .result = WIRE_RESULT_UNKNOWN};
}

void log_event(struct stop *stop, const struct wire_event *event)
{
    (void)stop, (void)event;
}

void backup_content(struct run *of, enum op op, uint64_t flags, const struct resolved_path *place, struct wire_state *state)
{
    (void)of, (void)op, (void)flags, (void)place, (void)state;
}

void recall_backup(struct run *of, const struct resolved_path *place, struct wire_state *state)
{
    (void)of, (void)place, (void)state;
}

void note_made(struct run *of, const struct resolved_path *place)
{
    (void)of, (void)place;
    noted_as_made++;
}

static struct stop own_stop(void)
{
    static struct path_cache *known;
    known = known ? known : start_path_cache();
    header = (struct wire_header){0};
    return (struct stop){.run = &run, .call = &call, .tid = getpid(), .pid = getpid(), .cache = known};
}

static struct wire_event made(struct stop *stop, enum op op, const char *name, uint64_t flags)
{
    struct resolved_path place;
    look(stop, AT_FDCWD, name, true, &place);
    struct wire_event event = event_at(stop, op, name, &place, true, flags);
    close_place(&place);
    return event;
}

static void what_is_made_where_no_path_reaches_is_counted_and_has_no_name(void)
{
    char base[] = "/tmp/steno-look-XXXXXX", name[201], back[PATH_MAX];
    uint64_t expected = 0;
    memset(name, 'd', 200);
    name[200] = 0;
    CHECK(getcwd(back, sizeof back) && mkdtemp(base) && chdir(base) == 0);
    struct stop stop = own_stop();
    for (int depth = 0; depth < DEEP; depth++) { /* among them is one that has a name itself, but not what is made in it */
        size_t length = strlen(base) + (size_t)(depth + 1) * 201;
        struct wire_event event = made(&stop, OP_MKDIR, name, 0);
        expected += length >= PATH_MAX;
        CHECK(!event.resolved == (length >= PATH_MAX) && !(event.notes & NOTE_NOT_RESOLVED) == (length < PATH_MAX));
        CHECK(header.unresolved == expected && event.result == WIRE_RESULT_UNKNOWN);
        CHECK(mkdir(name, 0700) == 0 && chdir(name) == 0);
    }
    CHECK(expected > 5);
    made(&stop, OP_OPEN, "file", O_CREAT);
    made(&stop, OP_SYMLINK, "link", 0);
    CHECK(header.unresolved == expected + 2);
    CHECK(made(&stop, OP_MKDIR, "missing/directory", 0).resolved == 0 && header.unresolved == expected + 2);
    CHECK(chdir(back) == 0);
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -r %s", base);
    CHECK(system(command) == 0);
}

static void a_change_that_fails_for_want_of_a_directory_is_no_gap(void)
{
    struct stop stop = own_stop();
    CHECK(made(&stop, OP_MKDIR, "/nowhere/at/all", 0).resolved);
    CHECK(made(&stop, OP_UNLINK, "/nowhere/at/all", 0).resolved);
    CHECK(header.unresolved == 0 && header.elsewhere == 0);
}

static void what_may_only_take_a_free_name_fails_where_something_is(void)
{
    struct stop stop = own_stop();
    CHECK(made(&stop, OP_RENAME_TO, "/tmp", RENAME_NOREPLACE).result == WIRE_RESULT_FAILED);
    CHECK(made(&stop, OP_RENAME_TO, "/tmp", 0).result == WIRE_RESULT_UNKNOWN);
    CHECK(made(&stop, OP_LINK_TO, "/tmp", 0).result == -EEXIST);
    CHECK(made(&stop, OP_OPEN, "/tmp", O_CREAT | O_EXCL).result == -EEXIST);
    CHECK(made(&stop, OP_RENAME_TO, "/tmp/steno-nothing-here", RENAME_NOREPLACE).result == WIRE_RESULT_UNKNOWN);
}

static void only_what_the_call_itself_makes_is_the_runs_own(void)
{
    struct stop stop = own_stop();
    noted_as_made = 0;
    made(&stop, OP_OPEN, "/tmp/steno-nothing-here", O_WRONLY);
    made(&stop, OP_UNLINK, "/tmp/steno-nothing-here", 0);
    made(&stop, OP_MKDIR, "/tmp/steno-nothing-here", 0);
    made(&stop, OP_OPEN, "/tmp", O_CREAT);
    CHECK(noted_as_made == 0);
    made(&stop, OP_OPEN, "/tmp/steno-nothing-here", O_CREAT);
    made(&stop, OP_RENAME_TO, "/tmp/steno-nothing-here", 0);
    CHECK(noted_as_made == 2);
}

static void a_root_that_could_not_be_compared_is_a_gap_and_not_another_root(void)
{
    static struct made record;
    struct stop stop = own_stop();
    begin_made(&record, 0);
    struct probed_call seen = seen_of(&record);
    stop.probed = &seen;
    stop.other_root = true;
    stop.tid = INT_MAX; /* it is gone */
    made(&stop, OP_RENAME, "/tmp/steno-nothing-here", 0);
    CHECK(header.unresolved == 1 && header.elsewhere == 0);
    stop.tid = getpid();
    CHECK(!(made(&stop, OP_CHMOD, "/tmp", 0).notes & NOTE_OTHER_ROOT));
    CHECK(header.unresolved == 1 && header.elsewhere == 0);
    struct resolved_path place = {.fd = -1, .notes = NOTE_OTHER_ROOT, .compared = true};
    event_at(&stop, OP_CHMOD, "/x", &place, true, 0);
    CHECK(header.unresolved == 1 && header.elsewhere == 1);
    header_of(&record)->result = -ENOENT;
    made(&stop, OP_CHMOD, "/tmp/steno-nothing-here", 0);
    CHECK(header.unresolved == 1 && header.elsewhere == 1);
}

int main(void)
{
    run.header = &header;
    run.listener = 3;
    run.own_pid = getpid();
    what_is_made_where_no_path_reaches_is_counted_and_has_no_name();
    a_change_that_fails_for_want_of_a_directory_is_no_gap();
    what_may_only_take_a_free_name_fails_where_something_is();
    only_what_the_call_itself_makes_is_the_runs_own();
    a_root_that_could_not_be_compared_is_a_gap_and_not_another_root();
    return 0;
}
