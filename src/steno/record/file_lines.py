"""The lines of `files.ndjson`: repositories first, then one line for every recorded path.

In: masked names, states, contents, classes. Out: canonical JSON lines. Names that are not UTF-8 are text
through Latin-1, as agent-snapshot has it, beside their exact bytes in base64. Never reads a file.
"""

from __future__ import annotations

import base64
import stat
from collections.abc import Callable
from typing import Any

from steno.capture.observed import FileState, Seen
from steno.capture.observed_git import GitClass, Repository
from steno.evidence import canonical, wire
from steno.record.file_contents import Content

_SECOND = 1_000_000_000
_TYPES = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
}
Mask = Callable[[bytes], bytes]


def text_of(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return name.decode("latin-1")


def repository_line(repository: Repository, mask: Mask) -> bytes:
    root = _named("root", mask(repository.root))
    return canonical.encode_line({"repository": {**root, "head": repository.head, "dirty": repository.dirty}})


def file_line(
    path: bytes,
    masked: bytes,
    found: Seen,
    contents: tuple[Content, Content],
    git: GitClass | None,
    *,
    before: wire.State | None,
    existed: bool,
    same_ctime: bool | None,
    mask: Mask,
) -> bytes:
    """`before` is told of a file that the run changed under another of its names first."""
    line: dict[str, Any] = {**_named("path", masked), "after": _after(found, existed=existed, mask=mask)}
    if before is not None:
        line["before"] = _state(before)
    for when, content in zip(("before", "after"), contents, strict=True):
        if content.blob is not None:
            line[f"{when}_blob"] = content.blob
        if content.why:
            line[f"{when}_content"] = content.why
        if content.is_as_before is not None:
            line["same_content"] = content.is_as_before
    if same_ctime is not None:
        line["same_ctime"] = same_ctime
    if git is not None:
        line["git"] = {
            "in_repo": True,
            **_named("root", mask(git.repository.root)),
            "head": git.repository.head,
            **_named("relative_path", masked[len(path) - len(git.relative_path) :]),
            "tracked": git.tracked,
            "dirty": git.dirty,
            "ignored": git.ignored,
        }
    return canonical.encode_line(line)


def _after(found: Seen, *, existed: bool, mask: Mask) -> dict[str, Any]:
    if not found.known:
        return {"unknown": True}
    if found.state is None:
        return {"exists": False, "tombstone": True} if existed else {"exists": False}
    told = _state(found.state)
    if stat.S_ISLNK(found.state.mode):
        told |= _named("target", mask(found.state.target))
    return told


def _state(state: FileState | wire.State) -> dict[str, Any]:
    return {
        "exists": True,
        "type": _TYPES.get(stat.S_IFMT(state.mode), "unknown"),
        "mode": state.mode,
        "mtime": state.mtime_ns // _SECOND,
        "mtime_ns": state.mtime_ns,
        "size": state.size,
        "uid": state.uid,
        "gid": state.gid,
    }


def _named(field: str, name: bytes) -> dict[str, str]:
    text = text_of(name)
    if text.encode() == name:
        return {field: text}
    return {field: text, f"{field}_b64": base64.b64encode(name).decode()}
