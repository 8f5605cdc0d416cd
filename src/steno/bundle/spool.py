"""The spool: what a run has shown so far, on disk, append-only, already masked.

In: events, stream bytes and files, raw. Out: `<run>/spool/`, with the names of the bundle. Everything
passes the redactor here, so nothing reaches the disk in clear by any other way. A lock tells a live
spool from one whose recorder is gone. A small reserve is given up when the disk is full, so that the
loss itself can still be written down.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import msgspec

from steno.bundle.folder import Folder, NotRegularError
from steno.bundle.held_files import HeldFiles
from steno.bundle.tape import Tape, write_all
from steno.evidence import canonical, kinds, layout
from steno.evidence.kinds import Event, EventData
from steno.redact.engine import Redactor

LOCK = "lock"
RESERVE = "reserve"
RESERVE_BYTES = 256 * 1024
MOST_REMEMBERED = 8 << 20  # of events: far more than a run has that nobody makes long on purpose
LOOK_SECONDS, LOCK_PAUSE = 10.0, 0.02


class Spool:
    def __init__(self, run_folder: Folder, run_id: str, redactor: Redactor, *, mono_origin_ns: int) -> None:
        run_folder.make_folder(layout.SPOOL)
        self._folder = run_folder.sub(layout.SPOOL)
        self.lock = self._folder.create(LOCK)  # whoever inherits it keeps the spool alive
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self._events = self._folder.create(layout.EVENTS, append=True)
        fcntl.flock(self._events, fcntl.LOCK_EX)  # the command may remove the lock; we are alive all the same
        self._files = HeldFiles()
        self._files.hold(LOCK, self.lock)
        self._files.hold(layout.EVENTS, self._events)
        self._reserve_kept = self._keep_reserve()
        self._run_id = run_id
        self._redactor = redactor
        self._origin = mono_origin_ns
        self._told = bytearray()  # every event as it was written
        self._latest_ns = 0
        self.clock_went_back = False
        self._next_seq = 0
        self.tapes: list[Tape] = []
        self.failure: OSError | None = None

    @property
    def held(self) -> tuple[int, int]:
        """What tells others that the spool is ours."""
        return self.lock, self._events

    def now(self) -> int:
        """Nanoseconds since the run began, on the clock that every join uses."""
        now = time.monotonic_ns() - self._origin
        self.clock_went_back |= now < self._latest_ns
        self._latest_ns = max(now, self._latest_ns)
        return self._latest_ns

    def moment(self, monotonic_ns: int) -> int | None:
        """The same of a time of CLOCK_MONOTONIC that another process told; None: it cannot be of this run."""
        at_ns = monotonic_ns - self._origin
        return at_ns if 0 <= at_ns <= min(self.now(), canonical.SAFE_INTEGER) else None

    def event(self, data: EventData) -> None:
        """Write one event. Its strings are masked; its own field names are not read as keys."""
        raw = kinds.to_json(
            Event(self._next_seq, time.time_ns() // 1_000_000, self.now(), self._run_id, data)
        )
        raw["data"] = self._redactor.tree(_utf8(raw["data"]), f"events.{data.type}")
        self._write_event(canonical.encode_line(raw))
        self._next_seq += 1

    def tape(self, name: str) -> Tape:
        tape = Tape(self._folder, name, self._redactor.stream(layout.shown(name)))
        for path, fd in tape.files:
            self._files.hold(path, fd)
        self.tapes.append(tape)
        return tape

    def file(self, path: str, blocks: Iterable[bytes]) -> None:
        """Write a whole file, masked at equal length."""
        masker = self._redactor.stream(layout.shown(path))
        fd = self._folder.create(path)
        try:
            for block in blocks:
                write_all(fd, masker.feed(block))
            write_all(fd, masker.close())
            os.fdatasync(fd)  # before the event that speaks of it
            self._files.hold(path, fd)
        finally:
            os.close(fd)

    def json_file(self, path: str, value: Any) -> None:
        """Write data as canonical JSON; its strings are masked one by one."""
        fd = self._folder.create(path)
        try:
            write_all(fd, canonical.encode(self._redactor.tree(_utf8(value), layout.shown(path))))
            os.fdatasync(fd)
            self._files.hold(path, fd)
        finally:
            os.close(fd)

    def make_empty(self, path: str) -> None:
        """A file that a program of ours is to write."""
        fd = self._folder.create(path)
        self._files.hold(path, fd)
        os.close(fd)

    def lost_names(self, run_folder: Folder) -> list[str]:
        """The files of the spool that cannot be reached from the run's folder any more."""
        try:
            with run_folder.sub(layout.SPOOL) as spool:
                return self._files.lost_from(spool)
        except OSError:
            return [layout.SPOOL]

    def write_lost_again(self, run_folder: Folder) -> None:
        """What the command removed, from what is held open."""
        if not run_folder.has_folder(layout.SPOOL):
            with suppress(FileNotFoundError):
                run_folder.remove_tree(layout.SPOOL)
            run_folder.make_folder(layout.SPOOL)
        self._folder.close()
        self._folder = run_folder.sub(layout.SPOOL)
        for name in self._files.lost_from(self._folder):
            fd = self._files.write_again(self._folder, name)
            if name == LOCK:
                fcntl.flock(fd, fcntl.LOCK_EX)
                self.lock = _instead_of(self.lock, fd)
            elif name == layout.EVENTS:
                fcntl.flock(fd, fcntl.LOCK_EX)
                self._events = _instead_of(self._events, fd)
            else:
                os.close(fd)

    def settle(self) -> None:
        for tape in self.tapes:
            if tape.waiting:
                tape.settle()

    def sync(self) -> None:
        os.fdatasync(self._events)
        for tape in self.tapes:
            tape.sync()

    def finish(self) -> None:
        """The spool stays ours, and is written no more. The reserve is for our losses, not for the bundle."""
        self._give_up_reserve()
        self._files.close()
        self._folder.close()

    def let_go(self) -> None:
        for fd in self.held:  # the lock first: with the lock alone it would seem orphaned
            os.close(fd)

    def close(self) -> None:
        self.finish()
        self.let_go()

    def _write_event(self, line: bytes) -> None:
        try:
            self._write_whole(line)
        except OSError as error:
            self.failure = error
            if not self._reserve_kept:
                raise
            self._give_up_reserve()
            self._write_whole(line)

    def _write_whole(self, line: bytes) -> None:
        """The whole line or nothing of it, so that the next event does not follow a torn one."""
        whole = os.fstat(self._events).st_size
        try:
            write_all(self._events, line)
        except OSError:
            os.ftruncate(self._events, whole)
            raise
        if len(self._told) <= MOST_REMEMBERED:
            self._told += line

    def mend_events(self) -> bool:
        """Whether somebody else wrote into the file of the events; then it is as we wrote it again."""
        if len(self._told) > MOST_REMEMBERED:
            return False
        with open(f"/proc/self/fd/{self._events}", "rb") as file:  # noqa: PTH123 - it may have no other name
            if file.read(len(self._told) + 1) == self._told:
                return False
        os.ftruncate(self._events, 0)
        write_all(self._events, bytes(self._told))
        return True

    def _keep_reserve(self) -> bool:
        fd = self._folder.create(RESERVE)
        try:
            os.posix_fallocate(fd, 0, RESERVE_BYTES)
        finally:
            os.close(fd)
        return True

    def _give_up_reserve(self) -> None:
        if self._reserve_kept:
            with suppress(
                FileNotFoundError
            ):  # the command may have removed the store: there is nothing to give up
                self._folder.remove(RESERVE)
            self._reserve_kept = False


