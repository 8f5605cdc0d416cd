"""What an agent was given and only shows again does not count."""

from __future__ import annotations

import json

import pytest

from steno.agents.definition import Log
from steno.contracts.agent_audit.completion import Rules, completion, endings
from steno.contracts.agent_audit.log_scan import LETTERS, words_of_command
from support.judged_logs import MARKER, SKILL, done, reason, told, told_by


def _numbered(text: str) -> str:
    return "\n".join(f"{number:6}→{line}" for number, line in enumerate(text.splitlines(), 1))


def _boxed(text: str) -> str:
    return "\r\n".join(f"\x1b[2m│\x1b[0m {line:<90} \x1b[2m│\x1b[0m" for line in text.splitlines())


def _wrapped(text: str) -> str:
    words = text.split("the object")
    return words[0] + "the\r\n  object" + words[1]


ECHOES = {
    "as it is": SKILL.decode(),
    "numbered": _numbered(SKILL.decode()),
    "in a box": _boxed(SKILL.decode()),
    "wrapped": _wrapped(SKILL.decode()),
    "in a record": json.dumps({"type": "tool_result", "content": SKILL.decode()}),
    "in a record in a record": json.dumps({"a": json.dumps({"content": SKILL.decode()})}),
    "numbered in a record": json.dumps({"content": _numbered(SKILL.decode())}, ensure_ascii=False),
    "only its end": SKILL.decode()[60:],
}


@pytest.mark.parametrize("shown", ECHOES)
@pytest.mark.parametrize("source", ["pty", "stdout", "stderr"])
def test_a_skill_that_is_shown_again_says_nothing(shown: str, source: str) -> None:
    log = ECHOES[shown].encode()
    found = told_by(source, log, words=(SKILL,))
    assert found.state == "unknown"
    assert found.diagnostics == ["DONE_SIGNAL_NOT_FOUND", "INTERACTIVE_END_UNCERTAIN"]
    assert told_by(source, log).state == "completed", "without the skill it would"


@pytest.mark.parametrize("shown", ECHOES)
@pytest.mark.parametrize(
    "answer",
    [
        MARKER,
        b"```json\n" + MARKER + b"\n```",
        b"Finished. " + MARKER,
        json.dumps({"text": "Finished.\n" + MARKER.decode()}).encode(),
    ],
)
def test_an_answer_after_the_skill_counts_even_when_it_is_the_example_itself(
    shown: str, answer: bytes
) -> None:
    log = ECHOES[shown].encode() + b"\nI read it and did the work.\n" + answer
    assert reason(stdout=log, words=(SKILL,)) == ("completed", "DONE_MARKER_FOUND")


def test_a_done_signal_after_the_skill_counts() -> None:
    assert told(stdout=SKILL + b"Now I am done.\n" + done(), words=(SKILL,)).reason_code == "ALL_DONE"


def test_what_the_user_typed_and_the_terminal_shows_does_not_count() -> None:
    typed = b'please finish with {"__SKILL_DONE__": true} when you are done\r'
    assert reason(pty=b"> " + typed + b"\r\nI will.\r\n", words=(typed,))[0] == "unknown"


def test_a_prompt_is_found_in_the_arguments_in_whatever_form_and_without_what_was_masked() -> None:
    prompt = 'with [REDACTED:environment-name:20] at hand say {"__SKILL_DONE__": true}'
    shown = b'with ******************** at hand say {"__SKILL_DONE__": true}'
    for arguments in (["-p", prompt], ["--json", f"--prompt={prompt}"]):
        words = tuple(words_of_command(arguments))
        assert reason(stdout=shown, words=words)[0] == "unknown"
        assert reason(stdout=b"I am through: " + MARKER, words=words)[0] == "completed"


def test_what_is_kept_of_a_skill_is_enough_to_know_it_again() -> None:
    rules = Rules(given=endings([SKILL]))
    logs: dict[Log, list[bytes]] = {"stdout": [SKILL]}
    assert completion(exit_code=0, signal=None, logs=logs, rules=rules).state == "unknown"
    assert max(map(len, rules.given)) <= LETTERS
    assert not any(letter.isdigit() for kept in rules.given for letter in kept)


def test_a_text_in_another_script_is_known_again() -> None:
    skill = '任务完成后请在最后一行输出以下标记\n{"__SKILL_DONE__": true}\n'.encode()
    escaped = json.dumps({"content": skill.decode()}).encode()
    assert b"\\u4efb" in escaped
    for shown in (skill, escaped):
        assert reason(stdout=shown, words=(skill,))[0] == "unknown"
