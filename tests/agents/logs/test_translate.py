"""The three levels: recorded streams word for word, and output that nobody can misuse."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.agents.stream import parser_names
from steno.errors import BadRequestError
from steno.launch.translate import structured, translate
from support.agent_streams import ENDINGS, GOLDEN, attempt, recorded, translations

TEXTS = st.text(st.characters(codec=None), max_size=30)  # with halves of surrogate pairs
ACTED_ON = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, directions, halves of pairs, ends of lines
RECORDS = st.one_of(
    TEXTS.map(lambda text: {"type": "item.completed", "item": {"type": "agent_message", "text": text}}),
    TEXTS.map(lambda text: {"type": "turn.failed", "error": {"message": text}}),
    TEXTS.map(lambda text: {"type": text, text: text}),
    st.tuples(TEXTS, TEXTS).map(
        lambda texts: {
            "type": "item.completed",
            "item": {"id": texts[0], "type": "command_execution", "command": texts[1], "server": texts[0]},
        }
    ),
)


@pytest.mark.parametrize("name", ENDINGS)
def test_a_recorded_stream_is_translated_as_it_was_agreed(name: str) -> None:
    for path, text in translations(name):
        assert text == path.read_text(), path.name


def test_every_recorded_stream_is_translated() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == set(ENDINGS)


def test_level_0_says_nothing_of_its_own() -> None:
    assert list(translate(recorded("codex-success"), 0)) == []


@pytest.mark.parametrize("level", [-1, 4])
def test_a_level_that_does_not_exist_is_refused(level: int) -> None:
    with pytest.raises(BadRequestError):
        translate(recorded("codex-success"), level)


def test_level_1_tells_the_attempt_first_and_then_every_event() -> None:
    source = recorded("claude-success")
    first, *rest = structured(source)
    assert first["type"] == "attempt"
    assert first["session"]["field"] == "session_id"
    assert first["completion"] == {"state": "completed", "reason_code": "DONE_MARKER_FOUND"}
    assert len(rest) == len(source.events)


@pytest.mark.parametrize("level", [1, 2, 3])
@given(
    stream=st.sampled_from(sorted(parser_names())),
    records=st.lists(RECORDS, max_size=4),
    stdout=st.binary(max_size=60),
    stderr=st.binary(max_size=60),
)
def test_no_level_says_anything_that_a_terminal_would_act_on(
    level: int, stream: str, records: list[dict[str, str]], stdout: bytes, stderr: bytes
) -> None:
    lines = "\n".join(map(json.dumps, records)).encode()
    text = "".join(translate(attempt(lines + b"\n" + stdout, stderr, stream=stream), level))
    text.encode()
    allowed = {"\n"} if level < 3 else {"\n", "\t"}
    assert not {unicodedata.category(character) for character in set(text) - allowed} & ACTED_ON
    if level < 3:
        assert all(isinstance(json.loads(line), dict) for line in text.splitlines())


def test_the_same_audit_files_always_give_the_same_words() -> None:
    for level in (1, 2, 3):
        assert list(translate(recorded("codex-echo"), level)) == list(
            translate(recorded("codex-echo"), level)
        )
