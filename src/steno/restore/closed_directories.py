"""Directories that the run closed to their own user, open for as long as somebody has to look into them.

In: the records and who asks. Out: a context. Only a directory that is as the run left it is opened, from the
outermost to the innermost; what nobody has put back by the end is closed again. Root needs none of it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from steno.restore.judging import OWNER_MAY_ALL, User
from steno.restore.looking import ObstacleError, open_node, open_parent
from steno.restore.states import FileRecord, Kind


class OpenedDirectories:
    """`put_back` are the paths whose modes were given back meanwhile."""

    def __init__(self) -> None:
        self.put_back: Container[bytes] = ()


@contextmanager
def opened(records: Iterable[FileRecord], user: User) -> Iterator[OpenedDirectories]:
    directories = OpenedDirectories()
    closed = () if user.is_root else sorted(one.path for one in records if _is_closed(one))
    modes = {one.path: one.after.mode for one in records}
    with ExitStack() as stack:
        for path in closed:
            try:
                with open_parent(path) as (parent, name):
                    node = stack.enter_context(open_node(parent, name))
            except (OSError, ObstacleError):
                continue
            found = os.fstat(node)
            as_left = stat.S_ISDIR(found.st_mode) and stat.S_IMODE(found.st_mode) == modes[path]
            if as_left and found.st_uid == user.uid:
                _set_mode(node, modes[path] | OWNER_MAY_ALL)
                stack.callback(_close_again, directories, path, node, modes[path])
        yield directories


def _is_closed(record: FileRecord) -> bool:
    return record.after.kind is Kind.DIRECTORY and record.after.mode & OWNER_MAY_ALL != OWNER_MAY_ALL


def _close_again(directories: OpenedDirectories, path: bytes, node: int, mode: int) -> None:
    if path not in directories.put_back and stat.S_IMODE(os.fstat(node).st_mode) == mode | OWNER_MAY_ALL:
        _set_mode(node, mode)


def _set_mode(node: int, mode: int) -> None:
    Path(f"/proc/self/fd/{node}").chmod(mode)
