/* Cases that other tracers got wrong, and arguments meant to hurt one: long, odd, unreadable, many. */
#define _GNU_SOURCE
#include "tell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

CASE(names_with_odd_bytes, "openat mkdir")
{
    attempt(open(in("new\nline"), O_WRONLY | O_CREAT, 0600));
    say("open write @/new\\x0aline");
    attempt(open(in("not\xff\xfeutf"), O_WRONLY | O_CREAT, 0600));
    say("open write @/not\\xff\\xfeutf");
    attempt(mkdir(in("back\\slash \x01"), 0700));
    say("mkdir @/back\\x5cslash \\x01");
    attempt(open(in("(deleted)"), O_WRONLY | O_CREAT, 0600));
    say("open write @/(deleted)");
    attempt(open(in("gone (deleted)"), O_WRONLY | O_CREAT, 0600));
    say("open write @/gone (deleted)");
}

/* A path that no single call could name, walked in steps; 30 directories of 200 bytes. */
CASE(paths_longer_than_a_path_can_be, "mkdir chdir openat symlink")
{
    static char name[201];
    memset(name, 'd', 200);
    must(attempt(chdir(in("empty"))));
    say("chdir @/empty");
    for (int depth = 0; depth < 30; depth++) {
        must(attempt(mkdir(name, 0700)));
        must(attempt(chdir(name)));
    }
    say("any mkdir *");
    say("any chdir *");
    attempt(open("deep", O_WRONLY | O_CREAT, 0600)); /* only made, never changed: that alone is a gap */
    say("any open write *");
    attempt(symlink("deep", "deeper"));
    say("any symlink *");
    attempt(open(in("file"), O_RDONLY));
    say("open read @/file");
}

CASE(a_name_that_is_too_long, "openat")
{
    static char name[300];
    memset(name, 'n', 299);
    attempt(open(in(name), O_RDONLY));
    char line[400];
    snprintf(line, sizeof line, "open read @/%s", name);
    say(line);
}

CASE(memory_that_cannot_be_read, "openat stat rename execve mkdir symlink")
{
    attempt(syscall(SYS_openat, AT_FDCWD, 16L, O_RDONLY));
    say("open read ?");
    attempt(syscall(SYS_openat, AT_FDCWD, -16L, O_RDONLY));
    say("open read ?");
    attempt(syscall(SYS_stat, 0L, scratch));
    say("stat ?");
    attempt(syscall(SYS_stat, in("file"), 16L));
    say("stat @/file");
    attempt(syscall(SYS_readlink, in("link"), 16L, 100));
    say("readlink @/link");
    attempt(syscall(SYS_mkdir, 16L, 0700));
    say("mkdir ?");
    attempt(syscall(SYS_execve, 16L, 16L, 16L));
    say("exec ?");
    attempt(syscall(SYS_execve, in("absent"), 16L, 16L));
    say_only("exec @/absent");
    attempt(syscall(SYS_rename, in("file"), 16L));
    say_only("any rename *");
    say_only("any rename_to *");
    attempt(syscall(SYS_openat2, AT_FDCWD, in("absent"), 16L, 24L));
    say_only("any open *");
    attempt(syscall(SYS_clone3, 16L, 88L));
    attempt(syscall(SYS_sendmsg, 0, 16L, 0));
    say_only("any send *");
    attempt(open(in("file"), O_RDONLY));
    say("open read @/file");
}

/* The last bytes before a page that is not there: with and without an end. */
CASE(a_path_at_the_end_of_memory, "openat")
{
    char *pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(pages == MAP_FAILED ? -1 : 0);
    must(munmap(pages + 4096, 4096));
    char *path = in("file");
    size_t length = strlen(path) + 1;
    memcpy(pages + 4096 - length, path, length);
    attempt(syscall(SYS_openat, AT_FDCWD, pages + 4096 - length, O_RDONLY));
    say("open read @/file");
    memcpy(pages + 4096 - length + 1, path, length - 1);
    attempt(syscall(SYS_openat, AT_FDCWD, pages + 4096 - length + 1, O_RDONLY));
    say("open read ?");
}

