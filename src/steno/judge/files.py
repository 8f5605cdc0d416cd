"""Every recorded path, what was done to it, its state before and after, and what changed.

The state before is what the run's own first change of the path found (see `PathHistory`), or of the file,
where a line tells it because the run had changed it under another name; unknown where the run mounted
something. The state after, the contents and the facts of git stand in the lines.
"""

from __future__ import annotations

import base64
import binascii
import stat
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import msgspec
from msgspec.structs import replace

from steno.evidence import canonical, layout, wire
from steno.evidence.ignore_rules import lies_below
from steno.evidence.layers import Layers
from steno.evidence.syscalls import BadTableError, RowBatch, distinct_rows
from steno.judge.contents import COLUMNS as LOOK_COLUMNS
from steno.judge.contents import (
    NOT_KEPT,
    NOTHING,
    RACED,
    Content,
    Contents,
    End,
    Identity,
    Look,
    contents,
    learned,
    looks,
    rows_with_content,
)
from steno.judge.operations import CHANGING, has_failed
from steno.judge.path_history import ABSENT as NOT_THERE
from steno.judge.path_history import FOUND, NOBODY_LOOKED, PathHistory, Rows, mounted_upon
from steno.judge.scan import Reading
from steno.judge.surface_names import text
from steno.judge.types import ABSENT, DirectoryRename, File, Files, FileState, Git, Repository, beside

MAX_LINE = 1 << 20
UNKNOWN = FileState(None)
_BOUND = 1 << 63
_KEYS = ("op", "resolved", "result", "notes", "arg", "exists", "mode")
COLUMNS = (*dict.fromkeys((*_KEYS, "mono_ns", "extra", *LOOK_COLUMNS)),)
_TYPES = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "symlink",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
}
_MASKED = "****"  # in names: then equal names may be of different ones
_EXCHANGE = wire.NOTES["exchange"]
_OTHER_NAMES = frozenset({"rename_to", "link_to", "moved_to"})
_SHOWN = ("mode", "size", "mtime_ns", "uid", "gid")
_MOST_TAKEN = 1 << 18  # of distinct calls: what they need of memory ends there
_Call = tuple[bytes | None, str, int | None, int, int, int | None, int]  # `_KEYS`, but with the path first
_NO_CONTENTS: dict[Identity, str] = {}
# What they set is in no state: extended attributes, as capabilities and access lists are, and inode flags.
_BESIDE_THE_STATE = frozenset({"setxattr", "removexattr", "setattr"})


class After(msgspec.Struct, frozen=True, omit_defaults=True):
    """A state as `files.ndjson` has it. Large numbers are strings, as canonical JSON has them.

    The words `tombstone`, `type` and `mtime` are of older records, which had concluded them.
    """

    exists: bool | None = None
    tombstone: bool = False
    unknown: bool = False
    type: str | None = None
    mode: int | None = None
    mtime: int | None = None
    mtime_ns: int | str | None = None
    size: int | str | None = None
    uid: int | None = None
    gid: int | None = None
    target: str | None = None
    target_b64: str | None = None
    dev: int | str = 0
    ino: int | str = 0
    nlink: int = 0
    ctime_ns: int | str = 0

    @property
    def look(self) -> Look | None:
        """None: nothing is there, or nobody looked."""
        if not self.exists or self.mode is None or self.size is None or self.mtime_ns is None:
            return None
        told = (self.dev, self.ino, self.size, self.mtime_ns, self.ctime_ns)
        numbers = [one if one.__class__ is int else canonical.integer(one) for one in told]
        rest = (self.mode, self.uid or 0, self.gid or 0, self.nlink, 0, self._target, NOT_KEPT, None)
        return Look._make((*numbers, *rest))

    def check(self) -> None:
        """Raises `ValueError` where `look` would."""
        for number in (self.mtime_ns, self.ctime_ns, self.size, self.ino, self.dev):
            if number.__class__ is str:
                canonical.integer(number)
        if isinstance(self.size, int | str) and abs(canonical.integer(self.size)) >= _BOUND:
            raise ValueError("a size is beyond 64 bits")
        if self.target_b64 is not None:
            _from_base64(self.target_b64)

    @property
    def _target(self) -> bytes | None:
        if self.target is None:
            return None
        return self.target.encode() if self.target_b64 is None else _from_base64(self.target_b64)

    @property
    def kind(self) -> str | None:
        return self.type if self.mode is None else kind_of(self.mode)

    def told(self, content: Content) -> FileState:
        """The state as an older record has it."""
        if not self.exists:
            return FileState(None if self.exists is None else ABSENT)
        size, mtime_ns, target = self.size, self.mtime_ns, self._target
        return FileState(
            self.kind,
            mode=self.mode,
            size=None if size is None else canonical.integer(size),
            mtime_ns=None if mtime_ns is None else canonical.integer(mtime_ns),
            uid=self.uid,
            gid=self.gid,
            target=None if target is None else text(target),
            target_bytes=None if target is None else beside(target),
            blob=content.blob,
            no_content_reason=content.why,
        )


