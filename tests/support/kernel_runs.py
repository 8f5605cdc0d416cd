"""Runs whose frames are made by hand and whose files are real: what the kernel layer makes of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from steno.bundle import blobs
from steno.bundle.folder import Folder
from steno.bundle.keys import make_or_read_key
from steno.bundle.reader import FolderLayers
from steno.evidence import canonical, layout
from steno.evidence.ignore_rules import IgnoreRules
from steno.record.kernel import KernelKept, keep_kernel_layer
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from support.documents import files
from support.frames_made import ABSENT, FakeFrames, Found
from support.looks import state_of

MAX_BLOB = 1 << 20
READ, WRITE = os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC
SECRET = b"value-of-this-run"


class Run:
    """A store, a run's spool, and a directory that the command worked in."""

    def __init__(self, directory: Path) -> None:
        self.store = directory / "store"
        self.spool = self.store / "run" / "spool"
        self.spool.mkdir(parents=True)
        self.work = directory / "work"
        self.work.mkdir()
        with Folder(self.store) as folder:
            self.key = make_or_read_key(folder)
        self.frames = FakeFrames(key=self.key).process()
        self.findings = Findings()
        self.rules = IgnoreRules(())

    def found(self, path: Path | bytes, **kept: Any) -> Any:
        state = state_of(path)
        if state is None:
            return ABSENT
        target = os.readlink(os.fsencode(path)) if os.path.islink(path) else b""  # noqa: PTH114, PTH115 - bytes
        fields = {**state._asdict(), "content": "not_kept", "target": target, **kept}
        return Found(**fields)

    def saw(self, op: str, path: Path | bytes, **more: Any) -> None:
        """The command did something to a path, which is as it was before."""
        name = path if isinstance(path, bytes) else os.fsencode(path)
        self.frames.event(op, name, **{"state": self.found(path), **more})

    def keep(self, *, looked: bool = True, write: bool = True, key: bytes | None = None) -> KernelKept:
        if write:
            self.frames.write(self.spool)
        with Folder(self.spool) as spool:
            redactor = Redactor(findings=self.findings, literals=[SECRET])
            return keep_kernel_layer(
                spool,
                self.store,
                redactor,
                self.findings,
                self.rules,
                max_blob=MAX_BLOB,
                looked=looked,
                key=key,
            )

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.spool / layout.FILE_LINES).read_bytes().splitlines()]

    def line(self, path: Path) -> dict[str, Any]:
        (found,) = [line for line in self.lines() if line.get("path") == str(path)]
        return found

    def judged(self, path: Path) -> dict[str, Any]:
        """What is concluded of a path from what was kept."""
        with Folder(self.spool) as folder:
            value: Any = canonical.decode(b"".join(files(FolderLayers(folder, "run"))))
        (found,) = [file for file in value["files"] if file["path"] == str(path)]
        assert isinstance(found, dict)
        return found

    def blobs(self) -> dict[str, bytes | None]:
        with Folder(self.spool) as folder, blobs.open_blobs(folder) as opened:
            return dict(opened.contents([self.key]))
