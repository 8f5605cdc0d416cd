"""`calls.json`: who said so, what was decided, what was seen, and the words that this allows."""

from __future__ import annotations

from typing import Any

import msgspec

from support.calls_made import POLICY_LOG, calls_of, decision, key, said, said_call
from support.frames_made import FakeFrames
from support.spools import RUN_ID

CREATE = 0o101
IN = (10_000, 20_000)


def served() -> FakeFrames:
    return FakeFrames().process().process(parent=1).event("open", "/in", process=2, at=15_000)


def only(found: dict[str, Any]) -> dict[str, Any]:
    (call,) = found["calls"]
    assert isinstance(call, dict)
    return call


def events(call: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(event["corroboration"], event["rule"]) for event in call["said"]["events"]]


def test_a_run_without_calls_says_so_and_repeats_no_surface() -> None:
    assert calls_of(served()) == {
        "schema": "steno.calls.v1",
        "run_id": RUN_ID,
        "calls": [],
        "ambiguous": [],
        "unattributed": None,
        "claims": [],
    }


def test_a_decision_is_told_with_all_that_led_to_it() -> None:
    line = decision("tc", "read_file", at=IN, arguments={"path": "/in"}, read_only=True)
    call = only(calls_of(served(), [line]))
    assert (call["tool_call_id"], call["tool"], call["server"]) == ("tc", "read_file", "fs")
    assert call["decided"] == {
        "decision": "allow",
        "reason": "allowed_by_rule",
        "policy": "0" * 64,
        "dry_run": False,
        "outcome": "result",
        "source": "steno.mcp.wrap",
        "connection": "c1",
        "request_id": "1",
        "id_from": "request",
        "method": "tools/call",
        "read_only": True,
        "arguments": {"path": "/in"},
        "arguments_cut": False,
    }
    assert call["window"] == {
        "start_ns": 10_000,
        "end_ns": 20_000,
        "ended_by": "answer",
        "told_by": "policy",
        "process": 2,
    }
    assert [rule["rule"] for rule in call["rules"]] == ["call_seen", "read_only_tool_wrote", "read_claimed"]


def test_what_an_agent_says_is_self_reported_until_policy_bears_it_out() -> None:
    alone = only(calls_of(served(), [], said_call()))
    assert events(alone) == [("self_reported", None), ("self_reported", None)]
    assert (alone["said"]["corroboration"], alone["decided"]) == ("self_reported", None)
    joined = only(calls_of(served(), [decision(at=IN)], said_call()))
    assert events(joined) == [("corroborated", "policy_decision"), ("corroborated", "policy_outcome")]
    assert (joined["said"]["corroboration"], joined["said"]["rule"]) == ("corroborated", "policy_decision")


def test_an_end_that_policy_did_not_see_stays_self_reported() -> None:
    call = only(calls_of(served(), [decision(at=(10_000, None))], said_call()))
    assert events(call) == [("corroborated", "policy_decision"), ("self_reported", None)]
    assert call["said"]["corroboration"] == "self_reported"


def test_an_id_that_was_forged_for_another_tool_is_contradicted_and_not_corroborated() -> None:
    call = only(calls_of(served(), [decision(tool="write_file", at=IN)], said_call(tool="read_file")))
    assert (call["verdict"], call["said"]["corroboration"]) == ("contradicted", "self_reported")
    assert events(call) == [("self_reported", None), ("self_reported", None)]
    assert call["rules"][0] == {
        "rule": "tool_claimed",
        "result": "contradicted",
        "says": "the agent says read_file, and policy saw write_file",
    }


def test_an_id_that_stands_for_two_calls_corroborates_nothing() -> None:
    both = [decision(at=IN), decision(at=(30_000, 40_000), connection="c2")]
    found = calls_of(served(), both, said_call())
    assert [call["verdict"] for call in found["calls"]] == ["ambiguous", "ambiguous"]
    assert {events(call)[0] for call in found["calls"]} == {("self_reported", None)}


def test_a_policy_log_that_somebody_else_wrote_corroborates_nothing() -> None:
    made = served().event("open", POLICY_LOG, process=2, arg=CREATE, at=1_000)
    call = only(calls_of(made, [decision(at=IN, proxy_process=key(1))], said_call()))
    assert call["said"]["corroboration"] == "self_reported"


def test_without_a_kernel_layer_nothing_is_confirmed_or_contradicted() -> None:
    lines = [decision(tool="write_file", at=IN, arguments={"path": "/x"}, read_only=True)]
    found = calls_of(None, lines, said_call(tool="write_file"))
    call = only(found)
    assert (call["verdict"], call["seen"], found["unattributed"]) == ("unobserved", None, None)
    assert {rule["result"] for rule in call["rules"] if rule["rule"] != "tool_claimed"} == {"unobserved"}


def test_calls_stand_in_the_order_of_their_first_time() -> None:
    made = served()
    policy = [decision("late", at=(30_000, 31_000)), decision("early", at=IN)]
    sdk = [*said_call("never", at_ns=None), *said_call("between", at_ns=25_000)]
    found = calls_of(made, policy, sdk)
    assert [call["tool_call_id"] for call in found["calls"]] == ["early", "between", "late", "never"]