UNKNOWN_AFTER = After(unknown=True)


class FileLine(msgspec.Struct, frozen=True):
    """A line of `files.ndjson` about a path. The last five are of older records, which had chosen them."""

    path: str
    after: After
    path_b64: str | None = None
    after_blob: str | None = None
    after_content: str | None = None
    git: Git | None = None
    before: After | None = None  # told where the run had changed the file under another of its names first
    before_blob: str | None = None
    before_content: str | None = None
    same_content: bool | None = None  # whether the content after is the one before; None: not known
    same_ctime: bool | None = None  # whether nobody changed the inode; None: not known

    @property
    def path_bytes(self) -> bytes:
        return self.path.encode() if self.path_b64 is None else _from_base64(self.path_b64)


class RepositoryLine(msgspec.Struct, frozen=True):
    repository: Repository


def kind_of(mode: int) -> str:
    return _TYPES.get(stat.S_IFMT(mode), "unknown")


def state_of(look: Look | None) -> FileState:
    """None: nothing is there."""
    if look is None:
        return FileState(ABSENT)
    target = look.target
    return FileState(
        kind_of(look.mode),
        mode=look.mode,
        size=look.size,
        mtime_ns=look.mtime_ns,
        uid=look.uid,
        gid=look.gid,
        target=None if target is None else text(target),
        target_bytes=None if target is None else beside(target),
    )


def files(layers: Layers) -> Files:
    """Every recorded path in order, what was done to it, its states before and after, and what changed."""
    touched = Reading.of(layers).scanned(Touched)
    own = Reading.of(layers).own.paths
    ends = _ends(layers) if touched.has_moved_files and touched.tells_contents else _NO_CONTENTS
    found = Files([], touched.renames, [])
    for line in file_lines(layers):
        if isinstance(line, RepositoryLine):
            found.repositories.append(line.repository)
        elif line.path_bytes not in own or touched.operations(line.path_bytes):
            found.files.append(_file(line, touched, ends))
    return found


def _ends(layers: Layers) -> dict[Identity, str]:
    """The contents that files had at the end of the run, by what the files are."""
    lines = (line for line in file_lines(layers) if isinstance(line, FileLine))
    return {
        look.identity: line.after_blob
        for line in lines
        if line.after_blob is not None and line.after_content is None and (look := line.after.look)
    }


def file_lines(layers: Layers) -> Iterator[FileLine | RepositoryLine]:
    """The lines of `files.ndjson`: repositories first, then paths, both in order."""
    previous: tuple[bool, bytes] = (False, b"")
    for number, raw in enumerate(_lines(layers), 1):
        try:
            line = _parsed(canonical.decode_line(raw))
            place = _place(line)
        except (ValueError, msgspec.ValidationError) as error:
            raise BadTableError(f"{layout.FILE_LINES}: line {number}: {error}") from None
        if place < previous:
            raise BadTableError(f"{layout.FILE_LINES}: line {number} is not in its place")
        previous = place
        yield line


def _parsed(value: Any) -> FileLine | RepositoryLine:
    if isinstance(value, dict) and "repository" in value:
        return msgspec.convert(value, RepositoryLine)
    line = msgspec.convert(value, FileLine)
    line.after.check()
    return line


def _place(line: FileLine | RepositoryLine) -> tuple[bool, bytes]:
    if isinstance(line, RepositoryLine):
        return False, line.repository.root.encode()
    return True, line.path_bytes


