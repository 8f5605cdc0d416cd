/* The probe: runs in the kernel and sends what the processes of one cgroup ask of it, with the kernel's answer.
 *
 * In: the shapes (what to send of each call) and the cgroup. Out: records of record.h in a ring buffer, and counters.
 * Nothing is left out silently: a record that finds no room is counted and leaves a hole in its processor's sequence.
 * Loops that walk names go through bpf_loop: unrolled, they are more than the verifier looks at.
 */
#include "endpoints.bpf.h"
#include "names.bpf.h"

/* --- calls ----------------------------------------------------------------------------------------------- */

static __always_inline uint64_t argument(const struct probe_record *record, int position)
{
    switch (position) {
    case 0:
        return record->args[0];
    case 1:
        return record->args[1];
    case 2:
        return record->args[2];
    case 3:
        return record->args[3];
    case 4:
        return record->args[4];
    case 5:
        return record->args[5];
    default:
        return 0;
    }
}

static __always_inline int descriptor_at(const struct probe_record *record, int position)
{
    return position < 0 ? CWD : (int)argument(record, position);
}

static __always_inline bool is_in_proc(uint64_t address)
{
    char start[6] = {0};
    bpf_probe_read_user(start, sizeof start, (void *)address);
    return start[1] == 'p' && start[2] == 'r' && start[3] == 'o' && start[4] == 'c' && start[5] == '/';
}

/* The number in "/proc/self/fd/N", by which a C library changes what it may not open; -1: it is another path. */
static __always_inline int own_descriptor(uint64_t address)
{
    enum { PREFIX = 14, MOST_DIGITS = 6 };
    char words[PREFIX + MOST_DIGITS + 2] = {0};
    int number = 0;
    if (bpf_probe_read_user_str(words, sizeof words, (void *)address) <= PREFIX + 1)
        return -1;
    if (words[6] != 's' || words[7] != 'e' || words[8] != 'l' || words[9] != 'f' || words[10] != '/' || words[11] != 'f' ||
        words[12] != 'd' || words[13] != '/')
        return -1;
    for (int i = PREFIX; i < PREFIX + MOST_DIGITS && words[i]; i++) {
        if (words[i] < '0' || words[i] > '9')
            return -1;
        number = number * 10 + (words[i] - '0');
    }
    return words[PREFIX + MOST_DIGITS] ? -1 : number;
}

__noinline int add_path(int directory, int position, int from_directory)
{
    struct scratch *scratch = own_scratch();
    if (!scratch)
        return 0;
    uint64_t address = argument(&scratch->record, position);
    int first = address ? add_string(address) : 0;
    int descriptor = descriptor_at(&scratch->record, directory);
    if (first == '/' && is_in_proc(address)) { /* it may lead through what the caller alone has */
        int number = own_descriptor(address);
        return add_base(number < 0 ? CWD : number);
    }
    if (!from_directory || first < 0 || first == '/')
        return 0;
    if (first == 0 && directory >= 0 && descriptor != CWD) /* the descriptor itself */
        return add_file((uint64_t)file_of(descriptor), PART_FILE, (uint32_t)descriptor);
    return add_base(descriptor);
}

static __always_inline int add_address(uint64_t address, uint64_t length)
{
    uint16_t family = 0;
    if (!address || !length)
        return 0;
    add_memory(address, length > 128 ? 128 : length);
    bpf_probe_read_user(&family, sizeof family, (void *)address);
    return family == UNIX ? add_base(CWD) : 0;
}

static __always_inline int add_message(uint64_t address, int compat)
{
    uint64_t name = 0;
    uint32_t length = 0;
    if (add_memory(address, compat ? 28 : 56) != 0)
        return 0;
    bpf_probe_read_user(&name, compat ? 4 : 8, (void *)address);
    bpf_probe_read_user(&length, sizeof length, (void *)(address + (compat ? 4 : 8)));
    return name ? add_address(name, length) : 0;
}

struct messages {
    uint64_t address;
    int compat;
};

static long add_next_message(uint32_t index, struct messages *messages)
{
    add_message(messages->address + index * (messages->compat ? 32ull : 64ull), messages->compat);
    return 0;
}

