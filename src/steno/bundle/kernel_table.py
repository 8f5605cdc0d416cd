"""The table of all observed calls: the frames of a spool become `syscalls.parquet`.

One row a call, in order, every string masked. Whole columns are handled at once, and one row group is held in
memory.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

from steno.bundle.folder import TEMPORARY, Folder
from steno.bundle.frame_records import Batch
from steno.bundle.frames import OP_NAMES, Frames
from steno.evidence import calls, kinds, layout, wire
from steno.evidence.kinds import Split
from steno.evidence.syscalls import DICTIONARIES, MAX_GROUP_BYTES
from steno.redact.redactor import Redactor

COMPAT_MACHINE = "i386"
_COMPAT = wire.NOTES["compat"]
_NOT_COMPAT = bytes(note for note in range(256) if not note & _COMPAT)
_COMPAT_BEYOND = 16 - 2  # moves the note's bit above the sixteen bits of a call's number
_NUMBER_BITS = 0xFFFF
_FIRST_COMPAT_COUNTED = 1024
_CODE_OF = {op.name: op.code for op in wire.OPS.values()}
_OPS = [op.name for op in wire.OPS.values()]
_OP_INDEX = bytes(_OPS.index(name) if name else 0 for name in OP_NAMES)
_CONTENTS = [name for name, _ in sorted(wire.CONTENT.items(), key=lambda item: item[1])]
_KEPT = wire.CONTENT["kept"]
_CORE_BIT = 0x80  # of a status
_MAY_HAVE_HAPPENED = frozenset({0, wire.RESULT_UNKNOWN})
WRITE_SIZE = 1 << 20
LARGEST_GROUP = MAX_GROUP_BYTES // 2  # in memory; on the disk there are lengths and levels too
PATHS = "kernel.path"
ARGUMENTS = "kernel.argv"
_TOGETHER = 64 << 10
_END = b"\0"
_ESCAPE = b"\x1b"


class Reached(NamedTuple):
    """Calls that reached into a process that is not of the run, and are not known to have failed."""

    outside: int = 0  # or not known
    recorder: int = 0


class Written(NamedTuple):
    rows: int
    processes: int
    io_uring: bool  # somebody made a ring
    cores: int = 0  # processes that left a core
    reached: Reached = Reached()


def write(
    spool: Folder, frames: Frames, redactor: Redactor, blobs: Mapping[int, str] = MappingProxyType({})
) -> Written:
    """`blobs`: the keys of the contents that the helper kept and the bundle keeps, by their numbers."""
    temporary = f"{layout.KERNEL_TABLE}{TEMPORARY}"
    with suppress(FileNotFoundError):
        spool.remove(temporary)
    with os.fdopen(spool.create(temporary), "wb", buffering=WRITE_SIZE) as file:
        written = write_rows(file, frames, redactor, blobs)
        file.flush()
        os.fdatasync(file.fileno())  # before the event that speaks of it
    spool.replace(temporary, layout.KERNEL_TABLE)
    return written


def observed(frames: Frames, written: Written) -> kinds.KernelObserved:
    header = frames.header
    split = header.features & wire.FEATURES["split"]
    return kinds.KernelObserved(
        observer=_observer_of(header.features),
        events=written.rows,
        processes=written.processes,
        features=[name for name, bit in wire.FEATURES.items() if header.features & bit],
        lost_events=header.lost_events,
        lost_blobs=header.lost_blobs,
        unreadable=header.unreadable,
        undecoded=header.undecoded,
        outlived=header.outlived,
        unknown_parents=header.unknown_parents,
        unresolved=header.unresolved,
        elsewhere=header.elsewhere,
        unlisted=header.unlisted,
        unmet_forks=header.unmet_forks,
        unseen_exits=header.unseen_exits,
        privilege_lost=header.privilege_lost,
        listeners_refused=header.listeners_refused,
        closed=bool(header.closed),
        counted=dict(_counted(header.counted, machine_of(header.features))),
        split=Split(
            stdout=header.split_stdout,
            stderr=header.split_stderr,
            tty=header.split_tty,
            unattributed=header.split_unattributed,
            unwatched=header.split_unwatched,
        )
        if split
        else None,
        ring_lost=header.ring_lost,
        probe_unread=header.probe_unread,
        probe_unplaced=header.probe_unplaced,
        only_notify=header.only_notify,
        only_ebpf=header.only_ebpf,
        escaped=header.escaped,
        store_refused=header.store_refused,
    )


def _observer_of(features: int) -> str:
    both = wire.FEATURES["notify"] | wire.FEATURES["ebpf"]
    if features & both == both:
        return "both"
    return "ebpf" if features & wire.FEATURES["ebpf"] else "notify"


def _counted(counted: Sequence[int], machine: str) -> Iterator[tuple[str, int]]:
    for number, times in enumerate(counted):
        if times:
            compat = number >= _FIRST_COMPAT_COUNTED
            yield call_name(number % _FIRST_COMPAT_COUNTED, COMPAT_MACHINE if compat else machine), times


def machine_of(features: int) -> str:
    """Whose call numbers the record has: of the machine that recorded, wherever it is read."""
    return "aarch64" if features & wire.FEATURES["aarch64"] else "x86_64"


def call_name(number: int, machine: str) -> str:
    name = calls.NAMES[machine].get(number)
    if name is None:
        return f"{machine}:{number}"
    return f"{machine}:{name}" if machine == COMPAT_MACHINE else name


def writer(file: Any, schema: Any) -> Any:
    """What writes row groups as the format wants them."""
    import pyarrow.parquet as pq  # late: start-up has a budget

    return pq.ParquetWriter(
        file,
        schema,
        compression="zstd",
        use_dictionary=[*DICTIONARIES, "blob"],
        column_encoding={"mono_ns": "DELTA_BINARY_PACKED"},
        write_statistics=False,
        store_schema=False,
    )


def write_rows(
    file: Any, frames: Frames, redactor: Redactor, blobs: Mapping[int, str] = MappingProxyType({})
) -> Written:
    columns = _Columns(frames, MaskedStrings(frames.strings, redactor), blobs)
    with writer(file, columns.schema) as written:
        rows = processes = rings = cores = 0
        reached = [0] * 4
        for batch in frames.batches():
            for group in columns.groups(batch):
                written.write_batch(group)
            rows += batch.count
            processes += batch.op.count(_CODE_OF["process"])
            rings += batch.op.count(_CODE_OF["io_uring"])
            cores += sum(bool(batch.arg[end] & _CORE_BIT) for end in _places(batch.op, "exit"))
            for at in _places(batch.op, "reach"):
                if batch.result[at] in _MAY_HAVE_HAPPENED:
                    reached[batch.arg[at] & 3] += 1
    columns.release_unused()
    _, outside, recorder, not_known = reached
    return Written(rows, processes, rings > 0, cores, Reached(outside + not_known, recorder))


def _places(ops: bytes, op: str) -> Iterator[int]:
    """Where in a batch an operation is."""
    at = ops.find(_CODE_OF[op])
    while at >= 0:
        yield at
        at = ops.find(_CODE_OF[op], at + 1)


class _Columns:
    def __init__(self, frames: Frames, strings: MaskedStrings, blobs: Mapping[int, str]) -> None:
        import pyarrow as pa

        self._pa = pa
        self._frames = frames
        self._strings = strings
        self._blobs = blobs
        self.schema = self.record_batch(Batch(b"")).schema

    def release_unused(self) -> None:
        """The library keeps what it used; the seal, which comes next, may work in another thread."""
        self._pa.default_memory_pool().release_unused()

    def groups(self, batch: Batch) -> Iterator[Any]:
        """The batch as row groups: more than one where a reader would refuse one for its size."""
        group = self.record_batch(batch)
        if group.nbytes <= LARGEST_GROUP or batch.count == 1:
            yield group
            return
        del group
        for half in batch.halves():
            yield from self.groups(half)

    def record_batch(self, batch: Batch) -> Any:
        pa, (calls, of_rows) = self._pa, batch.kinds
        rows = _Rows(pa, of_rows)
        names, numbers = self._calls(calls)
        columns = {
            "mono_ns": _plain(pa.int64(), batch.count, batch.mono_ns),
            "process": rows.plain(_plain(pa.int32(), calls.count, calls.process)),
            "tid": rows.plain(_plain(pa.int32(), calls.count, calls.tid)),
            "op": rows.chosen(list(calls.op.translate(_OP_INDEX)), pa.array(_OPS, pa.string())),
            "call": rows.chosen(numbers, pa.array(names, pa.string())),
            "path": self._texts(rows, calls.path.tolist()),
            "resolved": self._texts(rows, calls.resolved.tolist()),
            "extra": self._texts(rows, calls.extra.tolist()),
            "result": rows.spread(
                [None if result == wire.RESULT_UNKNOWN else result for result in calls.result.tolist()],
                pa.int16(),
            ),
            "notes": rows.plain(_plain(pa.int32(), calls.count, _widened("H", calls.notes))),
            "arg": rows.plain(_plain(pa.uint64(), calls.count, calls.arg)),
            "arg2": rows.plain(_plain(pa.uint64(), calls.count, calls.arg2)),
            **self._states(rows, calls.state.tolist()),
        }
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def _calls(self, calls: Batch) -> tuple[list[str], list[int | None]]:
        """The names of the system calls, and which of them each is; None for what is none."""
        numbers = calls.call.tolist()
        if calls.byte(20).translate(None, _NOT_COMPAT):
            numbers = [
                number | (note & _COMPAT) << _COMPAT_BEYOND
                for number, note in zip(numbers, calls.notes.tolist(), strict=True)
            ]
        used = [number for number in dict.fromkeys(numbers) if number]
        machine = machine_of(self._frames.header.features)
        names = [
            call_name(number & _NUMBER_BITS, COMPAT_MACHINE if number > _NUMBER_BITS else machine)
            for number in used
        ]
        return names, _positions(numbers, used)

    def _texts(self, rows: _Rows, numbers: Sequence[int | None]) -> Any:
        """Only the strings of these rows: each row group has a dictionary of its own."""
        used = [number for number in dict.fromkeys(numbers) if number]
        values = self._pa.array(self._strings.take(used), self._pa.binary())
        return rows.chosen(_positions(numbers, used), values)

    def _states(self, rows: _Rows, states: Sequence[int]) -> dict[str, Any]:
        """The columns of what was found."""
        pa = self._pa
        used = sorted(set(states) - {wire.STATE_NONE, wire.STATE_ABSENT})
        records = self._frames.states.records([number - wire.STATE_FIRST for number in used])
        words, longs = memoryview(records).cast("I"), memoryview(records).cast("Q")
        places = _positions(states, used)
        indices = rows.spread(places, pa.int32())

        def column(kind: Any, values: memoryview[int]) -> Any:
            return pa.DictionaryArray.from_arrays(indices, _plain(kind, len(used), values))

        def widened(values: memoryview[int]) -> Any:
            return column(pa.int64(), _widened("I", values))

        def of_states(values: Sequence[int | None]) -> list[int | None]:
            return [None if place is None else values[place] for place in places]

        targets, files, contents = (words[at::18].tolist() for at in (14, 15, 16))
        exists = [None if number == wire.STATE_NONE else number != wire.STATE_ABSENT for number in states]
        return {
            "exists": rows.spread(exists, pa.bool_()),
            "dev": column(pa.uint64(), longs[0::9]),
            "ino": column(pa.uint64(), longs[1::9]),
            "mode": column(pa.int32(), words[10::18]),
            "size": column(pa.int64(), longs[2::9]),
            "mtime_ns": column(pa.int64(), longs[3::9]),
            "ctime_ns": column(pa.int64(), longs[4::9]),
            "uid": widened(words[11::18]),
            "gid": widened(words[12::18]),
            "nlink": widened(words[13::18]),
            "target": self._texts(rows, of_states(targets) if any(targets) else [None] * len(states)),
            "content": rows.chosen(of_states(contents), pa.array(_CONTENTS, pa.string())),
            "file": rows.spread(of_states([file or None for file in files]), pa.int64()),
            "blob": self._kept(rows, of_states(self._numbers_kept(files, contents))),
        }

    def _numbers_kept(self, files: Sequence[int], contents: Sequence[int]) -> list[int | None]:
        return [
            file if content == _KEPT and file in self._blobs else None
            for file, content in zip(files, contents, strict=True)
        ]

    def _kept(self, rows: _Rows, numbers: Sequence[int | None]) -> Any:
        used = [number for number in dict.fromkeys(numbers) if number]
        keys = self._pa.array([self._blobs[number] for number in used], self._pa.string())
        return rows.chosen(_positions(numbers, used), keys)


class _Rows:
    """Makes columns of rows out of what is known of the kinds of calls.

    Most are given as dictionaries, which the writer writes out plainly: no row is copied here.
    """

    def __init__(self, pa: Any, kinds: Any) -> None:
        self._pa = pa
        self._kinds = kinds  # for every row the place of its kind
        self._indices = pa.array(kinds, pa.int32()) if isinstance(kinds, list) else kinds

    def plain(self, values: Any) -> Any:
        """A column without nulls."""
        return self._pa.DictionaryArray.from_arrays(self._indices, values)

    def chosen(self, places: Sequence[int | None], values: Any) -> Any:
        """A column that names `values` by their places."""
        return self._pa.DictionaryArray.from_arrays(self.spread(places, self._pa.int32()), values)

    def spread(self, values: Sequence[int | None], kind: Any) -> Any:
        """A column that may have nulls."""
        if isinstance(self._kinds, list):
            return self._pa.array([values[place] for place in self._kinds], kind)
        return self._pa.array(values, kind).take(self._indices)


def _positions(numbers: Sequence[int | None], used: Sequence[int]) -> list[int | None]:
    """Where in `used` each number is; None for one that is not there."""
    index: dict[int | None, int] = dict(zip(used, range(len(used)), strict=True))
    return list(map(index.get, numbers))


def _plain(kind: Any, count: int, values: memoryview[int]) -> Any:
    """A column without nulls whose numbers are these bytes."""
    import pyarrow as pa

    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(values.tobytes())])


def _widened(letter: Any, values: memoryview[int]) -> memoryview[int]:
    """The same numbers, none of them negative, in twice as many bytes."""
    wide = memoryview(bytearray(2 * values.nbytes))
    wide.cast(letter)[0::2] = values
    return wide


class MaskedStrings:
    def __init__(self, strings: Sequence[bytes], redactor: Redactor) -> None:
        self._strings = strings
        self._redactor = redactor
        self._read = bytearray(len(strings))
        self._masked: dict[int, bytes] = {}

    def take(self, numbers: Sequence[int]) -> list[bytes]:
        """The masked strings of these numbers, each of which is named once."""
        fresh = [number for number in numbers if not self._read[number]]
        for group in self._groups(fresh):
            if len(group) == 1 or not self._redactor.is_clean(b"\n".join(self._strings[n] for n in group)):
                for number in group:
                    self._read_alone(number)
        for number in fresh:
            self._read[number] = 1
        return [self._masked.get(number) or self._strings[number] for number in numbers]

    def _groups(self, numbers: Iterable[int]) -> Iterator[list[int]]:
        """Most strings hold no secret, and many are read together as fast as one. Some must be read alone:
        argument lists in their context, and an escape sequence, which may swallow what comes after it.
        """
        group: list[int] = []
        size = 0
        for number in numbers:
            text = self._strings[number]
            if _END in text or _ESCAPE in text:
                yield [number]
                continue
            group.append(number)
            size += len(text)
            if size > _TOGETHER:
                yield group
                group, size = [], 0
        if group:
            yield group

    def _read_alone(self, number: int) -> None:
        text = self._strings[number]
        masked = mask_arguments(self._redactor, text) if _END in text else mask_path(self._redactor, text)
        if masked != text:
            self._masked[number] = masked


def mask_path(redactor: Redactor, path: bytes) -> bytes:
    """A path, a link's target or an address, secrets masked at equal length."""
    masked = path if redactor.is_clean(path) else redactor.mask(path, PATHS)
    return masked if _shows_nothing(redactor, masked, masked.decode("latin-1")) else b"*" * len(path)


def mask_arguments(redactor: Redactor, arguments: bytes) -> bytes:
    """An argument list, each argument ended by NUL (the last one perhaps not: it was cut)."""
    words = split_arguments(arguments)
    masked = redactor.argv([word.decode("utf-8", "surrogateescape") for word in words], ARGUMENTS)
    end = _END if arguments.endswith(_END) else b""
    return _END.join(_mask_shown(redactor, _restored(text)) for text in masked) + end


def split_arguments(arguments: bytes) -> list[bytes]:
    return arguments.removesuffix(_END).split(_END) if arguments else []


def _mask_shown(redactor: Redactor, word: bytes) -> bytes:
    shown = word.decode("utf-8", "backslashreplace")
    return word if _shows_nothing(redactor, word, shown) else b"*" * len(word)


def _shows_nothing(redactor: Redactor, data: bytes, shown: str) -> bool:
    """Whether the texts that stand for bytes which are not UTF-8 hold no secret either."""
    if data.isascii() or _is_utf8(data):
        return True
    return redactor.is_clean(shown.encode()) and redactor.is_clean(base64.b64encode(data))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _restored(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
