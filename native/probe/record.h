/* What the probe in the kernel sends, and what it is told to send: shared by probe.bpf.c and native/trace.
 *
 * A record is a header and parts, each padded to eight bytes. Parts hold what a call pointed to (memory, by its address in
 * the caller) and what the kernel knows of its descriptors. tests/kernel/test_probe_object.py holds the offsets that the
 * object was compiled with against these.
 */
#ifndef STENO_PROBE_RECORD_H
#define STENO_PROBE_RECORD_H

#ifdef __bpf__
typedef unsigned char uint8_t;
typedef signed char int8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int int32_t;
typedef long long int64_t;
#else
#include <stdint.h>
#endif

enum probe_kind { PROBE_CALL = 1, PROBE_FORK, PROBE_EXEC, PROBE_EXIT, PROBE_ENDPOINT, PROBE_MOVE };

enum probe_flag {
    PROBE_COMPAT = 1,   /* a 32-bit call */
    PROBE_UNREAD = 2,   /* memory that the call pointed to could not be read */
    PROBE_CUT = 4,      /* a part was longer than there is room */
    PROBE_NO_BEGIN = 8, /* only the end of the call was seen: a filter of the program's own answered it */
    PROBE_OUTSIDE = 16, /* born outside the run's cgroup */
};

struct probe_record {
    uint32_t size; /* with all parts */
    uint16_t kind;
    uint16_t flags;
    uint32_t cpu;
    uint32_t call;
    uint64_t sequence; /* of this processor, from 1; a missing number is a record that found no room; 0: it has none */
    uint64_t begin_ns; /* CLOCK_MONOTONIC; 0: not seen */
    uint64_t end_ns;
    uint32_t pid, tid;
    uint64_t start_ns; /* when the process began, CLOCK_BOOTTIME */
    int64_t result;    /* of a call; of an end the wait status; of a fork the new thread */
    uint64_t args[6];  /* of an exec: [3] how many arguments; of a fork: [0] new process, [1] its start; of an endpoint: [0] family, [1] port, [2] is it a send */
};

enum probe_part_kind {
    PART_MEMORY = 1,  /* address: where it lay */
    PART_BASE,        /* address: descriptor or AT_FDCWD; the name of that directory */
    PART_FILE,        /* address: descriptor; struct probe_file, then its name */
    PART_PROGRAM,     /* struct probe_file and name of what is run, at last */
    PART_ARGUMENTS,   /* each ended by NUL */
    PART_ANSWER,      /* a message from port 53 */
};

enum {
    NAME_DELETED = 1,
    NAME_CUT = 2,
    NAME_DETACHED = 4,
    NAME_UNREAD = 8,
    STATE_FOREIGN = 16,
    NAME_ELSEWHERE = 64, /* the mount that it begins at is not of the caller's namespace, or in none */
    NAME_IN_BASE = 32, /* it lies in the directory that the path starts from, whose name is not sent */
};

struct probe_part {
    uint16_t kind;
    uint16_t flags;
    uint32_t length; /* of the bytes that follow */
    uint64_t address;
};

struct probe_file {
    uint64_t dev, ino, size;
    int64_t mtime_ns, ctime_ns;
    uint32_t mode, uid, gid, nlink, rdev;
    uint32_t created; /* by the call that opened it */
};

/* What to send of a call, by number: i386 calls from SHAPES_COMPAT. All zero: nothing. */
enum shape_wish {
    SHAPE_SEEN = 1,
    SHAPE_PATH = 2,       /* a string at `path`, from `dir` */
    SHAPE_PATH2 = 4,      /* another at `path2` */
    SHAPE_BASE2 = 8,      /* which starts from `dir2` */
    SHAPE_FILE = 16,      /* the file of the descriptor `dir` */
    SHAPE_RESULT = 32,    /* the file of the descriptor that it returned */
    SHAPE_STRUCT = 64,    /* `size` bytes at `extra` */
    SHAPE_ADDRESS = 128,  /* a socket address at `path`, its length in the next argument */
    SHAPE_MESSAGE = 256,  /* a message at `path` */
    SHAPE_MANY = 512,     /* an array of messages */
    SHAPE_WORDS = 1024,   /* i386: six arguments at `extra` */
    SHAPE_IF_ADDRESS = 2048,
    SHAPE_IF_SHARED = 4096,
    SHAPE_IF_SECCOMP = 8192,
    SHAPE_NOT_FSTAT = 16384, /* nothing of an empty path with AT_EMPTY_PATH */
    SHAPE_ANSWER = 32768,    /* bytes that came from port 53, and nothing else */
    SHAPE_CWD = 65536,       /* the working directory after it */
    SHAPE_BEGIN = 131072,    /* when it began: it may wait, or a filter may refuse it */
};

struct probe_shape {
    uint32_t wish;
    uint16_t size;
    int8_t dir, path, dir2, path2, flags, extra;
    /* Where the call writes its answer, which may be over its own path: an argument, or -1; how much is `fills` bytes or, where
     * that is 0, in the next argument. */
    int8_t answer;
    uint8_t unused;
    uint16_t fills;
};

#define SHAPES_COMPAT 512u
#define SHAPES (2 * SHAPES_COMPAT)

struct probe_shapes {
    struct probe_shape of[SHAPES];
    uint32_t filters; /* that every process of the run has; whoever has more has one of its own */
    uint32_t unused;
};

/* Set before the probe is loaded. */
struct probe_constants {
    uint64_t wake_bytes; /* the reader is woken when so much waits for it, and looks by itself now and then */
    uint64_t scope;      /* id of the run's cgroup */
};

enum probe_count { COUNT_SENT, COUNT_UNNUMBERED_LOST, COUNT_UNREAD, COUNT_UNPLACED, COUNTS };

#define PROBE_PATH_MAX 4096u
#define PROBE_ARGUMENTS_MAX 32768u
#define PROBE_ANSWER_MAX 1024u

#endif
