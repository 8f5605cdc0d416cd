"""The kind of socket behind a connect: what its process made before, and what it may have inherited."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kernel_bundles import execution, line, process
from steno.views.kernel_layer import Line, Process
from steno.views.sockets_used import Kind, SocketsUsed

STREAM, DATAGRAM, CLOSED_BY_EXEC = "2:1", "2:2", 0o2000000
CLOSED_STREAM = f"2:{CLOSED_BY_EXEC | 1}"


def kind(*sockets: dict[str, Any], execs: list[dict[str, Any]] | None = None, parent: int = 1) -> Kind:
    """Of a connect of process 2, a child of 1."""
    processes = [process(1, "sh"), process(2, parent=parent, execs=execs or [])]
    lines = [*sockets, line(2, "connect", "inet:1.2.3.4:80", result="ok")]
    used = SocketsUsed(msgspec.convert(lines, list[Line]), msgspec.convert(processes, list[Process]))
    return used.kind(msgspec.convert(lines[-1], Line), "inet")


def test_a_socket_that_is_made_later_is_not_the_one() -> None:
    later = line(2, "socket", STREAM, first_ns=9_000_000_000, last_ns=9_000_000_000)
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
    assert kind(*sockets, execs=[execution("curl", at_ns=at_ns, result=result)]) is expected


def test_parents_that_are_in_a_circle_come_to_an_end() -> None:
    assert kind(line(2, "socket", DATAGRAM), parent=2) is Kind.DATAGRAM
