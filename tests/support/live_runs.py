"""A run that is going on, made by hand: a spool whose recorder is this test, with frames and an intake."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steno.bundle.folder import Folder
from steno.bundle.keys import KnownSecrets, make_or_read_key
from steno.bundle.seal import Sweeper, seal
from steno.bundle.spool import Spool
from steno.evidence import kinds, layout
from steno.evidence.intake_names import FOLDER_PREFIX
from support.frames_made import FakeFrames
from support.spools import RUN_ID, open_spool, start

SECRET = b"correct-horse-battery"  # only the recorder knows that it is one


class LiveRun:
    def __init__(self, directory: Path, *, observer: str = "notify", **started: Any) -> None:
        self.store = directory / "runs"
        self.store.mkdir(mode=0o700)
        self.path = self.store / RUN_ID
        self.intake = directory / f"{FOLDER_PREFIX}{RUN_ID}"
        self.intake.mkdir(mode=0o700)
        self.spool: Spool = open_spool(self.path)
        given = {"observer": observer, "intake": "memory", "scratch": [str(self.intake)], **started}
        self.spool.event(start(**given))
        with Folder(self.store) as store:
            self.key = make_or_read_key(store)
        self.frames = FakeFrames(key=self.key).header(closed=0).process().exec("/bin/sh", ["sh"], result=0)
        if observer != "none":
            self.frames.write(self.path / layout.SPOOL)
            with Folder(self.path / layout.SPOOL) as spool:
                KnownSecrets(spool, self.key, [SECRET]).close()

    def event(self, data: kinds.EventData) -> None:
        self.spool.event(data)

    def saw(self, op: str, path: bytes | str = b"", **more: Any) -> None:
        """The helper writes into files that are held open elsewhere."""
        self.frames.event(op, path, **{"result": 0, **more})
        self.write_frames()

    def write_frames(self, **header: Any) -> None:
        self.frames.header(**header)
        for name, data in self.frames.files().items():
            with (self.path / layout.SPOOL / "kernel" / name).open("r+b") as file:
                file.write(data)

    def told(self, log: str, *lines: bytes) -> None:
        with (self.intake / log).open("ab") as file:
            file.writelines(lines)

    def let_go(self) -> None:
        """The recorder is gone, and has not sealed."""
        self.spool.close()

    @contextmanager
    def outlived(self) -> Iterator[None]:
        """The recorder is gone, and the observer of the kernel holds the lock that it inherited."""
        inherited = os.dup(self.spool.lock)
        self.spool.close()
        try:
            yield
        finally:
            os.close(inherited)

    def finish(self) -> None:
        self.event(kinds.CommandFinished(exit_code=0))
        self.event(kinds.RunFinish(exit_code=0, completed=True))
        self.spool.close()
        with Folder(self.path) as run:
            seal(run, RUN_ID, Sweeper())
