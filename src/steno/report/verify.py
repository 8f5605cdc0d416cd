"""Whether a page is what its record gives: its evidence is verified, and the rest made again."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Annotated, NamedTuple

import msgspec

from steno import __version__
from steno.bundle.folder import BLOCK, Folder
from steno.errors import UnreadableBundleError
from steno.evidence import compat, layout
from steno.evidence.run_id import is_run_id
from steno.model import table_documents
from steno.model.run import RULES, Manifest, Run, Status, Verdict, read_manifest
from steno.report import page
from steno.report.overview import subject_of
from steno.report.page import document
from steno.report.parts import JUDGED, LARGEST, Parts, parts_of
from steno.views.verify import Outcome, PageStatus, SecondLook

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


def second_look(path: Path) -> tuple[Verdict, SecondLook | None]:
    """None: the evidence is not right, so nothing follows from it."""
    with carried(path) as found:
        run, manifest = found.run, found.manifest
        absent = sorted({*manifest.files} - {one.path for one in run.folder.entries()})
        verdict = _of_the_rest(run, absent) if absent else run.as_it_lies.verify(*table_documents.DOCUMENTS)
        if verdict.status not in {Status.VALID, Status.INCOMPLETE}:
            return verdict, None
        if {*absent} - _concluded_when_sealed(manifest):
            return verdict, _look(found, Outcome.NOT_COMPARED)
        looked_at = _compared(found, manifest, parts_of(run))
        if looked_at.outcome is Outcome.SAME and not absent and found.judgement.steno == __version__:
            looked_at = looked_at._replace(page=_page_status(run, path))
        return verdict, looked_at


def _of_the_rest(run: Run, absent: list[str]) -> Verdict:
    notes = [f"not in this page, so only the digests of the others were compared: {', '.join(absent)}"]
    return run.verify_present()._replace(notes=notes)


def _look(found: Carried, outcome: Outcome, compared: int = 0, problems: Iterable[str] = ()) -> SecondLook:
    told = found.judgement
    return SecondLook(outcome, told.rules, told.steno, compared, [*problems], PageStatus.NOT_COMPARED)


def _concluded_when_sealed(manifest: Manifest) -> set[str]:
    """Of a record of format 1; no page carries these."""
    if manifest.format != compat.FIRST:
        return set()
    return {*compat.CONCLUDED} - {*compat.evidence_of_first(manifest.files)}


def _compared(found: Carried, manifest: Manifest, again: Parts) -> SecondLook:
    told, made = found.judgement, {one.path: one.sha256 for one in again.inside if one.sealed_as is None}
    harmed = list(_harmed(found, manifest, again))
    cannot = {one.path for one in again.left_out}
    other = [
        path
        for path in sorted({*found.concluded, *made} - cannot)
        if path in JUDGED and found.concluded.get(path) != made.get(path)
    ]
    if harmed:
        outcome = Outcome.DIFFERENT
    elif not other:
        outcome = Outcome.SAME
    else:
        outcome = Outcome.DIFFERENT if _proves(told, other) else Outcome.OTHER_RULES
    different = [f"{path}: {_how(path, found.concluded, made)}" for path in other]
    return _look(found, outcome, len({*found.concluded} - cannot), [*harmed, *different])


def _proves(told: Judgement, other: list[str]) -> bool:
    """Whether what differs cannot be explained by the rules, or the version, of whoever made the page."""
    by_same = told.steno == __version__ or not {*other} <= {*table_documents.PATHS}
    return told.rules == RULES and by_same


def _harmed(found: Carried, manifest: Manifest, again: Parts) -> Iterator[str]:
    """What no rules explain: the page does not agree with itself."""
    if found.judgement.root != manifest.root:
        yield "what was concluded is told to be of another record"
    named = {one.path: (one.sealed_as, one.skip) for one in again.inside if one.sealed_as is not None}
    for part in found.parts:
        if part.sealed_as is not None and named.get(part.path) != (part.sealed_as, part.skip):
            yield f"{part.path}: is not taken from the file of the record that it is named after"
    told = {path: digest for path, digest in found.judgement.files.items() if path in JUDGED}
    for path in sorted({*told, *found.concluded}):
        if told.get(path) != found.concluded.get(path):
            yield f"{path}: is not what the page says was concluded"


def _how(path: str, concluded: dict[str, str], made: dict[str, str | None]) -> str:
    if path not in concluded:
        return "follows from the evidence, and is not in the page"
    return "is not what follows from the evidence" if path in made else "does not follow from the evidence"


def _page_status(run: Run, path: Path) -> PageStatus:
    """Made again whole: the same record gives the same bytes."""
    digest = hashlib.sha256()
    for block in document(run, subject_of(run)):
        digest.update(block)
    with path.open("rb") as file:
        is_same = hashlib.file_digest(file, "sha256").hexdigest() == digest.hexdigest()
    return PageStatus.SAME if is_same else PageStatus.DIFFERENT
