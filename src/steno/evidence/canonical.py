"""Canonical JSON (RFC 8785): equal facts give equal bytes.

Integers beyond 2^53 travel as strings, because a JSON reader in another language would round them. Nesting
has a limit, so that no input can exhaust the stack of a reader.
"""

from __future__ import annotations

from typing import Any

import msgspec
import rfc8785

SAFE_INTEGER = 2**53 - 1
MAX_DEPTH = 64
_WRITTEN_ALIKE = frozenset({str, bool, type(None)})
_write_sorted = msgspec.json.Encoder(order="sorted").encode


class NotCanonicalError(ValueError):
    """The bytes are not JSON, or are JSON written in another way than the canonical one."""


def encode(value: Any) -> bytes:
    try:
        return _write_sorted(_plain(value, 0))
    except (_NotPlainError, UnicodeEncodeError):  # a lone surrogate; let the one who knows the rules say so
        return rfc8785.dumps(_portable(value))


def encode_line(value: Any) -> bytes:
    return encode(value) + b"\n"


def decode(data: bytes) -> Any:
    """Read canonical JSON; anything that would not be written back byte for byte is refused."""
    try:
        value = msgspec.json.decode(data)
        rewritten = encode(value)
    except NotCanonicalError:
        raise
    except (msgspec.DecodeError, rfc8785.CanonicalizationError, RecursionError, UnicodeError) as error:
        raise NotCanonicalError(f"not JSON: {error}") from None
    if rewritten != data:
        raise NotCanonicalError("not in canonical form")
    return value


def decode_line(line: bytes) -> Any:
    if not line.endswith(b"\n"):
        raise NotCanonicalError("the line does not end with a newline")
    return decode(line[:-1])


def integer(value: int | str) -> int:
    """Read an integer that `encode` may have had to write as a string."""
    if type(value) is not str:
        return int(value)
    try:
        number = int(value)
    except ValueError:
        raise NotCanonicalError("not an integer") from None
    if -SAFE_INTEGER <= number <= SAFE_INTEGER or str(number) != value:
        raise NotCanonicalError("an integer is a string only beyond 2^53")
    return number


def _portable(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise NotCanonicalError(f"nested deeper than {MAX_DEPTH}")
    match value:
        case str() | bool():
            return value
        case int():
            return str(value) if abs(value) > SAFE_INTEGER else value
        case dict():
            return {key: _portable(item, depth + 1) for key, item in value.items()}
        case list() | tuple():
            return [_portable(item, depth + 1) for item in value]
        case _:
            return value


class _NotPlainError(Exception):
    """A plain writer with sorted keys would write it in another way than RFC 8785 does."""


def _plain(value: Any, depth: int) -> Any:
    """The same as `_portable`, for what a plain writer writes as RFC 8785 does; that is many times faster.

    The two differ in fractions, and in the order of keys beyond ASCII.
    """
    kind = type(value)
    if kind in _WRITTEN_ALIKE:
        return value
    if kind is int:
        return value if -SAFE_INTEGER <= value <= SAFE_INTEGER else str(value)
    if depth >= MAX_DEPTH:
        raise _NotPlainError
    depth += 1
    if kind is dict:
        try:
            if not "".join(value).isascii():
                raise _NotPlainError
        except TypeError:
            raise _NotPlainError from None
        plain = {}
        for key, item in value.items():
            kind = type(item)
            stays = kind in _WRITTEN_ALIKE or (kind is int and -SAFE_INTEGER <= item <= SAFE_INTEGER)
            plain[key] = item if stays else _plain(item, depth)
        return plain
    if kind is list or kind is tuple:
        return [item if type(item) in _WRITTEN_ALIKE else _plain(item, depth) for item in value]
    raise _NotPlainError
