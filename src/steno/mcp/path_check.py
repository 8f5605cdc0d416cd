"""Whether a path lies under one of some directories, as it is written and as its links lead.

In: directories from a policy, a path from a call. Out: None, or why not. A path that two programs could read
in two ways is refused; where a reader might decode or normalise it, each reading must lie under a directory
too. What is not there yet is judged by the part of it that is. The directories' own links are followed once,
when the policy is read. Never opens anything: who changes a link between check and use is not seen here.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

_MOST_DECODINGS = 4
_FIRST_PRINTABLE = " "
_DELETE = "\x7f"


class Directories:
    def __init__(self, directories: Iterable[str]) -> None:
        """`directories` are absolute."""
        self.directories = tuple(os.path.normpath(directory) for directory in directories)
        resolved = [os.path.realpath(directory) for directory in self.directories]
        self._resolved = tuple(dict.fromkeys(resolved))
        self._written = tuple(dict.fromkeys([*self.directories, *resolved]))

    def breach(self, path: Any) -> str | None:
        if not isinstance(path, str):
            return "it is not a path"
        try:
            for reading in _readings(path):
                if (why := self._breach(reading)) is not None:
                    return why
        except (OSError, ValueError):
            return "it cannot be followed to its end"
        return None

    def _breach(self, path: str) -> str | None:
        if why := _malformed(path):
            return why
        written = "/" + "/".join(part for part in path.split("/") if part not in {"", "."})
        if not _is_under(written, self._written):
            return "it is outside of the directories that the policy names"
        if not _is_under(_resolve(written), self._resolved):
            return "a link leads out of the directories that the policy names"
        return None


def _readings(path: str) -> Iterator[str]:
    """The path, and what it becomes for a reader that decodes percent signs or normalises characters."""
    yield path
    if not path.isascii():
        normal = unicodedata.normalize("NFKC", path)
        if normal != path:
            yield normal
    decoded = path
    for _ in range(_MOST_DECODINGS):
        before, decoded = decoded, unquote(decoded, errors="strict")
        if decoded == before:
            return
        yield decoded
    raise ValueError("encoded again and again")


def _malformed(path: str) -> str | None:
    if not path.startswith("/"):
        return "a path must be absolute"
    if any(character < _FIRST_PRINTABLE or character == _DELETE for character in path):
        return "it has control characters"
    if "\\" in path:
        return "it has a backslash"
    if ".." in path.split("/"):
        return "it goes up with .. in it"
    path.encode()  # a lone surrogate is a byte that this and the server would write differently
    return None


def _resolve(path: str) -> str:
    try:
        return os.path.realpath(path, strict=True)
    except FileNotFoundError:  # any other error says that the way is not known
        return os.path.realpath(path)


def _is_under(path: str, directories: Iterable[str]) -> bool:
    return any(
        path == directory or path.startswith(directory if directory == "/" else directory + "/")
        for directory in directories
    )
