/* What the kernel knows of descriptors and directories: their names, walked from the entry up to the root, and their state. */
#ifndef STENO_NAMES_BPF_H
#define STENO_NAMES_BPF_H

#include "scratch.bpf.h"

static __always_inline long copy_of(struct scratch *scratch, const void *what, uint64_t size)
{
    BOUND(size, COPY / 2 - 1);
    return bpf_probe_read_kernel(scratch->copy, (uint32_t)size, what);
}

/* Where a field is in the copy. */
#define FIELD(scratch, type, field) ((scratch)->copy + bpf_core_field_offset(type, field))

struct walk {
    struct dentry *dentry;
    struct dentry *root;
    struct mount *mount;
    struct scratch *scratch;
    uint32_t at; /* the name grows towards the front */
    uint32_t flags;
};

static long step_up(uint32_t index, struct walk *walk)
{
    struct dentry *dentry = walk->dentry, *parent;
    if (dentry == walk->root) {
        struct mount *mount = walk->mount, *above = BPF_CORE_READ(mount, mnt_parent);
        if (above == mount)
            return 1;
        walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
        walk->mount = above;
        walk->root = BPF_CORE_READ(above, mnt.mnt_root);
        return 0;
    }
    if (copy_of(walk->scratch, dentry, bpf_core_type_size(struct dentry)) != 0) {
        walk->flags |= NAME_UNREAD;
        return 1;
    }
    parent = *(struct dentry **)FIELD(walk->scratch, struct dentry, d_parent);
    uint64_t length = *(uint32_t *)FIELD(walk->scratch, struct dentry, d_name.len), at = walk->at;
    BOUND(length, 255);
    const unsigned char *bytes = *(const unsigned char **)FIELD(walk->scratch, struct dentry, d_name.name);
    if (at < length + 1 || at > NAME) {
        walk->flags |= NAME_CUT;
        return 1;
    }
    at -= length;
    BOUND(at, NAME - 1);
    if (bpf_probe_read_kernel(walk->scratch->name + at, (uint32_t)length, bytes) != 0)
        walk->flags |= NAME_UNREAD;
    at--;
    BOUND(at, NAME - 1);
    walk->scratch->name[at] = '/';
    walk->at = (uint32_t)at;
    walk->dentry = parent;
    if (parent != dentry && parent)
        return 0;
    walk->flags |= NAME_DETACHED; /* in no directory: memory, a pipe, a socket */
    return 1;
}

/* Puts the name of a path behind what is in the part; returns how long it is, and its flags from bit 16. */
__noinline int add_name(uint64_t of_mount, uint64_t of_dentry)
{
    struct scratch *scratch = own_scratch();
    struct vfsmount *vfsmount = (void *)of_mount;
    struct dentry *dentry = (void *)of_dentry;
    if (!scratch)
        return 0;
    struct walk walk = {.dentry = dentry, .scratch = scratch, .at = NAME};
    walk.mount = (struct mount *)(of_mount - bpf_core_field_offset(struct mount, mnt));
    walk.root = BPF_CORE_READ(vfsmount, mnt_root);
    if (dentry != walk.root && !BPF_CORE_READ(dentry, d_hash.pprev))
        walk.flags |= NAME_DELETED;
    if (bpf_loop(MOST_DEPTH, step_up, &walk, 0) == MOST_DEPTH)
        walk.flags |= NAME_CUT;
    struct task_struct *task = (void *)bpf_get_current_task();
    struct mount *first = walk.mount;
    bool whole = !(walk.flags & (NAME_DETACHED | NAME_CUT | NAME_UNREAD));
    if (whole && BPF_CORE_READ(first, mnt_ns) != BPF_CORE_READ(task, nsproxy, mnt_ns))
        walk.flags |= NAME_ELSEWHERE;
    uint32_t at = walk.at, to = scratch->used & (TAIL - 1), flags = walk.flags << NAME_FLAGS;
    if (at >= NAME) { /* nothing above it: the root itself */
        scratch->tail[to] = '/';
        return (int)(flags | 1);
    }
    uint64_t length = NAME - at;
    BOUND(length, 2 * NAME - 1);
    if (length > NAME || bpf_probe_read_kernel(scratch->tail + to, (uint32_t)length, scratch->name + (at & (NAME - 1))) != 0)
        return (int)flags;
    return (int)(flags | (uint32_t)length);
}

static __always_inline struct file *file_of(int descriptor)
{
    struct task_struct *task = (void *)bpf_get_current_task();
    struct fdtable *table = BPF_CORE_READ(task, files, fdt);
    struct file **files = BPF_CORE_READ(table, fd), *file = 0;
    if (descriptor < 0 || (uint32_t)descriptor >= BPF_CORE_READ(table, max_fds))
        return 0;
    if (bpf_probe_read_kernel(&file, sizeof file, files + descriptor) != 0)
        return 0;
    return (struct file *)((unsigned long)file & ~3ul);
}

