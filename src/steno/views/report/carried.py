"""What a report carries, taken out of it again: the evidence as a folder, and what its maker concluded.

In: a file that may be anybody's. Out: a `Carried`, or an `UnreadableBundleError`. Only lines like those that
`page.py` writes are looked at; their lengths are bounded, and what is unpacked is no more than a page has
room for. Nothing of it is verified here.
"""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Annotated, NamedTuple

import msgspec

from steno.bundle.folder import BLOCK, Folder
from steno.errors import UnreadableBundleError
from steno.evidence import compat, layout
from steno.evidence.run_id import is_run_id
from steno.model.run import Manifest, Run, read_manifest
from steno.views.report import page
from steno.views.report.parts import JUDGED, LARGEST

_MOST_DATA = 16 << 20
_LONGEST_LINE = 96 << 20  # of a part of the largest size that gzip could not make smaller
_MOST_UNPACKED = 1 << 30
_DATA = re.compile(rb'<script type="application/json" id="steno-page">(.*)</script>\n')
_PART = re.compile(rb'<script type="text/plain" id="(part-[0-9]{1,4})">([A-Za-z0-9+/=]*)</script>\n')
_EVIDENCE = re.compile(rf"{layout.EVIDENCE}(/[^/]+){{1,2}}")
_FIRST = frozenset(map(compat.name_in_first, compat.FILES))
_GZIP = 31
_ERRORS = (OSError, ValueError, zlib.error, msgspec.MsgspecError, RecursionError)


_Name = Annotated[str, msgspec.Meta(max_length=200)]


class CarriedPart(msgspec.Struct, frozen=True):
    id: _Name
    path: _Name
    sealed_as: _Name | None = None
    skip: int = 0


class Judgement(msgspec.Struct, frozen=True):
    rules: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    steno: _Name
    root: str | None
    files: dict[str, str | None]


class _Data(msgspec.Struct):
    schema: str
    run_id: str | None
    parts: list[CarriedPart]
    judgement: Judgement


class Carried(NamedTuple):
    run: Run  # of the evidence, under its names in the manifest
    manifest: Manifest
    parts: list[CarriedPart]
    judgement: Judgement  # as the page tells it
    concluded: dict[str, str]  # the digests of what the page really has, by path


class _BadPageError(ValueError):
    """The file is no report, or not all of one."""


@contextmanager
def carried(path: Path) -> Iterator[Carried]:
    """For as long as it is looked at. The folder is named after the run, which verification compares."""
    with TemporaryDirectory(prefix="steno-unpacked-") as scratch:
        try:
            with path.open("rb") as file:
                lines = _lines(file)
                data = _data(lines)
                folder = _new_folder(Path(scratch), data.run_id)
                with folder:
                    concluded = _Unpacking(folder, data).take(lines)
                    manifest = _manifest(folder)
        except _ERRORS as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise UnreadableBundleError(
                f"{path} is not a report of a sealed record: {why}", hint="`steno report RUN` makes one"
            ) from None
        with Run(Folder(folder.path)) as run:
            yield Carried(run, manifest, data.parts, data.judgement, concluded)


def _new_folder(scratch: Path, run_id: str | None) -> Folder:
    place = scratch / (run_id if run_id is not None and is_run_id(run_id) else "run")
    place.mkdir(mode=0o700)
    return Folder(place)


def _manifest(folder: Folder) -> Manifest:
    if not folder.has(layout.MANIFEST):
        raise _BadPageError("it carries no manifest")
    return read_manifest(folder)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    while line := file.readline(_LONGEST_LINE + 1):
        if len(line) > _LONGEST_LINE:
            raise _BadPageError("a line of it is longer than any of a report")
        yield line


def _data(lines: Iterator[bytes]) -> _Data:
    found = next(filter(None, map(_DATA.fullmatch, lines)), None)
    if found is None:
        raise _BadPageError("it has no data")
    if len(found[1]) > _MOST_DATA:
        raise _BadPageError("its data is longer than that of any report")
    data = msgspec.json.decode(found[1], type=_Data)
    if data.schema != page.SCHEMA:
        raise _BadPageError("its data is of another kind")
    return data


class _Unpacking:
    def __init__(self, folder: Folder, data: _Data) -> None:
        self._folder = folder
        self._wanted = {part.id: part for part in data.parts}
        self._left = _MOST_UNPACKED
        if len(self._wanted) != len(data.parts) or len({part.path for part in data.parts}) != len(data.parts):
            raise _BadPageError("two parts of it have one name")

    def take(self, lines: Iterator[bytes]) -> dict[str, str]:
        """The digests of what was concluded; the evidence goes into the folder."""
        concluded: dict[str, str] = {}
        for line in lines:
            if _DATA.fullmatch(line):
                raise _BadPageError("it has data twice")
            found = _PART.fullmatch(line)
            part = self._wanted.pop(found[1].decode(), None) if found else None
            if found is None or part is None:
                continue
            if part.sealed_as is not None:
                self._keep(part.sealed_as, found[2])
            elif part.path in JUDGED:
                digest = hashlib.sha256()
                self._unpack(found[2], digest.update)
                concluded[part.path] = digest.hexdigest()
        if self._wanted:
            raise _BadPageError("it lacks a part that its data names: its end may be lost")
        return concluded

    def _keep(self, name: str, packed: bytes) -> None:
        if not _EVIDENCE.fullmatch(name) and name not in {layout.MANIFEST, *_FIRST}:
            raise _BadPageError("a part of it is no file that a record has")
        with os.fdopen(self._folder.create(name), "wb") as file:
            self._unpack(packed, file.write)

    def _unpack(self, packed: bytes, take: Callable[[bytes], object]) -> None:
        most = min(LARGEST, self._left)
        size, unpacker, rest = 0, zlib.decompressobj(wbits=_GZIP), b64decode(packed, validate=True)
        while not unpacker.eof:
            block = unpacker.decompress(rest, BLOCK)
            rest = unpacker.unconsumed_tail
            if not block and not rest and not unpacker.eof:
                raise _BadPageError("a part of it is cut")
            size += len(block)
            if size > most:
                raise _BadPageError("it holds more than a report has room for")
            take(block)
        self._left -= size
