"""How an attempt ended is told by agreed lines alone, in the order of the rules, and the same every time."""

from __future__ import annotations

import json
import re
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.agents.catalog import Catalogue
from steno.contracts.agent_audit import completion as judgement
from steno.contracts.agent_audit.completion import DIAGNOSTICS, Rules, completion, endings
from support.judged_logs import CODEX, END, FAILED, MARKER, SKILL, done, reason, told, told_by

REASONS = {
    judgement.PROCESS_EXIT_NON_ZERO,
    judgement.TERMINAL_SIGNAL_FAILED,
    judgement.DONE_MARKER_FOUND,
    judgement.TERMINAL_SIGNAL_WITHOUT_DONE_MARKER,
    judgement.INSUFFICIENT_EVIDENCE,
}
PAGE = Path(__file__).parents[3] / "docs" / "agents.md"

# --- the rules in their order -----------------------------------------------------------------------


def test_a_done_signal_comes_before_everything() -> None:
    found = told(
        stdout=done(state="awaiting_user_input", needs_user_input=True) + b"\n" + MARKER, exit_code=1
    )
    assert (found.state, found.reason_code) == ("awaiting_user_input", "ALL_DONE")
    assert (found.needs_user_input, found.source) == (True, "stdout")
    assert found.diagnostics == []
    assert found.done_signal is not None


@pytest.mark.parametrize(("exit_code", "signal"), [(1, None), (0, "SIGTERM"), (130, "SIGINT"), (None, None)])
def test_a_process_that_did_not_end_well_was_interrupted(exit_code: int | None, signal: str | None) -> None:
    found = told(stdout=MARKER + b"\n" + END, exit_code=exit_code, signal=signal)
    assert (found.state, found.reason_code, found.source) == (
        "interrupted",
        "PROCESS_EXIT_NON_ZERO",
        "process",
    )
    assert found.diagnostics == ["DONE_SIGNAL_NOT_FOUND", "PROCESS_INTERRUPTED"]
    assert not found.needs_user_input


@pytest.mark.parametrize(
    "marker",
    [
        b'{"__SKILL_DONE__": true}',
        b'{"__skill_done__":true}',
        b'"__SKILL_DONE__" : true',
        rb'{"text":"{\"__SKILL_DONE__\": true}"}',
        rb'{"text":"{\\\"__skill_done__\\\": true}"}',
        b'\x1b[1m"__SKILL_DONE__"\x1b[0m:\x1b[1Ctrue\x1b]0;title\x07',
        rb'{"text":"\u001b[1m\"__SKILL_DONE__\"\u001b[0m: true"}',
        b'spinner\r{"__SKILL_DONE__": true}\r\n',
    ],
)
@pytest.mark.parametrize("source", ["pty", "stdout", "stderr"])
def test_a_marker_means_completed(marker: bytes, source: str) -> None:
    found = told_by(source, b"text\n" + marker + b"\nmore")
    assert (found.state, found.reason_code, found.source) == ("completed", "DONE_MARKER_FOUND", source)
    assert found.diagnostics == ["DONE_SIGNAL_NOT_FOUND"]


@pytest.mark.parametrize(
    "text",
    [
        b'"__SKILL_DONE__": false',
        b"__SKILL_DONE__: true",
        b'"__SKILL_DONE__": trueish',
        b'"__SKILL_DONE__": "true"',
    ],
)
def test_what_only_resembles_a_marker_means_nothing(text: bytes) -> None:
    assert reason(stdout=text) == ("unknown", "INSUFFICIENT_EVIDENCE")


def test_the_end_of_a_turn_without_a_marker_waits_for_the_user() -> None:
    found = told(stdout=b'{"type":"turn.started"}\n' + END)
    assert (found.state, found.reason_code) == ("awaiting_user_input", "TERMINAL_SIGNAL_WITHOUT_DONE_MARKER")
    assert found.needs_user_input
    assert found.diagnostics == ["DONE_SIGNAL_NOT_FOUND", "DONE_MARKER_MISSING"]


def test_the_document_of_gemini_ends_the_turn_and_its_response_is_the_agents_word() -> None:
    signals = Catalogue.load({}).get("gemini").stream.signals

    def judged(response: str) -> tuple[str, str, str | None, list[str]]:
        document = json.dumps({"session_id": "s", "response": response}, indent=2).encode()
        found = told(pty=document, stderr=document, signals=signals, parser="gemini")
        return found.state, found.reason_code, found.source, found.diagnostics

    state, code, source, _ = judged("What next?")
    assert (state, code, source) == ("awaiting_user_input", "TERMINAL_SIGNAL_WITHOUT_DONE_MARKER", "stderr")
    state, code, _, diagnostics = judged(MARKER.decode())
    assert (state, code) == ("completed", "DONE_MARKER_FOUND")
    assert judgement.SIGNAL_OUTSIDE_RECORDS not in diagnostics


