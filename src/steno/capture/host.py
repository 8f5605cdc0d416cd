"""Facts of the machine, and of the environment that the command is given.

A tool that is missing or slow is not among the versions; values of variables are told only where they are
harmless.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from steno.agents.made import STATE_VARIABLES
from steno.evidence.kinds import HookProgram, Host, ProgramFile

_SECONDS = 5.0  # for all of them together, from when they are asked
_TOOLS = ("git", "node")
_REMEMBERED = 32
# Every name is recorded; a value only when it cannot say more than how programs format and find things.
_HARMLESS = frozenset(
    {
        "CI",
        "COLORTERM",
        "COLUMNS",
        "EDITOR",
        "FORCE_COLOR",
        "HOME",
        "LANG",
        "LANGUAGE",
        "LINES",
        "LOGNAME",
        "NO_COLOR",
        "PAGER",
        "PATH",
        "PWD",
        "SHELL",
        "TERM",
        "TERM_PROGRAM",
        "TMPDIR",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
        "VISUAL",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    }
)


def describe_host() -> Host:
    system = os.uname()
    return Host(
        os=system.sysname,
        release=system.release,
        machine=system.machine,
        platform=sys.platform,
        name=system.nodename,
    )


def original_environment() -> dict[str, str]:
    """The environment we were given. Python adds LC_CTYPE to its own where there is no locale."""
    try:
        block = Path("/proc/self/environ").read_bytes()
    except OSError:
        return dict(os.environ)
    pairs = (entry.partition(b"=") for entry in reversed(block.split(b"\0")) if b"=" in entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def describe_environment(environ: Mapping[str, str]) -> dict[str, str | None]:
    def value(name: str) -> str | None:
        return (
            environ[name] if name in _HARMLESS or name in STATE_VARIABLES or name.startswith("LC_") else None
        )

    return {name: value(name) for name in sorted(environ)}


class ToolVersions:
    """Asks each tool for its version while other work goes on, and remembers the answer for that file."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._memory = _memory_path(environ)
        self._known = _recall(self._memory)
        self._versions: dict[str, str] = {}
        self._began = time.monotonic()
        self._asked: dict[str, tuple[str, subprocess.Popen[bytes]]] = {}
        for name in _TOOLS:
            self._find(name, environ)

    def collect(self) -> dict[str, str]:
        deadline = self._began + _SECONDS
        for name, (key, process) in self._asked.items():
            answer = _answer(process, deadline)
            if answer:
                self._versions[name] = self._known[key] = answer
        if self._asked and self._memory is not None:
            _remember(self._memory, self._known)
        return {"python": ".".join(map(str, sys.version_info[:3])), **self._versions}

    def _find(self, name: str, environ: Mapping[str, str]) -> None:
        program = find_trusted(name, environ.get("PATH", os.defpath))
        if program is None:
            return
        key = _identity(program)
        if key in self._known:
            self._versions[name] = self._known[key]
            return
        with suppress(OSError):
            self._asked[name] = (
                key,
                subprocess.Popen(
                    [program, "--version"],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,  # so that what it starts ends with it
                ),
            )


def describe_hook_program() -> HookProgram:
    """What an agent of the run starts as our hook: this very installation."""
    beside, own = Path(sys.executable).with_name("steno"), Path(sys.argv[0])
    script = own if own.name == "steno" and own.exists() else beside
    home = os.path.expanduser("~")  # noqa: PTH111 - unlike pathlib's, it does not raise
    libraries = {
        os.path.realpath(path) for path in (*sys.path, sys.prefix, sys.base_prefix) if path.startswith(os.sep)
    }
    reads = sorted(path for path in libraries if not f"{home}/".startswith(f"{path.rstrip('/')}/"))
    return HookProgram(_program_file(script), _program_file(Path(sys.executable)), reads)


def _program_file(path: Path) -> ProgramFile | None:
    try:
        real = path.resolve(strict=True)
        found = real.stat()
    except OSError:
        return None
    return ProgramFile(str(real), f"{found.st_dev}:{found.st_ino}:{found.st_ctime_ns}")


def find_trusted(name: str, path: str) -> str | None:
    """A program of PATH, by an absolute entry in which nobody but its owner could have planted it."""
    entries = [entry for entry in path.split(os.pathsep) if entry.startswith(os.sep) and not _is_open(entry)]
    return shutil.which(name, path=os.pathsep.join(entries))


def _is_open(directory: str) -> bool:
    """Whether every user may put a file there."""
    try:
        return bool(Path(directory).stat().st_mode & stat.S_IWOTH)
    except OSError:
        return False  # then nothing is found there


def _identity(program: str) -> str:
    """A program by its file: an update or another one of the same name is asked anew."""
    path = Path(program).resolve()
    found = path.stat()
    return f"{path}:{found.st_size}:{found.st_mtime_ns}"


def _answer(process: subprocess.Popen[bytes], deadline: float) -> str | None:
    try:
        answer, _ = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(process)
    words = answer.decode("utf-8", "replace").split()
    return words[-1] if process.returncode == 0 and words else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the tool with all that it started; nobody is waited for who only holds its output."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()
    process.wait()


def _memory_path(environ: Mapping[str, str]) -> Path | None:
    cache = environ.get("XDG_CACHE_HOME") or (f"{home}/.cache" if (home := environ.get("HOME")) else None)
    return Path(cache) / "steno" / "tool-versions.json" if cache else None


def _recall(memory: Path | None) -> dict[str, str]:
    if memory is None:
        return {}
    try:
        return msgspec.json.decode(memory.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}  # nothing is lost: the tools are asked again


def _remember(memory: Path, known: dict[str, str]) -> None:
    newest = dict(list(known.items())[-_REMEMBERED:])
    with suppress(OSError):  # nothing is lost: the tools are asked again
        memory.parent.mkdir(parents=True, exist_ok=True)
        temporary = memory.with_name(f"{memory.name}.{os.getpid()}")
        temporary.write_bytes(msgspec.json.encode(newest))
        temporary.replace(memory)
