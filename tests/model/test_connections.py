"""What came of each address that a run used, as columns: in words, and whether all of it failed."""

from __future__ import annotations

from errno import (
    EAGAIN,
    EALREADY,
    ECONNREFUSED,
    EHOSTUNREACH,
    EINPROGRESS,
    EINTR,
    EISCONN,
    EPERM,
)
from pathlib import Path

import pytest

from steno.judge import types as rows
from support.reading import opened, sealed
from support.run_builder import RunBuilder

ROOT = Path(__file__).parents[2]
ADDRESS = "inet:203.0.113.9:53"
NO_ERRNO = 32766
Did = list[tuple[str, int | None]]


def builder() -> RunBuilder:
    return RunBuilder().process("curl")


def connection(store: Path, did: Did, *sockets: tuple[int, int]) -> rows.Connection:
    run = builder()
    for family, kind in sockets:
        run.call("socket", arg=family, arg2=kind)
    for operation, result in did:
        run.call(operation, ADDRESS, result=result)
    with opened(sealed(run, store)) as found:
        (one,) = found.connections
    return one


@pytest.mark.parametrize(
    ("did", "came_of_all"),
    [
        ([("connect", 0)], "connected"),
        ([("connect", -EINPROGRESS), ("connect", -EISCONN)], "connected"),
        ([("bind", 0), ("listen", 0), ("accept", 0)], "bound; listened on; accepted"),
        (
            [("bind", 0), ("listen", 0), ("accept", -EAGAIN)],
            "bound; listened on; accept: refused or failed: EAGAIN",
        ),
        ([("send", None)], "send: attempted, outcome not seen"),
        ([("send", -EPERM), ("send", 0)], "sent to"),
        ([("connect", -ECONNREFUSED), ("send", 0)], "refused or failed: ECONNREFUSED; sent to"),
        ([("connect", NO_ERRNO)], "refused or failed: errno not seen"),
        ([("answer", 0)], None),
    ],
)
def test_what_came_of_all_that_was_tried_is_in_words(
    tmp_path: Path, did: Did, came_of_all: str | None
) -> None:
    assert connection(tmp_path, did).came_of_all == came_of_all


@pytest.mark.parametrize("error", [EINPROGRESS, EALREADY, EINTR, None])
def test_a_connect_whose_end_nobody_saw_is_no_failure_and_no_connection(
    tmp_path: Path, error: int | None
) -> None:
    one = connection(tmp_path, [("connect", None if error is None else -error), ("connect", -ECONNREFUSED)])
    assert (one.came_of_all, one.all_failed) == ("attempted, outcome not seen", False)


@pytest.mark.parametrize(
    ("did", "all_failed"),
    [
        ([("connect", -ECONNREFUSED), ("connect", -EHOSTUNREACH)], True),
        ([("connect", -ECONNREFUSED), ("send", 0)], False),
        ([("connect", -ECONNREFUSED), ("connect", 0)], False),
        ([("bind", -EPERM)], True),
        ([("answer", 0)], False),
    ],
)
def test_all_failed_where_everything_that_was_tried_is_known_to_have_failed(
    tmp_path: Path, did: Did, all_failed: bool
) -> None:
    assert connection(tmp_path, did).all_failed is all_failed


def test_a_connect_of_a_datagram_socket_only_sets_an_address(tmp_path: Path) -> None:
    one = connection(tmp_path, [("connect", 0)], (2, 2))
    assert (one.came_of_all, one.outcome) == ("address set, sending not seen",) * 2


def test_each_call_stands_with_its_own_errors(tmp_path: Path) -> None:
    did: Did = [("send", -EPERM), ("connect", -EINPROGRESS), ("connect", -ECONNREFUSED), ("bind", 0)]
    one = connection(tmp_path, did)
    assert one.calls == ["bind", "connect (ECONNREFUSED)", "send (EPERM)"]


def test_a_name_that_is_not_utf_8_is_the_one_of_the_events(tmp_path: Path) -> None:
    with opened(sealed(builder().connected(b"unix:/run/\xff"), tmp_path)) as run:
        (one,) = run.connections
        assert (one.address, one.name) == ("unix:/run/\\xff", "/run/\\xff")
        assert one.address in {event.path or event.requested for event in run.events}


def test_sockets_and_calls_without_an_address_are_rows_of_their_own(tmp_path: Path) -> None:
    run = builder().call("socket", arg=2, arg2=1).call("socket", arg=2, arg2=1).call("accept")
    with opened(sealed(run, tmp_path)) as found:
        assert list(found.unaddressed) == [
            rows.Unaddressed("socket", "inet stream", 2),
            rows.Unaddressed("accept", None, 1),
        ]
