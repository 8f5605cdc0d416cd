/* Cases that change what a path names: contents, names, attributes. */
#define _GNU_SOURCE
#include "tell.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#define SYS_removexattrat 466
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469
#endif

static int writable_file(void)
{
    int fd = (int)must(attempt(syscall(SYS_openat, AT_FDCWD, in("file"), O_RDWR)));
    say("open read_write @/file");
    return fd;
}

static int start(void)
{
    int fd = (int)must(attempt(syscall(SYS_openat, AT_FDCWD, in("dir"), O_RDONLY | O_DIRECTORY)));
    say("open read @/dir");
    return fd;
}

static void write_and_close(int fd)
{
    must(write(fd, "new\n", 4));
    must(close(fd));
}

CASE(write_over_a_file, "open")
{
    int fd = (int)attempt(syscall(SYS_open, in("file"), O_WRONLY | O_TRUNC));
    say("open write @/file");
    write_and_close(fd);
}

CASE(create_a_file, "openat")
{
    int fd = (int)attempt(syscall(SYS_openat, AT_FDCWD, in("fresh"), O_WRONLY | O_CREAT, 0640));
    say("open write @/fresh");
    write_and_close(fd);
}

CASE(create_through_a_link_to_nothing, "openat")
{
    int fd = (int)attempt(syscall(SYS_openat, AT_FDCWD, in("dangling"), O_WRONLY | O_CREAT, 0640));
    say_only("follow @/dangling");
    say("open write @/nowhere");
    write_and_close(fd);
}

CASE(creat_old, "creat")
{
    int fd = (int)attempt(syscall(SYS_creat, in("file"), 0600));
    say("open write @/file");
    write_and_close(fd);
}

CASE(append_to_a_file, "openat")
{
    int fd = (int)attempt(syscall(SYS_openat, AT_FDCWD, in("file"), O_WRONLY | O_APPEND));
    say("open write @/file");
    write_and_close(fd);
}

ONE(mkdir_old, "mkdir", "mkdir @/made", syscall(SYS_mkdir, in("made"), 0750))
ONE(mkdir_of_what_exists, "mkdir", "mkdir @/dir", syscall(SYS_mkdir, in("dir"), 0750))
ONE(mknod_fifo, "mknod", "mknod @/made", syscall(SYS_mknod, in("made"), S_IFIFO | 0600, 0))
ONE(rename_old, "rename", "rename @/file -> @/moved", syscall(SYS_rename, in("file"), in("moved")))
ONE(rename_over_a_file, "rename", "rename @/file -> @/other", syscall(SYS_rename, in("file"), in("other")))
ONE(rename_of_a_link, "rename", "rename @/link -> @/moved", syscall(SYS_rename, in("link"), in("moved")))
ONE(rename_of_a_directory, "rename", "rename @/dir -> @/moved", syscall(SYS_rename, in("dir"), in("moved")))
ONE(rename_of_nothing, "rename", "rename @/absent -> @/moved", syscall(SYS_rename, in("absent"), in("moved")))
ONE(link_old, "link", "link @/file -> @/second", syscall(SYS_link, in("file"), in("second")))
ONE(link_over_a_file, "link", "link @/file -> @/other", syscall(SYS_link, in("file"), in("other")))
ONE(symlink_old, "symlink", "symlink @/made -> some where", syscall(SYS_symlink, "some where", in("made")))
ONE(unlink_old, "unlink", "unlink @/file", syscall(SYS_unlink, in("file")))
ONE(unlink_a_link, "unlink", "unlink @/link", syscall(SYS_unlink, in("link")))
ONE(unlink_absent, "unlink", "unlink @/absent", syscall(SYS_unlink, in("absent")))
ONE(rmdir_old, "rmdir", "rmdir @/empty", syscall(SYS_rmdir, in("empty")))
ONE(rmdir_not_empty, "rmdir", "rmdir @/dir", syscall(SYS_rmdir, in("dir")))
ONE(truncate_old, "truncate", "truncate @/file", syscall(SYS_truncate, in("file"), 1))
ONE(chmod_old, "chmod", "chmod @/file", syscall(SYS_chmod, in("file"), 0600))
ONE(chown_old, "chown", "chown @/file", syscall(SYS_chown, in("file"), getuid(), getgid()))
ONE(lchown_of_a_link, "lchown", "chown @/link", syscall(SYS_lchown, in("link"), getuid(), getgid()))
ONE(fchmodat_absolute, "fchmodat", "chmod @/file", syscall(SYS_fchmodat, AT_FDCWD, in("file"), 0600))
ONE(fchmodat2_absolute, "fchmodat2", "chmod @/file", syscall(SYS_fchmodat2, AT_FDCWD, in("file"), 0600, 0))
ONE(utime_old, "utime", "utimes @/file", syscall(SYS_utime, in("file"), &(struct utimbuf){5, 6}))
ONE(utimes_old, "utimes", "utimes @/file", syscall(SYS_utimes, in("file"), (struct timeval[]){{5, 0}, {6, 0}}))
ONE(utimensat_of_a_link, "utimensat", "utimes @/link",
    syscall(SYS_utimensat, AT_FDCWD, in("link"), (struct timespec[]){{5, 0}, {6, 0}}, AT_SYMLINK_NOFOLLOW))
