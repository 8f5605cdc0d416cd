"""Windows: which call a moment of a process belongs to, and when nobody can say."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from steno.evidence import kinds
from steno.judge.calls.processes import Processes
from steno.judge.calls.types import Window
from steno.judge.calls.windows import Outside, Owner, Windows
from steno.judge.types import Process
from support.calls_made import EMPTY, HOOKS_LOG, SCOPE, calls_of, decision, key, said, said_call
from support.frames_made import FakeFrames

WRITE = 0o101
# Processes: 1 the agent, 2 its server, 3 a child of the server.
AGENT, SERVER, CHILD = 1, 2, 3


def family() -> FakeFrames:
    return FakeFrames().process().process(parent=AGENT).process(parent=SERVER)


def reads(call: dict[str, Any]) -> list[str]:
    found: list[str] = call["seen"]["files"]["read"]
    return found


def outside(found: dict[str, Any]) -> list[str]:
    names: list[str] = found["unattributed"]["files"]["read"]
    return names


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    return {call["tool_call_id"]: call["verdict"] for call in found["calls"]}


def test_a_call_has_what_its_server_and_its_descendants_did_in_its_window() -> None:
    made = family()
    made.event("open", "/early", process=SERVER, at=9_999)
    made.event("open", "/in", process=SERVER, at=10_000).event("open", "/child", process=CHILD, at=15_000)
    made.event("open", "/agent", process=AGENT, at=15_000).event("open", "/late", process=SERVER, at=20_000)
    found = calls_of(made, [decision(at=(10_000, 20_000))])
    (call,) = found["calls"]
    assert reads(call) == ["/child", "/in"]
    assert call["seen"]["kernel_event_count"] == 2
    assert outside(found) == ["/agent", "/early", "/late"]


def test_a_process_whose_parent_died_still_comes_of_its_server() -> None:
    made = family().exit(CHILD).event("process", process=4, arg=1004 | CHILD << 32, arg2=7, result=0)
    made.event("open", "/orphan", process=4, at=15_000)
    (call,) = calls_of(made, [decision(at=(10_000, 20_000))])["calls"]
    assert reads(call) == ["/orphan"]


def test_a_key_must_agree_in_number_and_in_start() -> None:
    made = FakeFrames().process().process(parent=AGENT, start_ticks=8)
    made.event("open", "/in", process=SERVER, at=15_000)
    (call,) = calls_of(made, [decision(at=(10_000, 20_000))])["calls"]
    assert (call["window"]["process"], call["seen"], call["verdict"]) == (None, None, "unobserved")


def test_a_key_that_two_processes_have_is_nobodys() -> None:
    made = family().process(pid=1002, parent=AGENT).event("open", "/in", process=SERVER, at=15_000)
    (call,) = calls_of(made, [decision(at=(10_000, 20_000))])["calls"]
    assert call["seen"] is None


def test_calls_one_after_the_other_are_told_apart() -> None:
    made = family().event("open", "/one", process=SERVER, at=11_000)
    made.event("open", "/two", process=SERVER, at=20_000)
    found = calls_of(made, [decision("a", at=(10_000, 20_000)), decision("b", at=(20_000, 30_000))])
    assert [reads(call) for call in found["calls"]] == [["/one"], ["/two"]]
    assert found["ambiguous"] == []


def test_windows_that_overlap_on_one_server_are_ambiguous_and_counted_for_nobody() -> None:
    made = family().event("open", "/alone", process=SERVER, at=11_000)
    made.event("open", "/shared", process=CHILD, at=16_000).event("open", "/last", process=SERVER, at=26_000)
    found = calls_of(made, [decision("a", at=(10_000, 20_000)), decision("b", at=(15_000, 30_000))])
    assert [reads(call) for call in found["calls"]] == [["/alone"], ["/last"]]
    assert verdicts(found) == {"a": "ambiguous", "b": "ambiguous"}
    (shared,) = found["ambiguous"]
    assert (shared["candidates"], shared["files"]["read"]) == (["a", "b"], ["/shared"])
    assert shared["kernel_event_count"] == 1
    assert outside(found) == []


def test_windows_that_overlap_on_two_servers_are_told_apart() -> None:
    made = FakeFrames().process().process(parent=AGENT).process(parent=AGENT)
    made.event("open", "/two", process=2, at=16_000).event("open", "/three", process=3, at=16_000)
    one = decision("a", at=(10_000, 20_000), server=2)
    other = decision("b", at=(15_000, 30_000), server=3, connection="c2")
    found = calls_of(made, [one, other])
    assert [reads(call) for call in found["calls"]] == [["/two"], ["/three"]]


def test_a_server_behind_a_server_shares_its_window() -> None:
    made = family().event("open", "/deep", process=CHILD, at=16_000)
    made.event("open", "/outer", process=SERVER, at=16_000)
    outer = decision("a", at=(10_000, 20_000), server=SERVER)
    inner = decision("b", at=(15_000, 18_000), server=CHILD, connection="c2")
    found = calls_of(made, [outer, inner])
    assert reads(found["calls"][0]) == ["/outer"]
    assert found["ambiguous"][0]["files"]["read"] == ["/deep"]


def test_what_was_born_in_one_call_and_works_in_another_is_ambiguous() -> None:
    made = FakeFrames().process().process(parent=AGENT)
    made.event("process", process=3, arg=1003 | SERVER << 32, arg2=7, result=0, at=12_000)
    made.event("open", "/own", process=3, at=13_000).event("open", "/between", process=3, at=22_000)
    made.event("open", "/later", process=3, at=35_000).event("open", "/server", process=SERVER, at=36_000)
    found = calls_of(made, [decision("a", at=(10_000, 20_000)), decision("b", at=(30_000, 40_000))])
    assert [reads(call) for call in found["calls"]] == [["/own"], ["/server"]]
    assert found["ambiguous"][0]["files"]["read"] == ["/later"]
    assert outside(found) == ["/between"]


def test_the_end_of_a_process_belongs_to_the_call_it_was_born_in_however_late_it_is_seen() -> None:
    made = FakeFrames().process().process(parent=AGENT)
    made.event("process", process=3, arg=1003 | SERVER << 32, arg2=7, result=0, at=12_000)
    made.event("exit", process=3, arg2=1, result=0, at=31_000).event("open", "/b", process=SERVER, at=36_000)
    found = calls_of(made, [decision("a", at=(10_000, 20_000)), decision("b", at=(30_000, 40_000))])
    assert [call["seen"]["kernel_event_count"] for call in found["calls"]] == [2, 1]
    assert "ambiguous" not in verdicts(found).values()


def test_a_denied_call_has_no_effects_whatever_its_server_does() -> None:
    made = family().event("open", "/in", process=SERVER, at=15_000)
    found = calls_of(made, [decision(at=(10_000, 20_000), decision="deny")])
    (call,) = found["calls"]
    assert (call["verdict"], call["seen"]["kernel_event_count"], reads(call)) == ("denied", 0, [])
    assert outside(found) == ["/in"]


def test_a_denied_call_takes_nothing_from_one_that_was_allowed() -> None:
    made = family().event("open", "/in", process=SERVER, at=15_000)
    both = [decision("a", at=(10_000, 20_000)), decision("b", at=(12_000, 18_000), decision="deny")]
    found = calls_of(made, both)
    assert reads(found["calls"][0]) == ["/in"]
    assert verdicts(found) == {"a": "confirmed", "b": "denied"}


def test_a_dry_run_lets_the_call_through_and_its_effects_are_its_own() -> None:
    made = family().event("open", "/in", process=SERVER, at=15_000)
    line = decision(at=(10_000, 20_000), decision="deny", dry_run=True, outcome="result")
    (call,) = calls_of(made, [line])["calls"]
    assert (reads(call), call["decided"]["dry_run"]) == (["/in"], True)


def test_a_call_without_an_end_lasts_until_the_run_ends() -> None:
    made = family().event("open", "/in", process=SERVER, at=15_000)
    (call,) = calls_of(made, [decision(at=(10_000, None))])["calls"]
    assert (reads(call), call["window"]["ended_by"]) == (["/in"], "run_end")


def test_a_call_without_an_end_lasts_no_longer_than_its_connection() -> None:
    made = (
        family()
        .event("open", "/in", process=SERVER, at=15_000)
        .event("open", "/late", process=SERVER, at=25_000)
    )
    connection = kinds.McpConnection(
        connection="c1", source="steno.mcp.wrap", server="fs", policy="0" * 64, dry_run=False,
        proxy_process=key(9), opened_ns=1, closed_ns=20_000, calls=1,
    )  # fmt: skip
    (call,) = calls_of(made, [decision(at=(10_000, None))], events=(SCOPE, EMPTY, connection))["calls"]
    assert (reads(call), call["window"]["ended_by"]) == (["/in"], "connection_end")


def test_a_call_of_the_sdk_alone_has_no_window() -> None:
    made = family().event("open", "/in", process=SERVER, at=15_000)
    found = calls_of(made, [], said_call())
    (call,) = found["calls"]
    assert (call["window"], call["verdict"]) == (None, "unobserved")
    assert outside(found) == ["/in"]


# --- hooks -----------------------------------------------------------------------------------------------


def hooked() -> FakeFrames:
    """1 the agent, 2 the hook before, 3 the hook after; between them there is room from 20,000 to 40,000."""
    made = FakeFrames().process().event("process", process=2, arg=1002 | 1 << 32, arg2=7, result=0, at=10_000)
    made.event("open", HOOKS_LOG, process=2, arg=WRITE, at=20_000)
    made.event("exit", process=2, arg2=1, result=0, at=21_000)
    made.event("process", process=3, arg=1003 | 1 << 32, arg2=7, result=0, at=40_000)
    return made.event("open", HOOKS_LOG, process=3, arg=WRITE, at=41_000)


def hook_lines(tool: str = "act", **more: Any) -> list[Any]:
    before = said("tool_call_started", "a", tool, source="claude", hook=2, agent=1, **more)
    return [before, said("tool_call_completed", "a", tool, source="claude", hook=3, agent=1)]


def test_the_window_of_a_hooked_call_lies_between_its_hooks_as_the_kernel_saw_them() -> None:
    made = hooked().event("open", "/before", process=1, at=19_000).event("open", "/in", process=1, at=20_500)
    made.event("open", "/after", process=1, at=40_000)
    found = calls_of(made, [], hook_lines())
    (call,) = found["calls"]
    assert (call["window"]["start_ns"], call["window"]["end_ns"]) == (20_000, 40_000)
    assert reads(call) == ["/in"]
    assert {"/before", "/after"} <= {*outside(found)}


def test_a_shell_that_runs_the_hook_after_ends_the_window() -> None:
    made = FakeFrames().process().process(parent=1).exit(2)
    made.event("process", process=3, arg=1003 | 1 << 32, arg2=7, result=0, at=40_000)
    made.exec("/bin/sh", ["sh", "-c", "steno hook claude"], process=3, at=41_000)
    made.event("process", process=4, arg=1004 | 3 << 32, arg2=7, result=0, at=42_000)
    before = said("tool_call_started", "a", "Glob", source="claude", hook=2, agent=1)
    after = said("tool_call_completed", "a", "Glob", source="claude", hook=4, agent=3)
    (call,) = calls_of(made, [], [before, after])["calls"]
    assert (call["window"]["end_ns"], call["window"]["process"]) == (40_000, 1)


def test_what_our_hooks_do_belongs_to_no_call() -> None:
    made = hooked().event("process", process=4, arg=1004 | 1 << 32, arg2=7, result=0, at=30_000)
    made.event("open", "/of-hook", process=4, at=31_000).event(
        "open", HOOKS_LOG, process=4, arg=WRITE, at=32_000
    )
    other = said("tool_call_started", "b", "act", source="claude", hook=4, agent=1)
    found = calls_of(made, [], [*hook_lines(), other])
    assert "/of-hook" in outside(found)


def test_a_process_that_only_says_it_is_a_hook_is_none() -> None:
    made = hooked().event("process", process=4, arg=1004 | 1 << 32, arg2=7, result=0, at=30_000)
    made.event("open", "/secret", process=4, at=31_000)
    other = said("tool_call_started", "b", "act", source="claude", hook=4, agent=1)
    by_id = {call["tool_call_id"]: call for call in calls_of(made, [], [*hook_lines(), other])["calls"]}
    assert reads(by_id["a"]) == ["/secret"]


def test_hooks_that_the_kernel_did_not_see_give_no_window() -> None:
    lines = [said("tool_call_started", source="claude", hook=8, agent=1, at_ns=1)]
    lines.append(said("tool_call_completed", source="claude", hook=9, agent=1, at_ns=9))
    (call,) = calls_of(hooked(), [], lines)["calls"]
    assert call["window"] is None


def test_an_agent_that_is_not_told_is_the_nearest_that_both_hooks_come_of() -> None:
    made = hooked().event("open", "/in", process=1, at=30_000)
    lines = [
        said("tool_call_started", source="claude", hook=2),
        said("tool_call_completed", source="claude", hook=3),
    ]
    (call,) = calls_of(made, [], lines)["calls"]
    assert (call["window"]["process"], reads(call)) == (1, ["/in"])


def test_a_tool_that_delegates_has_no_window() -> None:
    (call,) = calls_of(hooked(), [], hook_lines("Task"))["calls"]
    assert call["window"] is None


def test_a_call_that_policy_saw_too_has_the_window_of_policy_and_is_one_call() -> None:
    made = hooked().event("process", process=4, arg=1004 | 1 << 32, arg2=7, result=0, at=1_000)
    made.event("open", "/in", process=4, at=26_000).event("open", "/agent", process=1, at=26_000)
    found = calls_of(made, [decision(at=(25_000, 30_000), server=4)], hook_lines("mcp__fs__act"))
    (call,) = found["calls"]
    assert (call["window"]["told_by"], reads(call), call["verdict"]) == ("policy", ["/in"], "confirmed")


def test_what_a_server_of_a_proxy_does_is_not_what_the_agents_own_tools_do() -> None:
    made = hooked().event("process", process=4, arg=1004 | 1 << 32, arg2=7, result=0, at=1_000)
    made.event("open", "/server", process=4, at=26_000).event("open", "/own", process=1, at=26_000)
    found = calls_of(made, [decision("p", at=(25_000, 30_000), server=4)], hook_lines("Read"))
    by_id = {call["tool_call_id"]: reads(call) for call in found["calls"]}
    assert by_id == {"p": ["/server"], "a": ["/own"]}
    assert found["ambiguous"] == []


def test_what_a_proxy_does_is_in_no_window_also_where_the_server_is_the_agent_itself() -> None:
    made = FakeFrames().process().process(parent=1).process(parent=2)
    made.event("open", "/own", process=1, at=15_000).event("open", "/of-proxy", process=2, at=15_000)
    made.event("open", "/behind", process=3, at=15_000)
    line = decision(at=(10_000, 20_000), server=1, proxy_process=key(2))
    found = calls_of(made, [line])
    assert reads(found["calls"][0]) == ["/behind", "/own"]
    assert outside(found) == ["/of-proxy"]


# --- hostile ---------------------------------------------------------------------------------------------


def test_processes_that_are_their_own_ancestors_are_in_no_window() -> None:
    made = FakeFrames().process(parent=2).process(parent=1).process(parent=3)
    made.event("open", "/in", process=3, at=15_000).event("open", "/server", process=2, at=15_000)
    found = calls_of(made, [decision(at=(10_000, 20_000))])
    assert reads(found["calls"][0]) == ["/server"]


def tree(count: int, *, born_ns: int = 0) -> Processes:
    found = Processes()
    for number in range(1, count + 1):
        found.by_number[number] = Process(process=number, started_ns=born_ns, parent=number - 1)
    return found


def test_ten_thousand_calls_at_once_are_looked_up_as_one() -> None:
    windows = [Window(place, 20_000 + place, "answer", "policy", 1) for place in range(10_000)]
    found = Windows(windows, tree(1), ())
    assert found.owner(1, 15_000).owner == (9_999, True, False)
    assert found.groups.of(9_999) == 0
    assert found.owner(1, 0).owner == (0, False, False)
    assert found.owner(1, 29_998).owner == (9_999, False, False)
    assert found.owner(1, 30_000).owner == Outside(None, after=9_999)


def test_a_deep_tree_of_processes_is_walked_without_recursion() -> None:
    found = Windows([Window(0, 10, "answer", "policy", 1)], tree(50_000), ())
    assert found.owner(50_000, 5).owner == (0, False, False)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(1, 4)), max_size=8),
    st.integers(1, 4),
    st.integers(0, 31),
)
def test_one_owner_is_told_exactly_when_one_window_is_open(
    wanted: list[tuple[int, int, int]], process: int, at_ns: int
) -> None:
    """On a chain of processes that were all there before: 1 is the parent of 2, and so on."""
    windows = [Window(min(a, b), max(a, b), "answer", "policy", root) for a, b, root in wanted]
    processes = tree(4, born_ns=-1)
    found = Windows(windows, processes, ())
    owner = found.owner(process, at_ns).owner
    opened = [
        place
        for place, window in enumerate(windows)
        if window.start_ns <= at_ns < window.end_ns and (window.process or 0) <= process
    ]
    if not opened:
        assert not isinstance(owner, Owner)
    elif len(opened) == 1:
        assert owner == (opened[0], False, False)
    else:
        assert isinstance(owner, Owner)
        assert owner.several
        assert {found.groups.of(place) for place in opened} == {found.groups.of(owner.call)}
