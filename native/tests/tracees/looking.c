/* Cases that look at files and change nothing: opening, asking, listing, moving about. */
#define _GNU_SOURCE
#include "tell.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_getxattrat
#define SYS_getxattrat 464
#define SYS_listxattrat 465
#endif
#ifndef SYS_file_getattr
#define SYS_file_getattr 468
#endif

/* A directory to start relative paths from. */
static int start(const char *name, const char *line)
{
    int fd = (int)must(attempt(syscall(SYS_openat, AT_FDCWD, in(name), O_RDONLY | O_DIRECTORY)));
    say(line);
    return fd;
}

static int start_file(void)
{
    int fd = (int)must(attempt(syscall(SYS_openat, AT_FDCWD, in("file"), O_RDONLY)));
    say("open read @/file");
    return fd;
}

ONE(open_for_reading, "open", "open read @/file", syscall(SYS_open, in("file"), O_RDONLY))
ONE(open_absent, "open", "open read @/absent", syscall(SYS_open, in("absent"), O_RDONLY))
ONE(open_below_a_file, "open", "open read @/file/below", syscall(SYS_open, in("file/below"), O_RDONLY))
ONE(openat_for_reading, "openat", "open read @/file", syscall(SYS_openat, AT_FDCWD, in("file"), O_RDONLY))
ONE(openat_for_both, "openat", "open read_write @/file", syscall(SYS_openat, AT_FDCWD, in("file"), O_RDWR))
ONE(open_exclusively_what_exists, "openat", "open write @/file",
    syscall(SYS_openat, AT_FDCWD, in("file"), O_WRONLY | O_CREAT | O_EXCL, 0600))
ONE(open_not_through_a_link, "openat", "open read @/link",
    syscall(SYS_openat, AT_FDCWD, in("link"), O_RDONLY | O_NOFOLLOW))
ONE(open_by_path_only, "openat", "open read @/file", syscall(SYS_openat, AT_FDCWD, in("file"), O_PATH))

CASE(open_through_a_link, "openat")
{
    attempt(syscall(SYS_openat, AT_FDCWD, in("link"), O_RDONLY));
    say_only("follow @/link");
    say("open read @/file");
}

CASE(open_through_a_link_to_nothing, "openat")
{
    attempt(syscall(SYS_openat, AT_FDCWD, in("dangling"), O_RDONLY));
    say_only("follow @/dangling");
    say("open read @/nowhere");
}

ONE(open_through_a_linked_directory, "openat", "open read @/dir/inner",
    syscall(SYS_openat, AT_FDCWD, in("dirlink/inner"), O_RDONLY))
ONE(open_with_dots, "openat", "open read @/file",
    syscall(SYS_openat, AT_FDCWD, in("dir/./../dir//../file"), O_RDONLY))
ONE(open_with_dots_behind_a_link, "openat", "open read @/file",
    syscall(SYS_openat, AT_FDCWD, in("dirlink/../file"), O_RDONLY))

CASE(openat_relative_to_a_descriptor, "openat")
{
    int fd = start("dir", "open read @/dir");
    attempt(syscall(SYS_openat, fd, "inner", O_RDONLY));
    say("open read @/dir/inner");
    attempt(syscall(SYS_openat, fd, "../file", O_RDONLY));
    say("open read @/file");
}

CASE(openat2_within_flags, "openat2")
{
    int fd = start("dir", "open read @/dir");
    struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_BENEATH};
    attempt(syscall(SYS_openat2, fd, "inner", &how, sizeof how));
    say("open read @/dir/inner");
    attempt(syscall(SYS_openat2, AT_FDCWD, in("file"), &(struct open_how){.flags = O_RDONLY}, sizeof how));
    say("open read @/file");
    how.resolve = RESOLVE_NO_SYMLINKS;
    attempt(syscall(SYS_openat2, AT_FDCWD, in("link"), &how, sizeof how));
    say("open read @/link");
}

CASE(openat2_in_its_own_root, "openat2")
{
    int fd = start("dir", "open read @/dir");
    struct open_how how = {.flags = O_RDONLY, .resolve = RESOLVE_IN_ROOT};
    attempt(syscall(SYS_openat2, fd, "/inner", &how, sizeof how));
    say("open read @/dir/inner");
    attempt(syscall(SYS_openat2, fd, "/../../inner", &how, sizeof how));
    say("open read @/dir/inner");
}

ONE(stat_old, "stat", "stat @/file", syscall(SYS_stat, in("file"), scratch))
ONE(stat_absent, "stat", "stat @/absent", syscall(SYS_stat, in("absent"), scratch))
ONE(lstat_of_a_link, "lstat", "stat @/link", syscall(SYS_lstat, in("link"), scratch))
ONE(newfstatat_absolute, "newfstatat", "stat @/file", syscall(SYS_newfstatat, AT_FDCWD, in("file"), scratch, 0))
ONE(newfstatat_of_a_link, "newfstatat", "stat @/link",
    syscall(SYS_newfstatat, AT_FDCWD, in("link"), scratch, AT_SYMLINK_NOFOLLOW))
ONE(statx_absolute, "statx", "stat @/file", syscall(SYS_statx, AT_FDCWD, in("file"), 0, STATX_ALL, scratch))

CASE(stat_through_a_link, "stat")
{
    attempt(syscall(SYS_stat, in("link"), scratch));
    say_only("follow @/link");
    say("stat @/file");
}

