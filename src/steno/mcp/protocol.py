"""The words of MCP and JSON-RPC: methods, versions, error codes, and messages of our own."""

from __future__ import annotations

from typing import Any

import msgspec

RequestId = int | str

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020

LEGACY_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")  # with `initialize` first
CURRENT_VERSION = "2026-07-28"  # says everything in each request
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"  # in `_meta` of every request of the current era

INITIALIZE = "initialize"
CALL_TOOL = "tools/call"
LIST_TOOLS = "tools/list"
CANCELLED = "notifications/cancelled"
# Methods that no policy refuses: without them there is no connection, and nothing to choose from.
ALWAYS_PASS = frozenset(
    {
        INITIALIZE,
        "ping",
        "server/discover",
        LIST_TOOLS,
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "roots/list",
        CANCELLED,
        "notifications/elicitation/complete",
        "notifications/initialized",
        "notifications/message",
        "notifications/progress",
        "notifications/prompts/list_changed",
        "notifications/resources/list_changed",
        "notifications/resources/updated",
        "notifications/roots/list_changed",
        "notifications/subscriptions/acknowledged",
        "notifications/tasks/status",
        "notifications/tools/list_changed",
    }
)
# The other methods of the protocol, in both eras: they pass unless the policy denies them.
KNOWN = frozenset(
    {
        "completion/complete",
        "elicitation/create",
        "logging/setLevel",
        "prompts/get",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "sampling/createMessage",
        "subscriptions/listen",
        "tasks/cancel",
        "tasks/get",
        "tasks/list",
        "tasks/result",
    }
)


def request(method: str, params: dict[str, Any], request_id: RequestId | None = None) -> bytes:
    """Without an id it is a notification."""
    named = {} if request_id is None else {"id": request_id}
    return _line({"jsonrpc": "2.0", **named, "method": method, "params": params})


def result(request_id: Any, value: dict[str, Any]) -> bytes:
    return _line({"jsonrpc": "2.0", "id": request_id, "result": value})


def error(request_id: RequestId | None, code: int, message: str, reason: str | None = None) -> bytes:
    return _line(_error(request_id, code, message, reason))


def batch_error(ids: tuple[RequestId, ...], code: int, message: str, reason: str) -> bytes:
    return _line([_error(one, code, message, reason) for one in ids])


def refused_call(request_id: RequestId, message: str, reason: str, *, current_era: bool) -> bytes:
    """A result that is an error, because clients show a model nothing else."""
    text = f"{message} ({reason}; refused by policy, the tool was not called)"
    value: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    return result(request_id, value | ({"resultType": "complete"} if current_era else {}))


def _error(request_id: RequestId | None, code: int, message: str, reason: str | None) -> dict[str, Any]:
    data = {} if reason is None else {"data": {"reason": reason}}
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "error": {"code": code, "message": f"steno: {message}", **data},
    }


def _line(message: Any) -> bytes:
    return msgspec.json.encode(message) + b"\n"
