"""The calls of a run in words: the verdict first, contradictions always, nothing that works on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from steno.bundle.reader import MAX_SMALL_FILE
from steno.errors import BadRequestError
from steno.evidence import layout
from steno.evidence.claims import PolicyLine, SdkLine
from steno.judge.calls.types import Calls
from steno.model.run import Run
from steno.text.safe import columns
from steno.text.style import Paint
from steno.views import calls as calls_text
from support.calls_made import EMPTY, SCOPE, TICKS, decision, said, said_call
from support.reading import opened, sealed
from support.run_builder import RunBuilder

CREATE = 0o101
IN = (10_000, 20_000)
PLAIN = Paint()


def run(policy: Sequence[PolicyLine] = (), sdk: Sequence[SdkLine] = ()) -> RunBuilder:
    """Process 1 is the agent, process 2 its server, which acts."""
    builder = RunBuilder().event(SCOPE, EMPTY).kernel(features=["cgroup"]).decided(*policy).said(*sdk)
    builder.process(start_ticks=TICKS, code=None, at=1000)
    return builder.process(parent=1, start_ticks=TICKS, code=None, at=2000)


def made(builder: RunBuilder, store: Path) -> Run:
    return opened(sealed(builder, store))


def of(builder: RunBuilder, store: Path) -> Calls:
    with made(builder, store) as found:
        return found.told_calls


def some_calls() -> RunBuilder:
    policy = [
        decision("tc_1", "read_file", at=IN, arguments={"path": "/in"}),
        decision("tc_2", "look", at=(30_000, 40_000), read_only=True),
        decision("tc_3", "write_file", at=(45_000, 46_000), decision="deny"),
    ]
    end = said("run_finished", None, None, message="All tests pass.")
    return (
        run(policy, [*said_call("tc_1", "read_file"), end])
        .call("open", "/in", at=15_000)
        .call("open", "/hidden", arg=CREATE, result=0, at=35_000)
        .by(1)
        .call("open", "/outside", arg=CREATE, at=60_000)
    )


def summarised(builder: RunBuilder, store: Path) -> list[str]:
    with made(builder, store) as found:
        return list(calls_text.summary_lines(calls_text.summary(found), "RUN", PLAIN))


def words(found: Calls, width: int | None = None, paint: Paint = PLAIN) -> list[str]:
    return list(calls_text.lines(found, paint, width=width))


def test_every_call_is_a_line_with_who_said_so_what_was_decided_and_what_was_seen(tmp_path: Path) -> None:
    lines = [line.split() for line in words(of(some_calls(), tmp_path))]
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


def test_contradictions_last_words_and_what_is_outside_follow(tmp_path: Path) -> None:
    text = "\n".join(words(of(some_calls(), tmp_path)))
    assert "  read_only_tool_wrote: only reads, it is said; it changed /hidden" in text
    assert "outside of every call: 1 changed" in text
    assert "/outside" in text
    assert 'openai-agents at the end: contradicted: it says "All tests pass"; no tests were run' in text


def test_calls_that_cannot_be_told_apart_are_named_together(tmp_path: Path) -> None:
    builder = run([decision("a", at=IN), decision("b", at=(14_000, 30_000))]).call("unlink", "/x", at=15_000)
    assert "of one of a, b: 1 changed" in words(of(builder, tmp_path))


@pytest.mark.parametrize("width", [1, 20, 40, 60, 80])
def test_no_line_is_wider_than_the_terminal_and_the_verdict_stays(tmp_path: Path, width: int) -> None:
    lines = words(of(some_calls(), tmp_path), width)
    assert max(map(columns, lines)) <= width
    if width >= 20:
        assert any(line.startswith("contradicted") for line in lines)


def test_colour_is_only_where_it_is_wanted_and_only_on_the_verdict(tmp_path: Path) -> None:
    found = of(some_calls(), tmp_path)
    assert "\x1b" not in "".join(words(found))
    painted = words(found, paint=Paint(colour=True))
    assert any(line.startswith("\x1b[31;1mcontradicted\x1b[0m  ") for line in painted)


def test_hostile_names_are_made_visible(tmp_path: Path) -> None:
    evil = "\x1b[2J\u202eevil\n"
    line = decision(f"id{evil}", f"tool{evil}", at=IN, read_only=True)
    hostile = msgspec.structs.replace(line, steno=msgspec.structs.replace(line.steno, server=evil))
    builder = run([hostile]).call("open", b"/\x1b]0;x\x07", arg=CREATE, result=0, at=15_000)
    with made(builder, tmp_path) as found:
        calls = found.told_calls
        summary = calls_text.summary(found)
    assert [call.verdict for call in calls.calls] == ["contradicted"]
    for text in [*words(calls), *calls_text.details(calls, PLAIN, width=None)]:
        assert text.isprintable()
    assert all(text.isprintable() for text in calls_text.summary_lines(summary, "RUN", PLAIN))


def test_one_call_is_told_in_full(tmp_path: Path) -> None:
    text = "\n".join(calls_text.details(of(some_calls(), tmp_path).only("tc_1"), PLAIN, width=None))
    for part in (
        '{"path":"/in"}',
        "confirmed: read_claimed: seen: /in",
        "corroborated by policy_decision",
        "/in",
    ):
        assert part in text


def test_a_call_that_is_not_there_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(BadRequestError, match="no call 'x'"):
        of(some_calls(), tmp_path).only("x")


def test_show_counts_verdicts_and_repeats_contradictions(tmp_path: Path) -> None:
    lines = summarised(some_calls(), tmp_path)
    assert lines[0] == "3 tool calls: 1 contradicted, 1 denied, 1 confirmed"
    assert lines[-4:-2] == [
        "fs.look: only reads, it is said; it changed /hidden",
        'it says "All tests pass"; no tests were run',
    ]
    assert lines[-2] == "outside of every call: 1 file changed, 0 endpoints tried"


def test_endpoints_and_sockets_are_counted_and_none_is_said_to_be_reached(tmp_path: Path) -> None:
    builder = run([decision("a", "t", at=IN)])
    for process, at in ((2, 15_000), (1, 60_000)):
        builder.by(process).connected("inet:127.0.0.1:39413", None, at=at)
        builder.connected("unix:/run/helper.sock", None, at=at)
    with made(builder, tmp_path) as opened_record:
        found, summary = opened_record.told_calls, calls_text.summary(opened_record)
    assert any("1 endpoint tried, 1 socket  a" in line for line in words(found))
    assert "outside of every call: 1 endpoint tried, 1 socket" in words(found)
    assert "  sockets   /run/helper.sock" in words(found)
    shown = list(calls_text.summary_lines(summary, "RUN", PLAIN))
    assert "outside of every call: 0 files changed, 1 endpoint tried" in shown
    assert not any("reached" in line for line in [*words(found), *shown])


def test_a_correlation_that_is_not_clean_stands_above_everything_and_in_show(tmp_path: Path) -> None:
    clean = run([decision("a", at=IN)]).call("open", "/in", at=15_000)
    assert words(of(clean, tmp_path / "clean"))[0].startswith("VERDICT")
    lines = [line for number in range(7) for line in said_call(f"tc_{number}")]
    doubtful = run([decision("a", at=IN)], [*said_call("hook\x1b_never"), *lines])
    with made(doubtful, tmp_path / "doubtful") as found:
        first = words(found.told_calls)[0]
        shown = list(calls_text.summary_lines(calls_text.summary(found), "RUN", PLAIN))
    unbound = "sdk_tool_call_without_policy_binding"
    assert first.startswith(
        "correlation: partial: call_without_effect:a, policy_events_without_kernel_events, "
    )
    assert first.endswith(f"{unbound}:hook\\x1b_never, {unbound}:tc_0, {unbound}:tc_1 and 5 more")
    assert shown[1] == first


def test_what_servers_did_outside_of_every_call_is_counted(tmp_path: Path) -> None:
    builder = run([decision("a", at=IN)]).call("open", "/x", arg=CREATE, at=60_000)
    assert "  of these by the server fs: 1 changed" in words(of(builder, tmp_path))


def test_one_long_name_does_not_widen_the_table(tmp_path: Path) -> None:
    builder = run([decision("a", "t" * 1000, at=IN), decision("b" * 256, at=(30_000, 40_000))])
    builder.call("open", "/in", at=15_000).call("open", "/in", at=35_000)
    lines = words(of(builder, tmp_path))
    assert columns(lines[0]) < 120
    assert columns(lines[1]) < 160
    assert any("b" * 256 in line for line in lines)


def test_arguments_that_the_agent_and_policy_tell_differently_are_both_shown(tmp_path: Path) -> None:
    for given, parts in (
        ("/b", ['agent says  {"path":"/b"}', 'policy saw  {"path":"/a"}']),
        ("/a", ['{"path":"/a"}']),
    ):
        lines = [decision("a", at=IN, arguments={"path": "/a"})]
        found = of(run(lines, said_call("a", input={"path": given})), tmp_path / given[1:])
        text = "\n".join(calls_text.details(found, PLAIN, width=None))
        assert [part for part in parts if part not in text] == []
        assert ("agent says" in text) == (given == "/b")


def test_show_is_silent_about_calls_in_a_run_that_has_none(tmp_path: Path) -> None:
    with made(run(), tmp_path) as found:
        assert calls_text.summary(found) is None
    assert list(calls_text.summary_lines(None, "RUN", PLAIN)) == []


def test_a_narrow_terminal_shows_all_of_a_contradiction(tmp_path: Path) -> None:
    lines = list(calls_text.lines(of(some_calls(), tmp_path), Paint(), width=40))
    text = " ".join(line.strip() for line in lines)
    assert "read_only_tool_wrote: only reads, it is said; it changed /hidden" in text
    assert all(columns(line) <= 40 for line in lines)


def test_forged_calls_in_a_bundle_are_not_believed(tmp_path: Path) -> None:
    with made(some_calls(), tmp_path) as found:
        told = found.documents.read_all(layout.CALLS, MAX_SMALL_FILE)
        assert b"contradicted" in told
        (found.path / layout.CALLS).write_bytes(told.replace(b"contradicted", b"confirmed"))
        assert found.told_calls.verdicts["contradicted"] == 1
