"""The paths that a run changed and `files` has no row for: their states before and after are not kept.

In: the surface of a sealed run and the files that are listed. Out: each such path once, under the name that
the surface has for it, what was done to it, and why there is no state. What was done is as in the surface:
written is what was opened to be written. Terminals, sinks, memory, what processes say of themselves and the
run's own intake are no files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from steno.bundle.judged import Files
from steno.evidence import layout
from steno.judge import surface_names
from steno.model.kernel_layer import read_json

INSIDE_GIT = "inside .git"
OTHER_ROOT = "in another root"
LEFT_OUT = "ignored, special, or of another user"
_Names = list[str]


class NotKept(NamedTuple):
    path: str
    did: tuple[str, ...]  # of created, written and deleted
    why: str

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "did": list(self.did), "why": self.why}


class _Files(msgspec.Struct, frozen=True):
    created: _Names = []
    written: _Names = []
    deleted: _Names = []


class _Own(msgspec.Struct, frozen=True):
    files: _Files = _Files()


class _Surface(msgspec.Struct, frozen=True):
    steno: _Own = _Own()


def not_kept(run: Files, run_id: str, files: Iterable[bytes]) -> list[NotKept]:
    """`files` are the paths that `files.json` has."""
    done = read_json(run, layout.SURFACE, _Surface).steno.files
    kept = {surface_names.path_name(path, run_id, other_root=False) for path in files}
    ways = {
        "created": set(done.created) - kept,
        "written": set(done.written) - set(done.created) - kept,
        "deleted": set(done.deleted) - kept,
    }
    return [
        NotKept(path, tuple(did for did, paths in ways.items() if path in paths), _why(path))
        for path in sorted(set().union(*ways.values()))
        if surface_names.is_file(path)
    ]


def _why(path: str) -> str:
    if path.startswith(surface_names.OTHER_ROOT):
        return OTHER_ROOT
    return INSIDE_GIT if ".git" in path.split("/") else LEFT_OUT
