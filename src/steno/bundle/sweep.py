"""The final sweep: is there still a secret in a file that is about to be sealed?

In: a file's name and bytes. Out: its digest and whether the redactor finds anything in it, or its bytes
masked once more. JSON is judged string by string, as it was written; everything else as one stream.
The replay files (merged output, timing, cast) are made of bytes that were swept in their streams, and
an index holds only numbers: they are not judged again, because text that two streams only form
together is not a secret. Tables are compressed, so their bytes say nothing: their strings were masked one by
one when they were written, and what is derived from them is judged.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from steno.bundle.manifest import FileDigest
from steno.events import canonical, layout
from steno.redact.engine import Redactor
from steno.redact.findings import Findings

_REPLAY_FILES = frozenset({layout.TIMING, layout.CAST})


class Swept(NamedTuple):
    digest: FileDigest
    rules: list[str]  # names of the rules that found something


class Sweeper:
    def __init__(self, literals: Iterable[bytes] = ()) -> None:
        self._literals = tuple(literals)

    def sweep(self, path: str, blocks: Iterable[bytes], *, judge: bool) -> Swept:
        digest, size = hashlib.sha256(), 0
        findings = Findings()
        look = _judge(path, Redactor(findings=findings, literals=self._literals)) if judge else _pass
        for block in _also(look, blocks):
            digest.update(block)
            size += len(block)
        return Swept(FileDigest(digest.hexdigest(), size), sorted(findings.snapshot()["counts"]))

    def masked(self, path: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
        redactor = Redactor(findings=Findings(), literals=self._literals)
        if _is_json(path):
            for line in _lines(blocks):
                yield _reencoded(line, redactor.tree(canonical.decode(line.rstrip(b"\n")), path))
            return
        masker = redactor.stream(path)
        for block in blocks:
            yield masker.feed(block)
        yield masker.close()


def is_judged(path: str, *, derived: bool) -> bool:
    if path.endswith((layout.INDEX_SUFFIX, layout.TABLE_SUFFIX)) or path in _REPLAY_FILES:
        return False
    return not (derived and path == layout.OUTPUT)


class _StreamJudge:
    def __init__(self, path: str, redactor: Redactor) -> None:
        self._masker = redactor.stream(path)

    def take(self, block: bytes) -> None:
        self._masker.feed(block)

    def end(self) -> None:
        self._masker.close()


class _JsonJudge:
    def __init__(self, path: str, redactor: Redactor) -> None:
        self._path = path
        self._redactor = redactor
        self._rest = b""

    def take(self, block: bytes) -> None:
        whole, newline, rest = block.rpartition(b"\n")
        if not newline:
            self._rest += block
            return
        lines, self._rest = self._rest + whole, rest
        if not self._is_clean(lines):
            for line in lines.split(b"\n"):
                self._look(line)

    def end(self) -> None:
        if self._rest:
            self._look(self._rest)

    def _look(self, line: bytes) -> None:
        if not self._is_clean(line):
            self._redactor.tree(canonical.decode(line), self._path)

    def _is_clean(self, lines: bytes) -> bool:
        """A quick look at text in which nothing is escaped: every string of it on a line of its own."""
        return b"\\" not in lines and self._redactor.is_clean(lines.replace(b'"', b"\n"))


class _Pass:
    def take(self, block: bytes) -> None:
        """Nothing to judge."""

    def end(self) -> None:
        """Nothing to judge."""


_Judge = _StreamJudge | _JsonJudge | _Pass
_pass = _Pass()


def _judge(path: str, redactor: Redactor) -> _Judge:
    return _JsonJudge(path, redactor) if _is_json(path) else _StreamJudge(path, redactor)


def _also(judge: _Judge, blocks: Iterable[bytes]) -> Iterator[bytes]:
    for block in blocks:
        judge.take(block)
        yield block
    judge.end()


def _is_json(path: str) -> bool:
    return path.endswith((".json", ".ndjson"))


def _lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


def _reencoded(line: bytes, value: Any) -> bytes:
    return canonical.encode(value) + (b"\n" if line.endswith(b"\n") else b"")
