"""Who touched the logs that programs of the run tell us in, as the kernel saw it.

A log is known by its path in the intake, and by its inode under any other name: through a hard link, a bind
mount, another root. Writes through a descriptor that was handed over are no rows: nobody sees those.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar, Self

from steno.evidence import intake_names, kinds, layout, wire
from steno.evidence.layers import Layers
from steno.evidence.syscalls import RowBatch
from steno.judge.facts import RunFacts
from steno.judge.operations import ON_CONTENT, OPENING, access, creates, has_failed, only_names, truncates

COLUMNS = ("mono_ns", "process", "op", "path", "resolved", "extra", "result", "arg", "notes", "dev", "ino")
_CHANGING = (ON_CONTENT - {"list"}) | {"link"}
PROXY, HOOK = "proxy", "hook"
_FOLDER = "."  # in place of a log's name: the intake itself
_MOVING = frozenset({"rename", "rename_to", "moved", "moved_to"})
_WITHOUT_PLACE = wire.NOTES["other_root"] | wire.NOTES["not_resolved"]


class LogUse:
    """What was done to one log. Processes are numbers of the table."""

    def __init__(self) -> None:
        self.made_at: dict[int, int] = {}  # process -> when it opened the log so that it came to be
        self.writers: dict[int, int] = {}  # process -> when it first opened it to write, or changed it
        self.openings: dict[int, int] = {}  # process -> how often it opened it to write
        self.emptied = False

    def take(self, process: int, op: str, arg: int, at_ns: int) -> None:
        if op in OPENING:
            if only_names(arg) or (access(arg) == "read" and not truncates(arg)):
                return
            self.openings[process] = self.openings.get(process, 0) + 1
            if creates(arg):
                self.made_at.setdefault(process, at_ns)
        self.writers.setdefault(process, at_ns)
        self.emptied = self.emptied or op == "truncate" or (op in OPENING and truncates(arg))


class LogWatch:
    columns: ClassVar[tuple[str, ...]] = COLUMNS
    whole: ClassVar[bool] = True

    @classmethod
    def begin(cls, layers: Layers) -> Self:
        return cls(layers.run_id, RunFacts.of(layers).intake_logs)

    def __init__(self, run_id: str, told: kinds.IntakeLogs | None) -> None:
        self.uses: dict[str, LogUse] = {intake_names.HOOKS: LogUse()}
        self.folder_moved = False  # or mounted elsewhere
        self._place = _place(run_id)
        self._files: dict[tuple[int, int], str] = {}
        for log in told.policy if told else ():
            if log.file is not None:
                name = intake_names.policy_log(log.process.pid, log.process.start_ticks)
                self._files[log.file.dev, log.file.ino] = name
        if told is not None and told.hooks is not None:
            self._files[told.hooks.dev, told.hooks.ino] = intake_names.HOOKS

    def take(self, batch: RowBatch) -> None:
        if not (rows := batch.rows_of(_CHANGING)):
            return
        resolved, inodes = batch.texts("resolved", rows), batch.optional("ino", rows)
        named = {path: name for path in set(resolved) if path and (name := self.name(path))}
        self._learn(batch, [row for row, path in zip(rows, resolved, strict=True) if path in named], named)
        known = {inode for _, inode in self._files}
        notes = batch.numbers("notes", rows)
        found = [
            row
            for row, path, inode, bits in zip(rows, resolved, inodes, notes, strict=True)
            if path in named or inode in known or (inode is None and bits & _WITHOUT_PLACE)
        ]
        self._take_mounts(batch)
        self._take_rows(batch, found, named)

    def _learn(self, batch: RowBatch, rows: list[int], named: dict[bytes, str]) -> None:
        """A log that has another name later is still the same file."""
        columns = batch.texts("resolved", rows), batch.optional("dev", rows), batch.optional("ino", rows)
        for path, dev, inode in zip(*columns, strict=True):
            if path and dev is not None and inode is not None and named[path] != _FOLDER:
                self._files.setdefault((dev, inode), named[path])

    def _take_rows(self, batch: RowBatch, rows: list[int], named: dict[bytes, str]) -> None:
        columns = (
            batch.texts("resolved", rows),
            batch.texts("path", rows),
            batch.optional("dev", rows),
            batch.optional("ino", rows),
            batch.numbers("process", rows),
            batch.ops(rows),
            batch.numbers("arg", rows),
            batch.numbers("mono_ns", rows),
            batch.optional("result", rows),
        )
        for resolved, path, dev, inode, process, op, arg, at_ns, result in zip(*columns, strict=True):
            if has_failed(result):
                continue
            name = named.get(resolved or b"")
            if name == _FOLDER:
                self.folder_moved = self.folder_moved or op in _MOVING
                continue
            if name is None and dev is not None and inode is not None:
                name = self._files.get((dev, inode))
                if name not in self.uses:
                    continue  # before the log was there, another file may have had its inode
            if name is None and inode is None:
                name = _own_name(resolved or path or b"")
            if name is not None:
                self.uses.setdefault(name, LogUse()).take(process, op, arg, at_ns)

    def _take_mounts(self, batch: RowBatch) -> None:
        rows = batch.rows_of({"mount"})
        sources = zip(batch.texts("extra", rows), batch.optional("result", rows), strict=True)
        moved = (source and self.name(source) and not has_failed(result) for source, result in sources)
        self.folder_moved = any(moved) or self.folder_moved

    def name(self, path: bytes) -> str | None:
        """The log that has this path, or the folder of all of them."""
        found = self._place.search(path)
        if found is None:
            return None
        name = (found["name"] or b"").decode("utf-8", "surrogateescape")
        if not name:
            return _FOLDER
        return name if name == intake_names.HOOKS or intake_names.policy_log_owner(name) else None


class LogsNamed:
    """Whether a program of the run opened or changed a log: the recorder may have found nothing of it."""

    columns: ClassVar[tuple[str, ...]] = ("resolved",)
    whole: ClassVar[bool] = True

    def __init__(self, run_id: str) -> None:
        self.any = False
        self._run = run_id.encode()
        self._watch = LogWatch(run_id, None)

    @classmethod
    def begin(cls, layers: Layers) -> Self:
        return cls(layers.run_id)

    def take(self, batch: RowBatch) -> None:
        if self.any or self._run not in b"/".join(batch.words("resolved")):
            return
        paths = filter(None, set(batch.texts("resolved")))
        self.any = any(self._watch.name(path) not in {None, _FOLDER} for path in paths)


def _place(run_id: str) -> re.Pattern[bytes]:
    run = re.escape(run_id.encode())
    return re.compile(
        rb"(?:^|/)(?:\.?steno-intake-%s|%s/%s/intake)(?:/(?P<name>[^/]+))?$"
        % (run, run, layout.SPOOL.encode())
    )


def _own_name(path: bytes) -> str | None:
    """For a row of which no more is known: the name of a proxy's log is nobody else's name for a file."""
    name = path.rpartition(b"/")[2].decode("utf-8", "surrogateescape")
    return name if intake_names.policy_log_owner(name) else None


def our_program(program: bytes, words: list[bytes]) -> str:
    """`PROXY` or `HOOK` for a program that looks like ours. It is evidence and no proof: names can be had."""
    rest = iter(words[1:])
    if program.startswith((b"python", b"pypy")):
        program = _module_or_script(rest)
    if program.rpartition(b"/")[2] != b"steno":
        return ""
    asked = list(rest)
    if b"mcp" in asked and not {b"wrap", b"proxy"}.isdisjoint(asked):
        return PROXY
    return HOOK if b"hook" in asked else ""


def _module_or_script(words: Iterator[bytes]) -> bytes:
    """What an interpreter is asked to run."""
    for word in words:
        if word == b"-m":
            return next(words, b"")
        if word in {b"-X", b"-W"}:
            next(words, b"")
        elif not word.startswith(b"-"):
            return word
    return b""
