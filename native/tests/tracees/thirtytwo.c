/* Cases of a 32-bit program, without any library: every recorded call by its i386 number.
 *
 * Same lines and same `--list` as the others; an outcome is a number, as there is nobody to name it. */
#include <asm/unistd.h>

#define FCHMODAT2 452
#define SETXATTRAT 463
#define GETXATTRAT 464
#define LISTXATTRAT 465
#define REMOVEXATTRAT 466
#define FILE_GETATTR 468
#define FILE_SETATTR 469

#define HERE (-100)

static const char *directory;
static char scratch[4096] __attribute__((aligned(8)));

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    static long last; /* not on the stack: the operand must not move with the push */
    long result;
    last = f;
    __asm__ volatile("pushl %%ebp; movl %7, %%ebp; int $0x80; popl %%ebp"
                     : "=a"(result)
                     : "a"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e), "m"(last)
                     : "memory");
    return result;
}

static unsigned length(const char *text)
{
    unsigned count = 0;
    while (text[count])
        count++;
    return count;
}

static int same(const char *left, const char *right)
{
    while (*left && *left == *right)
        left++, right++;
    return *left == *right;
}

static char *append(char *end, const char *text)
{
    while (*text)
        *end++ = *text++;
    *end = 0;
    return end;
}

static long in(const char *name)
{
    static char kept[8][512];
    static unsigned next;
    char *path = kept[next++ % 8];
    append(append(append(path, directory), "/"), name);
    return (long)path;
}

static void put(const char *line, const char *end)
{
    static char text[2048];
    char *at = text;
    for (; *line; line++) {
        if (*line == '@')
            at = append(at, directory);
        else
            *at++ = *line;
    }
    at = append(append(at, end), "\n");
    call(__NR_write, 1, (long)text, at - text, 0, 0, 0);
}

static void say(const char *line, long result)
{
    char end[24] = " = ";
    unsigned error = result < 0 && result > -4096 ? (unsigned)-result : 0;
    char *at = end + 3;
    for (unsigned unit = 1000; unit; unit /= 10)
        if (error >= unit || unit == 1)
            *at++ = (char)('0' + error / unit % 10);
    *at = 0;
    put(line, end);
}

#define DO(line, number, ...) say(line, CALL(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0))
#define CALL(number, a, b, c, d, e, f, ...) \
    call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))
#define WORDS(...) ((long[]){__VA_ARGS__})
#define JUST(number, ...) CALL(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0)

static void look(void)
{
    DO("open read @/file", __NR_open, in("file"), 0);
    DO("open read @/file", __NR_openat, HERE, in("file"), 0);
    DO("open read @/file", __NR_openat2, HERE, in("file"), scratch + 2000, 24);
    DO("stat @/file", __NR_oldstat, in("file"), scratch);
    DO("stat @/link", __NR_oldlstat, in("link"), scratch);
    DO("stat @/file", __NR_stat, in("file"), scratch);
    DO("stat @/link", __NR_lstat, in("link"), scratch);
    DO("stat @/file", __NR_stat64, in("file"), scratch);
    DO("stat @/link", __NR_lstat64, in("link"), scratch);
    DO("stat @/file", __NR_fstatat64, HERE, in("file"), scratch, 0);
    DO("stat @/file", __NR_statx, HERE, in("file"), 0, 0xfff, scratch);
    DO("stat @/file", FILE_GETATTR, HERE, in("file"), scratch, 24, 0);
    DO("access @/file", __NR_access, in("file"), 4);
    DO("access @/file", __NR_faccessat, HERE, in("file"), 4);
    DO("access @/file", __NR_faccessat2, HERE, in("file"), 4, 0);
    DO("readlink @/link", __NR_readlink, in("link"), scratch, 100);
    DO("readlink @/link", __NR_readlinkat, HERE, in("link"), scratch, 100);
    DO("statfs @/file", __NR_statfs, in("file"), scratch);
    DO("statfs @/file", __NR_statfs64, in("file"), 84, scratch);
    DO("getxattr @/file -> user.a", __NR_getxattr, in("file"), "user.a", scratch, 9);
    DO("getxattr @/link -> user.a", __NR_lgetxattr, in("link"), "user.a", scratch, 9);
    DO("getxattr @/file", __NR_listxattr, in("file"), scratch, 9);
    DO("getxattr @/link", __NR_llistxattr, in("link"), scratch, 9);
    DO("getxattr @/file -> user.a", GETXATTRAT, HERE, in("file"), 0, "user.a", scratch, 16);
    DO("getxattr @/file", LISTXATTRAT, HERE, in("file"), 0, scratch, 9);
    DO("watch @/file", __NR_inotify_add_watch, JUST(__NR_inotify_init, 0), in("file"), 2);
    *(unsigned *)scratch = 128;
    DO("handle @/file", __NR_name_to_handle_at, HERE, in("file"), scratch, scratch + 1000, 0);
}

