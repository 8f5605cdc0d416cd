"""The kernel observer: steno-trace in the keeper's place.

In: the program, where its frames go, and what is wished of it. Out: a `Keeper` that speaks the same status
records as the plain one, and three more: whether the probe and the filter are in place, and that the frames
are whole. Never opens a frame: what steno-trace writes is read from the spool.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from steno.capture.cgroup import Refusal, Scope
from steno.capture.ignore import load
from steno.capture.keeper import Descriptors, Keeper, Launch
from steno.capture.native_program import find_program, spawn
from steno.capture.probe import PROGRAM as PROBE
from steno.capture.probe import Probe, find_probe, hint_of, may_load
from steno.errors import CaptureError
from steno.evidence.ignored import IgnoreRules

PROGRAM = "steno-trace"
AUTO, NOTIFY, EBPF, BOTH, NONE = "auto", "notify", "ebpf", "both", "none"
WISHES = (AUTO, NOTIFY, EBPF, BOTH, NONE)
_PROC = Path("/proc/self/fd")
_MOST_LINKS = 40  # as the kernel follows


class Observer(NamedTuple):
    """A chosen observer: the program, what it need not keep the content of, and who is to witness."""

    program: Path
    ignored: IgnoreRules
    mode: str = NOTIFY  # or EBPF, or BOTH
    probe: Probe | None = None  # in the last two
    optional: bool = False  # without the probe it goes on as NOTIFY

    @property
    def stops(self) -> bool:
        """Whether calls wait for it: only then can it tell who writes on a terminal."""
        return self.mode != EBPF


class InScope(NamedTuple):
    """Where the command is to be born, and the end of the probe's socket; None where there is none."""

    cgroup: int | None = None
    probe: int | None = None


class Frames(NamedTuple):
    """Where and how the frames are written, and the lock that is held as long as they are."""

    folder: int  # descriptor of the directory
    lock: int
    store: Path  # closed to the run where its calls are stopped, and its content is never copied
    keys: Path | None  # closed like the store: the directory of the local keys
    run_id: str  # this run's folder in it
    key: bytes
    origin_ns: int
    max_blob: int
    allow_io_uring: bool


def why_unobserved(wish: str, environ: Mapping[str, str]) -> CaptureError | None:
    """Why `auto` has nothing to choose from: the kernel's observer is not installed."""
    if wish != AUTO:
        return None
    try:
        find_program(PROGRAM, environ)
    except CaptureError as error:
        return error
    return None


def choose_observer(wish: str, environ: Mapping[str, str]) -> Observer | None:
    """None: nothing is observed. `auto` takes what there is; every other wish is insisted on."""
    if wish == NONE or why_unobserved(wish, environ):
        return None
    program = find_program(PROGRAM, environ)
    if not _PROC.exists():
        raise CaptureError(
            f"the kernel cannot be watched: {_PROC} is not there",
            hint="mount -t proc proc /proc, or go without with --observer none",
        )
    observer = Observer(program, load(environ))
    if wish in {EBPF, BOTH}:
        return observer._replace(mode=wish, probe=find_probe(environ))
    return _with_a_probe_if_possible(observer, environ) if wish == AUTO else observer


def _with_a_probe_if_possible(observer: Observer, environ: Mapping[str, str]) -> Observer:
    if not may_load():
        return observer
    try:
        find_program(PROBE, environ)
    except CaptureError:
        return observer
    return observer._replace(mode=BOTH, probe=find_probe(environ), optional=True)


def fit_to_scope(observer: Observer, scope: Scope | Refusal) -> Observer:
    """A probe sees what happens in the run's cgroup: without one there is nothing for it to see."""
    if isinstance(scope, Scope) or observer.probe is None:
        return observer
    if not observer.optional:
        raise CaptureError(
            f"eBPF cannot watch the command: it cannot have a cgroup ({scope.reason}: {scope.detail})",
            hint=hint_of("no_cgroup"),
        )
    return observer._replace(mode=NOTIFY, probe=None)


def launch_observed(
    job: Launch,
    observer: Observer,
    frames: Frames,
    scope: InScope,
    *,
    split: int | None,
    outputs: Sequence[int],
) -> Keeper:
    """`outputs`: our ends of the command's, which steno-trace empties if we die."""
    status_read, status_write = os.pipe()
    leash_read, leash_write = os.pipe()
    key_read, key_write = os.pipe()
    os.write(key_write, frames.key)
    os.close(key_write)
    store, keys = _opened(frames.store), None if frames.keys is None else _opened(frames.keys)
    options = {
        "--status": status_write,
        "--leash": leash_read,
        "--key": key_read,
        "--spool": frames.folder,
        "--hold": frames.lock,
        "--store": store,
        **_streams(job.on),
        **_present({"--terminal": job.terminal, "--split": split}),
        **_present({"--cgroup": scope.cgroup, "--probe-at": scope.probe, "--keys": keys}),
    }
    words = [
        *(word for name, fd in options.items() for word in (name, str(fd))),
        *(word for fd in outputs for word in ("--drain", str(fd))),
        *(word for number in job.ended_by for word in ("--ended-by", str(number))),
        *("--origin", str(frames.origin_ns), "--max-blob", str(frames.max_blob), "--cwd", job.cwd),
        *(["--allow-io-uring"] if frames.allow_io_uring else []),
        *(["--observer", observer.mode] if observer.mode != NOTIFY else []),
        *(["--probe-optional"] if observer.optional else []),
        *("--run-id", frames.run_id),
        *(word for link in _links_to(frames.store, frames.keys) for word in ("--store-link", link)),
        *(word for prefix in _unwanted(observer, frames) for word in ("--ignore", prefix)),
    ]
    argv = [PROGRAM, *words, "--", *job.argv]
    pid = spawn(observer.program, argv, job.environ, [*options.values(), *outputs])
    for fd in (status_write, leash_read, key_read, store, keys):
        if fd is not None:
            os.close(fd)
    return Keeper(pid, status_read, leash_write)


def _unwanted(observer: Observer, frames: Frames) -> list[str]:
    ignored = observer.ignored.without(observer.ignored.irreplaceable())
    return [str(frames.store.resolve()), *map(os.fsdecode, ignored.prefixes())]


def _opened(directory: Path) -> int:
    return os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)


def _links_to(*directories: Path | None) -> list[str]:
    """The symbolic links that lead there: whoever removes one of them hides the store."""
    return [link for path in directories if path is not None for link in _links_on_the_way(path)]


def _links_on_the_way(path: Path) -> list[str]:
    found: list[str] = []
    at, left = Path("/"), list(path.absolute().parts[1:])
    while left and len(found) < _MOST_LINKS:
        step = at / left.pop(0)
        if not step.is_symlink():
            at = Path(os.path.normpath(step))
            continue
        found.append(str(step))
        target = step.readlink()
        at = Path("/") if target.is_absolute() else at
        left = [part for part in target.parts if part != "/"] + left
    return found


def _streams(on: Descriptors) -> dict[str, int]:
    return _present({f"--{name}": fd for name, fd in on._asdict().items()})


def _present(options: Mapping[str, int | None]) -> dict[str, int]:
    return {name: fd for name, fd in options.items() if fd is not None}