__noinline int add_messages(uint64_t address, uint64_t count)
{
    struct scratch *scratch = own_scratch();
    if (!scratch)
        return 0;
    bool compat = scratch->record.flags & PROBE_COMPAT;
    struct messages messages = {address, compat};
    bpf_loop(count < MOST_MESSAGES ? count : MOST_MESSAGES, add_next_message, &messages, 0);
    return 0; /* more than there is room for leaves its mark by itself, and the kernel takes no more than the most */
}

/* i386: which call, and its arguments in memory. */
__noinline int add_socketcall(uint64_t which, uint64_t address)
{
    uint32_t words[6] = {0};
    if (add_memory(address, which == 11 ? 24 : 12) != 0)
        return 0;
    bpf_probe_read_user(words, which == 11 ? 24 : 12, (void *)address);
    switch (which) {
    case 2:
    case 3: /* bind, connect */
        add_address(words[1], words[2]);
        break;
    case 11: /* sendto */
        add_address(words[4], words[5]);
        break;
    case 16:
        add_message(words[1], true);
        break;
    case 20:
        add_messages(words[1], words[2]);
        break;
    }
    return 0;
}

static __always_inline bool is_wanted(const struct probe_record *record, const struct probe_shape *shape)
{
    if (shape->wish & SHAPE_IF_ADDRESS)
        return record->args[4] != 0;
    if (shape->wish & SHAPE_IF_SHARED)
        return record->args[2] & 2 && record->args[3] & 1 && !(record->args[3] & 32);
    if (shape->wish & SHAPE_IF_SECCOMP)
        return (uint32_t)record->args[0] == SET_SECCOMP; /* as the kernel takes it */
    if (shape->wish & SHAPE_NOT_FSTAT && argument(record, shape->flags) & EMPTY_PATH) {
        char first = 1;
        uint64_t path = argument(record, shape->path);
        if (path)
            bpf_probe_read_user(&first, 1, (void *)path);
        return !((int)record->args[0] >= 0 && (!path || !first));
    }
    return true;
}

/* The bytes of a message that came from a name server. */
static __noinline bool add_answer(struct scratch *scratch)
{
    struct probe_record *record = &scratch->record;
    struct file *file = file_of((int)record->args[0]);
    int64_t length = record->result;
    if (length < 12 || !file)
        return false;
    struct socket *socket = BPF_CORE_READ(file, private_data);
    if ((BPF_CORE_READ(file, f_inode, i_mode) & 0170000) != 0140000 || !socket)
        return false;
    uint16_t port = BPF_CORE_READ(socket, sk, __sk_common.skc_dport);
    uint64_t buffer = record->args[1], from = record->args[4];
    if (record->call == 47) { /* recvmsg: name, its length, vectors */
        uint64_t vectors = 0;
        bpf_probe_read_user(&from, 8, (void *)record->args[1]);
        bpf_probe_read_user(&vectors, 8, (void *)(record->args[1] + 16));
        bpf_probe_read_user(&buffer, 8, (void *)vectors);
    }
    uint16_t sender[2] = {0};
    if (from)
        bpf_probe_read_user(sender, sizeof sender, (void *)from);
    bool named = (sender[0] == INET || sender[0] == INET6) && sender[1] == __builtin_bswap16(DNS_PORT);
    if (port != __builtin_bswap16(DNS_PORT) && !named)
        return false;
    if (!begin_part(scratch, PART_ANSWER, 0))
        return false;
    uint32_t at = scratch->used & (TAIL - 1);
    uint64_t size = length > PROBE_ANSWER_MAX ? PROBE_ANSWER_MAX : (uint64_t)length;
    BOUND(size, 2 * PROBE_ANSWER_MAX - 1);
    if (bpf_probe_read_user(scratch->tail + at, (uint32_t)size, (void *)buffer) != 0)
        return false;
    end_part(scratch, (uint32_t)size, length > PROBE_ANSWER_MAX ? NAME_CUT : 0);
    return true;
}

/* Whether a file lies in the directory of a descriptor: then its own name tells that of the directory. */
__noinline int is_in(uint64_t of_file, int descriptor)
{
    struct file *file = (void *)of_file;
    struct dentry *parent = BPF_CORE_READ(file, f_path.dentry, d_parent);
    if (descriptor == CWD)
        return BPF_CORE_READ(current_task(), fs, pwd.dentry) == parent;
    struct file *directory = file_of(descriptor);
    return directory && BPF_CORE_READ(directory, f_path.dentry) == parent;
}

