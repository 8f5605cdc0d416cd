"""Canonical JSON (RFC 8785): equal facts give equal bytes.

In: plain JSON data. Out: bytes, or data read back from bytes. Integers beyond 2^53 travel as strings,
because a JSON reader in another language would round them. Nesting has a limit, so that no input can
exhaust the stack of a reader. Never touches a file.
"""

from __future__ import annotations

from typing import Any

import msgspec
import rfc8785

SAFE_INTEGER = 2**53 - 1
MAX_DEPTH = 64
_write_sorted = msgspec.json.Encoder(order="sorted").encode


class NotCanonicalError(ValueError):
    """The bytes are not JSON, or are JSON written in another way than the canonical one."""


def encode(value: Any) -> bytes:
    portable = _portable(value)
    if _is_plain(portable):
        try:
            return _write_sorted(portable)
        except UnicodeEncodeError:  # a lone surrogate; let the one who knows the rules say so
            pass
    return rfc8785.dumps(portable)


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
    if isinstance(value, int):
        return value
    try:
        number = int(value)
    except ValueError:
        raise NotCanonicalError("not an integer") from None
    if abs(number) <= SAFE_INTEGER or str(number) != value:
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


def _is_plain(value: Any) -> bool:
    """Whether a plain writer with sorted keys writes it as RFC 8785 does; that is many times faster.

    The two differ in fractions, and in the order of keys beyond ASCII.
    """
    match value:
        case str() | bool() | int() | None:
            return True
        case dict():
            return all(
                isinstance(key, str) and key.isascii() and _is_plain(item) for key, item in value.items()
            )
        case list():
            return all(map(_is_plain, value))
        case _:
            return False
