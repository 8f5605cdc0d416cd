"""Terminal signals: how an agent's own stream shows that a turn is over.

In: the signals of an agent's description, and lines of its logs. Out: what the line means, if it means
something. A `json` signal is a line that is an object whose fields are as `match` says and not as `unless`
says, or an object over several lines that the agent's parser takes for a document; a `text` signal is a line
that contains these words. Where one line means both, it failed. Judgement and translation both ask here, so
they cannot disagree.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Literal

from msgspec import Struct, field

from steno.agents.streams.lines import Record, at

Log = Literal["pty", "stdout", "stderr"]
Meaning = Literal["end_of_turn", "failed"]
Values = dict[str, str | list[str]]  # of fields, by dotted names: a value, or several of which one is enough


ESCAPED = rb"\u"  # with it JSON can spell a letter in another way
_BARE = ("true", "false")
_ANY = "*"  # the field is there, whatever it holds
# What JSON can otherwise spell in one way only: a number has many spellings.
_SPELLED_ONCE = re.compile(r"[\w .-]*[a-df-zA-DF-Z][\w .-]*", re.ASCII)


class TerminalSignal(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A line by which the agent's stream tells that a turn is over."""

    stream: Log
    kind: Literal["json", "text"]
    match: Values | str
    means: Meaning
    unless: Values = field(default_factory=dict)

    def __post_init__(self) -> None:
        wanted = dict if self.kind == "json" else str
        if not isinstance(self.match, wanted) or not self.match:
            told = "a table of fields" if self.kind == "json" else "the words of a line"
            raise ValueError(f"the match of a {self.kind} signal is {told}")
        if self.kind == "text" and self.unless:
            raise ValueError("a text signal has no fields, so it has no unless")


class TerminalSignals:
    """The signals of one log."""

    def __init__(self, signals: Iterable[TerminalSignal], log: Log) -> None:
        # The failed ones first: they win.
        self._signals = sorted(
            (signal for signal in signals if signal.stream == log),
            key=lambda signal: signal.means != "failed",
        )

    def meaning(self, text: bytes, record: Record | None) -> Meaning | None:
        """Of a line, and of the object that it is if it is one."""
        return next((signal.means for signal in self._signals if _holds(signal, text, record)), None)

    def words(self) -> list[bytes] | None:
        """One of them is in every line that means something; None when there are no such words."""
        found: set[bytes] = set()
        for signal in self._signals:
            words = [signal.match.encode()] if isinstance(signal.match, str) else _spelled(signal.match)
            if not words:
                return None
            found.update(words)
        return sorted(found)


def _holds(signal: TerminalSignal, text: bytes, record: Record | None) -> bool:
    if isinstance(signal.match, str):
        return signal.match.encode() in text
    if record is None:
        return False
    return all(_is(record, path, wanted) for path, wanted in signal.match.items()) and not any(
        _is(record, path, unwanted) for path, unwanted in signal.unless.items()
    )


def _spelled(match: Values) -> list[bytes]:
    """How one of the fields is spelled in every record that has it; nothing when there are many ways."""
    for wanted in match.values():
        values = [wanted] if isinstance(wanted, str) else wanted
        if all(map(_SPELLED_ONCE.fullmatch, values)):
            return [
                ESCAPED,
                *(value.encode() if value in _BARE else b'"%s"' % value.encode() for value in values),
            ]
    return []


def _is(record: Record, path: str, wanted: str | list[str]) -> bool:
    found = at(record, *path.split("."))
    if wanted == _ANY:
        return found is not None
    return _written(found) in ([wanted] if isinstance(wanted, str) else wanted)


def _written(value: Any) -> str | None:
    """A string is compared as such, anything else as JSON has it: `true`, `3`. What is not there is None."""
    if value is None or isinstance(value, dict | list):
        return None
    return value if isinstance(value, str) else json.dumps(value)