class Touched:
    """What the table says of every path."""

    columns: ClassVar[tuple[str, ...]] = COLUMNS

    @classmethod
    def begin(cls, _layers: Layers) -> Self:
        return cls()

    def __init__(self) -> None:
        self._ledger: PathHistory[bytes | None] = PathHistory(lambda path: path or b"")
        self._before: dict[bytes, _Before] = {}
        self._contents = Contents()
        self.tells_contents = False  # rows tell which contents were kept; else the lines tell the choice
        self.has_moved_files = False
        self._mounted_upon: set[bytes | None] = set()
        self.with_other_names: set[bytes] = set()  # by which the run may have changed them
        self._renames: list[DirectoryRename] = []
        self._taken: set[_Call] = set()  # calls that may come again and tell nothing then
        self._exchanged: set[tuple[bytes, bytes]] = set()  # told by the row of one name; the other's follows
        self._set_beside: dict[
            bytes, bool
        ] = {}  # path -> whether a call that sets what is in no state succeeded

    def operations(self, path: bytes) -> set[str]:
        return self._ledger.operations.get(path, set())

    def changed(self) -> Iterator[bytes]:
        return (path for path, done in self._ledger.operations.items() if path and done & CHANGING)

    def first(self, path: bytes) -> _Before | None:
        """None: it is not known."""
        first = self._before.get(path)
        if first is None or not self._ledger.knows_before(path) or self.is_mounted_upon(path):
            return None
        if first.look is None or first.look.content != NOT_KEPT:
            return first
        return first._replace(look=self._contents.of_another_name(first.look))

    def before(self, path: bytes) -> FileState:
        first = self.first(path)
        return UNKNOWN if first is None else state_of(first.look)

    def has_set_beside(self, path: bytes, *, same_ctime: bool | None) -> bool:
        """Whether what is in no state was set. Where no call has a result, the time of change tells."""
        if path not in self._set_beside:
            return False
        return self._set_beside[path] or same_ctime is False

    def is_mounted_upon(self, path: bytes) -> bool:
        """Or one of the directories above it is."""
        return lies_below(path, self._mounted_upon)

    @property
    def renames(self) -> list[DirectoryRename]:
        """Directories that got another name, and with them all that is in them."""
        return [
            one for one in self._renames if not any(self.is_mounted_upon(name) for name in (one.old, one.new))
        ]

    def take(self, batch: RowBatch) -> None:
        numbers, calls = self._new_calls(batch)
        rows = _rows_of(calls)
        self._mounted_upon |= mounted_upon(rows)
        self.tells_contents |= batch.tells_contents
        self.has_moved_files |= not _OTHER_NAMES.isdisjoint(rows.op)
        told = rows_with_content(batch)
        found_told = looks(batch, told)
        changed_in = self._note_files(batch, told, found_told)
        found: dict[int, bytes] = {}
        for path, place in dict(self._ledger.take(rows)).items():  # of several rows the last one counts
            if path is None:
                continue
            if rows.look[place] == FOUND:
                found[numbers[place]] = path
            else:
                self._before[path] = _Before(None)
        self._note_states(batch, found)
        self._note_first(looks(batch, [*found]), found, changed_in)
        self._learn_contents(batch, found_told)
        if not _BESIDE_THE_STATE.isdisjoint(rows.op):
            self._note_set_beside(rows, [call[2] for call in calls])
        self._note_renames(batch)
        self._remember(calls, rows)

    def _new_calls(self, batch: RowBatch) -> tuple[list[int], list[_Call]]:
        """All calls that name a path of which one is new: most are made again and again."""
        numbers = distinct_rows(batch, _KEYS).rows
        calls = _calls(batch, numbers)
        if not self._taken:
            return numbers, calls
        if self._ledger.may_spoil(_rows_of(calls)):
            self._taken.clear()
            return numbers, calls
        paths = {call[0] for call in calls if call not in self._taken} | self._ledger.found_different
        places = [place for place, call in enumerate(calls) if call[0] in paths]
        return [numbers[place] for place in places], [calls[place] for place in places]

    def _remember(self, calls: Sequence[_Call], rows: Rows[bytes | None]) -> None:
        if len(self._taken) >= _MOST_TAKEN or self._ledger.may_spoil(rows):
            return
        self._taken.update(call for place, call in enumerate(calls) if self._ledger.would_repeat(place, rows))

    def _note_files(self, batch: RowBatch, numbers: list[int], told_of: Mapping[int, Look]) -> dict[int, int]:
        """The files that the run changes in this batch for the first time, and the rows that do it."""
        changed_in: dict[int, int] = {}
        told = {row: self._contents.as_it_was(told_of[row]) for row in numbers}
        for look in told.values():
            if look.file:
                self._contents.keep(look)
        rows = calls_of(batch, numbers)
        for place, row in enumerate(numbers):
            file = told_of[row].file
            if file and not self._contents.is_changed(file) and self._ledger.may_change(place, rows):
                self._contents.change(self._contents.as_it_was(told_of[row])._replace(file=file))
                changed_in[file] = row
        return changed_in

    def _note_first(
        self, told_of: Mapping[int, Look], found: Mapping[int, bytes], changed_in: Mapping[int, int]
    ) -> None:
        for row, path in found.items():
            raw, other_name = told_of[row], False
            look = self._contents.as_it_was(raw)
            if self._contents.is_changed(raw.file) and changed_in.get(raw.file, row) <= row:
                before = self._contents.before(raw.file)
                other_name = any(getattr(look, name) != getattr(before, name) for name in _SHOWN)
                look = before
            self._before[path] = _Before(look, other_name=other_name)

    def _learn_contents(self, batch: RowBatch, told_of: Mapping[int, Look]) -> None:
        rows = [*told_of]
        for row, path in zip(rows, batch.texts("resolved", rows) if rows else (), strict=True):
            look = self._contents.as_it_was(told_of[row])
            first = self._before.get(path or b"")
            if path and first is not None and first.look is not None:
                self._before[path] = first._replace(look=learned(first.look, look))
            self._contents.remember(look)

    def _note_set_beside(self, rows: Rows[bytes | None], results: list[int | None]) -> None:
        for path, op, result in zip(rows.key, rows.op, results, strict=True):
            if path and op in _BESIDE_THE_STATE and not has_failed(result):
                self._set_beside[path] = result == 0 or self._set_beside.get(path, False)

    def _note_states(self, batch: RowBatch, found: dict[int, bytes]) -> None:
        """What was found before: rows, and the paths that they tell of."""
        rows = list(found)
        columns = zip(found.values(), batch.modes(rows), batch.optional("nlink", rows), strict=True)
        for path, mode, links in columns:
            if (links or 0) > 1 and not stat.S_ISDIR(mode):
                self.with_other_names.add(path)

    def _note_renames(self, batch: RowBatch) -> None:
        rows = batch.rows_of({"rename", "rename_to"})
        if not rows:
            return
        names = zip(batch.texts("resolved", rows), batch.texts("extra", rows), strict=True)
        figures = zip(
            batch.ops(rows),
            batch.modes(rows),
            batch.optional("result", rows),
            batch.numbers("notes", rows),
            strict=True,
        )
        for (name, other), (op, mode, result, notes) in zip(names, figures, strict=True):
            exchange = bool(notes & _EXCHANGE)
            if not name or not other or has_failed(result) or not (op == "rename" or exchange):
                continue
            pair = (name, other) if op == "rename" else (other, name)
            is_noted = op == "rename_to" and pair in self._exchanged
            self._exchanged.discard(pair)
            if is_noted or not stat.S_ISDIR(mode):
                continue
            if exchange:
                self._exchanged.add(pair)
            self._renames.append(DirectoryRename(name, other, exchange))


