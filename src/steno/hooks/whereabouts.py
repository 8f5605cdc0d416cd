"""Who runs the hook, and whether the intake is in memory: as /proc tells it.

In: the number of a process, or a path. Out: the number of the process that asked for the hook, or whether
what is written there stays in memory. Never raises; what cannot be known is answered on the safe side.
"""

from __future__ import annotations

import os

from steno.capture.procfs import parent

_SHELLS = frozenset({"sh", "dash", "bash", "zsh", "ksh", "ash", "fish", "busybox"})
_SEPARATORS = frozenset(";|&\n")
_MOST_SHELLS = 8
_MOST_BYTES = 128 << 10
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


def who_asked(agent: str) -> int:
    """The nearest process above us that is not a shell whose command text is this hook."""
    pid = os.getppid()
    for _ in range(_MOST_SHELLS):
        above = parent(pid) if _is_only_for(agent, _words(pid)) else 0
        if above <= 0:
            break
        pid = above
    return pid


def is_in_memory(path: str) -> bool:
    """By the table of mounts; False also when it does not tell."""
    try:
        device = os.stat(path).st_dev  # noqa: PTH116 - hooks have a start-up budget
        table = _read("/proc/self/mountinfo").decode("utf-8", "replace")
    except OSError:
        return False
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in table.splitlines():
        mount, _, filesystem = line.partition(" - ")
        if mount.split(" ")[2:3] == [wanted]:
            return filesystem.split(" ")[0] in _IN_MEMORY
    return False


def _is_only_for(agent: str, words: list[str]) -> bool:
    """`sh -c 'steno hook claude'`: a text of one command. A shell that does more is somebody's program."""
    if len(words) < 3 or words[0].rpartition("/")[2].lstrip("-") not in _SHELLS:  # noqa: PLR2004 - sh -c TEXT
        return False
    has_text = any(word.startswith("-") and not word.startswith("--") and "c" in word for word in words[1:-1])
    return has_text and any(f"hook {agent}" in word and not _SEPARATORS & set(word) for word in words[2:])


def _words(pid: int) -> list[str]:
    try:
        return _read(f"/proc/{pid}/cmdline").decode("utf-8", "replace").rstrip("\0").split("\0")
    except OSError:
        return []


def _read(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        found = b""
        while len(found) < _MOST_BYTES and (piece := os.read(fd, _MOST_BYTES)):
            found += piece
        return found
    finally:
        os.close(fd)
