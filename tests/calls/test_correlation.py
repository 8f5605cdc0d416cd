"""`correlation-report.json`: joins that are there, joins that are not, no clean that joined nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steno import judge
from steno.evidence import kinds
from support.calls_judged import child, hooked
from support.calls_made import BORN, EMPTY, SCOPE, calls_of, decision, report_of, said, said_call
from support.frames_made import FakeFrames, Found
from support.kernel_tables import OBSERVED
from support.spools import RUN_ID

CREATE = 0o101
IN = (10_000, 20_000)


def served() -> FakeFrames:
    """1 the agent, 2 its server, which opens a file in the window of the call."""
    return FakeFrames().process().process(parent=1).event("open", "/in", process=2, at=15_000)


def ambiguities(*run: Any, **more: Any) -> list[str]:
    report = report_of(*run, **more)
    assert report["status"] == "partial"
    found: list[str] = report["ambiguities"]
    assert found == sorted(set(found))
    return found


def test_an_allowed_call_that_was_seen_is_bound_and_the_report_is_clean() -> None:
    assert report_of(served(), [decision("tc_1", at=IN)], shim="none") == {
        "schema": "steno.correlation-report.v1",
        "run_id": RUN_ID,
        "status": "clean",
        "bindings": [
            {
                "tool_call_id": "tc_1",
                "policy_decision": "allow",
                "cgroup_id": 77,
                "kernel_event_count": 1,
                "window": {"start": "2026-01-25T12:00:00.000010Z", "end": "2026-01-25T12:00:00.000020Z"},
            }
        ],
        "ambiguities": [],
    }


def test_only_the_rows_of_its_own_window_and_processes_are_counted() -> None:
    made = served().event("stat", "/in", process=2, at=16_000).event("open", "/x", process=1, at=16_000)
    made.event("open", "/y", process=2, at=25_000)
    (binding,) = report_of(made, [decision(at=IN)])["bindings"]
    assert binding["kernel_event_count"] == 2


def test_a_denied_call_is_bound_without_events_and_may_be_clean() -> None:
    report = report_of(served(), [decision(at=IN, decision="deny", server=None)])
    assert (report["status"], report["bindings"][0]["kernel_event_count"]) == ("clean", 0)


def test_without_calls_the_best_kernel_layer_is_partial_because_nothing_is_joined() -> None:
    report = report_of(served())
    assert (report["status"], report["bindings"]) == ("partial", [])
    assert report["ambiguities"] == ["policy_layer_absent", "sdk_layer_absent"]


def test_a_layer_that_is_absent_or_partial_is_an_ambiguity() -> None:
    assert "kernel_layer_absent" in ambiguities(None, [decision(at=IN)])
    lossy = msgspec.structs.replace(BORN, ring_lost=1)
    assert ambiguities(served(), [decision(at=IN)], observed=lossy) == ["kernel_layer_partial"]
    refused = (kinds.CgroupScope(reason="read_only"),)
    assert ambiguities(served(), [decision(at=IN)], events=refused) == ["cgroup_scope_absent:read_only"]
    assert ambiguities(served(), [], said_call()) == ["policy_layer_absent"]


def test_events_that_cannot_be_tied_to_the_scope_fail_the_report() -> None:
    report = report_of(served(), [decision(at=IN)], observed=OBSERVED)
    assert report["status"] == "failed"
    assert report["ambiguities"] == ["cgroup_correlation_failed:not_born_into_scope"]


def test_an_sdk_layer_is_missed_only_where_a_shim_was_asked_for() -> None:
    assert report_of(served(), [decision(at=IN)], shim="auto")["ambiguities"] == []
    assert ambiguities(served(), [decision(at=IN)], shim="openai-agents") == ["sdk_layer_absent"]
    expected = ["hooks_never_fired", "sdk_layer_absent"]
    assert ambiguities(served(), [decision(at=IN)], shim="claude") == expected


def test_an_sdk_id_that_policy_knows_is_joined() -> None:
    assert report_of(served(), [decision(at=IN)], said_call())["status"] == "clean"


def test_an_sdk_id_without_a_binding_has_the_words_of_the_contract() -> None:
    found = ambiguities(served(), [decision("tc_policy", at=IN)], said_call("tc_sdk_only"))
    assert found == ["sdk_tool_call_without_policy_binding:tc_sdk_only"]


@pytest.mark.parametrize(("tool", "missed"), [("Bash", False), ("mcp__fs__act", True)])
def test_of_an_agent_with_hooks_only_tools_of_servers_go_through_policy(tool: str, missed: bool) -> None:
    lines = said_call("t", tool, source="claude")
    found = report_of(served(), [decision(at=IN)], lines)["ambiguities"]
    assert ("sdk_tool_call_without_policy_binding:t" in found) == missed


def test_sdk_lines_alone_bind_nothing() -> None:
    assert report_of(served(), [], said_call())["bindings"] == []


def test_a_call_that_shows_nothing_is_told() -> None:
    quiet = FakeFrames().process().process(parent=1)
    expected = ["call_without_effect:a", "policy_events_without_kernel_events"]
    assert ambiguities(quiet, [decision(at=IN)]) == expected
    both = [decision("a", at=IN), decision("b", at=(30_000, 40_000))]
    assert ambiguities(served(), both) == ["call_without_effect:b"]


def test_a_server_that_was_not_seen_is_told() -> None:
    found = ambiguities(served(), [decision(at=IN, server=9)])
    assert found == ["policy_events_without_kernel_events", "server_process_not_seen:a"]
    assert "server_process_not_seen:a" in ambiguities(served(), [decision(at=IN, server=None)])


def test_windows_that_overlap_on_one_server_have_the_words_of_the_contract_and_others_do_not() -> None:
    both = [decision("a", at=IN), decision("b", at=(14_000, 30_000))]
    assert ambiguities(served(), both) == ["session_cgroup_ambiguous_for_multiple_policy_events"]
    assert [one["kernel_event_count"] for one in report_of(served(), both)["bindings"]] == [0, 0]
    apart = [decision("a", at=IN), decision("b", at=(14_000, 30_000), server=3, connection="c2")]
    made = served().process(parent=1).event("open", "/other", process=3, at=15_000)
    assert report_of(made, apart)["status"] == "clean"


def test_a_call_without_an_end_is_told() -> None:
    assert ambiguities(served(), [decision(at=(10_000, None))]) == ["tool_call_without_end:a"]
    began = said("tool_call_started", "x", "Bash", source="claude")
    assert "tool_call_without_end:x" in ambiguities(served(), [decision(at=IN)], [began])


def test_a_call_that_begins_after_the_run_has_ended_is_a_disorder_of_clocks() -> None:
    assert "clock_disorder" in ambiguities(served(), [decision(at=(10**12, 10**12 + 1))])


def test_a_decision_that_was_not_enforced_is_told_and_counts_nothing_here() -> None:
    line = decision(at=IN, decision="deny", dry_run=True, outcome="result")
    report = report_of(served(), [line])
    assert report["ambiguities"] == ["policy_not_enforced:a"]
    assert report["bindings"][0]["kernel_event_count"] == 0


@pytest.mark.parametrize(
    "other",
    [{"connection": "c1", "request_id": "2"}, {"connection": "c2"}],
    ids=["two events", "two connections"],
)
def test_an_id_that_stands_for_two_calls_is_told(other: dict[str, Any]) -> None:
    made = served().event("open", "/two", process=2, at=35_000)
    both = [decision(at=IN), decision(at=(30_000, 40_000), **other)]
    assert ambiguities(made, both, said_call()) == ["tool_call_id_reused:a"]


def test_a_call_that_asked_for_more_is_made_again_under_its_id() -> None:
    made = served().event("open", "/two", process=2, at=35_000)
    both = [decision(at=IN, outcome="input_required"), decision(at=(30_000, 40_000))]
    assert report_of(made, both, said_call())["status"] == "clean"
    elsewhere = [both[0], decision(at=(30_000, 40_000), connection="c2")]
    assert ambiguities(made, elsewhere) == ["tool_call_id_reused:a"]


def test_an_sdk_that_starts_one_id_twice_is_told() -> None:
    lines = [*said_call(), *said_call()]
    assert ambiguities(served(), [decision(at=IN)], lines) == ["tool_call_id_reused:a"]


def test_an_agent_that_names_another_tool_is_told() -> None:
    lines = said_call(tool="look_only")
    assert ambiguities(served(), [decision(at=IN)], lines) == ["sdk_tool_name_differs:a"]
    for same in ("act", "mcp__fs__act", "fs.act", "mcp_fs_act"):
        assert report_of(served(), [decision(at=IN)], said_call(tool=same))["status"] == "clean"


def test_an_sdk_log_that_was_refused_is_told() -> None:
    refused = kinds.SdkIntake(shim="openai-agents", lines=0, hooks=0, refused="wrong_schema", refused_line=1)
    found = ambiguities(served(), [decision(at=IN)], events=(SCOPE, EMPTY, refused))
    assert found == ["sdk_log_refused:wrong_schema"]


def test_every_fixed_string_and_every_rule_is_in_the_docs() -> None:
    source = Path(judge.__file__).parent / "calls"
    docs = (Path(__file__).parents[2] / "docs" / "calls.md").read_text()
    report, rules, logs = ((source / name).read_text() for name in ("correlation.py", "checks.py", "join.py"))
    told = re.findall(r'(?:yield f?|: )"([a-z_]+)', report)
    told += re.findall(r'^_\w+ = "([a-z_]+)"', logs, re.MULTILINE)
    told += re.findall(r'(?:Check\(|rule, command = |rule = |_path_claimed\()"([a-z_]+)"', rules)
    assert len(told) > 25
    assert [name for name in {*told, "tests_claimed"} if name not in docs] == []


def test_claims_that_are_missing_are_told() -> None:
    gap = kinds.Gap(reason="policy_log_damaged", detail="1 line")
    found = ambiguities(served(), [decision(at=IN)], events=(SCOPE, EMPTY, gap))
    assert found == ["claims_incomplete:policy_log_damaged"]


def test_a_hook_that_did_not_fire_for_a_call_of_its_agent_is_told() -> None:
    line = decision(at=IN, id_from="_meta.claudecode/toolUseId")
    other = said("tool_call_started", "h", "Bash", source="claude", hook=9)
    done = said("tool_call_completed", "h", "Bash", source="claude", hook=9)
    assert ambiguities(served(), [line], [other, done]) == ["hook_never_fired:a"]


def test_with_shim_none_nothing_that_was_said_counts() -> None:
    assert report_of(served(), [decision(at=IN)], said_call("x"), shim="none")["status"] == "clean"


def test_what_a_server_changes_after_a_call_is_told_until_the_next_call_of_its_line() -> None:
    late = served().event("open", "/late", process=2, arg=CREATE, at=25_000)
    both = [decision("a", at=IN), decision("b", at=(30_000, 40_000))]
    seen = late.event("open", "/in", process=2, at=35_000)
    assert ambiguities(seen, both) == ["effects_after_call:a"]
    later = served().event("open", "/in", process=2, at=35_000)
    later.event("unlink", "/late", process=2, state=Found(), at=45_000)
    assert ambiguities(later, both) == ["effects_after_call:b"]
    before = served().event("open", "/early", process=2, arg=CREATE, at=5_000)
    assert report_of(before, [decision(at=IN)])["status"] == "clean"


def test_what_a_daemon_that_was_born_in_a_call_changes_later_is_told_of_that_call() -> None:
    made = FakeFrames().process().process(parent=1)
    made.event("process", process=3, arg=1003 | 2 << 32, arg2=7, result=0, at=15_000)
    made.event("exit", process=2, arg2=1, result=0, at=21_000)
    made.event("open", "/late", process=3, arg=CREATE, at=25_000)
    assert ambiguities(made, [decision(at=IN)]) == ["effects_after_call:a"]


@pytest.mark.parametrize("outcome", ["cancelled", "client_gone"])
def test_a_call_that_was_left_before_its_answer_and_goes_on_is_told(outcome: str) -> None:
    made = served().event("open", "/late", process=2, arg=CREATE, at=25_000)
    assert ambiguities(made, [decision(at=IN, outcome=outcome)]) == ["effects_after_call:a"]
    (call,) = calls_of(made, [decision(at=IN, outcome=outcome)])["calls"]
    assert call["window"]["ended_by"] == outcome


def test_a_child_of_an_agents_tool_that_works_on_is_told_without_policy_too() -> None:
    made = child(hooked()).event("open", "/late", process=4, arg=CREATE, at=60_000)
    lines = [
        said("tool_call_started", "h", "Bash", source="claude", hook=2, agent=1),
        said("tool_call_completed", "h", "Bash", source="claude", hook=3, agent=1),
    ]
    assert "effects_after_call:h" in ambiguities(made, [], lines)
