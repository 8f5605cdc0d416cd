// with: probe_record.c text.c
/* What the probe took along: parts are found by kind and address, a length that lies ends the record, and names are as /proc
 * would have them. */
#include <errno.h>
#include <fcntl.h>
#include <sys/sysmacros.h>

#include "no_process.h"
#include "records.h"
#include "path.h"
#include "probe_record.h"
#include "procfs.h"
#include "trace.h"

enum { STAT = 4, NEWFSTATAT = 262, STATX = 332 };

static struct made made;
static const struct probe_file plain = {.dev = 8u << 20 | 3, .ino = 77, .size = 5, .mtime_ns = 1500000000, .ctime_ns = -1,
                                        .mode = S_IFREG | 0644, .uid = 1, .gid = 2, .nlink = 1, .rdev = 1u << 20 | 7};

static struct resolved_path unknown_place(void)
{
    return (struct resolved_path){.fd = -1, .error = EAGAIN, .notes = NOTE_NOT_RESOLVED | NOTE_LATE};
}

static void a_record_is_whole_or_it_is_none(void)
{
    struct probed_call seen;
    begin_made(&made, 0);
    add_made(&made, PART_MEMORY, 0, 100, "/etc", 5);
    for (size_t size = 0; size < made.size; size++) {
        void *torn = malloc(size + 1);
        CHECK(torn);
        memcpy(torn, made.bytes, size);
        CHECK(!read_record(torn, size, &seen));
        free(torn);
    }
    CHECK(read_record(made.bytes, made.size, &seen) && seen.size == 24);
    header_of(&made)->size = sizeof(struct probe_record) - 1;
    CHECK(!read_record(made.bytes, made.size, &seen));
    header_of(&made)->size = UINT32_MAX;
    CHECK(!read_record(made.bytes, made.size, &seen));
}

static void a_part_whose_length_lies_ends_the_record(void)
{
    static const uint32_t lies[] = {9, 17, 4096, 0x7fffffff, 0xfffffff0, UINT32_MAX};
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        begin_made(&made, 0);
        add_made(&made, PART_MEMORY, 0, 100, "/etc", 5);
        add_made(&made, PART_MEMORY, 0, 200, "/usr", 5)->length = lies[i];
        struct probed_call seen = seen_of(&made);
        CHECK(find_part(&seen, PART_MEMORY, 100) && !find_part(&seen, PART_MEMORY, 200));
        char into[8];
        CHECK(probed_memory(&seen, 200, into, sizeof into) == -EFAULT);
    }
}

static void a_part_is_found_by_its_kind_and_its_address(void)
{
    begin_made(&made, 0);
    add_made(&made, PART_BASE, 0, (uint64_t)(int64_t)AT_FDCWD, "/home", 5);
    add_made(&made, PART_MEMORY, 0, 3, "", 1);
    add_made(&made, PART_BASE, 0, 3, "/srv", 4);
    struct probed_call seen = seen_of(&made);
    const struct probe_part *first = next_part(&seen, NULL), *second = next_part(&seen, first);
    CHECK(first->kind == PART_BASE && second->kind == PART_MEMORY && next_part(&seen, next_part(&seen, second)) == NULL);
    CHECK(find_part(&seen, PART_BASE, 3) == next_part(&seen, second));
    CHECK(!find_part(&seen, PART_FILE, 3) && !find_part(&seen, PART_BASE, 4));
}

static void memory_is_where_it_lay_and_not_beside(void)
{
    char into[8] = "";
    begin_made(&made, 0);
    add_made(&made, PART_MEMORY, 0, 1000, "abcdef", 6);
    add_made(&made, PART_MEMORY, 0, UINT64_MAX - 3, "wxyz", 4);
    struct probed_call seen = seen_of(&made);
    CHECK(probed_memory(&seen, 1000, into, sizeof into) == 6 && memcmp(into, "abcdef", 6) == 0);
    CHECK(probed_memory(&seen, 1004, into, 1) == 1 && into[0] == 'e');
    CHECK(probed_memory(&seen, 999, into, 1) == -EFAULT && probed_memory(&seen, 1006, into, 1) == -EFAULT);
    CHECK(probed_memory(&seen, UINT64_MAX, into, 4) == 1 && into[0] == 'z');
    CHECK(probed_memory(&seen, 0, into, 1) == -EFAULT);
}

