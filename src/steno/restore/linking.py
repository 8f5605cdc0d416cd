"""Names that were one file before the run, and are to be one again.

In: what is to be written, the names that files had, a tree to look at. Out: for each name what it can be
linked to instead of being written as a file of its own: another name that still is that file and is as it
was, or the first of them that is written. Never changes anything.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from steno.restore.looking import Sight
from steno.restore.states import HardLink, Kind, State
from steno.restore.tasks import Task, differs


def links_to_make(
    written: Sequence[Task],
    hard_links: Mapping[bytes, HardLink],
    look: Callable[[bytes], Sight],
    mended: Collection[bytes],
) -> dict[bytes, bytes]:
    """By name what it is to be linked to. `mended` are names whose content is right, and whose mode, owner
    and time will be."""
    names: dict[tuple[int, int], list[bytes]] = {}
    for name, one in hard_links.items():
        names.setdefault(one.node, []).append(name)
    first: dict[tuple[int, int], list[Task]] = {}
    found: dict[bytes, bytes] = {}
    to_write = {task.path for task in written}
    for task in written:
        link = hard_link_of(task, hard_links)
        if link is None:
            continue
        others = sorted(name for name in names[link.node] if name not in to_write)
        sources = [name for name in others if _is_it(look(name), link, task.target, mended=name in mended)]
        sources += [one.path for one in first.get(link.node, ()) if not differs(one.target, task.target)]
        if sources:
            found[task.path] = sources[0]
        else:
            first.setdefault(link.node, []).append(task)
    return found


def hard_link_of(task: Task, hard_links: Mapping[bytes, HardLink]) -> HardLink | None:
    """Below a directory that was renamed, the run may have met it under another name only."""
    if task.target.kind is not Kind.FILE:
        return None
    if task.path in hard_links:
        return hard_links[task.path]
    found = {hard_links[name] for name in task.names if name in hard_links}
    return found.pop() if len(found) == 1 else None


def _is_it(now: Sight, link: HardLink, target: State, *, mended: bool) -> bool:
    if (now.device, now.inode) != link.node or now.state.kind is not Kind.FILE:
        return False
    return mended or not differs(now.state, target)
