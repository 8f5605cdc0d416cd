"""Input from elsewhere than a terminal, held back until script(1) is there to take it.

In: our stdin. Out: another stdin in its place, to which a small relay passes everything on once the gate is
opened. The recorder writes input to its terminal at once, and the end of it as Control-D. As long as script
has not made that terminal raw, the terminal echoes input that script's own will echo again, and a Control-D
becomes a NUL when it does: then `^@` is shown that nobody wrote, and the agent waits for an end that was
there. A stdin that is a terminal or is closed is left alone.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack
from types import TracebackType
from typing import Self

_STDIN = 0
_RELAY = 'read _ <"$1"; exec cat'


class HeldInput:
    def __init__(self) -> None:
        self._held = ExitStack()
        self.opening = ""  # words of a shell that open the gate; none when nothing is held

    def __enter__(self) -> Self:
        with ExitStack() as made:
            if _comes_from_elsewhere():
                self._hold(made)
            self._held = made.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._held.close()

    def _hold(self, made: ExitStack) -> None:
        gate, opened = _pipe(made)
        read, write = os.pipe()
        try:
            relay = subprocess.Popen(
                ["/bin/sh", "-c", _RELAY, "sh", _path(gate)],
                stdout=write,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Control-C is for the agent
            )
            made.callback(_end, relay)
            made.callback(_put_back, os.dup(_STDIN))
            os.dup2(read, _STDIN)
        finally:
            os.close(read)
            os.close(write)  # the relay alone has it: when that ends, so does the input
        self.opening = f"echo >{_path(opened)}; "


def _comes_from_elsewhere() -> bool:
    try:
        os.fstat(_STDIN)
    except OSError:
        return False
    return not os.isatty(_STDIN)


def _pipe(made: ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        made.callback(os.close, end)
    return ends


def _path(fd: int) -> str:
    """For other processes: they open it by its name."""
    return f"/proc/{os.getpid()}/fd/{fd}"


def _end(relay: subprocess.Popen[bytes]) -> None:
    relay.kill()
    relay.wait()


def _put_back(saved: int) -> None:
    os.dup2(saved, _STDIN)
    os.close(saved)