/* Without a name it is a question about a descriptor; the flag alone does not make it one. */
CASE(stat_with_and_without_a_name, "newfstatat statx")
{
    int fd = start_file();
    attempt(syscall(SYS_newfstatat, fd, "", scratch, AT_EMPTY_PATH));
    say_only("maybe stat @/file");
    attempt(syscall(SYS_newfstatat, AT_FDCWD, in("other"), scratch, AT_EMPTY_PATH));
    say("stat @/other");
    attempt(syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_ALL, scratch));
    say_only("maybe stat @/file");
    attempt(syscall(SYS_statx, AT_FDCWD, in("other"), AT_EMPTY_PATH, STATX_ALL, scratch));
    say("stat @/other");
}

ONE(access_old, "access", "access @/file", syscall(SYS_access, in("file"), R_OK))
ONE(access_absent, "access", "access @/absent", syscall(SYS_access, in("absent"), F_OK))
ONE(faccessat_absolute, "faccessat", "access @/file", syscall(SYS_faccessat, AT_FDCWD, in("file"), W_OK))
ONE(faccessat2_of_a_link, "faccessat2", "access @/link",
    syscall(SYS_faccessat2, AT_FDCWD, in("link"), F_OK, AT_SYMLINK_NOFOLLOW))
ONE(readlink_old, "readlink", "readlink @/link", syscall(SYS_readlink, in("link"), scratch, 100))
ONE(readlink_of_a_file, "readlink", "readlink @/file", syscall(SYS_readlink, in("file"), scratch, 100))

CASE(readlinkat_relative, "readlinkat")
{
    int fd = start("dir", "open read @/dir");
    attempt(syscall(SYS_readlinkat, fd, "../link", scratch, 100));
    say("readlink @/link");
}

CASE(getdents_of_a_directory, "getdents")
{
    int fd = start("dir", "open read @/dir");
    attempt(syscall(SYS_getdents, fd, scratch, sizeof scratch));
    say("list @/dir");
}

CASE(getdents64_of_a_directory, "getdents64")
{
    int fd = start("dir", "open read @/dir");
    attempt(syscall(SYS_getdents64, fd, scratch, sizeof scratch));
    say("list @/dir");
}

ONE(statfs_of_a_file, "statfs", "statfs @/file", syscall(SYS_statfs, in("file"), scratch))
ONE(getxattr_of_a_file, "getxattr", "getxattr @/file -> user.a", syscall(SYS_getxattr, in("file"), "user.a", scratch, 9))
ONE(lgetxattr_of_a_link, "lgetxattr", "getxattr @/link -> user.a",
    syscall(SYS_lgetxattr, in("link"), "user.a", scratch, 9))
ONE(listxattr_of_a_file, "listxattr", "getxattr @/file", syscall(SYS_listxattr, in("file"), scratch, 99))
ONE(llistxattr_of_a_link, "llistxattr", "getxattr @/link", syscall(SYS_llistxattr, in("link"), scratch, 99))

/* None of these has a path: that the file was opened is recorded. */
CASE(questions_about_a_descriptor, "openat")
{
    int fd = start_file();
    attempt(syscall(SYS_fgetxattr, fd, "user.a", scratch, 9));
    attempt(syscall(SYS_flistxattr, fd, scratch, 99));
    attempt(syscall(SYS_fstatfs, fd, scratch));
    attempt(syscall(SYS_fstat, fd, scratch));
}

CASE(xattrs_relative_to_a_descriptor, "getxattrat listxattrat")
{
    int fd = start("dir", "open read @/dir");
    struct { unsigned long long value; unsigned size, flags; } how = {(unsigned long long)scratch, 9, 0};
    attempt(syscall(SYS_getxattrat, fd, "inner", 0, "user.a", &how, sizeof how));
    say("getxattr @/dir/inner -> user.a");
    attempt(syscall(SYS_listxattrat, fd, "inner", 0, scratch, 99));
    say("getxattr @/dir/inner");
}

CASE(file_getattr_of_a_file, "file_getattr")
{
    attempt(syscall(SYS_file_getattr, AT_FDCWD, in("file"), scratch, 24, 0));
    say("stat @/file");
}

CASE(watch_a_file, "inotify_add_watch")
{
    int fd = (int)must(inotify_init1(0));
    attempt(syscall(SYS_inotify_add_watch, fd, in("file"), IN_MODIFY));
    say("watch @/file");
}

CASE(handle_of_a_file, "name_to_handle_at open_by_handle_at")
{
    struct file_handle *handle = (struct file_handle *)scratch;
    int mount_id;
    int fd = start("dir", "open read @/dir");
    handle->handle_bytes = MAX_HANDLE_SZ;
    attempt(syscall(SYS_name_to_handle_at, AT_FDCWD, in("file"), handle, &mount_id, 0));
    say("handle @/file");
    attempt(syscall(SYS_open_by_handle_at, fd, handle, O_RDONLY));
    say_only("open_handle");
}

ONE(chdir_absolute, "chdir", "chdir @/dir", syscall(SYS_chdir, in("dir")))

CASE(open_relative_after_chdir, "chdir openat")
{
    attempt(chdir(in("dir")));
    say("chdir @/dir");
    attempt(syscall(SYS_openat, AT_FDCWD, "inner", O_RDONLY));
    say("open read @/dir/inner");
}

CASE(open_relative_after_fchdir, "fchdir openat")
{
    int fd = start("dir", "open read @/dir");
    attempt(fchdir(fd));
    say("chdir @/dir");
    attempt(syscall(SYS_openat, AT_FDCWD, "inner", O_RDONLY));
    say("open read @/dir/inner");
    attempt(syscall(SYS_stat, "../file", scratch));
    say("stat @/file");
}
