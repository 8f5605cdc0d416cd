/* made by native/generate.py from native/wire.toml; change that and run it again */
#ifndef STENO_WIRE_H
#define STENO_WIRE_H
#include <stdint.h>

#define WIRE_VERSION 1
#define FILE_HEADER "header.bin"
#define FILE_EVENTS "events.bin"
#define FILE_STATES "states.bin"
#define FILE_STRINGS "strings.bin"
#define FILE_BLOB "blob-"
#define FILE_LINKED "linked-"
#define WIRE_MAGIC 0x314b4f4e45545300ull
#define WIRE_RESULT_UNKNOWN 32767
#define WIRE_RESULT_FAILED 32766
#define WIRE_STATE_NONE 0
#define WIRE_STATE_ABSENT 1
#define WIRE_STATE_FIRST 2

#define NOTE_PATH_UNREADABLE 1u
#define NOTE_PATH_CUT 2u
#define NOTE_COMPAT 4u
#define NOTE_NOT_RESOLVED 8u
#define NOTE_OTHER_ROOT 16u
#define NOTE_ARGV_CUT 32u
#define NOTE_PRIVILEGE_LOST 64u
#define NOTE_REFUSED 128u
#define NOTE_NO_ACCESS 256u
#define NOTE_EXCHANGE 512u
#define NOTE_DELETED 1024u
#define NOTE_EMPTIED 2048u
#define NOTE_BY_PROBE 4096u
#define NOTE_CONFIRMED 8192u
#define NOTE_LATE 16384u
#define NOTE_UNCONFIRMED 32768u

#define FEATURE_NO_NEW_PRIVS 1u
#define FEATURE_SYNC_WAKE_UP 2u
#define FEATURE_WAIT_KILLABLE 4u
#define FEATURE_EXIT_INFO 8u
#define FEATURE_SPLIT 16u
#define FEATURE_IO_URING_ALLOWED 32u
#define FEATURE_NOTIFY 64u
#define FEATURE_EBPF 128u
#define FEATURE_CGROUP 256u
#define FEATURE_AARCH64 512u

#define CONTENT_NOT_KEPT 0u
#define CONTENT_KEPT 1u
#define CONTENT_TOO_LARGE 2u
#define CONTENT_UNREADABLE 3u
#define CONTENT_CHANGING 4u
#define CONTENT_IGNORED 5u

enum op {
    OP_PROCESS = 1,
    OP_FORK = 2,
    OP_EXEC = 3,
    OP_INTERPRETER = 4,
    OP_EXIT = 5,
    OP_SIGNAL = 6,
    OP_PTRACE = 7,
    OP_SECCOMP = 8,
    OP_PERSONALITY = 9,
    OP_NAMESPACE = 10,
    OP_OUTLIVED = 11,
    OP_REACH = 12,
    OP_CHDIR = 20,
    OP_CHROOT = 21,
    OP_MOUNT = 22,
    OP_UMOUNT = 23,
    OP_PIVOT_ROOT = 24,
    OP_OPEN = 30,
    OP_FOLLOW = 31,
    OP_STAT = 32,
    OP_ACCESS = 33,
    OP_READLINK = 34,
    OP_LIST = 35,
    OP_MKDIR = 36,
    OP_MKNOD = 37,
    OP_RENAME = 38,
    OP_RENAME_TO = 39,
    OP_LINK = 40,
    OP_LINK_TO = 41,
    OP_SYMLINK = 42,
    OP_UNLINK = 43,
    OP_RMDIR = 44,
    OP_TRUNCATE = 45,
    OP_CHMOD = 46,
    OP_CHOWN = 47,
    OP_UTIMES = 48,
    OP_SETXATTR = 49,
    OP_REMOVEXATTR = 50,
    OP_GETXATTR = 51,
    OP_STATFS = 52,
    OP_WATCH = 53,
    OP_HANDLE = 54,
    OP_OPEN_HANDLE = 55,
    OP_MAP = 56,
    OP_SETATTR = 57,
    OP_MOVED = 58,
    OP_MOVED_TO = 59,
    OP_SOCKET = 70,
    OP_CONNECT = 71,
    OP_BIND = 72,
    OP_LISTEN = 73,
    OP_ACCEPT = 74,
    OP_SEND = 75,
    OP_ANSWER = 76,
    OP_IO_URING = 80,
    OP_LOST = 81,
};

/* Whether a call may change what it names. */
static inline int op_changes(enum op op)
{
    switch (op) {
    case OP_MOUNT:
    case OP_UMOUNT:
    case OP_PIVOT_ROOT:
    case OP_MKDIR:
    case OP_MKNOD:
    case OP_RENAME:
    case OP_RENAME_TO:
    case OP_LINK:
    case OP_LINK_TO:
    case OP_SYMLINK:
    case OP_UNLINK:
    case OP_RMDIR:
    case OP_TRUNCATE:
    case OP_CHMOD:
    case OP_CHOWN:
    case OP_UTIMES:
    case OP_SETXATTR:
    case OP_REMOVEXATTR:
    case OP_MAP:
    case OP_SETATTR:
    case OP_MOVED:
    case OP_MOVED_TO:
        return 1;
    default:
        return 0;
    }
}

struct wire_event {
    uint64_t mono_ns;
    uint32_t process;
    uint32_t tid;
    uint16_t op;
    uint16_t call;
    uint16_t notes;
    int16_t result;
    uint32_t path;
    uint32_t resolved;
    uint32_t extra;
    uint32_t state;
    uint64_t arg;
    uint64_t arg2;
};
_Static_assert(sizeof(struct wire_event) == 56, "no padding");

struct wire_state {
    uint64_t dev;
    uint64_t ino;
    uint64_t size;
    int64_t mtime_ns;
    int64_t ctime_ns;
    uint32_t mode;
    uint32_t uid;
    uint32_t gid;
    uint32_t nlink;
    uint32_t target;
    uint32_t blob;
    uint32_t content;
    uint32_t rdev;
};
_Static_assert(sizeof(struct wire_state) == 72, "no padding");

struct wire_header {
    uint64_t magic;
    uint32_t version;
    uint32_t threads;
    uint64_t events;
    uint64_t states;
    uint64_t strings;
    uint64_t blobs;
    uint64_t lost_events;
    uint64_t lost_blobs;
    uint64_t unreadable;
    uint64_t undecoded;
    uint64_t outlived;
    uint64_t unknown_parents;
    uint64_t unresolved;
    uint64_t elsewhere;
    uint64_t unlisted;
    uint64_t unmet_forks;
    uint64_t unseen_exits;
    uint64_t privilege_lost;
    uint64_t listeners_refused;
    uint64_t closed;
    uint64_t split_stdout;
    uint64_t split_stderr;
    uint64_t split_tty;
    uint64_t split_unattributed;
    uint64_t split_unwatched;
    uint64_t features;
    uint64_t ring_lost;
    uint64_t probe_unread;
    uint64_t probe_unplaced;
    uint64_t only_notify;
    uint64_t only_ebpf;
    uint64_t escaped;
    uint64_t untaken;
    uint64_t taken_over;
    uint64_t store_refused;
    uint64_t cgroup;
    uint8_t nonce[16];
    uint32_t counted[2048];
};
_Static_assert(sizeof(struct wire_header) == 8496, "no padding");

#endif