static void walk(void)
{
    long fd = JUST(__NR_open, in("dir"), 0);
    say("open read @/dir", fd);
    DO("list @/dir", __NR_getdents, fd, scratch, 2000);
    DO("list @/dir", __NR_getdents64, fd, scratch, 2000);
    DO("list @/dir", __NR_readdir, fd, scratch, 1);
    JUST(__NR_open_by_handle_at, fd, scratch, 0);
    put("open_handle", "");
    DO("chdir @/dir", __NR_fchdir, fd);
    DO("open read @/dir/inner", __NR_open, "inner", 0);
    DO("chdir @/empty", __NR_chdir, in("empty"));
    DO("chroot @/file", __NR_chroot, in("file"));
}

static void change(void)
{
    DO("open write @/made", __NR_creat, in("made"), 0600);
    DO("truncate @/made", __NR_truncate, in("made"), 5);
    DO("truncate @/made", __NR_truncate64, in("made"), 5, 0);
    DO("link @/made -> @/second", __NR_link, in("made"), in("second"));
    DO("link @/made -> @/third", __NR_linkat, HERE, in("made"), HERE, in("third"), 0);
    DO("rename @/second -> @/fourth", __NR_rename, in("second"), in("fourth"));
    DO("rename @/fourth -> @/fifth", __NR_renameat, HERE, in("fourth"), HERE, in("fifth"));
    DO("exchange @/fifth -> @/third", __NR_renameat2, HERE, in("fifth"), HERE, in("third"), 2);
    DO("symlink @/points -> away", __NR_symlink, "away", in("points"));
    DO("symlink @/aims -> away", __NR_symlinkat, "away", HERE, in("aims"));
    DO("mkdir @/new", __NR_mkdir, in("new"), 0700);
    DO("mkdir @/newer", __NR_mkdirat, HERE, in("newer"), 0700);
    DO("mknod @/pipe", __NR_mknod, in("pipe"), 0010600, 0);
    DO("mknod @/pipes", __NR_mknodat, HERE, in("pipes"), 0010600, 0);
    DO("unlink @/pipe", __NR_unlink, in("pipe"));
    DO("unlink @/pipes", __NR_unlinkat, HERE, in("pipes"), 0);
    DO("rmdir @/new", __NR_rmdir, in("new"));
    DO("rmdir @/newer", __NR_unlinkat, HERE, in("newer"), 0x200);
}

