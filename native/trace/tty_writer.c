/* Writes to the terminal in the caller's place, in the order in which the calls came.
 *
 * In: where the bytes lie in the caller's memory. Out: bytes on the terminal, what the recorder is told, and
 * the answer that the kernel would have given: the whole count, a partial one, EAGAIN. A caller that has to
 * wait (a slow reader, Control-S) waits in a queue that a thread of its own serves, so that nobody else waits
 * with it. What we cannot do exactly is left to the kernel, with nothing written by us.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "procfs.h"
#include "tty_told.h"
#include "tty_writer.h"

#define PIECE (16u << 10)
#define PARTS_AT_ONCE 64
/* The kernel takes a write to a terminal in chunks of this size; one that cannot be read whole is not
 * written. */
#define CHUNK 2048u
#define PATIENCE_MS 50
#define NOBODY (-1)

enum outcome { WHOLE, MORE, NO_ROOM, FAILED };

struct terminal_writer {
    struct run *run;
    int terminal;
    int poke;                   /* wakes the thread */
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;       /* of everything below, and of the order of writes while nobody waits */
    struct tty_told *telling;
    struct pending *first, **last;
    bool alarmed;               /* the thread knows that something is to be flushed */
    bool ending;
};

struct terminal_writer *start_terminal_writer(struct run *run, int terminal, int pipe)
{
    struct terminal_writer *writer = calloc(1, sizeof *writer);
    if (!writer || pthread_mutex_init(&writer->lock, NULL) != 0)
        return NULL;
    writer->run = run;
    writer->terminal = terminal;
    writer->last = &writer->first;
    writer->poke = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    writer->telling = start_tty_told(run, pipe);
    return writer->poke < 0 || !writer->telling ? NULL : writer;
}

int terminal_of(const struct terminal_writer *writer)
{
    return writer->terminal;
}

static void poke(struct terminal_writer *writer)
{
    uint64_t one = 1;
    if (write(writer->poke, &one, sizeof one) != sizeof one)
        return; /* it is full: the thread is awake */
}

/* --- one write ------------------------------------------------------------------------------------------- */

/* The next bytes of a write; fewer than 1 when the kernel would not write any of them. */
static ssize_t read_bytes(const struct pending *pending, void *into, size_t size)
{
    struct iovec there[PARTS_AT_ONCE];
    size_t skip = pending->done, wanted = 0, used = 0;
    for (size_t i = 0; i < pending->count && used < PARTS_AT_ONCE && wanted < size; i++) {
        struct iovec part = pending->parts[i];
        if (part.iov_len <= skip) {
            skip -= part.iov_len;
            continue;
        }
        part.iov_base = (char *)part.iov_base + skip;
        part.iov_len -= skip;
        skip = 0;
        if (part.iov_len > size - wanted)
            part.iov_len = size - wanted;
        wanted += part.iov_len;
        there[used++] = part;
    }
    if (wanted > pending->total - pending->done)
        wanted = pending->total - pending->done;
    struct iovec here = {into, wanted};
    ssize_t got = process_vm_readv(pending->tid, &here, 1, there, used, 0);
    if (got < 0 || (size_t)got == wanted)
        return got;
    size_t end = pending->done + (size_t)got;
    end -= end % CHUNK;
    return end > pending->done ? (ssize_t)(end - pending->done) : 0;
}

/* Writes what fits; the lock is held, or the caller is first in the queue. */
static enum outcome put(struct terminal_writer *writer, struct pending *pending, const void *bytes, size_t length)
{
    if (!can_tell(writer->telling, length))
        return NO_ROOM;
    ssize_t written = write(writer->terminal, bytes, length);
    if (written < 0)
        return errno == EAGAIN || errno == EINTR ? NO_ROOM : FAILED;
    tell_written(writer->telling, pending->stream, bytes, (size_t)written);
    __atomic_fetch_add(pending->counter, (uint64_t)written, __ATOMIC_RELAXED);
    pending->done += (size_t)written;
    if ((size_t)written < length)
        return NO_ROOM;
    return pending->done < pending->total ? MORE : WHOLE;
}

/* --- answers --------------------------------------------------------------------------------------------- */