/* The path is read when the call is over. A call that wrote its answer over its own path left none. */
__noinline int drop_overwritten(int path, int answer, uint32_t fills)
{
    struct scratch *scratch = own_scratch();
    if (!scratch)
        return 0;
    struct probe_part *first = (void *)scratch->tail;
    uint64_t from = argument(&scratch->record, path), to = from + first->length;
    uint64_t start = argument(&scratch->record, answer), end = start + (fills ? fills : argument(&scratch->record, answer + 1));
    if (scratch->used && first->kind == PART_MEMORY && first->address == from && start < to && from < end) {
        scratch->record.flags |= PROBE_UNREAD;
        scratch->used = 0;
        return 1;
    }
    return 0;
}

static __always_inline void add_parts(struct scratch *scratch, const struct probe_shape *shape)
{
    struct probe_record *record = &scratch->record;
    uint32_t wish = shape->wish;
    bool opens = wish & SHAPE_RESULT && record->result >= 0 && !(record->flags & PROBE_NO_BEGIN);
    uint64_t opened = opens ? (uint64_t)file_of((int)record->result) : 0;
    bool in_base = opened && is_in(opened, descriptor_at(record, shape->dir));
    if (wish & SHAPE_PATH)
        add_path(shape->dir, shape->path, !in_base);
    if (shape->answer >= 0 && record->result >= 0 && drop_overwritten(shape->path, shape->answer, shape->fills))
        return; /* an answer where the path was would be taken for it */
    if (wish & SHAPE_PATH2)
        add_path(shape->dir2, shape->path2, !!(wish & SHAPE_BASE2));
    if (wish & SHAPE_FILE) {
        uint32_t descriptor = (uint32_t)descriptor_at(record, shape->dir);
        if (wish & SHAPE_STRUCT) /* i386's first mmap: the fifth word of the struct */
            bpf_probe_read_user(&descriptor, sizeof descriptor, (void *)(argument(record, shape->extra) + 16));
        add_file((uint64_t)file_of((int)descriptor), PART_FILE, descriptor);
    }
    if (opened)
        add_file(opened, PART_FILE | (in_base ? NAME_IN_BASE << NAME_FLAGS : 0), (uint32_t)record->result);
    if (wish & SHAPE_STRUCT && argument(record, shape->extra))
        add_memory(argument(record, shape->extra), shape->size);
    if (wish & SHAPE_ADDRESS)
        add_address(argument(record, shape->path), argument(record, shape->path + 1));
    if (wish & SHAPE_MESSAGE)
        add_messages(argument(record, shape->path), wish & SHAPE_MANY ? argument(record, shape->path + 1) : 1);
    if (wish & SHAPE_WORDS)
        add_socketcall(record->args[0], record->args[1]);
    if (wish & SHAPE_CWD && record->result == 0)
        add_base(CWD);
}

static __always_inline const struct probe_shape *shape_of(uint64_t call, bool compat)
{
    uint32_t zero = 0, at = (uint32_t)call & (SHAPES_COMPAT - 1);
    struct probe_shapes *all = bpf_map_lookup_elem(&shapes, &zero);
    if (!all || call >= SHAPES_COMPAT)
        return 0;
    const struct probe_shape *shape = &all->of[(at + (compat ? SHAPES_COMPAT : 0)) & (SHAPES - 1)];
    return shape->wish ? shape : 0;
}

/* A filter of the program's own can answer in the kernel's place: then a call ends that never began. */
static __always_inline bool has_own_filter(void)
{
    uint32_t zero = 0;
    struct task_struct *task = (void *)bpf_get_current_task_btf();
    struct probe_shapes *all = bpf_map_lookup_elem(&shapes, &zero);
    return all && (uint32_t)task->seccomp.filter_count.counter > all->filters;
}

static __always_inline bool is_compat(void)
{
    struct task_struct *task = (void *)bpf_get_current_task_btf();
    return task->thread_info.status & TS_COMPAT;
}

SEC("tp_btf/sys_enter")
int call_begins(uint64_t *context)
{
    uint64_t call = context[1];
    const struct probe_shape *shape = shape_of(call, is_compat());
    if (!shape || !is_ours() || (!(shape->wish & SHAPE_BEGIN) && !has_own_filter()))
        return 0;
    uint64_t *begin = bpf_task_storage_get(&begun, (void *)bpf_get_current_task_btf(), 0, CREATE);
    if (begin)
        *begin = bpf_ktime_get_ns();
    else
        add_count(COUNT_UNPLACED);
    return 0;
}

