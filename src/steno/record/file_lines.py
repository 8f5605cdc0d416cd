"""The lines of `files.ndjson`: repositories first, then one line for every recorded path.

In: masked names, states as lstat shows them, contents, classes. Out: canonical JSON lines. Names that are not
UTF-8 are text through Latin-1, as agent-snapshot has it, beside their exact bytes in base64. Never reads
a file.
"""

from __future__ import annotations

import base64
import stat
from collections.abc import Callable
from typing import Any

from steno.capture.git.classify import GitClass, Repository
from steno.capture.paths import Seen
from steno.evidence import canonical
from steno.record.file_contents import Content

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
    path: bytes, masked: bytes, found: Seen, content: Content, git: GitClass | None, *, mask: Mask
) -> bytes:
    line: dict[str, Any] = {**_named("path", masked), "after": _after(found, mask)}
    if content.blob is not None:
        line["after_blob"] = content.blob
    if content.why:
        line["after_content"] = content.why
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


def _after(found: Seen, mask: Mask) -> dict[str, Any]:
    if not found.known:
        return {"unknown": True}
    if found.state is None:
        return {"exists": False}
    told = {"exists": True, **found.state._asdict()}
    target = told.pop("target")
    return told | _named("target", mask(target)) if stat.S_ISLNK(found.state.mode) else told


def _named(field: str, name: bytes) -> dict[str, str]:
    text = text_of(name)
    if text.encode() == name:
        return {field: text}
    return {field: text, f"{field}_b64": base64.b64encode(name).decode()}
