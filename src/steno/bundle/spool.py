"""The spool: what a run has shown so far, on disk, append-only, already masked, by the names of the bundle.

Everything passes the redactor here, so nothing reaches the disk in clear by any other way. A small reserve is
given up when the disk is full, so that the loss itself can still be written down. What was made is held open,
so that it survives whoever removes its name.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import msgspec

from steno.bundle.folder import BLOCK, Folder, write_all
from steno.bundle.lock import LOCK
from steno.bundle.stream_writer import StreamWriter
from steno.evidence import canonical, kinds, layout
from steno.evidence.kinds import Event, EventData
from steno.redact.redactor import Redactor

RESERVE = "reserve"
RESERVE_BYTES = 256 * 1024
MOST_REMEMBERED = 8 << 20  # of events: far more than a run has that nobody makes long on purpose


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
        self.streams: list[StreamWriter] = []
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

    def stream(self, name: str) -> StreamWriter:
        writer = StreamWriter(self._folder, name, self._redactor.stream(layout.shown(name)))
        for path, fd in writer.files:
            self._files.hold(path, fd)
        self.streams.append(writer)
        return writer

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
        for writer in self.streams:
            if writer.waiting:
                writer.settle()

    def sync(self) -> None:
        os.fdatasync(self._events)
        for writer in self.streams:
            writer.sync()

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


class HeldFiles:
    def __init__(self) -> None:
        self._held: dict[str, int] = {}

    def hold(self, name: str, fd: int) -> None:
        """`fd` stays the caller's."""
        self._held[name] = os.dup(fd)

    def lost_from(self, folder: Folder) -> list[str]:
        """The names by which a file can no longer be reached."""
        return [name for name, fd in self._held.items() if not _is_at(folder, name, fd)]

    def write_again(self, folder: Folder, name: str) -> int:
        """What is there now has to go: it is not what was recorded. Returns the new file, open."""
        above = name.rpartition("/")[0]
        for path in (name,) if not above or folder.has_folder(above) else (above,):
            with suppress(FileNotFoundError):
                folder.remove_tree(path)
        new = folder.create(name, append=True)
        try:
            _copy_held(self._held[name], new)
            self._replace(name, new)
        except BaseException:
            os.close(new)
            raise
        return new

    def _replace(self, name: str, new: int) -> None:
        old, self._held[name] = self._held[name], os.dup(new)
        os.close(old)

    def close(self) -> None:
        while self._held:
            os.close(self._held.popitem()[1])


def _is_at(folder: Folder, name: str, fd: int) -> bool:
    try:
        there = folder.open(name)
    except OSError:
        return False
    try:
        return os.path.sameopenfile(there, fd)
    finally:
        os.close(there)


def _copy_held(source: int, target: int) -> None:
    """`source` is open to be written only; it may have no name."""
    readable = os.open(f"/proc/self/fd/{source}", os.O_RDONLY | os.O_CLOEXEC)
    try:
        while block := os.read(readable, BLOCK):
            write_all(target, block)
    finally:
        os.close(readable)
