"""`layers/kernel.ndjson`: the observed calls for people and scripts, each kind of call once.

In: layers with a kernel table. Out: canonical lines, one for each process, operation, path, way of opening
and result, with how often and when first and last. Memory grows with the number of lines, not with that of
calls.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec

from steno.derive.kernel_rows import RowBatch, batches, category, named_text, result_word
from steno.derive.operations import MEANING_OF_OPEN, OPENING, access, creates, truncates
from steno.events import canonical, layout
from steno.events.layers import Layers

_COLUMNS = ("mono_ns", "process", "op", "path", "resolved", "result", "arg", "arg2")
_SOCKET = "socket"


# The fields of a line in the order of the alphabet, which is that of canonical JSON.
class _Told(msgspec.Struct, frozen=True, omit_defaults=True):
    category: str
    count: int
    first_ns: int | str
    last_ns: int | str
    op: str
    process: int
    result: str
    access: str | None = None
    create: bool = False
    path: str | None = None
    path_b64: str | None = None
    truncate: bool = False


_encode = msgspec.json.Encoder(order="sorted").encode
# process, operation, path (or none), way of opening (or none), result: plain tuples, because there are many
_Line = tuple[int, str, bytes | None, int | None, str]


class _Times:
    __slots__ = ("count", "first_ns", "last_ns")

    def __init__(self, count: int, first_ns: int, last_ns: int) -> None:
        self.count = count
        self.first_ns = first_ns
        self.last_ns = last_ns

    def add(self, count: int, first_ns: int, last_ns: int) -> None:
        self.count += count
        self.first_ns = min(self.first_ns, first_ns)
        self.last_ns = max(self.last_ns, last_ns)


def kernel_lines(layers: Layers) -> Iterator[bytes]:
    if not layers.has(layout.KERNEL_TABLE):
        return
    found: dict[_Line, _Times] = {}
    for batch in batches(layers, _COLUMNS):
        _take(batch, found)
    for line, times in sorted(found.items(), key=_order):
        yield _encode(_told(line, times)) + b"\n"


def _order(item: tuple[_Line, _Times]) -> tuple[int, int, str, bytes, int, str]:
    (process, op, path, flags, result), times = item
    return times.first_ns, process, op, path or b"", flags or 0, result


def _take(batch: RowBatch, found: dict[_Line, _Times]) -> None:
    ops = batch.ops()
    paths = batch.texts("resolved")
    if None in paths:
        paths = [
            path if resolved is None else resolved
            for path, resolved in zip(batch.texts("path"), paths, strict=True)
        ]
    flags = [
        arg & MEANING_OF_OPEN if op in OPENING else None
        for op, arg in zip(ops, batch.numbers("arg"), strict=True)
    ]
    if _SOCKET in ops:
        _name_sockets(batch, ops, paths)
    calls = list(zip(batch.numbers("process"), ops, paths, flags, batch.optional("result"), strict=True))
    times = batch.numbers("mono_ns")
    if times != sorted(times):  # threads overtake each other
        order = sorted(range(len(times)), key=times.__getitem__)
        calls, times = [calls[row] for row in order], [times[row] for row in order]
    first = dict(zip(reversed(calls), reversed(times), strict=True))
    last = dict(zip(calls, times, strict=True))
    for call, count in Counter(calls).items():
        line = (*call[:-1], result_word(call[-1]))
        if line in found:
            found[line].add(count, first[call], last[call])
        else:
            found[line] = _Times(count, first[call], last[call])


def _name_sockets(batch: RowBatch, ops: list[str], paths: list[bytes | None]) -> None:
    """A socket has no path yet; family and type stand in its place."""
    families, types = batch.numbers("arg"), batch.numbers("arg2")
    for row, op in enumerate(ops):
        if op == _SOCKET:
            paths[row] = f"{families[row]}:{types[row]}".encode()


def _told(line: _Line, times: _Times) -> _Told:
    process, op, path, flags, result = line
    return _Told(
        category=category(op),
        count=times.count,
        first_ns=_portable(times.first_ns),
        last_ns=_portable(times.last_ns),
        op=op,
        process=process,
        result=result,
        access=None if flags is None else access(flags),
        create=flags is not None and creates(flags),
        truncate=flags is not None and truncates(flags),
        **({} if path is None else named_text("path", path)),
    )


def _portable(number: int) -> int | str:
    return number if number <= canonical.SAFE_INTEGER else str(number)
