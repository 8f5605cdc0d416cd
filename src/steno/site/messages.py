"""What a browser asks of the site, as far as it may, and what is sent back.

Every response forbids to be framed, kept, guessed at or read by another site; only our own pages may run a
script, and only the one they name.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec

from steno.report import page
from steno.text.safe import utf8

METHODS = ("GET", "HEAD")
LONGEST_TARGET = 2048
_NAMES = ("127.0.0.1", "localhost", "[::1]")
_WITHIN = frozenset({"same-origin", "none"})
_ENCODED = re.compile(r"(?:[^%]|%[0-9A-Fa-f]{2})*")
_MOST_PARTS = 12
_MOST_WORDS = 8


class HttpError(Exception):
    """A request that is refused, with the status that says so."""

    def __init__(self, status: HTTPStatus, says: str) -> None:
        super().__init__(says)
        self.status = status


class Headers(Protocol):
    def get_all(self, name: str) -> list[str] | None: ...


class Request(NamedTuple):
    parts: tuple[str, ...]  # of the path, after the token
    as_folder: bool  # it ends with a slash
    last: str  # of all parts
    query: Mapping[str, str]


def check(method: str, target: str, headers: Headers, *, port: int, token: str) -> Request:
    if method not in METHODS:
        raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, "this site can only be read")
    _check_where_from(headers, port)
    if headers.get_all("Transfer-Encoding") or (headers.get_all("Content-Length") or ["0"]) != ["0"]:
        raise HttpError(HTTPStatus.BAD_REQUEST, "a request to read has no body")
    path, _, query = target.partition("?")
    parts = _parts(path)
    if not parts or not hmac.compare_digest(parts[0].encode(), token.encode()):
        raise HttpError(HTTPStatus.FORBIDDEN, "the address needs the token that `steno serve` printed")
    return Request(parts[1:], path.endswith("/"), parts[-1], _query(query))


def _check_where_from(headers: Headers, port: int) -> None:
    """A page of another site can make a browser ask; it cannot choose these headers."""
    hosts = {f"{name}:{port}" for name in _NAMES}
    named = headers.get_all("Host") or []
    if len(named) != 1 or named[0].strip().lower() not in hosts:
        raise HttpError(HTTPStatus.MISDIRECTED_REQUEST, "this site has another name")
    for origin in headers.get_all("Origin") or []:
        if origin.strip().lower() not in {f"http://{host}" for host in hosts}:
            raise HttpError(HTTPStatus.FORBIDDEN, "pages of other sites are not answered")
    # To follow a link to a page is fine, wherever the link is: its address has the token.
    is_visit = (headers.get_all("Sec-Fetch-Mode"), headers.get_all("Sec-Fetch-Dest")) == (
        ["navigate"],
        ["document"],
    )
    for site in headers.get_all("Sec-Fetch-Site") or []:
        if site not in _WITHIN and not is_visit:
            raise HttpError(HTTPStatus.FORBIDDEN, "pages of other sites are not answered")


def _parts(path: str) -> tuple[str, ...]:
    if not path.startswith("/") or len(path) > LONGEST_TARGET or not path.isascii():
        raise HttpError(HTTPStatus.BAD_REQUEST, "not a path of this site")
    raw = path[1:].split("/")
    if raw[-1] == "":
        raw.pop()
    if len(raw) > _MOST_PARTS:
        raise HttpError(HTTPStatus.BAD_REQUEST, "not a path of this site")
    return tuple(map(_decoded, raw))


def _decoded(part: str) -> str:
    try:
        text = unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise HttpError(HTTPStatus.BAD_REQUEST, "not a path of this site") from None
    is_plain = text.isprintable() and not {"/", "\\"} & set(text) and text not in {"", ".", ".."}
    if not is_plain or _ENCODED.fullmatch(part) is None:
        raise HttpError(HTTPStatus.BAD_REQUEST, "not a path of this site")
    return text


def _query(query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, strict_parsing=bool(query), max_num_fields=_MOST_WORDS, errors="strict"))
    except ValueError:
        raise HttpError(HTTPStatus.BAD_REQUEST, "the query cannot be read") from None


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


class Response(NamedTuple):
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


def html(title: str, header: str, data: dict[str, Any], parts: Iterable[bytes] = ()) -> Response:
    """One of our pages; what it does not carry it asks for."""
    blocks = page.html(title, header, data, parts, connect=True)
    policy = f"{page.policy(connect=True)}; frame-ancestors 'none'"
    return Response(HTTPStatus.OK, HTML, blocks, policy=policy)


def json(value: Any, status: HTTPStatus = HTTPStatus.OK) -> Response:
    data = msgspec.json.encode(utf8(value))
    return Response(status, "application/json", [data], len(data))


def plain(status: HTTPStatus, says: str) -> Response:
    data = f"steno: {says}\n".encode("utf-8", "backslashreplace")
    return Response(status, "text/plain; charset=utf-8", [data], len(data))


def moved(location: str) -> Response:
    return plain(HTTPStatus.PERMANENT_REDIRECT, "it is there")._replace(location=location)


def download(name: str, kind: str, blocks: Iterable[bytes], release: Callable[[], object]) -> Response:
    """`name` is one of ours: a run's id and a suffix."""
    return Response(HTTPStatus.OK, kind, blocks, name=name, release=release)


def stream(events: Iterable[bytes], release: Callable[[], object]) -> Response:
    return Response(HTTPStatus.OK, "text/event-stream", events, release=release)


def data_file(blocks: Iterable[bytes], length: int | None, release: Callable[[], object]) -> Response:
    """A file of a record: bytes for our own script."""
    return Response(HTTPStatus.OK, "application/octet-stream", blocks, length, release=release)
