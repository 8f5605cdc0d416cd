"""The processes of steno-trace behind a recorder that runs."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def observer_processes(recorder: int) -> list[int]:
    found = []
    for one in _descendants(recorder):
        try:
            if Path(f"/proc/{one}/comm").read_text() == "steno-trace\n":
                found.append(one)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17  # of ptrace(2)
WAIT_FOR_THREADS = 0x40000000  # __WALL of waitpid(2)


@contextmanager
def held_still(recorder: int) -> Iterator[None]:
    """Nobody observes anything meanwhile, as on a machine with no time for it.

    Held as a debugger holds them: what a signal stops is continued by the recorder.
    """
    observing = observer_processes(recorder)
    threads = [int(one.name) for pid in observing for one in Path(f"/proc/{pid}/task").iterdir()]
    assert threads
    for one in threads:
        _trace(SEIZE, one)
        _trace(INTERRUPT, one)
        os.waitpid(one, WAIT_FOR_THREADS)
    try:
        yield
    finally:
        for one in threads:
            _trace(DETACH, one)


def _trace(request: int, thread: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(request, thread, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


# /dev/ptmx, whose opener is no slave, is /dev/pts/ptmx in many containers.
_SLAVE = re.compile(r"/dev/pts/\d+")


def hold_a_terminal(recorder: int) -> bool:
    """Whether they still tell who writes on the terminal of the command."""
    return any(_SLAVE.fullmatch(place) for one in observer_processes(recorder) for place in _places_held(one))


def _places_held(pid: int) -> list[str]:
    found = []
    with suppress(FileNotFoundError, ProcessLookupError):  # a file is closed, or it has ended
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                found.append(str(descriptor.readlink()))
    return found


def _descendants(pid: int) -> list[int]:
    try:
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [*children, *[one for child in children for one in _descendants(child)]]
