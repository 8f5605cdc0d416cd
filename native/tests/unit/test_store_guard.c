// with: store_guard.c
/* What of the store is closed to the run: all that was there, and the way to it; and what is not: other names, and the records of runs
 * that the command records itself. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "path.h"
#include "path_event.h"
#include "store_guard.h"
#include "trace.h"

#define OWN "2026-11-16T16-53-59-493Z_2ffe6738"
#define EARLIER "2026-11-15T16-53-59-493Z_2ffe6738"
#define NESTED "2026-11-16T16-54-00-000Z_00000001"

static struct run run;
static struct store *with_keys; /* as long as the process, as it is in steno-trace */
static struct call call = {.arg = 1};
static char base[] = "/tmp/steno-store-XXXXXX", keys[] = "/tmp/steno-keys-XXXXXX";

uint64_t argument(const struct stop *stop, int position)
{
    return position < 0 ? 0 : stop->args[position];
}

static bool closed_at(enum op op, const char *path, bool is_there, uint64_t mode, uint16_t notes)
{
    struct stop stop = {.run = &run, .call = &call, .args = {0, mode}};
    struct resolved_path place = {.fd = -1, .exists = is_there, .notes = notes};
    snprintf(place.resolved, sizeof place.resolved, "%s", path);
    return is_guarded(&stop, op, &place);
}

static bool closed(enum op op, const char *below, bool is_there)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", base, below);
    return closed_at(op, path, is_there, 0, 0);
}

static void what_was_there_stays(void)
{
    CHECK(closed(OP_UNLINK, "/" EARLIER "/manifest.json", true));
    CHECK(closed(OP_OPEN, "/" EARLIER "/events.ndjson", true));
    CHECK(closed(OP_OPEN, "/" EARLIER "/planted", false));
    CHECK(closed(OP_CHMOD, "/" EARLIER, true));
    CHECK(closed(OP_LINK, "/" EARLIER "/manifest.json", true));
    CHECK(closed(OP_UNLINK, "/.local.key", true));
    CHECK(closed(OP_RENAME, "/" OWN, true));
    CHECK(closed(OP_UNLINK, "/" OWN "/spool/events.ndjson", true));
    CHECK(closed(OP_OPEN, "/" OWN "/spool/planted", false));
    CHECK(closed(OP_OPEN, "/" OWN "/spool/intake-of-mine", false));
    CHECK(!closed(OP_OPEN, "/" OWN "/spool/intake/hooks.ndjson", true));
}

static void other_names_are_open(void)
{
    CHECK(!closed(OP_MKDIR, "/trash", false));
    CHECK(closed(OP_RENAME, "/trash", true));
    CHECK(!closed(OP_MKDIR, "-not", false));
    CHECK(!closed_at(OP_UNLINK, "/tmp/elsewhere", true, 0, 0));
    CHECK(!closed_at(OP_UNLINK, base, true, 0, NOTE_OTHER_ROOT));
}

static void a_nested_run_is_open(void)
{
    CHECK(closed(OP_UNLINK, "/" NESTED "/spool/reserve", true));
    CHECK(closed(OP_OPEN, "/" NESTED, false)); /* no folder */
    CHECK(!closed(OP_MKDIR, "/.new-" NESTED, false));
    CHECK(!closed(OP_MKDIR, "/.new-" NESTED "/spool", false));
    CHECK(!closed(OP_RENAME, "/.new-" NESTED, true));
    CHECK(!closed(OP_UNLINK, "/" NESTED "/spool/reserve", true));
    CHECK(closed(OP_MKDIR, "/.new-" EARLIER, true));
    CHECK(closed(OP_UNLINK, "/" EARLIER "/manifest.json", true));
}

static void the_way_stays_open(void)
{
    CHECK(closed_at(OP_RENAME, "/tmp", true, 0, 0));
    CHECK(closed_at(OP_RENAME, base, true, 0, 0));
    CHECK(!closed_at(OP_RMDIR, "/tmp", true, 0, 0)); /* it is not empty: the kernel says so */
    CHECK(closed_at(OP_CHMOD, "/tmp", true, 0600, 0));
    CHECK(!closed_at(OP_CHMOD, "/tmp", true, 0711, 0));
    CHECK(closed_at(OP_CHMOD, base, true, 0755, 0));
    CHECK(!closed_at(OP_CHOWN, "/", true, 0, 0));
    CHECK(closed_at(OP_RENAME, "/", true, 0, 0));
    CHECK(!closed_at(OP_MOUNT, base, true, 0, 0));
    CHECK(closed_at(OP_UNLINK, "/home/link", true, 0, 0));
    CHECK(!closed_at(OP_UNLINK, "/home/link2", true, 0, 0));
    CHECK(closed_at(OP_RENAME, "/home", true, 0, 0));
    CHECK(!closed_at(OP_CHMOD, "/home", true, 0755, 0));
}

static void the_keys_stay(void)
{
    char key[PATH_MAX], other[PATH_MAX];
    snprintf(key, sizeof key, "%s/local.key", keys);
    snprintf(other, sizeof other, "%s-not/local.key", keys);
    CHECK(closed_at(OP_UNLINK, key, true, 0, 0));
    CHECK(closed_at(OP_OPEN, key, true, 0, 0));
    CHECK(closed_at(OP_MKDIR, key, false, 0, 0)); /* nobody but the recorder makes one */
    CHECK(closed_at(OP_RENAME, keys, true, 0, 0));
    CHECK(closed_at(OP_CHMOD, keys, true, 0755, 0));
    CHECK(!closed_at(OP_RMDIR, keys, true, 0, 0)); /* it is not empty: the kernel says so */
    CHECK(!closed_at(OP_UNLINK, other, true, 0, 0));
}

/* More than can be told apart: the rest stay closed. */
static void nested_runs_are_bounded(void)
{
    char path[PATH_MAX];
    bool all = true;
    for (unsigned i = 0; i < 5000; i++) {
        snprintf(path, sizeof path, "/.new-2027-01-01T00-00-00-000Z_%08x", i);
        all &= !closed(OP_MKDIR, path, false);
    }
    CHECK(!all);
    CHECK(closed(OP_UNLINK, "/2027-01-01T00-00-00-000Z_00001387/x", true));
}

int main(void)
{
    char *links[] = {"/home/link", NULL};
    CHECK(mkdtemp(base));
    CHECK(mkdtemp(keys));
    run.store = guard_store(open(base, O_PATH | O_DIRECTORY), OWN, open(keys, O_PATH | O_DIRECTORY), links);
    CHECK(run.store);
    what_was_there_stays();
    other_names_are_open();
    a_nested_run_is_open();
    the_way_stays_open();
    the_keys_stay();
    nested_runs_are_bounded();
    CHECK(rmdir(base) == 0 && rmdir(keys) == 0);
    with_keys = run.store;
    run.store = guard_store(open("/tmp", O_PATH | O_DIRECTORY), OWN, -1, links);
    CHECK(run.store);
    CHECK(!closed_at(OP_UNLINK, "/local.key", true, 0, 0));
    CHECK(!closed_at(OP_CHMOD, "/var", true, 0600, 0));
    CHECK(with_keys != run.store);
    return 0;
}
