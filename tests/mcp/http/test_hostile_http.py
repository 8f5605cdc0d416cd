"""Thousands of hostile exchanges through the real proxy: nothing denied gets past it, and it still answers.

On one side raw bytes of a client: heads, chunks and messages that are not as they should be, one after the
other on a connection. On the other side an upstream whose heads, events and messages are hostile. What comes
through is read in every way in which some reader may.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

from steno.mcp import pins
from support import mcp_hostile, mcp_hostile_server, mcp_proxied
from support.mcp_hostile import carries_a_denied_call
from support.mcp_hostile_server import HIDDEN, PINNED, asks_what_is_denied, shows_what_it_must_not

REQUESTS, ANSWERS = 2000, 1500
AT_ONCE = 100
MOST_IN_A_ROW = 3  # requests on a connection
HIDES = f"""\
version: 1
default: allow
hide_denied: true
pins: pins.json
rules:
  - tools: [{HIDDEN}]
    action: deny
methods:
  deny: ["sampling/*"]
"""
GOOD = mcp_proxied.call("read_file", {})
LISTING = b'{"jsonrpc":"2.0","id":%d,"method":"tools/list"}'
LAST = {"Connection": "close"}
LIST = mcp_proxied.post(LISTING % 1, LAST)
USUAL = (
    b"Host: localhost",
    b"Content-Type: application/json",
    b"Accept: application/json, text/event-stream",
)
Address = tuple[str, int]
Answering = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]
Exchanging = Callable[[Address, list[bytes]], Awaitable[list[bytes]]]


# --- both sides ------------------------------------------------------------------------------------------


class Upstream:
    """Keeps every byte that reaches it, by connection."""

    def __init__(self, answering: Answering) -> None:
        self.answering = answering
        self.streams: list[bytearray] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stream = bytearray()
        self.streams.append(stream)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                stream += head
                length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                stream += body
                await self.answering(body, writer)
        writer.close()


async def answered(address: Address, request: bytes) -> bytes:
    """What comes to a request that says that it is the last one, until the proxy closes."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request)
    return await rest(reader, writer)