static void attributes(void)
{
    DO("chmod @/file", __NR_chmod, in("file"), 0600);
    DO("chmod @/file", __NR_fchmodat, HERE, in("file"), 0600);
    DO("chmod @/file", FCHMODAT2, HERE, in("file"), 0600, 0);
    DO("chown @/file", __NR_chown, in("file"), -1, -1);
    DO("chown @/file", __NR_chown32, in("file"), -1, -1);
    DO("chown @/link", __NR_lchown, in("link"), -1, -1);
    DO("chown @/link", __NR_lchown32, in("link"), -1, -1);
    DO("chown @/file", __NR_fchownat, HERE, in("file"), -1, -1, 0);
    DO("utimes @/file", __NR_utime, in("file"), 0);
    DO("utimes @/file", __NR_utimes, in("file"), 0);
    DO("utimes @/file", __NR_futimesat, HERE, in("file"), 0);
    DO("utimes @/file", __NR_utimensat, HERE, in("file"), 0, 0);
    DO("utimes @/file", __NR_utimensat_time64, HERE, in("file"), 0, 0);
    DO("setxattr @/file -> user.a", __NR_setxattr, in("file"), "user.a", "v", 1, 0);
    DO("setxattr @/link -> user.a", __NR_lsetxattr, in("link"), "user.a", "v", 1, 0);
    DO("setxattr @/file -> user.a", SETXATTRAT, HERE, in("file"), 0, "user.a", scratch, 16);
    DO("removexattr @/file -> user.a", __NR_removexattr, in("file"), "user.a");
    DO("removexattr @/link -> user.a", __NR_lremovexattr, in("link"), "user.a");
    DO("removexattr @/file -> user.a", REMOVEXATTRAT, HERE, in("file"), 0, "user.a");
    DO("setattr @/file", FILE_SETATTR, HERE, in("file"), scratch + 500, 24, 0);
}

static void descriptors(void)
{
    long fd = JUST(__NR_open, in("file"), 2);
    long old_map[6] = {0, 4, 3, 1, 0, 0};
    say("open read_write @/file", fd);
    DO("chmod @/file", __NR_fchmod, fd, 0600);
    DO("chown @/file", __NR_fchown, fd, -1, -1);
    DO("chown @/file", __NR_fchown32, fd, -1, -1);
    DO("setxattr @/file -> user.a", __NR_fsetxattr, fd, "user.a", "v", 1, 0);
    DO("removexattr @/file -> user.a", __NR_fremovexattr, fd, "user.a");
    DO("truncate @/file", __NR_ftruncate, fd, 3);
    DO("truncate @/file", __NR_ftruncate64, fd, 3, 0);
    old_map[4] = fd;
    DO("map @/file", __NR_mmap, old_map);
    DO("map @/file", __NR_mmap2, 0, 4, 3, 1, fd, 0);
    JUST(__NR_mmap2, 0, 4, 3, 2, fd, 0);
    long copy = JUST(__NR_dup, fd);
    JUST(__NR_dup2, copy, 40);
    JUST(__NR_dup3, copy, 41, 0);
    JUST(__NR_fcntl, copy, 0, 50);
    JUST(__NR_fcntl64, copy, 0, 50);
    JUST(__NR_fcntl64, copy, 8, JUST(__NR_getpid, 0));
    JUST(__NR_ioctl, copy, 0x8901, scratch + 2000); /* of the run: nothing is told */
    JUST(__NR_writev, 1, 0, 0);
    JUST(__NR_pwritev2, 1, 0, 0, -1, -1, 0);
    JUST(__NR_sendfile, 1, fd, 0, 0);
    JUST(__NR_sendfile64, 1, fd, 0, 0);
    JUST(__NR_splice, fd, 0, 1, 0, 0, 0);
}

static void mounts(void)
{
    DO("mount @/empty -> @/dir", __NR_mount, in("dir"), in("empty"), "no such file system", 0, 0);
    DO("mount @/empty -> @/dir", __NR_move_mount, HERE, in("dir"), HERE, in("empty"), 0);
    DO("umount @/empty", __NR_umount, in("empty"));
    DO("umount @/empty", __NR_umount2, in("empty"), 0);
    DO("pivot_root @/empty -> @/dir", __NR_pivot_root, in("empty"), in("dir"));
    DO("io_uring 4", __NR_io_uring_setup, 4, scratch + 2000);
    DO("personality 4294967295", __NR_personality, -1);
    DO("namespace 0", __NR_unshare, 0);
    DO("namespace 131072", __NR_setns, -1, 0x20000);
    DO("seccomp 3", __NR_seccomp, 3, 0, scratch + 2000);
    DO("seccomp 7", __NR_prctl, 22, 7, 0);
    DO("ptrace 16", __NR_ptrace, 16, -1, 0, 0);
    DO("reach 0", __NR_process_vm_writev, -1, 0, 0, 0, 0, 0);
    DO("reach 0", __NR_pidfd_getfd, -1, 0, 0);
    JUST(__NR_prlimit64, JUST(__NR_getpid, 0), 4, scratch + 2000, 0); /* of the run: nothing is told */
}

