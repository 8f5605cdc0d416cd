/* steno-trace: what its parts know of each other.
 *
 * Data flows: notification -> stop (notify.c) -> handler (sys_*.c: read memory, resolve, look) -> event
 * (log.c). A stop is one system call of one thread that waits for our answer. Everything read from the caller
 * is hostile.
 */
#ifndef STENO_TRACE_H
#define STENO_TRACE_H

#include <limits.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "../generated/calls.h"
#include "../generated/wire.h"
#include "options.h"

#define MAX_THREADS 8
#define MAX_EVENTS 12
#define MAX_ARGV_BYTES (256 * 1024)
#define INTERPRETER_LINE 256
/* Where terminals that the command opens are put, so that writes on them are seen. */
#define SPLIT_FIRST 960u
#define SPLIT_COUNT 64u
/* Where writes are seen as well: the first ten, and the number on which bash keeps its terminal. */
#define LOW_WATCHED 10u
#define ALONE_WATCHED 255u

struct run;
struct log;
struct store;
struct probed_call;
struct stop;
struct resolved_path;
struct birth;

/* --- the whole run --- */

struct run {
    struct options options;
    struct wire_header *header;
    struct log *log;
    struct processes *processes;
    struct backups *backups;
    struct store *store;                    /* NULL: it is not closed to the run */
    struct split *split;                    /* NULL: the terminal is not split */
    struct ring *ring;                      /* NULL: there is no probe */
    struct correlation *correlation;        /* NULL: there is one witness */
    int listener;
    pid_t own_pid;
    ino_t pipes[3];                         /* through which the recorder and we talk; 0: there is none */
    pid_t recorder;                         /* who started us, as long as it lives */
    bool no_new_privs;
    int64_t clock_ahead_ns;                 /* of the kernel's own: CLOCK_MONOTONIC as we see it */
    int64_t boot_clock_ahead_ns;            /* the same of CLOCK_BOOTTIME */
    atomic_bool looks_are_late;             /* a change was let through while the probe's ring was not read to its end */
    atomic_bool mounts_detached;            /* a mount may be in no directory: what /proc calls its files means others to us */
    atomic_bool roots_differ;               /* any process may see another root than we do */
    atomic_bool roots_shared;               /* by two processes: if one changes it, the other does */
    atomic_uint_fast64_t age;               /* begins anew whenever the run may move names about */
    atomic_bool released;                   /* the recording is over: answer, and write nothing */
};

/* --- one stop --- */

/* What it named, to be compared with what the probe saw. */
struct named {
    uint64_t words[2];                      /* fingerprints of the strings read from the caller; 0: none was */
    uint64_t addresses[2];                  /* where they lay */
    uint64_t resolved;                      /* fingerprint of the name of the file; 0: it is not to be compared */
    uint64_t dev, ino;                      /* 0: nothing was there */
    bool is_device;
    bool is_script;                         /* the file is the interpreter that runs it */
};

struct stop {
    struct run *run;
    const struct seccomp_notif *notif;      /* NULL: it is over, and `seen` is what the probe tells of it */
    const struct probed_call *probed;
    const struct call *call;
    uint32_t number;
    uint64_t args[6];
    pid_t tid;
    pid_t pid;                              /* thread group */
    uint32_t process;                       /* its number */
    uint16_t notes;
    bool compat;
    bool single_threaded;                   /* a process of one thread that shares its working directory with nobody */
    bool other_root;                        /* it may see another root or other mounts than we do */
    struct path_cache *cache;               /* of the thread that serves it */
    bool answered;                          /* the handler answered itself */
    bool expected;                          /* the probe is to tell of it as well */
    bool only_looks;                        /* changes nothing: the answer will tell whether the caller was there */
    int error;                              /* refuse with this errno; 0: let it through */
    bool replaces;                          /* answer `value` in the kernel's place */
    int64_t value;
    uint64_t event_offsets[MAX_EVENTS];     /* where its events lie */
    size_t event_count;
    uint64_t last_event_ns;                 /* the time of the last one */
    struct named named;
};

#endif
