"""What each agent's own records mean: the rules that the recorded streams do not show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steno.agents.catalog import Catalogue
from steno.agents.events import (
    AssistantText,
    Event,
    Failed,
    Other,
    SessionStarted,
    Span,
    ToolCall,
    ToolResult,
    TurnEnded,
    Warned,
)
from steno.agents.stream import Session, read, session_of
from support.agent_streams import recorded


def said(name: str, *records: dict[str, Any]) -> list[Event]:
    signals = Catalogue.load({}).get(name).stream.signals
    return read(name, "\n".join(map(json.dumps, records)).encode(), b"", signals)


def item(step: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"item.{step}", "item": {"id": "item_0", **fields}}


def message(kind: str, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"content": list(blocks)}, **fields}


def of(kind: type[Event], events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("agent", ["codex", "claude", "gemini", "opencode"])
def test_a_failing_model_is_a_failed_turn_and_never_an_answer(agent: str) -> None:
    events = recorded(f"{agent}-failed").events
    assert not of(AssistantText, events)
    assert not any(end.ok for end in of(TurnEnded, events))
    assert of(Failed, events) or of(TurnEnded, events)


@pytest.mark.parametrize("agent", ["codex", "claude", "gemini", "opencode"])
def test_a_failing_tool_fails_and_the_turn_does_not(agent: str) -> None:
    events = recorded(f"{agent}-tool-error").events
    (call,), (result,), (end,) = (of(kind, events) for kind in (ToolCall, ToolResult, TurnEnded))
    assert (call.id, result.ok, end.ok) == (result.id, False, True)


@pytest.mark.parametrize("agent", ["codex", "claude", "gemini", "opencode", "iflow"])
def test_the_same_answer_is_the_same_text_for_every_agent(agent: str) -> None:
    (answer,) = of(AssistantText, recorded(f"{agent}-success").events)
    assert answer.text.startswith("The file is made.\n\nIt holds one line:\n\n```text\nhello\n```")


def test_codex_a_call_that_is_only_seen_completed_is_call_and_result() -> None:
    fields = {"type": "mcp_tool_call", "server": "files", "tool": "read", "arguments": {"path": "a"}}
    call, result = said(
        "codex", item("completed", **fields, status="completed", result={"content": [{"text": "x"}]})
    )
    assert isinstance(call, ToolCall)
    assert (call.name, call.input) == ("files.read", {"arguments": {"path": "a"}})
    assert isinstance(result, ToolResult)
    assert (result.ok, result.text) == (True, "x")


def test_codex_an_id_that_is_used_again_is_another_call() -> None:
    done = item("completed", type="command_execution", command="a", status="completed")
    assert [type(event) for event in said("codex", done, done)] == [ToolCall, ToolResult] * 2


def test_codex_a_call_that_failed_tells_its_error() -> None:
    fields = {"type": "mcp_tool_call", "server": "files", "tool": "read"}
    events = said(
        "codex",
        item("started", **fields, status="in_progress"),
        item("completed", **fields, status="failed", error={"message": "denied"}),
    )
    assert [type(event) for event in events] == [ToolCall, ToolResult]
    assert (events[1].ok, events[1].text) == (False, "denied")  # type: ignore[attr-defined]


def test_codex_an_item_of_the_type_error_is_a_warning() -> None:
    assert of(Warned, said("codex", item("completed", type="error", message="old")))[0].reason == "old"


def test_codex_thoughts_and_plans_are_left_to_other() -> None:
    events = said("codex", item("completed", type="reasoning", text="hm"), item("updated", type="todo_list"))
    assert [event.kind for event in of(Other, events)] == ["item.completed", "item.updated"]


def test_claude_the_words_of_a_subagent_are_not_the_answer() -> None:
    block = {"type": "text", "text": "inner"}
    events = said("claude", message("assistant", block, parent_tool_use_id="toolu_1"))
    assert [type(event) for event in events] == [Other]


def test_claude_an_answer_that_is_only_in_the_result_is_an_answer() -> None:
    events = said("claude", {"type": "result", "subtype": "success", "result": "Done."})
    assert [type(event) for event in events] == [AssistantText, TurnEnded]


def test_claude_an_answer_that_was_said_is_not_said_again_by_the_result() -> None:
    events = said(
        "claude",
        message("assistant", {"type": "text", "text": "Done."}),
        {"type": "result", "subtype": "success", "result": "Done."},
    )
    assert [type(event) for event in events] == [AssistantText, TurnEnded]


def test_claude_each_turn_has_its_own_answer() -> None:
    spoken = message("assistant", {"type": "text", "text": "First."})
    first = {"type": "result", "subtype": "success", "result": "First."}
    events = said("claude", spoken, first, {**first, "result": "Second."})
    assert [answer.text for answer in of(AssistantText, events)] == ["First.", "Second."]


def test_claude_one_message_may_say_and_call() -> None:
    text, use = (
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "1", "name": "Read", "input": {}},
    )
    events = said("claude", message("assistant", text, use, session_id="s"))
    assert [type(event) for event in events] == [SessionStarted, AssistantText, ToolCall]
    assert len({event.spans for event in events}) == 1


def test_claude_success_with_an_error_is_no_success() -> None:
    (end,) = said("claude", {"type": "result", "subtype": "success", "is_error": True, "result": "broken"})
    assert end == TurnEnded((Span("stdout", 0, end.spans[0].byte_to),), ok=False, reason="broken")


def test_gemini_pieces_that_follow_each_other_are_one_text_with_all_their_places() -> None:
    (answer,) = of(AssistantText, recorded("gemini-success").events)
    assert len(answer.spans) == 2


def test_gemini_a_call_between_pieces_parts_them() -> None:
    piece = {"type": "message", "role": "assistant", "content": "a", "delta": True}
    events = said("gemini", piece, {"type": "tool_use", "tool_id": "1", "tool_name": "x"}, piece)
    assert [type(event) for event in events] == [AssistantText, ToolCall, AssistantText]


def test_gemini_messages_that_are_whole_are_not_joined() -> None:
    whole = {"type": "message", "role": "assistant", "content": "a"}
    assert [event.text for event in of(AssistantText, said("gemini", whole, whole))] == ["a", "a"]


def test_gemini_an_error_may_be_a_warning() -> None:
    events = said(
        "gemini",
        {"type": "error", "severity": "warning", "message": "loop"},
        {"type": "error", "severity": "error", "message": "turns"},
    )
    assert [type(event) for event in events] == [Warned, Failed]


def test_opencode_a_step_that_ends_to_make_calls_does_not_end_the_turn() -> None:
    reasons = ["tool-calls", "length", "stop"]
    events = said("opencode", *({"type": "step_finish", "part": {"reason": reason}} for reason in reasons))
    assert [(end.ok, end.reason) for end in of(TurnEnded, events)] == [(False, "length"), (True, "stop")]


def test_opencode_a_command_that_fails_is_a_failure_although_it_is_completed() -> None:
    state = {"status": "completed", "output": "no", "metadata": {"exit": 3}}
    events = said("opencode", {"type": "tool_use", "part": {"tool": "bash", "state": state}})
    assert [result.ok for result in of(ToolResult, events)] == [False]


def test_iflow_what_is_outside_of_the_block_is_the_answer() -> None:
    """Built from what is known of the form of iflow's output: it cannot be run without its service."""
    stdout = b'  first\n<Execution Info>\n{"session-id": "s"}\n</Execution Info>\nsecond\n'
    events = read("iflow", stdout, b"")
    assert [type(event) for event in events] == [AssistantText, SessionStarted, TurnEnded, AssistantText]
    assert [event.text for event in of(AssistantText, events)] == ["first", "second"]
    assert stdout[events[0].spans[0].byte_from : events[0].spans[0].byte_to] == b"first"


