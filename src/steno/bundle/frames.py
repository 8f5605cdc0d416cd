"""The frames that steno-trace left in a spool, read back.

In: the spool's folder and the local key. Out: `Frames`: header, strings, states and events, the events as
columns in big batches. The helper may have been killed anywhere: only what its header calls whole and what is
really there is used, and a record that refers to something missing is left out and counted in `damaged`.
Bytes that cannot be frames at all raise `FramesError`. Never writes, never keeps more than strings in memory.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from steno.bundle.folder import Folder
from steno.bundle.frame_order import in_order_of_time
from steno.bundle.frame_records import LENGTH, Batch, FramesError, States, Strings, read_at
from steno.evidence import wire
from steno.evidence.file_times import file_time
from steno.judge.distinct import LARGE
from steno.judge.mounts import lies_below, mounted_upon
from steno.judge.operations import CHANGING, has_failed
from steno.judge.path_ledger import FOUND, PathLedger, Rows

KERNEL = "kernel"
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
_UNRESOLVED = wire.NOTES["not_resolved"]
_IDENTITY = 5  # dev, ino, size, mtime_ns, ctime_ns: the same file with the same content
_SAME_CONTENT = 4  # without ctime_ns
_FIGURES = slice(2, 4)  # size, mtime_ns
_SHOWN = ("mode", "size", "mtime_ns", "uid", "gid")
_NOT_KEPT, _UNREADABLE, _KEPT = (wire.CONTENT[name] for name in ("not_kept", "unreadable", "kept"))


class FirstLook(NamedTuple):
    """What is known of one path before the command touched it, and what the command did to it."""

    state: wire.State | None  # None: there was nothing; or, with `unresolved`, nobody could look
    operations: frozenset[str]
    blob: int  # number of the kept content, if `content` says that it is kept
    content: int  # one of wire.CONTENT
    changed: bool  # some operation may have changed it
    unresolved: bool  # the path was joined from words, or nobody could look
    mounted: bool = False  # the run mounted something there or above: nothing is said of its states
    other_name: bool = False  # `state` is that of another name, under which the run changed the file first


class KeptContent(NamedTuple):
    """A content that the helper kept, and the paths at which it was found, in order of first sight."""

    state: wire.State  # of the first look that tells of it
    paths: list[bytes]


class Frames:
    def __init__(self, folder: Folder, key: bytes) -> None:
        self._folder = folder
        self._key = key
        self._files: list[int] = []
        self.header = _header(folder)
        self.damaged = 0  # records that are left out; counted anew by every pass over `batches`
        self.unlisted = 0  # renamed directories that had held more than is told; counted by `first_states`
        self.kept: dict[int, KeptContent] = {}  # by number; found by `first_states`
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

    def first_states(self) -> dict[bytes, FirstLook]:
        """Every path of the file system that was touched, unmasked, in order of first sight.

        Paths in another root or mount namespace are somebody else's and are left out.
        """
        book = _FirstLooks(self)
        for batch in self.batches():
            book.take(batch.kinds.calls)
        self.unlisted = book.unlisted
        self.kept = book.kept()
        return book.looks()

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


class _Before(NamedTuple):
    state: wire.State | None
    unresolved: bool
    other_name: bool = False


class _ChangedFiles:
    """Files that the run changed, by the number that all their names tell: how each was before that, and
    where that content is. Somebody else may have changed it after it was kept, and before the run did."""

    def __init__(self) -> None:
        self._kept: dict[int, wire.State] = {}
        self._before: dict[int, wire.State] = {}

    def keep(self, told: wire.State) -> None:
        kept = self._kept.setdefault(told.blob, told)
        if kept.content != _KEPT and told.content == _KEPT:  # it could not be read at first
            self._kept[told.blob] = _same_content(kept, told)

    def change(self, told: wire.State) -> None:
        self._before.setdefault(told.blob, told)

    def is_changed(self, number: int) -> bool:
        return number in self._before

    def with_content(self, told: wire.State) -> wire.State:
        """The content that is kept is that of the file as it was then."""
        kept = self._kept.get(told.blob)
        if kept is None or told.content != _KEPT or told[_FIGURES] == kept[_FIGURES]:
            return told
        return told._replace(blob=0, content=_NOT_KEPT)

    def before(self, number: int) -> wire.State:
        before, kept = self._before[number], self._kept[number]
        return self.with_content(_same_content(before, kept))


class _FirstLooks:
    def __init__(self, frames: Frames) -> None:
        self._frames = frames
        self._ledger: PathLedger[int] = PathLedger(frames.strings.__getitem__)
        self._before: dict[int, _Before] = {}
        self._mounted_upon: set[int] = set()
        self._kept: dict[tuple[int, ...], wire.State] = {}  # by what a file is, whatever its name
        self._files = _ChangedFiles()
        self._told_kept: dict[int, tuple[wire.State, dict[int, None]]] = {}  # with the keys of paths

    def take(self, calls: Batch) -> None:
        """Calls in order of first sight, equal ones once."""
        states, resolved = calls.state.tolist(), calls.resolved.tolist()
        numbers = sorted(set(states) - {wire.STATE_NONE, wire.STATE_ABSENT})
        records = self._frames.states.records([number - wire.STATE_FIRST for number in numbers])
        words = memoryview(records).cast("I")
        places = {number: place * wire.STATE.size for place, number in enumerate(numbers)}

        def raw_state(number: int) -> wire.State:
            raw = wire.State(*wire.STATE.unpack_from(records, places[number]))
            return raw._replace(mtime_ns=file_time(raw.mtime_ns), ctime_ns=file_time(raw.ctime_ns))

        def state(number: int) -> wire.State | None:
            return self._files.with_content(raw_state(number)) if number in places else None

        modes = dict(zip(numbers, words[10::18].tolist(), strict=True))
        rows = Rows(
            key=resolved,
            op=[OP_NAMES[code] for code in calls.op],
            arg=calls.arg.tolist(),
            notes=calls.notes.tolist(),
            failed=[has_failed(result) for result in calls.result.tolist()],
            look=[min(FOUND, number) for number in states],
            mode=[modes.get(number, 0) for number in states],
        )
        self._mounted_upon |= mounted_upon(rows)
        files = {number: file for number, file in zip(numbers, words[15::18].tolist(), strict=True) if file}
        changed_in = self._note_files(rows, states, files, state)
        for key, row in self._ledger.take(rows):
            before = _Before(state(states[row]), bool(rows.notes[row] & _UNRESOLVED))
            file = files.get(states[row], 0)
            if self._files.is_changed(file) and changed_in.get(file, row) <= row:
                before = _under_another_name(before, self._files.before(file))
            self._before[key] = before
        told = {number for number, content in zip(numbers, words[16::18].tolist(), strict=True) if content}
        if told:
            for key, number in dict.fromkeys(zip(resolved, states, strict=True)):
                if number in told:
                    self._learn_content(key, state(number))
                    self._note_kept(key, raw_state(number))
            for number in told:
                if (kept := state(number)) is not None and kept.content == _KEPT:
                    self._kept[kept[:_IDENTITY]] = kept

    def _note_files(
        self,
        rows: Rows[int],
        states: Sequence[int],
        files: Mapping[int, int],
        state: Callable[[int], wire.State | None],
    ) -> dict[int, int]:
        """The files that the run changes in this batch for the first time, and the rows that do it."""
        changed: dict[int, int] = {}
        for number in files:
            if (told := state(number)) is not None:
                self._files.keep(told)
        for row, number in enumerate(states if files else ()):
            file = files.get(number, 0)
            if file and not self._files.is_changed(file) and self._ledger.may_change(row, rows):
                told = state(number)
                if told is not None:
                    self._files.change(told._replace(blob=file))
                    changed[file] = row
        return changed

    @property
    def unlisted(self) -> int:
        return self._ledger.late_renames.unlisted

    def _note_kept(self, key: int, told: wire.State) -> None:
        if told.content == _KEPT:
            _, paths = self._told_kept.setdefault(told.blob, (told, {}))
            paths[key] = None

    def kept(self) -> dict[int, KeptContent]:
        """Every content that a row tells of, by its number."""
        strings = self._frames.strings
        return {
            number: KeptContent(told, [strings[key] for key in paths])
            for number, (told, paths) in self._told_kept.items()
        }

    def looks(self) -> dict[bytes, FirstLook]:
        found: dict[bytes, FirstLook] = {}
        directories = {self._frames.strings[key] for key in self._mounted_upon}
        for key, operations in self._ledger.operations.items():
            path = self._frames.strings[key]
            if not path.startswith(b"/"):
                continue
            first = found.get(path)
            if first is None and lies_below(path, directories):
                found[path] = _look(None, frozenset(operations))._replace(mounted=True)
            elif first is None:
                found[path] = _look(self._with_content(key), frozenset(operations))
            else:  # the same words under another number
                together = first.operations | operations
                found[path] = first._replace(operations=together, changed=bool(together & CHANGING))
        return found

    def _with_content(self, key: int) -> _Before | None:
        """A file that was renamed or linked may have been kept under another name."""
        before = self._before.get(key) if self._ledger.knows_before(key) else None
        if before is None or before.state is None or before.state.content:
            return before
        kept = self._kept.get(before.state[:_IDENTITY])
        return before if kept is None else before._replace(state=_same_content(before.state, kept))

    def _learn_content(self, key: int, later: wire.State | None) -> None:
        """A later look at what is still the same file tells where its content is, or why it is not kept."""
        before = self._before.get(key)
        if before is None or before.state is None or later is None:
            return
        # A new mode may let its owner read it, and moves nothing but the time of change.
        readable_now = before.state.content == _UNREADABLE and later.content == _KEPT
        if before.state.content and not readable_now:
            return
        parts = _SAME_CONTENT if readable_now else _IDENTITY
        if before.state[:parts] == later[:parts]:
            self._before[key] = before._replace(state=_same_content(before.state, later))


def _under_another_name(before: _Before, first: wire.State) -> _Before:
    other = any(getattr(before.state, name) != getattr(first, name) for name in _SHOWN)
    return before._replace(state=first, other_name=other)


def _same_content(state: wire.State, kept: wire.State) -> wire.State:
    return state._replace(blob=kept.blob, content=kept.content)


def _look(before: _Before | None, operations: frozenset[str]) -> FirstLook:
    state = before.state if before else None
    return FirstLook(
        state=state,
        operations=operations,
        blob=state.blob if state else 0,
        content=state.content if state else wire.CONTENT["not_kept"],
        changed=bool(operations & CHANGING),
        unresolved=before is None or before.unresolved,
        other_name=before is not None and before.other_name,
    )


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
