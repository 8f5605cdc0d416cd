/* Cases about processes: how they begin, what they become, how they end, what they do to each other. */
#define _GNU_SOURCE
#include "tell.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_inner(void)
{
    attempt(open(in("dir/inner"), O_RDONLY));
    say("open read @/dir/inner");
    return 4;
}

static pid_t forked(long child)
{
    if (must(child) == 0)
        _exit(open_inner());
    say_only("fork");
    return (pid_t)child;
}

CASE(fork_old, "fork exit_group wait4") { await(forked(syscall(SYS_fork))); }
CASE(clone_plain, "clone") { await(forked(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))); }

CASE(clone3_plain, "clone3")
{
    struct clone_args how = {.exit_signal = SIGCHLD};
    await(forked(syscall(SYS_clone3, &how, sizeof how)));
}

CASE(vfork_old, "vfork execve")
{
    char *words[] = {in("program"), NULL};
    pid_t child = vfork();
    if (child == 0) {
        execv(words[0], words);
        _exit(99);
    }
    say_only("fork");
    say_only("exec @/program");
    await(child);
}

CASE(exit_of_the_last_thread, "exit")
{
    pid_t child = (pid_t)must(fork());
    if (child == 0)
        syscall(SYS_exit, 7);
    say_only("fork");
    await(child);
}

/* Only signals to others are told; how this one ends the process is told by its end. */
CASE(end_by_a_signal, "fork tgkill")
{
    pid_t child = (pid_t)must(fork());
    if (child == 0)
        for (;;)
            syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGKILL);
    say_only("fork");
    await(child);
}

