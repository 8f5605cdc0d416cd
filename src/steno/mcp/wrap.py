"""`steno mcp wrap`: a server on stdin and stdout, started by us, with a policy before it.

In: a policy, the server's command and the journal. Out: the server's exit status. Whatever happens here, the
server does not outlive it, and the journal says how the connection closed. Never prints to stdout: it belongs
to the protocol.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from steno.mcp.approvals import Approvals
from steno.mcp.journal import Journal
from steno.mcp.policy import Policy
from steno.mcp.relay import Relay
from steno.mcp.served import Server
from steno.mcp.session import Session

SOURCE = "steno.mcp.wrap"


def run(
    policy: Policy, words: Sequence[str], *, label: str, journal: Journal, environ: Mapping[str, str]
) -> int:
    server = Server(words, environ)
    try:
        session = Session(
            policy,
            journal,
            label=label,
            source=SOURCE,
            connection=secrets.token_hex(8),
            server_process=server.key,
        )
        try:
            relay = Relay(session, server, Approvals(policy))
            ended = relay.run()
            if relay.client_left_first:
                session.client_gone(ended.code, ended.signal)
            else:
                session.server_gone(ended.code, ended.signal)
            return ended.status
        finally:
            session.close("proxy_failed")
    finally:
        server.close()
