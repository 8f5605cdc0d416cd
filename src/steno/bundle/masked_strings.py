"""The strings of the frames without their secrets: what may be written to the disk in clear.

In: paths, addresses and argument lists as the command gave them. Out: the same, secrets masked; a path
keeps its length, so it stays a key that joins its rows, but two paths may become one. Each string is read
once. What is clean as bytes and would not be as the text that people read is masked whole. Never touches a
file.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence

from steno.redact.engine import Redactor

PATHS = "kernel.path"
ARGUMENTS = "kernel.argv"
_TOGETHER = 64 << 10
_END = b"\0"
_ESCAPE = b"\x1b"


class MaskedStrings:
    def __init__(self, strings: Sequence[bytes], redactor: Redactor) -> None:
        self._strings = strings
        self._redactor = redactor
        self._read = bytearray(len(strings))
        self._masked: dict[int, bytes] = {}

    def take(self, numbers: Sequence[int]) -> list[bytes]:
        """The masked strings of these numbers, each of which is named once."""
        fresh = [number for number in numbers if not self._read[number]]
        for group in self._groups(fresh):
            if len(group) == 1 or not self._redactor.is_clean(b"\n".join(self._strings[n] for n in group)):
                for number in group:
                    self._read_alone(number)
        for number in fresh:
            self._read[number] = 1
        return [self._masked.get(number) or self._strings[number] for number in numbers]

    def _groups(self, numbers: Iterable[int]) -> Iterator[list[int]]:
        """Most strings hold no secret, and many are read together as fast as one. Some must be read alone:
        argument lists in their context, and an escape sequence, which may swallow what comes after it.
        """
        group: list[int] = []
        size = 0
        for number in numbers:
            text = self._strings[number]
            if _END in text or _ESCAPE in text:
                yield [number]
                continue
            group.append(number)
            size += len(text)
            if size > _TOGETHER:
                yield group
                group, size = [], 0
        if group:
            yield group

    def _read_alone(self, number: int) -> None:
        text = self._strings[number]
        masked = mask_arguments(self._redactor, text) if _END in text else mask_path(self._redactor, text)
        if masked != text:
            self._masked[number] = masked


def mask_path(redactor: Redactor, path: bytes) -> bytes:
    """A path, a link's target or an address, secrets masked at equal length."""
    masked = path if redactor.is_clean(path) else redactor.mask(path, PATHS)
    return masked if _shows_nothing(redactor, masked, masked.decode("latin-1")) else b"*" * len(path)


def mask_arguments(redactor: Redactor, arguments: bytes) -> bytes:
    """An argument list, each argument ended by NUL (the last one perhaps not: it was cut)."""
    words = split_arguments(arguments)
    masked = redactor.argv([word.decode("utf-8", "surrogateescape") for word in words], ARGUMENTS)
    end = _END if arguments.endswith(_END) else b""
    return _END.join(_mask_shown(redactor, _restored(text)) for text in masked) + end


def split_arguments(arguments: bytes) -> list[bytes]:
    return arguments.removesuffix(_END).split(_END) if arguments else []


def _mask_shown(redactor: Redactor, word: bytes) -> bytes:
    shown = word.decode("utf-8", "backslashreplace")
    return word if _shows_nothing(redactor, word, shown) else b"*" * len(word)


def _shows_nothing(redactor: Redactor, data: bytes, shown: str) -> bool:
    """Whether the texts that stand for bytes which are not UTF-8 hold no secret either."""
    if data.isascii() or _is_utf8(data):
        return True
    return redactor.is_clean(shown.encode()) and redactor.is_clean(base64.b64encode(data))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _restored(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
