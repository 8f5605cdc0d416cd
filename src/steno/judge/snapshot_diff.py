"""What became of the files of a directory between two moments.

In: two snapshots: size, time and digest of every regular file, by relative path. Out: what was created,
modified and deleted. A name that is not UTF-8 has its bytes spelled `\\xNN`. Modified means that the
content differs; what could not be read is never called unchanged. Never looks at a file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

_LOOKS_SPELLED = re.compile(r"\\(?=x[0-9a-f]{2})")


class FileState(Struct, frozen=True, rename={"mtime_ms": "mtimeMs"}, omit_defaults=True, kw_only=True):
    """What could not be read has no digest, and an `error`. Of a directory like that the path ends in `/`."""

    size: int
    mtime_ms: int
    sha256: str | None
    error: str | None = None


Snapshot = dict[str, FileState]


class Diff(Struct, frozen=True, omit_defaults=True):
    created: list[str]
    modified: list[str]
    deleted: list[str]
    unreadable: list[str] = []  # what may be any of these, or nothing


def diff(before: Mapping[str, FileState], after: Mapping[str, FileState]) -> Diff:
    created: list[str] = []
    modified: list[str] = []
    deleted: list[str] = []
    unknown: list[str] = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if path.endswith("/") or (old is None and _is_hidden(path, before)):
            unknown.append(path)
        elif old is None:
            created.append(path)
        elif new is None:
            (unknown if _is_hidden(path, after) else deleted).append(path)
        elif old.sha256 is None or new.sha256 is None:
            (unknown if old.size == new.size else modified).append(path)
        elif old.sha256 != new.sha256:
            modified.append(path)
    return Diff(created, modified, deleted, unknown)


def spelled(name: str) -> str:
    """A name as JSON can have it. No two names give the same: a backslash before `xNN` is spelled as well."""
    marked = _LOOKS_SPELLED.sub(r"\\x5c", name)
    return marked.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _is_hidden(path: str, other: Mapping[str, FileState]) -> bool:
    """Whether the other snapshot could not look where this path is."""
    return any(path[: at.end()] in other for at in re.finditer("/", path))
