"""Room for a bundle: what the observed command put into its own run's folder, before it is sealed.

In: a run's folder. Out: the same folder with nothing beside the spool. All files of a bundle are made from
the spool, so what has a name of ours is removed, whatever it is: a file of a seal that was killed, or a
directory in our way. What has another name is somebody's: it is never removed; the seal fails and names it.
"""

from __future__ import annotations

from steno.bundle.folder import Folder
from steno.errors import SealError
from steno.evidence import layout

TEMPORARY = ".sealing"
_SHOWN = 5
_FILES = frozenset(
    {
        layout.MANIFEST,
        *layout.JUDGED_FILES,
        *layout.PRIMARY_FILES,
        *layout.TAPES,
        *map(layout.index_of, layout.TAPES),
    }
)
_FOLDERS = frozenset(path.partition("/")[0] for path in _FILES if "/" in path)


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
    found = []
    for name in run.names():
        if name in _FOLDERS and run.has_folder(name):
            with run.sub(name) as below:
                found += [f"{name}/{inner}" for inner in below.names() if not _is_ours(f"{name}/{inner}")]
        elif name not in {layout.SPOOL, *_FOLDERS} and not _is_ours(name):
            found.append(name)
    return found


def _is_ours(path: str) -> bool:
    return path.removesuffix(TEMPORARY) in _FILES