static void end_child(long child, int status)
{
    int ended;
    if (child == 0) {
        if (status < 0)
            JUST(__NR_exit_group, -status);
        JUST(__NR_exit, status);
    }
    put("fork", "");
    while (JUST(__NR_waitpid, child, &ended, 0) == -4)
        continue;
    put("exit ", (char[]){(char)('0' + (ended >> 8)), 0});
}

static void processes(void)
{
    long long how[11] = {0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0};
    char *words[] = {(char *)"p", (char *)0};
    end_child(JUST(__NR_fork, 0), 3);
    end_child(JUST(__NR_clone, 17), -4);
    end_child(JUST(__NR_clone3, how, 64), 5);
    long child = JUST(__NR_fork, 0);
    if (child == 0) {
        JUST(__NR_execve, in("program"), words, words + 1);
        JUST(__NR_exit_group, 99);
    }
    end_child(child, 0);
    put("exec @/program", "");
    DO("exec @/absent", __NR_execveat, HERE, in("absent"), words, words + 1, 0);
    long other = JUST(__NR_fork, 0);
    if (other == 0)
        for (;;)
            JUST(__NR_pause, 0);
    put("fork", "");
    DO("signal 0", __NR_kill, other, 0);
    DO("signal 0", __NR_tkill, other, 0);
    DO("signal 0", __NR_tgkill, other, other, 0);
    DO("signal 0", __NR_rt_sigqueueinfo, other, 0, scratch);
    DO("signal 0", __NR_rt_tgsigqueueinfo, other, other, 0, scratch);
    DO("signal 9", __NR_pidfd_send_signal, JUST(__NR_pidfd_open, other, 0), 9, 0, 0);
    JUST(__NR_waitid, 1, other, scratch, 0x01000004);
    JUST(__NR_wait4, other, 0, 0, 0);
    put("killed 9", "");
}

static void vforked(void)
{
    /* The child shares the stack: it may do nothing but end, inside one statement. */
    long child;
    __asm__ volatile("movl %1, %%eax; int $0x80; testl %%eax, %%eax; jnz 1f;"
                     "movl $1, %%eax; movl $6, %%ebx; int $0x80; 1:"
                     : "=&a"(child)
                     : "i"(__NR_vfork)
                     : "ebx", "memory");
    end_child(child, 0);
}

struct inet { unsigned short family, port; unsigned host; char rest[8]; };

static void network(void)
{
    struct inet address = {2, 0x0100, 0x0100007f, {0}};
    long fd = JUST(__NR_socket, 2, 1, 0);
    long word[2] = {(long)"x", 1};
    long message[7] = {(long)&address, sizeof address, (long)word, 1, 0, 0, 0};
    long many[8] = {message[0], message[1], message[2], 1, 0, 0, 0, 0};
    say("socket 2:1", fd);
    DO("connect inet:127.0.0.1:1", __NR_connect, fd, &address, sizeof address);
    address.port = 0x0200;
    DO("bind inet:127.0.0.1:2", __NR_bind, fd, &address, sizeof address);
    address.port = 0x0100;
    JUST(__NR_listen, fd, 1);
    put("listen", "");
    JUST(__NR_accept4, -1, 0, 0, 0);
    put("accept", "");
    fd = JUST(__NR_socket, 2, 2, 0);
    say("socket 2:2", fd);
    JUST(__NR_sendto, fd, "x", 1, 0, &address, sizeof address);
    put("send inet:127.0.0.1:1", "");
    JUST(__NR_sendmsg, fd, message, 0);
    put("send inet:127.0.0.1:1", "");
    JUST(__NR_sendmmsg, fd, many, 1, 0);
    put("send inet:127.0.0.1:1", "");
}

