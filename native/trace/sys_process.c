/* Calls that make, become, end or touch processes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "log.h"
#include "path.h"
#include "path_event.h"
#include "probe_record.h"
#include "processes.h"
#include "procfs.h"
#include "sys_process.h"
#include "text.h"

#define MOST_ARGUMENTS (1u << 20)
#define POINTERS_AT_ONCE 512
#define I386_EXIT 1u
#define MOST_INTERPRETERS 5 /* one of a script that is itself a script: the kernel follows no more */

/* --- exec ------------------------------------------------------------------------------------------------ */

struct arguments {
    char *bytes; /* each ended by NUL */
    size_t used;
    uint64_t count;
    bool cut;
};

static void add_argument(struct stop *stop, struct arguments *list, uint64_t pointer)
{
    list->count++;
    if (list->cut)
        return;
    ssize_t length = caller_string(stop, pointer, list->bytes + list->used, MAX_ARGV_BYTES - list->used);
    if (length < 0)
        list->cut = true;
    else
        list->used += (size_t)length + 1;
}

static void read_arguments(struct stop *stop, uint64_t array, struct arguments *list)
{
    uint8_t words[POINTERS_AT_ONCE * 8];
    size_t size = stop->compat ? 4 : 8;
    while (array && list->count < MOST_ARGUMENTS) {
        size_t wanted = sizeof words - array % sizeof words; /* never across a page that may not be there */
        ssize_t got = caller_memory(stop, array, words, wanted - wanted % size ? wanted - wanted % size : size);
        if (got < (ssize_t)size) {
            list->cut = true;
            return;
        }
        for (size_t at = 0; at + size <= (size_t)got; at += size) {
            uint64_t pointer = 0;
            memcpy(&pointer, words + at, size);
            if (!pointer)
                return;
            add_argument(stop, list, pointer);
        }
        array += (uint64_t)got - (uint64_t)got % size;
    }
}

/* What the probe knows of a program that runs: its arguments, and, if it is no script, the file itself. */
static void read_seen(struct stop *stop, struct resolved_path *program, struct arguments *list)
{
    const struct probe_part *arguments = find_part(stop->probed, PART_ARGUMENTS, 0);
    const struct probe_part *file = find_part(stop->probed, PART_PROGRAM, 0);
    bool script = find_part(stop->probed, PART_MEMORY, SEEN_INTERPRETER) != NULL;
    if (file && !script)
        probed_file(file, program);
    list->cut = !arguments || arguments->flags || !list->bytes || arguments->length > MAX_ARGV_BYTES;
    list->count = stop->probed->record->args[3];
    if (!arguments || !list->bytes)
        return;
    const uint8_t *bytes = part_bytes(arguments);
    list->used = arguments->length < MAX_ARGV_BYTES ? arguments->length : MAX_ARGV_BYTES;
    while (list->used && bytes[list->used - 1])
        list->used--; /* half an argument could be half a secret, which nobody would know */
    memcpy(list->bytes, bytes, list->used);
}

/* The interpreter of a script: `program` becomes it. False: it is no script, or its interpreter is not there. */
static bool tell_interpreter(struct stop *stop, struct resolved_path *program)
{
    char line[INTERPRETER_LINE + 1];
    if (program->fd < 0 || !S_ISREG(program->found.st_mode))
        return false;
    int fd = open_for_us(program);
    if (fd < 0)
        return false; /* a program may be executable and not readable; then it is no script either */
    ssize_t got = read(fd, line, INTERPRETER_LINE);
    close(fd);
    const char *name, *argument;
    if (got < 0 || !read_interpreter_line(line, (size_t)got, &name, &argument))
        return false;
    struct resolved_path place;
    look(stop, AT_FDCWD, name, false, &place);
    struct wire_event event = event_at(stop, OP_INTERPRETER, name, &place, false, 0);
    event.extra = intern_text(stop->run, argument);
    log_event(stop, &event);
    close_place(program);
    *program = place;
    return place.exists;
}

/* The program that runs a script at last, as the probe has it: a script may have changed since it was looked
 * at, and the kernel has other ways than "#!" to find an interpreter (binfmt_misc). */
void log_what_ran(struct stop *stop)
{
    const struct probe_part *file = find_part(stop->probed, PART_PROGRAM, 0), *name = find_part(stop->probed, PART_MEMORY, SEEN_INTERPRETER);
    struct resolved_path place;
    start_place(stop, &place);
    if (!file || !name)
        return;
    probed_file(file, &place);
    struct wire_event event = event_at(stop, OP_INTERPRETER, "", &place, false, 0);
    event.path = intern(stop->run, (const char *)part_bytes(name), strnlen((const char *)part_bytes(name), name->length));
    log_event(stop, &event);
}