/* It makes no call that is stopped, and its end must be known nevertheless. */
CASE(end_by_a_fault, "fork waitid")
{
    pid_t child = (pid_t)must(fork());
    if (child == 0)
        *(volatile int *)8 = 1;
    say_only("fork");
    siginfo_t info;
    must(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
    await(child);
}

static char stack[1 << 16] __attribute__((aligned(16)));

static int open_and_say(void *unused)
{
    (void)unused;
    return open_inner();
}

static void shared_child(int flags)
{
    pid_t child = clone(open_and_say, stack + sizeof stack, flags | SIGCHLD, 0);
    must(child);
    say_only("fork");
    await(child);
}

CASE(clone_sharing_memory, "clone") { shared_child(CLONE_VM); }
CASE(clone_sharing_descriptors, "clone") { shared_child(CLONE_FILES); }
CASE(clone_untraced, "clone") { shared_child(CLONE_UNTRACED); }

static int move_away(void *unused)
{
    (void)unused;
    attempt(chdir(in("dir")));
    say("chdir @/dir");
    return 0;
}

CASE(clone_sharing_the_working_directory, "clone chdir")
{
    pid_t child = clone(move_away, stack + sizeof stack, CLONE_FS | SIGCHLD, 0);
    must(child);
    say_only("fork");
    await(child);
    attempt(open("inner", O_RDONLY));
    say("open read @/dir/inner");
}

static int descriptor_of_the_child = -1;

static int open_for_the_parent(void *unused)
{
    (void)unused;
    descriptor_of_the_child = open(in("dir"), O_RDONLY | O_DIRECTORY);
    say("open read @/dir");
    return 0;
}

CASE(open_relative_to_a_descriptor_of_another_process, "clone openat")
{
    pid_t child = clone(open_for_the_parent, stack + sizeof stack, CLONE_FILES | CLONE_VM | SIGCHLD, 0);
    must(child);
    say_only("fork");
    await(child);
    attempt(openat(descriptor_of_the_child, "inner", O_RDONLY));
    say("open read @/dir/inner");
}

static int with_a_sibling(void)
{
    pid_t sibling = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (sibling == 0) {
        open_inner();
        _exit(6);
    }
    say_only("fork");
    return 0;
}

CASE(clone_a_sibling, "clone")
{
    child_of(with_a_sibling);
    int status;
    while (wait(&status) > 0)
        dprintf(1, "unordered exit %d\n", WEXITSTATUS(status));
}

static int forks_again(void)
{
    if (must(fork()) == 0) {
        char word;
        must(read(3, &word, 1)); /* until the first child is gone */
        open_inner();
        must(write(6, "!", 1));
        _exit(8);
    }
    say_only("fork");
    return 0;
}

CASE(double_fork, "fork")
{
    int begin[2], end[2];
    must(pipe(begin));
    must(pipe(end));
    await(child_of(forks_again));
    must(close(end[1]));
    must(write(begin[1], "!", 1));
    while (must(read(end[0], scratch, 1))) /* until the second child is gone */
        continue;
    say_only("exit 8");
}

/* The child is often at its first call before the parent is back from its own. */
CASE(children_that_run_first, "fork")
{
    for (int round = 0; round < 50; round++) {
        pid_t child = (pid_t)must(fork());
        if (child == 0) {
            attempt(access(in("file"), R_OK));
            _exit(0);
        }
        await(child);
        say_only("fork");
        say_only("access @/file");
    }
}

/* Waits until the harness has seen the command end, then shows that its calls are still answered. */
static int outlives(void)
{
    setsid();
    close(0), close(1), close(2);
    int fd = open(in("fifo"), O_RDONLY);
    while (read(fd, scratch, 1) > 0)
        continue;
    return open(in("afterwards"), O_WRONLY | O_CREAT, 0600) < 0;
}

CASE(a_process_that_stays, "fork")
{
    child_of(outlives);
    say_only("maybe open read @/fifo");
    say_only("outlived");
}

/* --- becoming another program ----------------------------------------------------------------------------- */

static int become(void)
{
    char *words[] = {"called so", "an argument", "", NULL};
    attempt(syscall(SYS_execve, in("program"), words, environ));
    return 99;
}

CASE(execve_a_program, "execve")
{
    await(child_of(become));
    say_only("exec @/program");
}

static int become_script(void)
{
    char *words[] = {"script", "word", NULL};
    attempt(syscall(SYS_execve, in("script"), words, environ));
    return 99;
}

CASE(execve_a_script, "execve")
{
    await(child_of(become_script));
    say_only("exec @/script");
    say_only("open read @/script");
    say_only("interpreter");
}

CASE(execve_a_script_without_its_interpreter, "execve")
{
    int fd = (int)must(attempt(open(in("lonely"), O_WRONLY | O_CREAT, 0700)));
    say("open write @/lonely");
    must(write(fd, "#!/nonexistent\n", 15));
    close(fd);
    attempt(syscall(SYS_execve, in("lonely"), (char *[]){"lonely", NULL}, environ));
    say("exec @/lonely");
    say("interpreter /nonexistent");
}

ONE(execve_what_is_absent, "execve", "exec @/absent",
    syscall(SYS_execve, in("absent"), (char *[]){"absent", NULL}, environ))
ONE(execve_what_is_not_executable, "execve", "exec @/file",
    syscall(SYS_execve, in("file"), (char *[]){"file", NULL}, environ))

static int become_relative(void)
{
    int fd = (int)must(attempt(open(in("dir"), O_RDONLY)));
    say("open read @/dir");
    syscall(SYS_execveat, fd, "../program", (char *[]){"p", NULL}, environ, 0);
    return 99;
}

CASE(execveat_relative, "execveat")
{
    await(child_of(become_relative));
    say_only("exec @/program");
}

static int become_descriptor(void)
{
    int fd = (int)must(attempt(open(in("program"), O_RDONLY | O_CLOEXEC)));
    say("open read @/program");
    syscall(SYS_execveat, fd, "", (char *[]){"p", NULL}, environ, AT_EMPTY_PATH);
    return 99;
}

CASE(execveat_a_descriptor, "execveat")
{
    await(child_of(become_descriptor));
    say_only("exec @/program");
}

static int become_memory(void)
{
    int fd = (int)must(attempt(open(in("program"), O_RDONLY)));
    say("open read @/program");
    int memory = (int)must(syscall(SYS_memfd_create, "made", MFD_CLOEXEC));
    for (ssize_t got; (got = read(fd, scratch, sizeof scratch)) > 0;)
        must(write(memory, scratch, (size_t)got));
    fexecve(memory, (char *[]){"p", NULL}, environ);
    return 99;
}

CASE(execute_memory, "execveat memfd_create")
{
    await(child_of(become_memory));
    say_only("exec /memfd:made");
    say_only("counted memfd_create");
}

static void *become_in_a_thread(void *unused)
{
    (void)unused;
    syscall(SYS_execve, in("program"), (char *[]){"p", NULL}, environ);
    return NULL;
}

static int become_from_a_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, become_in_a_thread, NULL))
        return 99;
    for (;;)
        pause();
}

CASE(execve_from_a_thread, "execve clone3")
{
    await(child_of(become_from_a_thread));
    say_only("exec @/program");
}

