"""Framing towards clients of every kind, and towards an upstream that says more than it was asked."""

from __future__ import annotations

import asyncio
from pathlib import Path

from support.mcp_scripted import SECONDS, asked, bench, call, post, sends

_RESULT = b'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
_EVENT = b"data: " + _RESULT + b"\n\n"
_JSON = b"200 OK\r\nContent-Type: application/json"
_EVENTS = b"200 OK\r\nContent-Type: text/event-stream"
LAST = {"Connection": "close"}


def test_an_old_client_gets_events_without_chunks_and_then_the_end(tmp_path: Path) -> None:
    request = post(call()).replace(b"HTTP/1.1", b"HTTP/1.0")
    answer, made = asked(tmp_path, sends(_EVENTS, _EVENT), request)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert body == _EVENT
    assert b"connection: close" in head.lower()
    assert b"transfer-encoding" not in head
    assert made.outcomes() == ["result"]


def test_the_answer_to_head_has_no_body(tmp_path: Path) -> None:
    head = b"HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer, _ = asked(tmp_path, sends(_JSON, _RESULT), head)
    assert answer.startswith(b"HTTP/1.1 405 ")
    assert answer.endswith(b"\r\n\r\n")


def test_a_client_that_waits_for_it_is_told_to_go_on(tmp_path: Path) -> None:
    async def run() -> bytes:
        async with bench(tmp_path, sends(_JSON, _RESULT)) as made:
            head, _, body = post(call(), Expect="100-continue", **LAST).partition(b"\r\n\r\n")
            reader, writer = await asyncio.open_connection("127.0.0.1", made.port)
            writer.write(head + b"\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
            writer.write(body)
            answer = await asyncio.wait_for(reader.read(), SECONDS)
            writer.close()
            return answer

    assert asyncio.run(run()).endswith(_RESULT)


def test_a_request_passes_in_pieces_of_any_size_and_in_chunks(tmp_path: Path) -> None:
    whole = post(call())
    head, _, body = post(call(), Transfer_Encoding="chunked", **LAST).partition(b"\r\n\r\n")
    head = b"\r\n".join(line for line in head.split(b"\r\n") if not line.startswith(b"Content-Length"))
    chunked = head + b"\r\n\r\n" + b"3\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (body[:3], len(body) - 3, body[3:])

    async def run() -> tuple[bytes, list[bytes]]:
        async with bench(tmp_path, sends(_JSON, _RESULT)) as made:
            reader, writer = await asyncio.open_connection("127.0.0.1", made.port)
            for at in range(0, len(whole), 50):
                writer.write(whole[at : at + 50])
                await asyncio.sleep(0)
            writer.write(chunked)
            answers = await asyncio.wait_for(reader.read(), SECONDS)
            writer.close()
            return answers, [body for _, body in made.received]

    answers, received = asyncio.run(run())
    assert answers.count(_RESULT) == 2
    assert received == [body, body]


def test_what_an_upstream_says_unasked_is_not_the_next_answer(tmp_path: Path) -> None:
    unasked = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

    async def answering(_head: bytes, _body: bytes, writer: asyncio.StreamWriter) -> None:
        size = b"\r\nContent-Length: %d\r\n\r\n" % len(_RESULT)
        writer.write(b"HTTP/1.1 " + _JSON + size + _RESULT + unasked)

    answer, made = asked(tmp_path, answering, post(call()), post(call(), **LAST))
    assert answer.count(_RESULT) == 2
    assert b"{}" not in answer
    assert made.outcomes() == ["result", "result"]


def test_a_body_with_two_lengths_is_refused_and_reaches_nobody(tmp_path: Path) -> None:
    head, _, body = post(call(), Transfer_Encoding="chunked").partition(b"\r\n\r\n")
    chunked = head + b"\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    answer, made = asked(tmp_path, sends(_JSON, _RESULT), chunked)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert made.received == []
