"""Making recordings without running anything: exact events and streams, sealed or left as a spool."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from steno.bundle.folder import Folder
from steno.bundle.seal import Sweeper, seal
from steno.bundle.spool import Spool
from steno.bundle.store import create_run_folder, publish_run_folder
from steno.evidence import kinds, layout
from steno.evidence.kinds import EventData, Host
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor

RUN_ID = "2026-01-25T12-00-00-000Z_a1b2c3d4"
HOST = Host(os="Linux", release="6.1", machine="x86_64", platform="linux", name="box")
PIPES = kinds.Terminal(kind="pipes", streams="separate", stdin="inherited", term=None, cols=None, rows=None)
PTY = kinds.Terminal(kind="pty", streams="merged", stdin="pty", term="xterm", cols=80, rows=24)
FINISHED = (
    kinds.CommandStarted(4242),
    kinds.CommandFinished(0, user_us=1000, system_us=2000, max_rss_kib=2048),
    kinds.RunFinish(0, completed=True),
)


def start(*command: str, **changed: object) -> kinds.RunStart:
    values: dict[str, object] = {
        "cwd": "/work",
        "cmd_redacted": list(command) or ["make", "test"],
        "git_enabled": False,
        "host": HOST,
        "terminal": PIPES,
        "tail_bytes": 4000,
        "raw_logs": False,
        "steno_version": "0.1.0",
        "env": {},
    }
    return kinds.RunStart(**(values | changed))  # type: ignore[arg-type]


def make_run(
    store: Path,
    *events: EventData,
    run_id: str = RUN_ID,
    tapes: Iterable[tuple[str, int, bytes]] = (),
    files: Iterable[tuple[str, bytes]] = (),
    sealed: bool = True,
) -> Path:
    """A recording of `events`; each of `tapes` is (stream, nanoseconds, bytes), in order."""
    folder = create_run_folder(store, run_id)
    spool = Spool(folder, run_id, Redactor(findings=Findings()), mono_origin_ns=0)
    folder = publish_run_folder(folder, run_id)
    merged = any(isinstance(event, kinds.RunStart) and event.terminal == PTY for event in events)
    streams = (layout.STDIN, layout.OUTPUT) if merged else (layout.STDOUT, layout.STDERR)
    made = {name: spool.stream(name) for name in streams}
    for name, mono_ns, data in tapes:
        if name not in made:
            made[name] = spool.stream(name)
        made[name].append(mono_ns, data)
    for tape in made.values():
        tape.close()
    for path, content in files:
        spool.file(path, [content])
    for event in events or (start(), *FINISHED):
        spool.event(_telling_of(event, made))
    spool.close()
    if sealed:
        seal(folder, run_id, Sweeper())
    folder.close()
    return store / run_id


def _telling_of(event: EventData, streams: Collection[str]) -> EventData:
    """The beginning of a run tells which streams are recorded."""
    if not isinstance(event, kinds.RunStart):
        return event
    recorded = [tape.rpartition("/")[2] for tape in layout.TAPES if tape in streams]
    return msgspec.structs.replace(event, terminal=msgspec.structs.replace(event.terminal, recorded=recorded))


def opened(path: Path) -> Folder:
    return Folder(path)