static bool is_what_ran(const struct stop *stop, const struct resolved_path *told)
{
    const struct probe_part *file = find_part(stop->probed, PART_PROGRAM, 0);
    struct resolved_path ran;
    start_place(stop, &ran);
    if (!file || !find_part(stop->probed, PART_MEMORY, SEEN_INTERPRETER))
        return true;
    probed_file(file, &ran);
    bool same_inode = ran.exists && told->exists && ran.found.st_dev == told->found.st_dev && ran.found.st_ino == told->found.st_ino;
    return same_inode || strcmp(ran.resolved, told->resolved) == 0;
}

static bool loses_privilege(const struct stop *stop, const struct resolved_path *program)
{
    const struct stat *found = &program->found;
    bool becomes_user = found->st_mode & S_ISUID && found->st_uid != geteuid();
    bool becomes_group = found->st_mode & S_ISGID && found->st_mode & S_IXGRP && found->st_gid != getegid();
    return !stop->probed && stop->run->no_new_privs && program->exists && (becomes_user || becomes_group);
}

void sys_exec(struct stop *stop)
{
    char path[PATH_MAX];
    struct resolved_path program;
    struct arguments list = {.bytes = malloc(MAX_ARGV_BYTES)};
    look_at_argument(stop, path, &program);
    if (stop->probed)
        read_seen(stop, &program, &list);
    else if (list.bytes)
        read_arguments(stop, stop->args[stop->call->path + 1], &list);
    if (still_waiting(stop)) {
        struct wire_event event = event_at(stop, OP_EXEC, path, &program, false, 0);
        event.extra = intern(stop->run, list.bytes, list.used);
        event.arg = list.count;
        event.notes |= (list.cut || !list.bytes ? NOTE_ARGV_CUT : 0);
        if (loses_privilege(stop, &program)) {
            event.notes |= NOTE_PRIVILEGE_LOST;
            count(&stop->run->header->privilege_lost);
        }
        log_event(stop, &event);
        uint64_t event_offsets = stop->event_offsets[stop->event_count - 1];
        for (int depth = 0; program.exists && depth < MOST_INTERPRETERS && tell_interpreter(stop, &program); depth++)
            ;
        if (stop->probed && !is_what_ran(stop, &program))
            log_what_ran(stop);
        if (!stop->probed)
            note_exec(stop, event_offsets);
    }
    free(list.bytes);
    close_place(&program);
}

/* --- fork and exit --------------------------------------------------------------------------------------- */

static void fork_with(struct stop *stop, uint64_t flags)
{
    if (flags & CLONE_FS && !(flags & CLONE_THREAD))
        atomic_store(&stop->run->roots_shared, true);
    if (flags & CLONE_NEWNS && may_succeed(stop))
        note_other_root(stop, stop->probed);
    struct wire_event event = event_of(stop, OP_FORK);
    event.arg = flags;
    log_event(stop, &event);
    if (!stop->probed) /* the probe tells of the child itself */
        note_fork(stop, flags);
}

void sys_fork(struct stop *stop)
{
    fork_with(stop, argument(stop, stop->call->arg));
}

void sys_clone3(struct stop *stop)
{
    uint64_t flags = 0;
    if (caller_memory(stop, stop->args[0], &flags, sizeof flags) != sizeof flags)
        stop->notes |= NOTE_PATH_UNREADABLE;
    fork_with(stop, flags);
}

void sys_exit(struct stop *stop)
{
    bool one_thread = stop->number == (stop->compat ? I386_EXIT : SYS_exit);
    if (one_thread)
        note_thread_end(stop);
    else
        note_exit_request(stop, (int)argument(stop, stop->call->arg));
}

/* Whoever waits has children; those that made no call yet were met when this stop was identified. */
void sys_wait(struct stop *stop)
{
    (void)stop;
}

/* --- numbers --------------------------------------------------------------------------------------------- */

void sys_scalar(struct stop *stop)
{
    struct wire_event event = event_of(stop, stop->call->op);
    uint64_t kinds = argument(stop, stop->call->arg);
    bool enters_any = stop->call->arg != 0 && kinds == 0; /* setns(2) need not say which it enters; unshare(2) says which it leaves */
    if (event.op == OP_NAMESPACE && (enters_any || kinds & CLONE_NEWNS) && may_succeed(stop))
        note_other_root(stop, false);
    tell(stop, &event);
}

void sys_seccomp(struct stop *stop)
{
    struct wire_event event = event_of(stop, OP_SECCOMP);
    bool wants_listener = (uint32_t)stop->args[0] == SECCOMP_SET_MODE_FILTER && stop->args[1] & SECCOMP_FILTER_FLAG_NEW_LISTENER;
    if (stop->call->when != WHEN_SET_SECCOMP && wants_listener && !stop->probed) {
        event.result = -EBUSY; /* a chain of filters has room for one listener, and it is ours */
        count(&stop->run->header->listeners_refused);
    }
    tell(stop, &event);
}

void sys_io_uring(struct stop *stop)
{
    struct wire_event event = event_of(stop, OP_IO_URING);
    if (!stop->run->options.allow_io_uring && !stop->probed) {
        event.notes |= NOTE_REFUSED;
        event.result = -ENOSYS;
        stop->error = ENOSYS;
    }
    tell(stop, &event);
}
