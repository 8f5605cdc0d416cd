"""What can be observed on this machine, and what is left over: the findings of `steno doctor`."""

from __future__ import annotations

import json
import os
import platform
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from steno import __version__
from steno.capture import ignore
from steno.capture.cgroup import Refusal, make_scope
from steno.capture.observer import (
    BOTH,
    EBPF,
    NOT_BUILT,
    NOTIFY,
    READY,
    UNKNOWN,
    check_probe,
    find_program,
    hint_of,
)
from steno.capture.tmpfs import memory_directories, room_in
from steno.errors import CaptureError, StoreError
from steno.evidence.run_id import format_run_id
from steno.model import runs
from steno.text import units
from steno.text.safe import listed, pad, visible
from steno.text.style import Paint

SCHEMA = "steno.doctor.v1"
NOT_INSTALLED = "not_installed"
_LITTLE_ROOM = 256 << 20
_SECONDS = 5.0
_RUNS_SHOWN = 5
_LABEL = 16
# What steno-trace may find lacking, and what would bring it.
_FEATURE_HINTS = {
    "seccomp_notify": "seccomp user notification needs Linux 5.5, and a container that allows seccomp(2)",
    "no_new_privs": "the kernel refuses no_new_privs",
    "memory": "allow process_vm_readv: in a container --cap-add SYS_PTRACE, else kernel.yama.ptrace_scope=1",
    "wait_killable": "Linux 5.19 keeps interrupted calls from being asked twice",
    "sync_wake_up": "Linux 6.6 makes every recorded call faster",
    "exit_info": "Linux 6.15 tells how every process ended",
    "split": "Linux 5.14 and kcmp(2) let the terminal's output be split into streams",
}

_CGROUP_HINTS = {
    "no_cgroup2_mount": "mount -t cgroup2 none /sys/fs/cgroup",
    "not_permitted": "run as root, or in a cgroup of your own: systemd-run --user --scope steno run …",
    "read_only": "in a container: mount /sys/fs/cgroup writable, with a cgroup namespace of its own",
}


class Mark(StrEnum):
    OK = "ok"
    LIMITED = "limited"  # recording works, and sees or keeps less
    MISSING = "missing"  # recording does not work without it


_ROLES = {Mark.OK: "good", Mark.LIMITED: "warning", Mark.MISSING: "bad"}


class Finding(NamedTuple):
    about: str
    mark: Mark
    says: str
    hint: str | None = None
    reason: str | None = None  # a fixed word, where an observer cannot be had for it


def checkup(store: Path, environ: Mapping[str, str]) -> list[Finding]:
    found = [
        Finding("steno", Mark.OK, f"{__version__}, on Python {platform.python_version()}"),
        *_store(store),
        _pseudo_terminals(),
        _git(environ),
        _private_copies(),
        _ignored_paths(environ),
        _replay_tools(environ),
        _kernel(environ),
        _cgroup(),
        _ebpf(environ),
    ]
    return [*found, *_runs(store)]


def exit_code(found: list[Finding]) -> int:
    """A record without a kernel layer is not what anybody installed Steno for."""
    return 1 if any(one.mark is Mark.MISSING or one.reason == NOT_INSTALLED for one in found) else 0


def to_json(found: list[Finding], store: Path) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "steno_version": __version__,
        "python_version": platform.python_version(),
        "store": str(store),
        "recording_works": not any(one.mark is Mark.MISSING for one in found),
        "observers": _observers(found),
        "findings": [{**one._asdict(), "mark": str(one.mark)} for one in found],
    }


def _observers(found: list[Finding]) -> dict[str, str | None]:
    """Each observer, with the word that says why it cannot be had."""
    why = {one.about: one.reason for one in found}
    ebpf = "no_cgroup" if why["cgroup"] else why["eBPF"]
    return {NOTIFY: why["kernel"], EBPF: ebpf, BOTH: why["kernel"] or ebpf}


def lines(found: list[Finding], paint: Paint) -> Iterator[str]:
    for one in found:
        yield f"{paint(_ROLES[one.mark], pad(one.mark, 8))} {pad(one.about, _LABEL)} {visible(one.says)}"
        if one.hint:
            yield " " * (9 + _LABEL + 1) + visible(one.hint)


