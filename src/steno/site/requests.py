"""Which requests are answered at all: from this machine, for this site, with its token, and to read.

In: the line and the headers of a request, which may be from any page that a browser shows. Out: the parts of
its path and its query, or a `Refused` with a status. The token is the first part of every path, so that
there is no cookie which a browser would send by itself. A foreign Host (a name that was made to lead here),
a foreign Origin, another method, a body and a path that could mean something else are refused. Never looks
at a file.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote_to_bytes

METHODS = ("GET", "HEAD")
LONGEST_TARGET = 2048
_NAMES = ("127.0.0.1", "localhost", "[::1]")
_WITHIN = frozenset({"same-origin", "none"})
_ENCODED = re.compile(r"(?:[^%]|%[0-9A-Fa-f]{2})*")
_MOST_PARTS = 12
_MOST_WORDS = 8


class Refused(Exception):  # noqa: N818 - it is an answer, not a fault
    def __init__(self, status: HTTPStatus, says: str) -> None:
        super().__init__(says)
        self.status = status


class Headers(Protocol):
    def get_all(self, name: str) -> list[str] | None: ...


class Asked(NamedTuple):
    parts: tuple[str, ...]  # of the path, after the token
    as_folder: bool  # it ends with a slash
    last: str  # of all parts
    query: Mapping[str, str]


def check(method: str, target: str, headers: Headers, *, port: int, token: str) -> Asked:
    if method not in METHODS:
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "this site can only be read")
    _check_where_from(headers, port)
    if headers.get_all("Transfer-Encoding") or (headers.get_all("Content-Length") or ["0"]) != ["0"]:
        raise Refused(HTTPStatus.BAD_REQUEST, "a request to read has no body")
    path, _, query = target.partition("?")
    parts = _parts(path)
    if not parts or not hmac.compare_digest(parts[0].encode(), token.encode()):
        raise Refused(HTTPStatus.FORBIDDEN, "the address needs the token that `steno serve` printed")
    return Asked(parts[1:], path.endswith("/"), parts[-1], _query(query))


def _check_where_from(headers: Headers, port: int) -> None:
    """A page of another site can make a browser ask; it cannot choose these headers."""
    hosts = {f"{name}:{port}" for name in _NAMES}
    named = headers.get_all("Host") or []
    if len(named) != 1 or named[0].strip().lower() not in hosts:
        raise Refused(HTTPStatus.MISDIRECTED_REQUEST, "this site has another name")
    for origin in headers.get_all("Origin") or []:
        if origin.strip().lower() not in {f"http://{host}" for host in hosts}:
            raise Refused(HTTPStatus.FORBIDDEN, "pages of other sites are not answered")
    # To follow a link to a page is fine, wherever the link is: its address has the token.
    is_visit = (headers.get_all("Sec-Fetch-Mode"), headers.get_all("Sec-Fetch-Dest")) == (
        ["navigate"],
        ["document"],
    )
    for site in headers.get_all("Sec-Fetch-Site") or []:
        if site not in _WITHIN and not is_visit:
            raise Refused(HTTPStatus.FORBIDDEN, "pages of other sites are not answered")


def _parts(path: str) -> tuple[str, ...]:
    if not path.startswith("/") or len(path) > LONGEST_TARGET or not path.isascii():
        raise Refused(HTTPStatus.BAD_REQUEST, "not a path of this site")
    raw = path[1:].split("/")
    if raw[-1] == "":
        raw.pop()
    if len(raw) > _MOST_PARTS:
        raise Refused(HTTPStatus.BAD_REQUEST, "not a path of this site")
    return tuple(map(_decoded, raw))


def _decoded(part: str) -> str:
    try:
        text = unquote_to_bytes(part).decode()
    except UnicodeDecodeError:
        raise Refused(HTTPStatus.BAD_REQUEST, "not a path of this site") from None
    is_plain = text.isprintable() and not {"/", "\\"} & set(text) and text not in {"", ".", ".."}
    if not is_plain or _ENCODED.fullmatch(part) is None:
        raise Refused(HTTPStatus.BAD_REQUEST, "not a path of this site")
    return text


def _query(query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, strict_parsing=bool(query), max_num_fields=_MOST_WORDS, errors="strict"))
    except ValueError:
        raise Refused(HTTPStatus.BAD_REQUEST, "the query cannot be read") from None
