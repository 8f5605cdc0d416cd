"""Many connections of one client: a legacy session holds them together."""

from __future__ import annotations

import asyncio
import json
import resource
from pathlib import Path

from steno.evidence import intake
from support.mcp_scripted import SECONDS, bench, call, post

MANY = 1000
_EVENTS = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_NAMED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: s\r\nContent-Length: %d\r\n\r\n%s"
)


def test_a_thousand_calls_that_are_open_at_once_in_one_session_each_get_their_own_answer(
    tmp_path: Path,
) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # client, proxy and upstream are this process
    start = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}

    async def run() -> tuple[list[int], list[intake.PolicyTold]]:
        arrived: list[int] = []
        everybody = asyncio.Event()

        async def answering(_head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
            request_id = json.loads(body)["id"]
            reply = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}' % request_id
            if request_id == 0:
                writer.write(_NAMED % (len(reply), reply))
                return
            arrived.append(request_id)
            if len(arrived) == MANY:
                everybody.set()
            await everybody.wait()
            event = b"data: " + reply + b"\n\n"
            writer.write(_EVENTS + b"%x\r\n%s\r\n0\r\n\r\n" % (len(event), event))

        async with bench(tmp_path, answering) as made:
            await made.ask(post(start, Connection="close"))

            async def one(number: int) -> int:
                request = post(call(request_id=number), Mcp_Session_Id="s", Connection="close")
                answer = await made.ask(request)
                return int(answer.partition(b'"id":')[2].partition(b",")[0])

            calls = asyncio.gather(*[one(number) for number in range(1, MANY + 1)])
            return await asyncio.wait_for(calls, SECONDS), made.told()

    answered, told = asyncio.run(run())
    assert answered == list(range(1, MANY + 1))
    decided = [one for one in told if isinstance(one, intake.Decided)]
    ended = [one.call for one in told if isinstance(one, intake.Ended) and one.outcome == "result"]
    assert len({one.connection for one in decided}) == 1
    assert len({one.tool_call_id for one in decided}) == len(decided) == MANY
    assert sorted(ended) == sorted(one.call for one in decided)
