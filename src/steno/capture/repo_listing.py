"""What in a work tree differs from an index, and which of it may be copied into memory.

In: the output of `git ls-files`, one path at a time. Out: a `Listing`, and for each path a yes, or an
`Omitted` with the reason. Looks at a file with lstat only; never opens one.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

import msgspec

from steno.capture.repo_types import Omitted

if TYPE_CHECKING:
    from pathlib import Path

MAX_COPY = 32 << 20
_GITLINK = b"160000"
_TRACKED_PARENT = re.compile(rb"\t([^\0]+)/[^\0/]*\0")
_TRACKED_PATH = re.compile(rb"(?:\A|\0)[^?] [^\t\0]*\t([^\0]*)(?=\0)")


class Budget(msgspec.Struct):
    """How many bytes of file content may still be copied into memory."""

    left: int


class Listing(msgspec.Struct):
    """What `git ls-files` says about the work tree."""

    changed: set[bytes] = msgspec.field(default_factory=set)
    blobs: dict[bytes, str] = msgspec.field(default_factory=dict)
    gitlinks: list[bytes] = msgspec.field(default_factory=list)
    embedded: list[bytes] = msgspec.field(default_factory=list)
    has_assumed: bool = False
    has_attributes: bool = False


def parse_listing(output: bytes) -> Listing:
    listing = Listing(has_attributes=b".gitattributes\0" in output)
    for record in output.split(b"\0"):
        tag = record[:1]
        if tag == b"H" and not record.startswith(_GITLINK, 2):
            continue
        if tag == b"?":
            path = record[2:]
            if path.endswith(b"/"):
                listing.embedded.append(path[:-1])
            else:
                listing.changed.add(path)
        elif tag:
            _note_tracked(listing, tag, record)
    return listing


def _note_tracked(listing: Listing, tag: bytes, record: bytes) -> None:
    facts, _, path = record[2:].partition(b"\t")
    mode, name, _ = facts.split(b" ")
    if tag.islower():
        listing.has_assumed = True
        listing.changed.add(path)
    if mode == _GITLINK and path not in listing.gitlinks:
        listing.gitlinks.append(path)
    if tag.upper() in b"CRM":
        listing.changed.add(path)
        if mode.startswith(b"100"):
            listing.blobs[path] = name.decode()


def tracked_behind_links(root: Path, output: bytes) -> set[bytes]:
    """Return tracked files whose directory was replaced by a symbolic link.

    `git ls-files` follows the link and calls them unchanged; the link itself may be ignored.
    """
    top = os.fsencode(root)
    links: set[bytes] = set()
    seen: set[bytes] = set()
    for parent in set(_TRACKED_PARENT.findall(output)):
        path = parent
        while path and path not in seen:
            seen.add(path)
            if os.path.islink(os.path.join(top, path)):  # noqa: PTH114, PTH118 - bytes
                links.add(path)
            path = path.rpartition(b"/")[0]
    if not links:
        return set()
    inside = tuple(link + b"/" for link in links)
    return {path for path in _TRACKED_PATH.findall(output) if path.startswith(inside)}


def may_copy(root: Path, path: bytes, budget: Budget, omitted: list[Omitted]) -> bool:
    """Say whether git may read a path; if not, add it to `omitted`. What is absent may be removed."""
    full = os.path.join(os.fsencode(root), path)  # noqa: PTH118 - bytes
    try:
        found = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        omitted.append(Omitted(os.fsdecode(path), 0, "unreadable"))
        return False
    reason = _reason_to_omit(path, full, found, budget)
    if reason is None:
        budget.left -= found.st_size
        return True
    identity = (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode)
    omitted.append(Omitted(os.fsdecode(path), found.st_size, reason, identity))
    return False


def _reason_to_omit(path: bytes, full: bytes, found: os.stat_result, budget: Budget) -> str | None:
    if b".git" in path.lower().split(b"/"):
        return "name_refused_by_git"
    if stat.S_ISDIR(found.st_mode) or stat.S_ISLNK(found.st_mode):
        return None
    if not stat.S_ISREG(found.st_mode):
        return "special_file"
    if found.st_size > MAX_COPY:
        return "too_large"
    if not os.access(full, os.R_OK):
        return "unreadable"
    return "no_room" if found.st_size > budget.left else None