/* One number for all of them: 1 socket, 2 bind, 3 connect, 4 listen, 5 accept, 11 sendto, 16 sendmsg. */
static void multiplexed(void)
{
    struct inet netlink = {16, 0, 0, {0}};
    struct inet address = {2, 0x0100, 0x0100007f, {0}};
    long word[2] = {(long)"x", 1};
    long message[7] = {(long)&address, sizeof address, (long)word, 1, 0, 0, 0};
    long fd = JUST(__NR_socketcall, 1, WORDS(2, 2, 0));
    say("socket 2:2", fd);
    DO("bind netlink:", __NR_socketcall, 2, WORDS(fd, (long)&netlink, 12));
    DO("connect inet:127.0.0.1:1", __NR_socketcall, 3, WORDS(fd, (long)&address, sizeof address));
    JUST(__NR_socketcall, 4, WORDS(-1, 1));
    put("listen", "");
    JUST(__NR_socketcall, 5, WORDS(-1, 0, 0));
    put("accept", "");
    JUST(__NR_socketcall, 11, WORDS(fd, (long)"x", 1, 0, (long)&address, sizeof address));
    put("send inet:127.0.0.1:1", "");
    JUST(__NR_socketcall, 16, WORDS(fd, (long)message, 0));
    put("send inet:127.0.0.1:1", "");
    JUST(__NR_socketcall, 1, 16);
    JUST(__NR_socketcall, 99, 16);
    put("maybe socket", "");
}

static const struct { const char *name, *calls; void (*run)(void); } cases[] = {
    {"look", "open openat openat2 oldstat oldlstat stat lstat stat64 lstat64 fstatat64 statx file_getattr access faccessat "
             "faccessat2 readlink readlinkat statfs statfs64 getxattr lgetxattr listxattr llistxattr getxattrat listxattrat "
             "inotify_add_watch name_to_handle_at", look},
    {"walk", "getdents getdents64 readdir open_by_handle_at fchdir chdir chroot", walk},
    {"change", "creat truncate truncate64 link linkat rename renameat renameat2 symlink symlinkat mkdir mkdirat mknod mknodat "
               "unlink unlinkat rmdir", change},
    {"attributes", "chmod fchmodat fchmodat2 chown chown32 lchown lchown32 fchownat utime utimes futimesat utimensat "
                   "utimensat_time64 setxattr lsetxattr setxattrat removexattr lremovexattr removexattrat file_setattr",
     attributes},
    {"descriptors", "fchmod fchown fchown32 fsetxattr fremovexattr ftruncate ftruncate64 mmap mmap2 dup dup2 dup3 fcntl "
                    "fcntl64 ioctl write writev pwritev2 sendfile sendfile64 splice", descriptors},
    {"mounts", "mount move_mount umount umount2 pivot_root io_uring_setup personality unshare setns seccomp prctl ptrace process_vm_writev pidfd_getfd "
               "prlimit64", mounts},
    {"processes", "fork clone clone3 execve execveat exit exit_group kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo "
                  "pidfd_send_signal waitpid waitid wait4", processes},
    {"vforked", "vfork", vforked},
    {"network", "socket connect bind listen accept4 sendto sendmsg sendmmsg", network},
    {"multiplexed", "socketcall", multiplexed},
};
#define CASES (sizeof cases / sizeof *cases)

static int main_of(int argc, char **argv)
{
    if (argc == 2 && same(argv[1], "--list")) {
        for (unsigned number = 0; number < CASES; number++) {
            char line[1024];
            append(append(append(line, cases[number].name), "\t"), cases[number].calls);
            put(line, "");
        }
        return 0;
    }
    if (argc < 3 || length(argv[2]) > 250)
        return 2;
    directory = argv[2];
    for (unsigned number = 0; number < CASES; number++) {
        if (same(cases[number].name, argv[1])) {
            cases[number].run();
            return 0;
        }
    }
    return 2;
}

__attribute__((used)) static void begin(int *stack)
{
    JUST(__NR_exit_group, main_of(stack[0], (char **)(stack + 1)));
}

__asm__(".globl _start\n_start:\n movl %esp, %eax\n andl $-16, %esp\n subl $12, %esp\n pushl %eax\n call begin\n");
