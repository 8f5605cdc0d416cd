/* Telling stdout from stderr on a terminal: the calls, and whose descriptor is which. */
#ifndef STENO_TTY_H
#define STENO_TTY_H

#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "trace.h"

/* Holds the command's open files of the terminal; called before the command is made. */
int start_split(struct run *run);
bool begin_split(struct run *run);
/* A terminal that is opened is put on a watched descriptor; the stop is then answered. */
void split_on_open(struct stop *stop, const struct resolved_path *place, uint64_t flags);
/* Lets go of the terminal, unless a process of the run has it and it need not be at once. */
void end_split(struct run *run, bool at_once);
/* How long to wait until `end_split` is worth another try: nobody tells that a process closed the terminal. */
int split_timeout(const struct run *run);

enum stream { STREAM_NONE = 0, STREAM_STDOUT = 1, STREAM_STDERR = 2 };

#define MOST_HELD 256
#define CONTROLLING_TERMINAL makedev(5, 0)

/* An open file of the terminal. */
struct tty_file {
    int fd;                     /* ours */
    enum stream stream;         /* NONE: opened by name, or the command's stdin */
    bool by_name;
    uint64_t used;
};

/* A write that the kernel was left with, because it would stop the caller. The caller comes back with it. */
struct left_write {
    pid_t tid;
    uint64_t address, length;
};

struct split {
    struct terminal_writer *writer;
    pthread_mutex_t lock;
    struct tty_file held[MOST_HELD]; /* in the order of kcmp(2) */
    size_t count;
    uint16_t likely[SPLIT_FIRST + SPLIT_COUNT]; /* where the file of a descriptor was found last, from 1 */
    uint64_t clock;
    struct left_write left[16];
    uint64_t modes_read_ns;
    bool background_stops;      /* the terminal's TOSTOP */
    pid_t session;
    dev_t device;
    atomic_bool strangers;      /* the terminal may be open in files that we do not hold */
    atomic_bool over;
};

/* the open files of the terminal; the lock is held */

enum { SAME = 0, LESS = 1 };
/* kcmp(2): the order of two open files, or -errno. */
int compare_files(pid_t one, int fd, pid_t other, int other_fd);
/* Takes over `fd`; NULL when the same open file is held already. */
struct tty_file *hold_file(struct run *run, int fd, enum stream stream, bool by_name);
/* The terminal's file behind a descriptor of the caller's. NULL: it is another file, unless `error` is set. */
struct tty_file *find_tty_file(struct stop *stop, int fd, int *error);
/* The stream that a write on this descriptor belongs to; NONE when nothing but the rule tells. */
enum stream stream_of(struct stop *stop, struct tty_file *held, int fd);

#endif
