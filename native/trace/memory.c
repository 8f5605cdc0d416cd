/* Reading the memory of a stopped caller. Addresses and contents are hostile: every read is bounded, and a page
 * that is not there ends it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "trace.h"

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
    if (stop->only_looks || stop->seen)
        return true; /* the answer will tell */
    uint64_t id = stop->notif->id;
    return ioctl(stop->run->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}
