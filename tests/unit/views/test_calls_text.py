"""The calls of a run in words: the verdict first, contradictions always, nothing that works on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calls_made import calls_of, decision, said, said_call
from frames_made import FakeFrames
from making import FINISHED, make_run, start
from steno.bundle.folder import Folder
from steno.errors import BadRequestError, UnreadableBundleError
from steno.views import calls_text
from steno.views.calls import Calls, read_calls
from steno.views.paint import Paint
from steno.views.plain import columns
from steno.views.record import Record, open_record

CREATE = 0o101
IN = (10_000, 20_000)
PLAIN = Paint()


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Record]:
    """A sealed run; what it says of calls is written by each test."""
    path = make_run(tmp_path / "runs", start(), *FINISHED)
    with Folder(path) as folder, open_record(folder) as found:
        yield found


def of(record: Record, told: dict[str, Any], *ambiguities: str) -> Calls:
    report = {"status": "partial" if ambiguities else "clean", "ambiguities": [*ambiguities]}
    (record.run.path / "calls.json").write_text(json.dumps(told))
    (record.run.path / "correlation-report.json").write_text(json.dumps(report))
    return read_calls(record)


def some_calls() -> dict[str, Any]:
    made = FakeFrames().process().process(parent=1)
    made.event("open", "/in", process=2, at=15_000).event(
        "open", "/hidden", process=2, arg=CREATE, result=0, at=35_000
    )
    made.event("open", "/outside", process=1, arg=CREATE, at=60_000)
    policy = [
        decision("tc_1", "read_file", at=IN, arguments={"path": "/in"}),
        decision("tc_2", "look", at=(30_000, 40_000), read_only=True),
        decision("tc_3", "write_file", at=(45_000, 46_000), decision="deny"),
    ]
    end = said("run_finished", None, None, message="All tests pass.")
    return calls_of(made, policy, [*said_call("tc_1", "read_file"), end])


def words(found: Calls, width: int | None = None, paint: Paint = PLAIN) -> list[str]:
    return list(calls_text.lines(found, paint, width=width))


def test_every_call_is_a_line_with_who_said_so_what_was_decided_and_what_was_seen(record: Record) -> None:
    lines = [line.split() for line in words(of(record, some_calls()))]
    assert [
        "confirmed",
        "fs.read_file",
        "openai-agents,",
        "corroborated",
        "allow",
        "1",
        "read",
        "tc_1",
    ] in lines
    assert ["contradicted", "fs.look", "-", "allow", "1", "changed", "tc_2"] in lines
    assert ["denied", "fs.write_file", "-", "deny:", "denied_by_rule", "nothing", "tc_3"] in lines


def test_contradictions_last_words_and_what_is_outside_follow(record: Record) -> None:
    text = "\n".join(words(of(record, some_calls())))
    assert "  read_only_tool_wrote: only reads, it is said; it changed /hidden" in text
    assert "outside of every call: 1 changed" in text
    assert "/outside" in text
    assert 'openai-agents at the end: contradicted: it says "All tests pass"; no tests were run' in text


def test_calls_that_cannot_be_told_apart_are_named_together(record: Record) -> None:
    made = FakeFrames().process().process(parent=1).event("unlink", "/x", process=2, at=15_000)
    told = calls_of(made, [decision("a", at=IN), decision("b", at=(14_000, 30_000))])
    assert "of one of a, b: 1 changed" in words(of(record, told))


@pytest.mark.parametrize("width", [1, 20, 40, 60, 80])
def test_no_line_is_wider_than_the_terminal_and_the_verdict_stays(record: Record, width: int) -> None:
    lines = words(of(record, some_calls()), width)
    assert max(map(columns, lines)) <= width
    if width >= 20:
        assert any(line.startswith("contradicted") for line in lines)


def test_colour_is_only_where_it_is_wanted_and_only_on_the_verdict(record: Record) -> None:
    found = of(record, some_calls())
    assert "\x1b" not in "".join(words(found))
    painted = words(found, paint=Paint(colour=True))
    assert any(line.startswith("\x1b[31;1mcontradicted\x1b[0m  ") for line in painted)


def test_hostile_names_are_made_visible(record: Record) -> None:
    evil = "\x1b[2J\u202eevil\n"
    made = (
        FakeFrames()
        .process()
        .process(parent=1)
        .event("open", b"/\x1b]0;x\x07", process=2, arg=CREATE, at=15_000)
    )
    told = calls_of(made, [decision(f"id{evil}", f"tool{evil}", at=IN, read_only=True, server=2)])
    told["calls"][0]["server"] = evil
    found = of(record, told)
    for line in [*words(found), *calls_text.details(found, PLAIN, width=None)]:
        assert line.isprintable()
    summary = calls_text.summary(record)
    assert all(line.isprintable() for line in calls_text.summary_lines(summary, record.run_id, PLAIN))


def test_one_call_is_told_in_full(record: Record) -> None:
    text = "\n".join(calls_text.details(of(record, some_calls()).only("tc_1"), PLAIN, width=None))
    for part in (
        '{"path":"/in"}',
        "confirmed: read_claimed: seen: /in",
        "corroborated by policy_decision",
        "/in",
    ):
        assert part in text


def test_a_call_that_is_not_there_is_refused_with_a_hint(record: Record) -> None:
    with pytest.raises(BadRequestError, match="no call 'x'"):
        of(record, some_calls()).only("x")


def test_show_counts_verdicts_and_repeats_contradictions(record: Record) -> None:
    of(record, some_calls())
    lines = list(calls_text.summary_lines(calls_text.summary(record), "RUN", PLAIN))
    assert lines[0] == "3 tool calls: 1 contradicted, 1 denied, 1 confirmed"
    assert lines[1:3] == [
        "fs.look: only reads, it is said; it changed /hidden",
        'it says "All tests pass"; no tests were run',
    ]
    assert lines[3] == "outside of every call: 1 file changed, 0 endpoints tried"


def test_endpoints_and_sockets_are_counted_and_none_is_said_to_be_reached(record: Record) -> None:
    made = FakeFrames().process().process(parent=1)
    for process, at in ((2, 15_000), (1, 60_000)):
        made.event("connect", "inet:127.0.0.1:39413", resolved="", process=process, at=at)
        made.event("connect", "unix:/run/helper.sock", resolved="", process=process, at=at)
    found = of(record, calls_of(made, [decision("a", "t", at=IN)]))
    assert any("1 endpoint tried, 1 socket  a" in line for line in words(found))
    assert "outside of every call: 1 endpoint tried, 1 socket" in words(found)
    assert "  sockets   /run/helper.sock" in words(found)
    shown = list(calls_text.summary_lines(calls_text.summary(record), "RUN", PLAIN))
    assert "outside of every call: 0 files changed, 1 endpoint tried" in shown
    assert not any("reached" in line for line in [*words(found), *shown])


def test_a_correlation_that_is_not_clean_stands_above_everything_and_in_show(record: Record) -> None:
    assert words(of(record, some_calls()))[0].startswith("VERDICT")
    doubts = [f"effects_after_call:tc_{number}" for number in range(7)]
    found = of(record, some_calls(), "hook\x1b_never", *doubts)
    first = words(found)[0]
    assert first.startswith("correlation: partial: hook\\x1b_never, effects_after_call:tc_0, ")
    assert first.endswith(" and 3 more")
    shown = list(calls_text.summary_lines(calls_text.summary(record), "RUN", PLAIN))
    assert shown[1] == first


def test_what_servers_did_outside_of_every_call_is_counted(record: Record) -> None:
    made = FakeFrames().process().process(parent=1).event("open", "/x", process=2, arg=CREATE, at=60_000)
    told = calls_of(made, [decision("a", at=IN)])
    assert "  of these by the server fs: 1 changed" in words(of(record, told))


def test_one_long_name_does_not_widen_the_table(record: Record) -> None:
    made = FakeFrames().process().process(parent=1)
    told = calls_of(made, [decision("a", "t" * 1000, at=IN), decision("b" * 256, at=(30_000, 40_000))])
    lines = words(of(record, told))
    assert columns(lines[0]) < 120
    assert columns(lines[1]) < 160
    assert any("b" * 256 in line for line in lines)


def test_arguments_that_the_agent_and_policy_tell_differently_are_both_shown(record: Record) -> None:
    made = FakeFrames().process().process(parent=1)
    for given, parts in (
        ("/b", ['agent says  {"path":"/b"}', 'policy saw  {"path":"/a"}']),
        ("/a", ['{"path":"/a"}']),
    ):
        lines = [decision("a", at=IN, arguments={"path": "/a"})]
        told = calls_of(made, lines, said_call("a", input={"path": given}))
        text = "\n".join(calls_text.details(of(record, told), PLAIN, width=None))
        assert [part for part in parts if part not in text] == []
        assert ("agent says" in text) == (given == "/b")


def test_show_is_silent_about_calls_in_a_run_that_has_none(record: Record) -> None:
    assert calls_text.summary(record) is None
    assert list(calls_text.summary_lines(None, "RUN", PLAIN)) == []


@pytest.mark.parametrize("data", [b"", b"[]", b'{"calls":[1]}', b"{"])
def test_a_file_that_is_damaged_is_told_as_an_error_of_the_bundle(record: Record, data: bytes) -> None:
    (record.run.path / "calls.json").write_bytes(data)
    with pytest.raises(UnreadableBundleError):
        read_calls(record)


def test_a_narrow_terminal_shows_all_of_a_contradiction(record: Record) -> None:
    lines = list(calls_text.lines(of(record, some_calls()), Paint(), width=40))
    text = " ".join(line.strip() for line in lines)
    assert "read_only_tool_wrote: only reads, it is said; it changed /hidden" in text
    assert all(columns(line) <= 40 for line in lines)


def test_what_is_made_again_does_not_believe_a_forged_file(record: Record) -> None:
    of(record, some_calls())
    assert read_calls(record, again=True).calls == []
