"""The final sweep: is there still a secret in a file that is about to be sealed?

In: a file's name and bytes. Out: its digest and whether the redactor finds anything in it, or its bytes
masked once more. JSON is judged string by string, as it was written; everything else as one stream.
An index holds only numbers and is not judged. Tables are compressed, so their bytes say nothing: `in_table`
judges their strings.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from steno.bundle import swept_table
from steno.bundle.manifest import FileDigest
from steno.evidence import canonical, layout
from steno.redact.engine import Redactor
from steno.redact.findings import Findings

_OUTSIDE_STRINGS = b"{}[]:,+-.0123456789Etruefalsn\n"  # numbers, `true`, `false` and `null` among them
_QUOTE_OR_ESCAPE = re.compile(rb'\\.|"', re.DOTALL)
_TOGETHER = 64


class Swept(NamedTuple):
    digest: FileDigest
    rules: list[str]  # names of the rules that found something


class Sweeper:
    def __init__(self, literals: Iterable[bytes] = ()) -> None:
        self._literals = tuple(literals)

    def sweep(self, path: str, blocks: Iterable[bytes]) -> Swept:
        digest, size = hashlib.sha256(), 0
        findings = Findings()
        is_text = path != layout.INDEX and not path.endswith(layout.TABLE_SUFFIX)
        look = _judge(path, Redactor(findings=findings, literals=self._literals)) if is_text else _pass
        for block in _also(look, blocks):
            digest.update(block)
            size += len(block)
        return Swept(FileDigest(digest.hexdigest(), size), sorted(findings.snapshot()["counts"]))

    def in_table(self, path: str, file: BinaryIO) -> bool:
        """Whether a table still holds a secret."""
        return swept_table.holds_secret(path, file, self._redactor())

    def mask_table(self, source: BinaryIO, target: BinaryIO) -> None:
        swept_table.write_masked(source, target, self._redactor())

    def _redactor(self) -> Redactor:
        return Redactor(findings=Findings(), literals=self._literals)

    def masked(self, path: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
        redactor = self._redactor()
        if _is_json(path):
            for line in _lines(blocks):
                yield _reencoded(line, redactor.tree(canonical.decode(line.rstrip(b"\n")), path))
            return
        masker = redactor.stream(path)
        for block in blocks:
            yield masker.feed(block)
        yield masker.close()


class _StreamJudge:
    def __init__(self, path: str, redactor: Redactor) -> None:
        self._masker = redactor.stream(path)

    def take(self, block: bytes) -> None:
        self._masker.feed(block)

    def end(self) -> None:
        self._masker.close()


class _JsonJudge:
    """Judges every string on its own, as the redactor read it; what a string is the value of says nothing."""

    def __init__(self, path: str, redactor: Redactor) -> None:
        self._path = path
        self._redactor = redactor
        self._rest: list[bytes] = []  # a string whose end has not come
        self._waiting = self._least = 0  # bytes
        self._escaped = False

    def take(self, block: bytes) -> None:
        self._escaped = self._escaped or b"\\" in block
        self._rest.append(block)
        self._waiting += len(block)
        if b'"' in block and self._waiting >= self._least:
            self._read()

    def _read(self) -> None:
        text = b"".join(self._rest)
        if self._escaped:
            parts = _parts(text)
            rest = b'"' + parts.pop() if len(parts) % 2 == 0 else b""
        else:
            rest = text[text.rindex(b'"') :] if text.count(b'"') % 2 else b""
            text = text.removesuffix(rest)
            parts = [] if self._redactor.is_clean(text.replace(b'"', b"\n")) else text.split(b'"')
        self._rest = [rest] if rest else []
        self._waiting = len(rest)
        self._least = 2 * len(rest)  # what has no end yet is not read again for every block of it
        self._escaped = b"\\" in rest
        _refuse_other_than_json(b"".join(parts[0::2]))
        self._judge(set(parts[1::2]))

    def end(self) -> None:
        if any(b'"' in block for block in self._rest):
            self._read()
        _refuse_other_than_json(b"".join(self._rest))

    def _judge(self, strings: Collection[bytes]) -> None:
        """Most hold no secret, and many are read together as fast as one."""
        plain = [string for string in strings if b"\\" not in string]
        for string in strings if len(plain) < len(strings) else ():
            if b"\\" in string:
                self._redactor.text(canonical.decode(b'"' + string + b'"'), self._path)
        if self._redactor.is_clean(b"\n".join(plain)):
            return
        for start in range(0, len(plain), _TOGETHER):
            group = plain[start : start + _TOGETHER]
            if not self._redactor.is_clean(b"\n".join(group)):
                for string in group:
                    self._redactor.text(string.decode(), self._path)


def _parts(text: bytes) -> list[bytes]:
    """What stands between the quotes that no backslash makes part of a string."""
    parts, start = [], 0
    for found in _QUOTE_OR_ESCAPE.finditer(text):
        if found.group() == b'"':
            parts.append(text[start : found.start()])
            start = found.end()
    return [*parts, text[start:]]


def _refuse_other_than_json(outside: bytes) -> None:
    """What is not in quotes is not judged, so it must be such as cannot hold a secret."""
    if outside.translate(None, _OUTSIDE_STRINGS):
        raise canonical.NotCanonicalError("not JSON")


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
    begun: list[bytes] = []
    for block in blocks:
        *lines, rest = block.split(b"\n")
        for line in lines:
            yield b"".join((*begun, line, b"\n"))
            begun = []
        begun.append(rest)
    if last := b"".join(begun):
        yield last


def _reencoded(line: bytes, value: Any) -> bytes:
    return canonical.encode(value) + (b"\n" if line.endswith(b"\n") else b"")
