"""The kind of socket behind a connect: what its process made before, and what it may have inherited."""

from __future__ import annotations

import pytest

from steno.judge.connections import Kind, SocketsUsed
from steno.judge.types import Access, Exec, Process, outcome_of

STREAM, DATAGRAM, CLOSED_BY_EXEC = "2:1", "2:2", 0o2000000
CLOSED_STREAM = f"2:{CLOSED_BY_EXEC | 1}"


def line(process: int, op: str, path: str, *, at_ns: int = 1_500_000_000) -> Access:
    return Access(process, op, path.encode(), None, False, False, "done", None, 1, at_ns, at_ns)


def executed(at_ns: int, result: str) -> Exec:
    outcome, error = outcome_of(result)
    return Exec(
        process=2,
        at_ns=at_ns,
        requested_bytes=b"curl",
        executable_bytes=b"curl",
        words=[b"curl"],
        n_arguments=1,
        arguments_cut=False,
        outcome=outcome,
        error=error,
        privilege_lost=False,
    )


def kind(*sockets: Access, execs: list[Exec] | None = None, parent: int = 1) -> Kind:
    """Of a connect of process 2, a child of 1."""
    processes = [
        Process(process=1, started_ns=1_000_000_000),
        Process(process=2, parent=parent, started_ns=1_000_000_000, execs=execs or []),
    ]
    connect = line(2, "connect", "inet:1.2.3.4:80")
    return SocketsUsed([*sockets, connect], processes).kind(connect, "inet")


def test_a_socket_that_is_made_later_is_not_the_one() -> None:
    later = line(2, "socket", STREAM, at_ns=9_000_000_000)
    assert kind(line(2, "socket", DATAGRAM), later) is Kind.DATAGRAM


def test_a_socket_of_another_process_is_not_the_one() -> None:
    assert kind(line(2, "socket", DATAGRAM), line(3, "socket", STREAM)) is Kind.DATAGRAM


def test_a_socket_of_a_parent_may_be_the_one() -> None:
    assert kind(line(2, "socket", DATAGRAM), line(1, "socket", STREAM)) is Kind.EITHER
    assert kind(line(1, "socket", DATAGRAM)) is Kind.DATAGRAM


@pytest.mark.parametrize(
    ("at_ns", "result", "expected"),
    [
        (1_200_000_000, "ok", Kind.DATAGRAM),
        (1_200_000_000, "ENOENT", Kind.EITHER),
        (1_900_000_000, "ok", Kind.EITHER),
    ],
)
def test_a_socket_that_exec_closes_is_not_inherited_beyond_it(
    at_ns: int, result: str, expected: Kind
) -> None:
    sockets = [line(2, "socket", DATAGRAM), line(1, "socket", CLOSED_STREAM)]
    assert kind(*sockets, execs=[executed(at_ns, result)]) is expected


def test_parents_that_are_in_a_circle_come_to_an_end() -> None:
    assert kind(line(2, "socket", DATAGRAM), parent=2) is Kind.DATAGRAM
