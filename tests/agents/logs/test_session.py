"""The session of an attempt: found in a stream of any length, and only one that can be used."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator

import pytest

from steno.agents.events import SessionStarted
from steno.agents.json_lines import MAX_RECORD
from steno.agents.stream import Session, session_of
from support.agent_streams import ENDINGS, recorded


def in_pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize(
    ("name", "field", "source"),
    [
        ("codex-success", "thread_id", "stdout"),
        ("claude-success", "session_id", "stdout"),
        ("gemini-success", "session_id", "stdout"),
        ("opencode-success", "sessionID", "stdout"),
        ("iflow-success", "session-id", "stderr"),
    ],
)
def test_the_session_of_each_agent_is_found_with_its_field_and_source(
    name: str, field: str, source: str
) -> None:
    attempt = recorded(name)
    found = session_of(attempt.stream, [attempt.stdout], [attempt.stderr])
    assert (found.field, found.source) == (field, source)
    assert found.value
    assert found.value.encode() in attempt.stdout + attempt.stderr


def test_the_last_session_is_the_one_to_continue() -> None:
    stdout = b'{"type":"thread.started","thread_id":"a"}\n{"type":"thread.started","thread_id":"b"}\n'
    assert session_of("codex", [stdout], []) == Session("thread_id", "b", "stdout")


@pytest.mark.parametrize("value", ["", "--yolo", "-x", "../a", "a b", "a\nb", "a/b", "é", "x" * 257, "$(a)"])
def test_a_session_that_a_command_line_would_take_for_something_else_is_none(value: str) -> None:
    stdout = json.dumps({"type": "thread.started", "thread_id": value}).encode()
    assert session_of("codex", [stdout], []) == Session()


def test_an_agent_without_a_parser_of_its_own_can_name_the_field_of_its_session() -> None:
    stderr = b'noise\n{"run":{"session":"s-1"}}\n'
    assert session_of("plain", [], [stderr], field="run.session") == Session("run.session", "s-1", "stderr")
    assert session_of("plain", [], [stderr]) == Session()
    assert session_of("plain", [], [stderr], field="run.other") == Session()


def test_the_field_that_the_parser_knows_comes_before_the_one_that_is_named() -> None:
    stdout = b'{"type":"thread.started","thread_id":"a","other":"b"}\n'
    assert session_of("codex", [stdout], [], field="other").value == "a"


def test_the_field_of_the_parser_is_not_looked_for_in_other_records() -> None:
    stdout = b'{"type":"other","thread_id":"a"}\n'
    assert session_of("codex", [stdout], [], field="thread_id") == Session()


@pytest.mark.parametrize("name", ENDINGS)
def test_it_is_the_last_that_the_parser_tells_however_the_stream_is_cut(name: str) -> None:
    attempt = recorded(name)
    told = [event.session for event in attempt.events if isinstance(event, SessionStarted)]
    for size in (1, 7, 1 << 20):
        found = session_of(attempt.stream, in_pieces(attempt.stdout, size), in_pieces(attempt.stderr, size))
        assert found.value == (told[-1] if told else None)


@pytest.mark.parametrize("stream", ["gemini", "iflow"])
def test_a_stream_of_any_length_is_not_held(stream: str) -> None:
    """Two megabytes of what a parser would keep: words of the assistant, a block without an end."""
    said = json.dumps({"type": "message", "role": "assistant", "delta": True, "content": "x" * 1000})
    blocks = (f"<Execution Info>\n{said}\n".encode() for _ in range(2000))
    tracemalloc.start()
    session_of(stream, blocks, [])
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1 << 18


def test_a_line_that_is_too_long_for_a_record_tells_nothing_and_neither_does_its_end() -> None:
    forged = b'{"type":"thread.started","thread_id":"a"}'
    long = b"x" * (MAX_RECORD + 1)
    assert session_of("codex", [long, forged, b"\n"], []) == Session()
    assert session_of("codex", [long, b"\n", forged], []).value == "a"
