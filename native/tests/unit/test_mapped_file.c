// with: mapped_file.c
/* Growing files: what is committed is in the file, also when we are killed, the disk is full or somebody truncates. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../check.h"
#include "log.h"
#include "mapped_file.h"

#define RECORD 56u

static int folder;

static void fill(uint8_t record[RECORD], uint32_t number)
{
    memset(record, (int)(number % 251 + 1), RECORD);
    memcpy(record, &number, sizeof number);
}

static bool append(struct growing *file, uint32_t number)
{
    uint8_t *at = growing_reserve(file, RECORD);
    if (at) {
        fill(at, number);
        growing_commit(file, RECORD);
    }
    return at;
}

static bool holds(int fd, uint32_t count)
{
    uint8_t record[RECORD], expected[RECORD];
    for (uint32_t i = 0; i < count; i++) {
        fill(expected, i);
        if (pread(fd, record, RECORD, (off_t)i * RECORD) != RECORD || memcmp(record, expected, RECORD) != 0)
            return false;
    }
    return true;
}

static void open_new(struct growing *file, const char *name)
{
    CHECK(unlinkat(folder, name, 0) == 0 || errno == ENOENT);
    CHECK(growing_open(file, folder, name) == 0);
}

static off_t size_of(const char *name)
{
    struct stat found;
    CHECK(fstatat(folder, name, &found, AT_SYMLINK_NOFOLLOW) == 0);
    return found.st_size;
}

static void many_records_are_whole_and_the_file_ends_with_them(void)
{
    enum { COUNT = 100000 }; /* several windows, whose borders lie within records */
    struct growing file;
    open_new(&file, "many");
    for (uint32_t i = 0; i < COUNT; i++)
        CHECK(append(&file, i));
    CHECK(file.used == (uint64_t)COUNT * RECORD);
    growing_close(&file);
    int fd = openat(folder, "many", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && holds(fd, COUNT) && size_of("many") == (off_t)COUNT * RECORD);
    close(fd);
}

static void one_piece_may_be_larger_than_a_window(void)
{
    enum { LARGE = 5 << 20 };
    struct growing file;
    open_new(&file, "large");
    CHECK(append(&file, 0));
    uint8_t *at = growing_reserve(&file, LARGE);
    CHECK(at);
    memset(at, 7, LARGE);
    growing_commit(&file, LARGE);
    CHECK(append(&file, 1));
    growing_close(&file);
    CHECK(size_of("large") == LARGE + 2 * (off_t)RECORD);
}

static void what_is_reserved_and_not_committed_is_not_there(void)
{
    struct growing file;
    open_new(&file, "reserved");
    CHECK(append(&file, 0) && growing_reserve(&file, RECORD) && growing_reserve(&file, 1 << 20));
    growing_close(&file);
    CHECK(size_of("reserved") == RECORD);
}

static void whole_bytes_can_be_amended_and_no_others(void)
{
    struct growing file;
    uint32_t number = 0, other = 0;
    open_new(&file, "amended");
    CHECK(append(&file, 9) && append(&file, 1));
    CHECK(growing_amend(&file, 0, &number, sizeof number));
    CHECK(!growing_amend(&file, 2 * RECORD - 3, &number, sizeof number));
    CHECK(!growing_amend(&file, UINT64_MAX - 1, &number, sizeof number));
    CHECK(memcmp(file.window, &number, sizeof number) == 0);
    growing_close(&file);
    int fd = openat(folder, "amended", O_RDONLY | O_CLOEXEC);
    CHECK(pread(fd, &other, sizeof other, 0) == sizeof other && other == 0);
    close(fd);
}

static void a_file_that_is_there_already_is_not_ours(void)
{
    struct growing file;
    CHECK(symlinkat("many", folder, "link") == 0);
    CHECK(growing_open(&file, folder, "many") == -EEXIST && growing_open(&file, folder, "link") == -ELOOP);
}

/* Runs in a process of its own, with a limit that the others must not have. */
static void a_full_disk_loses_the_record_and_no_other(void)
{
    struct growing file;
    struct rlimit limit = {1 << 20, RLIM_INFINITY};
    uint32_t count = 0;
    signal(SIGXFSZ, SIG_IGN);
    open_new(&file, "full");
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    while (append(&file, count))
        CHECK(++count < 100000);
    CHECK(count > 0 && !append(&file, count) && file.used == (uint64_t)count * RECORD);
    limit.rlim_cur = RLIM_INFINITY; /* somebody makes room */
    CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    while (count < 60000)
        CHECK(append(&file, count++));
    CHECK(holds(file.fd, count));
    growing_close(&file);
}

static void truncate_from_outside(const char *name)
{
    pid_t other = fork();
    CHECK(other >= 0);
    if (other == 0)
        _exit(truncate(name, 0) == 0 ? 0 : 1);
    int status;
    CHECK(waitpid(other, &status, 0) == other && status == 0);
}

static void truncation_by_another_process_is_survived(void)
{
    struct growing file;
    uint32_t count = 0;
    CHECK(survive_truncation() == 0);
    open_new(&file, "truncated");
    while (count < 1000)
        CHECK(append(&file, count++));
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file.fd);
    truncate_from_outside(path);
    while (count < 100000) /* over the page that is gone, and into windows that come after it */
        CHECK(append(&file, count++));
    growing_close(&file);
    CHECK(size_of("truncated") == 100000 * (off_t)RECORD);
}

static void in_a_process_of_its_own(void (*test)(void), int wanted_signal)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        test();
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(wanted_signal ? WIFSIGNALED(status) && WTERMSIG(status) == wanted_signal : status == 0);
}

/* A signal that somebody sends has no page: it must end us as it would anybody. */
static void a_bus_error_that_is_sent_is_deadly(void)
{
    CHECK(survive_truncation() == 0);
    raise(SIGBUS);
}

static void what_was_committed_survives_our_death(void)
{
    struct growing file;
    open_new(&file, "killed");
    for (uint32_t i = 0; i < 500; i++)
        CHECK(append(&file, i));
    raise(SIGKILL);
}

int main(void)
{
    char name[] = "/tmp/steno-test-spool-XXXXXX";
    CHECK(mkdtemp(name));
    folder = open(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(folder >= 0);
    many_records_are_whole_and_the_file_ends_with_them();
    one_piece_may_be_larger_than_a_window();
    what_is_reserved_and_not_committed_is_not_there();
    whole_bytes_can_be_amended_and_no_others();
    a_file_that_is_there_already_is_not_ours();
    in_a_process_of_its_own(a_full_disk_loses_the_record_and_no_other, 0);
    in_a_process_of_its_own(truncation_by_another_process_is_survived, 0);
    in_a_process_of_its_own(a_bus_error_that_is_sent_is_deadly, SIGBUS);
    in_a_process_of_its_own(what_was_committed_survives_our_death, SIGKILL);
    int fd = openat(folder, "killed", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0 && holds(fd, 500));
    close(fd);
    static const char *const left[] = {"many", "large", "reserved", "amended", "link", "full", "truncated", "killed"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        CHECK(unlinkat(folder, left[i], 0) == 0);
    CHECK(rmdir(name) == 0);
    return 0;
}
