"""What may follow what in the logs of proxies; what no proxy would write leaves no trace."""

from __future__ import annotations

import pytest

from steno.evidence import intake
from steno.evidence.claims import ProcessKey
from steno.evidence.intake import BadIntakeError
from steno.evidence.proxy_logs import MAX_CONNECTIONS, MAX_NOTICED, Connection, ProxyLogs
from support.claims_told import PROXY, SERVER, closed, decided, ended, noticed, opened
from support.spools import RUN_ID

LATEST = 1000


class Logs(ProxyLogs):
    """The log of one proxy."""

    def __init__(self, *lines: bytes) -> None:
        super().__init__(RUN_ID, LATEST)
        self.refused = 0
        self.tell(PROXY, *lines)

    def tell(self, owner: ProcessKey, *lines: bytes) -> None:
        for line in lines:
            try:
                self.take(intake.policy_told(line), owner)
            except BadIntakeError:
                self.refused += 1

    @property
    def connection(self) -> Connection:
        (found,) = self.connections
        return found


def test_a_connection_is_what_its_proxy_told_of_it() -> None:
    found = Logs(opened(), decided(), ended(), noticed("pin_mismatch"), closed(exit_code=3)).connection
    assert (found.name, found.opened.server_process, list(found.calls), list(found.ends)) == (
        "c1", SERVER, [1], [1]
    )  # fmt: skip
    assert [(one.kind, one.detail, one.at_ns) for one in found.noticed] == [("pin_mismatch", "read_file", 5)]
    assert found.closed is not None
    assert (found.closed.at_ns, found.closed.exit_code) == (30, 3)


@pytest.mark.parametrize("given_ns", [9, 21])
def test_a_call_is_given_to_its_server_between_decision_and_end(given_ns: int) -> None:
    assert Logs(opened(), decided(), ended(given_ns=15)).refused == 0
    assert Logs(opened(), decided(), ended(given_ns=given_ns)).refused == 1


@pytest.mark.parametrize("first", [0, 1])
def test_calls_count_from_nought_or_one_and_later_ones_tell_which_are_missing(first: int) -> None:
    whole = [decided(first + number, 10 + number) for number in range(3)]
    assert Logs(opened(), *whole).missing == 0
    assert Logs(opened(), whole[0], whole[2]).missing == 1


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
def test_what_no_proxy_writes_is_refused_and_leaves_no_trace(line: bytes) -> None:
    found = Logs(opened(), decided(), *line.splitlines(keepends=True))
    assert found.refused == 1
    assert list(found.connection.calls) == [1]


def test_a_second_end_of_a_call_is_refused() -> None:
    found = Logs(opened(), decided(), ended(), ended(at_ns=25, outcome="tool_error"))
    assert (found.refused, found.connection.ends[1].outcome) == (1, "result")


def test_what_a_proxy_notices_is_bounded() -> None:
    found = Logs(opened(), *(noticed("frame_refused") for _ in range(150))).connection
    assert (len(found.noticed), found.noticed_count) == (MAX_NOTICED, 150)


def test_connections_are_bounded() -> None:
    found = Logs(*(opened(f"c{number}") for number in range(MAX_CONNECTIONS + 2)))
    assert (len(found.connections), found.refused) == (MAX_CONNECTIONS, 2)


def test_a_connection_is_told_of_in_one_log_only() -> None:
    found = Logs(opened(), decided())
    found.tell(SERVER, opened(proxy_process=SERVER), decided(2), ended())
    assert found.refused == 3
    assert (found.connection.opened.proxy_process, found.connection.ends) == (PROXY, {})
