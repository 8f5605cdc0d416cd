"""A second witness: what strace says of a command, in the words of the kernel layer.

`witnessed` runs a command under strace and gives sets of (operation, path). strace shows paths as they were
requested, so each is made absolute by the working directories that strace itself shows, and then real.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_OPERATIONS = {
    "open": "open",
    "openat": "open",
    "openat2": "open",
    "creat": "open",
    "stat": "stat",
    "lstat": "stat",
    "newfstatat": "stat",
    "statx": "stat",
    "access": "access",
    "faccessat": "access",
    "faccessat2": "access",
    "readlink": "readlink",
    "readlinkat": "readlink",
    "mkdir": "mkdir",
    "mkdirat": "mkdir",
    "rmdir": "rmdir",
    "unlink": "unlink",
    "unlinkat": "unlink",
    "chmod": "chmod",
    "fchmodat": "chmod",
    "chown": "chown",
    "lchown": "chown",
    "fchownat": "chown",
    "utimensat": "utimes",
    "utime": "utimes",
    "truncate": "truncate",
    "chdir": "chdir",
    "execve": "exec",
    "statfs": "statfs",
    "getxattr": "getxattr",
    "lgetxattr": "getxattr",
    "listxattr": "getxattr",
    "llistxattr": "getxattr",
    "mknodat": "mknod",
    "mknod": "mknod",
}
_TWO_PATHS = {"rename", "renameat", "renameat2", "link", "linkat"}
_NOT_FOLLOWED = {
    "readlink",
    "mkdir",
    "rmdir",
    "unlink",
    "mknod",
    "rename",
    "rename_to",
    "link",
    "link_to",
    "symlink",
}
_LINK_CALLS = {"lstat", "lchown", "lgetxattr", "llistxattr"}
CALLS = set(_OPERATIONS) | _TWO_PATHS | {"symlink", "symlinkat", "fchdir"}
_LINE = re.compile(r"^(\d+) +(\w+)\((.*)$")
_END = re.compile(r"^(\d+) +\+\+\+ (?:exited with (\d+)|killed by (SIG\w+).*) \+\+\+$")
_PATH = re.compile(r'(?:(AT_FDCWD|\d+)<([^>]*)>(?:\(deleted\))?, )?"((?:[^"\\]|\\.)*)"')
_UNNAMED = re.compile(r"\d+<(/[^>]*)>, NULL, ")
_INET = re.compile(r'sa_family=AF_INET, sin_port=htons\((\d+)\), sin_addr=inet_addr\("([\d.]+)"\)')
_UNIX = re.compile(r'sa_family=AF_UNIX, sun_path="([^"]*)"')


@dataclass
class Witnessed:
    """Sets that two runs of the same command have in common."""

    effects: set[tuple[str, str]] = field(default_factory=set)
    addresses: set[tuple[str, str]] = field(default_factory=set)
    ends: Counter[str] = field(default_factory=Counter)


def witnessed(command: Sequence[str], cwd: Path, env: Mapping[str, str], log: Path) -> Witnessed:
    watch = [
        "strace",
        "-f",
        "-y",
        "-s",
        "4096",
        "-e",
        "trace=file,process,network,fchdir",
        "-e",
        "signal=none",
    ]
    subprocess.run(
        [*watch, "-o", str(log), "--", *command],
        cwd=cwd,
        env=dict(env),
        check=False,
        timeout=120,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    seen = Witnessed()
    cwds: dict[str, str] = {}
    for line in _whole_lines(log.read_text(errors="surrogateescape")):
        if (end := _END.match(line)) is not None:
            seen.ends[f"exit {end[2]}" if end[2] is not None else f"killed {end[3]}"] += 1
        elif (found := _LINE.match(line)) is not None:
            _note(seen, cwds, found[1], found[2], found[3], str(cwd))
    return seen


def _whole_lines(text: str) -> Iterator[str]:
    """Joins `<unfinished ...>` with its `resumed`."""
    begun: dict[str, str] = {}
    for line in text.splitlines():
        pid = line.split(" ", 1)[0]
        if line.endswith("<unfinished ...>"):
            begun[pid] = line.removesuffix("<unfinished ...>")
        elif (resumed := re.match(r"^\d+ +<\.\.\. \w+ resumed>(.*)$", line)) is not None:
            yield begun.pop(pid, "") + resumed[1]
        else:
            yield line


def _note(seen: Witnessed, cwds: dict[str, str], pid: str, call: str, rest: str, start: str) -> None:
    cwd = cwds.setdefault(pid, start)
    succeeded = re.search(r"\) += (\d+)", rest)
    if call in {"clone", "clone3", "vfork", "fork"} and succeeded is not None:
        cwds.setdefault(succeeded[1], cwd)
    if call in {"connect", "bind"}:
        if (inet := _INET.search(rest)) is not None:
            seen.addresses.add((call, f"inet:{inet[2]}:{inet[1]}"))
        elif (unix := _UNIX.search(rest)) is not None:
            seen.addresses.add((call, f"unix:{unix[1]}"))
    if call not in CALLS or re.match(r'\d+<.*>, "", ', rest):
        return  # without a path it is a question about a descriptor, whose opening stands here already
    places = [_absolute(cwd, *found.groups()) for found in _PATH.finditer(_arguments(call, rest))]
    for operation, place in _effects(call, rest, places):
        nofollow = operation in _NOT_FOLLOWED or call in _LINK_CALLS or "NOFOLLOW" in rest or "O_EXCL" in rest
        seen.effects.add((operation, real(place, follow=not nofollow)))
        if call == "chdir" and succeeded is not None:
            cwds[pid] = place
    if call == "utimensat" and (fd := _UNNAMED.match(rest)) is not None:
        seen.effects.add(("utimes", fd[1]))
    if call == "fchdir" and (fd := re.match(r"\d+<([^>]*)>", rest)) is not None:
        cwds[pid] = fd[1]
        seen.effects.add(("chdir", fd[1]))


def _arguments(call: str, rest: str) -> str:
    """The part with the paths, without what execve is given or readlink answers."""
    if call in _TWO_PATHS or call.startswith("symlink"):
        return rest
    found = _PATH.search(rest)
    return rest[: found.end()] if found else ""


def _absolute(cwd: str, _at: str | None, directory: str | None, text: str) -> str:
    path = text.encode("latin-1", "surrogateescape").decode("unicode_escape")
    if path == "":
        return directory or ""
    return str(Path(directory if directory is not None else cwd) / path)


def _effects(call: str, rest: str, places: list[str]) -> Iterator[tuple[str, str]]:
    if call in _TWO_PATHS and len(places) == 2:
        verb = "link" if call.startswith("link") else "rename"
        yield verb, places[0]
        yield f"{verb}_to", places[1]
    elif call.startswith("symlink") and len(places) == 2:
        yield "symlink", places[1]
    elif call in _OPERATIONS and places:
        removes = call == "unlinkat" and "AT_REMOVEDIR" in rest
        yield "rmdir" if removes else _OPERATIONS[call], places[0]


def real(path: str, *, follow: bool) -> str:
    """The path with its links followed; the last of them only if the call does."""
    if not path.startswith("/") or path.startswith("/proc/self/fd/"):
        return path.replace("/proc/self/", "/proc/0/")  # it would be our own
    path = os.path.normpath(path) if not Path(path).parent.exists() else path
    if follow:
        return os.path.realpath(path)
    parent, name = os.path.split(path)
    return os.path.join(os.path.realpath(parent), name)  # noqa: PTH118 - a name may be anything
