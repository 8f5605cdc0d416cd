"""The network of a run: endpoints, who used them and how often; unix sockets apart."""

from __future__ import annotations

from errno import EACCES, ECONNREFUSED, EINPROGRESS, EISCONN, ENETUNREACH, ETIMEDOUT
from pathlib import Path
from typing import Any

import pytest

from steno.text.safe import columns
from steno.text.style import Paint
from steno.views import net
from support.reading import opened, sealed
from support.run_builder import RunBuilder

EVIL = "unix:/\x1b]0;owned\x07\u202e\n"
SECOND = 1_000_000_000


def run() -> RunBuilder:
    """What follows is done by `make`, process 1; process 2 is `curl`."""
    return RunBuilder().process("make").process("curl", parent=1).by(1)


def both(
    store: Path, builder: RunBuilder, width: int | None = None, *, colour: bool = False
) -> tuple[list[str], dict[str, Any]]:
    with opened(sealed(builder, store)) as run:
        return list(net.lines(run, Paint(colour=colour), width=width)), net.to_json(run)


def with_sockets(*kinds: str) -> RunBuilder:
    """Made by process 2."""
    builder = run().by(2)
    for family, kind in (numbers.split(":") for numbers in kinds):
        builder.call("socket", arg=int(family), arg2=int(kind))
    return builder


