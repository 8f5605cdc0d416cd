/* Cases about the system around the processes: mounts, roots, rings, listeners, calls that are only counted. */
#define _GNU_SOURCE
#include "tell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void open_inner(void)
{
    attempt(open(in("dir/inner"), O_RDONLY));
    say("open read @/dir/inner");
}

/* Root inside a user namespace; the caller needs no privilege. */
static void own_world(int flags)
{
    unsigned uid = getuid(), gid = getgid();
    if (attempt(unshare(CLONE_NEWUSER | flags)) < 0)
        skip("user namespaces are not allowed here");
    char words[64];
    snprintf(words, sizeof words, "namespace %d", CLONE_NEWUSER | flags);
    say(words);
    FILE *map = fopen("/proc/self/setgroups", "w");
    fputs("deny", map), fclose(map);
    map = fopen("/proc/self/uid_map", "w");
    fprintf(map, "0 %u 1", uid), fclose(map);
    map = fopen("/proc/self/gid_map", "w");
    fprintf(map, "0 %u 1", gid), fclose(map);
}

ONE(mount_refused, "mount", "mount @/empty -> @/dir",
    syscall(SYS_mount, in("dir"), in("empty"), "no such file system", 0, 0))
ONE(move_mount_refused, "move_mount", "mount @/empty -> @/dir",
    syscall(SYS_move_mount, AT_FDCWD, in("dir"), AT_FDCWD, in("empty"), 0))
ONE(umount_refused, "umount2", "umount @/empty", syscall(SYS_umount2, in("empty"), 0))
ONE(pivot_root_refused, "pivot_root", "pivot_root @/empty -> @/dir", syscall(SYS_pivot_root, in("empty"), in("dir")))
ONE(chroot_refused, "chroot", "chroot @/file", syscall(SYS_chroot, in("file")))

CASE(open_in_another_root, "chroot chdir unshare")
{
    own_world(0);
    attempt(chroot(in("dir")));
    if (errno == EPERM)
        skip("a root of its own is not allowed here");
    say("chroot @/dir");
    attempt(chdir("/"));
    say("chdir @/dir");
    attempt(open("/inner", O_RDONLY));
    say("open read @/dir/inner");
    attempt(open("/../inner", O_RDONLY));
    say("open read @/dir/inner");
}

CASE(open_on_an_own_mount, "unshare mount")
{
    own_world(CLONE_NEWNS);
    if (attempt(mount("none", in("empty"), "tmpfs", 0, "")) < 0)
        skip("mounting is not allowed here");
    say("mount @/empty -> none");
    attempt(open(in("empty/made"), O_WRONLY | O_CREAT, 0600));
    say("open write @/empty/made");
    attempt(umount2(in("empty"), MNT_DETACH));
    say("umount @/empty");
    open_inner();
}

CASE(a_ring, "io_uring_setup")
{
    char parameters[120] = {0};
    attempt(syscall(SYS_io_uring_setup, 4, parameters));
    say("io_uring 4");
    open_inner();
}

CASE(an_own_listener, "seccomp")
{
    struct sock_filter pass[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, pass};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    attempt(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));
    say("seccomp 1");
    open_inner();
}

CASE(calls_that_are_counted, "keyctl acct fanotify_mark open_tree")
{
    attempt(syscall(SYS_keyctl, 0xffff, 0, 0, 0, 0));
    say_only("counted keyctl");
    attempt(syscall(SYS_fanotify_mark, -1, 0, 0, 0, 0));
    say_only("counted fanotify_mark");
    attempt(syscall(SYS_open_tree, -1, 0, 0));
    say_only("counted open_tree");
    attempt(syscall(SYS_setgroups, -1, 0));
    say_only("counted setgroups");
}

CASE(calls_that_no_kernel_has, "")
{
    attempt(syscall(1000));
    say_only("maybe counted x86_64:1000");
    open_inner();
}

/* Terminal calls that are recorded only where streams are split: here they must simply work. */
CASE(copies_of_descriptors, "write writev pwritev2 sendfile splice dup dup2 dup3 fcntl")
{
    int fd = (int)must(syscall(SYS_dup, 1));
    must(syscall(SYS_dup2, fd, 40));
    must(syscall(SYS_dup3, fd, 41, O_CLOEXEC));
    must(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 50));
    must(syscall(SYS_write, fd, "", 0));
    must(syscall(SYS_writev, 41, 0, 0));
    attempt(syscall(SYS_pwritev2, 1, 0, 0, -1L, -1L, 0));
    attempt(syscall(SYS_sendfile, 1, 0, 0, 0));
    attempt(syscall(SYS_splice, 0, 0, 1, 0, 0, 0));
    open_inner();
}
