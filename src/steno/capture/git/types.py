"""The facts a git snapshot is made of.

Paths are text with surrogate escapes, so that `os.fsencode` gives the exact bytes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


EMPTY_TREE = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}


class Skip(msgspec.Struct, frozen=True):
    """Why there is no snapshot: `reason` is a code, `detail` is for a person."""

    reason: str
    detail: str


class SnapshotFailedError(Exception):
    """Carries a `Skip` up to the surface of this room; never leaves it."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.skip = Skip(reason, detail)


class Omitted(msgspec.Struct, frozen=True):
    """A file whose content is in no tree. `identity` tells whether it changed; None: it is absent."""

    path: str
    size: int
    reason: str
    identity: tuple[int, ...] | None = None


class Change(msgspec.Struct, frozen=True):
    """One path that differs. `added` and `deleted` count lines; both are None for a binary file."""

    path: str
    status: str
    added: int | None
    deleted: int | None
    binary: bool
    withheld: bool = False


class RepositoryPaths(msgspec.Struct, frozen=True):
    """Where a repository lives: its work tree, its git directory, and the directory it shares."""

    root: Path
    git_dir: Path
    common_dir: Path


class Settings(msgspec.Struct, frozen=True):
    """What the shadow needs to know of a repository's configuration; frozen before the run."""

    object_format: str
    ref_storage: str
    carried: Mapping[str, str]
    excludes_file: str | None
    attributes_file: str | None
    work_tree: str | None
    bare: bool


class Part(msgspec.Struct, frozen=True):
    """The state of one repository: the outermost one (`prefix` empty) or one nested inside it."""

    prefix: bytes
    object_format: str
    tree: str
    head: str | None
    branch: str | None
    status: bytes
    omitted: tuple[Omitted, ...] = ()
    notes: tuple[str, ...] = ()
    failure: Skip | None = None


class Snapshot(msgspec.Struct, frozen=True):
    """The state of a work tree: what git says of it, and a tree that holds all of it."""

    root: str
    head: str | None
    branch: str | None
    status: bytes
    status_summary: dict[str, int]
    tree: str
    omitted: tuple[Omitted, ...]
    notes: tuple[str, ...]
    embedded: tuple[str, ...]
    parts: tuple[Part, ...]


class Comparison(msgspec.Struct, frozen=True):
    """What differs between two states. `unpatched` differs too, but its content is not in the patch."""

    changes: tuple[Change, ...]
    withheld: tuple[str, ...]
    unpatched: tuple[Omitted, ...]
    failure: Skip | None = None
