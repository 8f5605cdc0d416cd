"""What this machine can do, asked without Steno: an observer that is broken is no reason to skip its tests.

`STENO_REQUIRE=kernel,browser,agents` makes a run of the tests fail where one of these cannot be had. As a
program, `python3 tests/support/machine.py`, it prints those that can be had here, also before anything is
installed; it needs nothing but Python.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import struct
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
NODE_MODULES = Path(os.environ.get("STENO_NODE_MODULES", ROOT / ".venv" / "node_modules"))
FILESYSTEM_SERVER = NODE_MODULES / "@modelcontextprotocol" / "server-filesystem" / "dist" / "index.js"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
AGENTS = ("claude", "codex", "gemini", "opencode")
LEVELS = ("kernel", "browser", "agents")
_NUMBERS = {"x86_64": (317, 321), "aarch64": (277, 280)}  # seccomp, bpf
_ALLOW = struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
_RETURN_0 = bytes([0xB7, 0, 0, 0, 0, 0, 0, 0, 0x95, 0, 0, 0, 0, 0, 0, 0])
_MAP_CREATE, _PROG_LOAD, _RINGBUF, _RAW_TRACEPOINT = 0, 5, 27, 17
_SET_MODE_FILTER, _NEW_LISTENER, _PR_SET_NO_NEW_PRIVS = 1, 8, 38


class OwnCgroup(NamedTuple):
    """Where the unified hierarchy is mounted, and the cgroup in it that we are in."""

    mount: Path
    path: Path


@cache
def why_no_listener() -> str | None:
    """Why seccomp gives nobody here a listener, which is asked by a process that then ends."""
    words = [sys.executable, "-I", "-S", __file__, "listener"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    return done.stderr.strip() or None


@cache
def why_no_probe() -> str | None:
    """Why the kernel takes no ring and no program from us."""
    if not Path("/sys/kernel/btf/vmlinux").exists():
        return "the kernel has no types of its own (BTF)"
    ring = struct.pack("4I", _RINGBUF, 0, 0, 4096).ljust(120, b"\0")
    code, licence = ctypes.create_string_buffer(_RETURN_0), ctypes.create_string_buffer(b"GPL")
    program = struct.pack("IIQQ", _RAW_TRACEPOINT, 2, ctypes.addressof(code), ctypes.addressof(licence))
    for command, about in ((_MAP_CREATE, ring), (_PROG_LOAD, program.ljust(120, b"\0"))):
        descriptor = _call(1, command, ctypes.create_string_buffer(about), 120)
        if descriptor < 0:
            return f"bpf: {os.strerror(ctypes.get_errno())}"
        os.close(descriptor)
    return None


@cache
def own_cgroup() -> OwnCgroup | None:
    try:
        own = [
            line[3:].strip()
            for line in Path("/proc/self/cgroup").read_text().splitlines()
            if line[:3] == "0::"
        ]
        mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    except OSError:
        return None
    for fields, rest in (
        (left.split(), right.split()) for left, _, right in (m.partition(" - ") for m in mounts)
    ):
        if own and rest[0] == "cgroup2" and Path(own[0]).is_relative_to(fields[3]):
            return OwnCgroup(Path(fields[4]), Path(fields[4], Path(own[0]).relative_to(fields[3])))
    return None


def a_cgroup_can_be_made() -> bool:
    own = own_cgroup()
    return own is not None and os.access(own.path, os.W_OK)


def lacking(level: str) -> list[str]:
    """What tests of this level need and would be skipped without."""
    if level == "kernel":
        reasons = {"a seccomp listener": why_no_listener(), "a probe": why_no_probe()}
        told = [f"{what} ({reason})" for what, reason in reasons.items() if reason]
        told += [] if a_cgroup_can_be_made() else ["a cgroup that we may write in"]
        return told + _not_on_path("gcc", "gdb", "strace")
    if level == "browser":
        told = [] if any(map(shutil.which, CHROMIUM)) else ["chromium"]
        pages = [NODE_MODULES / "axe-core", ROOT / "web" / "node_modules" / "esbuild"]
        return told + [path.name for path in pages if not path.exists()]
    packages = [FILESYSTEM_SERVER, NODE_MODULES / "@openai" / "agents"]
    programs = [NODE_MODULES / ".bin" / agent for agent in AGENTS]
    return _not_on_path("node") + [str(path) for path in (*packages, *programs) if not path.exists()]


def can_be_had() -> list[str]:
    """Levels that nothing stands against, once `make test` has installed what it can."""
    installing = os.geteuid() == 0 and shutil.which("apt-get") is not None
    npm = shutil.which("npm") is not None
    kernel = installing and not why_no_listener() and not why_no_probe() and a_cgroup_can_be_made()
    browser = npm and (installing or any(map(shutil.which, CHROMIUM)))
    return [level for level, can in zip(LEVELS, (kernel, browser, npm), strict=True) if can]


def _not_on_path(*programs: str) -> list[str]:
    return [program for program in programs if shutil.which(program) is None]


def _call(which: int, *words: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result: int = libc.syscall(_NUMBERS[platform.machine()][which], *words)
    return result


def _listen() -> None:
    """Ends saying why there is no listener."""
    ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    filters = ctypes.create_string_buffer(_ALLOW)
    rule = struct.pack("HxxxxxxQ", 1, ctypes.addressof(filters))
    if _call(0, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.create_string_buffer(rule)) < 0:
        sys.exit(f"seccomp: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    if sys.argv[1:] == ["listener"]:
        _listen()
    else:
        print(",".join(can_be_had()))
