"""What a proxy says to a client in a server's place: errors of the protocol, and refusals that a model reads.

In: the id of a request and why it was not let through. Out: one message with its line end. A refused tool
call is answered with a result that is an error, because clients show a model nothing else. Never decides
anything.
"""

from __future__ import annotations

from typing import Any

import msgspec

from steno.evidence.claims import Outcome
from steno.mcp.frames import RequestId

INTERNAL_ERROR = -32603
METHOD_NOT_FOUND = -32601
ERA_KEY = "io.modelcontextprotocol/protocolVersion"  # in `_meta` of every request of the current era


def error(request_id: RequestId | None, code: int, message: str, reason: str) -> bytes:
    return _line(_error(request_id, code, message, reason))


def errors(ids: tuple[RequestId, ...], code: int, message: str, reason: str) -> bytes:
    """For a batch, which is answered with one."""
    return _line([_error(one, code, message, reason) for one in ids])


def refusal(request_id: RequestId, says: str, reason: str, *, current_era: bool) -> bytes:
    result: dict[str, Any] = {
        "content": [
            {"type": "text", "text": f"{says} ({reason}; refused by policy, the tool was not called)"}
        ],
        "isError": True,
    }
    if current_era:
        result["resultType"] = "complete"
    return _line({"jsonrpc": "2.0", "id": request_id, "result": result})


def _error(request_id: RequestId | None, code: int, message: str, reason: str) -> dict[str, Any]:
    said = {"code": code, "message": f"steno: {message}", "data": {"reason": reason}}
    return {"jsonrpc": "2.0", "id": request_id, "error": said}


def _line(message: Any) -> bytes:
    return msgspec.json.encode(message) + b"\n"


def none_will_come(request_id: RequestId, method: str, outcome: Outcome, why: str | None = None) -> bytes:
    """In place of the answer to a request."""
    closed = "the client closed its side, and then " if outcome == "client_gone" else ""
    because = why or f"{closed}the server ended without one"
    return error(request_id, INTERNAL_ERROR, f"{method} gets no answer: {because}", outcome)
