/* Writes to the terminal in the caller's place, in the order in which they came. */
#ifndef STENO_TTY_WRITER_H
#define STENO_TTY_WRITER_H

#include "tty.h"

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
/* Writes, or puts a copy in the queue. True: the stop is or will be answered; false: `stop` tells how to
 * answer. */
bool write_terminal(struct terminal_writer *writer, struct stop *stop, struct pending *pending);
/* Answers everybody who waits, tells the rest and closes the terminal. */
void end_terminal_writer(struct terminal_writer *writer);
int terminal_of(const struct terminal_writer *writer);

#endif
