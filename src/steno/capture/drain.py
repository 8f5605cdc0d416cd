"""The drain: goes on passing output of processes that outlive the command, when the recorder has gone.

In: pairs of a pipe that others still hold and the place it leads to. Out: a process of its own that moves
bytes until the pipes end. Bare, a process left behind would hold the user's file itself; behind our pipe it
would be killed by its next write. What the drain moves is not recorded, and the record says so.
"""

from __future__ import annotations

import os
import select
from collections.abc import Sequence

from steno.capture.keeper import close_all_but

_READ_SIZE = 65536

Way = tuple[int, int]


def leave_a_drain(ways: Sequence[Way]) -> None:
    """Fork twice, so that nobody has to wait for it. Other threads may run: it only calls the kernel."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    try:
        os.setsid()
        if os.fork() == 0:
            _drain(dict(ways))
    finally:
        os._exit(0)


def _drain(ways: dict[int, int]) -> None:
    close_all_but(*ways, *ways.values())
    poller = select.poll()
    for source in ways:
        poller.register(source, select.POLLIN)
    while ways:
        for source, _ in poller.poll():
            if not _move(source, ways[source]):
                poller.unregister(source)
                os.close(source)
                del ways[source]


def _move(source: int, sink: int) -> bool:
    try:
        data = os.read(source, _READ_SIZE)
        view = memoryview(data)
        while view:
            view = view[os.write(sink, view) :]
    except OSError:
        return False
    return bool(data)