static ssize_t string_at(const struct probed_call *seen, uint64_t address, char *into, size_t size)
{
    const struct stop stop = {.probed = seen};
    return caller_string(&stop, address, into, size);
}

static void a_string_without_an_end_is_too_long_and_still_ended(void)
{
    char into[16];
    begin_made(&made, 0);
    add_made(&made, PART_MEMORY, 0, 100, "/etc", 5);
    add_made(&made, PART_MEMORY, 0, 200, "/etc", 4);
    add_made(&made, PART_MEMORY, NAME_CUT, 300, "/etc", 5);
    add_made(&made, PART_MEMORY, 0, 400, "", 0);
    struct probed_call seen = seen_of(&made);
    CHECK(string_at(&seen, 100, into, sizeof into) == 4 && strcmp(into, "/etc") == 0);
    CHECK(string_at(&seen, 200, into, sizeof into) == -ENAMETOOLONG && strcmp(into, "/et") == 0);
    CHECK(string_at(&seen, 300, into, sizeof into) == -ENAMETOOLONG);
    CHECK(string_at(&seen, 100, into, 4) == -ENAMETOOLONG && strcmp(into, "/et") == 0);
    CHECK(string_at(&seen, 400, into, sizeof into) == -ENAMETOOLONG && into[0] == 0);
    CHECK(string_at(&seen, 9, into, sizeof into) == -EFAULT);
    CHECK(string_at(&seen, 100, into, 0) == -ENAMETOOLONG);
}

static int16_t result_of(int64_t result)
{
    begin_made(&made, result);
    struct probed_call seen = seen_of(&made);
    return probed_result(&seen);
}

static void a_result_is_an_error_or_none(void)
{
    CHECK(result_of(0) == 0 && result_of(7) == 0 && result_of(INT64_MAX) == 0);
    CHECK(result_of(-ENOENT) == -ENOENT && result_of(-4095) == -4095);
    CHECK(result_of(-511) == -511 && result_of(-517) == -517);
    for (int64_t restart = 512; restart <= 516; restart++)
        CHECK(result_of(-restart) == -EINTR);
    CHECK(result_of(-4096) == WIRE_RESULT_UNKNOWN && result_of(INT64_MIN) == WIRE_RESULT_UNKNOWN);
}

static bool words_from(uint16_t flags, const char *base, size_t length, const char *path, char words[PATH_MAX])
{
    begin_made(&made, 0);
    add_made(&made, PART_BASE, flags, 5, base, length);
    struct probed_call seen = seen_of(&made);
    return probed_words(&seen, 5, path, words);
}

static void words_start_from_a_directory_that_is_known(void)
{
    static char words[PATH_MAX], longest[PATH_MAX + 8];
    CHECK(words_from(0, "/home", 5, "./a", words) && strcmp(words, "/home/a") == 0);
    CHECK(words_from(0, "/", 1, "a", words) && strcmp(words, "/a") == 0);
    CHECK(!words_from(NAME_DELETED, "/home", 5, "a", words));
    CHECK(words_from(NAME_DELETED, "/home/me", 8, "../a/../b", words) && strcmp(words, "/home/a/../b") == 0);
    CHECK(words_from(NAME_DELETED, "/home/me", 8, "..//../a", words) && strcmp(words, "/a") == 0);
    CHECK(words_from(NAME_DELETED, "/home/me", 8, "..", words) && strcmp(words, "/home") == 0);
    CHECK(!words_from(NAME_DELETED, "/home/me", 8, "./../a", words) && !words_from(NAME_DELETED, "/home", 5, "..a", words));
    CHECK(!words_from(NAME_CUT, "/home", 5, "a", words) && !words_from(NAME_UNREAD, "/home", 5, "a", words));
    CHECK(!words_from(0, "", 0, "a", words));
    memset(longest, 'd', sizeof longest);
    longest[0] = '/';
    CHECK(!words_from(0, longest, PATH_MAX, "a", words)); /* no room for its end */
    CHECK(!words_from(0, longest, PATH_MAX - 3, "abc", words));
    begin_made(&made, 0);
    struct probed_call seen = seen_of(&made);
    CHECK(!probed_words(&seen, 5, "a", words) && !probed_words(&seen, AT_FDCWD, "a", words));
}

