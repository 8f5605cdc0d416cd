"""What a hostile upstream answers: what of it the client gets to read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from support import waiting
from support.mcp_scripted import asked, bench, call, post, sends

LAST = {"Connection": "close"}
LISTING = b'{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo"},{"name":"delete"}]}}'
LIST = post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, **LAST)
EVENTS = b"200 OK\r\nContent-Type: text/event-stream"


@pytest.mark.parametrize("written", [b'"1"', b"1.0", b"1e0"])
@pytest.mark.parametrize("kind", [b"application/json", b"text/plain", b"text/plain; application/json", b"x"])
def test_a_hidden_tool_is_hidden_whatever_the_id_and_the_label(
    tmp_path: Path, written: bytes, kind: bytes
) -> None:
    answering = sends(b"200 OK\r\nContent-Type: " + kind, LISTING % written)
    answer, _ = asked(tmp_path, answering, LIST, hide=True)
    assert b"echo" in answer
    assert b"delete" not in answer


@pytest.mark.parametrize(
    "kind", [b"text/plain; text/event-stream", b"text/event-stream-x", b"application/json", b"x"]
)
def test_events_under_another_label_do_not_pass(tmp_path: Path, kind: bytes) -> None:
    answering = sends(b"200 OK\r\nContent-Type: " + kind, b"data: " + LISTING % b"1" + b"\n\n")
    answer, _ = asked(tmp_path, answering, LIST, hide=True)
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"delete" not in answer


@pytest.mark.parametrize("status", [b"307 Go", b"404 No", b"500 No"])
def test_events_with_another_status_are_looked_at(tmp_path: Path, status: bytes) -> None:
    stream = b"data: " + LISTING % b"1" + b"\n\n"
    answer, _ = asked(tmp_path, sends(status + EVENTS.removeprefix(b"200 OK"), stream), LIST, hide=True)
    assert b"echo" in answer
    assert b"delete" not in answer


def test_a_listing_that_comes_on_another_stream_does_not_pass(tmp_path: Path) -> None:
    async def answering(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        if head.startswith(b"POST"):
            writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
        else:
            await sends(EVENTS, b"data: " + LISTING % b"1" + b"\n\n")(head, body, writer)

    async def run() -> bytes:
        async with bench(tmp_path, answering, hide=True) as made:
            await made.ask(LIST)
            return await made.ask(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")

    answer = asyncio.run(run())
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"tools" not in answer


def test_an_answer_to_something_else_is_an_error_for_the_client(tmp_path: Path) -> None:
    answering = sends(b"200 OK\r\nContent-Type: application/json", b'{"jsonrpc":"2.0","id":2,"result":{}}')
    answer, made = asked(tmp_path, answering, post(call(), **LAST))
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["id"] == 1
    assert made.outcomes() == ["protocol_error"]


def test_a_request_of_the_upstream_that_the_policy_denies_is_answered_by_us(tmp_path: Path) -> None:
    stream = (
        b'data: {"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{}}\n\n'
        b'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n'
    )

    async def run() -> tuple[bytes, tuple[bytes, bytes]]:
        async with bench(tmp_path, sends(EVENTS, stream), denied_methods=("sampling/*",)) as made:
            answer = await made.ask(post(call(), Authorization="Bearer x", Mcp_Session_Id="s", **LAST))
            async with asyncio.timeout(waiting.SECONDS):
                while len(made.received) < 2:  # noqa: ASYNC110 - the upstream is in this loop
                    await asyncio.sleep(0)
            return answer, made.received[1]

    answer, (head, body) = asyncio.run(run())
    assert b"sampling" not in answer
    assert b'"result":{}' in answer
    assert b"bearer x" in head.lower()
    assert b"mcp-session-id: s" in head.lower()
    refusal = json.loads(body)
    assert (refusal["id"], refusal["error"]["data"]["reason"]) == ("s", "method_refused")


@pytest.mark.parametrize("header", ["Transfer_Encoding", "Content_Length", "Connection_", "Accept_Encoding"])
def test_a_header_of_the_framing_with_an_underscore_does_not_pass(tmp_path: Path, header: str) -> None:
    request = post(call(), **LAST).replace(b"\r\n\r\n", f"\r\n{header}: 5\r\n\r\n".encode(), 1)
    answer, made = asked(tmp_path, sends(b"200 OK", b""), request)
    if header == "Connection_":
        assert len(made.received) == 1  # nobody takes that for another
    else:
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert made.received == []


@pytest.mark.parametrize(
    ("head", "why"),
    [
        (b"307 Go\r\nLocation: http://127.0.0.1:9/mcp", "it redirects"),
        (b"200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip", "its answer is coded"),
    ],
)
def test_why_there_is_no_answer_is_told_to_the_client_and_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], head: bytes, why: str
) -> None:
    answer, _ = asked(tmp_path, sends(head, b""), post(call(), **LAST))
    assert why in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"]
    assert why in capsys.readouterr().err


def test_an_upstream_that_refuses_connections_is_said_so_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run() -> list[bytes]:
        async with bench(tmp_path, sends(b"200 OK", b"")) as made:
            await made.stop_upstream()
            return [await made.ask(post(call(), **LAST)) for _ in range(3)]

    assert all(b"Connection refused" in answer for answer in asyncio.run(run()))
    assert capsys.readouterr().err.count("Connection refused") == 1
