/* made by native/generate.py from native/syscalls.toml; change that and run it again */
#include "calls.h"
#include "wire.h"

#define COUNTED(number) {number, CALL_COUNTED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, 0, NULL, -1, -1, -1, -1, -1, -1, -1, 0}

#if defined(__x86_64__)
static const struct call x86_64[] = {
    {1, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_write, 0, -1, -1, -1, -1, -1, -1, 0}, /* write */
    {2, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_IF_CHANGING, OP_OPEN, sys_open, -1, 0, 1, 1, 2, -1, -1, 0}, /* open */
    {4, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* stat */
    {6, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* lstat */
    {9, CALL_RECORDED, WHEN_SHARED_WRITE, EFFECT_CHANGE, BESIDE_STOP, OP_MAP, sys_fd, 4, -1, -1, 2, 3, -1, -1, 0}, /* mmap */
    {16, CALL_RECORDED, WHEN_IOCTL, EFFECT_NONE, BESIDE_BLIND, 0, sys_ioctl, -1, -1, -1, -1, -1, -1, -1, 0}, /* ioctl */
    {20, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_write, 0, -1, -1, -1, -1, -1, -1, TRAIT_MANY}, /* writev */
    {21, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_ACCESS, sys_path, -1, 0, -1, 1, -1, -1, -1, 0}, /* access */
    COUNTED(29 /* shmget */), COUNTED(30 /* shmat */),
    {32, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_dup, 0, -1, -1, -1, -1, -1, -1, 0}, /* dup */
    {33, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_dup, 0, -1, -1, 1, -1, -1, -1, 0}, /* dup2 */
    {40, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_transfer, 0, -1, -1, 3, -1, -1, -1, 0}, /* sendfile */
    {41, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_SOCKET, sys_scalar, -1, -1, -1, 0, 1, -1, -1, 0}, /* socket */
    {42, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_CONNECT, sys_address, -1, 1, -1, 0, -1, -1, -1, 0}, /* connect */
    {43, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_ACCEPT, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* accept */
    {44, CALL_RECORDED, WHEN_ADDRESS, EFFECT_NONE, BESIDE_PASS, OP_SEND, sys_address, -1, 4, -1, 0, -1, -1, -1, 0}, /* sendto */
    {46, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_SEND, sys_message, -1, 1, -1, 0, -1, -1, -1, 0}, /* sendmsg */
    {49, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_BIND, sys_address, -1, 1, -1, 0, -1, -1, -1, 0}, /* bind */
    {50, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_LISTEN, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* listen */
    {56, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_LEAVING, OP_FORK, sys_fork, -1, -1, -1, 0, -1, -1, -1, 0}, /* clone */
    {57, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_FORK, sys_fork, -1, -1, -1, -1, -1, -1, -1, 0}, /* fork */
    {58, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_FORK, sys_fork, -1, -1, -1, -1, -1, -1, -1, 0}, /* vfork */
    {59, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_EXEC, sys_exec, -1, 0, -1, -1, -1, -1, -1, 0}, /* execve */
    {60, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_EXIT, sys_exit, -1, -1, -1, 0, -1, -1, -1, 0}, /* exit */
    {61, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, 0, sys_wait, -1, -1, -1, -1, -1, -1, -1, 0}, /* wait4 */
    {62, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 1, 0, -1, -1, 0}, /* kill */
    COUNTED(64 /* semget */), COUNTED(68 /* msgget */),
    {72, CALL_RECORDED, WHEN_FCNTL, EFFECT_NONE, BESIDE_BLIND, 0, sys_fcntl, 0, -1, -1, -1, -1, -1, -1, 0}, /* fcntl */
    {76, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_TRUNCATE, sys_path, -1, 0, -1, 1, -1, -1, -1, 0}, /* truncate */
    {77, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_TRUNCATE, sys_fd, 0, -1, -1, 1, -1, -1, -1, 0}, /* ftruncate */
    {78, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_LIST, sys_fd, 0, -1, -1, -1, -1, -1, -1, 0}, /* getdents */
    {80, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_CHDIR, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* chdir */
    {81, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_CHDIR, sys_fd, 0, -1, -1, -1, -1, -1, -1, 0}, /* fchdir */
    {82, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_RENAME, sys_two_paths, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* rename */
    {83, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_MKDIR, sys_path, -1, 0, -1, 1, -1, -1, -1, TRAIT_NOFOLLOW}, /* mkdir */
    {84, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_RMDIR, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* rmdir */
    {85, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_STOP, OP_OPEN, sys_open, -1, 0, -1, -1, 1, -1, -1, 0}, /* creat */
    {86, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_LINK, sys_two_paths, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* link */
    {87, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_UNLINK, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* unlink */
    {88, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_SYMLINK, sys_path, -1, 1, -1, -1, -1, -1, 0, TRAIT_NOFOLLOW}, /* symlink */
    {89, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_READLINK, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* readlink */
    {90, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHMOD, sys_path, -1, 0, -1, 1, -1, -1, -1, 0}, /* chmod */
    {91, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHMOD, sys_fd, 0, -1, -1, 1, -1, -1, -1, 0}, /* fchmod */
    {92, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_path, -1, 0, -1, 1, 2, -1, -1, 0}, /* chown */
    {93, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_fd, 0, -1, -1, 1, 2, -1, -1, 0}, /* fchown */
    {94, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_path, -1, 0, -1, 1, 2, -1, -1, TRAIT_NOFOLLOW}, /* lchown */
    {101, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ATTACHING, OP_PTRACE, sys_ptrace, -1, -1, -1, 0, 1, -1, -1, 0}, /* ptrace */
    COUNTED(103 /* syslog */), COUNTED(105 /* setuid */), COUNTED(106 /* setgid */), COUNTED(113 /* setreuid
    */), COUNTED(114 /* setregid */), COUNTED(116 /* setgroups */), COUNTED(117 /* setresuid */),
    COUNTED(119 /* setresgid */), COUNTED(122 /* setfsuid */), COUNTED(123 /* setfsgid */), COUNTED(126 /*
    capset */),
    {129, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 1, 0, -1, -1, 0}, /* rt_sigqueueinfo */
    {132, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_UTIMES, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* utime */
    {133, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_MKNOD, sys_path, -1, 0, -1, 1, 2, -1, -1, TRAIT_NOFOLLOW}, /* mknod */
    COUNTED(134 /* uselib */),
    {135, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_PERSONALITY, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* personality */
    {137, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STATFS, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* statfs */
    COUNTED(153 /* vhangup */), COUNTED(154 /* modify_ldt */),
    {155, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_PIVOT_ROOT, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* pivot_root */
    {157, CALL_RECORDED, WHEN_SET_SECCOMP, EFFECT_NONE, BESIDE_STOP, OP_SECCOMP, sys_seccomp, -1, -1, -1, 1, -1, -1, -1, 0}, /* prctl */
    COUNTED(159 /* adjtimex */),
    {161, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_CHROOT, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* chroot */
    COUNTED(163 /* acct */), COUNTED(164 /* settimeofday */),
    {165, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_MOUNT, sys_path, -1, 1, -1, 3, -1, -1, 0, 0}, /* mount */
    {166, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_UMOUNT, sys_path, -1, 0, -1, 1, -1, -1, -1, 0}, /* umount2 */
    COUNTED(167 /* swapon */), COUNTED(168 /* swapoff */), COUNTED(169 /* reboot */), COUNTED(170 /*
    sethostname */), COUNTED(171 /* setdomainname */), COUNTED(172 /* iopl */), COUNTED(173 /* ioperm */),
    COUNTED(175 /* init_module */), COUNTED(176 /* delete_module */), COUNTED(179 /* quotactl */),
    {188, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* setxattr */
    {189, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* lsetxattr */
    {190, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_fd, 0, -1, -1, -1, -1, -1, 1, 0}, /* fsetxattr */
    {191, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* getxattr */
    {192, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* lgetxattr */
    {194, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* listxattr */
    {195, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* llistxattr */
    {197, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* removexattr */
    {198, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* lremovexattr */
    {199, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_fd, 0, -1, -1, -1, -1, -1, 1, 0}, /* fremovexattr */
    {200, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 1, 0, -1, -1, 0}, /* tkill */
    COUNTED(212 /* lookup_dcookie */),
    {217, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_LIST, sys_fd, 0, -1, -1, -1, -1, -1, -1, 0}, /* getdents64 */
    COUNTED(227 /* clock_settime */),
    {231, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_EXIT, sys_exit, -1, -1, -1, 0, -1, -1, -1, 0}, /* exit_group */
    {234, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 2, 0, -1, -1, 0}, /* tgkill */
    {235, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_UTIMES, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* utimes */
    COUNTED(240 /* mq_open */), COUNTED(241 /* mq_unlink */), COUNTED(246 /* kexec_load */),
    {247, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, 0, sys_wait, -1, -1, -1, -1, -1, -1, -1, 0}, /* waitid */
    COUNTED(248 /* add_key */), COUNTED(249 /* request_key */), COUNTED(250 /* keyctl */),
    {254, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_WATCH, sys_path, -1, 1, -1, -1, -1, -1, -1, 0}, /* inotify_add_watch */
    {257, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_IF_CHANGING, OP_OPEN, sys_open, 0, 1, 2, 2, 3, -1, -1, 0}, /* openat */
    {258, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_MKDIR, sys_path, 0, 1, -1, 2, -1, -1, -1, TRAIT_NOFOLLOW}, /* mkdirat */
    {259, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_MKNOD, sys_path, 0, 1, -1, 2, 3, -1, -1, TRAIT_NOFOLLOW}, /* mknodat */
    {260, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_path, 0, 1, 4, 2, 3, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* fchownat */
    {261, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_UTIMES, sys_path, 0, 1, -1, -1, -1, -1, -1, TRAIT_NULL}, /* futimesat */
    {262, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, 0, 1, 3, 3, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* newfstatat */
    {263, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_UNLINK, sys_unlinkat, 0, 1, 2, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* unlinkat */
    {264, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_RENAME, sys_two_paths, 0, 1, -1, -1, -1, 2, 3, TRAIT_NOFOLLOW}, /* renameat */
    {265, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_LINK, sys_two_paths, 0, 1, 4, 4, -1, 2, 3, TRAIT_AT_FOLLOW | TRAIT_EMPTY}, /* linkat */
    {266, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_SYMLINK, sys_path, 1, 2, -1, -1, -1, -1, 0, TRAIT_NOFOLLOW}, /* symlinkat */
    {267, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_READLINK, sys_path, 0, 1, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW | TRAIT_EMPTY}, /* readlinkat */
    {268, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHMOD, sys_path, 0, 1, -1, 2, -1, -1, -1, 0}, /* fchmodat */
    {269, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_ACCESS, sys_path, 0, 1, -1, 2, -1, -1, -1, 0}, /* faccessat */
    {272, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_NAMESPACE, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* unshare */
    {275, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_transfer, 2, -1, -1, 4, -1, -1, -1, 0}, /* splice */
    {280, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_UTIMES, sys_path, 0, 1, 3, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY | TRAIT_NULL}, /* utimensat */
    {288, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_ACCEPT, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* accept4 */
    {292, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_dup, 0, -1, 2, 1, -1, -1, -1, 0}, /* dup3 */
    {297, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 2, 0, -1, -1, 0}, /* rt_tgsigqueueinfo */
    COUNTED(298 /* perf_event_open */), COUNTED(300 /* fanotify_init */), COUNTED(301 /* fanotify_mark */),
    {302, CALL_RECORDED, WHEN_OTHERS_LIMIT, EFFECT_NONE, BESIDE_STOP, OP_REACH, sys_prlimit, -1, -1, -1, -1, 0, -1, -1, 0}, /* prlimit64 */
    {303, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_HANDLE, sys_path, 0, 1, 4, -1, -1, -1, -1, TRAIT_AT_FOLLOW | TRAIT_EMPTY}, /* name_to_handle_at */
    {304, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_STOP, OP_OPEN_HANDLE, sys_open_handle, 0, -1, 2, 2, -1, -1, -1, 0}, /* open_by_handle_at */
    COUNTED(305 /* clock_adjtime */),
    {307, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_SEND, sys_message, -1, 1, -1, 0, -1, -1, -1, TRAIT_MANY}, /* sendmmsg */
    {308, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_NAMESPACE, sys_scalar, -1, -1, -1, 1, -1, -1, -1, 0}, /* setns */
    COUNTED(310 /* process_vm_readv */),
    {311, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_REACH, sys_reach_process, -1, -1, -1, -1, 0, -1, -1, 0}, /* process_vm_writev */
    COUNTED(313 /* finit_module */),
    {316, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_RENAME, sys_two_paths, 0, 1, 4, 4, -1, 2, 3, TRAIT_NOFOLLOW}, /* renameat2 */
    {317, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_SECCOMP, sys_seccomp, -1, -1, -1, 0, 1, -1, -1, 0}, /* seccomp */
    COUNTED(319 /* memfd_create */), COUNTED(320 /* kexec_file_load */), COUNTED(321 /* bpf */),
    {322, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_EXEC, sys_exec, 0, 1, 4, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* execveat */
    COUNTED(323 /* userfaultfd */),
    {328, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_write, 0, -1, 5, 3, -1, -1, -1, TRAIT_MANY}, /* pwritev2 */
    {332, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, 0, 1, 2, 2, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* statx */
    {424, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, 0, -1, -1, 1, 0, -1, -1, 0}, /* pidfd_send_signal */
    {425, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_IO_URING, sys_io_uring, -1, -1, -1, 0, -1, -1, -1, 0}, /* io_uring_setup */
    {428, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, 0, sys_open_tree, 0, 1, 2, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* open_tree */
    {429, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_MOUNT, sys_path, 2, 3, -1, -1, -1, 0, 1, TRAIT_NOFOLLOW | TRAIT_EMPTY}, /* move_mount */
    COUNTED(430 /* fsopen */), COUNTED(431 /* fsconfig */), COUNTED(432 /* fsmount */), COUNTED(433 /*
    fspick */),
    {435, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_FORK, sys_clone3, -1, -1, -1, -1, -1, -1, -1, 0}, /* clone3 */
    {437, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_STOP, OP_OPEN, sys_openat2, 0, 1, -1, -1, -1, -1, -1, 0}, /* openat2 */
    {438, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_REACH, sys_reach_process, 0, -1, -1, -1, -1, -1, -1, 0}, /* pidfd_getfd */
    {439, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_ACCESS, sys_path, 0, 1, 3, 2, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* faccessat2 */
    COUNTED(440 /* process_madvise */), COUNTED(442 /* mount_setattr */), COUNTED(443 /* quotactl_fd */),
    COUNTED(444 /* landlock_create_ruleset */), COUNTED(445 /* landlock_add_rule */), COUNTED(446 /*
    landlock_restrict_self */), COUNTED(447 /* memfd_secret */), COUNTED(448 /* process_mrelease */),
    {452, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHMOD, sys_path, 0, 1, 3, 2, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* fchmodat2 */
    COUNTED(460 /* lsm_set_self_attr */),
    {463, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_path, 0, 1, 2, -1, -1, -1, 3, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* setxattrat */
    {464, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, 0, 1, 2, -1, -1, -1, 3, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* getxattrat */
    {465, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, 0, 1, 2, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* listxattrat */
    {466, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_path, 0, 1, 2, -1, -1, -1, 3, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* removexattrat */
    {467, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, 0, sys_open_tree, 0, 1, 2, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* open_tree_attr */
    {468, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, 0, 1, 4, 4, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* file_getattr */
    {469, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETATTR, sys_path, 0, 1, 4, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* file_setattr */
};

const struct call_table calls_x86_64 = {
    x86_64, sizeof x86_64 / sizeof *x86_64, CALLS_HIGHEST_X86_64
};
#endif

#if defined(__x86_64__)
static const struct call i386[] = {
    {1, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_EXIT, sys_exit, -1, -1, -1, 0, -1, -1, -1, 0}, /* exit */
    {2, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_FORK, sys_fork, -1, -1, -1, -1, -1, -1, -1, 0}, /* fork */
    {4, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_write, 0, -1, -1, -1, -1, -1, -1, 0}, /* write */
    {5, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_IF_CHANGING, OP_OPEN, sys_open, -1, 0, 1, 1, 2, -1, -1, 0}, /* open */
    {7, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, 0, sys_wait, -1, -1, -1, -1, -1, -1, -1, 0}, /* waitpid */
    {8, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_STOP, OP_OPEN, sys_open, -1, 0, -1, -1, 1, -1, -1, 0}, /* creat */
    {9, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_LINK, sys_two_paths, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* link */
    {10, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_UNLINK, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* unlink */
    {11, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_EXEC, sys_exec, -1, 0, -1, -1, -1, -1, -1, 0}, /* execve */
    {12, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_CHDIR, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* chdir */
    {14, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_MKNOD, sys_path, -1, 0, -1, 1, 2, -1, -1, TRAIT_NOFOLLOW}, /* mknod */
    {15, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHMOD, sys_path, -1, 0, -1, 1, -1, -1, -1, 0}, /* chmod */
    {16, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_path, -1, 0, -1, 1, 2, -1, -1, TRAIT_NOFOLLOW}, /* lchown */
    {18, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* oldstat */
    {21, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_MOUNT, sys_path, -1, 1, -1, 3, -1, -1, 0, 0}, /* mount */
    {22, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_UMOUNT, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* umount */
    COUNTED(23 /* setuid */), COUNTED(25 /* stime */),
    {26, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ATTACHING, OP_PTRACE, sys_ptrace, -1, -1, -1, 0, 1, -1, -1, 0}, /* ptrace */
    {30, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_UTIMES, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* utime */
    {33, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_ACCESS, sys_path, -1, 0, -1, 1, -1, -1, -1, 0}, /* access */
    {37, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 1, 0, -1, -1, 0}, /* kill */
    {38, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_RENAME, sys_two_paths, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* rename */
    {39, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_MKDIR, sys_path, -1, 0, -1, 1, -1, -1, -1, TRAIT_NOFOLLOW}, /* mkdir */
    {40, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_RMDIR, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* rmdir */
    {41, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_dup, 0, -1, -1, -1, -1, -1, -1, 0}, /* dup */
    COUNTED(46 /* setgid */), COUNTED(51 /* acct */),
    {52, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_UMOUNT, sys_path, -1, 0, -1, 1, -1, -1, -1, 0}, /* umount2 */
    {54, CALL_RECORDED, WHEN_IOCTL, EFFECT_NONE, BESIDE_BLIND, 0, sys_ioctl, -1, -1, -1, -1, -1, -1, -1, 0}, /* ioctl */
    {55, CALL_RECORDED, WHEN_FCNTL, EFFECT_NONE, BESIDE_BLIND, 0, sys_fcntl, 0, -1, -1, -1, -1, -1, -1, 0}, /* fcntl */
    {61, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_CHROOT, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* chroot */
    {63, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_dup, 0, -1, -1, 1, -1, -1, -1, 0}, /* dup2 */
    COUNTED(70 /* setreuid */), COUNTED(71 /* setregid */), COUNTED(74 /* sethostname */), COUNTED(79 /*
    settimeofday */), COUNTED(81 /* setgroups */),
    {83, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_SYMLINK, sys_path, -1, 1, -1, -1, -1, -1, 0, TRAIT_NOFOLLOW}, /* symlink */
    {84, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* oldlstat */
    {85, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_READLINK, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* readlink */
    COUNTED(86 /* uselib */), COUNTED(87 /* swapon */), COUNTED(88 /* reboot */),
    {89, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_LIST, sys_fd, 0, -1, -1, -1, -1, -1, -1, 0}, /* readdir */
    {90, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_MAP, sys_map_old, -1, -1, -1, -1, -1, -1, -1, 0}, /* mmap */
    {92, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_TRUNCATE, sys_path, -1, 0, -1, 1, -1, -1, -1, 0}, /* truncate */
    {93, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_TRUNCATE, sys_fd, 0, -1, -1, 1, -1, -1, -1, 0}, /* ftruncate */
    {94, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHMOD, sys_fd, 0, -1, -1, 1, -1, -1, -1, 0}, /* fchmod */
    {95, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_fd, 0, -1, -1, 1, 2, -1, -1, 0}, /* fchown */
    {99, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STATFS, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* statfs */
    COUNTED(101 /* ioperm */),
    {102, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_BINDING, 0, sys_socketcall, -1, -1, -1, 0, 1, -1, -1, 0}, /* socketcall */
    COUNTED(103 /* syslog */),
    {106, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* stat */
    {107, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* lstat */
    COUNTED(110 /* iopl */), COUNTED(111 /* vhangup */), COUNTED(113 /* vm86old */),
    {114, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, 0, sys_wait, -1, -1, -1, -1, -1, -1, -1, 0}, /* wait4 */
    COUNTED(115 /* swapoff */),
    {120, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_LEAVING, OP_FORK, sys_fork, -1, -1, -1, 0, -1, -1, -1, 0}, /* clone */
    COUNTED(121 /* setdomainname */), COUNTED(123 /* modify_ldt */), COUNTED(124 /* adjtimex */),
    COUNTED(128 /* init_module */), COUNTED(129 /* delete_module */), COUNTED(131 /* quotactl */),
    {133, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_CHDIR, sys_fd, 0, -1, -1, -1, -1, -1, -1, 0}, /* fchdir */
    {136, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_PERSONALITY, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* personality */
    COUNTED(138 /* setfsuid */), COUNTED(139 /* setfsgid */),
    {141, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_LIST, sys_fd, 0, -1, -1, -1, -1, -1, -1, 0}, /* getdents */
    {146, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_write, 0, -1, -1, -1, -1, -1, -1, TRAIT_MANY}, /* writev */
    COUNTED(164 /* setresuid */), COUNTED(166 /* vm86 */), COUNTED(170 /* setresgid */),
    {172, CALL_RECORDED, WHEN_SET_SECCOMP, EFFECT_NONE, BESIDE_STOP, OP_SECCOMP, sys_seccomp, -1, -1, -1, 1, -1, -1, -1, 0}, /* prctl */
    {178, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 1, 0, -1, -1, 0}, /* rt_sigqueueinfo */
    {182, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_path, -1, 0, -1, 1, 2, -1, -1, 0}, /* chown */
    COUNTED(185 /* capset */),
    {187, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_transfer, 0, -1, -1, 3, -1, -1, -1, 0}, /* sendfile */
    {190, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_FORK, sys_fork, -1, -1, -1, -1, -1, -1, -1, 0}, /* vfork */
    {192, CALL_RECORDED, WHEN_SHARED_WRITE, EFFECT_CHANGE, BESIDE_STOP, OP_MAP, sys_fd, 4, -1, -1, 2, 3, -1, -1, 0}, /* mmap2 */
    {193, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_TRUNCATE, sys_path, -1, 0, -1, 1, -1, -1, -1, 0}, /* truncate64 */
    {194, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_TRUNCATE, sys_fd, 0, -1, -1, 1, -1, -1, -1, 0}, /* ftruncate64 */
    {195, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* stat64 */
    {196, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* lstat64 */
    {198, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_path, -1, 0, -1, 1, 2, -1, -1, TRAIT_NOFOLLOW}, /* lchown32 */
    COUNTED(203 /* setreuid32 */), COUNTED(204 /* setregid32 */), COUNTED(206 /* setgroups32 */),
    {207, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_fd, 0, -1, -1, 1, 2, -1, -1, 0}, /* fchown32 */
    COUNTED(208 /* setresuid32 */), COUNTED(210 /* setresgid32 */),
    {212, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_path, -1, 0, -1, 1, 2, -1, -1, 0}, /* chown32 */
    COUNTED(213 /* setuid32 */), COUNTED(214 /* setgid32 */), COUNTED(215 /* setfsuid32 */), COUNTED(216 /*
    setfsgid32 */),
    {217, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_PIVOT_ROOT, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* pivot_root */
    {220, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_LIST, sys_fd, 0, -1, -1, -1, -1, -1, -1, 0}, /* getdents64 */
    {221, CALL_RECORDED, WHEN_FCNTL, EFFECT_NONE, BESIDE_BLIND, 0, sys_fcntl, 0, -1, -1, -1, -1, -1, -1, 0}, /* fcntl64 */
    {226, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* setxattr */
    {227, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* lsetxattr */
    {228, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_fd, 0, -1, -1, -1, -1, -1, 1, 0}, /* fsetxattr */
    {229, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* getxattr */
    {230, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* lgetxattr */
    {232, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* listxattr */
    {233, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* llistxattr */
    {235, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* removexattr */
    {236, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* lremovexattr */
    {237, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_fd, 0, -1, -1, -1, -1, -1, 1, 0}, /* fremovexattr */
    {238, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 1, 0, -1, -1, 0}, /* tkill */
    {239, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_transfer, 0, -1, -1, 3, -1, -1, -1, 0}, /* sendfile64 */
    {252, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_EXIT, sys_exit, -1, -1, -1, 0, -1, -1, -1, 0}, /* exit_group */
    COUNTED(253 /* lookup_dcookie */), COUNTED(264 /* clock_settime */),
    {268, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STATFS, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* statfs64 */
    {270, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 2, 0, -1, -1, 0}, /* tgkill */
    {271, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_UTIMES, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* utimes */
    COUNTED(277 /* mq_open */), COUNTED(278 /* mq_unlink */), COUNTED(283 /* kexec_load */),
    {284, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, 0, sys_wait, -1, -1, -1, -1, -1, -1, -1, 0}, /* waitid */
    COUNTED(286 /* add_key */), COUNTED(287 /* request_key */), COUNTED(288 /* keyctl */),
    {292, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_WATCH, sys_path, -1, 1, -1, -1, -1, -1, -1, 0}, /* inotify_add_watch */
    {295, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_IF_CHANGING, OP_OPEN, sys_open, 0, 1, 2, 2, 3, -1, -1, 0}, /* openat */
    {296, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_MKDIR, sys_path, 0, 1, -1, 2, -1, -1, -1, TRAIT_NOFOLLOW}, /* mkdirat */
    {297, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_MKNOD, sys_path, 0, 1, -1, 2, 3, -1, -1, TRAIT_NOFOLLOW}, /* mknodat */
    {298, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_path, 0, 1, 4, 2, 3, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* fchownat */
    {299, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_UTIMES, sys_path, 0, 1, -1, -1, -1, -1, -1, TRAIT_NULL}, /* futimesat */
    {300, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, 0, 1, 3, 3, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* fstatat64 */
    {301, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_UNLINK, sys_unlinkat, 0, 1, 2, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* unlinkat */
    {302, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_RENAME, sys_two_paths, 0, 1, -1, -1, -1, 2, 3, TRAIT_NOFOLLOW}, /* renameat */
    {303, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_LINK, sys_two_paths, 0, 1, 4, 4, -1, 2, 3, TRAIT_AT_FOLLOW | TRAIT_EMPTY}, /* linkat */
    {304, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_SYMLINK, sys_path, 1, 2, -1, -1, -1, -1, 0, TRAIT_NOFOLLOW}, /* symlinkat */
    {305, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_READLINK, sys_path, 0, 1, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW | TRAIT_EMPTY}, /* readlinkat */
    {306, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHMOD, sys_path, 0, 1, -1, 2, -1, -1, -1, 0}, /* fchmodat */
    {307, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_ACCESS, sys_path, 0, 1, -1, 2, -1, -1, -1, 0}, /* faccessat */
    {310, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_NAMESPACE, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* unshare */
    {313, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_transfer, 2, -1, -1, 4, -1, -1, -1, 0}, /* splice */
    {320, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_UTIMES, sys_path, 0, 1, 3, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY | TRAIT_NULL}, /* utimensat */
    {330, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_dup, 0, -1, 2, 1, -1, -1, -1, 0}, /* dup3 */
    {335, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 2, 0, -1, -1, 0}, /* rt_tgsigqueueinfo */
    COUNTED(336 /* perf_event_open */), COUNTED(338 /* fanotify_init */), COUNTED(339 /* fanotify_mark */),
    {340, CALL_RECORDED, WHEN_OTHERS_LIMIT, EFFECT_NONE, BESIDE_STOP, OP_REACH, sys_prlimit, -1, -1, -1, -1, 0, -1, -1, 0}, /* prlimit64 */
    {341, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_HANDLE, sys_path, 0, 1, 4, -1, -1, -1, -1, TRAIT_AT_FOLLOW | TRAIT_EMPTY}, /* name_to_handle_at */
    {342, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_STOP, OP_OPEN_HANDLE, sys_open_handle, 0, -1, 2, 2, -1, -1, -1, 0}, /* open_by_handle_at */
    COUNTED(343 /* clock_adjtime */),
    {345, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_SEND, sys_message, -1, 1, -1, 0, -1, -1, -1, TRAIT_MANY}, /* sendmmsg */
    {346, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_NAMESPACE, sys_scalar, -1, -1, -1, 1, -1, -1, -1, 0}, /* setns */
    COUNTED(347 /* process_vm_readv */),
    {348, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_REACH, sys_reach_process, -1, -1, -1, -1, 0, -1, -1, 0}, /* process_vm_writev */
    COUNTED(350 /* finit_module */),
    {353, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_RENAME, sys_two_paths, 0, 1, 4, 4, -1, 2, 3, TRAIT_NOFOLLOW}, /* renameat2 */
    {354, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_SECCOMP, sys_seccomp, -1, -1, -1, 0, 1, -1, -1, 0}, /* seccomp */
    COUNTED(356 /* memfd_create */), COUNTED(357 /* bpf */),
    {358, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_EXEC, sys_exec, 0, 1, 4, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* execveat */
    {359, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_SOCKET, sys_scalar, -1, -1, -1, 0, 1, -1, -1, 0}, /* socket */
    {361, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_BIND, sys_address, -1, 1, -1, 0, -1, -1, -1, 0}, /* bind */
    {362, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_CONNECT, sys_address, -1, 1, -1, 0, -1, -1, -1, 0}, /* connect */
    {363, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_LISTEN, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* listen */
    {364, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_ACCEPT, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* accept4 */
    {369, CALL_RECORDED, WHEN_ADDRESS, EFFECT_NONE, BESIDE_PASS, OP_SEND, sys_address, -1, 4, -1, 0, -1, -1, -1, 0}, /* sendto */
    {370, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_SEND, sys_message, -1, 1, -1, 0, -1, -1, -1, 0}, /* sendmsg */
    COUNTED(374 /* userfaultfd */),
    {379, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_write, 0, -1, 5, 3, -1, -1, -1, TRAIT_MANY}, /* pwritev2 */
    {383, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, 0, 1, 2, 2, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* statx */
    COUNTED(393 /* semget */), COUNTED(395 /* shmget */), COUNTED(397 /* shmat */), COUNTED(399 /* msgget
    */), COUNTED(404 /* clock_settime64 */), COUNTED(405 /* clock_adjtime64 */),
    {412, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_UTIMES, sys_path, 0, 1, 3, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY | TRAIT_NULL}, /* utimensat_time64 */
    {424, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, 0, -1, -1, 1, 0, -1, -1, 0}, /* pidfd_send_signal */
    {425, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_IO_URING, sys_io_uring, -1, -1, -1, 0, -1, -1, -1, 0}, /* io_uring_setup */
    {428, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, 0, sys_open_tree, 0, 1, 2, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* open_tree */
    {429, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_MOUNT, sys_path, 2, 3, -1, -1, -1, 0, 1, TRAIT_NOFOLLOW | TRAIT_EMPTY}, /* move_mount */
    COUNTED(430 /* fsopen */), COUNTED(431 /* fsconfig */), COUNTED(432 /* fsmount */), COUNTED(433 /*
    fspick */),
    {435, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_FORK, sys_clone3, -1, -1, -1, -1, -1, -1, -1, 0}, /* clone3 */
    {437, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_STOP, OP_OPEN, sys_openat2, 0, 1, -1, -1, -1, -1, -1, 0}, /* openat2 */
    {438, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_REACH, sys_reach_process, 0, -1, -1, -1, -1, -1, -1, 0}, /* pidfd_getfd */
    {439, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_ACCESS, sys_path, 0, 1, 3, 2, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* faccessat2 */
    COUNTED(440 /* process_madvise */), COUNTED(442 /* mount_setattr */), COUNTED(443 /* quotactl_fd */),
    COUNTED(444 /* landlock_create_ruleset */), COUNTED(445 /* landlock_add_rule */), COUNTED(446 /*
    landlock_restrict_self */), COUNTED(447 /* memfd_secret */), COUNTED(448 /* process_mrelease */),
    {452, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHMOD, sys_path, 0, 1, 3, 2, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* fchmodat2 */
    COUNTED(460 /* lsm_set_self_attr */),
    {463, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_path, 0, 1, 2, -1, -1, -1, 3, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* setxattrat */
    {464, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, 0, 1, 2, -1, -1, -1, 3, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* getxattrat */
    {465, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, 0, 1, 2, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* listxattrat */
    {466, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_path, 0, 1, 2, -1, -1, -1, 3, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* removexattrat */
    {467, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, 0, sys_open_tree, 0, 1, 2, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* open_tree_attr */
    {468, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, 0, 1, 4, 4, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* file_getattr */
    {469, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETATTR, sys_path, 0, 1, 4, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* file_setattr */
};

const struct call_table calls_i386 = {
    i386, sizeof i386 / sizeof *i386, CALLS_HIGHEST_I386
};
#endif

#if defined(__aarch64__)
static const struct call aarch64[] = {
    {5, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* setxattr */
    {6, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* lsetxattr */
    {7, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_fd, 0, -1, -1, -1, -1, -1, 1, 0}, /* fsetxattr */
    {8, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* getxattr */
    {9, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* lgetxattr */
    {11, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* listxattr */
    {12, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, -1, 0, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* llistxattr */
    {14, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* removexattr */
    {15, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_path, -1, 0, -1, -1, -1, -1, 1, TRAIT_NOFOLLOW}, /* lremovexattr */
    {16, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_fd, 0, -1, -1, -1, -1, -1, 1, 0}, /* fremovexattr */
    COUNTED(18 /* lookup_dcookie */),
    {23, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_dup, 0, -1, -1, -1, -1, -1, -1, 0}, /* dup */
    {24, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_dup, 0, -1, 2, 1, -1, -1, -1, 0}, /* dup3 */
    {25, CALL_RECORDED, WHEN_FCNTL, EFFECT_NONE, BESIDE_BLIND, 0, sys_fcntl, 0, -1, -1, -1, -1, -1, -1, 0}, /* fcntl */
    {27, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_WATCH, sys_path, -1, 1, -1, -1, -1, -1, -1, 0}, /* inotify_add_watch */
    {29, CALL_RECORDED, WHEN_IOCTL, EFFECT_NONE, BESIDE_BLIND, 0, sys_ioctl, -1, -1, -1, -1, -1, -1, -1, 0}, /* ioctl */
    {33, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_MKNOD, sys_path, 0, 1, -1, 2, 3, -1, -1, TRAIT_NOFOLLOW}, /* mknodat */
    {34, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_MKDIR, sys_path, 0, 1, -1, 2, -1, -1, -1, TRAIT_NOFOLLOW}, /* mkdirat */
    {35, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_UNLINK, sys_unlinkat, 0, 1, 2, -1, -1, -1, -1, TRAIT_NOFOLLOW}, /* unlinkat */
    {36, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_SYMLINK, sys_path, 1, 2, -1, -1, -1, -1, 0, TRAIT_NOFOLLOW}, /* symlinkat */
    {37, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_LINK, sys_two_paths, 0, 1, 4, 4, -1, 2, 3, TRAIT_AT_FOLLOW | TRAIT_EMPTY}, /* linkat */
    {38, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_RENAME, sys_two_paths, 0, 1, -1, -1, -1, 2, 3, TRAIT_NOFOLLOW}, /* renameat */
    {39, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_UMOUNT, sys_path, -1, 0, -1, 1, -1, -1, -1, 0}, /* umount2 */
    {40, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_MOUNT, sys_path, -1, 1, -1, 3, -1, -1, 0, 0}, /* mount */
    {41, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_PIVOT_ROOT, sys_path, -1, 0, -1, -1, -1, -1, 1, 0}, /* pivot_root */
    {43, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STATFS, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* statfs */
    {45, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_TRUNCATE, sys_path, -1, 0, -1, 1, -1, -1, -1, 0}, /* truncate */
    {46, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_TRUNCATE, sys_fd, 0, -1, -1, 1, -1, -1, -1, 0}, /* ftruncate */
    {48, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_ACCESS, sys_path, 0, 1, -1, 2, -1, -1, -1, 0}, /* faccessat */
    {49, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_CHDIR, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* chdir */
    {50, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_CHDIR, sys_fd, 0, -1, -1, -1, -1, -1, -1, 0}, /* fchdir */
    {51, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_CHROOT, sys_path, -1, 0, -1, -1, -1, -1, -1, 0}, /* chroot */
    {52, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHMOD, sys_fd, 0, -1, -1, 1, -1, -1, -1, 0}, /* fchmod */
    {53, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHMOD, sys_path, 0, 1, -1, 2, -1, -1, -1, 0}, /* fchmodat */
    {54, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_path, 0, 1, 4, 2, 3, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* fchownat */
    {55, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHOWN, sys_fd, 0, -1, -1, 1, 2, -1, -1, 0}, /* fchown */
    {56, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_IF_CHANGING, OP_OPEN, sys_open, 0, 1, 2, 2, 3, -1, -1, 0}, /* openat */
    COUNTED(58 /* vhangup */), COUNTED(60 /* quotactl */),
    {61, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_LIST, sys_fd, 0, -1, -1, -1, -1, -1, -1, 0}, /* getdents64 */
    {64, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_write, 0, -1, -1, -1, -1, -1, -1, 0}, /* write */
    {66, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_write, 0, -1, -1, -1, -1, -1, -1, TRAIT_MANY}, /* writev */
    {71, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_transfer, 0, -1, -1, 3, -1, -1, -1, 0}, /* sendfile */
    {76, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_transfer, 2, -1, -1, 4, -1, -1, -1, 0}, /* splice */
    {78, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_READLINK, sys_path, 0, 1, -1, -1, -1, -1, -1, TRAIT_NOFOLLOW | TRAIT_EMPTY}, /* readlinkat */
    {79, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, 0, 1, 3, 3, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* newfstatat */
    {88, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_UTIMES, sys_path, 0, 1, 3, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY | TRAIT_NULL}, /* utimensat */
    COUNTED(89 /* acct */), COUNTED(91 /* capset */),
    {92, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_PERSONALITY, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* personality */
    {93, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_EXIT, sys_exit, -1, -1, -1, 0, -1, -1, -1, 0}, /* exit */
    {94, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_EXIT, sys_exit, -1, -1, -1, 0, -1, -1, -1, 0}, /* exit_group */
    {95, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, 0, sys_wait, -1, -1, -1, -1, -1, -1, -1, 0}, /* waitid */
    {97, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_NAMESPACE, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* unshare */
    COUNTED(104 /* kexec_load */), COUNTED(105 /* init_module */), COUNTED(106 /* delete_module */),
    COUNTED(112 /* clock_settime */), COUNTED(116 /* syslog */),
    {117, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ATTACHING, OP_PTRACE, sys_ptrace, -1, -1, -1, 0, 1, -1, -1, 0}, /* ptrace */
    {129, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 1, 0, -1, -1, 0}, /* kill */
    {130, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 1, 0, -1, -1, 0}, /* tkill */
    {131, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 2, 0, -1, -1, 0}, /* tgkill */
    {138, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 1, 0, -1, -1, 0}, /* rt_sigqueueinfo */
    COUNTED(142 /* reboot */), COUNTED(143 /* setregid */), COUNTED(144 /* setgid */), COUNTED(145 /*
    setreuid */), COUNTED(146 /* setuid */), COUNTED(147 /* setresuid */), COUNTED(149 /* setresgid */),
    COUNTED(151 /* setfsuid */), COUNTED(152 /* setfsgid */), COUNTED(159 /* setgroups */), COUNTED(161 /*
    sethostname */), COUNTED(162 /* setdomainname */),
    {167, CALL_RECORDED, WHEN_SET_SECCOMP, EFFECT_NONE, BESIDE_STOP, OP_SECCOMP, sys_seccomp, -1, -1, -1, 1, -1, -1, -1, 0}, /* prctl */
    COUNTED(170 /* settimeofday */), COUNTED(171 /* adjtimex */), COUNTED(180 /* mq_open */), COUNTED(181 /*
    mq_unlink */), COUNTED(186 /* msgget */), COUNTED(190 /* semget */), COUNTED(194 /* shmget */),
    COUNTED(196 /* shmat */),
    {198, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_SOCKET, sys_scalar, -1, -1, -1, 0, 1, -1, -1, 0}, /* socket */
    {200, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_BIND, sys_address, -1, 1, -1, 0, -1, -1, -1, 0}, /* bind */
    {201, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_LISTEN, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* listen */
    {202, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_ACCEPT, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* accept */
    {203, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_CONNECT, sys_address, -1, 1, -1, 0, -1, -1, -1, 0}, /* connect */
    {206, CALL_RECORDED, WHEN_ADDRESS, EFFECT_NONE, BESIDE_PASS, OP_SEND, sys_address, -1, 4, -1, 0, -1, -1, -1, 0}, /* sendto */
    {211, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_SEND, sys_message, -1, 1, -1, 0, -1, -1, -1, 0}, /* sendmsg */
    COUNTED(217 /* add_key */), COUNTED(218 /* request_key */), COUNTED(219 /* keyctl */),
    {220, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_LEAVING, OP_FORK, sys_fork, -1, -1, -1, 0, -1, -1, -1, 0}, /* clone */
    {221, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_EXEC, sys_exec, -1, 0, -1, -1, -1, -1, -1, 0}, /* execve */
    {222, CALL_RECORDED, WHEN_SHARED_WRITE, EFFECT_CHANGE, BESIDE_STOP, OP_MAP, sys_fd, 4, -1, -1, 2, 3, -1, -1, 0}, /* mmap */
    COUNTED(224 /* swapon */), COUNTED(225 /* swapoff */),
    {240, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, -1, -1, -1, 2, 0, -1, -1, 0}, /* rt_tgsigqueueinfo */
    COUNTED(241 /* perf_event_open */),
    {242, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_ACCEPT, sys_scalar, -1, -1, -1, 0, -1, -1, -1, 0}, /* accept4 */
    {260, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, 0, sys_wait, -1, -1, -1, -1, -1, -1, -1, 0}, /* wait4 */
    {261, CALL_RECORDED, WHEN_OTHERS_LIMIT, EFFECT_NONE, BESIDE_STOP, OP_REACH, sys_prlimit, -1, -1, -1, -1, 0, -1, -1, 0}, /* prlimit64 */
    COUNTED(262 /* fanotify_init */), COUNTED(263 /* fanotify_mark */),
    {264, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_HANDLE, sys_path, 0, 1, 4, -1, -1, -1, -1, TRAIT_AT_FOLLOW | TRAIT_EMPTY}, /* name_to_handle_at */
    {265, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_STOP, OP_OPEN_HANDLE, sys_open_handle, 0, -1, 2, 2, -1, -1, -1, 0}, /* open_by_handle_at */
    COUNTED(266 /* clock_adjtime */),
    {268, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_NAMESPACE, sys_scalar, -1, -1, -1, 1, -1, -1, -1, 0}, /* setns */
    {269, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_PASS, OP_SEND, sys_message, -1, 1, -1, 0, -1, -1, -1, TRAIT_MANY}, /* sendmmsg */
    COUNTED(270 /* process_vm_readv */),
    {271, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_REACH, sys_reach_process, -1, -1, -1, -1, 0, -1, -1, 0}, /* process_vm_writev */
    COUNTED(273 /* finit_module */),
    {276, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_RENAME, sys_two_paths, 0, 1, 4, 4, -1, 2, 3, TRAIT_NOFOLLOW}, /* renameat2 */
    {277, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_SECCOMP, sys_seccomp, -1, -1, -1, 0, 1, -1, -1, 0}, /* seccomp */
    COUNTED(279 /* memfd_create */), COUNTED(280 /* bpf */),
    {281, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_EXEC, sys_exec, 0, 1, 4, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* execveat */
    COUNTED(282 /* userfaultfd */),
    {287, CALL_RECORDED, WHEN_SPLIT, EFFECT_NONE, BESIDE_BLIND, 0, sys_write, 0, -1, 5, 3, -1, -1, -1, TRAIT_MANY}, /* pwritev2 */
    {291, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, 0, 1, 2, 2, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* statx */
    COUNTED(294 /* kexec_file_load */),
    {424, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_IF_ENDING, OP_SIGNAL, sys_kill, 0, -1, -1, 1, 0, -1, -1, 0}, /* pidfd_send_signal */
    {425, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_IO_URING, sys_io_uring, -1, -1, -1, 0, -1, -1, -1, 0}, /* io_uring_setup */
    {428, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, 0, sys_open_tree, 0, 1, 2, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* open_tree */
    {429, CALL_RECORDED, WHEN_ALWAYS, EFFECT_MOVE, BESIDE_STOP, OP_MOUNT, sys_path, 2, 3, -1, -1, -1, 0, 1, TRAIT_NOFOLLOW | TRAIT_EMPTY}, /* move_mount */
    COUNTED(430 /* fsopen */), COUNTED(431 /* fsconfig */), COUNTED(432 /* fsmount */), COUNTED(433 /*
    fspick */),
    {435, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_FORK, sys_clone3, -1, -1, -1, -1, -1, -1, -1, 0}, /* clone3 */
    {437, CALL_RECORDED, WHEN_ALWAYS, EFFECT_OPEN, BESIDE_STOP, OP_OPEN, sys_openat2, 0, 1, -1, -1, -1, -1, -1, 0}, /* openat2 */
    {438, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, OP_REACH, sys_reach_process, 0, -1, -1, -1, -1, -1, -1, 0}, /* pidfd_getfd */
    {439, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_ACCESS, sys_path, 0, 1, 3, 2, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* faccessat2 */
    COUNTED(440 /* process_madvise */), COUNTED(442 /* mount_setattr */), COUNTED(443 /* quotactl_fd */),
    COUNTED(444 /* landlock_create_ruleset */), COUNTED(445 /* landlock_add_rule */), COUNTED(446 /*
    landlock_restrict_self */), COUNTED(447 /* memfd_secret */), COUNTED(448 /* process_mrelease */),
    {452, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_CHMOD, sys_path, 0, 1, 3, 2, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* fchmodat2 */
    COUNTED(460 /* lsm_set_self_attr */),
    {463, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETXATTR, sys_path, 0, 1, 2, -1, -1, -1, 3, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* setxattrat */
    {464, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, 0, 1, 2, -1, -1, -1, 3, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* getxattrat */
    {465, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_GETXATTR, sys_path, 0, 1, 2, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* listxattrat */
    {466, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_REMOVEXATTR, sys_path, 0, 1, 2, -1, -1, -1, 3, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* removexattrat */
    {467, CALL_RECORDED, WHEN_ALWAYS, EFFECT_NONE, BESIDE_STOP, 0, sys_open_tree, 0, 1, 2, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* open_tree_attr */
    {468, CALL_RECORDED, WHEN_ALWAYS, EFFECT_LOOK, BESIDE_PASS, OP_STAT, sys_path, 0, 1, 4, 4, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* file_getattr */
    {469, CALL_RECORDED, WHEN_ALWAYS, EFFECT_CHANGE, BESIDE_STOP, OP_SETATTR, sys_path, 0, 1, 4, -1, -1, -1, -1, TRAIT_AT_NOFOLLOW | TRAIT_EMPTY}, /* file_setattr */
};

const struct call_table calls_aarch64 = {
    aarch64, sizeof aarch64 / sizeof *aarch64, CALLS_HIGHEST_AARCH64
};
#endif