def test_without_any_sign_nothing_is_claimed() -> None:
    found = told(pty=b"hello", stdout=b"hello")
    assert (found.state, found.reason_code, found.source) == ("unknown", "INSUFFICIENT_EVIDENCE", None)
    assert found.diagnostics == ["DONE_SIGNAL_NOT_FOUND", "INTERACTIVE_END_UNCERTAIN"]


# --- turns that failed --------------------------------------------------------------------------------


def test_a_turn_that_failed_is_not_waiting_for_the_user() -> None:
    found = told(stdout=FAILED)
    assert (found.state, found.reason_code, found.source) == (
        "interrupted",
        "TERMINAL_SIGNAL_FAILED",
        "stdout",
    )
    assert not found.needs_user_input
    assert found.diagnostics == ["DONE_SIGNAL_NOT_FOUND", "TERMINAL_SIGNAL_FAILED"]


def test_the_last_turn_decides() -> None:
    assert reason(stdout=FAILED + b"\n" + END)[0] == "awaiting_user_input"
    assert reason(stdout=END + b"\n" + FAILED)[0] == "interrupted"
    assert reason(stdout=MARKER + b"\n" + FAILED)[0] == "interrupted"


def test_a_failed_turn_is_told_also_beside_a_done_signal() -> None:
    found = told(stdout=done() + b"\n" + FAILED)
    assert (found.state, found.diagnostics) == ("completed", ["TERMINAL_SIGNAL_FAILED"])


# --- any log -----------------------------------------------------------------------------------------------


_FRAGMENTS = st.sampled_from(
    [
        MARKER,
        done(),
        done(version="2"),
        END,
        FAILED,
        b"AGENT_ENV_DONE ",
        b"<skill_content>",
        b"</skill_content>",
        b"\x1b[31m",
        b"\x1b]0;",
        b"\\",
        b'"',
        b"{",
        b"}",
        b"\r",
        b"\n",
        b"\n",
    ]
)
_LOGS = st.lists(st.one_of(_FRAGMENTS, st.binary(max_size=4)), max_size=30).map(b"".join)


@given(_LOGS, _LOGS, st.data())
def test_any_log_gives_one_answer_however_it_is_cut(pty: bytes, stdout: bytes, data: st.DataObject) -> None:
    def pieces(log: bytes) -> Iterator[bytes]:
        while log:
            size = data.draw(st.integers(1, len(log)))
            yield log[:size]
            log = log[size:]

    whole = told(pty=pty, stdout=stdout, words=(SKILL,))
    cut = completion(
        exit_code=0,
        signal=None,
        logs={"pty": pieces(pty), "stdout": pieces(stdout)},
        rules=Rules(terminal_signals=CODEX, given=endings([SKILL])),
    )
    assert whole == cut
    assert set(whole.diagnostics) <= set(DIAGNOSTICS)
    assert whole.done_signal is not None or whole.reason_code in REASONS


HOSTILE = {
    "backslashes": b"\\" * 64,
    "escapes": b"\x1b[",
    "titles": b"\x1b]0;",
    "words": b"AGENT_ENV_DONE ",
    "escaped words": b'AGENT_ENV_DONE {\\"',
    "markers": b'"__SKILL_DONE__"' + b" " * 64,
    "given markers": SKILL.replace(b"\n", b" "),
    "blocks": b"<skill_content>",
    "ends": b"</skill_content>",
    "pairs": b"<skill_content></skill_content>",
    "returns": b"a\r",
    "records": b"{}\n",
    "lines": b"\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_log_is_read_in_one_go(name: str) -> None:
    """The time limit of the test is the assertion: what is not linear does not end within it."""
    log = HOSTILE[name] * ((1 << 18) // len(HOSTILE[name]))
    assert told(pty=log, words=(SKILL,)).state == "unknown"


def test_a_line_that_is_too_long_is_told_and_the_rest_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steno.contracts.agent_audit.log_scan.MAX_LINE", 1000)
    found = told(stdout=b"x" * 2000 + b"\n" + MARKER)
    assert found.state == "completed"
    assert found.diagnostics == ["DONE_SIGNAL_NOT_FOUND", "LOG_LINE_TOO_LONG"]


def test_memory_does_not_grow_with_the_log() -> None:
    block = (b"x" * 99 + b"\n") * 1000
    tracemalloc.start()
    try:
        rules = Rules(terminal_signals=CODEX)
        completion(exit_code=0, signal=None, logs={"pty": (block for _ in range(20))}, rules=rules)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(block)
    finally:
        tracemalloc.stop()


def test_the_page_has_every_reason_and_every_diagnostic() -> None:
    section = PAGE.read_text().split("\n## Completion")[1].split("\n## ")[0]
    listed = set(re.findall(r"`([A-Z_]{12,})`", section))
    assert listed - {"AGENT_ENV_DONE"} == {*REASONS, *DIAGNOSTICS}
