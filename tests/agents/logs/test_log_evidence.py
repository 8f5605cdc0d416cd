"""Whose words count: in the records of an agent those of the assistant, and never those of a tool."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.agents.catalog import Catalogue
from steno.agents.definition import Log, TerminalSignal
from steno.contracts.agent_audit import log_scan
from steno.contracts.agent_audit.completion import Completion, Rules, completion
from support.judged_logs import CODEX, END, FAILED, MARKER, SKILL, done, reason, told

CATALOGUE = Catalogue.load({})
WORDS = [MARKER.decode(), "I am done.\n" + done().decode()]


def _claude(role: str, block: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": role, "message": {"role": role, "content": [block]}, **more}


def _codex(**item: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "item_1", **item}}


def _opencode(kind: str, **part: Any) -> dict[str, Any]:
    return {"type": kind, "sessionID": "s", "part": part}


def foreign(agent: str, words: str) -> list[dict[str, Any]]:
    """Every way in which somebody else than the assistant says something in the stream of an agent."""
    records: dict[str, list[dict[str, Any]]] = {
        "claude": [
            _claude("user", {"type": "tool_result", "tool_use_id": "1", "content": words}),
            _claude("user", {"type": "tool_result", "content": [{"type": "text", "text": words}]}),
            _claude(
                "assistant", {"type": "tool_use", "id": "1", "name": "Bash", "input": {"command": words}}
            ),
            _claude("assistant", {"type": "text", "text": words}, parent_tool_use_id="1"),
            {"type": "user", "message": {"content": words}, "tool_use_result": {"stdout": words}},
        ],
        "codex": [
            _codex(type="command_execution", command=words, aggregated_output=words),
            _codex(type="mcp_tool_call", server="s", tool="t", result={"content": [{"text": words}]}),
            _codex(type="reasoning", text=words),
            {"type": "item.started", "item": {"type": "command_execution", "command": words}},
        ],
        "gemini": [
            {"type": "message", "role": "user", "content": words},
            {"type": "tool_use", "tool_id": "1", "tool_name": "shell", "parameters": {"command": words}},
            {"type": "tool_result", "tool_id": "1", "status": "success", "output": words},
        ],
        "opencode": [
            _opencode("tool_use", callID="1", tool="bash", state={"status": "completed", "output": words}),
            _opencode("reasoning", text=words),
        ],
    }
    return records[agent]


def own(agent: str, words: str) -> dict[str, Any]:
    return {
        "claude": _claude("assistant", {"type": "text", "text": words}),
        "codex": _codex(type="agent_message", text=words),
        "gemini": {"type": "message", "role": "assistant", "content": words},
        "opencode": _opencode("text", text=words),
    }[agent]


def lines(*records: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def judged(agent: str, log: str, *records: dict[str, Any]) -> str:
    logs: dict[str, Any] = {log: lines(*records)}
    return told(parser=agent, signals=CATALOGUE.get(agent).stream.signals, **logs).state


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "opencode"])
@pytest.mark.parametrize("log", ["pty", "stdout"])
def test_only_the_words_of_the_assistant_complete_an_attempt(agent: str, log: str) -> None:
    for words in WORDS:
        for record in foreign(agent, words):
            assert judged(agent, log, record) == "unknown", record
            assert judged(agent, log, record, own(agent, words)) == "completed", record


def test_without_a_parser_nobody_can_tell_whose_words_they_are() -> None:
    for record in foreign("claude", WORDS[0]):
        assert reason(stdout=lines(record), parser="plain")[0] == "completed"


def test_words_that_come_in_pieces_are_read_as_a_whole() -> None:
    for words in WORDS:
        pieces = [own("gemini", piece) | {"delta": True} for piece in (words[:20], words[20:])]
        assert judged("gemini", "stdout", *pieces) == "completed"


def test_a_line_that_is_no_record_of_the_agents_counts_as_it_is() -> None:
    assert reason(stdout=MARKER, parser="claude")[0] == "completed"
    assert reason(stdout=done(), parser="claude")[0] == "completed"
    assert reason(stdout=b"I say " + MARKER, parser="claude")[0] == "completed"


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "opencode"])
@pytest.mark.parametrize("line", [MARKER, done(), b"I say " + MARKER, b'{"said":' + MARKER + b"}"])
def test_between_the_records_of_a_stream_nobody_else_has_a_word(agent: str, line: bytes) -> None:
    stream, signals = lines(own(agent, "I failed.")), CATALOGUE.get(agent).stream.signals
    foreign_logs: list[dict[str, bytes]] = [
        {"pty": line + b"\n" + stream},
        {"pty": stream + line},
        {"stdout": stream + line + b"\n" + stream},
        {"stdout": stream, "stderr": line},
    ]
    for logs in foreign_logs:
        found = told(parser=agent, signals=signals, **logs)  # type: ignore[arg-type]
        assert (found.state, found.diagnostics[-1]) == ("unknown", "SIGNAL_OUTSIDE_RECORDS"), logs
    assert "SIGNAL_OUTSIDE_RECORDS" not in told(parser=agent, stdout=stream + b"a warning").diagnostics


def test_words_between_records_end_no_turn() -> None:
    signals = [TerminalSignal("stderr", "text", "all over", "end_of_turn")]
    assert reason(parser="codex", signals=signals, stderr=b"all over")[0] == "awaiting_user_input"
    stream = lines(own("codex", "I go on."))
    assert reason(parser="codex", signals=signals, stderr=b"all over", stdout=stream)[0] == "unknown"


_SPELLED_OTHERWISE = b'{"type":"turn\\u002ecompleted"}'
_LINES = [
    b"",
    b"a line of words",
    b"a\rb",
    b"{}",
    b'{"type": "turn.completed"',
    b"\x1b]0;title\x07hello",
    b"AGENT\x1b[0m_ENV_DONE {}",
    b"\xff",
    b"<skill_content>",
    b"</skill_content>",
    b'\\u001b[1m"__SKILL_DONE__"\\u001b[0m: true',
    b"I read it, and then I did the work.",
    *(SKILL, MARKER, MARKER.replace(b"_D", b"\x00_D"), done(), done(version="2"), END, FAILED),
    _SPELLED_OTHERWISE,
]


def _records(agent: str) -> list[bytes]:
    words = [*WORDS, "Hello,\nyou.", SKILL.decode(), "AGENT_ENV", "_DONE {}", '"__skill_done__": \x1b[1mtrue']
    found = [record for said in words for record in (*foreign(agent, said), own(agent, said))]
    pieces = [record | {"delta": True} for record in found if agent == "gemini"]
    ends = [{"type": "result", "result": MARKER.decode(), "subtype": "success", "status": "success"}]
    return [json.dumps(record).encode() for record in (*found, *pieces, *ends)]


_POOLS = {
    "plain": _LINES,
    **{agent: [*_LINES, *_records(agent) * 2] for agent in ("claude", "codex", "gemini", "opencode")},
}


@given(st.data())
def test_to_pass_over_lines_that_cannot_matter_changes_nothing(data: st.DataObject) -> None:
    agent = data.draw(st.sampled_from(sorted(_POOLS)))
    picked = data.draw(st.lists(st.sampled_from(_POOLS[agent]), max_size=12))
    log = b"".join(line + b"\r\n" for line in picked)
    signals = CODEX if agent == "plain" else CATALOGUE.get(agent).stream.signals
    given_words = data.draw(st.sampled_from([(), (SKILL,)]))

    def judged_in(size: int) -> Completion:
        blocks = [log[start : start + size] for start in range(0, len(log), size)]
        rules = Rules(parser=agent, terminal_signals=signals)
        logs: dict[Log, list[bytes]] = {"pty": blocks, "stdout": blocks}
        return completion(exit_code=0, signal=None, logs=logs, rules=rules, given=given_words)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(log_scan, "_places", _every_line)
        wanted = judged_in(1 << 20)
    assert judged_in(data.draw(st.integers(1, 99))) == wanted


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "opencode"])
def test_words_without_a_signal_are_heard_as_well(agent: str) -> None:
    """After the first record only those are read that have to do with what is said: these have."""
    head, piece = SKILL.decode().split('{"__')[0], {"delta": True} if agent == "gemini" else {}
    signals = CATALOGUE.get(agent).stream.signals

    def state(*records: dict[str, Any]) -> str:
        rules = Rules(parser=agent, terminal_signals=signals)
        blocks = [lines(own(agent, "Hello.")), *map(lines, records)]
        logs: dict[Log, list[bytes]] = {"stdout": blocks}
        return completion(exit_code=0, signal=None, logs=logs, rules=rules, given=(SKILL,)).state

    assert state(own(agent, head), own(agent, MARKER.decode())) == "unknown", "that is the skill again"
    assert state(own(agent, "Well."), own(agent, MARKER.decode())) == "completed"
    if agent == "gemini":
        halves = [own(agent, half) | piece for half in (WORDS[1][:20], WORDS[1][20:])]
        assert state(own(agent, ""), *halves) == "completed"
    if agent == "claude":
        answer = {"type": "result", "subtype": "success", "is_error": False, "result": MARKER.decode()}
        assert state(answer) == "awaiting_user_input", "it has spoken: this is no new word"


def _every_line(text: bytes, _: log_scan.Wanted) -> list[tuple[int, int]]:
    ends = [place for place, byte in enumerate(text) if byte == ord("\n")]
    return list(zip([0, *(end + 1 for end in ends)], ends, strict=False))


def test_of_lines_that_cannot_matter_none_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the work is that of a few searches, however many lines there are."""
    looked_at: list[bytes] = []
    every = log_scan.log_lines

    def collect_errors(*given: Any) -> Iterator[Any]:
        for line in every(*given):
            if isinstance(line, log_scan.LogLine):
                looked_at.append(line.json)
            yield line

    monkeypatch.setattr("steno.contracts.agent_audit.log_scan.log_lines", collect_errors)
    start = lines({"type": "thread.started", "thread_id": "1"})
    call = lines(foreign("codex", "hello")[0])
    blocks = [start, *[call * 100, b"words { of a tool }\n" * 100, b"\x1b[1mred\x1b[0m\n" * 100], END]
    rules = Rules(parser="codex", terminal_signals=CODEX, given=["someletters"])
    assert completion(exit_code=0, signal=None, logs={"stdout": blocks}, rules=rules).source == "stdout"
    assert looked_at == [start.rstrip(), END]


def test_a_record_that_cannot_be_read_says_nothing() -> None:
    deep = json.loads("[" * 70 + "]" * 70)
    record = foreign("claude", WORDS[0])[0] | {"deep": deep}
    assert judged("claude", "stdout", record) == "unknown"


def test_a_skill_that_the_assistant_quotes_is_not_its_word() -> None:
    quoted = own("codex", f"<skill_content>\n{WORDS[0]}\n</skill_content>")
    assert judged("codex", "stdout", quoted) == "unknown"


def test_a_wrong_signal_is_told_with_the_line_of_its_record() -> None:
    broken = own("codex", "Well.\n\n" + done(version="2").decode())
    found = told(parser="codex", stdout=lines({"type": "turn.started"}, broken))
    assert found.problems == ["stdout, line 2: Invalid enum value '2' - at `$.version`"]
