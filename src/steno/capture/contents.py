"""The content of one file at the end of a run, copied without being led astray.

In: a path and the state that was seen there. Out: its bytes, or why there are none. The file is opened only
after an O_PATH descriptor has shown that it is the regular file that was seen; so no FIFO, device or planted
link is ever opened. Never reads more than the size that was seen, nor files that a kernel makes up.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from steno.capture.directories import Directories
from steno.capture.observed import FileState

TOO_LARGE, UNREADABLE, CHANGING = "too_large", "unreadable", "changing"
_PROBE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_MOUNTS = Path("/proc/self/mountinfo")
# Reading a file of these may wait for ever, or do something.
_MADE_UP = frozenset(
    (
        *("autofs", "binfmt_misc", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "efivarfs"),
        *("fusectl", "mqueue", "nsfs", "proc", "pstore", "securityfs", "selinuxfs", "sysfs", "tracefs"),
    )
)


class Copy(NamedTuple):
    """`why` is empty for a whole content. One that changed while it was read has both."""

    data: bytes | None
    why: str = ""


class Contents:
    def __init__(self, directories: Directories, largest: int) -> None:
        self._directories = directories
        self._largest = largest
        self._made_up = _devices_of(_MADE_UP)

    def copy(self, path: bytes, seen: FileState) -> Copy:
        if seen.dev in self._made_up:
            return Copy(None, UNREADABLE)
        if seen.size > self._largest:
            return Copy(None, TOO_LARGE)
        try:
            above, name = self._directories.above(path)
            probe = os.open(name, _PROBE, dir_fd=above)
            try:
                return _copy(probe, seen)
            finally:
                os.close(probe)
        except FileNotFoundError:
            return Copy(None, CHANGING)
        except (OSError, MemoryError):
            return Copy(None, UNREADABLE)


def _copy(probe: int, seen: FileState) -> Copy:
    found = os.fstat(probe)
    if not stat.S_ISREG(found.st_mode) or (found.st_dev, found.st_ino) != (seen.dev, seen.ino):
        return Copy(None, CHANGING)
    fd = _reopened(probe)
    try:
        return _read(fd, seen)
    finally:
        os.close(fd)


def _reopened(probe: int) -> int:
    path = f"/proc/self/fd/{probe}"
    try:
        return os.open(path, _READ | os.O_NOATIME)
    except PermissionError:  # only the owner may leave the time of access as it is
        return os.open(path, _READ)


def _read(fd: int, seen: FileState) -> Copy:
    pieces: list[bytes] = []
    left = seen.size
    while left and (piece := os.read(fd, left)):
        pieces.append(piece)
        left -= len(piece)
    data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    now = os.fstat(fd)
    same = (now.st_size, now.st_mtime_ns, now.st_ctime_ns) == (seen.size, seen.mtime_ns, seen.ctime_ns)
    return Copy(data, "" if same and not left else CHANGING)


def _devices_of(kinds: frozenset[str]) -> frozenset[int]:
    devices: set[int] = set()
    with suppress(OSError, ValueError):
        for line in _MOUNTS.read_text("utf-8", "surrogateescape").splitlines():
            before, _, after = line.partition(" - ")
            if after.partition(" ")[0] in kinds:
                major, _, minor = before.split(" ")[2].partition(":")
                devices.add(os.makedev(int(major), int(minor)))
    return frozenset(devices)