static struct resolved_path file_of(uint16_t flags, const struct probe_file *file, const char *name)
{
    struct resolved_path place = unknown_place();
    begin_made(&made, 0);
    add_file_made(&made, PART_FILE, flags, 3, file, name);
    struct probed_call seen = seen_of(&made);
    probed_file(find_part(&seen, PART_FILE, 3), &place);
    return place;
}

static void a_file_is_as_the_kernel_has_it(void)
{
    struct resolved_path place = file_of(0, &plain, "/tmp/x");
    CHECK(place.exists && !place.error && !place.notes && strcmp(place.resolved, "/tmp/x") == 0);
    CHECK(place.found.st_dev == makedev(8, 3) && place.found.st_ino == 77 && place.found.st_size == 5);
    CHECK(place.found.st_mtim.tv_sec == 1 && place.found.st_mtim.tv_nsec == 500000000);
    CHECK(place.found.st_ctim.tv_sec == -1 && place.found.st_ctim.tv_nsec == 999999999); /* before 1970 */
    CHECK(place.found.st_rdev == makedev(1, 7) && place.found.st_nlink == 1 && place.found.st_gid == 2);
}

static void a_file_that_lost_its_name_says_so(void)
{
    struct resolved_path place = file_of(NAME_DELETED, &plain, "/tmp/x");
    CHECK(place.notes == NOTE_DELETED && strcmp(place.resolved, "/tmp/x") == 0);
    place = file_of(NAME_CUT, &plain, "/tmp/x");
    CHECK(place.exists && place.notes & NOTE_NOT_RESOLVED && !place.resolved[0]);
    place = file_of(NAME_UNREAD, &plain, "/tmp/x");
    CHECK(place.notes & NOTE_NOT_RESOLVED);
    place = file_of(STATE_FOREIGN, &plain, "/tmp/x"); /* its numbers are not those that stat(2) shows */
    CHECK(!place.exists && place.notes == NOTE_LATE && strcmp(place.resolved, "/tmp/x") == 0);
}

static void what_is_in_no_directory_is_called_as_proc_calls_it(void)
{
    struct probe_file file = plain;
    struct resolved_path place = file_of(NAME_DETACHED | NAME_DELETED, &file, "/memfd:x");
    CHECK(strcmp(place.resolved, "/memfd:x") == 0 && place.notes == NOTE_DELETED);
    file.mode = S_IFSOCK | 0777;
    place = file_of(NAME_DETACHED, &file, "/");
    CHECK(strcmp(place.resolved, "socket:[77]") == 0 && !place.notes);
    file.mode = S_IFIFO | 0600;
    place = file_of(NAME_DETACHED, &file, "");
    CHECK(strcmp(place.resolved, "pipe:[77]") == 0);
    file.mode = 0600;
    place = file_of(NAME_DETACHED, &file, "/[eventfd]");
    CHECK(strcmp(place.resolved, "anon_inode:[eventfd]") == 0);
    place = file_of(NAME_DETACHED | NAME_CUT, &file, "/[eventfd]");
    CHECK(strcmp(place.resolved, "anon_inode:") == 0);
}

static void half_a_file_tells_nothing(void)
{
    struct resolved_path place = unknown_place();
    begin_made(&made, 0);
    add_made(&made, PART_FILE, NAME_DETACHED, 3, &plain, sizeof plain - 1);
    struct probed_call seen = seen_of(&made);
    probed_file(find_part(&seen, PART_FILE, 3), &place);
    CHECK(!place.exists && place.notes == unknown_place().notes && !place.resolved[0]);
}

/* --- what the probe alone tells -------------------------------------------------------------------------- */

static bool opened_as(const char *asked, uint16_t flags, const char *opened, struct resolved_path *place)
{
    static struct run run;
    const struct call call = {.dir = 0, .path = 1, .op = OP_OPEN};
    begin_made(&made, 3);
    add_made(&made, PART_BASE, 0, 5, "/base", 5);
    add_file_made(&made, PART_FILE, flags, 3, &plain, opened);
    struct probed_call seen = seen_of(&made);
    struct stop stop = {.run = &run, .probed = &seen, .call = &call};
    return probed_place(&stop, 5, asked, false, place);
}

