"""What a report counts: files, also those without a kept state; endpoints; the time of the command."""

from __future__ import annotations

from pathlib import Path

from steno.report.markdown import markdown
from steno.report.overview import DID, WORRY, answers, subject_of, when
from support.reading import opened
from support.run_builder import WRITING, RunBuilder

ELSEWHERE = "inet:203.0.113.9:53"


def facts(path: Path, question: str) -> dict[str, tuple[list[str], str]]:
    with opened(path) as folder:
        return {fact.label: (fact.lines, fact.role) for fact in answers(subject_of(folder))[question]}


def test_a_change_without_a_kept_state_is_told_and_may_worry(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").read("/a")
    path = run.call("open", "/home/.claude/settings.json", arg=WRITING, result=0).seal(tmp_path)
    words = "may have changed: its state is not kept (ignored, special, or of another user)"
    assert facts(path, DID)["Files"][0] == [
        "no file changed among those whose states are kept, 1 read",
        f"1 more path {words}: /home/.claude/settings.json",
    ]
    assert facts(path, WORRY)["Not kept"] == ([f"1 path {words}: /home/.claude/settings.json"], "warning")
    with opened(path) as folder:
        text = markdown(folder, subject_of(folder))
    assert "<summary>Files: 1 changed without a kept state</summary>" in text
    assert "- `/home/.claude/settings.json (written, ignored, special, or of another user)`" in text


def test_the_address_of_a_datagram_socket_is_not_called_reached(tmp_path: Path) -> None:
    run = RunBuilder().process("dig").call("socket", arg=2, arg2=2).connected(ELSEWHERE)
    told = facts(run.seal(tmp_path), WORRY)
    assert told["Addressed"][0] == ["1 endpoint elsewhere, address set, sending not seen: 203.0.113.9:53"]
    assert not {"Reached", "Attempted"} & set(told)


def test_a_connect_on_either_kind_of_socket_is_an_attempt(tmp_path: Path) -> None:
    run = RunBuilder().process("dig").call("socket", arg=2, arg2=1).call("socket", arg=2, arg2=2)
    run.connected(ELSEWHERE)
    told = facts(run.seal(tmp_path), WORRY)
    assert "Attempted" in told
    assert not {"Reached", "Addressed"} & set(told)


def test_the_time_is_that_of_the_command(tmp_path: Path) -> None:
    path = RunBuilder().events_at(0, 400, 1400, 1700).seal(tmp_path)
    with opened(path) as folder:
        found = subject_of(folder)
    assert found.summary is not None
    assert when(found, found.summary["run"]).endswith("UTC, for 1.00s")
