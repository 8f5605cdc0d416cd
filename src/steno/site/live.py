"""A run as it happens, for a browser: two streams of server-sent events."""

from __future__ import annotations

import time
from codecs import getincrementaldecoder
from collections.abc import Iterator
from threading import Event
from typing import Any

import msgspec

from steno.model.live.following import Step
from steno.model.live.listening import Listening
from steno.model.run import Run
from steno.text.safe import utf8

PAUSE = 0.2
MOST_BEFORE = 500
MOST_AT_ONCE = 500
_WORD_EVERY = 5.0
_STILL_HERE = b": still here\n\n"
_COLS, _ROWS = 80, 24
_PTY = "pty"


def happenings(run: Run, closing: Event) -> Iterator[bytes]:
    with run.follow() as run_now:
        step = run_now.look(MOST_BEFORE)
        yield _event(_told(step, before=True), "step")
        pulse = _Pulse(closing)
        while step.ended is None and pulse.beats():
            step = run_now.look(MOST_AT_ONCE)
            if step.happenings or step.passed_over:
                yield pulse.spoken(_event(_told(step, before=False), "step"))
            elif pulse.is_quiet:
                yield pulse.spoken(_STILL_HERE)
        if step.ended is not None:
            yield _event(run.ending(step.ended).to_json(), "end")


def terminal(listening: Listening, closing: Event) -> Iterator[bytes]:
    """The live format of the player: a size, then [seconds, "o", text]."""
    yield _event(_size(listening))
    decode = getincrementaldecoder("utf-8")("replace").decode
    pulse = _Pulse(closing)
    while True:
        sound = listening.look()
        for one in sound.heard:
            yield pulse.spoken(_event([one.mono_ns / 1e9, "o", _shown(decode(one.data), listening)]))
        if sound.ended is not None or not pulse.beats():
            break
        if pulse.is_quiet:
            yield pulse.spoken(_STILL_HERE)
    yield _event({}, "done")


def _size(listening: Listening) -> dict[str, int]:
    shown = listening.terminal
    cols, rows = (shown.cols, shown.rows) if shown else (None, None)
    return {"cols": cols or _COLS, "rows": rows or _ROWS, "time": 0}


def _shown(text: str, listening: Listening) -> str:
    """What went into a pipe has bare line ends; a terminal would have added the rest."""
    on_terminal = listening.terminal is not None and listening.terminal.kind == _PTY
    return text if on_terminal else text.replace("\n", "\r\n")


class _Pulse:
    """The pace of a stream."""

    def __init__(self, closing: Event) -> None:
        self._closing = closing
        self._spoke = time.monotonic()

    def beats(self) -> bool:
        """Wait for the next look; False when there is none."""
        return not self._closing.wait(PAUSE)

    @property
    def is_quiet(self) -> bool:
        return time.monotonic() - self._spoke > _WORD_EVERY

    def spoken(self, block: bytes) -> bytes:
        self._spoke = time.monotonic()
        return block


def _told(step: Step, *, before: bool) -> dict[str, Any]:
    return {
        "happenings": [one.to_json() for one in step.happenings],
        "passed_over": step.passed_over,
        "before": before,
    }


def _event(value: Any, name: str | None = None) -> bytes:
    """JSON has no line breaks of its own. Without a name it is a message."""
    head = b"" if name is None else b"event: %s\n" % name.encode()
    return b"%sdata: %s\n\n" % (head, msgspec.json.encode(utf8(value)))
