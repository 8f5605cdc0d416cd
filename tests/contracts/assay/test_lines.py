"""Kernel events in the words of assay-runner: every row has its line, and no line says more than its row."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from steno.contracts.assay import lines as assay_lines
from steno.evidence import wire
from steno.evidence.syscalls import batches
from support.frames_made import FakeFrames
from support.kernel_tables import kernel_layers
from support.spools import RUN_ID

OPEN, OPENAT, OPENAT2, CONNECT, SENDTO, SENDMSG = 2, 257, 437, 42, 44, 46
ENOENT = -2


def lines_of(made: FakeFrames) -> list[dict[str, Any]]:
    rows = batches(kernel_layers(made), assay_lines.COLUMNS)
    return [json.loads(line) for line in assay_lines.kernel_lines(RUN_ID, rows)]


def only(made: FakeFrames) -> dict[str, Any]:
    return lines_of(made)[-1]


def opened(**more: Any) -> dict[str, Any]:
    return only(FakeFrames().process().event("open", "/a", **{"call": OPENAT, **more}))


def test_every_row_has_a_line_and_their_numbers_have_no_hole() -> None:
    made = FakeFrames().process()
    for op in wire.OPS.values():
        if op.name != "process":
            made.event(op.name, "/a")
    lines = lines_of(made)
    assert [line["seq"] for line in lines] == list(range(len(wire.OPS)))


@pytest.mark.parametrize(
    ("op", "call", "event_type", "kind"),
    [
        ("open", OPENAT, 1, "openat"),
        ("open", OPEN, 1, "openat"),
        ("open", OPENAT2, 1, "openat"),
        ("connect", CONNECT, 2, "connect"),
        ("exec", 0, 4, "exec"),
        ("send", SENDTO, 6, "event_6"),
        ("send", SENDMSG, 7, "event_7"),
        ("send", 0, 7, "event_7"),
        ("unlink", 0, 143, "event_143"),
        ("fork", 0, 102, "event_102"),
    ],
)
def test_a_call_has_the_kind_of_the_contract_or_one_from_100_on(
    op: str, call: int, event_type: int, kind: str
) -> None:
    line = only(FakeFrames().process().event(op, "/a", call=call))
    assert (line["event_type"], line["kind"]) == (event_type, kind)


def test_no_kind_of_ours_is_one_of_the_contract() -> None:
    kinds = {op.name: assay_lines.kind_of(op.name, None)[0] for op in wire.OPS.values()}
    assert len(set(kinds.values())) == len(kinds)
    assert assay_lines.kind_of("teleport", None) == (100, "event_100")
    assert 100 not in kinds.values()
    assert {op for op, kind in kinds.items() if kind < assay_lines.FIRST_OWN_KIND} == {
        *("open", "connect", "exec", "send")
    }


@pytest.mark.parametrize(
    ("result", "status", "returned"),
    [
        (0, "success", 0),
        (ENOENT, "error", ENOENT),
        (wire.RESULT_FAILED, None, None),
        (None, None, None),
    ],
)
def test_a_result_that_is_not_known_is_never_a_success(
    result: int | None, status: str | None, returned: int | None
) -> None:
    line = opened(result=result)
    assert (line.get("status"), line.get("return_value")) == (status, returned)
    assert None not in line.values()


@pytest.mark.parametrize(
    ("flags", "access_mode", "operation_flags"),
    [
        (os.O_RDONLY, "read", []),
        (os.O_WRONLY | os.O_CREAT | os.O_TRUNC, "write", ["create", "truncate"]),
        (os.O_RDWR | os.O_APPEND, "read_write", ["append"]),
        (os.O_WRONLY | os.O_CREAT | os.O_EXCL, "write", ["create", "exclusive"]),
        (3, "unknown", []),
    ],
)
def test_an_open_tells_how(flags: int, access_mode: str, operation_flags: list[str]) -> None:
    line = opened(arg=flags, arg2=0o600)
    assert (line["flags"], line["mode"]) == (flags, 0o600)
    assert (line["access_mode"], line["operation_flags"]) == (access_mode, operation_flags)


def test_flags_of_resolution_are_not_recorded_and_so_not_told() -> None:
    assert "resolve" not in opened()
    assert "resolve" not in opened(call=OPENAT2)


def test_a_line_has_no_key_that_the_contract_does_not_have() -> None:
    keys = {"schema", "run_id", "seq", "pid", "event_type", "kind", "value"}
    assert only(FakeFrames().process().event("stat", "/a")).keys() == keys
    more = {"flags", "mode", "return_value", "status", "access_mode", "operation_flags"}
    assert opened(result=0).keys() == keys | more
    assert opened(arg=1 << 60).keys() == (keys | more) - {"flags", "return_value", "status"}


@pytest.mark.parametrize(
    ("address", "value"),
    [
        ("inet:127.0.0.1:8080", "127.0.0.1:8080"),
        ("inet6:[::1]:53", "[::1]:53"),
        ("unix:/run/x", "unix:/run/x"),
        ("netlink:", "netlink:"),
    ],
)
def test_an_endpoint_is_written_as_the_surface_has_it(address: str, value: str) -> None:
    assert only(FakeFrames().process().event("connect", address, resolved=b""))["value"] == value


def test_a_value_is_where_the_path_leads() -> None:
    assert only(FakeFrames().process().event("stat", "b", resolved="/a/b"))["value"] == "/a/b"
    assert only(FakeFrames().process().event("stat", "b", resolved=b""))["value"] == "b"
    assert only(FakeFrames().process().event("stat", b"/\xff"))["value"] == "/\\xff"


def test_the_pid_is_that_of_the_process_or_0_when_nobody_told() -> None:
    made = FakeFrames().process(pid=77).event("stat", "/a", tid=78).event("stat", "/a", process=9)
    assert [line["pid"] for line in lines_of(made)] == [77, 77, 0]


def test_a_run_without_rows_has_no_lines() -> None:
    assert list(assay_lines.kernel_lines(RUN_ID, [])) == []
