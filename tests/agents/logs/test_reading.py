"""All parsers: hostile bytes never stop one, no line is lost, and the session is one that can be used."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.agents.events import Event, SessionStarted
from steno.agents.json_lines import record
from steno.agents.stream import parser, parser_names, read
from steno.errors import BadRequestError
from support.agent_streams import ENDINGS, recorded

# Every word that a parser looks for, as a key or as a value.
WORDS = [
    *("type", "subtype", "item", "part", "state", "message", "content", "error", "errors", "result", "text"),
    *(
        "thread_id",
        "session_id",
        "sessionID",
        "session-id",
        "id",
        "name",
        "input",
        "tool",
        "server",
        "status",
    ),
    *("thread.started", "turn.completed", "turn.failed", "item.started", "item.completed", "agent_message"),
    *(
        "command_execution",
        "mcp_tool_call",
        "exit_code",
        "metadata",
        "exit",
        "arguments",
        "aggregated_output",
    ),
    *("assistant", "user", "system", "tool_use", "tool_result", "tool_use_id", "is_error", "success", "stop"),
    *("role", "delta", "parameters", "tool_id", "output", "severity", "warning", "step_finish", "reason"),
    *("completed", "init", "callID", "data", "parent_tool_use_id"),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, min_size=1, max_size=5)
    ),
    max_leaves=12,
)
TYPES = st.sampled_from(
    [
        *("thread.started", "turn.failed", "item.started", "item.completed", "error", "assistant", "user"),
        *("result", "init", "message", "tool_use", "tool_result", "text", "step_finish"),
    ]
)
RECORDS = st.builds(
    lambda kind, rest: {**rest, "type": kind}, TYPES, st.dictionaries(st.sampled_from(WORDS), VALUES)
)
PIECES = st.sampled_from(
    [
        b"<Execution Info>",
        b"</Execution Info>",
        b'{"session-id":"a"}',
        b"\n",
        b"\r",
        b"{",
        b'"',
        b"\x1b[0m",
        b"\xff",
    ]
)
HOSTILE = st.lists(st.binary(max_size=20) | PIECES, max_size=20).map(b"".join)


def uncovered(data: bytes, stream: str, events: list[Event]) -> bytes:
    """What of the stream is in no event; a newline never is."""
    left = bytearray(data)
    for event in events:
        for span in event.spans:
            if span.stream == stream:
                left[span.byte_from : span.byte_to] = b"\n" * (span.byte_to - span.byte_from)
    return bytes(left).strip()


@given(stdout=HOSTILE, stderr=HOSTILE)
def test_hostile_bytes_lose_nothing_and_stop_nobody(stdout: bytes, stderr: bytes) -> None:
    for name in parser_names():
        events = read(name, stdout, stderr)
        assert not uncovered(stdout, "stdout", events)
        assert not uncovered(stderr, "stderr", events)


@given(records=st.lists(RECORDS, max_size=4))
def test_records_of_any_form_lose_nothing_and_stop_nobody(records: list[dict[str, Any]]) -> None:
    stdout = "\n".join(map(json.dumps, records)).encode()
    for name in parser_names():
        assert not uncovered(stdout, "stdout", read(name, stdout, b""))


def broken(value: Any) -> Iterator[Any]:
    """The value with each of its parts replaced, in turn, by what nobody expects there."""
    yield from (None, True, 7, "x", [], [[]], {})
    parts: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = list(enumerate(value[:2]))
    for key, part in parts:
        whole = value.copy()
        for wrong in broken(part):
            whole[key] = wrong
            yield whole


@pytest.mark.parametrize("name", ENDINGS)
def test_a_recorded_record_with_any_part_replaced_stops_nobody(name: str) -> None:
    attempt = recorded(name)
    for line in set(attempt.stdout.splitlines()):
        for wrong in broken(record(line)):
            stdout = json.dumps(wrong).encode()
            assert not uncovered(stdout, "stdout", read(attempt.stream, stdout, b""))


@pytest.mark.parametrize("name", ENDINGS)
def test_every_byte_of_a_recorded_stream_is_in_an_event(name: str) -> None:
    attempt = recorded(name)
    assert not uncovered(attempt.stdout, "stdout", attempt.events)
    assert not uncovered(attempt.stderr, "stderr", attempt.events)


@pytest.mark.parametrize("name", ENDINGS)
def test_a_stream_that_is_torn_anywhere_is_read_up_to_there(name: str) -> None:
    attempt = recorded(name)
    for end in range(0, len(attempt.stdout), 97):
        torn = read(attempt.stream, attempt.stdout[:end], b"")
        assert not uncovered(attempt.stdout[:end], "stdout", torn)


def test_a_session_that_is_named_in_every_record_is_told_once() -> None:
    for name in ("claude-success", "opencode-success"):
        told = [event for event in recorded(name).events if isinstance(event, SessionStarted)]
        assert len(told) == 1


def test_a_parser_that_does_not_exist_is_said_with_those_that_do() -> None:
    with pytest.raises(BadRequestError) as raised:
        parser("cursor")
    assert "codex" in raised.value.hint