static void answer(struct terminal_writer *writer, const struct pending *pending)
{
    struct seccomp_notif_resp response = {.id = pending->id, .val = (int64_t)pending->done};
    if (pending->done == 0 && pending->may_wait)
        response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else if (pending->done == 0)
        response.error = -EAGAIN;
    int sent;
    do
        sent = ioctl(writer->run->listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
    while (sent != 0 && errno == EINTR);
    if (sent != 0 && errno != ENOENT)
        abort(); /* ENOENT: the caller was killed. Anything else would leave it waiting for ever. */
}

static bool is_waiting(const struct terminal_writer *writer, const struct pending *pending)
{
    uint64_t id = pending->id;
    return ioctl(writer->run->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0 || errno != ENOENT;
}

static uint64_t hex_after(const char *text, const char *name)
{
    const char *line = strstr(text, name);
    return line ? strtoull(line + strlen(name), NULL, 16) : 0;
}

/* Whether a signal waits for the caller that would end its wait in the kernel. */
static bool has_signal(pid_t tid)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", tid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t got = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[got] = 0;
    uint64_t pending = hex_after(text, "\nSigPnd:");
    if (hex_after(text, "\nThreads:") == 1) /* else another thread may take it */
        pending |= hex_after(text, "\nShdPnd:");
    return pending & ~hex_after(text, "\nSigBlk:") & ~hex_after(text, "\nSigIgn:");
}

/* --- the queue ------------------------------------------------------------------------------------------- */

static bool enqueue(struct terminal_writer *writer, const struct pending *pending)
{
    size_t size = sizeof *pending + pending->count * sizeof pending->parts[0];
    struct pending *copy = malloc(size);
    if (!copy)
        return false;
    memcpy(copy, pending, size);
    copy->next = NULL;
    *writer->last = copy;
    writer->last = &copy->next;
    return true;
}

static void take_out(struct terminal_writer *writer, struct pending **link)
{
    struct pending *gone = *link;
    *link = gone->next;
    if (writer->last == &gone->next)
        writer->last = link;
    free(gone);
}

bool write_terminal(struct terminal_writer *writer, struct stop *stop, struct pending *pending)
{
    uint8_t bytes[PIECE];
    ssize_t got = read_bytes(pending, bytes, sizeof bytes);
    if (got <= 0 || !still_waiting(stop))
        return false;
    pthread_mutex_lock(&writer->lock);
    enum outcome outcome = NO_ROOM;
    if (writer->ending)
        outcome = FAILED;
    else if (!writer->first)
        outcome = put(writer, pending, bytes, (size_t)got);
    bool waits = outcome == MORE || (outcome == NO_ROOM && pending->may_wait);
    bool queued = waits && enqueue(writer, pending);
    bool flush_later = !writer->alarmed && telling_timeout(writer->telling) >= 0;
    writer->alarmed |= flush_later;
    if (queued || flush_later)
        poke(writer);
    if (outcome == FAILED && writer->ending)
        __atomic_fetch_add(&writer->run->header->split_unattributed, pending->total, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&writer->lock);
    if (queued)
        return true;
    stop->replaces = pending->done > 0;
    stop->value = (int64_t)pending->done;
    stop->error = pending->done == 0 && outcome == NO_ROOM && !pending->may_wait ? EAGAIN : 0;
    return false;
}

/* --- the thread ------------------------------------------------------------------------------------------ */

/* Goes on with the first of the queue. False: it has to wait. */
static bool advance(struct terminal_writer *writer, struct pending *pending)
{
    static uint8_t bytes[PIECE]; /* only the thread comes here */
    for (;;) {
        ssize_t got = read_bytes(pending, bytes, sizeof bytes);
        if (!is_waiting(writer, pending))
            return true;
        enum outcome outcome = FAILED;
        if (got > 0) {
            pthread_mutex_lock(&writer->lock);
            outcome = put(writer, pending, bytes, (size_t)got);
            pthread_mutex_unlock(&writer->lock);
        }
        if (outcome == NO_ROOM && pending->may_wait)
            return false;
        if (outcome != MORE) {
            answer(writer, pending);
            return true;
        }
    }
}

/* Serves the queue until somebody has to wait; true then. */
static bool serve_queue(struct terminal_writer *writer)
{
    for (;;) {
        pthread_mutex_lock(&writer->lock);
        struct pending *first = writer->ending ? NULL : writer->first;
        pthread_mutex_unlock(&writer->lock);
        if (!first)
            return false;
        if (!advance(writer, first))
            return true;
        pthread_mutex_lock(&writer->lock);
        take_out(writer, &writer->first);
        pthread_mutex_unlock(&writer->lock);
    }
}

/* A signal ends a wait, as it does in the kernel: with what was written, or with the call as if it had just
 * begun. */
static void end_waits(struct terminal_writer *writer, bool all)
{
    pthread_mutex_lock(&writer->lock);
    for (struct pending **link = &writer->first; *link;) {
        bool waits = is_waiting(writer, *link);
        if (waits && !all && !has_signal((*link)->tid)) {
            link = &(*link)->next;
            continue;
        }
        if (waits)
            answer(writer, *link);
        take_out(writer, link);
    }
    pthread_mutex_unlock(&writer->lock);
}

static void wait_for_room(struct terminal_writer *writer, bool blocked)
{
    pthread_mutex_lock(&writer->lock);
    int listener = telling_waits_for(writer->telling), timeout = telling_timeout(writer->telling);
    pthread_mutex_unlock(&writer->lock);
    if (blocked && (timeout < 0 || timeout > PATIENCE_MS))
        timeout = PATIENCE_MS;
    struct pollfd waits[] = {{writer->poke, POLLIN, 0},
                             {listener, POLLOUT, 0},
                             {blocked && listener < 0 ? writer->terminal : NOBODY, POLLOUT, 0}};
    int ready = poll(waits, 3, timeout);
    uint64_t pokes;
    if (waits[0].revents && read(writer->poke, &pokes, sizeof pokes) < 0)
        return; /* somebody read it: there is nobody else */
    pthread_mutex_lock(&writer->lock);
    if (waits[1].revents || (ready == 0 && listener < 0))
        flush_telling(writer->telling);
    writer->alarmed = telling_timeout(writer->telling) >= 0;
    pthread_mutex_unlock(&writer->lock);
    if (ready == 0 && blocked)
        end_waits(writer, false);
}

static void *serve_pending(void *context)
{
    struct terminal_writer *writer = context;
    for (;;) {
        bool blocked = serve_queue(writer);
        pthread_mutex_lock(&writer->lock);
        bool ending = writer->ending;
        pthread_mutex_unlock(&writer->lock);
        if (ending)
            break;
        wait_for_room(writer, blocked);
    }
    end_waits(writer, true);
    return NULL;
}

int run_terminal_writer(struct terminal_writer *writer)
{
    int error = pthread_create(&writer->thread, NULL, serve_pending, writer);
    writer->running = error == 0;
    return -error;
}

void end_terminal_writer(struct terminal_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    writer->ending = true;
    poke(writer);
    pthread_mutex_unlock(&writer->lock);
    if (writer->running)
        pthread_join(writer->thread, NULL);
    close(writer->terminal);
    end_tty_told(writer->telling);
}
