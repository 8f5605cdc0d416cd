"""What passes the proxy, byte by byte: a scripted upstream on one side, plain sockets on the other."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steno.evidence import intake
from support import waiting
from support.mcp_scripted import SECONDS, Bench, asked, bench, call, post, sends

RESULT = b' {"id": 1,\n "jsonrpc":"2.0", "result":{"x":1.10, "content":[]}} \n'
LAST = {"Connection": "close"}


def test_a_json_answer_passes_byte_for_byte_and_ends_its_call(tmp_path: Path) -> None:
    head = b"200 OK\r\nContent-Type: application/json; charset=utf-8\r\nSet-Cookie: a\r\nSet-Cookie: b"
    message = (
        b'{"jsonrpc":"2.0", "id":1,\t"method":"tools/call","params":{"name":"echo","arguments":{"n":1.0}}}'
    )
    answer, made = asked(
        tmp_path, sends(head, RESULT), post(message, Authorization="Bearer x", X_Odd="y", **LAST)
    )
    assert answer.endswith(b"\r\n\r\n" + RESULT)
    assert answer.lower().count(b"set-cookie") == 2
    (received, body), *others = made.received
    assert (body, others) == (message, [])
    assert b"authorization: bearer x\r\n" in received.lower()
    assert b"x-odd: y\r\n" in received.lower()
    assert b"host: 127.0.0.1:" in received.lower()
    assert b"connection" not in received.lower()
    assert made.outcomes() == ["result"]
    (ended,) = (one for one in made.told() if isinstance(one, intake.Ended))
    assert ended.given_ns is not None


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_events_pass_byte_for_byte_and_end_their_call(tmp_path: Path, end: bytes) -> None:
    lines = [
        b": hi",
        b"",
        b"event: message",
        b"id: 1",
        b'data: {"jsonrpc":"2.0","method":"notifications/message"}',
        b"",
    ]
    lines += [b"data: " + RESULT.strip().split(b"\n")[0], b"data:" + RESULT.strip().split(b"\n")[1], b"", b""]
    stream = end.join(lines)
    head = b"200 OK\r\nContent-Type: text/event-stream"
    answer, made = asked(tmp_path, sends(head, stream), post(call(), **LAST))
    pieces = answer.partition(b"\r\n\r\n")[2]
    assert _unchunked(pieces) == stream
    assert made.outcomes() == ["result"]


def _unchunked(data: bytes) -> bytes:
    out = b""
    while data:
        size, _, rest = data.partition(b"\r\n")
        out += rest[: int(size, 16)]
        data = rest[int(size, 16) + 2 :]
        if size == b"0":
            break
    return out


def test_a_denied_call_is_answered_with_200_and_never_sent(tmp_path: Path) -> None:
    answer, made = asked(tmp_path, sends(b"200 OK", b""), post(call("delete", "a"), **LAST))
    assert answer.startswith(b"HTTP/1.1 200 ")
    reply = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert (reply["id"], reply["result"]["isError"]) == ("a", True)
    assert made.received == []
    assert made.outcomes() == ["denied"]


@pytest.mark.parametrize("kind", [b"application/json", b"text/event-stream"])
def test_a_hidden_tool_is_cut_out_of_a_listing_and_the_rest_stays(tmp_path: Path, kind: bytes) -> None:
    kept = b'{"name":"echo", "x":1.0}'
    listing = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[%s,{"name":"delete"}]}}' % kept
    body = listing if kind == b"application/json" else b"data: " + listing + b"\n\n"
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer, _ = asked(
        tmp_path, sends(b"200 OK\r\nContent-Type: " + kind, body), post(request, **LAST), hide=True
    )
    assert kept in answer
    assert b"delete" not in answer


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (json.dumps([call("delete")]).encode(), 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"delete"}}', 400),
        (json.dumps({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "delete"}}).encode(), 400),
        (json.dumps({"jsonrpc": "2.0", "id": 1, "method": "odd/method"}).encode(), 200),
    ],
)
def test_what_policy_cannot_read_or_does_not_know_is_not_sent(
    tmp_path: Path, message: bytes, status: int
) -> None:
    answer, made = asked(tmp_path, sends(b"200 OK", b""), post(message, **LAST))
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert made.received == []


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"307 Go\r\nLocation: http://127.0.0.1:9/mcp", b""),
        (b"200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip", RESULT),
        (b"200 OK\r\nContent-Type: application/json\r\nContent-Type: text/event-stream", RESULT),
        (b"200 OK\r\nContent-Length: 4\r\nContent-Length: 5", b""),
    ],
)
def test_an_answer_that_leads_around_or_cannot_be_read_is_not_passed_on(
    tmp_path: Path, head: bytes, body: bytes
) -> None:
    answer, made = asked(tmp_path, sends(head, body), post(call(), **LAST))
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["id"] == 1
    assert b"127.0.0.1:9" not in answer
    assert made.outcomes() == ["server_gone"]


@pytest.mark.parametrize(
    "head",
    [b"202 Accepted", b"401 No\r\nContent-Type: text/plain", b"400 Bad\r\nContent-Type: application/json"],
)
def test_an_answer_of_http_alone_passes_and_is_the_end_of_the_call(tmp_path: Path, head: bytes) -> None:
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}'
    answer, made = asked(tmp_path, sends(head, body), post(call(), **LAST))
    assert answer.startswith(b"HTTP/1.1 " + head[:4])
    assert answer.endswith(body)
    assert made.outcomes() == ["protocol_error"]


@pytest.mark.parametrize("torn", [b"", b"data: {", b": ping\n\n"])
def test_a_stream_that_breaks_off_ends_with_an_error_for_the_client(tmp_path: Path, torn: bytes) -> None:
    async def answering(_head: bytes, _body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        if torn:
            writer.write(b"%x\r\n%s\r\n" % (len(torn), torn))
        writer.close()

    answer, made = asked(tmp_path, answering, post(call(), **LAST))
    events = _unchunked(answer.partition(b"\r\n\r\n")[2])
    assert json.loads(events.rpartition(b"data: ")[2])["id"] == 1
    assert made.outcomes() == ["server_gone"]


def test_a_stream_that_can_be_resumed_leaves_its_call_open_until_the_answer_comes(tmp_path: Path) -> None:
    async def answering(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        stream = (
            b"id: 1\ndata:\n\n"
            if head.startswith(b"POST")
            else b"data: " + RESULT.replace(b"\n", b"") + b"\n\n"
        )
        size = b"Content-Length: %d" % len(stream)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + size + b"\r\n\r\n" + stream)

    resumed = b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: s\r\nConnection: close\r\n\r\n"

    async def run() -> tuple[list[str], list[str]]:
        async with bench(tmp_path, answering) as made:
            await made.ask(post(call(), Mcp_Session_Id="s", **LAST))
            first = made.outcomes()
            await made.ask(resumed)
            return first, made.outcomes()

    assert asyncio.run(run()) == ([], ["result"])


@pytest.mark.process
@pytest.mark.parametrize(("command", "outcome"), [("true", "result"), ("false", "denied")])
def test_a_call_waits_for_its_approval(tmp_path: Path, command: str, outcome: str) -> None:
    async def run() -> tuple[list[str], int]:
        answering = sends(b"200 OK\r\nContent-Type: application/json", RESULT)
        async with bench(tmp_path, answering, approval=[command]) as made:
            await made.ask(post(call("careful"), **LAST))
            return made.outcomes(), len(made.received)

    assert asyncio.run(run()) == ([outcome], command == "true")


@pytest.mark.process
def test_a_client_that_leaves_while_somebody_thinks_gets_nothing_sent(tmp_path: Path) -> None:
    thought = tmp_path / "thought"
    os.mkfifo(thought)

    async def run() -> tuple[list[str], int]:
        async with bench(tmp_path, sends(b"200 OK", b""), approval=["cat", str(thought)]) as made:
            _, writer = await asyncio.open_connection("127.0.0.1", made.port)
            writer.write(post(call("careful")))
            await asyncio.to_thread(waiting.until, lambda: b"opened" in made.log.read_bytes())
            writer.close()
            await asyncio.to_thread(waiting.until, lambda: bool(made.outcomes()))
            await asyncio.to_thread(thought.write_bytes, b"")
            return made.outcomes(), len(made.received)

    assert asyncio.run(run()) == (["denied"], 0)


def test_a_session_goes_on_over_connections_and_ends_with_delete(tmp_path: Path) -> None:
    async def answering(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
        reply = json.dumps(
            {"jsonrpc": "2.0", "id": json.loads(body or b'{"id":0}')["id"], "result": {}}
        ).encode()
        name = b"Mcp-Session-Id: s\r\n" if b"initialize" in body else b""
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + name)
        writer.write(b"Content-Length: %d\r\n\r\n" % len(reply) + reply)

    start = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}
    delete = b"DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nMcp-Session-Id: s\r\nConnection: close\r\n\r\n"

    async def run() -> list[str]:
        async with bench(tmp_path, answering) as made:
            await made.ask(post(start, **LAST))
            for number in (1, 2):
                await made.ask(post(call(request_id=number), Mcp_Session_Id="s", **LAST))
            await made.ask(delete)
            return [type(one).__name__ for one in made.told()]

    expected = ["Opened", "Decided", "Ended", "Decided", "Ended", "Closed"]
    assert asyncio.run(run()) == expected


def test_a_client_that_leaves_is_left_and_its_call_is_told_to_have_ended(tmp_path: Path) -> None:
    async def run() -> list[str]:
        came = asyncio.Event()

        async def answering(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
            came.set()

        async with bench(tmp_path, answering) as made:
            _, writer = await asyncio.open_connection("127.0.0.1", made.port)
            writer.write(post(call()))
            await asyncio.wait_for(came.wait(), SECONDS)
            writer.close()
            await asyncio.to_thread(waiting.until, lambda: bool(made.outcomes()))
            return made.outcomes()

    assert asyncio.run(run()) == ["client_gone"]


def test_an_id_that_was_answered_may_be_used_again_while_its_stream_is_still_open(tmp_path: Path) -> None:
    """The end of the first stream is not the end of the second call."""

    async def run() -> list[str]:
        second = asyncio.Event()

        async def answering(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
            if b"x-second" in head.lower():
                second.set()
                return
            event = b"data: " + RESULT.replace(b"\n", b"") + b"\n\n"
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))

        async with bench(tmp_path, answering) as made:
            reader, one = await asyncio.open_connection("127.0.0.1", made.port)
            one.write(post(call(), Mcp_Session_Id="s"))
            await reader.readuntil(b"content")
            _, other = await asyncio.open_connection("127.0.0.1", made.port)
            other.write(post(call(), Mcp_Session_Id="s", X_Second="1"))
            await asyncio.wait_for(second.wait(), SECONDS)
            one.close()
            await made.ask(post(call("delete", 9), **LAST))  # whoever was first has been served by now
            outcomes = made.outcomes()
            other.close()
            return outcomes

    assert asyncio.run(run()) == ["result", "denied"]


@pytest.mark.parametrize("late", [b"", b"data: " + RESULT.replace(b"\n", b"") + b"\n\n"])
def test_an_id_that_was_cancelled_may_be_used_again_while_its_stream_is_still_open(
    tmp_path: Path, late: bytes
) -> None:
    """Neither a late answer to the first call nor the end of its stream is the end of the second one."""
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}

    async def run() -> list[str]:
        streams: list[asyncio.StreamWriter] = []
        second = asyncio.Event()

        async def answering(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
            if b"cancelled" in body:
                writer.write(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
                return
            streams.append(writer)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: begun\n\n")
            if len(streams) > 1:
                second.set()

        async with bench(tmp_path, answering) as made:
            reader, one = await asyncio.open_connection("127.0.0.1", made.port)
            one.write(post(call(), Mcp_Session_Id="s", **LAST))
            await reader.readuntil(b"begun")
            await made.ask(post(cancel, Mcp_Session_Id="s", **LAST))
            _, other = await asyncio.open_connection("127.0.0.1", made.port)
            other.write(post(call(), Mcp_Session_Id="s"))
            await asyncio.wait_for(second.wait(), SECONDS)
            streams[0].write(late)
            streams[0].close()
            rest = await asyncio.wait_for(reader.read(), SECONDS)
            outcomes = made.outcomes()
            assert rest.count(b"data: ") == bool(late)
            for writer in (one, other):
                writer.close()
            return outcomes

    assert asyncio.run(run()) == ["cancelled"]


_DELETE = json.dumps(call("delete")).encode()
_WORDS = st.sampled_from([
    b"POST /mcp HTTP/1.1\r\n",
    b"GET /mcp HTTP/1.1\r\n",
    b"DELETE /mcp HTTP/1.0\r\n",
    b"Host: localhost\r\n",
    b"Host: localhost\r\nContent-Type: application/json\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: %d\r\n\r\n" % len(_DELETE),
    b"Expect: 100-continue\r\n",
    b"Upgrade: h2c\r\n",
    b"\r\n",
    b"0\r\n\r\n",
    b"\0",
    b"\xff",
    b"\n",
    _DELETE,
    b"%x\r\n%s\r\n0\r\n\r\n" % (len(_DELETE), _DELETE),
    post(_DELETE),
    post(b"[" + _DELETE + b"]"),
    post(_DELETE, Mcp_Session_Id="s"),
    post(_DELETE, Transfer_Encoding="chunked"),
    post(b"\xef\xbb\xbf" + _DELETE),
    post(_DELETE.decode().encode("utf-16")),
    post(_DELETE.replace(b"name", b"Name")),
    post(_DELETE.replace(b"name", b"\\u006eame")),
])  # fmt: skip
_CONNECTIONS = st.lists(
    st.lists(_WORDS | st.binary(max_size=40), max_size=8).map(b"".join), min_size=1, max_size=4
)


def test_whatever_bytes_come_nothing_denied_is_sent_and_nothing_breaks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def attack(made: Bench, pieces: list[bytes]) -> None:
        for piece in pieces:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.port)
            writer.write(piece)
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                await asyncio.wait_for(reader.read(), SECONDS)
            writer.close()
        assert (await made.ask(post(call(), **LAST))).endswith(RESULT)

    with asyncio.Runner() as runner:
        context = bench(tmp_path, sends(b"200 OK\r\nContent-Type: application/json", RESULT))
        made = runner.run(context.__aenter__())

        @settings(max_examples=300, deadline=None)
        @given(_CONNECTIONS)
        def attacked(pieces: list[bytes]) -> None:
            runner.run(attack(made, pieces))
            assert not any(b"delete" in body or b"Name" in body for _, body in made.received)

        attacked()
        runner.run(context.__aexit__(None, None, None))
    assert "given up" not in capsys.readouterr().err
