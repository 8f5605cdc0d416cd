"""The end of a command whose observer is late: its last words are waited for while nobody else is left."""

from __future__ import annotations

import os
import select
import struct
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from steno.capture import loop
from steno.capture.cgroup import DescendantWait
from steno.capture.launcher import ChildStatus, Descriptors, EventKind
from steno.capture.streams import Wiring
from steno.evidence import layout

WORDS = struct.pack("<QBI", 7, 1, 5) + b"late\n"


class EndedKeeper:
    """Of a command that has just ended; what else a launcher does is not asked of it."""

    def __init__(self) -> None:
        self.status, end = os.pipe()
        os.close(end)
        self._left = [[ChildStatus(EventKind.ENDED, 0)]]

    def read_records(self) -> Iterator[ChildStatus]:
        return iter(self._left.pop() if self._left else [])

    def keep_going(self) -> None:
        """It has ended."""


class Left:
    """Processes of the run that are left: always, or never."""

    def __init__(self, populated: bool) -> None:
        self._populated = populated
        self.changes = (os.open("/dev/null", os.O_RDONLY), select.POLLPRI)

    def populated(self) -> bool:
        return self._populated


@pytest.mark.parametrize("somebody_is_left", [False, True])
def test_a_late_observer_is_waited_for_unless_somebody_is_left_who_may_hold_the_terminal(
    somebody_is_left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "GRACE_SECONDS", -1.0)
    told, observer = os.pipe()
    os.set_blocking(told, False)
    wiring = Wiring(Descriptors(None, None, None), None, None, [], [], "closed", "split", [], told)
    recorder = Mock()

    def speak_at_last() -> None:
        os.write(observer, WORDS)
        os.close(observer)

    recorder.idle.side_effect = speak_at_last
    launcher: Any = EndedKeeper()
    loop.Loop(launcher, wiring, recorder, DescendantWait(Left(somebody_is_left), 0.0)).run()
    assert [call.args for call in recorder.told.call_args_list] == (
        [] if somebody_is_left else [(layout.STDOUT, 7, b"late\n")]
    )
    os.close(launcher.status)
