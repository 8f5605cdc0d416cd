/* Growing files. Space is taken from the disk before it is mapped, so that a full disk is an error and no
 * signal. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapped_file.h"

#define PAGE 65536u /* a multiple of every page size that there is */
#define FIRST_WINDOW (128u * 1024)
#define WINDOW (2u * 1024 * 1024)

int growing_open(struct growing *file, int folder, const char *name)
{
    *file = (struct growing){.fd = openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
    struct stat found;
    if (file->fd < 0 || fstat(file->fd, &found) != 0)
        return -errno;
    return S_ISREG(found.st_mode) && found.st_size == 0 ? 0 : -EEXIST; /* the recorder made it, and holds it */
}

static void unmap(struct growing *file)
{
    if (file->window)
        (void)munmap(file->window, file->window_size); /* cannot fail for what we mapped */
    file->window = NULL;
    file->window_size = 0;
}

static bool map_at_least(struct growing *file, size_t length)
{
    uint64_t start = file->used & ~(uint64_t)(PAGE - 1);
    size_t size = file->used ? WINDOW : FIRST_WINDOW;
    size_t needed = (size_t)(file->used - start) + length;
    if (size < needed)
        size = (needed + PAGE - 1) & ~(size_t)(PAGE - 1);
    if (posix_fallocate(file->fd, (off_t)start, (off_t)size) != 0)
        return false;
    unmap(file);
    void *window = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, (off_t)start);
    if (window == MAP_FAILED)
        return false;
    file->window = window;
    file->window_start = start;
    file->window_size = size;
    return true;
}

uint8_t *growing_reserve(struct growing *file, size_t length)
{
    if (file->used + length > file->window_start + file->window_size || !file->window) {
        if (!map_at_least(file, length))
            return NULL;
    }
    return file->window + (file->used - file->window_start);
}

void growing_commit(struct growing *file, size_t length)
{
    file->used += length;
}

/* Whether all of these bytes were written. */
static bool is_written(const struct growing *file, uint64_t at, size_t length)
{
    return length <= file->used && at <= file->used - length;
}

/* Where these written bytes are in memory, or NULL: they lie behind us. */
static uint8_t *in_window(const struct growing *file, uint64_t at, size_t length)
{
    bool inside = file->window && at >= file->window_start && at + length <= file->window_start + file->window_size;
    return inside ? file->window + (at - file->window_start) : NULL;
}

bool growing_look(const struct growing *file, uint64_t at, void *into, size_t length)
{
    if (!is_written(file, at, length))
        return false;
    const uint8_t *there = in_window(file, at, length);
    if (!there)
        return pread(file->fd, into, length, (off_t)at) == (ssize_t)length;
    memcpy(into, there, length);
    return true;
}

bool growing_amend(struct growing *file, uint64_t at, const void *bytes, size_t length)
{
    if (!is_written(file, at, length))
        return false;
    uint8_t *there = in_window(file, at, length);
    if (there) {
        memcpy(there, bytes, length);
        return true;
    }
    return pwrite(file->fd, bytes, length, (off_t)at) == (ssize_t)length;
}

void growing_close(struct growing *file)
{
    unmap(file);
    if (ftruncate(file->fd, (off_t)file->used) != 0) {
        /* The header tells how much is whole; the rest is zeros. */
    }
    close(file->fd);
    file->fd = -1;
}

static size_t page_size;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)context;
    void *empty = MAP_FAILED;
    int found_errno = errno;
    if (info->si_code == BUS_ADRERR) { /* else it was sent, and the address means nothing */
        uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)(page_size - 1);
        empty = mmap((void *)page, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    if (empty == MAP_FAILED) {
        signal(number, SIG_DFL);
        raise(number);
    }
    errno = found_errno;
}

int survive_truncation(void)
{
    page_size = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, NULL) == 0 ? 0 : -errno;
}