def calls_of(batch: RowBatch, numbers: list[int]) -> Rows[bytes | None]:
    return _rows_of(_calls(batch, numbers))


def _calls(batch: RowBatch, numbers: list[int]) -> list[_Call]:
    columns = (
        batch.texts("resolved", numbers),
        batch.ops(numbers),
        batch.optional("result", numbers),
        batch.numbers("notes", numbers),
        batch.numbers("arg", numbers),
        batch.optional("exists", numbers),
        batch.modes(numbers),
    )
    return list(zip(*columns, strict=True))


def _rows_of(calls: Sequence[_Call]) -> Rows[bytes | None]:
    paths, ops, results, notes, args, found, modes = zip(*calls, strict=True) if calls else ((),) * 7
    return Rows(
        key=paths,
        op=ops,
        arg=args,
        notes=notes,
        failed=[has_failed(result) for result in results],
        look=[NOBODY_LOOKED if exists is None else FOUND if exists else NOT_THERE for exists in found],
        mode=modes,
    )


class _Before(NamedTuple):
    """What was at a path before; None: nothing."""

    look: Look | None
    other_name: bool = False  # it is that of another name, under which the run changed the file first


class _Told(NamedTuple):
    """What is said of a path, but for the change."""

    before: FileState
    after: FileState
    same_content: bool | None
    same_ctime: bool | None
    other_name: bool


