"""The done signal: one line with a schema, read also where it is quoted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steno.contracts.agent_audit.completion import LOGS
from support.judged_logs import MARKER, SIGNAL, done, told


@pytest.mark.parametrize(
    "change",
    [
        {"version": "2"},
        {"version": 1},
        {"state": "done"},
        {"skill": "  "},
        {"skill": 7},
        {"result_kind": "json"},
        {"needs_user_input": "no"},
        {"reason_code": "lower"},
        {"reason_code": "A\n"},
        {"reason_code": "_A"},
    ],
)
def test_a_done_signal_that_breaks_its_schema_does_not_count_and_is_told(change: dict[str, Any]) -> None:
    found = told(stdout=done(**change) + b"\n" + MARKER)
    assert (found.state, found.reason_code, found.done_signal) == ("completed", "DONE_MARKER_FOUND", None)
    assert found.diagnostics == ["DONE_SIGNAL_INVALID_SCHEMA", "DONE_SIGNAL_NOT_FOUND"]
    (problem,) = found.problems
    assert problem.startswith("stdout, line 1: ")


@pytest.mark.parametrize("name", SIGNAL)
def test_every_field_of_a_done_signal_is_needed(name: str) -> None:
    line = b"AGENT_ENV_DONE " + json.dumps({key: SIGNAL[key] for key in SIGNAL if key != name}).encode()
    assert told(stdout=line).diagnostics[0] == "DONE_SIGNAL_INVALID_SCHEMA"


@pytest.mark.parametrize(
    "rest",
    [b"", b"{", b"null", b"[]", b"not json", b"{}", b'{\\"a', b'{\\\\"a"', b"{" * 90_000, b'{"a":' * 9000],
)
def test_anything_else_after_the_word_is_no_signal(rest: bytes) -> None:
    found = told(stdout=b"AGENT_ENV_DONE " + rest)
    assert found.diagnostics[0] == "DONE_SIGNAL_INVALID_SCHEMA"
    assert found.done_signal is None


def test_a_space_may_be_a_movement_of_the_cursor() -> None:
    assert told(pty=done().replace(b"DONE ", b"DONE\x1b[1C")).done_signal is not None


def test_text_after_a_done_signal_spoils_it() -> None:
    assert told(stdout=done() + b" and so on").done_signal is None


@pytest.mark.parametrize(
    "before", ["I will never print ", "12: ", "é ", 'echo "', "Done.\t", "x\x1b[1C", "AGENT_ENV_DONE {} "]
)
def test_words_before_a_done_signal_make_it_a_part_of_a_sentence(before: str) -> None:
    line = before.encode() + done()
    assert told(stdout=line).done_signal is None
    for levels in (1, 2):
        text = "Well.\n" + before + done().decode()
        for _ in range(levels):
            text = json.dumps({"text": text})
        assert told(stdout=text.encode()).done_signal is None


def test_the_word_in_a_sentence_is_nothing_that_could_be_wrong() -> None:
    assert told(stdout=b"I print AGENT_ENV_DONE when I am done").problems == []


@pytest.mark.parametrize("before", ["  ", "\t", "- ", "• ", "│ ", "> * ", "⏺ ", "a\r", "a\n", "**"])
def test_blanks_bullets_and_frames_may_stand_before_a_done_signal(before: str) -> None:
    assert told(pty=before.encode() + done()).done_signal is not None
    for ascii_only in (True, False):
        record = json.dumps({"text": before + done().decode()}, ensure_ascii=ascii_only)
        assert told(stdout=record.encode()).done_signal is not None


@pytest.mark.parametrize("move", [b"\x1b[7;3H", b"\x1b[2B\x1b[1m", b"\x1b[5d\x1b[3C", b"\x1b[G\x1b[K| "])
def test_a_screen_moves_to_the_line_of_a_signal_instead_of_ending_the_one_before(move: bytes) -> None:
    assert told(pty=b"thinking" + move + done()).done_signal is not None
    assert told(pty=b"thinking" + move + b"of " + done()).done_signal is None


def test_a_field_that_is_not_known_is_left_alone() -> None:
    assert told(stdout=done(note="x")).done_signal is not None


def test_the_last_done_signal_of_a_log_wins_and_differing_ones_are_told() -> None:
    found = told(
        stdout=done(reason_code="FIRST") + b"\n" + done(reason_code="SECOND") + b"\n" + done(version="9")
    )
    assert found.reason_code == "SECOND"
    assert found.diagnostics == ["DONE_SIGNAL_INVALID_SCHEMA", "DONE_SIGNAL_CONFLICT"]


def test_the_terminal_comes_before_stdout_and_stdout_before_stderr() -> None:
    pty, stdout, stderr = (done(reason_code=name.upper()) for name in LOGS)
    found = [
        told(pty=pty, stdout=stdout, stderr=stderr),
        told(stdout=stdout, stderr=stderr),
        told(stderr=stderr),
    ]
    assert [completed.source for completed in found] == ["pty", "stdout", "stderr"]
    assert [completed.reason_code for completed in found] == ["PTY", "STDOUT", "STDERR"]
    assert [completed.diagnostics for completed in found] == [["DONE_SIGNAL_CONFLICT"]] * 2 + [[]]


def test_the_same_signal_on_the_terminal_and_on_stdout_is_no_conflict() -> None:
    assert told(pty=done() + b"\r\n", stdout=done() + b"\n").diagnostics == []


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_a_done_signal_in_a_record_is_read_as_what_it_stands_for(levels: int) -> None:
    text = "Finished.\n" + done(skill='a "b"\n\\ é').decode() + "\nBye."
    for _ in range(levels):
        text = json.dumps({"type": "item.completed", "item": {"text": text}})
    found = told(stdout=text.encode())
    assert found.done_signal is not None
    assert found.done_signal.skill == 'a "b"\n\\ é'


def test_of_several_signals_in_one_record_the_last_wins() -> None:
    text = done(reason_code="FIRST").decode() + "\n" + done(reason_code="SECOND").decode()
    assert told(stdout=json.dumps({"text": text}).encode()).reason_code == "SECOND"
