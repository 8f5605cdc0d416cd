/* Tells the recorder which stream the bytes of the terminal belong to.
 *
 * In: pieces in the order in which they were written. Out: records {u64 mono_ns, u8 stream, u32 length} and
 * the bytes, on a pipe. Neighbours of one stream become one record while they wait, so that a flood of short
 * lines costs the recorder little. Nothing here waits for the recorder, except the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "tty_told.h"

#define ROOM (1u << 20)
#define ENOUGH (48u << 10)
#define PIPE_ROOM (1 << 20)
#define ONE_MOMENT_NS 2000000u
#define LONGEST_RECORD (60u << 10)

struct __attribute__((packed)) told_record {
    uint64_t mono_ns;
    uint8_t stream;
    uint32_t length;
};

struct tty_told {
    struct run *run;
    int pipe;                   /* -1: nobody listens */
    size_t used;
    size_t last;                /* where the last record begins; `used`: it may not grow */
    uint64_t flushed_ns;
    bool full;                  /* the pipe took less than we had */
    uint8_t bytes[ROOM];
};

struct tty_told *start_tty_told(struct run *run, int pipe)
{
    struct tty_told *telling = calloc(1, sizeof *telling);
    if (!telling || fcntl(pipe, F_SETFL, O_NONBLOCK) != 0) {
        free(telling);
        return NULL;
    }
    (void)fcntl(pipe, F_SETPIPE_SZ, PIPE_ROOM); /* a smaller one works, too */
    telling->run = run;
    telling->pipe = pipe;
    return telling;
}

bool can_tell(struct tty_told *telling, size_t length)
{
    if (telling->used + sizeof(struct told_record) + length > ROOM)
        flush_telling(telling);
    return telling->used + sizeof(struct told_record) + length <= ROOM;
}

static void add_record(struct tty_told *telling, enum stream stream, const void *bytes, size_t length, uint64_t now)
{
    struct told_record record = {now, (uint8_t)stream, (uint32_t)length};
    if (telling->last < telling->used) {
        struct told_record last;
        memcpy(&last, telling->bytes + telling->last, sizeof last);
        if (last.stream == stream && last.length + length <= LONGEST_RECORD) {
            last.length += (uint32_t)length;
            memcpy(telling->bytes + telling->last, &last, sizeof last);
            memcpy(telling->bytes + telling->used, bytes, length);
            telling->used += length;
            return;
        }
    }
    telling->last = telling->used;
    memcpy(telling->bytes + telling->used, &record, sizeof record);
    memcpy(telling->bytes + telling->used + sizeof record, bytes, length);
    telling->used += sizeof record + length;
}

void tell_written(struct tty_told *telling, enum stream stream, const void *bytes, size_t length)
{
    uint64_t now = now_ns(telling->run);
    if (telling->pipe < 0)
        return;
    add_record(telling, stream, bytes, length, now);
    if (telling->used >= ENOUGH || now - telling->flushed_ns >= ONE_MOMENT_NS)
        flush_telling(telling);
}

static void nobody_listens(struct tty_told *telling)
{
    close(telling->pipe);
    telling->pipe = -1;
    telling->used = telling->last = 0;
}

void flush_telling(struct tty_told *telling)
{
    telling->full = false;
    if (telling->pipe < 0 || telling->used == 0)
        return;
    telling->flushed_ns = now_ns(telling->run);
    ssize_t sent = write(telling->pipe, telling->bytes, telling->used);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        nobody_listens(telling);
        return;
    }
    size_t taken = sent < 0 ? 0 : (size_t)sent;
    memmove(telling->bytes, telling->bytes + taken, telling->used - taken);
    telling->used -= taken;
    telling->last = telling->used; /* what is left may begin in the middle of a record */
    telling->full = telling->used > 0;
}

int telling_timeout(const struct tty_told *telling)
{
    return telling->used == 0 || telling->full ? -1 : (int)(ONE_MOMENT_NS / 1000000);
}

int telling_waits_for(const struct tty_told *telling)
{
    return telling->full ? telling->pipe : -1;
}

void end_tty_told(struct tty_told *telling)
{
    while (telling->pipe >= 0 && telling->used > 0) {
        flush_telling(telling);
        struct pollfd room = {telling->pipe, POLLOUT, 0};
        if (telling->full)
            poll(&room, 1, -1);
    }
    if (telling->pipe >= 0)
        close(telling->pipe);
    telling->pipe = -1;
}