async def rest(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    got = b""
    with contextlib.suppress(ConnectionError):
        async with asyncio.timeout(mcp_proxied.SECONDS):
            while piece := await reader.read(1 << 16):
                got += piece
    writer.close()
    return got


async def all_left(address: Address, requests: list[bytes]) -> list[bytes]:
    """What comes until the client leaves: what it sent may be half a request, that nobody answers."""
    got: list[bytes] = []
    for at in range(0, len(requests), AT_ONCE):
        connections = []
        for data in requests[at : at + AT_ONCE]:
            connections.append(await asyncio.open_connection(*address))
            connections[-1][1].write(data)
        for _ in range(MOST_IN_A_ROW + 1):  # whoever came before them has been served by then
            await answered(address, LIST)
        for _, writer in connections:
            with contextlib.suppress(OSError):
                writer.write_eof()
        got += await asyncio.gather(*(rest(*connection) for connection in connections))
    return got


async def all_answered(address: Address, requests: list[bytes]) -> list[bytes]:
    room = asyncio.Semaphore(AT_ONCE)

    async def in_turn(request: bytes) -> bytes:
        async with room:
            return await answered(address, request)

    return await asyncio.gather(*map(in_turn, requests))


async def attack(
    folder: Path, answering: Answering, exchanging: Exchanging, requests: list[bytes]
) -> tuple[Upstream, list[bytes]]:
    """What came through in both directions; afterwards the proxy answers as before."""
    upstream = Upstream(answers_well)
    server = await asyncio.start_server(upstream, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    (folder / "pins.json").write_bytes(pins.write({"tests": pins.of_listing(PINNED)}))
    with contextlib.ExitStack() as stack:
        proxying = mcp_proxied.proxying(folder, url, HIDES)
        proxy, listening = await asyncio.to_thread(stack.enter_context, proxying)
        address = mcp_proxied.Proxied(listening, url, folder, proxy, None).address
        before = await answered(address, LIST)
        assert b"read_file" in before  # what nobody has listed cannot be called
        upstream.answering = answering
        got = await exchanging(address, requests)
        upstream.answering = answers_well
        after = await answered(address, LIST)
        assert after.startswith(b"HTTP/1.1 200 ")
        assert proxy.poll() is None
        await asyncio.to_thread(stack.close)
    server.close()
    return upstream, got


async def answers_well(body: bytes, writer: asyncio.StreamWriter) -> None:
    said = json.loads(body) if body else {}
    result = {"tools": PINNED} if said.get("method") == "tools/list" else {}
    answer = json.dumps({"jsonrpc": "2.0", "id": said.get("id"), "result": result}).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    writer.write(head % len(answer) + answer)


# --- a hostile client ------------------------------------------------------------------------------------


def framed(chance: random.Random, body: bytes) -> tuple[list[bytes], bytes]:
    """The headers that say how long a body is, and its bytes: sometimes two lengths, sometimes wrong ones."""
    length = b"Content-Length: %d" % len(body)
    cut = chance.randrange(len(body) + 1)
    chunks = b"".join(b"%x%s\r\n%s\r\n" % (len(one), chance.choice([b"", b";a=b"]), one)
                      for one in (body[:cut], body[cut:]) if one) + b"0\r\n\r\n"  # fmt: skip
    chunked = b"Transfer-Encoding: chunked"
    return chance.choice(
        [
            *[([length], body)] * 14,
            *[([chunked], chunks)] * 8,
            ([chunked], chunks.replace(b"\r\n", b"\n", 1)),
            ([chunked], chunks[:-2] + b"X: y\r\n\r\n"),
            ([chunked, length], chunks),
            ([length, b"Transfer_Encoding: chunked"], body),
            ([b"Transfer-Encoding : chunked", length], body),
            ([b"Transfer-Encoding: xchunked", length], body),
            ([b"Content-Length: 0", length], body),
            ([b"Content-Length: +%d" % len(body)], body),
            ([b"Content-Length: %d" % cut], body),
            ([length, b"X: a\r\n Content-Length: 0"], body),
        ]
    )


def hostile_request(chance: random.Random) -> bytes:
    body = chance.choice([GOOD, GOOD, mcp_hostile.hostile_frame(chance)])
    lengths, framed_body = framed(chance, body)
    odd = [
        b"Mcp-Name: read_file",
        b"Mcp_Method: tools/call",
        b"MCP-Protocol-Version: 2026-07-28",
        b"Connection: content-length, content-type",
        b"Expect: 100-continue",
        b"Content-Encoding: gzip",
        b"Origin: http://attacker.example",
        b"Host: attacker.example",
        b"X: " + chance.randbytes(4),
        b"X: " + b"y" * chance.choice([100, 20_000]),
    ]
    headers = [*USUAL, *lengths, *(chance.choice(odd) for _ in range(chance.choice([0, 0, 0, 0, 1, 2])))]
    chance.shuffle(headers)
    target = chance.choice([b"/mcp"] * 40 + [b"/", b"http://localhost/mcp", b"/mcp?x", b"//mcp"])
    method = chance.choice([b"POST"] * 40 + [b"GET", b"DELETE", b"PUT", b"POST "])
    end = chance.choice([b"\r\n"] * 40 + [b"\n", b"\r"])
    return end.join([method + b" " + target + b" HTTP/1.1", *headers, b"", framed_body])


def hostile_bytes(chance: random.Random) -> bytes:
    data = b"".join(hostile_request(chance) for _ in range(chance.choice([1, 1, 1, 2, MOST_IN_A_ROW])))
    for _ in range(chance.choice([0, 0, 0, 0, 1, 2])):
        at = chance.randrange(len(data) + 1)
        stray = chance.choice([b"\r", b"\n", b"\0", b"\r\n\r\n", b" ", chance.randbytes(2)])
        data = data[:at] + stray + data[at + chance.randrange(2) :]
    return data if chance.random() < 0.97 else chance.randbytes(200)


def test_thousands_of_hostile_requests_carry_no_denied_call_to_the_upstream(tmp_path: Path) -> None:
    chance = random.Random(20260728)
    requests = [hostile_bytes(chance) for _ in range(REQUESTS)]
    upstream, got = asyncio.run(attack(tmp_path, answers_well, all_left, requests))
    assert [stream for stream in upstream.streams if carries_a_denied_call(bytes(stream))] == []
    heads = re.compile(rb"(?:POST|GET|DELETE) /mcp HTTP/1\.1\r\n")
    assert all(heads.match(bytes(stream)) for stream in upstream.streams if stream)
    assert len([stream for stream in upstream.streams if stream]) > REQUESTS / 10
    assert sum(answer.startswith(b"HTTP/1.1 4") for answer in got) > REQUESTS / 10


# --- a hostile upstream ----------------------------------------------------------------------------------


def hostile_events(chance: random.Random, message: bytes) -> bytes:
    end = chance.choice([b"\n", b"\n", b"\r\n", b"\r"])
    cut = chance.randrange(len(message) + 1)
    data = chance.choice([b"data: ", b"data:", b"data: ", b"Data: ", b"data : "])
    lines = [data + message]
    if chance.random() < 0.3:
        lines = [
            data + message[:cut],
            chance.choice([b": no", b"id: 7", b"retry: 1", b"data"]),
            data + message[cut:],
        ]
    before = chance.choice([b"", b"", b"\xef\xbb\xbf", b": hi" + end, b"event: message" + end, b"data" + end])
    return (
        before
        + end.join([*lines, chance.choice([b"", b"", b"event: x"]), b""])
        + chance.choice([end, end, b""])
    )


def hostile_answer(chance: random.Random, request_id: int) -> bytes:
    message = mcp_hostile_server.hostile_frame(chance, request_id).strip()
    body = message if chance.random() < 0.4 else hostile_events(chance, message)
    kinds = [
        *[b"Content-Type: text/event-stream", b"Content-Type: application/json"] * 4,
        b"Content-Type: text/plain; text/event-stream",
        b"Content-Type: text/plain",
        b"content_type: text/event-stream",
        b"Content-Type: text/event-stream\r\nContent-Type: application/json",
        b"X: y",
    ]
    lengths = [b"Content-Length: %d" % len(body)] * 3 + [
        b"Connection: close",
        b"Content-Length: %d" % (len(body) + 5),
        b"Content-Length: %d" % (len(body) // 2),
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: chunked\r\nContent-Length: 3",
    ]
    length = chance.choice(lengths)
    if b"chunked" in length:
        cut = chance.randrange(1, len(body))
        body = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in (body[:cut], body[cut:])) + b"0\r\n\r\n"
    odd = chance.choice(
        [b""] * 8 + [b"Content-Encoding: gzip\r\n", b"Location: /x\r\n", b"Alt-Svc: h3\r\n", b" x\r\n"]
    )
    status = chance.choice([b"200 OK"] * 10 + [b"202 A", b"400 B", b"500 C", b"307 D", b"100 Continue", b"x"])
    head = b"HTTP/1.1 %s\r\n%s\r\n%s\r\n%s\r\n" % (status, chance.choice(kinds), length, odd)
    return head + body


def payloads(answer: bytes) -> list[bytes]:
    """What some client may take for messages: the data of events where it has them, else the body."""
    head, _, body = answer.partition(b"\r\n\r\n")
    joined = b"".join(re.split(rb"(?:^|\r\n)[0-9a-f]+\r\n", body))
    if b"event-stream" not in head:
        return [body, joined]
    found: list[bytes] = []
    for event in re.split(rb"\r\n\r\n|\n\n|\r\r", joined):
        lines = re.split(rb"\r\n|\n|\r", event.removeprefix(b"\xef\xbb\xbf"))
        data = [line.removeprefix(b"data:").strip() for line in lines if line.startswith(b"data:")]
        found += [b"\n".join(data), b"".join(data), *data]
    return found


def test_thousands_of_hostile_answers_show_no_changed_or_hidden_tool(tmp_path: Path) -> None:
    chance = random.Random(20251125)

    async def answers_badly(body: bytes, writer: asyncio.StreamWriter) -> None:
        said = json.loads(body) if body else {}
        if "method" in said:
            writer.write(hostile_answer(chance, said["id"]))
            with contextlib.suppress(ConnectionError):
                await writer.drain()
        writer.close()

    requests = [mcp_proxied.post(LISTING % number, LAST) for number in range(1, ANSWERS + 1)]
    upstream, got = asyncio.run(attack(tmp_path, answers_badly, all_answered, requests))
    for answer in got:
        for payload in payloads(answer):
            assert not shows_what_it_must_not(payload), answer
            assert not asks_what_is_denied(payload), answer
    assert len(upstream.streams) >= ANSWERS
    assert sum(b'"tools"' in answer for answer in got) > ANSWERS / 20
    assert sum(answer.startswith(b"HTTP/1.1 502 ") for answer in got) > ANSWERS / 20
