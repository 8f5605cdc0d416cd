// with: ../generated/calls.c probe_spec.c
/* What the probe is to send: something of every call that is recorded or counted, and arguments that a call has. */
#include "../check.h"
#include "handlers.h"
#include "log.h"
#include "path_event.h"
#include "probe_spec.h"

#define LARGEST_STRUCT 511 /* as much as the probe takes along at once */

static struct probe_shapes shapes;

/* Ends and waits are told by the processes themselves, and what is written on a terminal by the filter alone. */
static bool is_told_otherwise(const struct call *call)
{
    return call->serve == sys_exit || call->serve == sys_wait || call->beside == BESIDE_BLIND;
}

static void every_call_has_a_shape_or_is_told_otherwise(const struct probe_shape *of, const struct call_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct call *call = &table->calls[i];
        CHECK(call->number < SHAPES_COMPAT);
        CHECK((of[call->number].wish != 0) != is_told_otherwise(call));
        CHECK(!of[call->number].wish || of[call->number].wish & SHAPE_SEEN);
    }
}

static bool is_listed(const struct call_table *table, uint32_t number)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->calls[i].number == number)
            return true;
    }
    return false;
}

static void no_other_call_has_one(const struct probe_shape *of, const struct call_table *table)
{
    for (uint32_t number = 0; number < SHAPES_COMPAT; number++)
        CHECK(!of[number].wish || of[number].wish & SHAPE_ANSWER || is_listed(table, number));
}

static bool is_argument(int8_t position)
{
    return position >= 0 && position < 6;
}

static void a_wish_names_the_arguments_that_it_needs(const struct probe_shape *shape)
{
    uint32_t wish = shape->wish;
    CHECK(!(wish & (SHAPE_PATH | SHAPE_ADDRESS | SHAPE_MESSAGE)) || is_argument(shape->path));
    CHECK(!(wish & SHAPE_PATH2) || is_argument(shape->path2));
    CHECK(!(wish & (SHAPE_ADDRESS | SHAPE_MANY)) || is_argument((int8_t)(shape->path + 1)));
    CHECK(!(wish & SHAPE_STRUCT) || (is_argument(shape->extra) && shape->size > 0 && shape->size <= LARGEST_STRUCT));
    CHECK(!(wish & SHAPE_FILE) || is_argument(shape->dir) || wish & SHAPE_STRUCT);
    CHECK(!(wish & SHAPE_NOT_FSTAT) || (is_argument(shape->flags) && shape->dir == 0));
    CHECK(shape->dir < 6 && shape->dir2 < 6);
}

static void what_is_recorded_under_a_condition_is_sent_under_it(const struct probe_shape *of, const struct call_table *table)
{
    static const uint32_t conditions[] = {
        [WHEN_ALWAYS] = 0, [WHEN_ADDRESS] = SHAPE_IF_ADDRESS, [WHEN_SHARED_WRITE] = SHAPE_IF_SHARED, [WHEN_SET_SECCOMP] = SHAPE_IF_SECCOMP,
        [WHEN_OTHERS_LIMIT] = 0, /* sent always: the handler sees whose limit it is */
    };
    for (size_t i = 0; i < table->count; i++) {
        const struct call *call = &table->calls[i];
        uint32_t wish = of[call->number].wish & (SHAPE_IF_ADDRESS | SHAPE_IF_SHARED | SHAPE_IF_SECCOMP);
        CHECK(is_told_otherwise(call) || wish == conditions[call->when]);
    }
}

static void check_machine(const struct probe_shape *of, const struct call_table *table)
{
    every_call_has_a_shape_or_is_told_otherwise(of, table);
    no_other_call_has_one(of, table);
    what_is_recorded_under_a_condition_is_sent_under_it(of, table);
    for (uint32_t number = 0; number < SHAPES_COMPAT; number++)
        a_wish_names_the_arguments_that_it_needs(&of[number]);
}

