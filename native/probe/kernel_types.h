/* The kernel's types, as far as the probe looks into them. Offsets are fitted to the running kernel when it is loaded
 * (CO-RE), so only names and kinds matter here. */
#ifndef STENO_KERNEL_TYPES_H
#define STENO_KERNEL_TYPES_H

#define FITTED __attribute__((preserve_access_index))

typedef unsigned int u32;
typedef unsigned long long u64;
/* What bpf_helpers.h expects of linux/types.h */
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0

struct qstr {
    u32 len;
    const unsigned char *name;
} FITTED;

struct hlist_bl_node {
    struct hlist_bl_node **pprev;
} FITTED;

struct super_block {
    u32 s_dev;
    unsigned long s_magic;
} FITTED;

struct kuid { /* kuid_t and kgid_t have no names of their own */
    u32 val;
};

struct inode {
    unsigned short i_mode;
    struct kuid i_uid, i_gid;
    struct super_block *i_sb;
    unsigned long i_ino;
    u32 i_nlink;
    u32 i_rdev;
    long long i_size;
    long long i_mtime_sec, i_ctime_sec;
    u32 i_mtime_nsec, i_ctime_nsec;
} FITTED;

struct timespec64 {
    long long tv_sec;
    long tv_nsec;
} FITTED;

/* Until 6.10 */
struct inode___with_timespecs {
    struct timespec64 __i_mtime, __i_ctime;
} FITTED;

/* Until 6.5 */
struct inode___with_old_names {
    struct timespec64 i_mtime, i_ctime;
} FITTED;

struct dentry {
    struct hlist_bl_node d_hash;
    struct dentry *d_parent;
    struct qstr d_name;
    struct inode *d_inode;
} FITTED;

struct vfsmount {
    struct dentry *mnt_root;
} FITTED;

struct mnt_namespace {
    int unused;
} FITTED;

struct mount {
    struct mount *mnt_parent;
    struct dentry *mnt_mountpoint;
    struct vfsmount mnt;
    struct mnt_namespace *mnt_ns;
} FITTED;

struct nsproxy {
    struct mnt_namespace *mnt_ns;
} FITTED;

struct path {
    struct vfsmount *mnt;
    struct dentry *dentry;
} FITTED;

struct file {
    u32 f_mode;
    struct path f_path;
    struct inode *f_inode;
    void *private_data;
} FITTED;

struct fdtable {
    u32 max_fds;
    struct file **fd;
} FITTED;

struct files_struct {
    struct fdtable *fdt;
} FITTED;

struct fs_struct {
    struct path pwd;
} FITTED;

struct sock_common {
    unsigned short skc_dport;
} FITTED;

struct sock {
    struct sock_common __sk_common;
} FITTED;

struct socket {
    struct sock *sk;
} FITTED;

struct atomic {
    int counter;
};

struct signal_struct {
    struct atomic live;
    int group_exit_code;
    u32 flags;
} FITTED;

struct mm_struct {
    unsigned long arg_start, arg_end;
} FITTED;

struct thread_info {
    u32 status;
} FITTED;

struct kernfs_node {
    u64 id;
} FITTED;

struct cgroup_root {
    int hierarchy_id;
} FITTED;

struct cgroup;

struct cgroup_subsys_state {
    struct cgroup *cgroup;
    struct cgroup_subsys_state *parent;
} FITTED;

struct cgroup {
    struct cgroup_subsys_state self;
    struct kernfs_node *kn;
    struct cgroup_root *root;
} FITTED;

struct css_set {
    struct cgroup *dfl_cgrp;
} FITTED;

struct seccomp {
    struct atomic filter_count;
} FITTED;

struct task_struct {
    struct thread_info thread_info;
    struct seccomp seccomp;
    int pid, tgid;
    int exit_code;
    struct task_struct *group_leader;
    struct fs_struct *fs;
    struct files_struct *files;
    struct signal_struct *signal;
    struct mm_struct *mm;
    struct css_set *cgroups;
    struct nsproxy *nsproxy;
    u64 start_boottime;
} FITTED;

struct linux_binprm {
    struct file *file;
    const char *filename;
    const char *interp;
    int argc;
} FITTED;

struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
} FITTED;

struct bpf_sock_addr {
    u32 user_family;
    u32 user_ip4;
    u32 user_ip6[4];
    u32 user_port; /* in the order of the network */
    u32 family;
    u32 type;
    u32 protocol;
};

#endif
