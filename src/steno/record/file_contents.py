"""Which contents of a file are kept, and from where: the rules of the second seed.

In: the first look at a path, its state at the end, its class in git. Out: the keys of the blobs that were
written, or why there is none. What the run changed has its old content from the helper's frames and its new
one from the disk; what was only read has one content, taken at the end if the file is still as it was first
seen. Never reads a content twice, never writes one that nobody needs to put things back.
"""

from __future__ import annotations

import hashlib
import io
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

from steno.bundle.blobs import BlobWriter
from steno.bundle.frames import FirstLook, KeptContent
from steno.capture.contents import CHANGING, Contents
from steno.capture.observed import FileState, Seen, differs
from steno.capture.observed_git import GitClass
from steno.evidence import wire
from steno.redact.contents import holds_secret
from steno.redact.engine import Redactor
from steno.redact.findings import Findings

ENCRYPTED_BLOB = "encrypted-blob"
RACED, CLEAN_GIT, UNKNOWN = "raced", "clean_git", "unknown"
_KEPT = wire.CONTENT["kept"]
_WHY = {number: name for name, number in wire.CONTENT.items() if name not in {"not_kept", "kept"}}
_CONTENT_USED = frozenset({"read", "write", "execute", "delete"})
_CONTENT_CHANGED = frozenset({"write", "delete"})
_IDENTITY = 5  # dev, ino, size, mtime_ns, ctime_ns: the same file with the same content
_FIGURES = slice(2, 4)  # size, mtime_ns


class Content(NamedTuple):
    """A blob's key, or why there is none; both for a content that changed while it was copied."""

    blob: str | None = None
    why: str = ""
    is_as_before: bool | None = None  # of a content after: whether it is the one before; None: not known


NOTHING = Content()
LOST = Content(why=UNKNOWN)


class BlobSource(Protocol):
    def blob(self, number: int) -> Iterator[bytes]: ...