CASE(a_path_without_an_end, "openat")
{
    memset(scratch, 'a', sizeof scratch);
    scratch[0] = '/';
    attempt(syscall(SYS_openat, AT_FDCWD, scratch, O_RDONLY));
    say_only("any open *");
    attempt(open(in("file"), O_RDONLY));
    say("open read @/file");
}

CASE(descriptors_that_are_not_there, "openat fchmod getdents64 connect")
{
    attempt(openat(777, "name", O_RDONLY));
    say("any open read name");
    attempt(openat(-5, "name", O_RDONLY));
    attempt(fchmod(777, 0600));
    say("any chmod *");
    attempt(syscall(SYS_getdents64, 777, scratch, 100));
    say_only("any list *");
    attempt(syscall(SYS_getdents64, 0x100000001L, scratch, 100));
    attempt(openat(must(open(in("file"), O_RDONLY)), "below", O_RDONLY));
    say_only("open read @/file");
    say_only("open read @/file/below");
}

static int two_megabytes(void)
{
    static char *words[18];
    for (int word = 0; word < 16; word++) {
        words[word] = malloc(128 << 10);
        memset(words[word], 'a' + word, (128 << 10) - 1);
        words[word][(128 << 10) - 2] = 0;
    }
    struct rlimit limit = {64 << 20, RLIM_INFINITY};
    setrlimit(RLIMIT_STACK, &limit);
    execve(in("program"), words, (char *[]){NULL});
    return 99;
}

CASE(two_megabytes_of_arguments, "execve")
{
    await(child_of(two_megabytes));
    say_only("exec @/program");
}

static void *look(void *unused)
{
    (void)unused;
    access(in("file"), R_OK);
    return NULL;
}

static void threads(int number)
{
    for (int done = 0; done < number; done++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, look, NULL))
            must(-1);
        pthread_join(thread, NULL);
        say_only("access @/file");
    }
}

CASE(two_thousand_threads, "clone3 exit") { threads(2000); }
CASE(a_hundred_thousand_threads, "clone3 exit") { threads(100000); }

CASE(a_flood_of_calls, "access")
{
    for (int round = 0; round < 20000; round++)
        attempt(access(in("absent"), F_OK));
    say_only("times 20000 access @/absent");
}

static volatile int stop_running;

static void *run_on(void *unused)
{
    char path[4096];
    strcpy(path, (char *)unused);
    for (int round = 0; round < 2000; round++)
        access(path, R_OK);
    return NULL;
}

CASE(a_flood_from_eight_threads, "access")
{
    pthread_t all[8];
    for (int number = 0; number < 8; number++)
        if (pthread_create(&all[number], NULL, run_on, in("file")))
            must(-1);
    for (int number = 0; number < 8; number++)
        pthread_join(all[number], NULL);
    say_only("times 16000 access @/file");
}

