"""What `steno agent` says of its own options, and what its JSON tells besides the attempt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steno.cli import agent
from steno.cli.main import exit_code
from steno.evidence.kinds import Gap
from steno.launch.attempt import AttemptResult
from steno.record.run import Outcome
from support.attempts_made import meta


@pytest.mark.parametrize(
    ("words", "option", "meant"),
    [
        (["start", "codex", "Fix it.", "--json"], "--json", "--json AGENT"),
        (["start", "codex", "--home=/x", "Fix it."], "--home=/x", "--home=/x AGENT"),
        (["start", "codex", "--skills", "my skills"], "--skills", "--skills 'my skills' AGENT"),
        (["resume", "0123abcd", "--translate", "1"], "--translate", "--translate 1 SEL"),
        (["resume", "0123abcd", "--translate", "--", "-v"], "--translate", "--translate [0|1|2|3] SEL"),
        (["resume", "0123abcd", "--no-hooks", "Go on."], "--no-hooks", "--no-hooks SEL"),
    ],
)
def test_an_option_of_stenos_behind_the_first_word_is_not_taken_for_the_agents(
    words: list[str], option: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["agent", *words]) == 125
    said = capsys.readouterr().err
    before = meant.rpartition(" ")[2]
    assert f"{option} is an option of Steno's, and these stand before {before}" in said
    assert f"`steno agent {words[0]} {meant} …`" in said


def test_the_agents_own_arguments_may_have_names_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(agent, "_environ", lambda: {"HOME": str(tmp_path)})
    assert exit_code(["agent", "resume", "0123abcd", "Go on.", "--", "--json"]) == 125
    assert "there is no run" in capsys.readouterr().err


def test_gaps_and_other_trouble_are_notes_of_the_json_as_they_are_lines_of_stderr(
    capsys: pytest.CaptureFixture[str],
) -> None:
    gap = Gap("processes_outlived", "1 process was alive")
    outcome = Outcome("id", Path("/nowhere"), 0, None, [gap], None, "it could not be sealed", None, 0)
    made = AttemptResult(meta(), outcome, None, ["a note"])
    assert agent._told(made, as_json=True) == 0  # noqa: SLF001 - its words
    out, err = capsys.readouterr()
    notes = json.loads(out)["notes"]
    assert notes[0] == "the record has a gap: processes_outlived: 1 process was alive"
    assert notes[1].startswith("it could not be sealed; the run's directory was removed")
    assert notes[2:] == ["a note"]
    assert all(part in err for note in notes for part in note.split("; "))
