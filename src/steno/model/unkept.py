"""The paths that a run changed and `files` has no row for: their states before and after are not kept.

In: the surface of a sealed run and the files that are listed. Out: each such path once, under the name that
the surface has for it, what was done to it, and why there is no state. What was done is as in the surface:
written is what was opened to be written. Terminals, sinks, memory, what processes say of themselves and the
run's own intake are no files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from steno.judge import surface_names
from steno.judge.types import Surface

INSIDE_GIT = "inside .git"
OTHER_ROOT = "in another root"
LEFT_OUT = "ignored, special, or of another user"


class NotKept(NamedTuple):
    path: str
    did: tuple[str, ...]  # of created, written and deleted
    why: str

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "did": list(self.did), "why": self.why}


def not_kept(surface: Surface, files: Iterable[bytes]) -> list[NotKept]:
    """`files` are the paths that have a state."""
    done = surface.steno.files
    kept = {surface_names.path_name(path, surface.run_id, other_root=False) for path in files}
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