CASE(not_dumpable, "prctl openat rename")
{
    must(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
    attempt(open(in("file"), O_RDONLY));
    say("hidden open read @/file");
    attempt(rename(in("file"), in("moved")));
    say("hidden rename @/file -> @/moved");
    attempt(mkdir(in("made"), 0700));
    say("hidden mkdir @/made");
}

/* Each process gets the number that the last one had. */
CASE(a_number_used_again, "clone3")
{
    pid_t wanted = 0;
    for (int round = 0; round < 3; round++) {
        struct clone_args how = {.exit_signal = SIGCHLD};
        if (wanted) {
            how.set_tid = (uintptr_t)&wanted;
            how.set_tid_size = 1;
        }
        pid_t child = (pid_t)syscall(SYS_clone3, &how, sizeof how);
        if (child == -1 && errno == EPERM)
            skip("the number of a process cannot be chosen here");
        if (must(child) == 0) {
            attempt(open(in("dir/inner"), O_RDONLY));
            say("open read @/dir/inner");
            _exit(40 + round);
        }
        say_only("fork");
        wanted = child;
        await(child);
    }
}

/* As an ordinary user: as many processes as the limit allows, then none. */
CASE(a_fork_bomb, "fork")
{
    struct rlimit limit = {60, 60};
    must(setrlimit(RLIMIT_NPROC, &limit));
    int both[2], made = 0;
    must(pipe(both));
    for (int round = 0; round < 500; round++) {
        pid_t child = fork();
        if (child == 0) {
            close(both[1]);
            (void)!read(both[0], scratch, 1);
            _exit(0);
        }
        if (child > 0)
            made++;
    }
    close(both[1]);
    while (wait(NULL) > 0)
        continue;
    say_only(made < 500 ? "limited" : "not limited");
}

CASE(twenty_thousand_processes, "fork")
{
    int both[2];
    must(pipe(both));
    for (int round = 0; round < 20000; round++) {
        pid_t child = fork();
        if (child < 0)
            skip("so many processes are not allowed here");
        if (child == 0) {
            close(both[1]);
            (void)!read(both[0], scratch, 1);
            _exit(0);
        }
    }
    close(both[1]);
    while (wait(NULL) > 0)
        continue;
}

/* A directory on the way is a directory now and a link then, while files are opened through it. */
CASE(a_directory_swapped_for_a_link, "openat rename symlink")
{
    must(symlink("dir", in("swap")));
    pid_t child = (pid_t)must(fork());
    if (child == 0) {
        for (;;) {
            rename(in("swap"), in("swap.old"));
            mkdir(in("swap"), 0700);
            rmdir(in("swap"));
            rename(in("swap.old"), in("swap"));
        }
    }
    int opened = 0;
    for (int round = 0; round < 300; round++) {
        int fd = open(in("swap/inner"), O_RDONLY);
        if (fd >= 0)
            opened++, close(fd);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    say_only("swapped");
}

/* Each is asked twice: the second answer may come from what the first has taught. */
static void looked(const char *path, const char *line)
{
    for (int round = 0; round < 2; round++) {
        struct stat found;
        attempt(stat(in(path), &found));
        say(line);
    }
}

CASE(links_and_dots_on_the_way, "stat mkdir symlink")
{
    must(mkdir(in("dir/sub"), 0700));
    say("mkdir @/dir/sub");
    must(symlink("dir/sub", in("far")));
    say("symlink @/far -> dir/sub");
    looked("dirlink/inner", "stat @/dir/inner");
    looked("dirlink/absent", "stat @/dir/absent");
    looked("empty/../file", "stat @/file");
    looked("empty/../absent", "stat @/absent");
    looked("far/../inner", "stat @/dir/inner"); /* whoever folds the words says @/inner */
    looked("far/../../dirlink/../file", "stat @/file");
    looked("file/../other", "stat @/file/../other"); /* no directory, so no way through it */
    looked("absent/../other", "stat @/absent/../other");
    looked("far/..", "stat @/dir");
}

CASE(a_link_that_is_followed_for_its_dot, "lstat")
{
    struct stat found;
    attempt(lstat(in("dirlink/."), &found));
    say("stat @/dir");
    attempt(lstat(in("dirlink"), &found));
    say("stat @/dirlink");
    attempt(lstat(in("file/."), &found));
    say("stat @/file"); /* which is there */
}

CASE(links_that_change, "stat rename symlink link unlink mkdir rmdir")
{
    looked("dirlink/inner", "stat @/dir/inner");
    must(attempt(rename(in("dirlink"), in("kept"))));
    say("rename @/dirlink -> @/kept");
    looked("dirlink/inner", "stat @/dirlink/inner");
    must(attempt(symlink("empty", in("dirlink"))));
    say("symlink @/dirlink -> empty");
    looked("dirlink/inner", "stat @/empty/inner");
    must(attempt(unlink(in("dirlink"))));
    say("unlink @/dirlink");
    looked("dirlink/inner", "stat @/dirlink/inner");
    must(attempt(link(in("kept"), in("dirlink")))); /* another name of a link is a link */
    say("link @/kept -> @/dirlink");
    looked("dirlink/inner", "stat @/dir/inner");
    looked("later/inner", "stat @/later/inner");
    must(attempt(mkdir(in("later"), 0700)));
    say("mkdir @/later");
    looked("later/inner", "stat @/later/inner");
    must(attempt(rmdir(in("later"))));
    say("rmdir @/later");
    must(attempt(symlink("dir", in("later"))));
    say("symlink @/later -> dir");
    looked("later/inner", "stat @/dir/inner");
}

CASE(out_of_a_directory_that_was_removed, "chdir rmdir unlink rename")
{
    must(attempt(chdir(in("empty"))));
    say("chdir @/empty");
    must(attempt(rmdir("../empty")));
    say("rmdir @/empty");
    must(attempt(unlink("../file")));
    say("unlink @/file");
    must(attempt(rename("../other", ".././another")));
    say("rename @/other -> @/another");
}

/* Nobody tells that a descriptor is closed, and its number is another directory's at once. */
CASE(descriptors_that_change, "newfstatat openat getdents64")
{
    static const char *const names[] = {"dir", "empty", "dir"};
    struct stat found;
    char line[64];
    for (int round = 0; round < 3; round++) {
        int fd = (int)must(attempt(open(in(names[round]), O_RDONLY | O_DIRECTORY)));
        snprintf(line, sizeof line, "open read @/%s", names[round]);
        say(line);
        for (int again = 0; again < 2; again++) {
            attempt(fstatat(fd, "inner", &found, 0));
            snprintf(line, sizeof line, "stat @/%s/inner", names[round]);
            say(line);
            attempt(fstatat(fd, "../file", &found, 0));
            say("stat @/file");
            attempt(syscall(SYS_getdents64, fd, scratch, sizeof scratch));
            snprintf(line, sizeof line, "list @/%s", names[round]);
            say(line);
        }
        close(fd);
    }
}

CASE(few_descriptors, "openat")
{
    struct rlimit limit = {64, 64};
    must(setrlimit(RLIMIT_NOFILE, &limit));
    while (open(in("file"), O_RDONLY) >= 0)
        say_only("open read @/file");
    say_only("open read @/file");
}

/* A file that grows while it is kept: another thread appends as long as the case lasts. */
static void *grow(void *unused)
{
    int fd = open((char *)unused, O_WRONLY | O_APPEND);
    while (!stop_running && fd >= 0)
        if (write(fd, scratch, sizeof scratch) < 0)
            break;
    return NULL;
}

CASE(a_file_that_grows, "openat")
{
    static char path[4096];
    pthread_t thread;
    struct rlimit limit = {64 << 20, 64 << 20};
    signal(SIGXFSZ, SIG_IGN);
    must(setrlimit(RLIMIT_FSIZE, &limit));
    strcpy(path, in("file"));
    if (pthread_create(&thread, NULL, grow, path))
        must(-1);
    struct stat now;
    do
        must(stat(path, &now));
    while (now.st_size < 1 << 20);
    must(open(path, O_WRONLY | O_TRUNC));
    stop_running = 1;
    pthread_join(thread, NULL);
    say_only("grown");
}

CASE(a_sparse_file_of_ten_gigabytes, "openat ftruncate unlink")
{
    int fd = (int)must(attempt(open(in("sparse"), O_RDWR | O_CREAT, 0600)));
    say("open read_write @/sparse");
    must(attempt(ftruncate(fd, 10L << 30)));
    say("truncate @/sparse");
    attempt(unlink(in("sparse")));
    say("unlink @/sparse");
}
