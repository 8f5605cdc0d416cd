/* What /proc tells of a process. In: its number. Out: what text.c reads there. Keeps nothing. */
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace.h"

#define PROC_PAGE 3072 /* a read that gave less is the last one: no line of the files that we read is that long */

ssize_t read_small_file(const char *path, char *into, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t used = 0, got = 0;
    do { /* the kernel gives a page at a time */
        got = read(fd, into + used, size - 1 - (size_t)used);
        used += got > 0 ? got : 0;
    } while (got >= PROC_PAGE && (size_t)used < size - 1);
    close(fd);
    into[used] = 0;
    return got < 0 ? got : used;
}

bool read_birth(pid_t pid, struct birth *birth)
{
    char path[64], text[2048];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    return read_small_file(path, text, sizeof text) > 0 && read_birth_text(text, birth);
}

pid_t thread_group(pid_t tid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", tid);
    return read_small_file(path, text, sizeof text) > 0 ? read_thread_group_text(text) : 0;
}

/* `unknown`: what is said of one that is gone, or may not be looked at. */
static bool is_in_our(const char *namespace, pid_t tid, bool unknown)
{
    char path[64], own[64];
    struct stat theirs, ours;
    snprintf(path, sizeof path, "/proc/%d/ns/%s", tid, namespace);
    snprintf(own, sizeof own, "/proc/self/ns/%s", namespace);
    bool told = stat(path, &theirs) == 0 && stat(own, &ours) == 0;
    return told ? theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev : unknown;
}

bool sees_our_mounts(pid_t tid)
{
    return is_in_our("mnt", tid, false);
}

bool sees_our_numbers(pid_t tid)
{
    return is_in_our("pid", tid, true);
}

bool may_change_our_mounts(pid_t tid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", tid);
    bool told = read_small_file(path, text, sizeof text) > 0;
    return !told || (read_capabilities_text(text) & UINT64_C(1) << CAP_SYS_ADMIN && is_in_our("user", tid, false));
}

/* Without randomization a new program's stack may begin where the old one's did. */
bool stacks_are_random(pid_t pid)
{
    char path[64], text[32];
    snprintf(path, sizeof path, "/proc/%d/personality", pid);
    if (read_small_file(path, text, sizeof text) <= 0 || strtoul(text, NULL, 16) & ADDR_NO_RANDOMIZE)
        return false;
    return read_small_file("/proc/sys/kernel/randomize_va_space", text, sizeof text) > 0 && text[0] != '0';
}
