"""Recordings made by hand from evidence alone: what was observed, said and printed. The rest Steno concludes.

`RunBuilder("make").process("make").wrote("/w/a.o", b"object").seal(store)` is a bundle that verifies. Calls
belong to the process that was named last; `at` is in nanoseconds since the run began, and goes on by a
millisecond.
"""

from __future__ import annotations

import os
import stat
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self
from zlib import crc32

import msgspec

from steno.bundle import judgement_cache, kernel_table
from steno.bundle.blobs import BlobWriter
from steno.bundle.folder import Folder
from steno.bundle.frames import open_frames
from steno.bundle.keys import make_or_read_key
from steno.bundle.seal import Sweeper, seal
from steno.bundle.spool import Spool
from steno.bundle.store import create_run_folder, publish_run_folder
from steno.evidence import canonical, kinds, layout
from steno.evidence.claims import PolicyLine, ProcessKey, SdkLine
from steno.evidence.kinds import EventData, Host
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from support import told
from support.frames_made import ABSENT, FakeFrames, Found

RUN_ID = "2026-01-25T12-00-00-000Z_a1b2c3d4"
HOST = Host(os="Linux", release="6.1", machine="x86_64", platform="linux", name="box")
PIPES = kinds.Terminal(kind="pipes", streams="separate", stdin="inherited", term=None, cols=None, rows=None)
PROXY = ProcessKey(900, 9)
STEP_NS = 1_000_000
WRITING = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
DIRECTORY, LINK = stat.S_IFDIR | 0o755, stat.S_IFLNK | 0o777

Name = str | bytes


class Content(NamedTuple):
    """A file with this in it. `kept`: whether the record has it, else why not (a word of the spec).

    `like`: what lstat showed, but for the size.
    """

    data: bytes
    kept: bool | str = True
    secret: bool = False
    like: Found = Found()


class _Unknown:
    """Nobody looked."""


UNKNOWN = _Unknown()
State = Found | Content | bytes | _Unknown | None  # None: nothing is there; bytes: a file with this in it