#if defined(__x86_64__)
static void some_shapes_as_a_reader_of_the_manual_would_write_them(void)
{
    enum { STAT = 4, RECVFROM = 45, RENAMEAT2 = 316, OPENAT = 257, SENDMMSG = 307, I386_SOCKETCALL = 102, I386_STAT64 = 195 };
    const struct probe_shape *stat = &shapes.of[STAT], *rename = &shapes.of[RENAMEAT2], *open = &shapes.of[OPENAT];
    CHECK(stat->wish == (SHAPE_SEEN | SHAPE_PATH | SHAPE_STRUCT) && stat->extra == 1 && stat->size == sizeof(struct stat));
    CHECK(rename->wish == (SHAPE_SEEN | SHAPE_BEGIN | SHAPE_PATH | SHAPE_PATH2 | SHAPE_BASE2) && rename->dir2 == 2 && rename->path2 == 3);
    CHECK(open->wish == (SHAPE_SEEN | SHAPE_BEGIN | SHAPE_PATH | SHAPE_RESULT) && open->dir == 0 && open->path == 1);
    CHECK(shapes.of[SENDMMSG].wish == (SHAPE_SEEN | SHAPE_BEGIN | SHAPE_MESSAGE | SHAPE_MANY));
    CHECK(shapes.of[RECVFROM].wish == (SHAPE_SEEN | SHAPE_ANSWER));
    CHECK(shapes.of[SHAPES_COMPAT + I386_SOCKETCALL].wish == (SHAPE_SEEN | SHAPE_BEGIN | SHAPE_WORDS));
    CHECK(!(shapes.of[SHAPES_COMPAT + I386_STAT64].wish & SHAPE_STRUCT)); /* another layout */
}

static bool answers(const struct probe_shape *shape, int argument, size_t fills)
{
    return shape->answer == argument && shape->fills == fills;
}

static void answers_are_where_the_manual_puts_them(void)
{
    enum { STAT = 4, READLINK = 89, STATFS = 137, GETXATTR = 191, LISTXATTR = 194, NEWFSTATAT = 262, READLINKAT = 267, STATX = 332 };
    enum { I386_STATFS = 99, I386_STAT = 106, I386_STAT64 = 195, I386_STATFS64 = 268, I386_FSTATAT64 = 300, I386_STATX = 383 };
    enum { OPENAT = 257, LISTXATTRAT = 465 };
    const struct probe_shape *i386 = shapes.of + SHAPES_COMPAT;
    CHECK(answers(&shapes.of[STAT], 1, 144) && answers(&shapes.of[NEWFSTATAT], 2, 144) && answers(&shapes.of[STATX], 4, 256));
    CHECK(answers(&shapes.of[READLINK], 1, 0) && answers(&shapes.of[READLINKAT], 2, 0));
    CHECK(answers(&shapes.of[GETXATTR], 2, 0) && answers(&shapes.of[LISTXATTR], 1, 0) && answers(&shapes.of[LISTXATTRAT], 3, 0));
    CHECK(answers(&shapes.of[STATFS], 1, 120) && answers(&i386[I386_STATFS], 1, 64) && answers(&i386[I386_STATFS64], 2, 84));
    CHECK(answers(&i386[I386_STAT], 1, 64) && answers(&i386[I386_STAT64], 1, 96) && answers(&i386[I386_FSTATAT64], 2, 96));
    CHECK(answers(&i386[I386_STATX], 4, 256));
    CHECK(shapes.of[OPENAT].answer == -1);
}
#endif

int main(void)
{
    fill_shapes(&shapes);
#if defined(__x86_64__)
    check_machine(shapes.of, &calls_x86_64);
    check_machine(shapes.of + SHAPES_COMPAT, &calls_i386);
    some_shapes_as_a_reader_of_the_manual_would_write_them();
    answers_are_where_the_manual_puts_them();
#else
    check_machine(shapes.of, &calls_aarch64);
#endif
    return 0;
}
