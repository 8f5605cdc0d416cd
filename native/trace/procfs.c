/* Reading the memory of a stopped caller. Addresses and contents are hostile: every read is bounded, and a
 * page that is not there ends it. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "compare_names.h"
#include "log.h"
#include "procfs.h"
#include "text.h"

#define PAGE 4096u

ssize_t read_memory(pid_t tid, uint64_t address, void *into, size_t length)
{
    struct iovec here = {into, length};
    struct iovec there = {(void *)(uintptr_t)address, length};
    ssize_t got = process_vm_readv(tid, &here, 1, &there, 1, 0);
    return got < 0 ? -errno : got;
}

ssize_t read_string(pid_t tid, uint64_t address, char *into, size_t size)
{
    size_t used = 0;
    if (size == 0)
        return -ENAMETOOLONG;
    while (used < size) {
        /* Never across a page at once: what lies behind the end of the string may not be mapped. */
        size_t part = PAGE - (address + used) % PAGE;
        if (part > size - used)
            part = size - used;
        ssize_t got = read_memory(tid, address + used, into + used, part);
        if (got < 0)
            return got;
        if (got == 0)
            return -EFAULT;
        const char *end = memchr(into + used, 0, (size_t)got);
        if (end)
            return end - into;
        used += (size_t)got;
    }
    into[size - 1] = 0;
    return -ENAMETOOLONG;
}

int read_word(const struct stop *stop, uint64_t address, uint64_t *word)
{
    size_t size = stop->compat ? 4 : 8;
    *word = 0;
    ssize_t got = caller_memory(stop, address, word, size);
    return got == (ssize_t)size ? 0 : got < 0 ? (int)got : -EFAULT;
}

bool read_path(struct stop *stop, int argument, char path[PATH_MAX])
{
    path[0] = 0;
    ssize_t got = caller_string(stop, stop->args[argument], path, PATH_MAX);
    if (got >= 0) {
        note_words(stop, argument, path, (size_t)got);
        return true;
    }
    if (got == -ENAMETOOLONG) {
        stop->notes |= NOTE_PATH_CUT;
        return true;
    }
    path[0] = 0;
    stop->notes |= NOTE_PATH_UNREADABLE | (got == -EPERM ? NOTE_NO_ACCESS : 0);
    if (got == -EPERM)
        count(&stop->run->header->unreadable);
    return false;
}

bool still_waiting(const struct stop *stop)
{
    if (stop->only_looks || stop->probed)
        return true; /* the answer will tell */
    uint64_t id = stop->notif->id;
    return ioctl(stop->run->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

/* What /proc tells of a process. In: its number. Out: what text.c reads there. Keeps nothing. */
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