static __always_inline void read_arguments(struct probe_record *record, struct pt_regs *regs, bool compat)
{
    if (compat) {
        record->args[0] = (uint32_t)regs->bx;
        record->args[1] = (uint32_t)regs->cx;
        record->args[2] = (uint32_t)regs->dx;
        record->args[3] = (uint32_t)regs->si;
        record->args[4] = (uint32_t)regs->di;
        record->args[5] = (uint32_t)regs->bp;
    } else {
        record->args[0] = regs->di;
        record->args[1] = regs->si;
        record->args[2] = regs->dx;
        record->args[3] = regs->r10;
        record->args[4] = regs->r8;
        record->args[5] = regs->r9;
    }
}

/* Newer C libraries ask for a descriptor's status with an empty path, all the time. Known before anything is made up. */
static __always_inline bool is_fstat(const struct pt_regs *regs, const struct probe_shape *shape)
{
    char first = 1;
    uint64_t flags = shape->flags == 2 ? regs->dx : regs->r10;
    if (!(flags & EMPTY_PATH) || (int)regs->di < 0)
        return false;
    return !regs->si || (bpf_probe_read_user(&first, 1, (void *)regs->si) == 0 && !first);
}

/* Calls that nobody asks for must cost next to nothing: they are looked at before their process is. */
SEC("tp_btf/sys_exit")
int call_ends(uint64_t *context)
{
    struct pt_regs *regs = (void *)context[0];
    bool compat = is_compat();
    uint64_t call = regs->orig_ax;
    const struct probe_shape *shape = shape_of(call, compat);
    if (!shape || !is_ours())
        return 0;
    bool filtered = has_own_filter();
    if (shape->wish & SHAPE_NOT_FSTAT && !compat && !filtered && is_fstat(regs, shape))
        return 0;
    struct scratch *scratch = begin_record(PROBE_CALL);
    if (!scratch)
        return 0;
    struct probe_record *record = &scratch->record;
    record->call = (uint32_t)call;
    record->flags = compat ? PROBE_COMPAT : 0;
    record->result = (int64_t)context[1];
    read_arguments(record, regs, compat);
    if (shape->wish & SHAPE_ANSWER) {
        if (add_answer(scratch))
            send(scratch);
        return 0;
    }
    if (shape->wish & SHAPE_BEGIN || filtered) {
        uint64_t *begin = bpf_task_storage_get(&begun, (void *)bpf_get_current_task_btf(), 0, 0);
        if (begin && *begin) {
            record->begin_ns = *begin;
            *begin = 0;
        } else if (filtered) {
            record->flags |= PROBE_NO_BEGIN;
        }
    }
    if (!is_wanted(record, shape))
        return 0;
    add_parts(scratch, shape);
    send(scratch);
    return 0;
}

/* --- processes ------------------------------------------------------------------------------------------- */

static __always_inline bool is_below_scope(struct cgroup *cgroup)
{
    struct cgroup_subsys_state *state = BPF_CORE_READ(cgroup, self.parent);
    for (int level = 0; cgroup && level < MOST_LEVELS; level++) {
        if (BPF_CORE_READ(cgroup, kn, id) == constants.scope)
            return true;
        cgroup = state ? BPF_CORE_READ(state, cgroup) : 0;
        state = state ? BPF_CORE_READ(state, parent) : 0;
    }
    return false;
}

SEC("tp_btf/sched_process_fork")
int process_forks(uint64_t *context)
{
    if (!is_ours())
        return 0;
    struct task_struct *child = (void *)context[1];
    struct scratch *scratch = begin_record(PROBE_FORK);
    if (!scratch)
        return 0;
    scratch->record.result = BPF_CORE_READ(child, pid);
    scratch->record.args[0] = BPF_CORE_READ(child, tgid);
    scratch->record.args[1] = BPF_CORE_READ(child, start_boottime);
    struct css_set *places = BPF_CORE_READ(child, cgroups);
    struct task_struct *maker = (void *)bpf_get_current_task();
    if (places != BPF_CORE_READ(maker, cgroups) && !is_below_scope(BPF_CORE_READ(places, dfl_cgrp)))
        scratch->record.flags |= PROBE_OUTSIDE;
    send(scratch);
    return 0;
}

