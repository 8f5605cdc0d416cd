"""The kernel observer: steno-trace in the keeper's place.

In: the program, where its frames go, and what is wished of it. Out: a `Keeper` that speaks the same status
records as the plain one, and two more: whether the filter is in place, and that the frames are whole. Never
opens a frame: what steno-trace writes is read from the spool.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from steno.capture.ignore import IgnoreRules, load
from steno.capture.keeper import RESTORED, Descriptors, Keeper, Launch
from steno.capture.native_program import find_program
from steno.errors import CaptureError

PROGRAM = "steno-trace"
NOTIFY, NONE = "notify", "none"
_PROC = Path("/proc/self/fd")


class Observer(NamedTuple):
    """A chosen observer: the program, and what it need not keep the content of."""

    program: Path
    ignored: IgnoreRules


class Frames(NamedTuple):
    """Where and how the frames are written, and the lock that is held as long as they are."""

    folder: int  # descriptor of the directory
    lock: int
    store: Path  # its content is ours: a command that removes it must not make us copy it
    key: bytes
    origin_ns: int
    max_blob: int
    allow_io_uring: bool


def choose_observer(wish: str, environ: Mapping[str, str]) -> Observer | None:
    """None: nothing is observed. `auto` goes without when the program was not built; `notify` insists."""
    if wish == NONE:
        return None
    try:
        program = find_program(PROGRAM, environ)
    except CaptureError:
        if wish == NOTIFY:
            raise
        return None
    if not _PROC.exists():
        raise CaptureError(
            f"the kernel cannot be watched: {_PROC} is not there",
            hint="mount -t proc proc /proc, or go without with --observer none",
        )
    return Observer(program, load(environ))


def launch_observed(
    job: Launch, observer: Observer, frames: Frames, *, split: int | None, outputs: Sequence[int]
) -> Keeper:
    """`outputs`: our ends of the command's, which steno-trace empties if we die."""
    status_read, status_write = os.pipe()
    leash_read, leash_write = os.pipe()
    key_read, key_write = os.pipe()
    os.write(key_write, frames.key)
    os.close(key_write)
    options = {
        "--status": status_write,
        "--leash": leash_read,
        "--key": key_read,
        "--spool": frames.folder,
        "--hold": frames.lock,
        **_streams(job.on),
        **({"--terminal": job.terminal} if job.terminal is not None else {}),
        **({"--split": split} if split is not None else {}),
    }
    words = [
        *(word for name, fd in options.items() for word in (name, str(fd))),
        *(word for fd in outputs for word in ("--drain", str(fd))),
        *("--origin", str(frames.origin_ns), "--max-blob", str(frames.max_blob), "--cwd", job.cwd),
        *(["--allow-io-uring"] if frames.allow_io_uring else []),
        *(word for prefix in _unwanted(observer, frames) for word in ("--ignore", prefix)),
    ]
    argv = [PROGRAM, *words, "--", *job.argv]
    pid = _spawn(observer.program, argv, job.environ, [*options.values(), *outputs])
    for fd in (status_write, leash_read, key_read):
        os.close(fd)
    return Keeper(pid, status_read, leash_write)


def _unwanted(observer: Observer, frames: Frames) -> list[str]:
    return [str(frames.store.resolve()), *map(os.fsdecode, observer.ignored.prefixes())]


def _streams(on: Descriptors) -> dict[str, int]:
    return {f"--{name}": fd for name, fd in on._asdict().items() if fd is not None}


def _spawn(program: Path, argv: list[str], environ: Mapping[str, str], given: Sequence[int]) -> int:
    """Not by fork: another thread of ours may be loading what the seal will need."""
    found = [os.get_inheritable(fd) for fd in given]
    for fd in given:
        os.set_inheritable(fd, True)
    try:
        return os.posix_spawn(program, argv, environ, setsigdef=RESTORED)
    finally:
        for fd, inheritable in zip(given, found, strict=True):
            os.set_inheritable(fd, inheritable)
