"""What an agent's output tells, in one small set of words for all agents.

Each event carries the byte ranges of the audit files that it comes from. `Other` is a line that tells none of
these: with a `kind` it is a record of the agent's own, without one it is no record at all, only output.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Stream = Literal["stdout", "stderr"]


class Span(Struct, frozen=True):
    """The bytes from `byte_from` to before `byte_to` of the audit file of a stream."""

    stream: Stream
    byte_from: int
    byte_to: int


class Event(Struct, frozen=True, tag_field="type"):
    spans: tuple[Span, ...]


class SessionStarted(Event, frozen=True, tag="session_started"):
    session: str


class AssistantText(Event, frozen=True, tag="assistant_text"):
    text: str


class ToolCall(Event, frozen=True, tag="tool_call"):
    id: str
    name: str
    input: Any


class ToolResult(Event, frozen=True, tag="tool_result"):
    id: str
    ok: bool
    text: str


class TurnEnded(Event, frozen=True, tag="turn_ended"):
    ok: bool
    reason: str


class Failed(Event, frozen=True, tag="failed"):
    """The agent says that something went wrong; whether its turn goes on is said by `TurnEnded`."""

    reason: str


class Warned(Event, frozen=True, tag="warned"):
    """Likewise, of something that does not stop it."""

    reason: str


class Other(Event, frozen=True, tag="other"):
    raw: str
    cut: bool = False  # there is more of the line than `raw` holds
    kind: str | None = None
