// with: backup.c crypto.c hashtable.c
/* What is kept of a file before it changes: what the run itself made is not, what somebody else made meanwhile is, and the
 * second name of a file has the copy of the first, whatever was done to the file since. */
#include <fcntl.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "../check.h"
#include "backup.h"
#include "log.h"
#include "path.h"
#include "trace.h"

static struct run run;
static struct wire_header header;
static char base[] = "/tmp/steno-keep-XXXXXX";
static const uint8_t no_key[32];

void count(uint64_t *counter)
{
    ++*counter;
}

const uint8_t *spool_key(const struct run *of)
{
    (void)of;
    return no_key;
}

static struct resolved_path at(const char *name)
{
    struct resolved_path place = {.fd = -1};
    snprintf(place.resolved, sizeof place.resolved, "%s/%s", base, name);
    place.fd = open(place.resolved, O_PATH | O_NOFOLLOW);
    place.exists = place.fd >= 0 && fstat(place.fd, &place.found) == 0;
    return place;
}

static void put(const char *name, const char *content)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", base, name);
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(content, file) >= 0 && fclose(file) == 0);
}

static struct wire_state kept_with(enum op op, uint64_t flags, const char *name)
{
    struct wire_state state = {0};
    struct resolved_path place = at(name);
    CHECK(place.exists);
    backup_content(&run, op, flags, &place, &state);
    close(place.fd);
    return state;
}

/* Of a call that destroys nothing, where the operation leaves that open. */
static struct wire_state kept(enum op op, const char *name)
{
    return kept_with(op, O_WRONLY | O_APPEND, name);
}

static void made(const char *name)
{
    struct resolved_path place = at(name);
    CHECK(!place.exists);
    note_made(&run, &place);
}

static void what_the_run_made_is_not_copied_and_what_others_made_is(void)
{
    made("own");
    put("own", "of the run");
    put("others", "somebody's words");
    CHECK(kept(OP_OPEN, "own").content == CONTENT_NOT_KEPT);
    struct wire_state others = kept(OP_OPEN, "others");
    CHECK(others.content == CONTENT_KEPT && others.blob == 1 && header.blobs == 1);
    put("others", "longer words, of the run");
    CHECK(kept(OP_OPEN, "others").blob == 1 && header.blobs == 1);
}

static void a_name_that_goes_along_is_what_it_was(void)
{
    struct resolved_path own = at("own"), others = at("never looked at"), along = at("new own"), new = at("new others");
    note_moved(&run, &own, &along, true);
    note_moved(&run, &others, &new, true);
    put("new own", "of the run");
    put("new others", "words");
    CHECK(kept(OP_OPEN, "new own").content == CONTENT_NOT_KEPT);
    CHECK(kept(OP_OPEN, "new others").content == CONTENT_KEPT);
    close(own.fd);
}

static void what_was_never_looked_at_is_kept_under_a_name_that_was_settled(void)
{
    struct resolved_path never = at("never looked at either"), own = at("own"), first = at("others"), second = at("new own");
    CHECK(kept(OP_OPEN, "others").blob == 1);
    note_moved(&run, &never, &first, true);
    note_moved(&run, &own, &second, false); /* who knows what will be there */
    for (const char *name[] = {"others", "new own", NULL}, **next = name; *next; next++) {
        struct resolved_path place = at(*next);
        CHECK(unlink(place.resolved) == 0);
        put(*next, "came by a rename of its directory");
        close(place.fd);
        struct wire_state came = kept(OP_OPEN, *next);
        CHECK(came.content == CONTENT_KEPT && came.blob == header.blobs);
        put(*next, "changed");
        CHECK(kept(OP_OPEN, *next).blob == came.blob && came.blob == header.blobs);
    }
    close(own.fd);
    close(first.fd);
    close(second.fd);
}

static void hard_link(const char *old, const char *new)
{
    char from[PATH_MAX], to[PATH_MAX];
    snprintf(from, sizeof from, "%s/%s", base, old);
    snprintf(to, sizeof to, "%s/%s", base, new);
    CHECK(link(from, to) == 0);
}

static void gone(const char *name)
{
    struct resolved_path place = at(name);
    CHECK(unlink(place.resolved) == 0);
    close(place.fd);
}

static struct wire_state recalled(const char *name, bool opened)
{
    struct wire_state state = {0};
    struct resolved_path place = at(name);
    int fd = place.fd;
    if (!opened)
        place.fd = -1;
    recall_backup(&run, &place, &state);
    close(fd);
    return state;
}

