"""What a payload of an agent becomes, by the payloads that the real agents sent and by hostile ones."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.agents.definition import Hooks
from steno.agents.hook_payload import interpreted
from steno.agents.known import builtin
from steno.agents.made import HOOK_AGENTS
from steno.evidence import canonical, intake
from steno.evidence.intake import HookTold
from steno.hooks.payload import MAX_PAYLOAD, NotUnderstoodError, encoded
from steno.hooks.payload import read as payload_read
from support.hook_payloads import PAYLOADS, agent_of, facts_of, payload

KEY = {"pid": 2, "start_ticks": 3}
BECOMES = {
    "PreToolUse": "tool_call_started",
    "PostToolUse": "tool_call_completed",
    "PostToolUseFailure": "tool_call_completed",
    "Stop": "run_finished",
    "BeforeTool": "tool_call_started",
    "AfterTool": "tool_call_completed",
    "AfterAgent": "run_finished",
    "tool_call": "tool_call_started",
    "tool_result": "tool_call_completed",
    "agent_end": "run_finished",
}


def forwarded(data: bytes, agent: str) -> HookTold:
    """The line of the intake, as the hook writes it and the recorder reads it."""
    given_, cut = payload_read(data)
    whole = {"run_id": "r", "at_ns": 1, "agent": agent, "process": KEY, "parent": None}
    return intake.hook_told(encoded({**whole, "payload": given_, "cut": cut}) + b"\n")


def understood(data: bytes, agent: str = "claude") -> HookTold:
    told = interpreted(forwarded(data, agent))
    assert told is not None
    return told


def hooks(agent: str) -> Hooks:
    found = builtin()[agent].hooks
    assert found is not None
    return found


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_of_a_real_agent_becomes_a_line_of_the_intake_or_is_ignored(name: str) -> None:
    agent = agent_of(name)
    line = interpreted(forwarded(payload(name), agent))
    facts = facts_of(name)
    wanted = BECOMES.get(facts.event)
    if wanted is None:
        assert line is None
        return
    assert line is not None
    assert line.event_type == wanted
    assert (line.tool, line.tool_call_id) == (facts.tool, facts.call)
    assert (line.input, line.session) == (facts.input, facts.session)
    assert not line.cut


def test_a_tool_that_answered_is_told_with_its_answer() -> None:
    assert understood(payload("claude-PostToolUse-Bash")).output == {
        "stdout": "",
        "stderr": "",
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": False,
    }


def test_a_tool_that_failed_is_told_with_its_error() -> None:
    output = understood(payload("claude-PostToolUseFailure-Bash-fail")).output
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
    assert understood(payload(name), agent_of(name)).server == server


def test_the_server_may_be_a_plain_name() -> None:
    assert understood(payload("claude-PreToolUse-Bash", mcp_server="files")).server == "files"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("claude-Stop", "All done: the tests pass."),
        ("codex-Stop", "All done: the tests pass."),
        ("gemini-AfterAgent", "All done."),
        ("qwen-Stop", "All of it is done."),
        ("cline-agent_end", "All of it is done."),
    ],
)
def test_the_last_words_are_told(name: str, words: str) -> None:
    assert understood(payload(name), agent_of(name)).message == words


def test_a_turn_that_failed_is_a_run_that_failed() -> None:
    told = understood(payload("claude-Stop", hook_event_name="StopFailure", error="rate_limit"))
    assert told.event_type == "run_failed"


def test_no_last_words_are_no_message() -> None:
    told = understood(payload("codex-Stop", last_assistant_message=None), "codex")
    assert told.message is None


@pytest.mark.parametrize("bad", ["", "x" * 257, "a\nb", 7, None, ["a"]])
def test_an_id_that_is_no_short_text_is_not_taken(bad: object) -> None:
    assert understood(payload("claude-PreToolUse-Bash", tool_use_id=bad)).tool_call_id is None


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
        (b"[" * 100_000, "payload_not_understood"),
        (b" " * (MAX_PAYLOAD + 1), "payload_too_large"),
    ],
)
def test_what_cannot_be_understood_is_said_with_a_fixed_word(data: bytes, word: str) -> None:
    with pytest.raises(NotUnderstoodError, match=f"^{word}$"):
        payload_read(data)


def test_an_event_that_is_not_known_is_ignored() -> None:
    data = payload("claude-Stop", hook_event_name="SomethingNew")
    assert interpreted(forwarded(data, "claude")) is None


def test_a_large_input_is_cut_and_its_path_is_kept() -> None:
    given_ = {"file_path": "/home/ada/work/big.txt", "content": "x" * 1_000_000}
    told = understood(payload("claude-PreToolUse-Write", tool_input=given_))
    assert told.input == {"file_path": "/home/ada/work/big.txt", "content": {"steno_cut": 1_000_000}}
    assert told.cut


def test_long_last_words_are_cut_at_the_end_of_a_word() -> None:
    told = understood(payload("claude-Stop", last_assistant_message="word " * 50_000))
    assert told.cut
    assert told.message is not None
    assert told.message.endswith("word")
    assert len(told.message) <= intake.MAX_TOLD


@pytest.mark.parametrize("agent", HOOK_AGENTS)
def test_the_settings_ask_for_every_event_that_tells_something(agent: str) -> None:
    asked = hooks(agent).settings("steno hook x")["hooks"]
    assert list(asked) == [hooks(agent).names.get(name, name) for name in hooks(agent).events]
    assert all(
        group == [{"hooks": [{"type": "command", "command": "steno hook x"}]}] for group in asked.values()
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
    agent=st.sampled_from(HOOK_AGENTS),
    event=st.sampled_from([*BECOMES, "StopFailure"]),
    rest=st.dictionaries(FIELDS, JSON),
)
def test_whatever_an_agent_sends_is_a_line_or_a_fixed_word(
    agent: str, event: str, rest: dict[str, Any]
) -> None:
    data = json.dumps({"tool_name": "T", **rest, "hook_event_name": event}).encode()
    try:
        line = interpreted(forwarded(data, agent))
    except NotUnderstoodError:
        return
    for value in (line.input, line.output) if line is not None else ():
        assert len(encoded(value)) <= intake.MAX_TOLD
        canonical.encode(value)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_payload_never_raise_anything_else(data: bytes) -> None:
    with suppress(NotUnderstoodError):
        payload_read(data)