/* --- signals and other hands on processes ----------------------------------------------------------------- */

CASE(signals_to_a_child, "kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal")
{
    pid_t child = (pid_t)must(fork());
    if (child == 0)
        for (;;)
            pause();
    say_only("fork");
    siginfo_t info = {.si_code = SI_QUEUE};
    int fd = (int)must(syscall(SYS_pidfd_open, child, 0));
    attempt(syscall(SYS_kill, child, 0));
    say("signal 0");
    attempt(syscall(SYS_tkill, child, SIGCHLD));
    say("signal 17");
    attempt(syscall(SYS_tgkill, child, child, SIGURG));
    say("signal 23");
    attempt(syscall(SYS_rt_sigqueueinfo, child, SIGWINCH, &info));
    say("signal 28");
    attempt(syscall(SYS_rt_tgsigqueueinfo, child, child, SIGCONT, &info));
    say("signal 18");
    attempt(syscall(SYS_pidfd_send_signal, fd, SIGTERM, 0, 0));
    say("signal 15");
    await(child);
}

CASE(stops_without_end, "kill")
{
    pid_t child = (pid_t)must(fork());
    if (child == 0)
        for (;;)
            attempt(access(in("absent"), F_OK));
    say_only("fork");
    for (int round = 0; round < 200; round++) {
        attempt(kill(child, SIGSTOP));
        say("signal 19");
        attempt(kill(child, SIGCONT));
        say("signal 18");
    }
    attempt(kill(child, SIGKILL));
    say("signal 9");
    await(child);
    say_only("any access @/absent");
}

CASE(trace_a_child, "ptrace")
{
    pid_t child = (pid_t)must(fork());
    if (child == 0) {
        attempt(syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0));
        say("ptrace 0");
        raise(SIGSTOP);
        _exit(open_inner());
    }
    int status;
    say_only("fork");
    must(waitpid(child, &status, 0));
    say("ptrace 7"); /* before it: the child goes on at once */
    attempt(ptrace(PTRACE_CONT, child, 0, 0));
    await(child);
}

CASE(reach_into_itself, "process_vm_writev pidfd_getfd")
{
    static char from[4] = "new", into[4];
    struct iovec here = {from, sizeof from}, there = {into, sizeof into};
    int self = (int)must(syscall(SYS_pidfd_open, getpid(), 0));
    attempt(process_vm_writev(getpid(), &here, 1, &there, 1, 0));
    say("reach 0");
    attempt(syscall(SYS_pidfd_getfd, self, 999, 0)); /* after one that succeeds, it may not be known whose it was */
    say("reach 0");
}

CASE(limit_a_process_of_the_run, "prlimit64")
{
    struct rlimit no_core = {0, 0};
    attempt(syscall(SYS_prlimit64, getpid(), RLIMIT_CORE, &no_core, 0)); /* nothing is told of it */
    open_inner();
}

/* Of whom the signals of a descriptor go to, only what would reach the observer is told. */
CASE(own_the_signals_of_a_descriptor, "fcntl ioctl")
{
    int ends[2], itself = getpid();
    struct f_owner_ex owner = {F_OWNER_PID, itself};
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    must(fcntl(ends[0], F_SETOWN, itself));
    must(fcntl(ends[0], F_SETOWN_EX, &owner));
    must(ioctl(ends[0], FIOSETOWN, &itself));
    must(ioctl(ends[0], SIOCSPGRP, &itself));
    attempt(fcntl(ends[0], F_SETOWN_EX, NULL));
    open_inner();
}

ONE(ask_for_the_personality, "personality", "personality 4294967295", syscall(SYS_personality, 0xffffffffu))
ONE(leave_nothing, "unshare", "namespace 0", syscall(SYS_unshare, 0))
ONE(enter_nothing, "setns", "namespace 131072", syscall(SYS_setns, -1, 0x20000))

static struct sock_filter refuse_mkdir[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mkdir, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 38),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};
static struct sock_fprog filter = {4, refuse_mkdir};

/* The caller's own filter answers first: what it refuses never happens, and is not seen. */
CASE(an_own_filter, "seccomp")
{
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    attempt(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
    say("seccomp 1");
    attempt(syscall(SYS_mkdir, in("made"), 0700));
    say_only("maybe mkdir @/made");
    open_inner();
}

CASE(an_own_filter_the_old_way, "prctl")
{
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    attempt(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
    say("seccomp 2");
    open_inner();
}