static void a_file_that_has_the_name_that_was_asked_for_need_not_be_looked_up(void)
{
    struct resolved_path place;
    CHECK(opened_as("/tmp/x", 0, "/tmp/x", &place) && place.exists && strcmp(place.resolved, "/tmp/x") == 0);
    CHECK(opened_as("x", 0, "/base/x", &place) && strcmp(place.resolved, "/base/x") == 0);
    CHECK(!opened_as("/link", 0, "/tmp/x", &place) && !opened_as("x", 0, "/elsewhere/x", &place)); /* a link led there */
    CHECK(!opened_as("/tmp/x", NAME_DELETED, "/tmp/x", &place) && !opened_as("/tmp/x", NAME_CUT, "/tmp/x", &place));
    CHECK(!opened_as("/tmp/x", STATE_FOREIGN, "/tmp/x", &place) && !opened_as("/x", NAME_DETACHED, "/x", &place));
    CHECK(!opened_as("/tmp/../x", 0, "/tmp/../x", &place) && !opened_as("/tmp//x", 0, "/tmp//x", &place));
    CHECK(!opened_as("", 0, "/base", &place) && !opened_as(".", 0, "/base", &place) && !opened_as("d/x", 0, "/base/d/x", &place));
}

/* The probe does not send the name of a directory twice. */
static void a_file_in_the_directory_that_the_path_starts_from_names_it(void)
{
    char words[PATH_MAX];
    begin_made(&made, 3);
    add_file_made(&made, PART_FILE, NAME_IN_BASE, 3, &plain, "/base/x");
    struct probed_call seen = seen_of(&made);
    CHECK(probed_words(&seen, 5, "x", words) && strcmp(words, "/base/x") == 0);
    begin_made(&made, 3);
    add_file_made(&made, PART_FILE, NAME_IN_BASE, 3, &plain, "/x");
    seen = seen_of(&made);
    CHECK(probed_words(&seen, 5, "x", words) && strcmp(words, "/x") == 0);
    begin_made(&made, 3);
    add_file_made(&made, PART_FILE, 0, 3, &plain, "/base/x");
    seen = seen_of(&made);
    CHECK(!probed_words(&seen, 5, "x", words));
}

static void where_a_process_has_another_root_or_failed_it_is_looked_up(void)
{
    struct run run = {0};
    const struct call call = {.dir = -1, .path = 0, .op = OP_OPEN};
    struct resolved_path place;
    begin_made(&made, 3);
    add_file_made(&made, PART_FILE, 0, 3, &plain, "/x");
    struct probed_call seen = seen_of(&made);
    struct stop stop = {.run = &run, .probed = &seen, .call = &call, .other_root = true};
    CHECK(!probed_place(&stop, AT_FDCWD, "/x", false, &place));
    stop.other_root = false;
    CHECK(probed_place(&stop, AT_FDCWD, "/x", false, &place));
    header_of(&made)->result = -EACCES;
    CHECK(!probed_place(&stop, AT_FDCWD, "/x", false, &place));
}

#if defined(__x86_64__)
static void the_status_of_an_entry_need_not_be_looked_up_unless_a_link_is_followed(void)
{
    static struct run run;
    const struct call call = {.dir = 0, .path = 1, .op = OP_STAT};
    struct stat told = {.st_ino = 4, .st_mode = S_IFREG};
    struct resolved_path place;
    for (int link = 0; link < 2; link++) {
        told.st_mode = link ? S_IFLNK : S_IFREG;
        begin_made(&made, 0);
        add_made(&made, PART_BASE, 0, 5, "/base", 5);
        add_made(&made, PART_MEMORY, 0, 900, &told, sizeof told);
        struct probed_call seen = seen_of(&made);
        struct stop stop = {.run = &run, .probed = &seen, .call = &call, .number = NEWFSTATAT, .args = {5, 1, 900}};
        CHECK(probed_place(&stop, 5, "x", true, &place) == !link); /* of a link its target must be read */
        CHECK(link || (place.found.st_ino == 4 && strcmp(place.resolved, "/base/x") == 0));
        CHECK(!probed_place(&stop, 5, "x", false, &place) && !probed_place(&stop, 5, "d/x", true, &place));
        CHECK(!probed_place(&stop, 5, "/base/x", true, &place) && !probed_place(&stop, 6, "x", true, &place));
    }
}
#endif

