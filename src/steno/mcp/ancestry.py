"""The run that we are part of, found through the processes that we descend from.

In: our environment, and theirs in /proc. Out: the `Intake` of the nearest one that has one, or None. Many
clients start a server with a handful of variables only (PATH, HOME and the like), so what the recorder told
the agent does not reach us the usual way, and a decision that nobody hears of would be missing from the
record. Never keeps more than three names of another environment.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from steno.capture.telling import Intake
from steno.evidence import intake

MAX_ANCESTORS = 256
_NAMES = (intake.RUN_ID, intake.FOLDER, intake.ORIGIN_NS)
_PARENT = 1  # of the fields behind the name of the program


def find_run(environ: Mapping[str, str]) -> Intake | None:
    found = Intake.of(environ)
    if found is None:
        found = next((run for pid in _ancestors() if (run := Intake.of(_told_to(pid)))), None)
    return found


def _ancestors() -> Iterator[int]:
    pid = os.getppid()
    for _ in range(MAX_ANCESTORS):
        if pid <= 1:
            return
        yield pid
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[_PARENT])
        except OSError:  # it ended meanwhile
            return


def _told_to(pid: int) -> dict[str, str]:
    try:
        block = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # of another user
        return {}
    pairs = (os.fsdecode(entry).partition("=") for entry in block.split(b"\0"))
    return {name: value for name, _, value in pairs if name in _NAMES}