class RunBuilder:
    def __init__(self, *command: str, run_id: str = RUN_ID, **started: Any) -> None:
        self.run_id = run_id
        self._start: dict[str, Any] = {
            "cwd": "/work",
            "cmd_redacted": list(command) or ["make", "test"],
            "git_enabled": False,
            "host": HOST,
            "terminal": PIPES,
            "tail_bytes": 4000,
            "raw_logs": False,
            "steno_version": "0.1.0",
            "env": {},
            "observer": "notify",
            **started,
        }
        self._calls: list[tuple[int, int, dict[str, Any]]] = []
        self._kernel: dict[str, Any] = {}
        self._header: dict[str, Any] = {}
        self._lines: dict[bytes, dict[str, Any]] = {}
        self._repositories: list[dict[str, Any]] = []
        self._blobs: dict[str, Content] = {}
        self._tapes: list[tuple[str, int, bytes]] = []
        self._files: list[tuple[str, bytes]] = []
        self._before: list[EventData] = []
        self._after: list[EventData] = []
        self._policy: list[PolicyLine] = []
        self._said: list[SdkLine] = []
        self._finished: kinds.CommandFinished | None = kinds.CommandFinished(0)
        self._moments_ms: tuple[int, ...] = ()
        self._processes = 0
        self._process = 0
        self._now = 0

    # Processes

    def process(
        self,
        *argv: Name,
        parent: int = 0,
        code: int | None = 0,
        at: int | None = None,
        until: int | None = None,
        pid: int | None = None,
        start_ticks: int | None = None,
        **executed: Any,
    ) -> Self:
        """The next process: it executes `argv`, if any, and ends with `code`, or its end is not seen."""
        self._processes += 1
        self._process = number = self._processes
        ids = (1000 + number if pid is None else pid) | parent << 32
        self.call("process", arg=ids, arg2=number if start_ticks is None else start_ticks, result=0, at=at)
        if argv:
            self.executed(*argv, **executed)
        return self if code is None else self.exit(code, at=until)

    def executed(
        self,
        *argv: Name,
        path: Name | None = None,
        requested: Name | None = None,
        argc: int | None = None,
        result: int | None = 0,
        **call: Any,
    ) -> Self:
        """The process becomes another program, or (`result`) it cannot. It was there before, and is."""
        program = path or (argv[0] if _bytes(argv[0]).startswith(b"/") else b"/usr/bin/" + _bytes(argv[0]))
        words = b"".join(_bytes(word) + b"\0" for word in argv)
        count = len(argv) if argc is None else argc
        asked = program if requested is None else requested
        return self.call("exec", asked, resolved=program, extra=words, arg=count, result=result, **call)

    def interpreted(self, path: Name, argument: Name = b"") -> Self:
        """What was executed last is a script, and this runs it."""
        return self.call("interpreter", path, extra=argument, result=0)

    def exit(
        self, code: int = 0, *, signal: int = 0, core: bool = False, told: bool = True, at: int | None = None
    ) -> Self:
        """`told`: by the kernel; else it only asked for it. Without `at` it ends when the run does."""
        status = signal | core << 7 if signal else code << 8
        call = {"op": "exit", "process": self._process, "arg": status, "arg2": int(told), "result": 0}
        self._calls.append((1 << 62 if at is None else at, len(self._calls), call))
        return self

    def outlived(self) -> Self:
        """The process was alive when the recording ended."""
        return self.call("outlived", result=0)

    def by(self, process: int) -> Self:
        """What follows is done by this one."""
        self._process = process
        return self

    # Calls on files: `before` is what was found; `after` is how the run left it.

    def call(
        self, op: str, path: Name = b"", *, state: State = UNKNOWN, at: int | None = None, **fields: Any
    ) -> Self:
        """Any row of the table: its fields are those of `FakeFrames.event`."""
        if op in _WITH_ADDRESS:
            fields.setdefault("resolved", b"")
        self._now = self._now + STEP_NS if at is None else at
        call = {"op": op, "path": path, "state": state, "process": self._process, **fields}
        self._calls.append((self._now, len(self._calls), call))
        return self

    def read(self, path: Name, state: State = b"x", *, result: int | None = 0, **line: Any) -> Self:
        self.call("open", path, state=state, arg=os.O_RDONLY, result=result)
        return self.left(path, state, **line)

    def looked(self, path: Name, state: State = b"x", **line: Any) -> Self:
        """Asked whether it is there, and what it is."""
        self.call("stat", path, state=state, result=-2 if state is None else 0)
        return self.left(path, state, **line)

    def listed(self, path: Name, **line: Any) -> Self:
        self.call("list", path, state=Found(mode=DIRECTORY), result=0)
        return self.left(path, Found(mode=DIRECTORY), **line)

    def wrote(
        self,
        path: Name,
        after: State = b"after",
        *,
        before: State = None,
        result: int | None = 0,
        at: int | None = None,
        **line: Any,
    ) -> Self:
        """Opened to be written, and left with other content."""
        self.call("open", path, state=before, arg=WRITING, result=result, at=at)
        return self.left(path, after, before=before, **line)

    def deleted(self, path: Name, before: State = b"before", *, result: int | None = 0, **line: Any) -> Self:
        self.call("unlink", path, state=before, result=result)
        return self.left(path, None, before=before, **line)

    def renamed(self, old: Name, new: Name, state: State = b"moved", *, over: State = None) -> Self:
        self.call("rename", old, extra=new, state=state, result=0)
        self.call("rename_to", new, extra=old, state=over, result=0)
        self.left(old, None, before=state)
        return self.left(new, state, before=over)

    def made_directory(self, path: Name) -> Self:
        self.call("mkdir", path, state=None, arg=0o755, result=0)
        return self.left(path, Found(mode=DIRECTORY))

    def changed_mode(self, path: Name, mode: int, before: State = b"x", **line: Any) -> Self:
        self.call("chmod", path, state=before, arg=mode, result=0)
        found = _found(_bytes(path), before)
        assert found is not None
        return self.left(path, found._replace(mode=stat.S_IFMT(found.mode) | mode), before=before, **line)

    def left(self, path: Name, after: State, *, before: State = UNKNOWN, **line: Any) -> Self:
        """How the run left a recorded path. `line`: other fields of the spec's §5.2, such as `git`."""
        name = _bytes(path)
        told = self._lines.setdefault(name, _named("path", name))
        was, left = (Content(state) if isinstance(state, bytes) else state for state in (before, after))
        if isinstance(left, Content):
            if left.kept is True:
                same = isinstance(was, Content) and was.kept is True and was.data == left.data
                told["after_blob"] = f"{'before' if same else 'after'}:{told['path']}"
                self._blobs.setdefault(told["after_blob"], left)
            elif left.kept:
                told["after_content"] = left.kept
        told["after"] = _told(name, after, changed=before is not UNKNOWN)
        told |= line
        return self

    def in_repository(self, root: str, head: str | None = "a" * 40, *, dirty: bool = False) -> Self:
        self._repositories.append({"repository": {"root": root, "head": head, "dirty": dirty}})
        return self

    # The network

    def connected(self, address: Name, result: int | None = 0, *, times: int = 1, **call: Any) -> Self:
        for _ in range(times):
            self.call("connect", address, result=result, **call)
        return self

    # What was said, printed and noted

    def decided(self, *lines: PolicyLine) -> Self:
        for line in lines:
            own = msgspec.structs.replace(line.steno, proxy_process=line.steno.proxy_process or PROXY)
            self._policy.append(msgspec.structs.replace(line, steno=own))
        return self

    def said(self, *lines: SdkLine) -> Self:
        self._said += lines
        return self

    def printed(self, data: Name, *, stream: str = layout.STDOUT, at: int = STEP_NS) -> Self:
        self._tapes.append((stream, at, _bytes(data)))
        return self

    def file(self, path: str, content: bytes) -> Self:
        """A file of the record as the recorder wrote it, such as a patch."""
        self._files.append((path, content))
        return self

    def event(self, *events: EventData) -> Self:
        """Events of the recorder: those that come before the command first, the others after it."""
        for event in events:
            (self._before if event.type in _BEFORE_THE_COMMAND else self._after).append(event)
        return self

    def events_at(self, *moments_ms: int) -> Self:
        """When the recorder wrote each of its events, in their order."""
        self._moments_ms = moments_ms
        return self

    def gap(self, reason: str, detail: str = "") -> Self:
        return self.event(kinds.Gap(reason, detail))

    def ended(self, exit_code: int, **how: Any) -> Self:
        """How the command ended, if not well."""
        self._finished = kinds.CommandFinished(exit_code, **how)
        return self

    def never_ended(self) -> Self:
        """The end of the command was not seen."""
        self._finished = None
        return self

    def kernel(self, **changed: Any) -> Self:
        """Other fields of `kernel_observed`, such as `observer` and `features`."""
        self._kernel |= changed
        return self

    # What it becomes

    def seal(self, store: Path) -> Path:
        folder = self.spool(store)
        with Folder(folder) as run:
            seal(run, self.run_id, Sweeper())
        return folder

    def spool(self, store: Path) -> Path:
        """The run as a recorder leaves it that has let go, and has not sealed."""
        folder = create_run_folder(store, self.run_id)
        spool = Spool(folder, self.run_id, Redactor(findings=Findings()), mono_origin_ns=0)
        if self._moments_ms:
            spool.now = iter([ms * 10**6 for ms in self._moments_ms]).__next__  # type: ignore[method-assign]
        folder = publish_run_folder(folder, self.run_id)
        path = store / self.run_id
        streams = self._streams()
        recorded = [name.rpartition("/")[2] for name in layout.TAPES if name in streams]
        terminal = msgspec.structs.replace(self._start["terminal"], recorded=recorded)
        spool.event(kinds.RunStart(**{**self._start, "terminal": terminal}))
        tapes = {name: spool.stream(name) for name in streams}
        for name, at, data in sorted(self._tapes, key=lambda tape: tape[1]):
            tapes[name].append(at, data)
        for tape in tapes.values():
            tape.close()
        for name, content in self._files:
            spool.file(name, [content])
        for event in (*self._before, kinds.CommandStarted(4242), *self._ends(path)):
            spool.event(event)
        spool.close()
        folder.close()
        return path

    def _streams(self) -> list[str]:
        merged = self._start["terminal"].streams != "separate"
        usual = [layout.STDIN, layout.OUTPUT] if merged else [layout.STDOUT, layout.STDERR]
        return list(dict.fromkeys([*usual, *(name for name, *_ in self._tapes)]))

    def _ends(self, path: Path) -> list[EventData]:
        first = [] if self._finished is None else [self._finished]
        kernel = [self._kernel_layer(path)] if self._calls else []
        later = sorted(self._after, key=lambda event: event.type in _AFTER_THE_KERNEL)
        split = sum(event.type not in _AFTER_THE_KERNEL for event in later)
        code = None if self._finished is None else self._finished.exit_code
        finish = kinds.RunFinish(code, completed=self._finished is not None)
        return [*first, *later[:split], *kernel, *later[split:], *self._claims(path), finish]

    def _kernel_layer(self, path: Path) -> EventData:
        with Folder(path.parent) as store:
            key = make_or_read_key(store)
            judgement_cache.allow(store)
        frames = FakeFrames(key=key).header(**self._header)
        kept = _Kept(frames, self._blobs)
        last = max(at for at, _, _ in self._calls if at < 1 << 62)
        for at, _, call in sorted(self._calls, key=lambda one: one[:2]):
            fields = dict(call)
            if "state" in fields:
                fields["state"] = kept.seen(fields)
            frames.event(**fields, at=min(at, last + STEP_NS))
        spool = path / layout.SPOOL
        frames.write(spool)
        with Folder(spool) as folder, open_frames(folder, key) as opened:
            rows = kernel_table.write(folder, opened, Redactor(findings=Findings()), kept.keys)
            told = kernel_table.observed(opened, rows)
            self._write_lines(folder)
            writer = BlobWriter(folder, key)
            for name, content in self._blobs.items():
                writer.add(name, content.data, secret=content.secret)
            writer.close()
        return msgspec.structs.replace(told, **self._kernel)

    def _write_lines(self, spool: Folder) -> None:
        lines = [*self._repositories, *(self._lines[name] for name in sorted(self._lines))]
        with os.fdopen(spool.create(layout.FILE_LINES), "wb") as file:
            file.writelines(map(canonical.encode_line, lines))

    def _claims(self, path: Path) -> list[EventData]:
        events: list[EventData] = list(_connections(self._policy))
        if self._policy or self._said:
            logs = told.logs_of(self._policy, self._said, self.run_id)
            (path / layout.SPOOL / layout.CLAIMS).write_bytes(told.claims_file(logs))
        if self._said:
            hooks = sum(line.steno is not None and line.steno.process is not None for line in self._said)
            shim = self._said[0].source
            events.append(kinds.SdkIntake(shim=shim, lines=len(self._said) - hooks, hooks=hooks))
        return events