__noinline int add_base(int descriptor)
{
    struct scratch *scratch = own_scratch();
    struct vfsmount *mount;
    struct dentry *dentry;
    if (descriptor == CWD) {
        struct task_struct *task = (void *)bpf_get_current_task();
        struct fs_struct *fs = BPF_CORE_READ(task, fs);
        mount = BPF_CORE_READ(fs, pwd.mnt);
        dentry = BPF_CORE_READ(fs, pwd.dentry);
    } else {
        struct file *file = file_of(descriptor);
        if (!file)
            return 0; /* no such descriptor: the call fails for that */
        mount = BPF_CORE_READ(file, f_path.mnt);
        dentry = BPF_CORE_READ(file, f_path.dentry);
    }
    if (!scratch || !dentry || !begin_part(scratch, PART_BASE, (uint64_t)(int64_t)descriptor))
        return 0;
    uint32_t named = (uint32_t)add_name((uint64_t)mount, (uint64_t)dentry);
    end_part(scratch, named & (2 * NAME - 1), named >> NAME_FLAGS);
    return 0;
}

#define SECONDS 1000000000
#define NANOSECONDS 0x7fffffffu /* the bit above says that somebody asked for the time */
#define TIME(scratch, type, seconds, nanoseconds)                                                                             \
    (*(int64_t *)FIELD(scratch, type, seconds) * SECONDS + (*(uint32_t *)FIELD(scratch, type, nanoseconds) & NANOSECONDS))

/* The inode is in the copy. */
static __always_inline void read_times(struct scratch *scratch, struct probe_file *state)
{
    struct inode *now = 0;
    struct inode___with_timespecs *later = 0;
    if (bpf_core_field_exists(now->i_mtime_sec)) {
        state->mtime_ns = TIME(scratch, struct inode, i_mtime_sec, i_mtime_nsec);
        state->ctime_ns = TIME(scratch, struct inode, i_ctime_sec, i_ctime_nsec);
    } else if (bpf_core_field_exists(later->__i_mtime)) {
        state->mtime_ns = TIME(scratch, struct inode___with_timespecs, __i_mtime.tv_sec, __i_mtime.tv_nsec);
        state->ctime_ns = TIME(scratch, struct inode___with_timespecs, __i_ctime.tv_sec, __i_ctime.tv_nsec);
    } else {
        state->mtime_ns = TIME(scratch, struct inode___with_old_names, i_mtime.tv_sec, i_mtime.tv_nsec);
        state->ctime_ns = TIME(scratch, struct inode___with_old_names, i_ctime.tv_sec, i_ctime.tv_nsec);
    }
}

static __always_inline uint32_t read_state(struct scratch *scratch, struct inode *inode, struct probe_file *state)
{
    if (copy_of(scratch, inode, bpf_core_type_size(struct inode)) != 0)
        return STATE_FOREIGN;
    struct super_block *super = *(struct super_block **)FIELD(scratch, struct inode, i_sb);
    uint64_t magic = BPF_CORE_READ(super, s_magic);
    state->dev = BPF_CORE_READ(super, s_dev);
    state->ino = *(uint64_t *)FIELD(scratch, struct inode, i_ino);
    state->size = *(uint64_t *)FIELD(scratch, struct inode, i_size);
    state->mode = *(uint16_t *)FIELD(scratch, struct inode, i_mode);
    state->uid = *(uint32_t *)FIELD(scratch, struct inode, i_uid);
    state->gid = *(uint32_t *)FIELD(scratch, struct inode, i_gid);
    state->nlink = *(uint32_t *)FIELD(scratch, struct inode, i_nlink);
    state->rdev = *(uint32_t *)FIELD(scratch, struct inode, i_rdev);
    read_times(scratch, state);
    return magic == FOREIGN_OVERLAY || magic == FOREIGN_BTRFS ? STATE_FOREIGN : 0;
}

__noinline int add_file(uint64_t of_file, uint32_t kind, uint64_t address)
{
    struct scratch *scratch = own_scratch();
    struct file *file = (void *)of_file;
    if (!scratch || !file || !begin_part(scratch, (uint16_t)kind, address))
        return 0;
    uint32_t at = scratch->used & (TAIL - 1);
    uint32_t foreign = read_state(scratch, BPF_CORE_READ(file, f_inode), (void *)(scratch->tail + at));
    ((struct probe_file *)(scratch->tail + at))->created = !!(BPF_CORE_READ(file, f_mode) & CREATED);
    scratch->used = at + sizeof(struct probe_file);
    uint32_t named = (uint32_t)add_name((uint64_t)BPF_CORE_READ(file, f_path.mnt), (uint64_t)BPF_CORE_READ(file, f_path.dentry));
    scratch->used = at;
    end_part(scratch, (named & (2 * NAME - 1)) + sizeof(struct probe_file), named >> NAME_FLAGS | kind >> NAME_FLAGS | foreign);
    return 0;
}

#endif
