"""The pages of the site and their data: which request gets which answer."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from http import HTTPStatus
from itertools import chain
from pathlib import Path
from tempfile import SpooledTemporaryFile
from threading import Event, Lock
from typing import Any
from urllib.parse import quote

from steno import __version__
from steno.compare import comparison, sides
from steno.compare.ignore import IgnoreRules
from steno.compare.sides import verified_evidence
from steno.errors import StenoError
from steno.evidence import layout
from steno.evidence.run_id import is_run_id
from steno.model import runs
from steno.model.capabilities import CATEGORIES
from steno.model.record import readable
from steno.model.run import Run, RunState, of_store
from steno.model.trust import trusted
from steno.report import page
from steno.report.overview import ORPHANED, subject_of
from steno.report.page import document, header, title
from steno.report.parts import EXTRACT, LARGEST_BY_URL, Parts, parts_of
from steno.site import live
from steno.site.messages import (
    HTML,
    HttpError,
    Request,
    Response,
    data_file,
    download,
    html,
    json,
    moved,
    plain,
    stream,
)
from steno.text.safe import ELLIPSIS, visible
from steno.views import list as listing

_Key = tuple[int, int, int]


class RunListCache:
    def __init__(self, store: Path) -> None:
        self._store = store
        self._known: dict[str, tuple[_Key, dict[str, Any]]] = {}
        self._lock = Lock()

    def rows(self) -> list[dict[str, Any]]:
        with self._lock:
            found = {run_id: self._row(run_id) for run_id in runs.run_ids(self._store)}
            self._known = {run_id: known for run_id, known in self._known.items() if run_id in found}
            return list(found.values())

    def _row(self, run_id: str) -> dict[str, Any]:
        key = _manifest(self._store / run_id)
        known = self._known.get(run_id)
        if known is not None and known[0] == key:
            return known[1]
        row = runs.row(self._store, run_id)
        told = {**listing.to_json(row), "title": row.title}
        if key is not None and row.state is runs.RunState.SEALED:
            self._known[run_id] = (key, told)
        return told


def _manifest(run: Path) -> _Key | None:
    try:
        found = (run / layout.MANIFEST).lstat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


_PACKED_IN_MEMORY = 8 << 20
_BLOCK = 1 << 18
_A_RUN = 2  # parts of an address
_LONGEST_HEADING = 300
# What is gone, or is a link or no folder where a run, or a file of one, would be. All else is told.
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG})


class Site:
    """Answers for one store. `closing` ends what would go on for as long as a run does."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._listed = RunListCache(store)
        self.closing = Event()

    def answer(self, asked: Request) -> Response:
        try:
            return self._answer(asked)
        except StenoError as error:
            return plain(HTTPStatus.CONFLICT, f"{error}\nhint: {error.hint}")
        except OSError as error:
            if error.errno in _NOT_THERE:
                raise _not_here() from None
            says = f"what the store has at this address cannot be read: {error.strerror}"
            print(f"steno: {visible(f'{says}: {error.filename or self._store}')}", file=sys.stderr)
            return plain(HTTPStatus.INTERNAL_SERVER_ERROR, says)

    def _answer(self, asked: Request) -> Response:
        is_folder = asked.parts == () or (asked.parts[0] == "run" and len(asked.parts) == _A_RUN)
        if is_folder and not asked.as_folder:
            return moved(f"./{quote(asked.last)}/")  # what is named from there is below it
        match asked.parts:
            case ():
                return _own_page("list", "Runs", page.text(str(self._store)))
            case ("runs.json",):
                return json({"runs": self._listed.rows()})
            case ("compare",):
                return _own_page("compare", "Compare two runs")
            case ("compare.json",):
                return self._compare(asked.query.get("a", ""), asked.query.get("b", ""))
            case ("run", run_id, *rest):
                return self._of_run(run_id, rest)
        raise _not_here()

    def _of_run(self, run_id: str, rest: list[str]) -> Response:
        match rest:
            case []:
                return self._run(run_id)
            case ["live"]:
                run = self._open(run_id)
                return stream(live.happenings(run, self.closing), run.close)
            case ["terminal"]:
                return self._terminal(run_id)
            case ["file", *path]:
                return self._file(run_id, "/".join(path))
            case ["pack"]:
                return self._packed(run_id)
            case ["report"]:
                return self._report(run_id)
        raise _not_here()

    def _open(self, run_id: str) -> Run:
        if not is_run_id(run_id):
            raise _not_here()
        return of_store(self._store, run_id)

    def _run(self, run_id: str) -> Response:
        with self._open(run_id) as run:
            if run.state in {RunState.RUNNING, RunState.ORPHANED}:
                return _live_page(run.row)
            found, parts = subject_of(run), parts_of(run, LARGEST_BY_URL, made=False)
        data = {
            **_data("run", run_id, str(found.state)),
            "verdict": found.verdict,
            "summary": found.summary_in_page,
            **parts.data,
        }
        top = _way_back("../../") + header(found)
        if found.state is RunState.UNSEALED:  # nothing is in its place yet, so the page carries it
            return html(title(found), top, data, parts.embedded())
        named = [one.to_json(url=f"./file/{quote(one.path)}") for one in parts.inside]
        return html(title(found), top + _downloads(), data | {"parts": named})

    def _terminal(self, run_id: str) -> Response:
        with ExitStack() as held:
            listening = held.enter_context(self._open(run_id)).listen()
            held.callback(listening.close)
            return stream(live.terminal(listening, self.closing), held.pop_all().close)

    def _file(self, run_id: str, path: str) -> Response:
        with ExitStack() as held:
            run = held.enter_context(self._open(run_id))
            parts = parts_of(run, LARGEST_BY_URL, extract=path == EXTRACT, made=False).inside
            found = next((one for one in parts if one.path == path), None)
            if found is None:
                raise _not_here()
            if found.sealed_as is None:  # in no file of the run
                blocks = found.blocks()
                with readable(run.folder):
                    first = next(blocks, b"")  # what cannot be made fails here
                return data_file(chain([first], blocks), found.size, held.pop_all().close)
            fd = run.folder.open(found.sealed_as)
        return data_file(_blocks(fd), os.fstat(fd).st_size, lambda: os.close(fd))

    def _packed(self, run_id: str) -> Response:
        with ExitStack() as held:
            run = held.enter_context(self._open(run_id))
            trusted(run)
            return download(f"{run_id}.tar.gz", "application/gzip", _packed(run), held.pop_all().close)

    def _report(self, run_id: str) -> Response:
        with ExitStack() as held:
            run = held.enter_context(self._open(run_id))
            blocks = document(run, subject_of(run))
            return download(f"steno-{run_id}.html", HTML, blocks, held.pop_all().close)

    def _compare(self, a: str, b: str) -> Response:
        with self._open(a) as one, self._open(b) as other:
            titles = {run_id: run.row.title for run_id, run in ((a, one), (b, other))}
            named = [sides.Named(run.path.name, verified_evidence(run)) for run in (one, other)]
        first, second = sides.pair(*named, projected=None)
        found = comparison.compare(first, second, IgnoreRules(), by_name=False)
        headings = {category.key: category.title for category in CATEGORIES}
        return json({**comparison.to_json(found), "headings": headings, "titles": titles})


