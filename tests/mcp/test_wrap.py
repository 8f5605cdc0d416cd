"""The parts of the wrap that need no server: lines, a reader that is slow, and the table of methods."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import methods

from steno.evidence import intake
from steno.lines import LineSplitter, LineTooLongError
from steno.mcp.decision_log import DecisionLog
from steno.mcp.policy.policy import Policy
from steno.mcp.protocol import ALWAYS_PASS, CALL_TOOL, KNOWN
from steno.mcp.stdio import wrap
from steno.mcp.stdio.pipes import NonBlockingWriter
from steno.mcp.stdio.server_process import ExitStatus
from support.mcp_wrapped import make_policy, told_in


@given(st.binary(max_size=60).map(lambda data: data.replace(b"a", b"\n")), st.integers(1, 9))
def test_lines_are_the_same_bytes_however_they_arrive(data: bytes, step: int) -> None:
    lines = LineSplitter()
    blocks = [data[position : position + step] for position in range(0, len(data), step)]
    found = [line for block in blocks for line in lines.feed(block)]
    assert [*found, lines.rest()] == [
        *(line + b"\n" for line in data.split(b"\n")[:-1]),
        data.split(b"\n")[-1],
    ]


def test_what_has_no_end_yet_is_kept() -> None:
    lines = LineSplitter()
    assert list(lines.feed(b"a\nb")) == [b"a\n"]
    assert list(lines.feed(b"c")) == []
    assert lines.rest() == b"bc"


def test_a_line_that_is_too_long_is_skipped_and_told_once() -> None:
    lines = LineSplitter(4)
    found = [*lines.feed(b"123"), *lines.feed(b"45"), *lines.feed(b"6789"), *lines.feed(b"0\nok\n")]
    assert isinstance(found[0], LineTooLongError)
    assert found[1:] == [b"ok\n"]


class TestAnNonBlockingWriter:
    @pytest.fixture(params=["pipe", "socket", "own pipe"])
    def ends(self, request: pytest.FixtureRequest) -> Iterator[tuple[int, NonBlockingWriter]]:
        if request.param == "socket":
            ours, theirs = (one.detach() for one in socket.socketpair())
        else:
            theirs, ours = os.pipe()
        if request.param == "own pipe":
            os.set_blocking(ours, False)
        outlet = NonBlockingWriter(ours, own=request.param == "own pipe")
        yield theirs, outlet
        outlet.close()
        for fd in (ours, theirs):
            os.close(fd)

    def test_holds_what_is_not_read_yet_and_never_waits(self, ends: tuple[int, NonBlockingWriter]) -> None:
        theirs, outlet = ends
        data = os.urandom(3_000_000)
        outlet.push(data[:1])
        outlet.push(data[1:])
        got = b""
        while len(got) < len(data):
            got += os.read(theirs, 1 << 20)
            outlet.flush()
        assert got == data
        assert outlet.waiting == 0

    def test_is_broken_when_nobody_reads(self) -> None:
        theirs, ours = os.pipe()
        outlet = NonBlockingWriter(ours)
        os.close(theirs)
        outlet.push(b"x")
        assert outlet.is_broken
        outlet.push(b"y")
        assert outlet.waiting == 0
        os.close(ours)


def test_every_method_of_the_protocol_is_known_to_the_policy() -> None:
    requests = {*methods.CLIENT_REQUESTS, *methods.SERVER_REQUESTS}
    theirs = {
        method for method, _ in requests | {*methods.CLIENT_NOTIFICATIONS, *methods.SERVER_NOTIFICATIONS}
    }
    ours = ALWAYS_PASS | KNOWN | {CALL_TOOL}
    assert theirs <= ours
    assert all("tasks" in method for method in ours - theirs)  # of one version, and not in this table


def test_the_page_has_every_method() -> None:
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text()
    assert not [method for method in ALWAYS_PASS | KNOWN if f"`{method}`" not in page]


def test_handshake_ping_and_listings_always_pass() -> None:
    strictest = Policy(digest="0" * 64)
    for method in ("initialize", "server/discover", "ping", "tools/list", "prompts/list", "resources/list"):
        assert strictest.passes_method(method)


@pytest.mark.parametrize(
    ("ended", "status", "name"),
    [
        (ExitStatus(0), 0, None),
        (ExitStatus(7), 7, None),
        (ExitStatus(None, 9), 137, "SIGKILL"),
        (ExitStatus(None, 40), 168, "SIG40"),
    ],
)
def test_an_exit_is_told_as_a_shell_does(ended: ExitStatus, status: int, name: str | None) -> None:
    assert (ended.status, ended.signal) == (status, name)


@pytest.mark.process
def test_when_the_wrap_itself_fails_that_is_told_and_the_server_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a defect")

    monkeypatch.setattr(wrap, "Relay", fail)
    journal = DecisionLog.open({}, str(tmp_path / "log"))
    with pytest.raises(RuntimeError):
        wrap.run(make_policy(), ["cat"], label="cat", log=journal, environ=os.environ)
    opened, closed = told_in(tmp_path / "log")
    assert isinstance(closed, intake.Closed)
    assert closed.reason == "proxy_failed"
    assert isinstance(opened, intake.Opened)
    assert opened.server_process is not None
    assert not Path(f"/proc/{opened.server_process.pid}").exists()