def _store(store: Path) -> Iterator[Finding]:
    place = store
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        what = "is not a directory" if not place.is_dir() else "cannot be written"
        yield Finding(
            "store", Mark.MISSING, f"{store}: {place} {what}", "choose another with --store DIR or STENO_HOME"
        )
        return
    yield Finding("store", Mark.OK, str(store) if place == store else f"{store} (made by the first run)")
    if place == store and stat.S_IMODE(store.stat().st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
        yield Finding("store", Mark.LIMITED, "others on this machine can look into it", f"chmod 700 {store}")
    room = room_in(place)
    if room < _LITTLE_ROOM:
        yield Finding(
            "free space", Mark.LIMITED, f"only {units.size(room)} left", "make room, or move the store"
        )
    else:
        yield Finding("free space", Mark.OK, units.size(room))


def _pseudo_terminals() -> Finding:
    try:
        master, slave = os.openpty()
    except OSError as error:
        return Finding(
            "terminals",
            Mark.MISSING,
            f"no pseudo-terminal can be opened: {error.strerror}",
            "mount devpts on /dev/pts; until then only `steno run --pty never` works",
        )
    os.close(master)
    os.close(slave)
    return Finding("terminals", Mark.OK, "pseudo-terminals can be opened")


def _git(environ: Mapping[str, str]) -> Finding:
    version = _answer(environ, "git", "--version")
    if version is None:
        return Finding(
            "git",
            Mark.LIMITED,
            "not found: what a run changes in a repository is not recorded",
            "apt install git, dnf install git or apk add git",
        )
    return Finding("git", Mark.OK, version)


def _private_copies() -> Finding:
    places = memory_directories()
    if places:
        return Finding("private copies", Mark.OK, f"in memory, below {places[0]}")
    return Finding(
        "private copies",
        Mark.LIMITED,
        "no file system in memory: copies of changed files are kept in the run's folder while it lasts",
        "mount a tmpfs on /dev/shm, or set XDG_RUNTIME_DIR to one",
    )


def _ignored_paths(environ: Mapping[str, str]) -> Finding:
    """Which paths are not recorded: where that is written, or what a run does without it."""
    try:
        path = ignore.config_path(environ)
        entries = ignore.listed_in(path)
    except CaptureError as error:
        return Finding("ignored paths", Mark.MISSING, str(error), error.hint)
    if entries is not None:
        return Finding("ignored paths", Mark.OK, f"{path} ({units.counted(len(entries), 'path')})")
    why = ignore.why_not_made(path)
    if why is None:
        return Finding("ignored paths", Mark.OK, f"{path} (made by the first run, with the default list)")
    return Finding(
        "ignored paths",
        Mark.LIMITED,
        f"the default list is used: {path} cannot be made, {why}",
        "set XDG_CONFIG_HOME to a directory of yours, if you want another list",
    )


def _replay_tools(environ: Mapping[str, str]) -> Finding:
    missing = [
        name for name in ("script", "scriptreplay") if shutil.which(name, path=environ.get("PATH")) is None
    ]
    if not missing:
        return Finding(
            "scriptreplay", Mark.OK, "installed; it plays what `steno export --as agent-audit` writes"
        )
    return Finding(
        "scriptreplay",
        Mark.OK,
        f"{' and '.join(missing)} not installed; nothing needs it, `steno play` plays every run",
        "apt install bsdutils, or util-linux elsewhere, if you want it",
    )


def _kernel(environ: Mapping[str, str]) -> Finding:
    if platform.system() != "Linux":
        return Finding("kernel", Mark.LIMITED, "system calls are recorded on Linux only", None, "not_linux")
    try:
        program = find_program("steno-trace", environ)
    except CaptureError as error:
        return Finding(
            "kernel",
            Mark.LIMITED,
            f"files, processes and connections are NOT recorded: {error}",
            error.hint,
            NOT_INSTALLED,
        )
    try:
        tried = _run(environ, str(program), "--probe")
        features = json.loads(tried.stdout)
        lacking = [name for name, there in features.items() if not there]
    except (OSError, subprocess.SubprocessError, ValueError, AttributeError) as error:
        says = f"system calls are not recorded: {program} does not tell what it can do ({error})"
        return Finding("kernel", Mark.LIMITED, says, hint_of(NOT_BUILT), UNKNOWN)
    without = f"; lacking: {listed(lacking, len(lacking))}" if lacking else ""
    hint = "; ".join(_FEATURE_HINTS[name] for name in lacking if name in _FEATURE_HINTS) or None
    if tried.returncode:
        says = f"system calls cannot be recorded here{without}"
        return Finding("kernel", Mark.LIMITED, says, hint, "not_supported")
    return Finding("kernel", Mark.OK, f"system calls are recorded{without}", hint)


def _cgroup() -> Finding:
    """Tried: a run's cgroup is made and removed."""
    made = make_scope(format_run_id(time.time_ns() // 1_000_000, os.urandom(4)))
    if isinstance(made, Refusal):
        says = f"a run can have none of its own ({made.reason}: {made.detail})"
        return Finding("cgroup", Mark.LIMITED, says, _CGROUP_HINTS.get(made.reason), made.reason)
    made.end()
    made.close()
    return Finding("cgroup", Mark.OK, f"a run has one of its own, in the {made.kind} hierarchy")


def _ebpf(environ: Mapping[str, str]) -> Finding:
    state, says = check_probe(environ)
    if state == READY:
        return Finding("eBPF", Mark.OK, "can be loaded: results are recorded, and two witnesses compared")
    return Finding("eBPF", Mark.LIMITED, f"not used ({state}: {says})", hint_of(state), state)


def _runs(store: Path) -> Iterator[Finding]:
    try:
        rows = list(runs.rows(store))
    except StoreError as error:
        yield Finding("runs", Mark.MISSING, str(error), error.hint)
        return
    yield Finding("runs", Mark.OK, units.counted(len(rows), "run"))
    unsealed = [row.run_id for row in rows if row.state is runs.RunState.UNSEALED]
    damaged = [row.run_id for row in rows if row.state is runs.RunState.DAMAGED]
    if unsealed:
        says = f"{units.counted(len(unsealed), 'run')} not sealed: {listed(unsealed, _RUNS_SHOWN)}"
        yield Finding("runs", Mark.LIMITED, says, "steno recover --all")
    if damaged:
        says = f"{units.counted(len(damaged), 'run')} damaged: {listed(damaged, _RUNS_SHOWN)}"
        yield Finding("runs", Mark.LIMITED, says, f"steno verify {damaged[0]}")


def _answer(environ: Mapping[str, str], *words: str) -> str | None:
    try:
        found = _run(environ, *words)
        found.check_returncode()
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.decode("utf-8", "replace").strip() or None


def _run(environ: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        words,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