def _own_page(kind: str, heading: str, below: str = "") -> Response:
    """A page that asks for what it shows."""
    back = _way_back("./") if kind == "compare" else ""
    return _asking(_data(kind, None, ""), heading, below, back)


def _live_page(row: runs.Row) -> Response:
    gone = f". {page.prose(ORPHANED)}" if row.state is RunState.ORPHANED else ""
    below = f"{page.text(row.run_id)}{gone}"
    return _asking(_data("live", row.run_id, str(row.state)), row.title, below, _way_back("../../"))


def _asking(data: dict[str, Any], heading: str, below: str, back: str) -> Response:
    """`below` is HTML."""
    title = heading if len(heading) <= _LONGEST_HEADING else f"{heading[:_LONGEST_HEADING]}{ELLIPSIS}"
    where = f'<p class="site-store">{below}</p>' if below else ""
    head = f'{back}<header class="site-head"><h1>{page.text(title)}</h1>{where}</header>'
    nothing: dict[str, Any] = {"verdict": None, "summary": None, **Parts([], []).data}
    return html(f"{title} - Steno", head, data | nothing)


def _data(kind: str, run_id: str | None, state: str) -> dict[str, Any]:
    return {"schema": page.SCHEMA, "kind": kind, "steno": __version__, "run_id": run_id, "state": state}


def _way_back(to: str) -> str:
    return f'<nav class="site-nav" aria-label="Site"><a href="{to}">All runs</a></nav>\n'


def _downloads() -> str:
    return (
        '<nav class="site-nav" aria-label="Downloads"><a href="./pack">Download the packed bundle</a> '
        '<a href="./report">Download the report</a></nav>\n'
    )


def _not_here() -> HttpError:
    return HttpError(HTTPStatus.NOT_FOUND, "there is nothing at this address, or not any more")


def _blocks(fd: int) -> Iterator[bytes]:
    while block := os.read(fd, _BLOCK):
        yield block


def _packed(run: Run) -> Iterator[bytes]:
    """Made whole before it is sent: the packer writes, and does not wait for a reader."""
    with SpooledTemporaryFile(_PACKED_IN_MEMORY) as out:
        run.pack(out)
        out.seek(0)
        while block := out.read(_BLOCK):
            yield block