def test_equal_records_give_equal_bytes_and_names_are_those_of_the_surface() -> None:
    made = served().event("open", f"/runs/{RUN_ID}/x", process=2, at=16_000)
    made.event("open", b"/\xff", process=2, at=16_000).event(
        "connect", "inet:10.0.0.1:80", resolved="", process=2, at=17_000
    )
    made.exec("/bin/ls", ["ls"], process=2, at=18_000)
    found = [calls_of(made, [decision(at=IN)]) for _ in range(2)]
    assert found[0] == found[1]
    seen = only(found[0])["seen"]
    assert seen["files"]["read"] == ["/\\xff", "/in", "/runs/RUN_ID/x"]
    assert (seen["endpoints"]["connected"], seen["execs"]["ran"]) == (["10.0.0.1:80"], ["/bin/ls"])


def test_what_a_hook_tells_the_recorder_outside_of_every_call_is_no_effect() -> None:
    made = served().process(parent=1)
    for path in (f"/dev/shm/steno-intake-{RUN_ID}/hooks.ndjson", f"/runs/{RUN_ID}/spool/intake/hooks.ndjson"):
        made.event("open", path, process=3, arg=CREATE, result=0, at=30_000)
    made.event("open", "/other", process=3, arg=CREATE, result=0, at=30_000)
    unattributed = calls_of(made, [decision(at=IN)])["unattributed"]
    named = {name for names in unattributed["files"].values() for name in names}
    assert [name for name in named if "intake" in name] == []
    assert "/other" in named


def test_what_only_failed_is_told_apart() -> None:
    made = served().event("open", "/refused", process=2, result=-13, at=16_000)
    files = only(calls_of(made, [decision(at=IN)]))["seen"]["files"]
    assert (files["read"], files["attempted"]) == (["/in"], ["/refused"])


def test_what_is_nested_too_deep_to_be_told_again_does_not_stop_the_seal() -> None:
    deep: Any = "x"
    for _ in range(60):
        deep = [deep]
    call = only(calls_of(served(), [decision(at=IN, arguments=deep)], said_call(input=deep)))
    assert (call["said"]["input"], call["decided"]["arguments"]) == (None, None)


def test_the_last_words_of_an_agent_are_a_claim_even_if_they_claim_nothing() -> None:
    line = said("run_finished", None, None, message="Done.")
    (claim,) = calls_of(served(), [], [line])["claims"]
    assert (claim["event_type"], claim["corroboration"], claim["rules"]) == (
        "run_finished",
        "self_reported",
        [],
    )


# --- arguments_claimed -----------------------------------------------------------------------------------


def arguments_rule(told: Any, seen: Any, **more: Any) -> tuple[str | None, str]:
    cut = {"cut": more.pop("cut")} if "cut" in more else {}
    lines = said_call(input=told, **cut)
    call = only(calls_of(served(), [decision(at=IN, arguments=seen, **more)], lines))
    found = [rule["result"] for rule in call["rules"] if rule["rule"] == "arguments_claimed"]
    return (found[0] if found else None), call["said"]["corroboration"]


def test_an_agent_that_tells_other_arguments_than_policy_saw_is_contradicted() -> None:
    assert arguments_rule({"path": "/a", "n": 1}, {"n": 1, "path": "/a"}) == ("confirmed", "corroborated")
    assert arguments_rule({"path": "/harmless"}, {"path": "/a"}) == ("contradicted", "self_reported")
    assert arguments_rule({"n": True}, {"n": 1}) == ("contradicted", "self_reported")
    lines = said_call(input={"path": "/harmless"})
    denied = decision(at=IN, arguments={"path": "/a"}, decision="deny")
    call = only(calls_of(served(), [denied], lines))
    assert (call["verdict"], call["rules"][-1]["result"]) == ("denied", "contradicted")


def test_arguments_that_are_not_all_there_are_left_open_and_missing_ones_not_compared() -> None:
    assert arguments_rule({"a": 1}, {"a": 2}, arguments_cut=True) == ("unobserved", "corroborated")
    assert arguments_rule({"a": 1}, {"a": 2}, cut=True) == ("unobserved", "corroborated")
    assert arguments_rule({"a": ["[REDACTED:token:9]"]}, {"a": ["x"]}) == ("unobserved", "corroborated")
    assert arguments_rule({"a": 1}, {"a": {"***": 1}}) == ("unobserved", "corroborated")
    assert arguments_rule(None, {"a": 1}) == (None, "corroborated")
    assert arguments_rule({"a": 1}, None) == (None, "corroborated")


# --- outside of every call -------------------------------------------------------------------------------


def test_what_servers_did_outside_of_every_call_is_told_apart() -> None:
    made = served().process(parent=1)
    made.event("open", "/of-server", process=2, arg=CREATE, at=30_000)
    made.event("open", "/of-agent", process=1, arg=CREATE, at=30_000)
    made.event("open", "/of-idle", process=3, arg=CREATE, at=30_000)
    idle = decision("b", at=(40_000, 41_000), server=3, decision="deny", connection="c2")
    idle = msgspec.structs.replace(idle, steno=msgspec.structs.replace(idle.steno, server="idle"))
    outside = calls_of(made, [decision(at=IN), idle])["unattributed"]
    assert outside["files"]["written"] == ["/of-agent", "/of-idle", "/of-server"]
    servers = outside["by_servers"]
    assert {name: seen["files"]["written"] for name, seen in servers.items()} == {
        "fs": ["/of-server"],
        "idle": ["/of-idle"],
    }
    assert servers["idle"]["kernel_event_count"] == 2
