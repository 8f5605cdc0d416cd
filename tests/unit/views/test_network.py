"""The network of a run: endpoints, who used them and how often; unix sockets apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernel_bundles import kernel_run, line, process
from steno.bundle.folder import Folder
from steno.views import network
from steno.views.kernel_layer import KernelLayer
from steno.views.paint import Paint
from steno.views.plain import columns
from steno.views.record import open_record

EVIL = "unix:/\x1b]0;owned\x07\u202e\n"


def both(store: Path, *lines: dict[str, Any], width: int | None = None) -> tuple[list[str], dict[str, Any]]:
    path = kernel_run(store, lines=lines, processes=[process(1, "make"), process(2, "curl", parent=1)])
    with Folder(path) as folder, open_record(folder) as record:
        layer = KernelLayer(record)
        return list(network.lines(layer, Paint(), width=width)), network.to_json(layer)


def test_calls_to_one_endpoint_are_put_together(tmp_path: Path) -> None:
    text, data = both(
        tmp_path,
        line(2, "connect", "inet:1.2.3.4:80", count=3, first_ns=5_000_000_000, last_ns=9_000_000_000),
        line(1, "send", "inet:1.2.3.4:80", first_ns=2_000_000_000, last_ns=2_000_000_000),
        line(2, "connect", "inet6:[::1]:443"),
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
    assert text[2].split() == ["1.50s", "1", "connect", "[::1]:443", *unknown, "curl[2]"]
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
        line(1, "connect", "inet:1.2.3.4:80"),
        line(1, "connect", "unix:/run/x.sock"),
        line(1, "bind", "unix:@abstract"),
        line(1, "connect", "/run/found.sock"),
    )
    assert text[2] == ""
    assert text[3].split()[3:5] == ["UNIX", "SOCKET"]
    names = ["/run/x.sock", "@abstract", "/run/found.sock"]
    assert [one["name"] for one in data["unix_sockets"]] == names
    assert {one["family"] for one in data["unix_sockets"]} == {"unix"}
    assert [one["name"] for one in data["endpoints"]] == ["1.2.3.4:80"]


def test_an_error_that_is_known_is_told(tmp_path: Path) -> None:
    text, data = both(tmp_path, line(1, "connect", "inet:10.0.0.1:22", result="EACCES"))
    assert "connect (EACCES)" in text[1]
    assert data["endpoints"][0]["results"] == {"EACCES": 1}


@pytest.mark.parametrize(
    ("results", "outcome", "is_bad"),
    [
        (["ok"], "connected", False),
        (["EINPROGRESS"], "attempted, outcome not seen", False),
        (["unknown"], "attempted, outcome not seen", False),
        (["EINPROGRESS", "EISCONN"], "connected", False),
        (["ECONNREFUSED"], "refused or failed: ECONNREFUSED", True),
        (["ETIMEDOUT", "ECONNREFUSED"], "refused or failed: ECONNREFUSED, ETIMEDOUT", True),
        (["ECONNREFUSED", "EINPROGRESS"], "attempted, outcome not seen", True),
        (["ECONNREFUSED", "ok"], "connected", True),
    ],
)
def test_the_outcome_of_connecting_is_what_is_known_of_it(
    tmp_path: Path, results: list[str], outcome: str, is_bad: bool
) -> None:
    calls = [line(1, "connect", "inet:10.0.0.1:22", result=one) for one in results]
    path = kernel_run(tmp_path, lines=calls, processes=[process(1, "make")])
    with Folder(path) as folder, open_record(folder) as record:
        painted = list(network.lines(KernelLayer(record), Paint(colour=True), width=None))
        assert network.to_json(KernelLayer(record))["endpoints"][0]["outcome"] == outcome
    assert outcome in painted[1]
    assert ("\x1b" in painted[1]) == is_bad


def test_a_narrow_terminal_shows_the_address_and_the_outcome(tmp_path: Path) -> None:
    text, _ = both(tmp_path, line(1, "connect", "inet:198.51.100.107:44300", result="ok"), width=40)
    assert text == ["ENDPOINT", "198.51.100.107:44300", "  connected"]


def test_sockets_and_calls_without_an_address_are_counted(tmp_path: Path) -> None:
    text, data = both(
        tmp_path,
        line(1, "socket", "2:524289", count=2),
        line(1, "socket", "99:77"),
        line(1, "listen"),
        line(1, "accept", count=4),
    )
    assert text == [
        "inet stream: 2 sockets",
        "family 99 type 77: 1 socket",
        "accept on a descriptor: 4",
        "listen on a descriptor: 1",
    ]
    assert data["sockets"] == {"2:524289": 2, "99:77": 1}
    assert data["addressless"] == {"listen": 1, "accept": 4}


def test_sockets_that_are_called_the_same_are_counted_together(tmp_path: Path) -> None:
    text, data = both(tmp_path, line(1, "socket", "10:2"), line(1, "socket", "10:524290", count=2))
    assert text == ["inet6 datagram: 3 sockets"]
    assert data["sockets"] == {"10:2": 1, "10:524290": 2}


@pytest.mark.parametrize("address", ["netlink:", "family:0", "family:?"])
def test_an_address_without_a_peer_is_no_endpoint(tmp_path: Path, address: str) -> None:
    _, data = both(tmp_path, line(1, "connect", address, result="ok"), line(1, "bind", address))
    assert data["endpoints"] == []


STREAM, DATAGRAM = "2:1", "2:524290"


@pytest.mark.parametrize(
    ("sockets", "results", "outcome"),
    [
        ([], ["ok"], "connected"),
        ([STREAM], ["ok"], "connected"),
        ([DATAGRAM], ["ok"], "address set, sending not seen"),
        (["10:2"], ["ok"], "address set, sending not seen"),
        (["10:1"], ["ok"], "connected"),
        ([DATAGRAM], ["unknown"], "attempted, outcome not seen"),
        ([DATAGRAM], ["ENETUNREACH"], "refused or failed: ENETUNREACH"),
        ([STREAM, DATAGRAM], ["ok"], "connected, or only an address set"),
        (["43:1", DATAGRAM], ["ok"], "connected, or only an address set"),
        ([STREAM, DATAGRAM], ["EINPROGRESS"], "attempted, outcome not seen"),
    ],
)
def test_a_datagram_socket_that_is_connected_only_has_an_address(
    tmp_path: Path, sockets: list[str], results: list[str], outcome: str
) -> None:
    calls = [line(2, "connect", "inet:203.0.113.9:53", result=one) for one in results]
    _, data = both(tmp_path, *(line(2, "socket", kind) for kind in sockets), *calls)
    assert [one["outcome"] for one in data["endpoints"]] == [outcome]


def test_what_is_no_network_is_not_told(tmp_path: Path) -> None:
    text, data = both(tmp_path, line(1, "open", "/etc/hosts", access="read"))
    assert text == []
    assert data["endpoints"] == data["unix_sockets"] == []


def test_many_processes_are_counted(tmp_path: Path) -> None:
    text, data = both(tmp_path, *(line(number, "connect", "inet:1.2.3.4:80") for number in range(1, 9)))
    assert text[1].endswith("make[1], curl[2], ?[3] and 5 more")
    assert data["endpoints"][0]["processes"] == list(range(1, 9))


@pytest.mark.parametrize("width", [10, 40, 80])
def test_hostile_names_stay_text_on_any_terminal(tmp_path: Path, width: int) -> None:
    text, data = both(
        tmp_path,
        line(1, "connect", EVIL),
        line(1, "connect", b"unix:/\xff\x1b"),
        line(1, "socket", EVIL),
        width=width,
    )
    assert not {"\x1b", "\x07", "\u202e", "\n"} & set("".join(text))
    assert all(columns(one) <= width for one in text)
    assert data["unix_sockets"][1]["address_b64"] == "dW5peDov/xs="
