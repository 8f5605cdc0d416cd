/* Telling stdout from stderr on a terminal: what the parts know of each other.
 *
 * split.c serves the calls; split_held.c knows whose descriptor is which; split_write.c writes to the terminal in the
 * caller's place; split_tell.c tells the recorder what was written.
 */
#ifndef STENO_SPLIT_H
#define STENO_SPLIT_H

#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "trace.h"

enum stream { STREAM_NONE = 0, STREAM_STDOUT = 1, STREAM_STDERR = 2 };

#define MOST_HELD 256
#define CONTROLLING_TERMINAL makedev(5, 0)

/* An open file of the terminal. */
struct held {
    int fd;                     /* ours */
    enum stream stream;         /* NONE: opened by name, or the command's stdin */
    bool by_name;
    uint64_t used;
};

/* A write that the kernel was left with, because it would stop the caller. The caller comes back with it. */
struct left {
    pid_t tid;
    uint64_t address, length;
};

struct split {
    struct terminal_writer *writer;
    pthread_mutex_t lock;
    struct held held[MOST_HELD]; /* in the order of kcmp(2) */
    size_t count;
    uint16_t likely[SPLIT_FIRST + SPLIT_COUNT]; /* where the file of a descriptor was found last, from 1 */
    uint64_t clock;
    struct left left[16];
    uint64_t modes_read_ns;
    bool background_stops;      /* the terminal's TOSTOP */
    pid_t session;
    dev_t device;
    atomic_bool strangers;      /* the terminal may be open in files that we do not hold */
    atomic_bool over;
};

/* --- split_held.c: the open files of the terminal; the lock is held ---------------------------------------- */

enum { SAME = 0, LESS = 1 };
/* kcmp(2): the order of two open files, or -errno. */
int compare_files(pid_t one, int fd, pid_t other, int other_fd);
/* Takes over `fd`; NULL when the same open file is held already. */
struct held *hold_file(struct run *run, int fd, enum stream stream, bool by_name);
/* The terminal's file behind a descriptor of the caller's. NULL: it is another file, unless `error` is set. */
struct held *find_held(struct stop *stop, int fd, int *error);
/* The stream that a write on this descriptor belongs to; NONE when nothing but the rule tells. */
enum stream stream_of(struct stop *stop, struct held *held, int fd);

/* --- split_tell.c: a buffer in front of a pipe that is never waited for ---------------------------------- */

struct telling;
struct telling *start_telling(struct run *run, int pipe);
/* Whether a piece of this length fits; asked before it is written to the terminal. */
bool can_tell(struct telling *telling, size_t length);
void tell_written(struct telling *telling, enum stream stream, const void *bytes, size_t length);
/* Writes what the pipe takes now. */
void flush_telling(struct telling *telling);
/* Milliseconds until what is kept should be flushed; -1: nothing is kept. */
int telling_timeout(const struct telling *telling);
/* The pipe, when it must take something before more can be told; else -1. */
int telling_waits_for(const struct telling *telling);
/* Waits until everything is told or nobody listens, and closes the pipe. */
void end_telling(struct telling *telling);

/* --- split_write.c: writes to the terminal, in the order in which they came ------------------------------- */

#define MOST_PARTS 1024

/* A write that a caller waits for. */
struct pending {
    struct pending *next;
    uint64_t id;
    pid_t tid;
    enum stream stream;
    uint64_t *counter;          /* of the header */
    bool may_wait;              /* O_NONBLOCK is not set */
    size_t total, done;
    size_t count;
    struct iovec parts[];       /* in the caller's memory */
};

struct terminal_writer;
/* Takes over both descriptors; `terminal` must never wait. */
struct terminal_writer *start_terminal_writer(struct run *run, int terminal, int pipe);
/* Starts its thread; called when no fork is to come. */
int run_terminal_writer(struct terminal_writer *writer);
/* Writes, or puts a copy in the queue. True: the stop is or will be answered; false: `stop` tells how to answer. */
bool write_terminal(struct terminal_writer *writer, struct stop *stop, struct pending *pending);
/* Answers everybody who waits, tells the rest and closes the terminal. */
void end_terminal_writer(struct terminal_writer *writer);
int terminal_of(const struct terminal_writer *writer);

#endif
