"""The frames that steno-trace left in a spool, read back, the events as columns in big batches.

The helper may have been killed anywhere: only what its header calls whole and what is really there is used,
and a record that refers to something missing is left out and counted in `damaged`. Bytes that cannot be
frames at all raise `FramesError`. No more than strings is kept in memory.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import NamedTuple, Self

from steno.bundle.folder import Folder
from steno.bundle.frame_records import LENGTH, Batch, FramesError, States, Strings, read_at
from steno.bundle.lock import KERNEL
from steno.evidence import wire
from steno.evidence.ignore_rules import lies_below, mounts_something
from steno.evidence.linux_numbers import file_time
from steno.evidence.syscalls import LARGE
from steno.judge.path_history import LateRenames

LOGS = tuple(
    f"{KERNEL}/{name}" for name in (wire.HEADER_FILE, wire.EVENTS_FILE, wire.STATES_FILE, wire.STRINGS_FILE)
)
BATCH = 1 << 16
MAX_STRINGS_BYTES = 1 << 30
OP_NAMES = tuple(wire.OPS[code].name if code in wire.OPS else "" for code in range(256))
STRINGS_NONCE_BYTES = 12
_BLOB_NONCE_BYTES = 8
_CIPHER_BLOCK = 64
_POSITIVE_I32, _POSITIVE_I64 = (1 << 31) - 1, (1 << 63) - 1
_LOW_BYTES = bytes(range(128))
_KNOWN_OP = bytes(map(bool, OP_NAMES))
_MOST_CONTENT = max(wire.CONTENT.values())
_LATE, _EXCHANGE = wire.NOTES["late"], wire.NOTES["exchange"]
_ELSEWHERE = wire.NOTES["other_root"] | wire.NOTES["deleted"]  # another's name, or none
_KEPT = wire.CONTENT["kept"]
_IDENTITY = 5  # dev, ino, size, mtime_ns, ctime_ns: the same file with the same content
_RENAMES = frozenset({"rename", "rename_to", "moved_to"})
_CODES = {op.name: op.code for op in wire.OPS.values()}
_OPENS = frozenset({_CODES["open"], _CODES["open_handle"]})
_MOUNT, _UMOUNT = _CODES["mount"], _CODES["umount"]
_RUNS = frozenset({_CODES["exec"], _CODES["interpreter"]})
_ON_PATHS = _RUNS.union(op.code for op in wire.OPS.values() if op.category == "file")
# Flags of open(2) as on x86_64: O_PATH, O_DIRECTORY and O_TMPFILE; O_CREAT; O_ACCMODE and O_TRUNC.
_ONLY_NAMES_OR_LISTS, _CREATES, _TO_WRITE = 0o30200000, 0o100, 0o1003
_USES, _WRITES, _SETS, _REMOVES = 1, 2, 4, 8
_DONE = {
    **dict.fromkeys(_RUNS, _USES),
    **{_CODES[op]: _SETS for op in ("chmod", "chown", "utimes", "setxattr", "removexattr", "setattr")},
    **{_CODES[op]: _WRITES for op in ("rename_to", "moved_to", "link_to", "symlink", "mknod", "truncate")},
    **{_CODES[op]: _WRITES for op in ("map", "mkdir")},
    **{_CODES[op]: _WRITES | _REMOVES for op in ("unlink", "rmdir", "rename", "moved")},
}

_LONGS = wire.EVENT.size // 8
_FEW = 20_000  # so many are sorted before the library is loaded


class Touched(NamedTuple):
    """What is told of one path: what was found there first, and what its calls are of."""

    first: wire.State | None  # None: nothing was there, or nobody looked
    is_used: bool = False  # some call may have read its content, or changed it
    is_changed: bool = False  # some call may have changed it
    is_written: bool = False  # in more than its mode, owner, times and attributes
    is_removed: bool = False
    is_below_mount: bool = False  # the run mounted something there or above


class KeptContent(NamedTuple):
    """A content that the helper kept, and the paths at which it was found, in order of first sight.

    What went elsewhere with a directory above it was found under its earlier name, too.
    """

    state: wire.State  # of the first look that tells of it
    paths: list[bytes]


class Frames:
    def __init__(self, folder: Folder, key: bytes) -> None:
        self._folder = folder
        self._key = key
        self._files: list[int] = []
        self.header = _header(folder)
        self.damaged = 0  # records that are left out; counted anew by every pass over `batches`
        self.unlisted = 0  # renamed directories that had held more than is told; counted by `touched`
        self.kept: dict[int, KeptContent] = {}  # by number; found by `touched`
        self.torn = False  # a file ends before the place that the header calls whole
        self._events, events_bytes = self._open(wire.EVENTS_FILE, self.header.events)
        states, states_bytes = self._open(wire.STATES_FILE, self.header.states)
        self.event_count = events_bytes // wire.EVENT.size
        self._is_large = self.event_count >= LARGE
        self.states = States(states, states_bytes // wire.STATE.size)
        self.strings = self._read_strings()
        self._bad_states = frozenset(self._find_bad_states())

    def close(self) -> None:
        while self._files:
            os.close(self._files.pop())
        self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def batches(self) -> Iterator[Batch]:
        """The events in order, at most `BATCH` at a time."""
        self.damaged = 0
        blocks = self._blocks()
        if self.header.features & wire.FEATURES["ebpf"]:
            blocks = in_order_of_time(blocks)
        for records in blocks:
            batch = Batch(records, large=self._is_large)
            if not self._is_sound(batch):
                batch = Batch(self._sound_records(records), large=self._is_large)
            if batch.count:
                yield batch

    def _blocks(self) -> Iterator[bytes]:
        size = wire.EVENT.size
        for first in range(0, self.event_count, BATCH):
            count = min(BATCH, self.event_count - first)
            records = read_at(self._events, first * size, count * size)
            if len(records) < count * size:
                self.torn = True
                records = records[: len(records) // size * size]
            yield records

    def touched(self) -> dict[bytes, Touched]:
        """Every path of the file system that was touched, unmasked, in order of first sight.

        Paths in another root or mount namespace are somebody else's and are left out.
        """
        book = _TouchedPaths(self)
        for batch in self.batches():
            book.take(batch.kinds.calls)
        self.unlisted = book.unlisted
        self.kept = book.kept()
        return book.paths()

    def blob(self, number: int) -> Iterator[bytes]:
        """The kept content, in clear, in blocks."""
        if self._folder.has(linked := f"{wire.LINKED_FILE}{number}"):
            yield from self._folder.read(linked)
            return
        nonce = self.header.nonce[:_BLOB_NONCE_BYTES] + number.to_bytes(4, "little")
        decrypt = decryptor(self._key, nonce)
        for block in self._folder.read(f"{wire.BLOB_FILE}{number}"):
            yield decrypt(block)

    def _open(self, name: str, claimed: int) -> tuple[int, int]:
        try:
            fd = self._folder.open(name)
        except FileNotFoundError:
            raise FramesError(f"{name} is missing") from None
        self._files.append(fd)
        size = os.fstat(fd).st_size
        self.torn |= size < claimed
        return fd, min(size, claimed)

    def _read_strings(self) -> Strings:
        fd, size = self._open(wire.STRINGS_FILE, self.header.strings)
        self.torn |= size > MAX_STRINGS_BYTES
        decrypt = decryptor(self._key, self.header.nonce[:STRINGS_NONCE_BYTES])
        strings = Strings(decrypt(read_at(fd, 0, min(size, MAX_STRINGS_BYTES))))
        if size > LENGTH.size and len(strings) == 1:
            raise FramesError("the strings cannot be read; was the local key replaced?")
        self.torn |= not strings.whole
        return strings

    def _find_bad_states(self) -> Iterator[int]:
        """States that name a string that is not there, or hold numbers that cannot be."""
        for first in range(0, len(self.states), BATCH):
            records = self.states.records(range(first, min(first + BATCH, len(self.states))))
            words, longs = memoryview(records).cast("I"), memoryview(records).cast("Q")
            columns = (longs[2::9], words[10::18], words[14::18], words[16::18])
            most = (_POSITIVE_I64, _POSITIVE_I32, len(self.strings) - 1, _MOST_CONTENT)
            bounded = [(column.tolist(), bound) for column, bound in zip(columns, most, strict=True)]
            if all(max(numbers) <= bound for numbers, bound in bounded):
                continue
            for place in range(len(records) // wire.STATE.size):
                if any(numbers[place] > bound for numbers, bound in bounded):
                    yield first + place + wire.STATE_FIRST

    def _is_sound(self, batch: Batch) -> bool:
        """Whether every record is whole, seen on whole columns: numbers are little-endian."""
        if self._bad_states or batch.byte(7).translate(None, _LOW_BYTES):  # mono_ns is positive
            return False
        calls = batch.kinds.calls
        if calls.byte(17).strip(b"\0") or (calls.byte(11) + calls.byte(15)).translate(None, _LOW_BYTES):
            return False  # process and tid are positive
        return (
            0 not in calls.op.translate(_KNOWN_OP)
            and max(calls.state, default=0) < len(self.states) + wire.STATE_FIRST
            and all(
                max(column, default=0) < len(self.strings)
                for column in (calls.path, calls.resolved, calls.extra)
            )
        )

    def _sound_records(self, records: bytes) -> bytes:
        size = wire.EVENT.size
        whole = [
            records[at : at + size]
            for at, fields in zip(range(0, len(records), size), wire.EVENT.iter_unpack(records), strict=True)
            if self._is_whole(wire.Event(*fields))
        ]
        self.damaged += len(records) // size - len(whole)
        return b"".join(whole)

    def _is_whole(self, event: wire.Event) -> bool:
        return (
            event.op in wire.OPS
            and max(event.path, event.resolved, event.extra) < len(self.strings)
            and event.state < len(self.states) + wire.STATE_FIRST
            and event.state not in self._bad_states
            and max(event.process, event.tid) <= _POSITIVE_I32
            and event.mono_ns <= _POSITIVE_I64
        )


def open_frames(spool: Folder, key: bytes) -> Frames:
    folder = spool.sub(KERNEL)
    try:
        return Frames(folder, key)
    except BaseException:
        folder.close()
        raise


class _TouchedPaths:
    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._done: dict[int, int] = {}  # by key of the path: what its calls are of
        self._first: dict[int, wire.State | None] = {}
        self._mounted_upon: set[int] = set()
        self._kept: dict[int, tuple[wire.State, dict[int, None]]] = {}  # with the keys of paths
        self._late_renames = LateRenames()
        self._looked_at: set[int] = set()  # paths of which a look is not one that came too late

    def take(self, calls: Batch) -> None:
        """Calls in order of first sight, equal ones once."""
        looks: dict[int, int] = {}
        columns = (calls.resolved, calls.op, calls.arg, calls.notes, calls.result, calls.state)
        for key, op, arg, notes, result, state in zip(*columns, strict=True):
            if not key or notes & _ELSEWHERE or op not in _ON_PATHS:
                continue
            failed = _has_failed(result)
            if not self._is_late(key, op, notes, state, failed=failed) and state:
                self._looked_at.add(key)
            if state and key not in self._first:
                looks.setdefault(key, state)
            done = self._done.get(key, 0)
            self._done[key] = done if failed else done | _done(op, arg, absent=state == wire.STATE_ABSENT)
            if not failed and (op == _UMOUNT or (op == _MOUNT and mounts_something(arg))):
                self._mounted_upon.add(key)
        states = self._states({*calls.state} - {wire.STATE_NONE, wire.STATE_ABSENT})
        self._first |= {key: states.get(number) for key, number in looks.items()}
        kept = {number for number, state in states.items() if state.content == _KEPT}
        for key, number in dict.fromkeys(zip(calls.resolved, calls.state, strict=True)) if kept else ():
            if number in kept:
                _, paths = self._kept.setdefault(states[number].blob, (states[number], {}))
                paths[key] = None

    def _states(self, numbers: set[int]) -> dict[int, wire.State]:
        ordered = sorted(numbers)
        records = self._frames.states.records([number - wire.STATE_FIRST for number in ordered])
        return {
            number: wire.State(*fields)
            for number, fields in zip(ordered, wire.STATE.iter_unpack(records), strict=True)
        }

    def _is_late(self, key: int, op: int, notes: int, state: int, *, failed: bool) -> bool:
        """Whether a look may show what the call has done, or what came with a directory whose rename
        was told after it: such a directory may have brought more than is told."""
        late, spoilt = bool(notes & _LATE), False
        if failed or not (late or self._late_renames):
            return late
        name = self._frames.strings[key]
        if self._late_renames and key not in self._looked_at:
            spoilt = self._late_renames.spoil(OP_NAMES[op], name, found=state >= wire.STATE_FIRST)
        if late and OP_NAMES[op] in _RENAMES:
            self._late_renames.add(OP_NAMES[op], name, exchange=bool(notes & _EXCHANGE))
        return late or spoilt

    @property
    def unlisted(self) -> int:
        return self._late_renames.unlisted

    def kept(self) -> dict[int, KeptContent]:
        """Every content that a row tells of, by its number."""
        strings = self._frames.strings
        found_first: dict[tuple[int, ...], list[int]] = {}
        for key, first in self._first.items() if self._kept else ():
            if first is not None:
                found_first.setdefault(first[:_IDENTITY], []).append(key)
        return {
            number: KeptContent(
                _with_times(told),
                [strings[key] for key in dict.fromkeys([*paths, *found_first.get(told[:_IDENTITY], ())])],
            )
            for number, (told, paths) in self._kept.items()
        }

    def paths(self) -> dict[bytes, Touched]:
        found: dict[bytes, tuple[wire.State | None, int]] = {}
        for key, done in self._done.items():
            path = self._frames.strings[key]
            if path.startswith(b"/"):
                first, more = found.get(path, (self._first.get(key), 0))  # the same words under two numbers
                found[path] = first, done | more
        mounts = {self._frames.strings[key] for key in self._mounted_upon}
        return {
            path: Touched(
                first=None if first is None else _with_times(first),
                is_used=bool(done & (_USES | _WRITES)),
                is_changed=bool(done & (_WRITES | _SETS)),
                is_written=bool(done & _WRITES),
                is_removed=bool(done & _REMOVES),
                is_below_mount=lies_below(path, mounts),
            )
            for path, (first, done) in found.items()
        }


def _with_times(state: wire.State) -> wire.State:
    return state._replace(mtime_ns=file_time(state.mtime_ns), ctime_ns=file_time(state.ctime_ns))


def _done(op: int, arg: int, *, absent: bool) -> int:
    """What a call is of that did not fail, as far as it decides what is looked at and kept at the end."""
    if op not in _OPENS:
        return _DONE.get(op, 0)
    if arg & _ONLY_NAMES_OR_LISTS or (absent and not arg & _CREATES):
        return 0
    return _USES | _WRITES if absent or arg & _TO_WRITE else _USES


def _has_failed(result: int) -> bool:
    return result < 0 or result == wire.RESULT_FAILED


def _header(folder: Folder) -> wire.Header:
    try:
        data = folder.read_all(wire.HEADER_FILE, wire.HEADER.size)
    except FileNotFoundError:
        raise FramesError(f"{wire.HEADER_FILE} is missing") from None
    except OSError:
        data = b""
    return parse_header(data)


def parse_header(data: bytes) -> wire.Header:
    try:
        fields = wire.HEADER.unpack(data)
    except struct.error:
        raise FramesError(f"{wire.HEADER_FILE} is not {wire.HEADER.size} bytes long") from None
    named = len(wire.Header._fields) - 1
    header = wire.Header._make((*fields[:named], fields[named:]))
    if header.magic != wire.MAGIC or header.version != wire.VERSION:
        raise FramesError(f"{wire.HEADER_FILE} is not that of version {wire.VERSION}")
    return header


def decryptor(key: bytes, nonce: bytes, start: int = 0) -> Callable[[bytes], bytes]:
    """Decrypts what stands in a file from `start` on: the place in the file is that in the key stream."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms  # late: start-up has a budget

    block, within = divmod(start, _CIPHER_BLOCK)
    counter = block.to_bytes(4, "little")
    decrypt = Cipher(algorithms.ChaCha20(key, counter + nonce), mode=None).decryptor().update
    decrypt(bytes(within))
    return decrypt


def in_order_of_time(blocks: Iterator[bytes]) -> Iterator[bytes]:
    held = b""
    for block in blocks:
        together = _sorted(held + block)
        keep = len(block) // wire.EVENT.size * wire.EVENT.size
        out, held = together[: len(together) - keep], together[len(together) - keep :]
        if out:
            yield out
    if held:
        yield held


def _sorted(records: bytes) -> bytes:
    size = wire.EVENT.size
    times = memoryview(records).cast("Q")[0::_LONGS].tolist()
    if times == sorted(times):  # most are: of a list in order that is quickly told
        return records
    if len(times) > _FEW:
        return _sorted_by_arrow(records, times)
    order = sorted(range(len(times)), key=times.__getitem__)
    return b"".join([records[place * size : (place + 1) * size] for place in order])


def _sorted_by_arrow(records: bytes, times: list[int]) -> bytes:
    import pyarrow as pa  # late: start-up has a budget
    from pyarrow import compute

    count = len(times)
    order = compute.array_sort_indices(pa.array(times, pa.uint64()))
    column = pa.Array.from_buffers(pa.binary(wire.EVENT.size), count, [None, pa.py_buffer(records)])
    return bytes(column.take(order).buffers()[1].to_pybytes()[: len(records)])