ONE(setxattr_old, "setxattr", "setxattr @/file -> user.a", syscall(SYS_setxattr, in("file"), "user.a", "v", 1, 0))
ONE(lsetxattr_of_a_link, "lsetxattr", "setxattr @/link -> user.a",
    syscall(SYS_lsetxattr, in("link"), "user.a", "v", 1, 0))
ONE(removexattr_old, "removexattr", "removexattr @/file -> user.a", syscall(SYS_removexattr, in("file"), "user.a"))
ONE(lremovexattr_of_a_link, "lremovexattr", "removexattr @/link -> user.a",
    syscall(SYS_lremovexattr, in("link"), "user.a"))
ONE(file_setattr_of_a_file, "file_setattr", "setattr @/file",
    syscall(SYS_file_setattr, AT_FDCWD, in("file"), memset(scratch, 0, 24), 24, 0))

CASE(chmod_through_a_link, "chmod")
{
    attempt(syscall(SYS_chmod, in("link"), 0600));
    say_only("follow @/link");
    say("chmod @/file");
}

CASE(change_relative_to_a_descriptor, "mkdirat mknodat symlinkat linkat renameat renameat2 unlinkat")
{
    int fd = start();
    attempt(syscall(SYS_mkdirat, fd, "made", 0700));
    say("mkdir @/dir/made");
    attempt(syscall(SYS_mknodat, fd, "fifo", S_IFIFO | 0600, 0));
    say("mknod @/dir/fifo");
    attempt(syscall(SYS_symlinkat, "target", fd, "pointer"));
    say("symlink @/dir/pointer -> target");
    attempt(syscall(SYS_linkat, fd, "inner", fd, "made/second", 0));
    say("link @/dir/inner -> @/dir/made/second");
    attempt(syscall(SYS_renameat, fd, "inner", AT_FDCWD, in("outer")));
    say("rename @/dir/inner -> @/outer");
    attempt(syscall(SYS_renameat2, fd, "../outer", fd, "fifo", RENAME_NOREPLACE));
    say("rename @/outer -> @/dir/fifo");
    attempt(syscall(SYS_unlinkat, fd, "fifo", 0));
    say("unlink @/dir/fifo");
    attempt(syscall(SYS_unlinkat, fd, "made", AT_REMOVEDIR));
    say("rmdir @/dir/made");
}

CASE(attributes_relative_to_a_descriptor, "fchmodat fchownat futimesat utimensat setxattrat removexattrat")
{
    int fd = start();
    struct { unsigned long long value; unsigned size, flags; } how = {(unsigned long long)"v", 1, 0};
    attempt(syscall(SYS_fchmodat, fd, "inner", 0600));
    say("chmod @/dir/inner");
    attempt(syscall(SYS_fchownat, fd, "../link", getuid(), getgid(), AT_SYMLINK_NOFOLLOW));
    say("chown @/link");
    attempt(syscall(SYS_futimesat, fd, "inner", (struct timeval[]){{5, 0}, {6, 0}}));
    say("utimes @/dir/inner");
    attempt(syscall(SYS_utimensat, fd, "inner", (struct timespec[]){{5, 0}, {6, 0}}, 0));
    say("utimes @/dir/inner");
    attempt(syscall(SYS_setxattrat, fd, "inner", 0, "user.a", &how, sizeof how));
    say("setxattr @/dir/inner -> user.a");
    attempt(syscall(SYS_removexattrat, fd, "inner", 0, "user.a"));
    say("removexattr @/dir/inner -> user.a");
}

CASE(attributes_of_a_descriptor, "fchmod fchown utimensat fsetxattr fremovexattr")
{
    int fd = writable_file();
    attempt(syscall(SYS_fchmod, fd, 0600));
    say("chmod @/file");
    attempt(syscall(SYS_fchown, fd, getuid(), getgid()));
    say("chown @/file");
    attempt(syscall(SYS_utimensat, fd, 0, (struct timespec[]){{5, 0}, {6, 0}}, 0));
    say("utimes @/file");
    attempt(syscall(SYS_fsetxattr, fd, "user.a", "v", 1, 0));
    say("setxattr @/file -> user.a");
    attempt(syscall(SYS_fremovexattr, fd, "user.a"));
    say("removexattr @/file -> user.a");
}

CASE(change_what_a_descriptor_is_without_a_name, "fchownat linkat")
{
    int fd = writable_file();
    attempt(syscall(SYS_fchownat, fd, "", getuid(), getgid(), AT_EMPTY_PATH));
    say("chown @/file");
    attempt(syscall(SYS_linkat, fd, "", AT_FDCWD, in("second"), AT_EMPTY_PATH));
    say("link @/file -> @/second");
}

CASE(cut_an_open_file, "ftruncate")
{
    int fd = writable_file();
    attempt(syscall(SYS_ftruncate, fd, 1));
    say("truncate @/file");
}

