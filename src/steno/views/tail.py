"""Happenings in words: the lines of `steno tail`, and how it ends."""

from __future__ import annotations

from steno.model.live import CALL, NET, PROCESS, Happening
from steno.model.live.ending import End
from steno.model.runs import RunState
from steno.text import units
from steno.text.safe import cut, visible
from steno.text.style import Paint

_NARROW = 60
_ROLES = {PROCESS: "faint", NET: "warning", CALL: "heading"}


def line(one: Happening, paint: Paint, *, width: int | None) -> str:
    """One line: when, who, what. A narrow terminal leaves out numbers, and who where what says it."""
    seconds = f"{one.at_ns / 1e9:.3f}"
    when = f"{seconds:>9} "
    wide = width is None or width >= _NARROW
    who = "" if one.process is None else f"{one.program or '?'}[{one.process}]" if wide else _short(one)
    times = f"{one.times} times" if one.times > 1 else ""
    words = " ".join(word for word in (who, one.word, one.subject, one.detail, times) if word)
    # An argument list may be megabytes long; only its beginning is worth making visible.
    text = visible(words if width is None else words[: 2 * width])
    if width is not None:
        text = cut(text, max(width - len(when), 1))
    role = "bad" if one.bad else _ROLES.get(one.what)
    return paint("faint", when) + (paint(role, text) if role else text)


def passed_over(count: int, *, before: bool, width: int | None) -> str:
    """`before`: what came before the first line, else what came faster than it can be shown."""
    when = "before" if before else "too fast to be shown"
    says = f"… {units.counted(count, 'thing')} left out that happened {when}; the record has all"
    return says if width is None else cut(says, width)


def _short(one: Happening) -> str:
    return "" if one.word == "started" else one.program or f"[{one.process}]"


def ending(end: End, paint: Paint) -> str:
    """The last line: what became of the run and of its record."""
    if end.state is RunState.UNSEALED:
        says = (
            f"UNSEALED: its recorder is gone; `steno recover {visible(end.run_id)}` seals what was recorded"
        )
        return paint("bad", says)
    if end.state is not RunState.SEALED:
        return paint("bad", "DAMAGED: the record was removed, or cannot be read; `steno verify` says more")
    how = "how it ended is not known" if end.exit_code is None else f"exit {end.exit_code}"
    signal = f" ({visible(end.signal)})" if end.signal else ""
    lasted = "" if end.duration_ns is None else f" after {units.duration(end.duration_ns)}"
    missing = visible(", ".join(end.gaps)) or "something is missing"
    record = (
        paint("good", "sealed, complete") if end.complete else paint("bad", f"sealed, INCOMPLETE: {missing}")
    )
    return f"{record}; {paint('bad', how) if end.exit_code else how}{signal}{lasted}"
