"""What proxies told becomes one decision for every call."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.contracts.assay import claim_lines
from steno.evidence import compat, intake
from steno.evidence.claims import PolicyLine
from steno.evidence.intake import BadIntakeError
from steno.evidence.proxy_logs import ProxyLogs
from steno.judge.claims import decisions
from support.claims_told import PROXY, SERVER, closed, decided, ended, noticed, opened
from support.spools import RUN_ID


def put_together(*lines: bytes) -> list[PolicyLine]:
    logs = ProxyLogs(RUN_ID, 1000)
    for line in lines:
        logs.take(intake.policy_told(line), PROXY)
    return decisions(logs.connections)


def test_a_call_gets_its_end_and_what_its_connection_is() -> None:
    (line,) = put_together(opened(), decided(), ended(), closed())
    assert (line.tool_call_id, line.tool, line.decision) == ("tc_runner_policy_001", "read_file", "allow")
    own = line.steno
    assert (own.server, own.policy, own.server_process, own.proxy_process) == (
        "files",
        "0" * 64,
        SERVER,
        PROXY,
    )
    assert (own.start_ns, own.end_ns, own.outcome) == (10, 20, "result")
    assert compat.folded_policy_line(claim_lines.policy_line(line)) == line


def test_a_call_begins_when_its_server_could_hear_it() -> None:
    (line,) = put_together(opened(), decided(), ended(given_ns=15))
    assert (line.steno.start_ns, line.steno.end_ns) == (15, 20)


def test_calls_of_several_connections_stand_in_the_order_of_time() -> None:
    found = put_together(
        opened("a"),
        opened("b"),
        decided(1, 30, "a"),
        decided(1, 20, "b"),
        decided(2, 10, "b"),
        ended(1, 40, "b"),
    )
    assert [(line.seq, line.steno.connection, line.steno.start_ns) for line in found] == [
        (0, "b", 10), (1, "b", 20), (2, "a", 30)
    ]  # fmt: skip


def test_a_call_without_an_end_has_none() -> None:
    (line,) = put_together(opened(), decided())
    assert (line.steno.end_ns, line.steno.outcome) == (None, None)


@pytest.mark.parametrize("decision", ["deny", "error"])
def test_a_call_that_was_refused_ended_when_it_was_decided(decision: str) -> None:
    (line,) = put_together(opened(), decided(decision=decision))
    assert (line.steno.end_ns, line.steno.outcome) == (10, "denied")


def test_in_a_dry_run_nothing_is_refused() -> None:
    (line,) = put_together(opened(dry_run=True), decided(decision="deny"))
    assert (line.decision, line.steno.dry_run, line.steno.end_ns, line.steno.outcome) == (
        "deny",
        True,
        None,
        None,
    )


@given(st.lists(st.sampled_from([opened(), opened("c2"), decided(), ended(), noticed("x"), closed()])))
def test_on_any_lines_every_decision_can_be_written(lines: list[bytes]) -> None:
    logs = ProxyLogs(RUN_ID, 1000)
    for line in lines:
        try:
            logs.take(intake.policy_told(line), PROXY)
        except BadIntakeError:
            continue
    for found in decisions(logs.connections):
        assert compat.folded_policy_line(claim_lines.policy_line(found)) == found


def test_calls_that_nobody_gave_an_id_have_the_same_ids_in_a_second_run() -> None:
    """The names of connections are made of pids: they differ from run to run, and so does their order."""

    def ids(one: str, two: str, first_ns: int, second_ns: int) -> list[str]:
        log = [opened(one, at_ns=first_ns, server="a"), opened(two, at_ns=second_ns, server="b")]
        for name in (one, two):
            by_id, by_number = f"request:{name}:7", f"generated:{name}:2"
            log.append(decided(1, 10, name, tool_call_id=by_id, id_from="request", request_id="7"))
            log.append(decided(2, 11, name, tool_call_id=by_number, id_from="generated", request_id=None))
        return sorted(line.tool_call_id for line in put_together(*log))

    expected = ["generated:a:1:2", "generated:b:1:2", "request:a:1:7", "request:b:1:7"]
    assert ids("11-1", "12-1", 1, 2) == ids("95-1", "90-1", 2, 1) == expected