/* --- what the answer tells ------------------------------------------------------------------------------- */

static struct resolved_path after(struct stop *stop, enum op op, uint64_t flags, struct resolved_path late)
{
    struct probed_call seen = seen_of(&made);
    stop->probed = &seen;
    probed_outcome(stop, op, flags, &late);
    stop->probed = NULL;
    return late;
}

static void a_place_that_was_not_there_was_not_there_before(void)
{
    const struct call call = {.dir = -1, .path = 0};
    struct stop stop = {.call = &call, .args = {1}};
    struct resolved_path late = {.fd = -1, .exists = true, .resolved = "/elsewhere", .notes = NOTE_LATE};
    begin_made(&made, -ENOENT);
    add_made(&made, PART_MEMORY, 0, 1, "/gone", 6);
    struct resolved_path place = after(&stop, OP_STAT, 0, late);
    CHECK(!place.exists && place.error == ENOENT && place.known_result && !(place.notes & NOTE_LATE));
    CHECK(place.notes & NOTE_NOT_RESOLVED && strcmp(place.resolved, "/gone") == 0); /* it is there now: another one */
    place = after(&stop, OP_OPEN, O_CREAT, late);
    CHECK(place.exists && !place.known_result); /* a directory on the way was missing, or a link led nowhere */
    place = after(&stop, OP_UNLINK, 0, late);
    CHECK(place.exists && !place.known_result);
}

#if defined(__x86_64__)
static void a_status_is_what_the_caller_was_given(void)
{
    const struct call call = {.dir = 0, .path = 1};
    struct stop stop = {.call = &call, .number = NEWFSTATAT, .args = {5, 1, 900}};
    struct stat told = {.st_ino = 4, .st_dev = makedev(8, 3), .st_mode = S_IFREG, .st_size = 9};
    struct resolved_path late = {.fd = -1, .exists = true, .found = told, .resolved = "/real", .notes = NOTE_LATE};
    begin_made(&made, 0);
    add_made(&made, PART_MEMORY, 0, 1, "name", 5);
    add_made(&made, PART_BASE, 0, 5, "/base", 5);
    add_made(&made, PART_MEMORY, 0, 900, &told, sizeof told);
    late.found.st_size = 1; /* it grew since */
    struct resolved_path place = after(&stop, OP_STAT, 0, late);
    CHECK(place.exists && place.found.st_size == 9 && !place.notes && strcmp(place.resolved, "/real") == 0);
    late.found.st_ino = 5; /* another file has its name by now */
    place = after(&stop, OP_STAT, 0, late);
    CHECK(place.found.st_ino == 4 && place.notes == NOTE_NOT_RESOLVED && strcmp(place.resolved, "/base/name") == 0);
    stop.compat = true; /* another layout, which is not taken along */
    place = after(&stop, OP_STAT, 0, late);
    CHECK(place.found.st_ino == 5 && place.notes == NOTE_LATE);
}

static void a_statx_without_all_of_it_tells_nothing(void)
{
    const struct call call = {.dir = 0, .path = 1};
    struct stop stop = {.call = &call, .number = STATX, .args = {5, 1, 0, 0, 900}};
    struct statx told = {.stx_mask = STATX_BASIC_STATS, .stx_ino = 4, .stx_dev_major = 8, .stx_dev_minor = 3, .stx_mode = S_IFDIR};
    struct resolved_path late = {.fd = -1, .exists = true, .resolved = "/real", .notes = NOTE_LATE};
    late.found.st_ino = 4, late.found.st_dev = makedev(8, 3);
    begin_made(&made, 0);
    add_made(&made, PART_MEMORY, 0, 900, &told, sizeof told);
    struct resolved_path place = after(&stop, OP_STAT, 0, late);
    CHECK(!place.notes && S_ISDIR(place.found.st_mode));
    begin_made(&made, 0);
    told.stx_mask = STATX_SIZE;
    add_made(&made, PART_MEMORY, 0, 900, &told, sizeof told);
    place = after(&stop, OP_STAT, 0, late);
    CHECK(place.notes == NOTE_LATE);
    begin_made(&made, 0);
    add_made(&made, PART_MEMORY, 0, 900, &told, sizeof told - 1);
    place = after(&stop, OP_STAT, 0, late);
    CHECK(place.notes == NOTE_LATE);
}
#endif

