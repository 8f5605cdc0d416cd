"""`steno mcp proxy` between the real client and the real server of the `mcp` package, in both eras."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from steno.evidence import intake
from support import mcp_proxied, waiting
from support.mcp_proxied import SECONDS, VERSION, Proxied, call, current

ERAS = pytest.mark.parametrize("era", ["legacy", VERSION])
MANY = 1000


@pytest.fixture(scope="module", params=["events", "json"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    """A server that answers with events where it can, and one that answers with JSON only."""
    with mcp_proxied.proxied(tmp_path_factory.mktemp("proxied"), request.param) as proxied:
        yield proxied


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with mcp_proxied.proxied(tmp_path_factory.mktemp("proxied")) as found:
        yield found


def _text(result: mcp_types.CallToolResult) -> str:
    content = result.content[0]
    assert isinstance(content, mcp_types.TextContent)
    return content.text


@contextmanager
def kept_port() -> Iterator[int]:
    """A port at which nobody listens, and that no stranger gets: who is told its number may listen there."""
    with socket.socket() as holding:
        holding.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holding.bind(("127.0.0.1", 0))
        yield holding.getsockname()[1]


def _large() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=200))


@ERAS
def test_an_allowed_call_passes_and_a_denied_one_is_answered_in_words_for_the_model(
    both: Proxied, era: str
) -> None:
    async def talk() -> tuple[mcp_types.CallToolResult, mcp_types.CallToolResult]:
        async with Client(both.url, mode=era) as client:
            await client.list_tools()
            return await client.call_tool("echo", {"text": era}), await client.call_tool(
                "delete", {"path": era}
            )

    allowed, denied = asyncio.run(talk())
    assert (_text(allowed), allowed.is_error) == (era, False)
    assert denied.is_error
    assert "does not allow" in _text(denied)
    assert "delete" not in both.called()
    decision = both.decided("delete")[-1]
    assert (decision.decision, decision.reason) == ("deny", "denied_by_rule")
    assert both.outcome(decision) == "denied"
    assert both.outcome(both.decided("echo")[-1]) == "result"


@ERAS
def test_a_denied_tool_is_not_listed(both: Proxied, era: str) -> None:
    async def listed() -> set[str]:
        async with Client(both.url, mode=era) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    names = asyncio.run(listed())
    assert "echo" in names
    assert "delete" not in names


@ERAS
def test_progress_comes_through_while_the_call_runs(proxied: Proxied, era: str) -> None:
    seen: list[float] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    async def talk() -> str:
        async with Client(proxied.url, mode=era) as client:
            return _text(await client.call_tool("count", {"to": 5}, progress_callback=progress))

    assert asyncio.run(talk()) == "5"
    assert seen == [0, 1, 2, 3, 4]


def test_a_server_asks_its_client_and_gets_the_answer(proxied: Proxied) -> None:
    async def answer(context: Any, params: Any) -> mcp_types.ElicitResult:
        return mcp_types.ElicitResult(action="accept", content={"name": "Ada"})

    async def talk() -> str:
        async with Client(proxied.url, mode="legacy", elicitation_callback=answer) as client:
            return _text(await client.call_tool("greet", {}))

    assert "Ada" in asyncio.run(talk())


@pytest.mark.parametrize(("era", "outcome"), [("legacy", "cancelled"), (VERSION, "client_gone")])
def test_a_cancelled_call_is_cancelled_at_the_server_and_its_end_is_told(
    proxied: Proxied, era: str, outcome: str
) -> None:
    began, before = (proxied.called().count(noted) for noted in ("wait", "wait ended"))

    async def talk() -> None:
        async with Client(proxied.url, mode=era) as client:
            calling = asyncio.create_task(client.call_tool("wait", {}))
            await asyncio.to_thread(waiting.until, lambda: proxied.called().count("wait") > began)
            calling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await calling

    asyncio.run(talk())
    proxied.until_outcome("wait", outcome)
    waiting.until(lambda: proxied.called().count("wait ended") > before)


@ERAS
def test_equal_ids_of_two_clients_are_not_mixed_up(proxied: Proxied, era: str) -> None:
    """Both clients count from the same number, and both calls are open at the same time."""
    before = proxied.called().count("together")

    async def talk() -> list[str]:
        async with Client(proxied.url, mode=era) as one, Client(proxied.url, mode=era) as other:
            calls = [client.call_tool("together", {"of": before + 2}) for client in (one, other)]
            return [_text(result) for result in await asyncio.gather(*calls)]

    assert asyncio.run(talk()) == [str(before + 2)] * 2
    first, second = proxied.decided("together")[-2:]
    assert first.request_id == second.request_id
    assert first.tool_call_id != second.tool_call_id
    assert [proxied.outcome(one) for one in (first, second)] == ["result", "result"]


def test_open_calls_with_one_id_on_many_connections_each_get_their_own_answer(proxied: Proxied) -> None:
    async def one(client: httpx2.AsyncClient, number: int) -> str:
        body, headers = current("echo", {"text": str(number)}, request_id=7)
        usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        answer = await client.post(proxied.url, content=body, headers={**usual, **headers})
        return str(json.loads(answer.text.rpartition("data: ")[2])["result"]["content"][0]["text"])

    async def talk() -> list[str]:
        async with _large() as client:
            return await asyncio.gather(*[one(client, number) for number in range(50)])

    assert asyncio.run(talk()) == [str(number) for number in range(50)]


def test_a_thousand_calls_that_are_open_at_once_are_all_decided_answered_and_told(
    proxied: Proxied, tmp_path: Path
) -> None:
    """Each on a connection of its own, all with the same id."""
    arrivals = proxied.called().count("together") + MANY

    async def one(address: tuple[str, int]) -> bytes:
        reader, writer = await asyncio.open_connection(*address)
        writer.write(mcp_proxied.post(*current("together", {"of": arrivals})))
        answer = await reader.readuntil(b"\r\n\r\n")
        length = int(answer.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
        body = await reader.readexactly(length)
        writer.close()
        return body

    async def talk(address: tuple[str, int]) -> list[bytes]:
        return await asyncio.gather(*[one(address) for _ in range(MANY)])

    with mcp_proxied.proxying(tmp_path, proxied.upstream) as (proxy, url):
        other = Proxied(url, proxied.upstream, tmp_path, proxy, None)
        answers = asyncio.run(talk(other.address))
    results = [json.loads(answer)["result"]["content"][0]["text"] for answer in answers]
    assert results == [str(arrivals)] * MANY
    decided = other.decided("together")
    ended = [one for one in other.told() if isinstance(one, intake.Ended) and one.outcome == "result"]
    assert len({one.tool_call_id for one in decided}) == len(decided) == len(ended) == MANY


@ERAS
def test_a_message_of_20_megabytes_passes_both_ways(proxied: Proxied, era: str) -> None:
    text = "x" * (20 << 20)

    async def talk() -> str:
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(_large())
            transport = streamable_http_client(proxied.url, http_client=http, max_sse_event_size=None)
            client = await stack.enter_async_context(Client(transport, mode=era))
            return _text(await client.call_tool("echo", {"text": text}))

    assert asyncio.run(talk()) == text


@pytest.mark.soak
def test_a_hundred_megabytes_pass_both_ways(tmp_path: Path) -> None:
    """As large as one message may be over HTTP, and more than the server of the package takes."""
    text = b"x" * 100_000_000
    body = call("echo", {"text": "?"}).replace(b"?", text)
    answer = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"%s"}]}}' % text
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(answer)
    got: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection, connection.makefile("rb") as file:
            while file.readline().strip():
                pass
            got.append(file.read(len(body)))
            connection.sendall(head + answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        upstream = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        with mcp_proxied.proxying(tmp_path, upstream) as (proxy, url):
            proxied = Proxied(url, upstream, tmp_path, proxy, None)
            assert proxied.ask(body) == (200, answer)
            assert proxied.outcome(proxied.decided("echo")[0]) == "result"
        thread.join()
    assert got == [body]


@ERAS
def test_a_server_that_crashes_is_an_error_for_the_client_and_is_told(tmp_path: Path, era: str) -> None:
    async def talk(url: str) -> str:
        async with Client(url, mode=era) as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool("crash", {})
            with pytest.raises(MCPError):
                await client.call_tool("echo", {"text": "nobody is there"})
            return str(caught.value)

    with mcp_proxied.proxied(tmp_path) as proxied:
        assert "server" in asyncio.run(talk(proxied.url))
        assert proxied.until_outcome("crash", "server_gone").decision == "allow"
        assert proxied.outcome(proxied.decided("echo")[-1]) == "server_gone"
        assert proxied.ask(*current("echo", {"text": ""}))[0] == 502
    assert "server_exited" in {one.reason for one in proxied.told() if isinstance(one, intake.Closed)}


def test_another_server_at_the_same_place_is_another_process(tmp_path: Path) -> None:
    with (
        kept_port() as port,
        mcp_proxied.serving(tmp_path, port=port) as (server, upstream),
        mcp_proxied.proxying(tmp_path, upstream) as (proxy, url),
    ):
        proxied = Proxied(url, upstream, tmp_path, proxy, server)
        assert proxied.ask(*current("echo", {"text": ""}))[0] == 200
        server.kill()
        server.wait()
        assert proxied.ask(*current("echo", {"text": ""}))[0] == 502
        with mcp_proxied.serving(tmp_path, port=port) as (new, _):
            assert proxied.ask(*current("echo", {"text": ""}))[0] == 200
    opened = [one.server_process for one in proxied.told() if isinstance(one, intake.Opened)]
    pids = [None if one is None else one.pid for one in opened]
    assert (pids[0], pids[-1]) == (server.pid, new.pid)


def test_the_upstream_sees_headers_of_the_client_and_no_log_does(proxied: Proxied) -> None:
    body, headers = current("echo", {"text": "x"})
    assert proxied.ask(body, {**headers, "Authorization": "Bearer abcdef0123456789"})[0] == 200
    assert b"abcdef0123456789" not in (proxied.folder / "decisions.ndjson").read_bytes()


@pytest.mark.parametrize(
    "header", [{"Host": "attacker.example"}, {"Origin": "http://attacker.example"}, {"Origin": "null"}]
)
def test_a_foreign_host_or_origin_is_refused(proxied: Proxied, header: dict[str, str]) -> None:
    before = len(proxied.called())
    body, headers = current("echo", {"text": "x"})
    assert proxied.ask(body, {**headers, **header})[0] == 403
    assert len(proxied.called()) == before


def test_a_page_of_this_machine_may_ask(proxied: Proxied) -> None:
    body, headers = current("echo", {"text": "x"})
    assert proxied.ask(body, {**headers, "Origin": "http://localhost:6274"})[0] == 200


@pytest.mark.parametrize(
    "changed", [{"Mcp-Name": "echo"}, {"Mcp-Method": "tools/list"}, {"MCP-Protocol-Version": "2025-06-18"}]
)
def test_headers_that_do_not_fit_the_body_are_refused_and_told(
    proxied: Proxied, changed: dict[str, str]
) -> None:
    body, headers = current("count", {"to": 1})
    before = len(proxied.called())
    status, answer = proxied.ask(body, {**headers, **changed})
    assert (status, json.loads(answer)["error"]["code"]) == (400, -32020)
    decision = proxied.decided("count")[-1]
    assert (decision.decision, decision.reason) == ("error", "header_mismatch")
    assert len(proxied.called()) == before


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("PUT", "/mcp", {}, 405),
        ("OPTIONS", "/mcp", {}, 405),
        ("POST", "/other", {}, 404),
        ("POST", "/mcp?x=1", {}, 404),
        ("POST", "//mcp", {}, 404),
        ("POST", "/mcp", {"Content-Type": "text/plain"}, 415),
        ("POST", "/mcp", {"Content-Type": "application/json; charset=utf-16"}, 415),
        ("POST", "/mcp", {"Content-Encoding": "gzip"}, 415),
        ("POST", "/mcp", {"Mcp_Method": "tools/call"}, 400),
        ("GET", "/mcp", {}, 400),
        ("POST", "/mcp", {"Connection": "content-type"}, 415),
    ],
)
def test_what_is_no_request_to_the_endpoint_is_refused(
    proxied: Proxied, method: str, path: str, headers: dict[str, str], status: int
) -> None:
    before = len(proxied.called())
    body = call("echo", {"text": "x"})
    lines = {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    answer = proxied.raw(f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert len(proxied.called()) == before


def test_two_lengths_are_refused(proxied: Proxied) -> None:
    before = len(proxied.called())
    body = call("echo", {"text": "x"})
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    for lengths in (
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    ):
        assert proxied.raw(head + lengths + b"\r\n" + body).startswith(b"HTTP/1.1 400 ")
    assert len(proxied.called()) == before


def test_requests_that_come_ahead_are_answered_in_order(proxied: Proxied) -> None:
    requests = []
    for number in range(3):
        body, headers = current("echo", {"text": f"ahead {number}"}, request_id=number)
        requests.append(mcp_proxied.post(body, headers))
    texts = [f"ahead {number}".encode() for number in range(3)]
    with socket.create_connection(proxied.address, SECONDS) as sock:
        sock.sendall(b"".join(requests))
        found = b""
        while not all(text in found for text in texts) and (piece := sock.recv(65536)):
            found += piece
    places = [found.index(text) for text in texts]
    assert places == sorted(places)


def test_an_upstream_that_is_not_there_is_an_error_for_the_client(tmp_path: Path) -> None:
    with (
        kept_port() as port,
        mcp_proxied.proxying(tmp_path, f"http://127.0.0.1:{port}/mcp") as (proxy, url),
    ):
        proxied = Proxied(url, "", tmp_path, proxy, None)
        status, answer = proxied.ask(*current("echo", {"text": "x"}, request_id="a"))
        assert (status, json.loads(answer)["id"]) == (502, "a")
        assert proxied.outcome(proxied.decided("echo")[0]) == "server_gone"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_everything_that_was_open_is_told(
    proxied: Proxied, tmp_path: Path, number: signal.Signals
) -> None:
    before = proxied.called().count("wait")
    with (
        mcp_proxied.proxying(tmp_path, proxied.upstream) as (proxy, url),
        socket.create_connection((other := Proxied(url, "", tmp_path, proxy, None)).address, SECONDS) as sock,
    ):
        sock.sendall(mcp_proxied.post(*current("wait", {})))
        waiting.until(lambda: proxied.called().count("wait") > before)
        proxy.send_signal(number)
        assert proxy.wait(SECONDS) == 0
    assert other.outcome(other.decided("wait")[0]) == "client_gone"
    opened = {one.connection for one in other.told() if isinstance(one, intake.Opened)}
    assert opened == {one.connection for one in other.told() if isinstance(one, intake.Closed)} != set()


def test_a_page_of_another_origin_is_turned_away_before_its_body_is_there(proxied: Proxied) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n"
    with socket.create_connection(proxied.address, SECONDS) as sock:
        sock.sendall(head + b"Content-Length: 99999999\r\n\r\n")
        assert sock.recv(4096).startswith(b"HTTP/1.1 403")
