/* made by native/generate.py from native/syscalls.toml; change that and run it again */
#ifndef STENO_CALLS_H
#define STENO_CALLS_H
#include <stddef.h>
#include <stdint.h>

struct stop;
typedef void handler(struct stop *stop);
handler sys_path;
handler sys_unlinkat;
handler sys_open_tree;
handler sys_open;
handler sys_openat2;
handler sys_open_handle;
handler sys_fd;
handler sys_two_paths;
handler sys_exec;
handler sys_fork;
handler sys_clone3;
handler sys_exit;
handler sys_wait;
handler sys_kill;
handler sys_ptrace;
handler sys_reach_process;
handler sys_prlimit;
handler sys_scalar;
handler sys_seccomp;
handler sys_address;
handler sys_message;
handler sys_socketcall;
handler sys_map_old;
handler sys_io_uring;
handler sys_write;
handler sys_transfer;
handler sys_dup;
handler sys_fcntl;
handler sys_ioctl;
/* One of each, for tests that serve nobody. */
#define HANDLERS(EACH) \
    EACH(sys_path) \
    EACH(sys_unlinkat) \
    EACH(sys_open_tree) \
    EACH(sys_open) \
    EACH(sys_openat2) \
    EACH(sys_open_handle) \
    EACH(sys_fd) \
    EACH(sys_two_paths) \
    EACH(sys_exec) \
    EACH(sys_fork) \
    EACH(sys_clone3) \
    EACH(sys_exit) \
    EACH(sys_wait) \
    EACH(sys_kill) \
    EACH(sys_ptrace) \
    EACH(sys_reach_process) \
    EACH(sys_prlimit) \
    EACH(sys_scalar) \
    EACH(sys_seccomp) \
    EACH(sys_address) \
    EACH(sys_message) \
    EACH(sys_socketcall) \
    EACH(sys_map_old) \
    EACH(sys_io_uring) \
    EACH(sys_write) \
    EACH(sys_transfer) \
    EACH(sys_dup) \
    EACH(sys_fcntl) \
    EACH(sys_ioctl)

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
