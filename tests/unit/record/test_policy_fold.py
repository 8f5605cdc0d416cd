"""What proxies told becomes connections and decisions; what no proxy would write is damage."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claims_told import PROXY, SERVER, closed, decided, ended, noticed, opened
from spools import RUN_ID
from steno.evidence import claims
from steno.evidence.claims import ProcessKey
from steno.record.policy_fold import MAX_CONNECTIONS, MAX_NOTICED, PolicyFold
from steno.record.told_lines import MOST_DAMAGED, Damage

LATEST = 1000


class Folded(PolicyFold):
    """The log of one proxy."""

    def __init__(self, *lines: bytes) -> None:
        super().__init__(RUN_ID, LATEST)
        self.damage = self.take(b"".join(lines), PROXY)
        self.damaged = self.damage.lines


fold = Folded


def test_a_call_gets_its_end_and_what_its_connection_is() -> None:
    found = fold(opened(), decided(), ended(), closed())
    (line,) = found.decisions()
    assert found.damaged == 0
    assert (line.tool_call_id, line.tool, line.decision) == ("tc_runner_policy_001", "read_file", "allow")
    own = line.steno
    assert (own.server, own.policy, own.server_process, own.proxy_process) == (
        "files",
        "0" * 64,
        SERVER,
        PROXY,
    )
    assert (own.start_ns, own.end_ns, own.outcome) == (10, 20, "result")
    assert claims.policy_line(claims.write(line)) == line


def test_a_call_begins_when_its_server_could_hear_it() -> None:
    (line,) = fold(opened(), decided(), ended(given_ns=15)).decisions()
    assert (line.steno.start_ns, line.steno.end_ns) == (15, 20)
    for given_ns in (9, 21):  # before the decision, after the end
        assert fold(opened(), decided(), ended(given_ns=given_ns)).damaged == 1


def test_the_event_tells_of_the_connection() -> None:
    (connection,) = fold(
        opened(), noticed("pin_mismatch"), closed(reason="server_exited", exit_code=3, signal=None)
    ).connections
    event = connection.event(0)
    assert (event.opened_ns, event.closed_ns, event.end, event.exit_code) == (1, 30, "server_exited", 3)
    assert [(one.kind, one.detail, one.at_ns) for one in event.noticed] == [("pin_mismatch", "read_file", 5)]


def test_a_connection_that_nobody_closed_has_no_end() -> None:
    (connection,) = fold(opened()).connections
    assert (connection.event(0).closed_ns, connection.event(0).end) == (None, None)


def test_calls_of_several_connections_stand_in_the_order_of_time() -> None:
    found = fold(
        opened("a"),
        opened("b"),
        decided(1, 30, "a"),
        decided(1, 20, "b"),
        decided(2, 10, "b"),
        ended(1, 40, "b"),
    )
    assert found.damaged == 0
    assert [(line.steno.connection, line.steno.start_ns) for line in found.decisions()] == [
        ("b", 10), ("b", 20), ("a", 30)
    ]  # fmt: skip


def test_a_call_without_an_end_has_none() -> None:
    (line,) = fold(opened(), decided()).decisions()
    assert (line.steno.end_ns, line.steno.outcome) == (None, None)


@pytest.mark.parametrize("decision", ["deny", "error"])
def test_a_call_that_was_refused_ended_when_it_was_decided(decision: str) -> None:
    (line,) = fold(opened(), decided(decision=decision)).decisions()
    assert (line.steno.end_ns, line.steno.outcome) == (10, "denied")


def test_in_a_dry_run_nothing_is_refused() -> None:
    (line,) = fold(opened(dry_run=True), decided(decision="deny")).decisions()
    assert (line.decision, line.steno.dry_run, line.steno.end_ns, line.steno.outcome) == (
        "deny",
        True,
        None,
        None,
    )


@pytest.mark.parametrize("first", [0, 1])
def test_calls_count_from_nought_or_one_and_a_missing_one_is_damage(first: int) -> None:
    whole = [decided(first + number, 10 + number) for number in range(3)]
    assert fold(opened(), *whole).damaged == 0
    assert fold(opened(), whole[0], whole[2]).damaged == 1


DAMAGE = {
    "no line": b"x\n",
    "another run": opened("c2", run_id="other"),
    "a time before the run": opened("c2", at_ns=-1),
    "a time that has not been": opened("c2", at_ns=LATEST + 1),
    "a connection twice": opened(),
    "a label without end": opened("c2", server="x" * 2000),
    "no label": opened("c2", server=""),
    "a process that cannot be": opened("c2", proxy_process=ProcessKey(2**60, 1)),
    "another proxy": opened("c2", proxy_process=SERVER),
    "a call of nobody": decided(1, 10, "c9"),
    "a call twice": decided(1, 12),
    "a call without an id": decided(2, 12, tool_call_id=""),
    "a number below nought": decided(-1, 12),
    "a call before its connection": decided(2, 0),
    "the end of no call": ended(7),
    "an end before its call": ended(1, 9),
    "a second end of a connection": closed() + closed(31),
    "an exit that cannot be": closed(exit_code=2**40),
    "a torn line": decided(2)[:-1],
}


@pytest.mark.parametrize("line", DAMAGE.values(), ids=DAMAGE.keys())
def test_what_no_proxy_writes_is_counted_and_left_out(line: bytes) -> None:
    found = fold(opened(), decided(), line)
    assert found.damaged == 1
    assert [one.tool_call_id for one in found.decisions()] == ["tc_runner_policy_001"]
    assert [connection.name for connection in found.connections] == ["c1"]


def test_a_second_end_of_a_call_is_damage() -> None:
    found = fold(opened(), decided(), ended(), ended(at_ns=25, outcome="tool_error"))
    assert (found.damaged, found.decisions()[0].steno.outcome) == (1, "result")


def test_what_a_proxy_notices_is_bounded() -> None:
    (connection,) = fold(opened(), *(noticed("frame_refused") for _ in range(150))).connections
    event = connection.event(0)
    assert (len(event.noticed), event.noticed_count) == (MAX_NOTICED, 150)


def test_connections_are_bounded() -> None:
    found = fold(*(opened(f"c{number}") for number in range(MAX_CONNECTIONS + 2)))
    assert (len(found.connections), found.damaged) == (MAX_CONNECTIONS, 2)


def test_a_connection_is_told_of_in_one_log_only() -> None:
    found = fold(opened(), decided())
    other = found.take(opened(proxy_process=SERVER) + decided(2) + ended(), SERVER)
    assert other == Damage(3)
    (line,) = found.decisions()
    assert (line.steno.proxy_process, line.steno.outcome) == (PROXY, None)


def test_after_too_much_damage_nothing_more_is_read() -> None:
    found = fold(opened(), b"\n" * MOST_DAMAGED, decided())
    assert found.damage == Damage(MOST_DAMAGED, len(decided()))
    assert found.decisions() == []


@given(
    st.lists(
        st.sampled_from([opened(), decided(), ended(), closed(), *DAMAGE.values()]) | st.binary(max_size=50)
    )
)
def test_on_any_lines_every_decision_can_be_written(lines: list[bytes]) -> None:
    for line in fold(*lines).decisions():
        assert claims.policy_line(claims.write(line)) == line


def test_calls_that_nobody_gave_an_id_have_the_same_ids_in_a_second_run() -> None:
    """The names of connections are made of pids: they differ from run to run, and so does their order."""

    def ids(one: str, two: str, first_ns: int, second_ns: int) -> list[str]:
        fold = PolicyFold(RUN_ID, 1000)
        log = opened(one, at_ns=first_ns, server="a") + opened(two, at_ns=second_ns, server="b")
        for name in (one, two):
            by_id, by_number = f"request:{name}:7", f"generated:{name}:2"
            log += decided(1, 10, name, tool_call_id=by_id, id_from="request", request_id="7")
            log += decided(2, 11, name, tool_call_id=by_number, id_from="generated", request_id=None)
        assert fold.take(log, PROXY) == Damage(0)
        return sorted(line.tool_call_id for line in fold.decisions())

    expected = ["generated:a:1:2", "generated:b:1:2", "request:a:1:7", "request:b:1:7"]
    assert ids("11-1", "12-1", 1, 2) == ids("95-1", "90-1", 2, 1) == expected
