"""What became of the files of a directory between two moments: of an attempt, or as an observer recorded it.

A name that is not UTF-8 has its bytes spelled `\\xNN`. Modified means that the content differs; what could
not be read is never called unchanged.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from steno.contracts.agent_audit.streams import AUDIT
from steno.judge import types as rows
from steno.model.contents import Contents
from steno.model.run import Run

_NOT_KEPT = "not_kept"
_MS = 1_000_000
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


class RecordedChanges:
    """The regular files that the observer recorded below the working directory."""

    def __init__(self, run: Run, contents: Contents | None) -> None:
        self.before: Snapshot = {}
        self.after: Snapshot = {}
        self._digests = _digests(contents)
        created, modified, deleted, unknown = list[str](), list[str](), list[str](), list[str]()
        for path, file in _below(run.facts.start.cwd, run.files):
            old = self._note(self.before, path, file.before)
            new = self._note(self.after, path, file.after)
            if file.change == "unknown":
                unknown.append(path)
            elif new and not old:
                created.append(path)
            elif old and not new:
                deleted.append(path)
            elif old and file.change == "modified":
                modified.append(path)
        self.diff = Diff(*map(sorted, (created, modified, deleted, unknown)))

    def _note(self, snapshot: Snapshot, path: str, state: rows.FileState) -> bool:
        if state.kind != "file":
            return False
        digest = self._digests.get(state.blob or "")
        snapshot[path] = FileState(
            size=state.size or 0,
            mtime_ms=(state.mtime_ns or 0) // _MS,
            sha256=digest,
            error=None if digest else state.no_content_reason or _NOT_KEPT,
        )
        return True


def _below(cwd: str, files: Iterable[rows.File]) -> Iterator[tuple[str, rows.File]]:
    above = cwd.rstrip("/").encode() + b"/"
    for file in files:
        if file.name.startswith(above):
            path = file.name[len(above) :].decode("utf-8", "surrogateescape")
            if path.partition("/")[0] != AUDIT:
                yield spelled(path), file


def _digests(contents: Contents | None) -> dict[str, str]:
    """Of the contents that are kept in clear."""
    if contents is None:
        return {}
    return {
        key: hashlib.sha256(content).hexdigest()
        for key, content in contents.contents()
        if content is not None
    }
