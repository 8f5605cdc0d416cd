"""Envelopes of `fcmp/1.0`: their form, their order, their ends, and where each comes from."""

from __future__ import annotations

from typing import Any

import pytest

from steno.launch.translate import envelopes
from support.agent_streams import ENDINGS, RUN_ID, attempt, recorded

ORDER = ["conversation.started", "assistant.message.final", "diagnostic.warning", "raw.stdout", "raw.stderr"]
ENDS = {"conversation.completed", "user.input.required", "conversation.failed"}


def of(kind: str, told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [envelope["data"] for envelope in told if envelope["type"] == kind]


@pytest.mark.parametrize("name", ENDINGS)
def test_an_envelope_has_these_fields_and_no_other(name: str) -> None:
    told = list(envelopes(recorded(name)))
    fields = ["protocol_version", "run_id", "seq", "engine", "type", "data", "meta"]
    assert all(list(envelope) == fields for envelope in told)
    assert [envelope["seq"] for envelope in told] == list(range(1, len(told) + 1))
    assert {envelope["protocol_version"] for envelope in told} == {"fcmp/1.0"}
    assert {envelope["run_id"] for envelope in told} == {RUN_ID}
    assert all(envelope["meta"] == {"attempt": 1} for envelope in told)


@pytest.mark.parametrize("name", ENDINGS)
def test_envelopes_come_in_the_order_of_their_types_and_the_end_comes_last(name: str) -> None:
    *before, last = [envelope["type"] for envelope in envelopes(recorded(name))]
    assert before == sorted(before, key=ORDER.index)
    assert last in ENDS | {"diagnostic.warning"}


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("completed", "conversation.completed"),
        ("awaiting_user_input", "user.input.required"),
        ("interrupted", "conversation.failed"),
        ("unknown", "diagnostic.warning"),
    ],
)
def test_the_state_of_completion_decides_how_it_ends(state: str, kind: str) -> None:
    *_, last = envelopes(attempt(b"", state=state))
    assert last["type"] == kind


def test_an_end_that_nobody_knows_is_said_to_be_unknown() -> None:
    *_, last = envelopes(attempt(b"", state="unknown"))
    assert last["data"]["code"] == "INCOMPLETE_STATE_CLASSIFICATION"


def test_a_message_is_numbered_in_its_attempt_and_leads_to_its_bytes() -> None:
    source = recorded("gemini-success")
    (message,) = of("assistant.message.final", list(envelopes(source)))
    assert message["message_id"] == "m_1_1"
    for ref in message["raw_refs"]:
        assert source.stdout[ref["byte_from"] : ref["byte_to"]].startswith(b'{"type":"message"')


def test_an_empty_answer_is_no_message() -> None:
    record = b'{"type":"item.completed","item":{"type":"agent_message","text":" "}}\n'
    assert not of("assistant.message.final", list(envelopes(attempt(record))))


def test_a_line_that_is_not_understood_is_raw_with_its_place() -> None:
    told = list(envelopes(attempt(b"hello\n", b"oops\n")))
    assert of("raw.stdout", told) == [
        {"line": "hello", "raw_refs": [{"stream": "stdout", "byte_from": 0, "byte_to": 5}]}
    ]
    assert [data["line"] for data in of("raw.stderr", told)] == ["oops"]
    assert "UNPARSED_CONTENT_FELL_BACK_TO_RAW" in [data["code"] for data in of("diagnostic.warning", told)]


def test_a_record_that_is_not_needed_is_not_raw() -> None:
    assert not of("raw.stdout", list(envelopes(attempt(b'{"type":"turn.started"}\n'))))


def test_a_line_that_is_cut_says_so() -> None:
    (line,) = of("raw.stdout", list(envelopes(attempt(b"x" * 100_000))))
    assert line["cut"] is True
    assert line["raw_refs"][0]["byte_to"] == 100_000


def test_a_session_that_is_not_found_is_a_warning() -> None:
    told = list(envelopes(attempt(b"")))
    assert not of("conversation.started", told)
    assert {"code": "SESSION_ID_NOT_FOUND"} in of("diagnostic.warning", told)


def test_a_failed_turn_is_told_with_its_reason() -> None:
    warnings = of("diagnostic.warning", list(envelopes(recorded("codex-failed"))))
    assert [data["code"] for data in warnings] == ["AGENT_WARNING", "AGENT_ERROR", "TURN_FAILED"]


def test_what_is_suppressed_is_counted_and_can_be_found() -> None:
    source = recorded("codex-echo")
    told = list(envelopes(source))
    (data,) = [data for data in of("diagnostic.warning", told) if data["code"] == "RAW_DUPLICATE_SUPPRESSED"]
    (ref,) = data["raw_refs"]
    suppressed = getattr(source, ref["stream"])[ref["byte_from"] : ref["byte_to"]]
    assert suppressed.startswith(b"The file is made.")
    assert len([line for line in suppressed.split(b"\n") if line]) == data["suppressed_count"]
    assert not of("raw.stdout", told)