static void an_open_file_is_the_one_that_was_opened(void)
{
    struct stop stop = {0};
    struct resolved_path late = {.fd = -1, .exists = true, .resolved = "/other", .notes = NOTE_LATE};
    struct probe_file file = plain;
    begin_made(&made, 3);
    add_file_made(&made, PART_FILE, 0, 3, &file, "/opened");
    struct resolved_path place = after(&stop, OP_OPEN, O_RDONLY, late);
    CHECK(place.exists && !place.notes && strcmp(place.resolved, "/opened") == 0);
    place = after(&stop, OP_OPEN, O_WRONLY | O_TRUNC, late);
    CHECK(place.exists && place.notes == NOTE_LATE);
    place = after(&stop, OP_OPEN, O_RDWR | O_TMPFILE, late);
    CHECK(strcmp(place.resolved, "/other") == 0);
    file.created = 1;
    begin_made(&made, 3);
    add_file_made(&made, PART_FILE, 0, 3, &file, "/opened");
    place = after(&stop, OP_OPEN, O_CREAT | O_WRONLY, late);
    CHECK(!place.exists && place.error == ENOENT && strcmp(place.resolved, "/opened") == 0);
}

static void what_could_only_be_made_was_not_there(void)
{
    static const enum op makes[] = {OP_MKDIR, OP_MKNOD, OP_SYMLINK, OP_LINK_TO};
    struct stop stop = {0};
    struct resolved_path late = {.fd = -1, .exists = true, .notes = NOTE_LATE};
    for (size_t i = 0; i < sizeof makes / sizeof *makes; i++) {
        begin_made(&made, 0);
        CHECK(!after(&stop, makes[i], 0, late).exists);
        begin_made(&made, -EEXIST);
        CHECK(after(&stop, makes[i], 0, late).exists);
    }
    begin_made(&made, 0);
    CHECK(after(&stop, OP_CHMOD, 0, late).exists);
}

static void the_working_directory_is_where_the_caller_went(void)
{
    struct stop stop = {0};
    struct resolved_path late = {.fd = -1, .resolved = "/link", .notes = NOTE_NOT_RESOLVED};
    begin_made(&made, 0);
    add_made(&made, PART_BASE, 0, (uint64_t)(int64_t)AT_FDCWD, "/real/place", 11);
    struct resolved_path place = after(&stop, OP_CHDIR, 0, late);
    CHECK(!place.notes && strcmp(place.resolved, "/real/place") == 0);
    header_of(&made)->result = -EACCES;
    CHECK(strcmp(after(&stop, OP_CHDIR, 0, late).resolved, "/link") == 0);
}

int main(void)
{
    a_record_is_whole_or_it_is_none();
    a_part_whose_length_lies_ends_the_record();
    a_part_is_found_by_its_kind_and_its_address();
    memory_is_where_it_lay_and_not_beside();
    a_string_without_an_end_is_too_long_and_still_ended();
    a_result_is_an_error_or_none();
    words_start_from_a_directory_that_is_known();
    a_file_is_as_the_kernel_has_it();
    a_file_that_lost_its_name_says_so();
    what_is_in_no_directory_is_called_as_proc_calls_it();
    half_a_file_tells_nothing();
    a_file_that_has_the_name_that_was_asked_for_need_not_be_looked_up();
    a_file_in_the_directory_that_the_path_starts_from_names_it();
    where_a_process_has_another_root_or_failed_it_is_looked_up();
    a_place_that_was_not_there_was_not_there_before();
#if defined(__x86_64__)
    the_status_of_an_entry_need_not_be_looked_up_unless_a_link_is_followed();
    a_status_is_what_the_caller_was_given();
    a_statx_without_all_of_it_tells_nothing();
#endif
    an_open_file_is_the_one_that_was_opened();
    what_could_only_be_made_was_not_there();
    the_working_directory_is_where_the_caller_went();
    return 0;
}
