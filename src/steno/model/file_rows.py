"""The rows of the files that a run touched, and what their columns mean."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from steno.bundle.judged import Files
from steno.evidence import canonical
from steno.model import rows
from steno.model.kernel_layer import File, Git, State, Whole, bytes_of, renames_of, whole

GONE_AGAIN = "t"  # it was made and is gone
_BY_OTHERS = "o"
_BOUND = 1 << 63
_LETTERS = {"created": "A", "modified": "M", "deleted": "D", "metadata": "m"}


def file_row(file: File) -> rows.File:
    before, after = _state(file.before), _state(file.after)
    row = rows.File(
        path=file.name.decode("utf-8", "backslashreplace"),
        path_bytes=None if file.path_b64 is None else file.name,
        letter="",
        change=file.change,
        operations=file.operations,
        size_change=_size_change(before, after),
        before=before,
        after=after,
        changed_by_others=file.by_others,
        git_root=file.git.root if file.git else None,
        git_class=_git_class(file.git),
    )
    return msgspec.structs.replace(row, letter=_letter(row))


def directory_renames(documents: Files) -> Iterator[rows.DirectoryRename]:
    for one in renames_of(documents):
        old, new = bytes_of(one.old, one.old_b64), bytes_of(one.new, one.new_b64)
        yield rows.DirectoryRename(
            old_path=old.decode("utf-8", "backslashreplace"),
            old_path_bytes=None if one.old_b64 is None else old,
            new_path=new.decode("utf-8", "backslashreplace"),
            new_path_bytes=None if one.new_b64 is None else new,
            exchanged=one.exchange,
        )


def size_of(state: rows.FileState) -> int | None:
    """None when it is not known; what is not there, or is no content, has none."""
    if state.exists is None:
        return None
    if not state.has_content:
        return 0
    return None if state.size is None else max(state.size, 0)


def _letter(file: rows.File) -> str:
    """How a file is marked in a list: A, M, D, m for metadata, o by somebody else, t, r for read, ? or -."""
    if file.changed_by_others:
        return _BY_OTHERS
    if file.change == "modified" and file.before.kind == file.after.kind == "directory":
        return "m"  # what it lists has changed, which is told of the files in it
    if file.is_changed:
        return _LETTERS.get(file.change, "?")
    if not file.before.exists and "write" in file.operations:
        return GONE_AGAIN
    return "r" if file.is_read else "-"


def _size_change(before: rows.FileState, after: rows.FileState) -> int | None:
    was, is_now = size_of(before), size_of(after)
    return None if was is None or is_now is None else is_now - was


def _git_class(git: Git | None) -> str | None:
    """What git makes of it: ignored, untracked, dirty or clean."""
    if git is None:
        return None
    if git.ignored:
        return "ignored"
    if not git.tracked:
        return "untracked"
    return "dirty" if git.dirty else "clean"


def _time(told: Whole | None) -> int | None:
    """A file may have a time that 64 bits cannot hold: after the year 2262."""
    found = None if told is None else canonical.integer(told)
    return found if found is not None and -_BOUND <= found < _BOUND else None


def _state(state: State) -> rows.FileState:
    if not state.exists:
        return rows.FileState(kind=None if state.exists is None else rows.ABSENT)
    target = None if state.target is None else bytes_of(state.target, state.target_b64)
    return rows.FileState(
        kind=state.type,
        mode=state.mode,
        size=None if state.size is None else whole(state.size),
        mtime_ns=_time(state.mtime_ns),
        uid=state.uid,
        gid=state.gid,
        target=None if target is None else target.decode("utf-8", "backslashreplace"),
        target_bytes=None if state.target_b64 is None else target,
        blob=state.blob,
        no_content_reason=state.content,
    )