_WITH_ADDRESS = {"connect", "bind", "send", "answer"}  # which is found under no other name
_BEFORE_THE_COMMAND = {"cgroup_scope", "repo_snapshot_before", "probe_state", "agent_step"}
_AFTER_THE_KERNEL = {"intake_logs", "sdk_intake", "mcp_connection", "tool_versions", "redaction_tally", "gap"}


def _connections(decided: Sequence[PolicyLine]) -> Iterator[EventData]:
    """Each connection that a decision is of, as its proxy would have told of it."""
    for name in dict.fromkeys(line.steno.connection for line in decided):
        lines = [line for line in decided if line.steno.connection == name]
        own = lines[0].steno
        yield kinds.McpConnection(
            connection=name,
            source=lines[0].source,
            server=own.server,
            policy=own.policy,
            dry_run=own.dry_run,
            server_process=own.server_process,
            proxy_process=own.proxy_process or PROXY,
            opened_ns=0,
            calls=len(lines),
        )


class _Kept:
    """What the observer keeps of a file that is about to be changed, once for each path."""

    def __init__(self, frames: FakeFrames, blobs: dict[str, Content]) -> None:
        self._frames = frames
        self._blobs = blobs
        self._numbers: dict[bytes, int] = {}
        self.keys: dict[int, str] = {}

    def seen(self, call: dict[str, Any]) -> Any:
        name, state = _bytes(call["path"]), call["state"]
        if isinstance(state, bytes):
            state = Content(state)
        found = _found(name, state)
        if found is None:
            return ABSENT if state is None else None
        keeps = call["op"] in _KEEPING or (call["op"] == "open" and call.get("arg", 0) & os.O_ACCMODE)
        if not isinstance(state, Content) or not keeps or not state.kept:
            return found
        if state.kept is not True:
            return found._replace(content=state.kept)
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = self._frames.blob(state.data)
            self.keys[number] = f"before:{_named('path', name)['path']}"
            self._blobs.setdefault(self.keys[number], state)
        return found._replace(blob=number, content="kept")


