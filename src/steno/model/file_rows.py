"""The rows of the files that a run touched, and what their columns mean."""

from __future__ import annotations

from steno.model import rows
from steno.model.kernel_layer import File, State, bytes_of, whole

ABSENT = "absent"
GONE_AGAIN = "t"  # it was made and is gone
_BY_OTHERS = "o"
_LETTERS = {"created": "A", "modified": "M", "deleted": "D", "metadata": "m"}
_READING = {"read", "execute"}
_WITH_CONTENT = {"file", "symlink"}


def file_row(file: File) -> rows.File:
    git = file.git
    return rows.File(
        path=file.name.decode("utf-8", "backslashreplace"),
        path_bytes=None if file.path_b64 is None else file.name,
        letter=letter_of(file),
        change=file.change,
        operations=file.operations,
        size_change=size_change(file),
        before=_state(file.before),
        after=_state(file.after),
        changed_by_others=file.by_others,
        git_root=git.root if git else None,
        git_class=git_class(file),
    )


def letter_of(file: File) -> str:
    """How a file is marked in a list: A, M, D, m for metadata, o by somebody else, t, r for read, ? or -."""
    if file.by_others:
        return _BY_OTHERS
    if file.change == "modified" and file.before.type == file.after.type == "directory":
        return "m"  # what it lists has changed, which is told of the files in it
    if file.change != "none":
        return _LETTERS.get(file.change, "?")
    if not file.before.exists and "write" in file.operations:
        return GONE_AGAIN
    return "r" if was_read(file) else "-"


def was_read(file: File) -> bool:
    return bool(_READING & set(file.operations))


def size_of(state: State) -> int | None:
    """None when it is not known; what is not there, or is no content, has none."""
    if state.exists is None:
        return None
    if not state.exists or state.type not in _WITH_CONTENT:
        return 0
    return None if state.size is None else max(whole(state.size), 0)


def size_change(file: File) -> int | None:
    before, after = size_of(file.before), size_of(file.after)
    return None if before is None or after is None else after - before


def has_content(state: State) -> bool:
    return state.type in _WITH_CONTENT


def git_class(file: File) -> str | None:
    """What git makes of it: ignored, untracked, dirty or clean."""
    git = file.git
    if git is None:
        return None
    if git.ignored:
        return "ignored"
    if not git.tracked:
        return "untracked"
    return "dirty" if git.dirty else "clean"


def _state(state: State) -> rows.FileState:
    if not state.exists:
        return rows.FileState(kind=None if state.exists is None else ABSENT)
    target = None if state.target is None else bytes_of(state.target, state.target_b64)
    return rows.FileState(
        kind=state.type,
        mode=state.mode,
        size=None if state.size is None else whole(state.size),
        mtime_ns=None if state.mtime_ns is None else whole(state.mtime_ns),
        uid=state.uid,
        gid=state.gid,
        target=None if target is None else target.decode("utf-8", "backslashreplace"),
        blob=state.blob,
        no_content_reason=state.content,
    )
