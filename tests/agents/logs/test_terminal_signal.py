"""Terminal signals are data: which lines end a turn, and which of them mean that it failed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steno.agents.catalog import Catalogue
from steno.agents.definition import TerminalSignal, Values
from steno.agents.events import TurnEnded
from steno.agents.stream import read
from support.agent_streams import ENDINGS, recorded
from support.judged_logs import END, reason

OPENCODE = [
    TerminalSignal("stdout", "json", {"type": "step_finish", "part.reason": "stop"}, "end_of_turn"),
]
IFLOW = [TerminalSignal("stderr", "text", "</Execution Info>", "end_of_turn")]


def test_dotted_fields_lead_into_a_record() -> None:
    stop = {"type": "step_finish", "part": {"reason": "stop", "cost": 1}}
    assert reason(stdout=json.dumps(stop).encode(), signals=OPENCODE)[0] == "awaiting_user_input"
    for other in ({"reason": "tool-calls"}, "stop", {}, None):
        assert reason(stdout=json.dumps({**stop, "part": other}).encode(), signals=OPENCODE)[0] == "unknown"


@pytest.mark.parametrize(
    "line", [b'{"code":3.0,"type":"x"}', b'{"code":30e-1,"type":"x"}', b'{"code":3.0,"type":"\\u0078"}']
)
def test_a_value_may_be_spelled_in_any_way(line: bytes) -> None:
    matches: list[Values] = [{"code": "3.0"}, {"type": "x"}, {"code": "3.0", "type": ["x", "y"]}]
    for match in matches:
        signals = [TerminalSignal("stdout", "json", match, "end_of_turn")]
        assert reason(stdout=b"words\n" + line, signals=signals)[0] == "awaiting_user_input"


def test_words_in_a_line_are_a_signal_in_their_own_stream_only() -> None:
    assert reason(stderr=b"  </Execution Info>\n", signals=IFLOW)[0] == "awaiting_user_input"
    assert reason(stdout=b"  </Execution Info>\n", signals=IFLOW)[0] == "unknown"


@pytest.mark.parametrize(
    "line",
    [
        b'text {"type":"turn.completed"}',
        b'{"message":"{\\"type\\":\\"turn.completed\\"}"}',
        b'{"item":{"type":"turn.completed"}}',
        b'{"type":"turn.completed"',
        b'["turn.completed"]',
        b'{"type":["turn.completed"]}',
        b"{" * 100_000 + b"}",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
)
def test_only_a_line_that_is_the_record_itself_is_a_signal(line: bytes) -> None:
    assert reason(stdout=line)[0] == "unknown"


def test_a_record_on_a_terminal_may_be_coloured() -> None:
    on_terminal = [TerminalSignal("pty", "json", {"type": "turn.completed"}, "end_of_turn")]
    assert reason(pty=b"\x1b[2m" + END + b"\x1b[0m\r\n", signals=on_terminal)[0] == "awaiting_user_input"


def test_a_field_may_have_one_of_several_values_and_must_not_have_others() -> None:
    signals = [
        TerminalSignal(
            "stdout", "json", {"type": ["end", "stop"]}, "end_of_turn", unless={"why.not": ["a", "true", "3"]}
        )
    ]
    for record, ends in (
        ({"type": "end"}, True),
        ({"type": "stop", "why": "a"}, True),
        ({"type": "stop", "why": {"not": "b"}}, True),
        ({"type": "other"}, False),
        ({"type": "stop", "why": {"not": "a"}}, False),
        ({"type": "stop", "why": {"not": True}}, False),
        ({"type": "stop", "why": {"not": 3}}, False),
    ):
        state = reason(stdout=json.dumps(record).encode(), signals=signals)[0]
        assert (state == "awaiting_user_input") is ends, record


def test_half_a_surrogate_pair_in_a_record_does_not_hide_its_end() -> None:
    assert reason(stdout=rb'{"type":"turn.completed","text":"\ud83d"}')[0] == "awaiting_user_input"


# --- the agents that come with Steno ------------------------------------------------------------------

RESULT: dict[str, Any] = {"type": "result", "subtype": "success", "is_error": False}
STEP: dict[str, Any] = {"type": "step_finish", "part": {"reason": "stop"}}
ENDS: list[tuple[str, dict[str, Any], bool | None]] = [
    ("claude", RESULT, True),
    ("claude", RESULT | {"is_error": True}, False),
    ("claude", RESULT | {"subtype": "error_max_turns"}, False),
    ("claude", RESULT | {"subtype": "error_max_budget_usd"}, False),
    ("claude", RESULT | {"subtype": "error_of_next_year"}, False),
    ("claude", {"is_error": True, "result": "x" * 100_000, "type": "result"}, False),
    ("claude", {"type": "assistant"}, None),
    ("codex", {"type": "turn.completed"}, True),
    ("codex", {"type": "turn.failed"}, False),
    ("codex", {"type": "item.completed"}, None),
    ("gemini", {"type": "result", "status": "success"}, True),
    ("gemini", {"type": "result", "status": "error"}, False),
    ("gemini", {"type": "result", "status": "cancelled"}, False),
    ("opencode", STEP, True),
    ("opencode", STEP | {"part": {"reason": "length"}}, False),
    ("opencode", STEP | {"part": {"reason": "content-filter"}}, False),
    ("opencode", STEP | {"part": {"reason": "tool-calls"}}, None),
    ("opencode", {"type": "error"}, False),
]
STATES = {True: "awaiting_user_input", False: "interrupted", None: "unknown"}


@pytest.mark.parametrize(("agent", "record", "ok"), ENDS)
def test_judgement_and_translation_agree_on_how_a_turn_ended(
    agent: str, record: dict[str, Any], ok: bool | None
) -> None:
    signals = Catalogue.load({}).get(agent).stream.signals
    line = json.dumps(record).encode()
    assert reason(stdout=line, signals=signals, parser=agent)[0] == STATES[ok]
    told = [event.ok for event in read(agent, line, b"", signals) if isinstance(event, TurnEnded)]
    assert told == ([] if ok is None else [ok])


@pytest.mark.parametrize("name", ENDINGS)
def test_the_recorded_turns_are_judged_as_they_are_translated(name: str) -> None:
    attempt = recorded(name)
    signals = list(attempt.terminal_signals)
    *_, last = (event.ok for event in attempt.events if isinstance(event, TurnEnded))
    state, _ = reason(stdout=attempt.stdout, stderr=attempt.stderr, signals=signals, parser=attempt.stream)
    assert last is not name.endswith(("-failed", "-max-turns"))
    assert state in ({"awaiting_user_input", "completed"} if last else {"interrupted"})


def test_iflow_tells_of_an_error_on_stderr() -> None:
    signals = Catalogue.load({}).get("iflow").stream.signals
    stderr = b"[API Error: no such model]\n"
    assert reason(stdout=b"hm", stderr=stderr, signals=signals, parser="iflow")[0] == "interrupted"
    (end,) = (event for event in read("iflow", b"", stderr, signals) if isinstance(event, TurnEnded))
    assert (end.ok, end.reason) == (False, "[API Error: no such model]")