static void every_name_of_a_file_has_the_copy_that_was_made_first(void)
{
    put("one", "content");
    hard_link("one", "two");
    hard_link("one", "three");
    hard_link("one", "four");
    CHECK(recalled("two", true).content == CONTENT_NOT_KEPT); /* the run has not touched it yet */
    struct wire_state one = kept(OP_UNLINK, "one");
    gone("one"); /* that it had a name less shows in its change time */
    struct wire_state two = kept(OP_UNLINK, "two");
    CHECK(one.content == CONTENT_KEPT && two.content == CONTENT_KEPT && one.blob && one.blob == two.blob);
    put("three", "something longer");
    uint64_t blobs = header.blobs;
    struct wire_state three = kept(OP_UNLINK, "three");
    CHECK(three.content == CONTENT_KEPT && three.blob == one.blob && header.blobs == blobs);
    gone("three"), gone("two");
    CHECK(recalled("four", true).blob == one.blob && recalled("four", false).blob == one.blob);
    gone("four");
    put("other", "content"); /* it may well get the number of the inode */
    CHECK(recalled("other", true).blob == 0);
    struct wire_state other = kept(OP_UNLINK, "other");
    CHECK(other.content == CONTENT_KEPT && other.blob != one.blob);
}

static void a_change_that_may_leave_no_sign_changes_no_copy(void)
{
    put("mapped", "content");
    hard_link("mapped", "other name");
    struct wire_state mapped = kept(OP_MAP, "mapped"), other = kept(OP_UNLINK, "other name");
    CHECK(mapped.content == CONTENT_KEPT && other.content == CONTENT_KEPT && other.blob == mapped.blob);
}

static void what_was_not_copied_under_one_name_is_copied_under_another_as_long_as_it_is_unchanged(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/.git", base);
    CHECK(mkdir(path, 0700) == 0);
    put(".git/object", "content");
    hard_link(".git/object", "copied");
    hard_link(".git/object", "too late");
    struct wire_state object = kept(OP_LINK, ".git/object");
    CHECK(object.content == CONTENT_IGNORED && object.blob);
    struct wire_state copied = kept(OP_OPEN, "copied");
    CHECK(copied.content == CONTENT_KEPT && copied.blob == object.blob);
    put(".git/large", "content");
    hard_link(".git/large", "large");
    object = kept(OP_LINK, ".git/large");
    put(".git/large", "changed through a name whose content is not kept");
    struct wire_state large = kept(OP_UNLINK, "large");
    CHECK(large.content == CONTENT_IGNORED && large.blob == object.blob);
    put(".git/HEAD", "content");
    CHECK(kept(OP_CHMOD, ".git/HEAD").content == CONTENT_KEPT); /* with another mode it may not be readable later */
}

static void what_is_destroyed_after_it_was_changed_is_kept_as_well(void)
{
    put("theirs", "first");
    struct wire_state first = kept(OP_OPEN, "theirs");
    put("theirs", "first, and more"); /* whoever wrote that */
    CHECK(kept(OP_OPEN, "theirs").blob == first.blob && kept(OP_CHMOD, "theirs").blob == first.blob);
    struct wire_state second = kept_with(OP_OPEN, O_WRONLY | O_TRUNC, "theirs");
    CHECK(second.content == CONTENT_KEPT && second.blob == header.blobs && second.blob > first.blob);
    CHECK(kept(OP_UNLINK, "theirs").blob == second.blob); /* nobody has written to it since */
    struct resolved_path mounted = at("theirs");
    struct wire_state elsewhere = {0};
    snprintf(mounted.resolved, sizeof mounted.resolved, "/by/another/name");
    backup_content(&run, OP_CHMOD, 0, &mounted, &elsewhere); /* which had the first content, too */
    CHECK(elsewhere.content == CONTENT_KEPT && elsewhere.blob == first.blob);
    close(mounted.fd);
    put("theirs", "");
    CHECK(kept(OP_UNLINK, "theirs").blob == second.blob); /* there is nothing left to keep */
    for (int i = 0; i < 100; i++) {
        put("theirs", i % 2 ? "odd" : "even");
        kept(OP_TRUNCATE, "theirs");
    }
    CHECK(header.blobs == second.blob + 14);
    uint64_t bound = run.options.max_blob, blobs = header.blobs;
    put("bounded", "0123456789");
    run.options.max_blob = 25;
    for (int i = 0; i < 5; i++) {
        kept(OP_TRUNCATE, "bounded");
        put("bounded", i % 2 ? "0123456789" : "012345678");
    }
    run.options.max_blob = bound;
    CHECK(header.blobs == blobs + 2);
}

