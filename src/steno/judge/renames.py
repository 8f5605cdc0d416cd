"""What had a name before the run and got another: the facts by which undo renames things back.

They are the renames of directories and of what is older than the run, in the order of the rows, each of the
latter with its device and inode; the names of files that had several; and the strays, which are the other
ends of such renames that `files.json` has no line for, because they are ignored or inside `.git`. Of a stray
the content before is known if it was kept under another name; the state after is the one that it had when it
was renamed: nobody looked later. Never looks at a file.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from steno.evidence import wire
from steno.evidence.layers import Layers
from steno.evidence.syscalls import RowBatch, distinct_rows
from steno.judge.contents import KEPT, Look
from steno.judge.files import UNKNOWN, Touched, state_of
from steno.judge.operations import has_failed
from steno.judge.scan import Reading
from steno.judge.types import ABSENT, File, FileState, Identity, ThingRenamed

_EXCHANGE = wire.NOTES["exchange"]
_LEAVING = frozenset({"rename", "moved"})
_ARRIVING = frozenset({"rename_to", "moved_to"})
_REMOVING = frozenset({"unlink", "rmdir"})
_STATE = ("size", "mtime_ns", "ctime_ns", "mode", "uid", "gid", "nlink")


class Name(NamedTuple):
    """A name that a file had before the run: which file, and how many names it had."""

    node: Identity
    links: int


class Renamed(NamedTuple):
    renames: list[ThingRenamed]
    strays: list[File]
    unlisted: frozenset[bytes]  # what the run changed and `files.json` has no line for
    names: dict[bytes, Name]  # of files that had several before the run, as far as it met them


class _Row(NamedTuple):
    op: str
    name: bytes
    other: bytes
    failed: bool
    exchange: bool
    identity: Identity | None
    found: FileState | None
    last_name: bool  # of a file that has no other


def renamed(layers: Layers, listed: Collection[bytes]) -> Renamed:
    """`listed` are the paths that have a state."""
    things = Reading.of(layers).scanned(Things)
    strays, unlisted = list(things.strays(listed)), frozenset(things.unlisted(listed))
    return Renamed(list(things.told()), strays, unlisted, things.names())


class Things(Touched):
    def __init__(self) -> None:
        super().__init__()
        self._older: set[Identity | None] = set()  # of what was there before the run
        self._rows: list[_Row] = []
        self._nodes: dict[bytes, Identity] = {}  # of files, by the names that they had
        self._links: dict[Identity, int] = {}  # how many names each had when the run first met it

    def _note_states(self, batch: RowBatch, found: dict[int, bytes]) -> None:
        super()._note_states(batch, found)
        rows = list(found)
        nodes = zip(batch.optional("dev", rows), batch.optional("ino", rows), strict=True)
        for path, mode, (dev, ino) in zip(found.values(), batch.modes(rows), nodes, strict=True):
            self._nodes.pop(path, None)
            if dev is None or ino is None:
                continue
            self._older.add((dev, ino))
            if stat.S_ISREG(mode):
                self._nodes[path] = dev, ino
        firsts = distinct_rows(batch, ("dev", "ino", "nlink")).rows
        for dev, ino, links in zip(
            *(batch.optional(name, firsts) for name in ("dev", "ino", "nlink")), strict=True
        ):
            if dev is not None and ino is not None:
                self._links.setdefault((dev, ino), links or 0)

    def names(self) -> dict[bytes, Name]:
        told = {path: Name(node, self._links.get(node, 0)) for path, node in self._nodes.items()}
        return {path: name for path, name in told.items() if name.links > 1}

    def _note_renames(self, batch: RowBatch) -> None:
        rows = batch.rows_of(_LEAVING | _ARRIVING | _REMOVING)
        names = zip(batch.ops(rows), batch.texts("resolved", rows), batch.texts("extra", rows), strict=True)
        figures = zip(batch.optional("result", rows), batch.numbers("notes", rows), strict=True)
        nodes = zip(batch.optional("dev", rows), batch.optional("ino", rows), strict=True)
        targets = batch.texts("target", rows)
        states = zip(*(batch.optional(name, rows) for name in _STATE), strict=True)
        columns = zip(names, figures, nodes, targets, states, strict=True)
        for (op, name, other), (result, notes), (dev, ino), target, numbers in columns:
            if not name or (op not in _REMOVING and not other):
                continue
            size, mtime_ns, ctime_ns, mode, uid, gid, links = (number or 0 for number in numbers)
            look = Look(dev or 0, ino or 0, size, mtime_ns, ctime_ns, mode, uid, gid, links, target=target)
            found = state_of(look) if look.mode else None
            identity = None if dev is None or ino is None else (dev, ino)
            exchange = bool(notes & _EXCHANGE)
            row = _Row(op, name, other or b"", has_failed(result), exchange, identity, found, links == 1)
            if op == "rename_to" and self._is_of_one_file(row):
                self._rows.pop()
            else:
                self._rows.append(row)

    def _is_of_one_file(self, row: _Row) -> bool:
        """Between two names of one file rename(2) does nothing. The row of the old name is the one before."""
        last = self._rows[-1] if self._rows else row
        pair = last.op == "rename" and (last.name, last.other) == (row.other, row.name)
        return pair and row.identity is not None and last.identity == row.identity

    def unlisted(self, listed: Collection[bytes]) -> Iterator[bytes]:
        return (path for path in self.changed() if path not in listed)

    def told(self) -> Iterator[ThingRenamed]:
        exchanged: set[tuple[bytes, bytes]] = set()  # told by the row of one name; the other's follows
        older = set(self._older)
        for row in self._rows:
            if row.last_name and not row.failed and not row.exchange and row.op in {"unlink", "rename_to"}:
                older.discard(row.identity)  # from now on another file may have that inode
            if row.failed or not (row.op == "rename" or (row.op == "rename_to" and row.exchange)):
                continue
            pair = (row.name, row.other) if row.op == "rename" else (row.other, row.name)
            if row.op == "rename_to" and pair in exchanged:
                exchanged.discard(pair)
                continue
            directory = row.found is not None and row.found.kind == "directory"
            if not directory and row.identity not in older:
                continue
            if self.is_mounted_upon(row.name) or self.is_mounted_upon(row.other):
                continue
            if row.exchange:
                exchanged.add(pair)
            yield ThingRenamed(row.name, row.other, row.exchange, None if directory else row.identity)

    def _before_with_content(self, path: bytes) -> FileState:
        first = self.first(path)
        if first is None or first.look is None or first.look.content != KEPT:
            return self.before(path)
        return replace(state_of(first.look), blob=first.look.blob)

    def strays(self, listed: Collection[bytes]) -> Iterator[File]:
        after: dict[bytes, FileState] = {}
        crossing: dict[bytes, None] = {}
        for row in self._rows:
            if row.failed or self.is_mounted_upon(row.name):
                continue
            if row.op in _REMOVING or (row.op in _LEAVING and not row.exchange):
                after[row.name] = FileState(ABSENT)
            if row.op in _LEAVING and row.found:
                after[row.other] = row.found
                if (row.name in listed) != (row.other in listed):
                    crossing[row.other if row.name in listed else row.name] = None
            if row.op == "rename_to" and row.exchange and row.found:
                after[row.other] = row.found
        for path in crossing:
            before, then = self._before_with_content(path), after.get(path, UNKNOWN)
            if before.exists is not False and then.exists is not False:
                continue  # nobody can say what it replaced: as what is ignored, it is not brought back
            yield File(path, sorted(self.operations(path)), before, then, "unknown")