class ContentKeeper:
    """Writes blobs. Keys are unique, also where two paths look alike once they are text."""

    def __init__(
        self,
        writer: BlobWriter,
        frames: BlobSource,
        contents: Contents,
        redactor: Redactor,
        findings: Findings,
        ends: Mapping[bytes, Seen],
        *,
        largest: int,
    ) -> None:
        """`ends`: all paths at the end of the run."""
        self._writer = writer
        self._frames = frames
        self._contents = contents
        self._redactor = redactor
        self._findings = findings
        self._largest = largest
        self._keys: set[str] = set()
        self._digest = b""  # of the content before, where the helper kept it, or it has another name now
        self._of_files: dict[int, tuple[Content, bytes]] = {}  # by number: the content before and its digest
        self._ends = {
            end.state[:_IDENTITY]: (path, end.state)
            for path, end in ends.items()
            if end.state is not None and stat.S_ISREG(end.state.mode)
        }
        self.lost = 0  # contents that the helper kept and that are not whole
        self.left_out = 0  # contents for which the disk has no room
        self.left_out_before = 0  # of these, what only the frames have

    def keep_looks(
        self, kept: Mapping[int, KeptContent], wanted: Mapping[bytes, Seen], named: Callable[[bytes], str]
    ) -> None:
        """What the helper kept of the recorded paths; `named`: a path as text, masked."""
        for number, content in kept.items():
            path = next((path for path in content.paths if path in wanted), None)
            if path is not None:
                self._from_frames(named(path), number, content.state)

    @property
    def keys(self) -> dict[int, str]:
        """Of the contents that the helper kept, by their numbers."""
        kept = ((number, content.blob) for number, (content, _) in self._of_files.items())
        return {number: key for number, key in kept if key is not None}

    def keep(
        self, path: bytes, name: str, look: FirstLook, found: Seen, git: GitClass | None
    ) -> tuple[Content, Content]:
        """The content before and after. `name` is the path as text, masked."""
        agree = _agree(look, found)
        self._digest = b""
        before = self._before(path, name, look, found, git, agree=agree)
        if found.state is None or not stat.S_ISREG(found.state.mode):
            return before, NOTHING
        if agree and not look.operations & _CONTENT_CHANGED:
            return before, before
        if look.changed or not _is_file(look.state) or look.operations & _CONTENT_USED:
            return before, self._after(path, name, look, found.state)
        return before, NOTHING

    def _before(
        self, path: bytes, name: str, look: FirstLook, found: Seen, git: GitClass | None, *, agree: bool
    ) -> Content:
        state = look.state
        if state is None or not stat.S_ISREG(state.mode):
            return NOTHING
        if look.content == _KEPT:
            return self._from_frames(name, look.blob, state)
        if look.content in _WHY:
            return Content(why=_WHY[look.content])
        if not look.operations & _CONTENT_USED:
            return NOTHING
        return self._from_disk(path, name, look, found, git, agree=agree)

    def _from_disk(
        self, path: bytes, name: str, look: FirstLook, found: Seen, git: GitClass | None, *, agree: bool
    ) -> Content:
        if not found.known or found.state is None or not agree or look.operations & _CONTENT_CHANGED:
            return Content(why=RACED if found.known and not look.changed else UNKNOWN)
        if git is not None and git.is_clean:
            return Content(why=CLEAN_GIT)
        data, why = self._contents.copy(path, found.state)
        if why or data is None:
            return Content(why=RACED if why == CHANGING else why)
        return self._write("before", name, data)

    def _after(self, path: bytes, name: str, look: FirstLook, state: FileState) -> Content:
        untouched = bool(look.operations & _CONTENT_CHANGED) and not differs(look.state, state)
        data, why = self._contents.copy(path, state)
        if data is None:
            return Content(why=why, is_as_before=untouched or None)
        after = self._write("after", name, data, why)
        if not self._digest and not untouched:
            self._digest = self._digest_under_another_name(look.state, state)
        if after.blob is None or why or not self._digest:
            return after._replace(is_as_before=untouched or None)
        return after._replace(is_as_before=self._digest == _digest(data))

    def _digest_under_another_name(self, before: wire.State | None, after: FileState) -> bytes:
        """Two files of one size and time may have changed their names: then the content tells."""
        if before is None or before[_FIGURES] != after[_FIGURES] or before[:_IDENTITY] not in self._ends:
            return b""
        data, why = self._contents.copy(*self._ends[before[:_IDENTITY]])
        return b"" if why or data is None else _digest(data)

    def _from_frames(self, name: str, number: int, state: wire.State) -> Content:
        """All names of a file have one content before, and one blob."""
        if number not in self._of_files:
            content = self._read_frames(name, number, state)
            self._of_files[number] = content, self._digest
        content, self._digest = self._of_files[number]
        return content

    def _read_frames(self, name: str, number: int, state: wire.State) -> Content:
        gathered = io.BytesIO()
        try:
            for block in self._frames.blob(number):
                gathered.write(block)
                if gathered.tell() > min(state.size, self._largest):
                    break
        except OSError:
            self.lost += 1
            return LOST
        if gathered.tell() != state.size:
            self.lost += 1
            return LOST
        data = gathered.getvalue()  # the same bytes, not a copy, as long as nobody writes more
        self._digest = _digest(data)
        left_out = self.left_out
        before = self._write("before", name, data)
        self.left_out_before += self.left_out - left_out
        return before

    def _write(self, when: str, name: str, data: bytes, why: str = "") -> Content:
        if not self._writer.has_room(len(data)):
            self.left_out += 1
            return LOST
        key = plain = f"{when}:{name}"
        number = 1
        while key in self._keys:
            number += 1
            key = f"{plain}~{number}"
        self._keys.add(key)
        secret = holds_secret(self._redactor, data)
        if secret:
            self._findings.add(f"blobs:{name}", ENCRYPTED_BLOB, b"")
        self._writer.add(key, data, secret=secret)
        return Content(key, why)


def without_blobs(kept: Mapping[bytes, tuple[Content, Content]]) -> dict[bytes, tuple[Content, Content]]:
    """The same when the blobs could not be written."""
    return {
        path: (LOST if before.blob else before, LOST if after.blob else after)
        for path, (before, after) in kept.items()
    }


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _is_file(state: wire.State | None) -> bool:
    return state is not None and stat.S_ISREG(state.mode)


def _agree(look: FirstLook, found: Seen) -> bool:
    """Whether the content is the one that was first seen. A change of mode or owner moves the change time."""
    before, after = look.state, found.state
    if before is None or after is None:
        return False
    if not differs(before, after):
        return True
    return "metadata" in look.operations and before[:4] == after[:4] and stat.S_ISREG(before.mode)