@pytest.mark.parametrize("block", [b"not JSON", b"[1]", b""])
def test_iflow_tags_around_anything_but_an_object_are_text(block: bytes) -> None:
    stdout = b"<Execution Info>" + block + b"</Execution Info>"
    (event,) = read("iflow", stdout, b"")
    assert isinstance(event, AssistantText)


def test_iflow_a_block_that_is_quoted_open_before_the_real_one_does_not_hide_it() -> None:
    stderr = b'<Execution Info> was cut\n<Execution Info>{"session-id":"s"}</Execution Info>'
    kinds = [type(event) for event in read("iflow", b"said", stderr)]
    assert kinds == [AssistantText, Other, SessionStarted, TurnEnded]


def test_iflow_what_it_writes_to_stderr_is_the_answer_where_stdout_has_none() -> None:
    signals = Catalogue.load({}).get("iflow").stream.signals
    block = b'<Execution Info>\n{"session-id": "s"}\n</Execution Info>\n'
    events = read("iflow", b"", b"I am done.\n" + block, signals)
    assert [type(event) for event in events] == [AssistantText, SessionStarted, TurnEnded]
    assert (events[0].spans, of(AssistantText, events)[0].text) == ((Span("stderr", 0, 10),), "I am done.")
    noisy = [
        read("iflow", b"said\n" + block, b"warning\n", signals),
        read("iflow", b"", b"warning\n[API Error: 500]\n" + block, signals),
        read("iflow", b"", b"iflow: no such model\n", signals),
    ]
    assert [[event.text for event in of(AssistantText, one)] for one in noisy] == [["said"], [], []]


GEMINI_DOCUMENT = {"session_id": "s-1", "response": "Done.\n{}", "stats": {"models": {}}}


@pytest.mark.parametrize("indent", [None, 2])
def test_gemini_one_document_on_stderr_is_the_answer_and_ends_the_turn(indent: int | None) -> None:
    signals = Catalogue.load({}).get("gemini").stream.signals
    stderr = b"Loaded cached credentials.\n" + json.dumps(GEMINI_DOCUMENT, indent=indent).encode() + b"\n"
    events = read("gemini", b"noise\n", stderr, signals)
    assert [type(event) for event in events] == [Other, Other, SessionStarted, AssistantText, TurnEnded]
    assert of(AssistantText, events)[0].text == "Done.\n{}"
    assert (of(TurnEnded, events)[0].ok, events[-1].spans[0].byte_to) == (True, len(stderr) - 1)
    assert session_of("gemini", [], [stderr]) == Session("session_id", "s-1", "stderr")
    failed = {"session_id": "s-1", "error": {"type": "ApiError", "message": "no quota", "code": 429}}
    told = read("gemini", b"", json.dumps(failed, indent=indent).encode(), signals)
    assert [(end.ok, end.reason) for end in of(TurnEnded, told)] == [(False, "no quota")]


def test_an_agent_without_a_known_stream_has_only_output() -> None:
    events = read("plain", b'{"type":"result"}\n', b"oops\n")
    assert [(event.raw, event.kind) for event in of(Other, events)] == [
        ('{"type":"result"}', None),
        ("oops", None),
    ]
