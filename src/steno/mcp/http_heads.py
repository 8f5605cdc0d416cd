"""The head of an HTTP message: as nearly everybody writes it, read in one go; and how heads are written.

In: the bytes of a head with its blank line. Out: the `Request` or `Response` that it is, or None: it is not
written in the plainest way, and h11 shall say what it is, or refuse it. Plain is HTTP/1.1 with one length, or
an answer in chunks, and nothing else that changes how the rest is read, so what is plain here is the same
for h11; a test says so. Never repairs anything.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import h11

Headers = list[tuple[bytes, bytes]]  # names in lower case

MAX_HEAD = 64 << 10
END_OF_HEAD = b"\r\n\r\n"
WITHOUT_BODY = frozenset({204, 304})
_TOKEN = rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+"
_VISIBLE = rb"[!-~\x80-\xff]++"
_REQUEST = re.compile(rb"(%s) ([!-~]+) HTTP/1\.1" % _TOKEN)
_STATUS = re.compile(rb"HTTP/1\.1 ([2-5][0-9][0-9])(?: [\t -~\x80-\xff]*)?")
# No possessive group: before 3.11.5 Python lets one end in the midst of what it repeats.
_FIELD = re.compile(rb"(%s):[ \t]*+((?:%s(?:[ \t]++%s)*)?)[ \t]*+" % (_TOKEN, _VISIBLE, _VISIBLE))
_CHANGES_THE_REST = frozenset({b"expect", b"upgrade"})
_MOST_DIGITS = 18


class Request(NamedTuple):
    method: bytes
    target: bytes
    headers: Headers
    length: int | None = None  # of the body; None: h11 knows
    keeps_open: bool = True  # another request may follow on the connection
    takes_chunks: bool = True


class Response(NamedTuple):
    status_code: int
    headers: Headers
    length: int | None = None  # of the body; None: it comes in chunks, or h11 knows
    keeps_open: bool = True


def plain_request(head: bytes) -> Request | None:
    first, *lines = head[: -len(END_OF_HEAD)].split(b"\r\n")
    said, headers = _REQUEST.fullmatch(first), _plain(lines)
    if said is None or headers is None:
        return None
    names = [name for name, _ in headers]
    if names.count(b"host") != 1 or b"transfer-encoding" in names:
        return None
    length = _length(headers) if b"content-length" in names else 0
    return None if length is None else Request(said[1], said[2], headers, length)


def plain_response(head: bytes) -> Response | None:
    first, *lines = head[: -len(END_OF_HEAD)].split(b"\r\n")
    said, headers = _STATUS.fullmatch(first), _plain(lines)
    if said is None or headers is None or (status := int(said[1])) in WITHOUT_BODY:
        return None
    coded = [value for name, value in headers if name == b"transfer-encoding"]
    if coded:
        is_plain = coded == [b"chunked"] and all(name != b"content-length" for name, _ in headers)
        return Response(status, headers) if is_plain else None
    length = _length(headers)
    return None if length is None else Response(status, headers, length)


def request_of(read: h11.Request) -> Request:
    headers, is_new = list(read.headers), read.http_version >= b"1.1"
    keeps_open = is_new and not _says_close(headers)
    return Request(read.method, read.target, headers, None, keeps_open, is_new)


def response_of(read: h11.Response) -> Response:
    headers = list(read.headers)
    return Response(read.status_code, headers, None, read.http_version >= b"1.1" and not _says_close(headers))


def written(first: bytes, headers: Headers) -> bytes:
    """The names and values are some that were read here, or our own: there is no line end in them."""
    return b"".join([first, *[b"%s: %s\r\n" % field for field in headers], b"\r\n"])


def _plain(lines: list[bytes]) -> Headers | None:
    headers: Headers = []
    for line in lines:
        field = _FIELD.fullmatch(line)
        if field is None:
            return None
        name, value = field.groups()
        name = name.lower()
        if name in _CHANGES_THE_REST or (name == b"connection" and value.lower() != b"keep-alive"):
            return None
        headers.append((name, value))
    return headers


def _length(headers: Headers) -> int | None:
    said = [value for name, value in headers if name == b"content-length"]
    is_plain = len(said) == 1 and said[0].isdigit() and len(said[0]) <= _MOST_DIGITS
    return int(said[0]) if is_plain else None


def _says_close(headers: Headers) -> bool:
    return any(
        word.strip().lower() == b"close"
        for name, value in headers
        if name == b"connection"
        for word in value.split(b",")
    )
