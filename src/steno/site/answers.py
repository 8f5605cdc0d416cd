"""What is sent back: a status, headers that keep a page to itself, and blocks of bytes.

In: pages, data and files of the site. Out: an `Answer`, ready to be written. Every answer forbids to be
framed, kept, guessed at or read by another site; only our own pages may run a script, and only the one they
name. Never sends a file of a record as something that a browser would show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec

from steno.text.safe import utf8
from steno.views.report import page

HTML = "text/html; charset=utf-8"
_NOTHING = "default-src 'none'; sandbox; frame-ancestors 'none'"
_ALWAYS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Answer(NamedTuple):
    status: HTTPStatus
    kind: str
    blocks: Iterable[bytes]
    length: int | None = None  # None: known when all is sent
    name: str | None = None  # of the file that a browser is to keep
    policy: str = _NOTHING
    location: str | None = None  # where it is
    release: Callable[[], object] = lambda: None  # lets go of what the blocks are read from

    @property
    def headers(self) -> dict[str, str]:
        found = {**_ALWAYS, "Content-Type": self.kind, "Content-Security-Policy": self.policy}
        if self.location is not None:
            found["Location"] = self.location
        if self.name is not None:
            found["Content-Disposition"] = f'attachment; filename="{self.name}"'
        return found


def html(title: str, header: str, data: dict[str, Any], parts: Iterable[bytes] = ()) -> Answer:
    """One of our pages; what it does not carry it asks for."""
    blocks = page.html(title, header, data, parts, connect=True)
    policy = f"{page.policy(connect=True)}; frame-ancestors 'none'"
    return Answer(HTTPStatus.OK, HTML, blocks, policy=policy)


def json(value: Any, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    data = msgspec.json.encode(utf8(value))
    return Answer(status, "application/json", [data], len(data))


def plain(status: HTTPStatus, says: str) -> Answer:
    data = f"steno: {says}\n".encode("utf-8", "backslashreplace")
    return Answer(status, "text/plain; charset=utf-8", [data], len(data))


def moved(location: str) -> Answer:
    return plain(HTTPStatus.PERMANENT_REDIRECT, "it is there")._replace(location=location)


def download(name: str, kind: str, blocks: Iterable[bytes], release: Callable[[], object]) -> Answer:
    """`name` is one of ours: a run's id and a suffix."""
    return Answer(HTTPStatus.OK, kind, blocks, name=name, release=release)


def stream(events: Iterable[bytes], release: Callable[[], object]) -> Answer:
    return Answer(HTTPStatus.OK, "text/event-stream", events, release=release)


def data_file(blocks: Iterable[bytes], length: int | None, release: Callable[[], object]) -> Answer:
    """A file of a record: bytes for our own script."""
    return Answer(HTTPStatus.OK, "application/octet-stream", blocks, length, release=release)
