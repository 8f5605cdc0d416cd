"""The index file of a repository: copied out exactly, and made distrustful of a too recent past.

In: a git directory, or an index of our own. Out: a copy with the same modification time (git needs it to
tell a racy entry), and our index with the times of just-changed files cleared. Never writes to the
git directory it reads.
"""

from __future__ import annotations

import hashlib
import os
import struct
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from steno.capture.repo_find import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterator

INDEX_LIMIT = 1 << 30
_HEADER = struct.Struct(">4sII")
_STAT_BYTES = 40
_EXTENDED = 0x4000
_COMPRESSED_VERSION = 4
_DIGEST = {"sha1": (hashlib.sha1, 20), "sha256": (hashlib.sha256, 32)}


def copy_index(git_dir: Path, shadow: Path, target: Path) -> bytes:
    """Copy the index and what it builds on; return its bytes, empty when there is none."""
    source = git_dir / "index"
    data = read_bounded(source, INDEX_LIMIT)
    if data is None:
        target.unlink(missing_ok=True)
        return b""
    found = source.stat()
    target.write_bytes(data)
    # An entry as young as its index is checked by content. A copy with a younger time would hide it.
    os.utime(target, ns=(found.st_mtime_ns, found.st_mtime_ns))
    _copy_shared_index(git_dir, shadow, data)
    return data


def _copy_shared_index(git_dir: Path, shadow: Path, data: bytes) -> None:
    for path in git_dir.glob("sharedindex.*"):
        with suppress(ValueError):
            named = bytes.fromhex(path.name.removeprefix("sharedindex."))
            if named and named in data:
                (shadow / path.name).write_bytes(read_bounded(path, INDEX_LIMIT) or b"")


def distrust_recent(index: Path, object_format: str, second: int) -> None:
    """Clear the change time of entries that changed in `second` or later, so that git reads them again.

    Git compares times by whole seconds. A file that is rewritten in the second of the snapshot, with
    its size kept and its modification time put back, would look untouched.
    """
    data = read_bounded(index, INDEX_LIMIT)
    recent = [struct.pack(">I", moment) for moment in range(second, int(time.time()) + 1)]
    if data is None or not any(moment in data for moment in recent):
        return
    found = index.stat()
    digest, size = _DIGEST[object_format]
    body = bytearray(data[:-size])
    for offset in _entries(body, size):
        if struct.unpack_from(">I", body, offset)[0] >= second:
            body[offset : offset + 8] = bytes(8)
    index.write_bytes(bytes(body) + digest(body).digest())
    os.utime(index, ns=(found.st_mtime_ns, found.st_mtime_ns))


def _entries(body: bytearray, digest_size: int) -> Iterator[int]:
    _, version, count = _HEADER.unpack_from(body)
    offset = _HEADER.size
    for _ in range(count):
        yield offset
        flags_at = offset + _STAT_BYTES + digest_size
        extended = body[flags_at] & (_EXTENDED >> 8)
        name_at = flags_at + (4 if extended else 2)
        if version == _COMPRESSED_VERSION:
            while body[name_at] & 0x80:
                name_at += 1
            offset = body.index(0, name_at + 1) + 1
        else:
            length = body.index(0, name_at) - offset
            offset += length + 8 - length % 8