_KEEPING = {"unlink", "rename", "rename_to", "truncate", "chmod", "chown", "utimes"}


def _found(name: bytes, state: State) -> Found | None:
    """Each path that is told by its content is a file of its own."""
    if isinstance(state, bytes):
        state = Content(state)
    if isinstance(state, Content):
        ino = crc32(name) if state.like.ino == Found().ino else state.like.ino
        return state.like._replace(size=len(state.data), ino=ino)
    return state if isinstance(state, Found) else None


def _told(name: bytes, state: State, *, changed: bool) -> dict[str, Any]:
    """A state after the run, as the spec's §5.2 has it."""
    found = _found(name, state)
    if found is None:
        return {"exists": False} if state is None else {"unknown": True}
    told = {
        "exists": True,
        "dev": found.dev,
        "ino": found.ino,
        "mode": found.mode,
        "nlink": found.nlink,
        "mtime_ns": found.mtime_ns,
        "ctime_ns": found.ctime_ns + changed,
        "size": found.size,
        "uid": found.uid,
        "gid": found.gid,
    }
    return told | (_named("target", _bytes(found.target)) if stat.S_ISLNK(found.mode) else {})


def _named(field: str, name: bytes) -> dict[str, Any]:
    try:
        return {field: name.decode()}
    except UnicodeDecodeError:
        return {field: name.decode("latin-1"), f"{field}_b64": b64encode(name).decode()}


def _bytes(name: Name) -> bytes:
    return name.encode() if isinstance(name, str) else name