static void what_somebody_puts_where_the_run_removed_a_file_is_kept_and_what_the_run_puts_there_is_not(void)
{
    put("replaced", "first");
    struct resolved_path taken = at("replaced");
    kept(OP_UNLINK, "replaced");
    gone("replaced");
    put("replaced", "somebody's words"); /* it cannot have the number of the inode, which is still open */
    struct wire_state theirs = kept(OP_RENAME_TO, "replaced");
    CHECK(theirs.content == CONTENT_KEPT && theirs.blob == header.blobs);
    close(taken.fd);
    made("draft");
    put("draft", "of the run");
    kept(OP_RENAME, "draft");
    struct resolved_path draft = at("draft"), replaced = at("replaced");
    CHECK(rename(draft.resolved, replaced.resolved) == 0);
    CHECK(kept(OP_UNLINK, "replaced").content == CONTENT_NOT_KEPT);
    gone("replaced");
    made("replaced");
    put("replaced", "of the run");
    CHECK(kept(OP_UNLINK, "replaced").content == CONTENT_NOT_KEPT && header.blobs == theirs.blob);
    close(draft.fd), close(replaced.fd);
}

static void what_is_written_through_a_link_of_the_run_is_kept(void)
{
    put(".git/old", "content");
    struct wire_state old = kept(OP_LINK, ".git/old");
    made(".git/new");
    hard_link(".git/old", ".git/new");
    struct wire_state removed = kept(OP_UNLINK, ".git/new"); /* the name is the run's, and loses no content */
    CHECK(old.content == CONTENT_IGNORED && removed.content == CONTENT_IGNORED && removed.blob == old.blob);
    struct wire_state written = kept(OP_OPEN, ".git/new");
    CHECK(written.content == CONTENT_KEPT && written.blob == old.blob);
}

static void a_full_table_forgets_no_file_that_has_other_names(void)
{
    put("linked", "content");
    hard_link("linked", "its other name");
    struct wire_state linked = kept(OP_OPEN, "linked");
    put("linked", "changed");
    put("lonely", "content");
    struct resolved_path place = at("lonely");
    int spool = run.options.spool;
    run.options.spool = -1; /* the table is what counts */
    for (uint32_t i = 0; i < 140000; i++) {
        struct wire_state state = {0};
        place.found.st_ino = 1000000 + i;
        snprintf(place.resolved, sizeof place.resolved, "/%u", i);
        backup_content(&run, OP_OPEN, O_WRONLY, &place, &state);
    }
    run.options.spool = spool;
    close(place.fd);
    CHECK(recalled("its other name", true).blob == linked.blob);
}

static void the_same_words_in_another_root_are_another_name(void)
{
    struct resolved_path ours = at("rooted"), theirs = ours, nameless = {.fd = -1};
    static struct names *names; /* or it is taken for lost */
    names = start_names();
    theirs.notes = NOTE_OTHER_ROOT;
    settle_name(names, &theirs);
    settle_name(names, &nameless);
    CHECK(is_settled_name(names, &theirs) && !is_settled_name(names, &ours) && !is_settled_name(names, &nameless));
}

static void a_full_table_takes_no_more_names(void)
{
    static struct names *names;
    names = start_names();
    struct resolved_path place = {.fd = -1};
    for (int i = 0; i < 600000; i++) {
        snprintf(place.resolved, sizeof place.resolved, "/n%d", i);
        settle_name(names, &place);
    }
    CHECK(!is_settled_name(names, &place));
    strcpy(place.resolved, "/n0");
    CHECK(is_settled_name(names, &place));
}

int main(void)
{
    char spool[PATH_MAX];
    CHECK(mkdtemp(base));
    snprintf(spool, sizeof spool, "%s/spool", base);
    CHECK(mkdir(spool, 0700) == 0);
    run.header = &header;
    run.options.spool = open(spool, O_RDONLY | O_DIRECTORY);
    run.options.max_blob = 1 << 20;
    run.backups = start_backups();
    CHECK(run.backups && run.options.spool >= 0);
    what_the_run_made_is_not_copied_and_what_others_made_is();
    a_name_that_goes_along_is_what_it_was();
    what_was_never_looked_at_is_kept_under_a_name_that_was_settled();
    every_name_of_a_file_has_the_copy_that_was_made_first();
    a_change_that_may_leave_no_sign_changes_no_copy();
    what_was_not_copied_under_one_name_is_copied_under_another_as_long_as_it_is_unchanged();
    what_is_written_through_a_link_of_the_run_is_kept();
    what_is_destroyed_after_it_was_changed_is_kept_as_well();
    what_somebody_puts_where_the_run_removed_a_file_is_kept_and_what_the_run_puts_there_is_not();
    the_same_words_in_another_root_are_another_name();
    a_full_table_forgets_no_file_that_has_other_names();
    a_full_table_takes_no_more_names();
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -r %s", base);
    return system(command) == 0 ? 0 : 1;
}
