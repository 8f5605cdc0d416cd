/* made by native/generate.py from native/syscalls.toml; change that and run it again */
#ifndef STENO_CALLS_H
#define STENO_CALLS_H
#include <stddef.h>
#include <stdint.h>

struct stop;
typedef void handler(struct stop *stop);
handler on_path;
handler on_unlinkat;
handler on_mount;
handler on_open_tree;
handler on_open;
handler on_openat2;
handler on_open_handle;
handler on_fd;
handler on_two;
handler on_symlink;
handler on_exec;
handler on_fork;
handler on_clone3;
handler on_process_exit;
handler on_wait;
handler on_signal;
handler on_ptrace;
handler on_reach;
handler on_limit;
handler on_number;
handler on_seccomp;
handler on_address;
handler on_message;
handler on_socketcall;
handler on_map;
handler on_map_old;
handler on_io_uring;
handler on_write;
handler on_transfer;
handler on_dup;
handler on_fcntl;
handler on_ioctl;
/* One of each, for tests that serve nobody. */
#define HANDLERS(EACH) \
    EACH(on_path) \
    EACH(on_unlinkat) \
    EACH(on_mount) \
    EACH(on_open_tree) \
    EACH(on_open) \
    EACH(on_openat2) \
    EACH(on_open_handle) \
    EACH(on_fd) \
    EACH(on_two) \
    EACH(on_symlink) \
    EACH(on_exec) \
    EACH(on_fork) \
    EACH(on_clone3) \
    EACH(on_process_exit) \
    EACH(on_wait) \
    EACH(on_signal) \
    EACH(on_ptrace) \
    EACH(on_reach) \
    EACH(on_limit) \
    EACH(on_number) \
    EACH(on_seccomp) \
    EACH(on_address) \
    EACH(on_message) \
    EACH(on_socketcall) \
    EACH(on_map) \
    EACH(on_map_old) \
    EACH(on_io_uring) \
    EACH(on_write) \
    EACH(on_transfer) \
    EACH(on_dup) \
    EACH(on_fcntl) \
    EACH(on_ioctl)

enum call_class { CALL_RECORDED = 1, CALL_COUNTED = 2 };

/* When the filter stops a call. */
enum call_when {
    WHEN_ALWAYS = 0,
    WHEN_ADDRESS = 1,
    WHEN_SHARED_WRITE = 2,
    WHEN_SET_SECCOMP = 3,
    WHEN_OTHERS_LIMIT = 4,
    WHEN_SPLIT = 5,
    WHEN_FCNTL = 6,
    WHEN_IOCTL = 7,
};

/* What a call may do to what it names, and what the probe does about it. */
enum call_effect {
    EFFECT_NONE = 0,
    EFFECT_LOOK = 1,
    EFFECT_OPEN = 2,
    EFFECT_CHANGE = 3,
    EFFECT_MOVE = 4,
};
enum call_beside_probe {
    BESIDE_STOP = 0,
    BESIDE_PASS = 1,
    BESIDE_BLIND = 2,
    BESIDE_IF_CHANGING = 3,
    BESIDE_IF_LEAVING = 4,
    BESIDE_IF_ATTACHING = 5,
    BESIDE_IF_ENDING = 6,
    BESIDE_IF_BINDING = 7,
};

/* How the path is meant; native/syscalls.toml tells. */
enum call_trait {
    TRAIT_NOFOLLOW = 1,
    TRAIT_AT_NOFOLLOW = 2,
    TRAIT_AT_FOLLOW = 4,
    TRAIT_EMPTY = 8,
    TRAIT_NULL = 16,
    TRAIT_MANY = 32,
};

/* Positions of arguments, or -1. */
struct call {
    uint16_t number;
    uint8_t class;
    uint8_t when;
    uint8_t effect;
    uint8_t beside;
    uint16_t op; /* 0: the handler decides */
    handler *serve; /* NULL for a counted call */
    int8_t dir, path, flags, arg, arg2, dir2, path2;
    uint8_t traits;
};

/* The calls that are stopped, by number. A number above the highest is unknown: counted. */
struct call_table {
    const struct call *calls;
    size_t count;
    uint32_t highest;
};

#define CALLS_HIGHEST_X86_64 469u
#define CALLS_HIGHEST_I386 469u
#define CALLS_HIGHEST_AARCH64 469u

#if defined(__x86_64__)
extern const struct call_table calls_x86_64;
extern const struct call_table calls_i386;
#endif

#if defined(__aarch64__)
extern const struct call_table calls_aarch64;
#endif

#endif
