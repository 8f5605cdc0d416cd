"""Small recordings made by hand: layers in memory for derivations, spools and bundles on disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from steno.bundle.folder import Folder
from steno.bundle.manifest import Manifest
from steno.bundle.seal import Sweeper, seal
from steno.bundle.spool import Spool
from steno.evidence import index, kinds, layout
from steno.evidence.index import Arrival
from steno.evidence.kinds import Event, EventData, Host
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor

RUN_ID = "2026-01-25T12-00-00-000Z_0123abcd"
STARTED_AT_MS = 1_769_342_400_000
HOST = Host(os="Linux", release="6.1", machine="x86_64", platform="linux", name="host")
PIPES = kinds.Terminal(
    kind="pipes",
    streams="separate",
    stdin="relayed",
    term=None,
    cols=None,
    rows=None,
    recorded=["stdin", "stdout", "stderr"],
)
ON_TERMINAL = kinds.Terminal(
    kind="pty",
    streams="merged",
    stdin="pty",
    term="xterm",
    cols=100,
    rows=30,
    recorded=["stdin", "output"],
)
START = kinds.RunStart(
    cwd="/work",
    cmd_redacted=["sh", "-c", "echo one two"],
    git_enabled=True,
    host=HOST,
    terminal=PIPES,
    tail_bytes=4000,
    raw_logs=False,
    steno_version="0.1.0",
    env={"HOME": "/home/ada", "EDITOR": "ed", "SECRET_NAME": None},
)
FINISH = kinds.RunFinish(exit_code=0, completed=True)


def start(**changes: Any) -> kinds.RunStart:
    return msgspec.structs.replace(START, **changes)


def numbered(data: Sequence[EventData], step_ns: int = 1_000_000) -> list[Event]:
    """The events of a run, one step apart."""
    return [
        Event(seq, STARTED_AT_MS + seq * step_ns // 1_000_000, seq * step_ns, RUN_ID, each)
        for seq, each in enumerate(data)
    ]


class MemoryLayers:
    """Layers without a disk. Blocks are small, so that nothing can rely on getting a file in one."""

    def __init__(
        self, events: Sequence[Event], files: Mapping[str, bytes] | None = None, block: int = 3
    ) -> None:
        self._events = events
        self._files = dict(files or {})
        self._block = block

    @property
    def run_id(self) -> str:
        return RUN_ID

    def events(self) -> Iterator[Event]:
        return iter(self._events)

    def has(self, path: str) -> bool:
        return path in self._files

    def size(self, path: str) -> int:
        return len(self._of(path))

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        data = self._of(path)[start:]
        return (data[at : at + self._block] for at in range(0, len(data), self._block))

    def arrivals(self, tape: str) -> Iterator[Arrival]:
        return index.unpack(iter([self._files.get(layout.index_of(tape), b"")]))

    def _of(self, path: str) -> bytes:
        return self._files.get(path, b"") if path in layout.EMPTY_IS_ABSENT else self._files[path]

    def open(self, path: str) -> BinaryIO:
        return BytesIO(self._files[path])


def recording(terminal: kinds.Terminal, *tapes: str) -> kinds.Terminal:
    """A terminal of which these streams are recorded."""
    return msgspec.structs.replace(terminal, recorded=[tape.rpartition("/")[2] for tape in tapes])


def tape_files(tape: str, chunks: Sequence[tuple[int, bytes]]) -> dict[str, bytes]:
    """The two files of a tape whose chunks came at these times."""
    return {
        tape: b"".join(data for _, data in chunks),
        layout.index_of(tape): index.pack(Arrival(mono_ns, len(data)) for mono_ns, data in chunks),
    }


def open_spool(run: Path, redactor: Redactor | None = None) -> Spool:
    """A spool in a new run folder, which is made; nobody has written to it yet."""
    run.mkdir(mode=0o700)
    with Folder(run) as folder:
        return Spool(folder, RUN_ID, redactor or Redactor(findings=Findings()), mono_origin_ns=0)


def small_spool(run: Path, *, finished: bool = True) -> None:
    """A whole small run: three tapes, both snapshots and their files; its recorder has let go."""
    spool = open_spool(run)
    spool.event(START)
    spool.file(layout.STATUS_BEFORE, [b""])
    spool.file(layout.WORKTREE_BEFORE, [b"a patch from before\n"])
    spool.event(kinds.RepoSnapshotBefore(root="/work", head="a" * 40, branch="main"))
    spool.event(kinds.CommandStarted(pid=7))
    tapes = {name: spool.stream(name) for name in (layout.STDIN, layout.STDOUT, layout.STDERR)}
    for tape, data in (
        (layout.STDIN, b"in\n"),
        (layout.STDOUT, b"one\n"),
        (layout.STDERR, "caf\u00e9\n".encode()),
        (layout.STDOUT, b"two\n"),
    ):
        tapes[tape].append(spool.now(), data)
    for each in tapes.values():
        each.close()
    spool.event(kinds.CommandFinished(exit_code=3))
    spool.file(layout.STATUS_AFTER, [b" M a\n"])
    spool.file(layout.WORKTREE_DIFF, [b"a patch\n"])
    spool.file(layout.DIFF, [b"a patch\n"])
    spool.json_file(layout.CHANGES, [{"path": "a", "status": "M"}])
    spool.event(kinds.RepoSnapshotAfter(root="/work", head="a" * 40, branch="main", changed=1))
    if finished:
        spool.event(kinds.ToolVersions({"git": "2.39"}))
        spool.event(kinds.RunFinish(exit_code=3, completed=True))
    spool.close()


def sealed(run: Path) -> Manifest:
    """A sealed small bundle in a new folder."""
    small_spool(run)
    with Folder(run) as folder:
        return seal(folder, RUN_ID, Sweeper())


def contents(run: Path) -> dict[str, bytes]:
    """Every file below a folder, by its relative path."""
    return {
        str(path.relative_to(run)): path.read_bytes() for path in sorted(run.rglob("*")) if path.is_file()
    }
