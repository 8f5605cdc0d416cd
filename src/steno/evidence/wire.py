"""The records that steno-trace writes, as Python reads them.

Made by native/generate.py from native/wire.toml; change that and run it again.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

VERSION = 1
HEADER_FILE = "header.bin"
EVENTS_FILE = "events.bin"
STATES_FILE = "states.bin"
STRINGS_FILE = "strings.bin"
BLOB_FILE = "blob-"
LINKED_FILE = "linked-"
MAGIC = 0x314B4F4E45545300
RESULT_UNKNOWN = 32767
RESULT_FAILED = 32766
STATE_NONE = 0
STATE_ABSENT = 1
STATE_FIRST = 2
EVENT = struct.Struct("<QIIHHHhIIIIQQ")
STATE = struct.Struct("<QQQqqIIIIIIII")
HEADER = struct.Struct("<QIIQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ16s2048I")

NOTES = {
    "path_unreadable": 1,
    "path_cut": 2,
    "compat": 4,
    "not_resolved": 8,
    "other_root": 16,
    "argv_cut": 32,
    "privilege_lost": 64,
    "refused": 128,
    "no_access": 256,
    "exchange": 512,
    "deleted": 1024,
    "emptied": 2048,
    "by_probe": 4096,
    "confirmed": 8192,
    "late": 16384,
    "unconfirmed": 32768,
}

FEATURES = {
    "no_new_privs": 1,
    "sync_wake_up": 2,
    "wait_killable": 4,
    "exit_info": 8,
    "split": 16,
    "io_uring_allowed": 32,
    "notify": 64,
    "ebpf": 128,
    "cgroup": 256,
    "aarch64": 512,
}

CONTENT = {
    "not_kept": 0,
    "kept": 1,
    "too_large": 2,
    "unreadable": 3,
    "changing": 4,
    "ignored": 5,
}


class Event(NamedTuple):
    mono_ns: int
    process: int
    tid: int
    op: int
    call: int
    notes: int
    result: int
    path: int
    resolved: int
    extra: int
    state: int
    arg: int
    arg2: int


class State(NamedTuple):
    dev: int
    ino: int
    size: int
    mtime_ns: int
    ctime_ns: int
    mode: int
    uid: int
    gid: int
    nlink: int
    target: int
    blob: int
    content: int
    rdev: int


class Header(NamedTuple):
    magic: int
    version: int
    threads: int
    events: int
    states: int
    strings: int
    blobs: int
    lost_events: int
    lost_blobs: int
    unreadable: int
    undecoded: int
    outlived: int
    unknown_parents: int
    unresolved: int
    elsewhere: int
    unlisted: int
    unmet_forks: int
    unseen_exits: int
    privilege_lost: int
    listeners_refused: int
    closed: int
    split_stdout: int
    split_stderr: int
    split_tty: int
    split_unattributed: int
    split_unwatched: int
    features: int
    ring_lost: int
    probe_unread: int
    probe_unplaced: int
    only_notify: int
    only_ebpf: int
    escaped: int
    untaken: int
    taken_over: int
    store_refused: int
    cgroup: int
    nonce: bytes
    counted: tuple[int, ...]


class Op(NamedTuple):
    name: str
    code: int
    category: str
    changes: bool
    arg: str
    arg2: str
    extra: str


OPS = {
    op.code: op
    for op in (
        Op("process", 1, "process", False, "pid; from bit 32 the parent", "start time in ticks", ""),
        Op("fork", 2, "process", False, "clone flags", "number of the new process, when known", ""),
        Op("exec", 3, "process", False, "how many arguments", "", "arguments, each ended by NUL"),
        Op("interpreter", 4, "process", False, "", "", "the argument on the #! line"),
        Op("exit", 5, "process", False, "wait status", "1: told by the kernel, 0: asked for", ""),
        Op("signal", 6, "process", False, "signal", "pid it is meant for", ""),
        Op("ptrace", 7, "process", False, "request", "pid", ""),
        Op("seccomp", 8, "process", False, "operation", "flags", ""),
        Op("personality", 9, "process", False, "persona", "", ""),
        Op("namespace", 10, "process", False, "flags", "", ""),
        Op("outlived", 11, "process", False, "pid", "", ""),
        Op("reach", 12, "process", False, "0 the run's, 1 outside, 2 the recorder's, 3 not known", "pid", ""),
        Op("chdir", 20, "file", False, "", "", ""),
        Op("chroot", 21, "file", False, "", "", ""),
        Op("mount", 22, "file", True, "flags", "", "source"),
        Op("umount", 23, "file", True, "flags", "", ""),
        Op("pivot_root", 24, "file", True, "", "", "old root"),
        Op("open", 30, "file", False, "open flags, as on x86_64", "mode", ""),
        Op("follow", 31, "file", False, "", "", ""),
        Op("stat", 32, "file", False, "flags", "", ""),
        Op("access", 33, "file", False, "mode", "", ""),
        Op("readlink", 34, "file", False, "", "", ""),
        Op("list", 35, "file", False, "", "", ""),
        Op("mkdir", 36, "file", True, "mode", "", ""),
        Op("mknod", 37, "file", True, "mode", "device", ""),
        Op("rename", 38, "file", True, "flags", "", "new name, resolved"),
        Op("rename_to", 39, "file", True, "flags", "", "old name, resolved"),
        Op("link", 40, "file", True, "flags", "", "new name, resolved"),
        Op("link_to", 41, "file", True, "flags", "", "old name, resolved"),
        Op("symlink", 42, "file", True, "", "", "target"),
        Op("unlink", 43, "file", True, "", "", ""),
        Op("rmdir", 44, "file", True, "", "", ""),
        Op("truncate", 45, "file", True, "length", "", ""),
        Op("chmod", 46, "file", True, "mode", "", ""),
        Op("chown", 47, "file", True, "uid", "gid", ""),
        Op("utimes", 48, "file", True, "", "", ""),
        Op("setxattr", 49, "file", True, "", "", "name"),
        Op("removexattr", 50, "file", True, "", "", "name"),
        Op("getxattr", 51, "file", False, "", "", "name"),
        Op("statfs", 52, "file", False, "", "", ""),
        Op("watch", 53, "file", False, "", "", ""),
        Op("handle", 54, "file", False, "", "", ""),
        Op("open_handle", 55, "file", False, "open flags, as on x86_64", "", ""),
        Op("map", 56, "file", True, "protection", "flags", ""),
        Op("setattr", 57, "file", True, "request", "", ""),
        Op("moved", 58, "file", True, "", "", "new name, resolved"),
        Op("moved_to", 59, "file", True, "", "", "old name, resolved"),
        Op("socket", 70, "net", False, "family", "type", ""),
        Op("connect", 71, "net", False, "descriptor", "", ""),
        Op("bind", 72, "net", False, "descriptor", "", ""),
        Op("listen", 73, "net", False, "descriptor", "", ""),
        Op("accept", 74, "net", False, "descriptor", "", ""),
        Op("send", 75, "net", False, "descriptor", "", ""),
        Op("answer", 76, "net", False, "", "", "an address that it stands for"),
        Op("io_uring", 80, "other", False, "entries", "", ""),
        Op("lost", 81, "other", False, "how many events of the probe are missing here", "processor", ""),
    )
}
