"""The process of an agent whose recorder was killed, so that somebody can end it.

In: what the register has of an attempt. Out: the number and the words of its process, or nothing. The
recording tells the number; that it is still the same process is told by its environment, which names the
recording. Never signals anything.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

from steno.agents.register import Entry
from steno.bundle.folder import Folder
from steno.bundle.reader import event_lines
from steno.evidence import kinds, layout
from steno.evidence.intake_names import RUN_ID

_MOST_LETTERS = 120


class AgentProcess(NamedTuple):
    pid: int
    command: str

    @property
    def told(self) -> str:
        return f"Steno was killed and its agent goes on: end it with `kill {self.pid}` ({self.command})"


def agent_process(entry: Entry) -> AgentProcess | None:
    if entry.store is None or entry.record is None:
        return None
    try:
        with Folder(Path(entry.store, entry.record, layout.SPOOL)) as spool:
            pid = _told_pid(spool)
        if pid is None:
            return None
        process = Path("/proc", str(pid))
        if f"{RUN_ID}={entry.record}".encode() not in (process / "environ").read_bytes().split(b"\0"):
            return None
        words = (process / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except (OSError, ValueError):
        return None
    command = shlex.join(word.decode(errors="replace") for word in words)
    return AgentProcess(pid, command if len(command) <= _MOST_LETTERS else f"{command[:_MOST_LETTERS]}…")


def _told_pid(spool: Folder) -> int | None:
    for line in event_lines(spool):
        data = kinds.parse_line(line).data
        if isinstance(data, kinds.CommandStarted):
            return data.pid
    return None
