"""Room for a bundle: what the observed command put into its own run's folder, before it is sealed.

In: a run's folder. Out: the same folder with nothing beside the spool. All files of a bundle are made from
the spool, so what has a name of ours is removed, whatever it is: a file of a seal that was killed, or a
directory in our way. What has another name is somebody's: it is never removed; the seal fails and names it.
"""

from __future__ import annotations

from collections.abc import Iterator

from steno.bundle.folder import Folder
from steno.errors import SealError
from steno.evidence import layout

TEMPORARY = ".sealing"
_SHOWN = 5
_FILES = frozenset({layout.MANIFEST, *layout.EVIDENCE_FILES})
_FOLDERS = frozenset(path.rpartition("/")[0] for path in _FILES if "/" in path)


def clear_the_way(run: Folder) -> None:
    if foreign := foreign_entries(run):
        some = ", ".join(map(repr, foreign[:_SHOWN])) + (" \u2026" if len(foreign) > _SHOWN else "")
        raise SealError(
            f"{run.path.name} holds what is not part of a record, so it is not sealed: {some}",
            hint=f"move it out of {run.path}, then `steno recover {run.path.name}`",
        )
    for name in run.names():
        if name != layout.SPOOL:
            run.remove_tree(name)


def foreign_entries(run: Folder) -> list[str]:
    """What is beside the spool and has no name of ours."""
    return [name for name in _below(run, "") if not _is_ours(name)]


def _below(run: Folder, prefix: str) -> Iterator[str]:
    """What is in our folders; one of their names that is no folder is in our way, and none of somebody's."""
    for name in run.names():
        path = prefix + name
        if path == layout.SPOOL:
            continue
        if path not in _FOLDERS:
            yield path
        elif run.has_folder(name):
            with run.sub(name) as below:
                yield from _below(below, f"{path}/")


def _is_ours(path: str) -> bool:
    return path.removesuffix(TEMPORARY) in _FILES
