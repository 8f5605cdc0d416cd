"""What a payload of an agent becomes, by the payloads that the real agents sent and by hostile ones."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.evidence import canonical, intake
from steno.hooks import AGENTS, fitting, reading
from steno.hooks.agent import Agent
from steno.hooks.reading import NotUnderstoodError
from support.hook_payloads import PAYLOADS, agent_of, payload

KEY = {"pid": 2, "start_ticks": 3}
BECOMES = {
    "PreToolUse": "tool_call_started",
    "PostToolUse": "tool_call_completed",
    "PostToolUseFailure": "tool_call_completed",
    "Stop": "run_finished",
    "BeforeTool": "tool_call_started",
    "AfterTool": "tool_call_completed",
    "AfterAgent": "run_finished",
}


def described(name: str) -> Agent:
    agent: Agent = import_module(f"steno.hooks.{name}").AGENT
    return agent


def read(data: bytes, agent: str = "claude") -> dict[str, Any]:
    told = reading.read(data, described(agent))
    assert told is not None
    return told


def as_line(told: dict[str, Any], agent: str = "claude") -> bytes:
    """As the hook writes it."""
    whole = {"run_id": "r", "at_ns": 1, "agent": agent, "process": KEY, "parent": None, **told}
    return fitting.encoded(whole) + b"\n"


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_of_a_real_agent_becomes_a_line_of_the_intake_or_is_ignored(name: str) -> None:
    agent = agent_of(name)
    told = reading.read(payload(name), described(agent))
    wanted = BECOMES.get(PAYLOADS[name]["hook_event_name"])
    if wanted is None:
        assert told is None
        return
    assert told is not None
    line = intake.hook_told(as_line(told, agent))
    assert line.event_type == wanted
    assert line.tool == PAYLOADS[name].get("tool_name")
    assert line.tool_call_id == PAYLOADS[name].get("tool_use_id")
    assert line.input == PAYLOADS[name].get("tool_input")
    assert line.session == PAYLOADS[name]["session_id"]
    assert not line.cut


def test_a_tool_that_answered_is_told_with_its_answer() -> None:
    assert read(payload("claude-PostToolUse-Bash"))["output"] == {
        "stdout": "",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }


def test_a_tool_that_failed_is_told_with_its_error() -> None:
    output = read(payload("claude-PostToolUseFailure-Bash-fail"))["output"]
    assert output == {"error": "Exit code 3\nls: cannot access '/nowhere': No such file or directory"}


@pytest.mark.parametrize(
    ("name", "server"),
    [
        ("claude-PreToolUse-mcp__files__read_text_file", None),
        ("claude325-PreToolUse-mcp__files__read_text_file", "files"),
        ("codex-PreToolUse-mcp__files__read_text_file", None),
        ("gemini-BeforeTool-mcp_files_read_text_file", "files"),
    ],
)
def test_the_server_is_told_when_the_agent_tells_it(name: str, server: str | None) -> None:
    assert read(payload(name), agent_of(name))["server"] == server


def test_the_server_may_be_a_plain_name() -> None:
    assert read(payload("claude-PreToolUse-Bash", mcp_server="files"))["server"] == "files"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("claude-Stop", "All done: the tests pass."),
        ("codex-Stop", "All done: the tests pass."),
        ("gemini-AfterAgent", "All done."),
    ],
)
def test_the_last_words_are_told(name: str, words: str) -> None:
    assert read(payload(name), agent_of(name))["message"] == words


def test_a_turn_that_failed_is_a_run_that_failed() -> None:
    told = read(payload("claude-Stop", hook_event_name="StopFailure", error="rate_limit"))
    assert told["event_type"] == "run_failed"


def test_no_last_words_are_no_message() -> None:
    told = read(payload("codex-Stop", last_assistant_message=None), "codex")
    assert "message" not in told


@pytest.mark.parametrize("bad", ["", "x" * 257, "a\nb", 7, None, ["a"]])
def test_an_id_that_is_no_short_text_is_not_taken(bad: object) -> None:
    assert read(payload("claude-PreToolUse-Bash", tool_use_id=bad))["tool_call_id"] is None


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "payload_not_json"),
        (b"{", "payload_not_json"),
        (b"\xff\xfe{", "payload_not_json"),
        (b'{"hook_event_name":"PreToolUse","tool_name":"T","tool_input":NaN}', "payload_not_json"),
        (b'{"hook_event_name":"PreToolUse","tool_name":"T","tool_input":1e999}', "payload_not_json"),
        (b"[]", "payload_not_understood"),
        (b'"PreToolUse"', "payload_not_understood"),
        (b'{"hook_event_name":7}', "payload_not_understood"),
        (b'{"hook_event_name":"PreToolUse"}', "payload_not_understood"),
        (b'{"hook_event_name":"PreToolUse","tool_name":""}', "payload_not_understood"),
        (b"[" * 100_000, "payload_not_understood"),
        (b" " * (reading.MAX_PAYLOAD + 1), "payload_too_large"),
    ],
)
def test_what_cannot_be_understood_is_said_with_a_fixed_word(data: bytes, word: str) -> None:
    with pytest.raises(NotUnderstoodError, match=f"^{word}$"):
        reading.read(data, described("claude"))


def test_an_event_that_is_not_known_is_ignored() -> None:
    assert reading.read(payload("claude-Stop", hook_event_name="SomethingNew"), described("claude")) is None


def test_a_large_input_is_cut_and_its_path_is_kept() -> None:
    given_ = {"file_path": "/home/ada/work/big.txt", "content": "x" * 1_000_000}
    told = read(payload("claude-PreToolUse-Write", tool_input=given_))
    assert told["input"] == {"file_path": "/home/ada/work/big.txt", "content": {"steno_cut": 1_000_000}}
    assert told["cut"]


def test_long_last_words_are_cut_at_the_end_of_a_word() -> None:
    told = read(payload("claude-Stop", last_assistant_message="word " * 50_000))
    assert told["cut"]
    assert told["message"].endswith("word")
    assert len(told["message"]) <= intake.MAX_TOLD


@pytest.mark.parametrize("agent", AGENTS)
def test_the_settings_ask_for_every_event_that_tells_something(agent: str) -> None:
    hooks = described(agent).settings("steno hook x")["hooks"]
    assert list(hooks) == list(described(agent).events)
    assert all(
        group == [{"hooks": [{"type": "command", "command": "steno hook x"}]}] for group in hooks.values()
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("y" * 70_000),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
FIELDS = st.sampled_from(
    ["tool_name", "tool_input", "tool_response", "tool_use_id", "session_id", "mcp_server", "error"]
)


@given(
    agent=st.sampled_from(AGENTS),
    event=st.sampled_from([*BECOMES, "StopFailure"]),
    rest=st.dictionaries(FIELDS, JSON),
)
def test_whatever_an_agent_sends_is_a_line_or_a_fixed_word(
    agent: str, event: str, rest: dict[str, Any]
) -> None:
    data = json.dumps({"tool_name": "T", **rest, "hook_event_name": event}).encode()
    try:
        told = reading.read(data, described(agent))
    except NotUnderstoodError:
        return
    if told is None:
        return
    line = intake.hook_told(as_line(told, agent))
    for value in (line.input, line.output):
        assert len(fitting.encoded(value)) <= intake.MAX_TOLD
        canonical.encode(value)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_payload_never_raise_anything_else(data: bytes) -> None:
    with suppress(NotUnderstoodError):
        reading.read(data, described("gemini"))