@contextmanager
def holding(spool: Folder, ours: Sequence[int] = ()) -> Iterator[bool]:
    """Hold a spool; False when its recorder, or another process that seals it, has it.

    The recorder holds the lock and its events, and says so (`ours`). Who comes later takes both, and makes a
    lock that is gone.
    """
    fds: list[int] = []
    try:
        yield all(
            any(os.path.sameopenfile(fd, own) for own in ours) or _locked(fd) for fd in _open_both(spool, fds)
        )
    finally:
        for fd in fds:
            os.close(fd)


def _open_both(spool: Folder, fds: list[int]) -> Iterator[int]:
    """The events first: whose recorder is there has its lock left alone."""
    if spool.has(layout.EVENTS):
        fds.append(spool.open(layout.EVENTS, write=True))
        yield fds[-1]
    fds.append(_open_lock(spool))
    yield fds[-1]


def _open_lock(spool: Folder) -> int:
    if spool.has_folder(LOCK):
        spool.remove_tree(LOCK)
    with suppress(FileExistsError):
        os.close(spool.create(LOCK))
    try:
        return spool.open(LOCK, write=True)
    except NotRegularError:
        spool.remove(LOCK)
        return spool.create(LOCK)


def _locked(fd: int) -> bool:
    """False: somebody has it. Who only looks whether somebody has it is waited for."""
    enough = time.monotonic() + LOOK_SECONDS
    while not _try_lock(fd, fcntl.LOCK_EX):
        if not _try_lock(fd, fcntl.LOCK_SH) or time.monotonic() > enough:
            return False
        fcntl.flock(fd, fcntl.LOCK_UN)
        time.sleep(LOCK_PAUSE)
    return True


def _try_lock(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_live(run_folder: Folder) -> bool:
    """Whether a recorder is still writing this spool, or someone seals it."""
    return any(_is_locked(run_folder, f"{layout.SPOOL}/{path}") for path in (LOCK, layout.EVENTS))


def is_orphaned(run_folder: Folder) -> bool:
    """Whether the recorder is gone and only its observer of the kernel holds the spool.

    Both inherit the lock; the events are the recorder's alone.
    """
    events, lock = (f"{layout.SPOOL}/{path}" for path in (layout.EVENTS, LOCK))
    return run_folder.has(events) and not _is_locked(run_folder, events) and _is_locked(run_folder, lock)


def _is_locked(folder: Folder, path: str) -> bool:
    try:
        fd = folder.open(path)
    except OSError:
        return False
    try:
        return not _try_lock(fd, fcntl.LOCK_SH)  # shared: who else looks at this moment is nobody who has it
    finally:
        os.close(fd)


def remove_spool(run_folder: Folder) -> None:
    """Remove a spool: events first, so that half a spool is never sealed; the lock last."""
    with run_folder.sub(layout.SPOOL) as spool:
        if spool.has(layout.EVENTS):
            spool.remove(layout.EVENTS)
        for name in sorted(spool.names(), key=lambda name: name == LOCK):
            spool.remove_tree(name)
    try:
        run_folder.remove_tree(layout.SPOOL)
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:  # someone has just made the lock again, to look what is here
            raise
        run_folder.remove_tree(layout.SPOOL)


def _instead_of(old: int, new: int) -> int:
    os.close(old)
    return new


def _utf8(value: Any) -> Any:
    """Names and arguments that are not UTF-8 arrive with lone surrogates; JSON cannot hold those."""
    match value:
        case str():
            return value.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        case dict():
            return {_utf8(key): _utf8(item) for key, item in value.items()}
        case list() | tuple():
            return [_utf8(item) for item in value]
        case msgspec.Struct():
            return _utf8(msgspec.to_builtins(value))
        case _:
            return value