/* What these do goes through a descriptor whose opening for writing is recorded. */
CASE(change_only_through_a_descriptor, "openat")
{
    int fd = writable_file();
    int flags = 0;
    attempt(syscall(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1));
    attempt(ioctl(fd, FS_IOC_SETFLAGS, &flags));
    must(pwrite(fd, "N", 1, 0));
}

CASE(map_a_file_to_write_it, "mmap")
{
    int fd = writable_file();
    char *map = mmap(0, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    attempt(map == MAP_FAILED ? -1 : 0);
    say("map @/file");
    map[0] = 'N';
}

CASE(map_a_file_to_read_it, "mmap")
{
    int fd = writable_file();
    attempt(mmap(0, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) == MAP_FAILED ? -1 : 0);
}

CASE(link_an_unnamed_file, "openat linkat")
{
    int fd = (int)attempt(syscall(SYS_openat, AT_FDCWD, in("dir"), O_TMPFILE | O_RDWR, 0600));
    if (fd < 0)
        skip("this file system has no unnamed files");
    say("open read_write @/dir");
    must(write(fd, "unnamed\n", 8));
    snprintf(scratch, 64, "/proc/self/fd/%d", fd);
    attempt(syscall(SYS_linkat, AT_FDCWD, scratch, AT_FDCWD, in("named"), AT_SYMLINK_FOLLOW));
    say_only("any link *");
    say("link_to @/named");
}

CASE(empty_a_file_by_its_handle, "name_to_handle_at open_by_handle_at")
{
    struct file_handle *handle = (struct file_handle *)scratch;
    int mount_id, fd = start();
    handle->handle_bytes = MAX_HANDLE_SZ;
    attempt(syscall(SYS_name_to_handle_at, AT_FDCWD, in("file"), handle, &mount_id, 0));
    say("handle @/file");
    if (attempt(syscall(SYS_open_by_handle_at, fd, handle, O_WRONLY | O_TRUNC)) < 0)
        skip("only root may open a file by its handle");
    say("open_handle @/file");
}

CASE(rename_over_nothing_only, "renameat2")
{
    attempt(syscall(SYS_renameat2, AT_FDCWD, in("dir"), AT_FDCWD, in("empty"), RENAME_NOREPLACE));
    say("rename @/dir -> @/empty");
    attempt(syscall(SYS_renameat2, AT_FDCWD, in("dir"), AT_FDCWD, in("moved"), RENAME_NOREPLACE));
    say("rename @/dir -> @/moved");
}

CASE(swap_two_names, "renameat2")
{
    attempt(syscall(SYS_renameat2, AT_FDCWD, in("file"), AT_FDCWD, in("other"), RENAME_EXCHANGE));
    say("exchange @/file -> @/other");
}

CASE(swap_with_nothing, "renameat2")
{
    attempt(syscall(SYS_renameat2, AT_FDCWD, in("dir"), AT_FDCWD, in("absent"), RENAME_EXCHANGE));
    say("exchange @/dir -> @/absent");
}

CASE(write_after_the_name_is_gone, "unlink ftruncate")
{
    int fd = writable_file();
    attempt(unlink(in("file")));
    say("unlink @/file");
    attempt(syscall(SYS_ftruncate, fd, 0));
    say_only("maybe truncate @/file");
    attempt(open(in("file"), O_RDWR | O_CREAT | O_EXCL, 0600));
    say("open read_write @/file");
}

CASE(write_through_a_copied_descriptor_link, "openat")
{
    int fd = writable_file();
    snprintf(scratch, 64, "/proc/self/fd/%d", fd);
    attempt(syscall(SYS_openat, AT_FDCWD, scratch, O_WRONLY | O_TRUNC));
    say("open write @/file");
}

/* The same every time, to the last modification time: for records that must not differ. */
CASE(the_same_every_time, "fork execve openat rename utimensat")
{
    struct timespec then[2] = {{1600000000, 0}, {1600000000, 0}};
    attempt(access(in("."), F_OK)); /* the first look is at a directory that we have not changed yet */
    say("access @");
    int fd = (int)must(attempt(open(in("made"), O_WRONLY | O_CREAT, 0600)));
    say("open write @/made");
    write_and_close(fd);
    must(attempt(utimensat(AT_FDCWD, in("made"), then, 0)));
    say("utimes @/made");
    must(attempt(rename(in("other"), in("moved"))));
    say("rename @/other -> @/moved");
    must(attempt(unlink(in("file"))));
    say("unlink @/file");
    for (int round = 0; round < 3; round++) {
        pid_t child = (pid_t)must(fork());
        if (child == 0) {
            execl(in("program"), "program", NULL);
            _exit(99);
        }
        say_only("fork");
        await(child);
        say_only("exec @/program");
    }
    for (int round = 0; round < 2; round++) {
        must(attempt(utimensat(AT_FDCWD, round ? in("dir") : in("."), then, 0)));
        say(round ? "utimes @/dir" : "utimes @");
    }
}