SEC("tp_btf/sched_process_exec")
int process_execs(uint64_t *context)
{
    if (!is_ours())
        return 0;
    struct task_struct *task = (void *)context[0];
    struct linux_binprm *program = (void *)context[2];
    struct scratch *scratch = begin_record(PROBE_EXEC);
    if (!scratch)
        return 0;
    struct probe_record *record = &scratch->record;
    record->result = 0;
    record->args[0] = (uint32_t)context[1]; /* the thread that asked: it has the process's number now */
    record->args[1] = 1;                    /* where the names lie in our parts */
    record->args[2] = 2;
    record->args[3] = BPF_CORE_READ(program, argc);
    uint64_t *begin = bpf_task_storage_get(&begun, (void *)bpf_get_current_task_btf(), 0, 0);
    if (begin)
        record->begin_ns = *begin; /* and the call has yet to end */
    if (begin_part(scratch, PART_MEMORY, 1)) {
        long got = bpf_probe_read_kernel_str(scratch->tail + (scratch->used & (TAIL - 1)), PROBE_PATH_MAX,
                                             BPF_CORE_READ(program, filename));
        end_part(scratch, got < 0 ? 0 : (uint32_t)got, 0);
    }
    if (BPF_CORE_READ(program, interp) != BPF_CORE_READ(program, filename) && begin_part(scratch, PART_MEMORY, 2)) {
        long got = bpf_probe_read_kernel_str(scratch->tail + (scratch->used & (TAIL - 1)), PROBE_PATH_MAX,
                                             BPF_CORE_READ(program, interp));
        end_part(scratch, got < 0 ? 0 : (uint32_t)got, 0);
    }
    add_base(CWD);
    add_file((uint64_t)BPF_CORE_READ(program, file), PART_PROGRAM, 0);
    uint64_t start = BPF_CORE_READ(task, mm, arg_start), length = BPF_CORE_READ(task, mm, arg_end) - start;
    if (begin_part(scratch, PART_ARGUMENTS, 0)) {
        uint64_t size = length > PROBE_ARGUMENTS_MAX ? PROBE_ARGUMENTS_MAX : length;
        BOUND(size, 2 * PROBE_ARGUMENTS_MAX - 1);
        bool read = bpf_probe_read_user(scratch->tail + (scratch->used & (TAIL - 1)), (uint32_t)size, (void *)start) == 0;
        end_part(scratch, read ? (uint32_t)size : 0, length > PROBE_ARGUMENTS_MAX ? NAME_CUT : read ? 0 : NAME_UNREAD);
    }
    send(scratch);
    return 0;
}

SEC("tp_btf/sched_process_exit")
int thread_ends(uint64_t *context)
{
    if (!is_ours())
        return 0;
    struct task_struct *task = (void *)context[0];
    struct scratch *scratch = begin_record(PROBE_EXIT);
    if (!scratch)
        return 0;
    struct signal_struct *signal = BPF_CORE_READ(task, signal);
    bool last = BPF_CORE_READ(signal, live.counter) == 0;
    bool together = BPF_CORE_READ(signal, flags) & GROUP_EXIT;
    scratch->record.args[0] = last;
    scratch->record.result = together ? BPF_CORE_READ(signal, group_exit_code) : BPF_CORE_READ(task, group_leader, exit_code);
    send(scratch);
    return 0;
}

/* Whoever is moved out of the run's cgroup is not seen any more. It has been moved by now, so that nothing here tells whether it
 * was ours: every move to elsewhere is sent, and the reader knows. */
SEC("tp_btf/cgroup_attach_task")
int process_is_moved(uint64_t *context)
{
    struct cgroup *to = (void *)context[0];
    struct task_struct *task = (void *)context[2];
    if (BPF_CORE_READ(to, root, hierarchy_id) != UNIFIED || is_below_scope(to))
        return 0;
    struct scratch *scratch = begin_record(PROBE_MOVE);
    if (!scratch)
        return 0;
    scratch->record.pid = BPF_CORE_READ(task, tgid);
    scratch->record.tid = BPF_CORE_READ(task, pid);
    scratch->record.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
    scratch->record.result = 0;
    send(scratch);
    return 0;
}