def test_calls_to_one_endpoint_are_put_together(tmp_path: Path) -> None:
    text, data = both(
        tmp_path,
        run()
        .call("send", "inet:1.2.3.4:80", at=2 * SECOND)
        .by(2)
        .connected("inet:1.2.3.4:80", None, at=5 * SECOND)
        .connected("inet:1.2.3.4:80", None, times=2, at=9 * SECOND)
        .connected("inet6:[::1]:443", None, at=9 * SECOND + SECOND // 2),
    )
    unknown = ["attempted,", "outcome", "not", "seen"]
    assert text[0].split() == ["FIRST", "COUNT", "CALLS", "ENDPOINT", "OUTCOME", "PROCESSES"]
    assert text[1].split() == [
        "2.00s",
        "4",
        "connect,",
        "send",
        "1.2.3.4:80",
        *unknown,
        "make[1],",
        "curl[2]",
    ]
    assert text[2].split() == ["9.50s", "1", "connect", "[::1]:443", *unknown, "curl[2]"]
    assert data["endpoints"][0] == {
        "address": "inet:1.2.3.4:80",
        "family": "inet",
        "name": "1.2.3.4:80",
        "operations": {"connect": 3, "send": 1},
        "results": {"unknown": 4},
        "outcome": "attempted, outcome not seen",
        "processes": [1, 2],
        "count": 4,
        "first_ns": 2_000_000_000,
        "last_ns": 9_000_000_000,
    }


def test_unix_sockets_stand_apart(tmp_path: Path) -> None:
    text, data = both(
        tmp_path,
        run()
        .connected("inet:1.2.3.4:80")
        .connected("unix:/run/x.sock")
        .call("bind", "unix:@abstract")
        .connected("unix:found.sock", resolved="/run/found.sock"),
    )
    assert text[2] == ""
    assert text[3].split()[3:5] == ["UNIX", "SOCKET"]
    names = ["/run/x.sock", "@abstract", "/run/found.sock"]
    assert [one["name"] for one in data["unix_sockets"]] == names
    assert {one["family"] for one in data["unix_sockets"]} == {"unix"}
    assert [one["name"] for one in data["endpoints"]] == ["1.2.3.4:80"]


def test_an_error_that_is_known_is_told(tmp_path: Path) -> None:
    text, data = both(tmp_path, run().connected("inet:10.0.0.1:22", -EACCES))
    assert "connect (EACCES)" in text[1]
    assert data["endpoints"][0]["results"] == {"EACCES": 1}


@pytest.mark.parametrize(
    ("results", "outcome", "is_bad"),
    [
        ([0], "connected", False),
        ([-EINPROGRESS], "attempted, outcome not seen", False),
        ([None], "attempted, outcome not seen", False),
        ([-EINPROGRESS, -EISCONN], "connected", False),
        ([-ECONNREFUSED], "refused or failed: ECONNREFUSED", True),
        ([-ETIMEDOUT, -ECONNREFUSED], "refused or failed: ECONNREFUSED, ETIMEDOUT", True),
        ([-ECONNREFUSED, -EINPROGRESS], "attempted, outcome not seen", True),
        ([-ECONNREFUSED, 0], "connected", True),
    ],
)
def test_the_outcome_of_connecting_is_what_is_known_of_it(
    tmp_path: Path, results: list[int | None], outcome: str, is_bad: bool
) -> None:
    builder = run()
    for result in results:
        builder.connected("inet:10.0.0.1:22", result)
    painted, data = both(tmp_path, builder, colour=True)
    assert data["endpoints"][0]["outcome"] == outcome
    assert outcome in painted[1]
    assert ("\x1b" in painted[1]) == is_bad


def test_a_narrow_terminal_shows_the_address_and_the_outcome(tmp_path: Path) -> None:
    text, _ = both(tmp_path, run().connected("inet:198.51.100.107:44300"), width=40)
    assert text == ["ENDPOINT", "198.51.100.107:44300", "  connected"]


def test_sockets_and_calls_without_an_address_are_counted(tmp_path: Path) -> None:
    builder = with_sockets("2:524289", "2:524289", "99:77").call("listen")
    for _ in range(4):
        builder.call("accept")
    text, data = both(tmp_path, builder)
    assert text == [
        "inet stream: 2 sockets",
        "family 99 type 77: 1 socket",
        "accept on a descriptor: 4",
        "listen on a descriptor: 1",
    ]
    assert data["sockets"] == {"2:524289": 2, "99:77": 1}
    assert data["addressless"] == {"listen": 1, "accept": 4}


def test_sockets_that_are_called_the_same_are_counted_together(tmp_path: Path) -> None:
    text, data = both(tmp_path, with_sockets("10:2", "10:524290", "10:524290"))
    assert text == ["inet6 datagram: 3 sockets"]
    assert data["sockets"] == {"10:2": 1, "10:524290": 2}


@pytest.mark.parametrize("address", ["netlink:", "family:0", "family:?"])
def test_an_address_without_a_peer_is_no_endpoint(tmp_path: Path, address: str) -> None:
    _, data = both(tmp_path, run().connected(address).call("bind", address))
    assert data["endpoints"] == []


STREAM, DATAGRAM = "2:1", "2:524290"


@pytest.mark.parametrize(
    ("sockets", "result", "outcome"),
    [
        ([], 0, "connected"),
        ([STREAM], 0, "connected"),
        ([DATAGRAM], 0, "address set, sending not seen"),
        (["10:2"], 0, "address set, sending not seen"),
        (["10:1"], 0, "connected"),
        ([DATAGRAM], None, "attempted, outcome not seen"),
        ([DATAGRAM], -ENETUNREACH, "refused or failed: ENETUNREACH"),
        ([STREAM, DATAGRAM], 0, "connected, or only an address set"),
        (["43:1", DATAGRAM], 0, "connected, or only an address set"),
        ([STREAM, DATAGRAM], -EINPROGRESS, "attempted, outcome not seen"),
    ],
)
def test_a_datagram_socket_that_is_connected_only_has_an_address(
    tmp_path: Path, sockets: list[str], result: int | None, outcome: str
) -> None:
    _, data = both(tmp_path, with_sockets(*sockets).connected("inet:203.0.113.9:53", result))
    assert [one["outcome"] for one in data["endpoints"]] == [outcome]


def test_what_is_no_network_is_not_told(tmp_path: Path) -> None:
    text, data = both(tmp_path, run().read("/etc/hosts"))
    assert text == []
    assert data["endpoints"] == data["unix_sockets"] == []


def test_many_processes_are_counted(tmp_path: Path) -> None:
    builder = run().connected("inet:1.2.3.4:80").by(2).connected("inet:1.2.3.4:80")
    for _ in range(6):
        builder.process("sh", parent=1).connected("inet:1.2.3.4:80")
    text, data = both(tmp_path, builder)
    assert text[1].endswith("make[1], curl[2], sh[3] and 5 more")
    assert data["endpoints"][0]["processes"] == list(range(1, 9))


@pytest.mark.parametrize("width", [10, 40, 80])
def test_hostile_names_stay_text_on_any_terminal(tmp_path: Path, width: int) -> None:
    text, data = both(tmp_path, run().connected(EVIL).connected(b"unix:/\xff\x1b"), width)
    assert not {"\x1b", "\x07", "\u202e", "\n"} & set("".join(text))
    assert all(columns(one) <= width for one in text)
    assert data["unix_sockets"][1]["address_b64"] == "dW5peDov/xs="