def _file(line: FileLine, touched: Touched, ends: Mapping[Identity, str]) -> File:
    path = line.path_bytes
    operations = touched.operations(path)
    one = _judged(line, touched, ends) if touched.tells_contents else _chosen_then(line, touched)
    change = _change(
        one.before,
        one.after,
        operations,
        same_content=one.same_content,
        set_beside=touched.has_set_beside(path, same_ctime=one.same_ctime),
    )
    # The time of a directory is that of what is in it.
    is_directory = (one.before.kind, one.after.kind) == ("directory", "directory")
    is_of_run = one.other_name or path in touched.with_other_names or not CHANGING.isdisjoint(operations)
    return File(
        path,
        sorted(operations),
        one.before,
        one.after,
        change,
        changed_by_others=change not in {"none", "unknown"} and not is_directory and not is_of_run,
        git=line.git,
    )


def _judged(line: FileLine, touched: Touched, ends: Mapping[Identity, str]) -> _Told:
    path, last = line.path_bytes, line.after.look
    if touched.is_mounted_upon(path):
        return _Told(UNKNOWN, UNKNOWN, None, None, other_name=False)
    first = touched.first(path)
    look = None if first is None else first.look
    end = End(last, Content(line.after_blob, line.after_content), known=not line.after.unknown)
    kept = contents(look, end, touched.operations(path), ends)
    before = UNKNOWN if first is None else state_of(look)
    after = UNKNOWN if line.after.unknown else state_of(last)
    return _Told(
        _holding(before, kept.before),
        _holding(after, kept.after),
        kept.same_content,
        kept.same_ctime,
        other_name=first is not None and first.other_name,
    )


def _chosen_then(line: FileLine, touched: Touched) -> _Told:
    """An older record: the Steno that recorded it chose what was before, and told it in the line."""
    chosen = Content(line.before_blob, line.before_content)
    first = touched.before(line.path_bytes) if line.before is None else line.before.told(chosen)
    return _Told(
        _holding(first, chosen),
        line.after.told(Content(line.after_blob, line.after_content)),
        line.same_content,
        line.same_ctime,
        other_name=line.before is not None,
    )


def _holding(state: FileState, content: Content) -> FileState:
    if not state.exists or content == NOTHING:
        return state
    return replace(state, blob=content.blob, no_content_reason=content.why)


def _change(
    before: FileState,
    after: FileState,
    operations: set[str],
    *,
    same_content: bool | None,
    set_beside: bool = False,
) -> str:
    if before.exists is None or after.exists is None:
        return "unknown" if operations & CHANGING else "none"
    if not (before.exists and after.exists):
        if before.exists == after.exists:
            return "none"
        return "created" if after.exists else "deleted"
    if before.kind != after.kind or before.link != after.link or same_content is False:
        return "modified"
    times_differ, sizes_differ = before.mtime_ns != after.mtime_ns, before.size != after.size
    # What a directory lists is told of the files in it.
    if before.kind != "directory" and (
        sizes_differ or (times_differ and not (same_content or _same_content(before, after, operations)))
    ):
        return "modified"
    in_doubt = before.kind == "file" and not same_content and _may_be_another(before, after, operations)
    owners_differ = (before.mode, before.uid, before.gid) != (after.mode, after.uid, after.gid)
    differ = times_differ or sizes_differ or set_beside or owners_differ
    return "unknown" if in_doubt else "metadata" if differ else "none"


def _may_be_another(before: FileState, after: FileState, operations: set[str]) -> bool:
    """Whether the content may be another although size and time are the same: a time can be put back."""
    touched = "write" in operations or before.no_content_reason == RACED
    return touched and before.size != 0 and not _has_same_blob(before, after)


def _same_content(before: FileState, after: FileState, operations: set[str]) -> bool:
    """Whether only the time is another: the content is one blob, or the one target (which has been compared),
    or only times and the like were set."""
    return (
        _has_same_blob(before, after)
        or (before.target is not None and _MASKED not in before.target)
        or ("metadata" in operations and "write" not in operations)
    )


def _has_same_blob(before: FileState, after: FileState) -> bool:
    return before.blob is not None and before.blob == after.blob


def _lines(layers: Layers) -> Iterator[bytes]:
    if not layers.has(layout.FILE_LINES):
        return
    rest = b""
    for block in layers.read(layout.FILE_LINES):
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield line + b"\n"
        if len(rest) > MAX_LINE:
            raise BadTableError(f"{layout.FILE_LINES}: a line is longer than {MAX_LINE} bytes")
    if rest:
        yield rest


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from None
