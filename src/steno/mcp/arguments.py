"""What is told of the arguments of a call: masked, and cut where they are large.

In: arguments as parsed JSON. Out: JSON without secrets, of at most `MAX_TOLD` bytes. Of arguments that are
larger the long strings are cut, so that a path beside a long text is still told; what is larger even so is
left out. Never I/O.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from steno.evidence.intake import MAX_TOLD

MAX_TEXT = 1024  # of a string in arguments that are too large
_LOOKED_AT = 8 * MAX_TEXT  # a secret that begins in what is kept ends in here
_MOST_PARTS = 4096
_SURELY_TOO_LARGE = 4 * MAX_TOLD  # a message of this size is not written down again only to be measured


class Kept(NamedTuple):
    arguments: Any
    cut: bool


class TooLargeError(ValueError):
    """Not even with its strings cut is it small."""


class Masker:
    """To make one loads the rules, which takes a tenth of a second."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        from steno.redact import Findings, Redactor

        self._redactor = Redactor(findings=Findings())
        self._redactor.learn(self._redactor.secrets_in_env(environ))

    def keep(self, arguments: Any, size: int) -> Kept:
        """`size`: of the message that they came in."""
        if arguments is None:
            return Kept(None, cut=False)
        try:
            if size <= _SURELY_TOO_LARGE:
                whole = msgspec.json.encode(arguments)
                if len(whole) <= MAX_TOLD:
                    return Kept(self._masked(arguments, whole), cut=False)
            looked_at = _shortened(arguments, _LOOKED_AT, [_MOST_PARTS])
            masked = msgspec.json.decode(self._masked(looked_at, msgspec.json.encode(looked_at)))
            kept = msgspec.json.encode(_shortened(masked, MAX_TEXT, [_MOST_PARTS]))
        except (TooLargeError, UnicodeError, RecursionError, msgspec.MsgspecError):
            return Kept(None, cut=True)
        return Kept(msgspec.Raw(kept) if len(kept) <= MAX_TOLD else None, cut=True)

    def text(self, value: str) -> str:
        """The same, if there is no secret in it."""
        plain = value.encode("utf-8", "replace")
        return plain.decode() if self._redactor.is_clean(plain) else self._redactor.text(plain.decode(), "")

    def _masked(self, arguments: Any, encoded: bytes) -> msgspec.Raw:
        if self._redactor.is_clean(encoded):
            return msgspec.Raw(encoded)
        return msgspec.Raw(msgspec.json.encode(self._redactor.foreign(arguments, "")))


def _shortened(value: Any, most: int, parts: list[int]) -> Any:
    parts[0] -= 1
    if parts[0] < 0:
        raise TooLargeError
    if isinstance(value, str):
        return value[:most]
    if isinstance(value, dict):
        return {key[:most]: _shortened(part, most, parts) for key, part in value.items()}
    if isinstance(value, list):
        return [_shortened(part, most, parts) for part in value]
    return value
