"""The facts of a run: gathered from its events alone."""

from __future__ import annotations

import msgspec
import pytest

from steno.evidence import kinds
from steno.evidence.kinds import EventData
from steno.judge.facts import NoRunStartError, RunFacts
from support.kernel_tables import OBSERVED
from support.spools import FINISH, ON_TERMINAL, RUN_ID, START, STARTED_AT_MS, MemoryLayers, numbered, start


def facts_of(*data: EventData) -> RunFacts:
    return RunFacts.of(MemoryLayers(numbered(data)))


def test_a_whole_run_tells_what_happened() -> None:
    facts = facts_of(
        START,
        kinds.RepoSnapshotBefore(head="a"),
        kinds.CommandStarted(pid=7),
        kinds.CommandFinished(exit_code=130, signal="SIGINT"),
        kinds.RepoSnapshotAfter(head="b"),
        kinds.ToolVersions({"git": "2.39"}),
        kinds.StdinUnread(bytes=4, given_back=False),
        kinds.RunFinish(exit_code=130, completed=True),
    )
    assert (facts.run_id, facts.pid, facts.exit_code, facts.signal) == (RUN_ID, 7, 130, "SIGINT")
    assert facts.before is not None
    assert facts.after is not None
    assert (facts.before.head, facts.after.head) == ("a", "b")
    assert facts.command_ns == 1_000_000
    assert facts.tool_versions == {"git": "2.39"}
    assert facts.stdin_unread == 4
    assert facts.completed
    assert facts.complete
    assert (facts.started_at_ms, facts.finished_at_ms, facts.end_ns) == (
        STARTED_AT_MS,
        STARTED_AT_MS + 7,
        7_000_000,
    )


def test_a_run_that_only_began_claims_nothing() -> None:
    facts = facts_of(START)
    assert (facts.pid, facts.exit_code, facts.signal, facts.finish) == (None, None, None, None)
    assert not facts.completed
    assert not facts.complete
    assert facts.tally is None


def test_a_gap_makes_a_completed_run_incomplete() -> None:
    gap = kinds.Gap("stream_lost", "no room", 5)
    facts = facts_of(START, gap, FINISH)
    assert facts.completed
    assert not facts.complete
    assert facts.gaps == (gap,)


def test_the_last_tally_counts() -> None:
    facts = facts_of(START, *(kinds.RedactionTally(kinds.Tally(total=total)) for total in (1, 2)), FINISH)
    assert facts.tally == kinds.Tally(total=2)


def test_every_stream_that_others_held_is_named() -> None:
    facts = facts_of(
        START, kinds.TerminalHeld("terminal/stdout"), kinds.TerminalHeld("terminal/stderr"), FINISH
    )
    assert facts.held == ("terminal/stdout", "terminal/stderr")


def test_a_command_that_did_not_start_says_why() -> None:
    facts = facts_of(START, kinds.CommandNotStarted(2, "No such file or directory"), FINISH)
    assert facts.not_started == kinds.CommandNotStarted(2, "No such file or directory")
    assert facts.pid is None


@pytest.mark.parametrize("data", [[], [FINISH], [FINISH, START]])
def test_events_that_do_not_begin_with_the_start_tell_nothing(data: list[EventData]) -> None:
    with pytest.raises(NoRunStartError):
        facts_of(*data)


def test_the_command_line_can_be_given_to_a_shell() -> None:
    assert (
        facts_of(start(cmd_redacted=["echo", "it's", "a b", ""])).command_line
        == """echo 'it'"'"'s' 'a b' ''"""
    )


def test_the_size_is_known_only_on_a_terminal() -> None:
    assert facts_of(START).size is None
    assert facts_of(start(terminal=ON_TERMINAL)).size == (100, 30)
    assert facts_of(start(terminal=ON_TERMINAL)).term == "xterm"


@pytest.mark.parametrize(
    ("told", "started"),
    [
        ([], False),
        ([kinds.CommandStarted(pid=7)], True),
        ([msgspec.structs.replace(OBSERVED, events=0)], False),
        ([msgspec.structs.replace(OBSERVED, events=1)], True),
        ([OBSERVED, kinds.CommandNotStarted(errno=2, message="No such file")], False),
    ],
)
def test_a_command_was_started_when_that_was_told_or_it_was_seen_to_do_something(
    told: list[EventData], started: bool
) -> None:
    assert facts_of(START, *told).started is started
