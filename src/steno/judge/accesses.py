"""The observed calls, each kind of call once: by process, operation, path, way of opening and result.

Memory grows with the number of kinds, not with that of calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import ClassVar, Self

from steno.evidence.layers import Layers
from steno.evidence.syscalls import RowBatch, distinct_rows, result_word
from steno.judge.operations import MEANING_OF_OPEN, OPENING, access, creates, truncates
from steno.judge.scan import Reading
from steno.judge.types import Access, outcome_of

_KEYS = ("process", "op", "path", "resolved", "result", "arg", "arg2")
_SOCKET = "socket"


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


class Lines:
    columns: ClassVar[tuple[str, ...]] = ("mono_ns", *_KEYS)

    def __init__(self) -> None:
        self._found: dict[_Line, _Times] = {}

    @classmethod
    def begin(cls, _layers: Layers) -> Self:
        return cls()

    def take(self, batch: RowBatch) -> None:
        _take(batch, self._found)

    def accesses(self) -> Iterator[Access]:
        """In order of time."""
        for line, times in sorted(self._found.items(), key=_order):
            yield _access(line, times)


def accesses(layers: Layers) -> Iterator[Access]:
    """What each process did to each path or address in each way, with how often and when first and last."""
    yield from Reading.of(layers).scanned(Lines).accesses()


def _order(item: tuple[_Line, _Times]) -> tuple[int, int, str, bytes, int, str]:
    (process, op, path, flags, result), times = item
    return times.first_ns, process, op, path or b"", flags or 0, result


def _take(batch: RowBatch, found: dict[_Line, _Times]) -> None:
    calls = distinct_rows(batch, _KEYS)
    rows = calls.rows
    ops, args = batch.ops(rows), batch.numbers("arg", rows)
    paths = batch.texts("resolved", rows)
    if None in paths:
        paths = [
            path if resolved is None else resolved
            for path, resolved in zip(batch.texts("path", rows), paths, strict=True)
        ]
    if _SOCKET in ops:
        _name_sockets(ops, paths, args, batch.numbers("arg2", rows))
    flags = [arg & MEANING_OF_OPEN if op in OPENING else None for op, arg in zip(ops, args, strict=True)]
    results = map(result_word, batch.optional("result", rows))
    lines = zip(batch.numbers("process", rows), ops, paths, flags, results, strict=True)
    for line, count, first_ns, last_ns in zip(lines, *calls[1:], strict=True):
        known = found.get(line)
        if known is None:
            found[line] = _Times(count, first_ns, last_ns)
        else:
            known.add(count, first_ns, last_ns)


def _name_sockets(ops: list[str], paths: list[bytes | None], families: list[int], types: list[int]) -> None:
    """A socket has no path yet; family and type stand in its place."""
    for place, op in enumerate(ops):
        if op == _SOCKET:
            paths[place] = f"{families[place]}:{types[place]}".encode()


def _access(line: _Line, times: _Times) -> Access:
    process, op, name, flags, result = line
    accessed, creating, truncating = (None, False, False) if flags is None else _way(flags)
    outcome, error = outcome_of(result)
    return Access(
        process,
        op,
        name,
        accessed,
        creating,
        truncating,
        outcome,
        error,
        times.count,
        times.first_ns,
        times.last_ns,
    )


@cache
def _way(flags: int) -> tuple[str, bool, bool]:
    return access(flags), creates(flags), truncates(flags)
