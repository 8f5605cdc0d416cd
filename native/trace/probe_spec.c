/* What the probe is to send of every call, made from the tables that the filter is made from: one description
 * for both. */
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "probe_spec.h"

#define OPEN_HOW 24    /* struct open_how of openat2(2) */
#define CLONE_FLAGS 8  /* the first word of struct clone_args */
#define OLD_MAP 24     /* six words */
#define I386_STATUS 64 /* what stat(2) tells of a file, and statfs(2) of a file system */
#define I386_STATUS64 96
#define I386_STATFS64_SIZE 84

static uint32_t two_paths(const struct call *call, bool second_is_path)
{
    return SHAPE_PATH | (call->path2 < 0 ? 0 : SHAPE_PATH2 | (second_is_path ? SHAPE_BASE2 : 0u));
}

static void want_struct(struct probe_shape *shape, int8_t argument, uint16_t size)
{
    shape->wish |= SHAPE_STRUCT;
    shape->extra = argument;
    shape->size = size;
}

static void want_status(struct probe_shape *shape, const struct call *call, bool native)
{
    if (call->dir >= 0 && call->flags >= 0)
        shape->wish |= SHAPE_NOT_FSTAT;
#if defined(__x86_64__)
    enum { STAT = 4, LSTAT = 6, NEWFSTATAT = 262, STATX = 332 };
    if (native && (call->number == STAT || call->number == LSTAT))
        want_struct(shape, 1, sizeof(struct stat));
    else if (native && call->number == NEWFSTATAT)
        want_struct(shape, 2, sizeof(struct stat));
    else if (native && call->number == STATX)
        want_struct(shape, 4, sizeof(struct statx));
#else
    (void)native;
#endif
}

static void answer_at(struct probe_shape *shape, int argument, size_t fills)
{
    shape->answer = (int8_t)argument;
    shape->fills = (uint16_t)fills;
}

/* Where a call that only looks puts what it found. */
static void name_answer(struct probe_shape *shape, const struct call *call, bool native)
{
    enum { I386_STAT64 = 195, I386_STATFS64 = 268 };
    int after = call->path + 1;
    bool flags_follow = call->flags == after;
    switch (call->op) {
    case OP_READLINK:
        answer_at(shape, after, 0);
        break;
    case OP_GETXATTR:
        answer_at(shape, call->path2 >= 0 ? call->path2 + 1 : flags_follow ? after + 1 : after, 0);
        break;
    case OP_STAT:
        if (flags_follow) /* statx(2): its flags, a mask, then the answer */
            answer_at(shape, after + 2, sizeof(struct statx));
        else
            answer_at(shape, after, native ? sizeof(struct stat) : call->number < I386_STAT64 ? I386_STATUS : I386_STATUS64);
        break;
    case OP_STATFS:
        if (!native && call->number == I386_STATFS64) /* after the size of the answer */
            answer_at(shape, after + 1, I386_STATFS64_SIZE);
        else
            answer_at(shape, after, native ? sizeof(struct statfs) : I386_STATUS);
        break;
    default:
        break;
    }
}

static uint32_t wish_of(const struct call *call)
{
    handler *serve = call->serve;
    if (call->class == CALL_COUNTED || serve == sys_fork || serve == sys_scalar || serve == sys_kill || serve == sys_ptrace ||
        serve == sys_reach_process || serve == sys_prlimit || serve == sys_seccomp || serve == sys_io_uring || serve == sys_clone3)
        return SHAPE_SEEN;
    if (serve == sys_path || serve == sys_unlinkat || serve == sys_exec)
        return two_paths(call, call->dir2 >= 0);
    if (serve == sys_open_tree)
        return SHAPE_PATH;
    if (serve == sys_two_paths)
        return two_paths(call, true);
    if (serve == sys_open || serve == sys_openat2)
        return SHAPE_PATH | SHAPE_RESULT;
    if (serve == sys_open_handle)
        return SHAPE_SEEN | SHAPE_RESULT;
    if (serve == sys_fd || serve == sys_map_old)
        return SHAPE_FILE | (call->path2 < 0 ? 0 : SHAPE_PATH2);
    if (serve == sys_address)
        return SHAPE_ADDRESS;
    if (serve == sys_message)
        return SHAPE_MESSAGE | (call->traits & TRAIT_MANY ? SHAPE_MANY : 0);
    return serve == sys_socketcall ? SHAPE_WORDS : 0; /* ends and waits are told by the processes themselves */
}

static uint32_t condition_of(const struct call *call)
{
    switch (call->when) {
    case WHEN_ADDRESS:
        return SHAPE_IF_ADDRESS;
    case WHEN_SHARED_WRITE:
        return SHAPE_IF_SHARED;
    case WHEN_SET_SECCOMP:
        return SHAPE_IF_SECCOMP;
    default:
        return 0;
    }
}

static struct probe_shape shape_of(const struct call *call, bool native)
{
    struct probe_shape shape = {.dir = call->dir, .path = call->path, .dir2 = call->dir2, .path2 = call->path2,
                                .flags = call->flags, .extra = -1, .answer = -1};
    if (call->beside == BESIDE_BLIND)
        return shape;
    shape.wish = wish_of(call);
    if (!shape.wish)
        return shape;
    shape.wish |= SHAPE_SEEN | condition_of(call) | (call->effect == EFFECT_LOOK ? 0 : SHAPE_BEGIN);
    if (call->op == OP_CHDIR)
        shape.wish |= SHAPE_CWD;
    if (call->op == OP_STAT)
        want_status(&shape, call, native);
    if (call->serve == sys_openat2)
        want_struct(&shape, 2, OPEN_HOW);
    if (call->serve == sys_clone3)
        want_struct(&shape, 0, CLONE_FLAGS);
    if (call->serve == sys_map_old)
        want_struct(&shape, 0, OLD_MAP);
    name_answer(&shape, call, native);
    return shape;
}

static void fill(struct probe_shape *shapes, const struct call_table *table, bool native)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->calls[i].number < SHAPES_COMPAT)
            shapes[table->calls[i].number] = shape_of(&table->calls[i], native);
    }
}

void fill_shapes(struct probe_shapes *shapes)
{
    memset(shapes, 0, sizeof *shapes);
#if defined(__x86_64__)
    enum { RECVFROM = 45, RECVMSG = 47 };
    fill(shapes->of, &calls_x86_64, true);
    fill(shapes->of + SHAPES_COMPAT, &calls_i386, false);
    shapes->of[RECVFROM].wish = shapes->of[RECVMSG].wish = SHAPE_SEEN | SHAPE_ANSWER;
#else
    fill(shapes->of, &calls_aarch64, true);
#endif
}
