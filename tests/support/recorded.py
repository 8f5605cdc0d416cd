"""Looking at what a test has recorded: the newest run of a store, its events, its streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from steno.bundle.folder import Folder
from steno.bundle.reader import FolderLayers
from steno.bundle.verify import Status, Verdict, verify
from steno.evidence import layout
from steno.judge.claims import Claims, claims_of
from support.documents import of_folder


class Recorded:
    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.path / layout.EVENTS).read_bytes().splitlines()]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    def event(self, kind: str) -> dict[str, Any]:
        (found,) = [event["data"] for event in self.events if event["type"] == kind]
        assert isinstance(found, dict)
        return found

    def judged(self, name: str) -> bytes:
        """What is concluded from the record, by its name in `layout`."""
        with Folder(self.path) as folder:
            return b"".join(of_folder(folder).read(name))

    def json(self, name: str) -> Any:
        """The same as data, or a file of the record itself."""
        if name in layout.JUDGED_FILES:
            return json.loads(self.judged(name))
        return json.loads((self.path / name).read_bytes())

    def evidence(self, path: str) -> bytes:
        """A file of the evidence; one in which there is nothing may be left out."""
        with Folder(self.path) as folder:
            return b"".join(FolderLayers(folder, self.path.name).read(path))

    @property
    def decided(self) -> list[dict[str, Any]]:
        """What policy decided, a call each."""
        return [msgspec.to_builtins(line) for line in self._claims().policy]

    @property
    def said(self) -> list[dict[str, Any]]:
        """What an agent said of itself."""
        return [msgspec.to_builtins(line) for line in self._claims().sdk]

    def _claims(self) -> Claims:
        with Folder(self.path) as folder:
            return claims_of(FolderLayers(folder, self.path.name))

    def stream(self, name: str) -> bytes:
        return self.evidence(f"{layout.EVIDENCE}/terminal/{name}")

    def verdict(self) -> Verdict:
        with Folder(self.path) as folder:
            return verify(folder)

    @property
    def is_valid(self) -> bool:
        return self.verdict().status == Status.VALID


def runs(store: Path) -> list[Recorded]:
    """The runs so far, oldest first."""
    if not store.exists():
        return []
    return [Recorded(path) for path in sorted(store.iterdir()) if path.is_dir() and path.name[0] != "."]


def spooled(store: Path) -> bytes:
    """The events so far of the runs that are being recorded."""
    return b"".join(
        path.read_bytes() for run in runs(store) for path in run.path.glob(f"{layout.SPOOL}/{layout.EVENTS}")
    )


def only_run(store: Path) -> Recorded:
    (run,) = runs(store)
    return run
