"""`steno mcp proxy`: stands before one MCP server that speaks streamable HTTP.

In: a policy, where to listen, the URL of the server, its label, and the journal. Out: an exit code, once
SIGTERM or SIGINT came. Says where it listens: on stderr, or as JSON on stdout. Ends every session before it
returns. Never listens on anything but loopback.
"""

from __future__ import annotations

import asyncio
import gc
import json
import resource
import signal

from steno.errors import BadRequestError
from steno.mcp import http_address, http_client
from steno.mcp.http_gateway import Gateway
from steno.mcp.journal import Journal
from steno.mcp.policy import Policy
from steno.mcp.stderr import say


def run(
    policy: Policy, listen: str, upstream: str, label: str, journal: Journal, *, as_json: bool = False
) -> int:
    host, port = http_address.listening(listen)
    _allow_many_connections()
    gateway = Gateway(policy, journal, http_address.upstream(upstream), label)
    asyncio.run(_serve(gateway, host, port, as_json=as_json))
    return 0


def _allow_many_connections() -> None:
    """A client's connection needs two descriptors, and the usual limit is a thousand."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def _serve(gateway: Gateway, host: str, port: int, *, as_json: bool) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    clients = http_client.Clients(gateway)
    try:
        server = await clients.listen(host, port)
    except OSError as error:
        raise BadRequestError(
            f"cannot listen on {host}:{port}: {error.strerror}",
            hint="port 0 lets the system choose a free one",
        ) from None
    gateway.server_process()
    gc.freeze()  # what was loaded stays; nobody waits while it is looked through again
    _say(http_address.url(host, server.sockets[0].getsockname()[1], gateway.endpoint.path), as_json=as_json)
    await stopped.wait()
    server.close()
    await clients.end()
    gateway.sessions.end_all()


def _say(url: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"listening": url}), flush=True)
    else:
        say(f"listening on {url}")
