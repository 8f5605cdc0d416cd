"""Which contents of files are kept, and from where.

What the run was about to change has its old content from the frames of `steno-trace`; what was read or
changed, the one at the end from the disk. Equal contents are written once. Which of them is the content
before is for whoever reads to say.
"""

from __future__ import annotations

import hashlib
import io
import stat
from collections.abc import Callable, Container, Iterator, Mapping
from typing import NamedTuple, Protocol

from steno.bundle.blobs import BlobWriter
from steno.bundle.frames import KeptContent, Touched
from steno.capture.git.classify import GitClass
from steno.capture.paths import Contents, FileState, FinalState, differs
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor, holds_secret

ENCRYPTED_BLOB = "encrypted-blob"
CLEAN_GIT, UNKNOWN = "clean_git", "unknown"
_SAME_CONTENT = 4  # dev, ino, size, mtime_ns


class Content(NamedTuple):
    """A content's key, or why there is none; both for one that changed while it was copied."""

    blob: str | None = None
    why: str = ""


NOTHING = Content()
LOST = Content(why=UNKNOWN)


class BlobSource(Protocol):
    def blob(self, number: int) -> Iterator[bytes]: ...


class ContentKeeper:
    """Writes contents. Keys are unique, also where two paths look alike once they are text."""

    def __init__(
        self,
        writer: BlobWriter,
        frames: BlobSource,
        contents: Contents,
        redactor: Redactor,
        findings: Findings,
        *,
        largest: int,
    ) -> None:
        self._writer = writer
        self._frames = frames
        self._contents = contents
        self._redactor = redactor
        self._findings = findings
        self._largest = largest
        self._keys: set[str] = set()
        self._by_digest: dict[bytes, str] = {}
        self._unchanged: set[tuple[int, ...]] = set()  # what files are whose content is kept already
        self.keys: dict[int, str] = {}  # of the contents that the helper kept, by their numbers
        self.lost = 0  # contents that the helper kept and that are not whole
        self.left_out = 0  # contents for which the disk has no room
        self.left_out_before = 0  # of these, what only the frames have

    def keep_looks(
        self, kept: Mapping[int, KeptContent], wanted: Container[bytes], named: Callable[[bytes], str]
    ) -> None:
        """What the helper kept of the recorded paths; `named`: a path as text, masked."""
        for number, content in kept.items():
            path = next((path for path in content.paths if path in wanted), None)
            if path is None:
                continue
            left_out = self.left_out
            key = self._from_frames(named(path), number, content.state.size).blob
            self.left_out_before += self.left_out - left_out
            if key is not None:
                self.keys[number] = key
                self._unchanged.add(content.state[:_SAME_CONTENT])

    def keep(
        self, path: bytes, name: str, touched: Touched, found: FinalState, git: GitClass | None
    ) -> Content:
        """The content at the end. `name` is the path as text, masked."""
        state = found.state
        if state is None or not stat.S_ISREG(state.mode) or touched.is_below_mount:
            return NOTHING
        was = touched.first if touched.first is not None and stat.S_ISREG(touched.first.mode) else None
        if was is not None and not (touched.is_used or touched.is_changed):
            return NOTHING
        if self._is_kept_already(touched, state):
            return NOTHING
        if git is not None and git.is_clean and not touched.is_changed and not differs(touched.first, state):
            return Content(why=CLEAN_GIT)
        data, why = self._contents.copy(path, state)
        if data is None:
            return Content(why=why)
        is_as_found = was is not None and was[:_SAME_CONTENT] == state[:_SAME_CONTENT]
        when = "before" if is_as_found and not touched.is_written else "after"
        return self._write(when, name, data, why)

    def _is_kept_already(self, touched: Touched, state: FileState) -> bool:
        """Only its mode, owner, times or attributes were set, and the helper had kept the content."""
        only_set = touched.is_changed and not touched.is_written
        return only_set and state[:_SAME_CONTENT] in self._unchanged

    def _from_frames(self, name: str, number: int, size: int) -> Content:
        gathered = io.BytesIO()
        try:
            for block in self._frames.blob(number):
                gathered.write(block)
                if gathered.tell() > min(size, self._largest):
                    break
        except OSError:
            self.lost += 1
            return LOST
        if gathered.tell() != size:
            self.lost += 1
            return LOST
        return self._write("before", name, gathered.getvalue())  # the same bytes, not a copy

    def _write(self, when: str, name: str, data: bytes, why: str = "") -> Content:
        digest = hashlib.sha256(data).digest()
        if not why and digest in self._by_digest:
            return Content(self._by_digest[digest])
        if not self._writer.has_room(len(data)):
            self.left_out += 1
            return LOST
        key = plain = f"{when}:{name}"
        number = 1
        while key in self._keys:
            number += 1
            key = f"{plain}~{number}"
        self._keys.add(key)
        if not why:
            self._by_digest[digest] = key
        secret = holds_secret(self._redactor, data)
        if secret:
            self._findings.add(f"blobs:{name}", ENCRYPTED_BLOB, b"")
        self._writer.add(key, data, secret=secret)
        return Content(key, why)


def without_blobs(kept: Mapping[bytes, Content]) -> dict[bytes, Content]:
    """The same when the contents could not be written."""
    return {path: LOST if content.blob else content for path, content in kept.items()}
