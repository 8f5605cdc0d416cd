"""What a server says to its client, held to the policy: what passes, and what is said instead.

The same bytes pass, but for a listing without what the policy hides, and nothing, or an error in its place,
for an answer that nobody asked for, a request whose method the policy does not pass, and whatever two clients
could read differently where that matters.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from steno.mcp import messages, protocol
from steno.mcp.decision_log import ConnectionLog
from steno.mcp.messages import Reading, ServerMessage, is_id, read
from steno.mcp.pending_requests import MAX_OPEN, PendingRequest, PendingRequests, key_of
from steno.mcp.policy.policy import Policy
from steno.mcp.protocol import LIST_TOOLS, RequestId

MAX_KNOWN_TOOLS = 10_000
_PARTS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
_FOLDED = {part.casefold(): part for part in _PARTS}
_UNREADABLE_LISTING = "the server's list of tools can be read in more than one way"
_UNREADABLE = "what the server says can be read in more than one way"
_NOT_READ = Reading(None, None)
_OF_OBJECTS = frozenset({"duplicate_key", "keys_differ_in_case", "not_a_number"})  # wherever they are
_KEYS = ("jsonrpc", "id", "method", "params", "result", "error")
_KEYS_OF_RESULT = ("tools", "inputRequests", "resultType")


class KnownTools:
    """What the listings of a server said. Its lock is that of whoever asks: dicts are enough."""

    def __init__(self, policy: Policy, label: str) -> None:
        self._policy = policy
        self._label = label
        self._read_only: dict[str, bool] = {}

    def read_only(self, tool: str) -> bool | None:
        """The server's own hint; None: it gave none."""
        return self._read_only.get(tool)

    def remember(self, tools: list[dict[str, Any]]) -> list[tuple[str, str]]:
        """The tools that are not as they were pinned, and what differs."""
        for tool in tools:
            hints = tool.get("annotations")
            told = hints.get("readOnlyHint") if isinstance(hints, dict) else None
            if isinstance(told, bool) and len(self._read_only) < MAX_KNOWN_TOOLS:
                self._read_only[tool["name"]] = told
        return self._policy.check_listing(self._label, tools)

    def filter(self, data: bytes) -> bytes:
        if not self._policy.hides:
            return data
        return messages.without_tools(data, partial(self._policy.lists, self._label))


class ServerFilter:
    def __init__(
        self, policy: Policy, log: ConnectionLog, requests: PendingRequests, tools: KnownTools
    ) -> None:
        self._policy = policy
        self._log = log
        self._requests = requests
        self._tools = tools
        self._open_at_client: dict[RequestId, None] = {}  # requests of the server that have no answer yet
        self._for_server: list[bytes] = []

    def shown(self, data: bytes, to: PendingRequest | None) -> bytes:
        """What the client shall read. `to`: what the server was asked where it says this."""
        if data.lstrip()[:1] == b"[":
            return self._batch(data, to)
        return self._one(data, to)

    def take_answers(self) -> list[bytes]:
        """For the server, in the client's place."""
        taken, self._for_server = self._for_server, []
        return taken

    def was_asked(self, request_id: RequestId | None) -> bool:
        """Whether the client may answer this. Once."""
        key = key_of(request_id)
        if key is None or key not in self._open_at_client:
            return False
        del self._open_at_client[key]
        return True

    # --- by what it is ---------------------------------------------------------------------------------

    def _batch(self, data: bytes, to: PendingRequest | None) -> bytes:
        keys = messages.policy_keys(data)
        if keys:
            reading = read(data, portable_values=False)
            if "tools" in keys or reading.problem is not None:
                return self._not_passed(reading.value, keys, to)
        parts = messages.parts_of_batch(data)
        if not parts:
            return self._noise(data)
        kept = [shown for part in parts if (shown := self._one(part, to))]
        if kept == parts:
            return data
        return b"[" + b",".join(kept) + b"]\n" if kept else b""

    def _one(self, data: bytes, to: PendingRequest | None) -> bytes:
        keys = messages.policy_keys(data)
        reading = read(data, portable_values=False) if keys else _NOT_READ
        if reading.problem is not None and _is_text(data, reading.problem):
            self._noise(data)
            return b""  # but for what it begins with it might be a message
        message = messages.read_server_message(data)
        if keys and (message is None or not _is_certain(reading, keys)):
            return self._not_passed(reading.value, keys, to)
        if message is None:
            return self._noise(data)
        if message.kind == "response":
            return self._response(message, reading.value, data, to)
        if self._refuses(message.method):
            self._answer_in_place_of_client(message)
            return b""
        return (
            self._request(message, data) if message.kind == "request" else self._notification(message, data)
        )

    def _noise(self, data: bytes) -> bytes:
        """No client takes it for a message."""
        if data and not data.isspace():
            self._log.noticed("server_frame_unreadable", f"{len(data)} bytes")
        return data

    def _response(self, message: ServerMessage, value: Any, data: bytes, to: PendingRequest | None) -> bytes:
        request = self._requests.get(message.id)
        result = _result_of(value)
        is_listing = _is_listing(result, request)
        is_readable = is_listing and self._remember(
            result["tools"]
        )  # also if it does not pass: it has changed
        if not self._requests.was_sent(message.id):
            return data if message.is_error_to_nothing else self._unasked()
        if is_listing and (not is_readable or "error" in value):
            return self._not_passed(value, {"tools"}, to)
        if (method := self._refused_input(result)) is not None:
            self._requests.close(message.id, "protocol_error", to)
            why = f"the policy does not pass the method {method!r} that the server asks for"
            return self._error(request, protocol.METHOD_NOT_FOUND, why, "method_refused")
        if request is not None:
            outcome = messages.outcome(message) if request.call is not None else "result"
            self._requests.close(message.id, outcome, to)
        return self._tools.filter(data) if is_listing else data

    def _remember(self, tools: Any) -> bool:
        """False: they can be read in two ways."""
        if not _are_definitions(tools):
            return False
        for tool, what in self._tools.remember(tools):
            self._log.noticed("tool_not_as_pinned", f"{tool}: {what}")
        return True

    def _unasked(self) -> bytes:
        self._log.noticed("response_unasked", "the server answered what the client did not ask")
        return b""

    def _request(self, message: ServerMessage, data: bytes) -> bytes:
        if (key := key_of(message.id)) is not None:
            if len(self._open_at_client) >= MAX_OPEN:
                del self._open_at_client[next(iter(self._open_at_client))]
            self._open_at_client[key] = None
        return data

    def _notification(self, message: ServerMessage, data: bytes) -> bytes:
        cancelled = messages.cancelled_id(message) if message.method == protocol.CANCELLED else None
        if (key := key_of(cancelled)) is not None:
            self._open_at_client.pop(key, None)
        return data

    def _refused_input(self, result: dict[str, Any]) -> str | None:
        """In the current era a server asks its client inside of a result."""
        asked = result.get("inputRequests")
        for one in asked.values() if isinstance(asked, dict) else ():
            method = one.get("method") if isinstance(one, dict) else None
            if isinstance(method, str) and self._refuses(method):
                return method[:256]
        return None

    def _refuses(self, method: str) -> bool:
        if self._policy.passes_from_server(method):
            return False
        self._log.noticed("method_refused", f"{method}, asked by the server")
        return not self._policy.dry_run

    # --- instead ---------------------------------------------------------------------------------------

    def _answer_in_place_of_client(self, message: ServerMessage) -> None:
        if is_id(message.id):
            why = f"the policy does not pass the method {message.method[:256]!r}"
            self._for_server.append(
                protocol.error(message.id, protocol.METHOD_NOT_FOUND, why, "method_refused")
            )

    def _not_passed(self, value: Any, keys: set[str], to: PendingRequest | None) -> bytes:
        """Two clients could read it differently, where that matters."""
        is_listing = "tools" in keys
        why = _UNREADABLE_LISTING if is_listing else _UNREADABLE
        reason = "listing_unreadable" if is_listing else "server_frame_ambiguous"
        self._log.noticed(reason, why)
        request = self._answered_by(value, to)
        if request is None or self._requests.close(request.id, "protocol_error", to) is None:
            return b""
        return self._error(request, protocol.INTERNAL_ERROR, why, reason)

    def _answered_by(self, value: Any, to: PendingRequest | None) -> PendingRequest | None:
        named = self._requests.get(value.get("id")) if isinstance(value, dict) else None
        asked = named or (None if to is None else self._requests.get(to.id))
        if asked is None:
            asked = next((one for one in self._requests if one.method == LIST_TOOLS), None)
        return None if asked is None or asked.waits is not None else asked

    def _error(self, request: PendingRequest | None, code: int, why: str, reason: str) -> bytes:
        return b"" if request is None else protocol.error(request.id, code, why, reason)


def _are_definitions(tools: Any) -> bool:
    """Whether they are definitions of tools that all clients read alike."""
    return isinstance(tools, list) and all(
        isinstance(tool, dict)
        and isinstance(tool.get("name"), str)
        and all(_FOLDED.get(key.casefold(), key) == key for key in tool)
        for tool in tools
    )


def _is_listing(result: dict[str, Any], request: PendingRequest | None) -> bool:
    """Whoever asked for whatever: a client may take it for one."""
    tools = result.get("tools")
    return isinstance(tools, list) or (
        "tools" in result and request is not None and request.method == LIST_TOOLS
    )


def _is_text(data: bytes, problem: str) -> bool:
    """A line that is no message, such as one of a log, though there is something like one in it."""
    begins_as_text = not data.lstrip().startswith((b"{", b"["))
    return begins_as_text and (problem == "not_json" or b"{" not in data)


def _is_certain(reading: Reading, keys: set[str]) -> bool:
    """All clients read alike what a policy looks at. What is deeper in a result is its own affair."""
    value, problem = reading.value, reading.problem
    if not isinstance(value, dict) or _has_keys_of_other_case(value):
        return False
    if "method" in value and ("result" in value or "error" in value):
        return False  # a request to one, an answer to another
    if problem is None:
        return True
    is_deeper = not reading.is_ambiguous(value) and not reading.is_ambiguous(value.get("result"))
    return problem in _OF_OBJECTS and "tools" not in keys and is_deeper


def _has_keys_of_other_case(value: dict[str, Any]) -> bool:
    return _is_any_of_other_case(value, _KEYS) or _is_any_of_other_case(_result_of(value), _KEYS_OF_RESULT)


def _result_of(value: Any) -> dict[str, Any]:
    result = value.get("result") if isinstance(value, dict) else None
    return result if isinstance(result, dict) else {}


def _is_any_of_other_case(keys: dict[str, Any], known: tuple[str, ...]) -> bool:
    folded = {key.casefold() for key in known}
    return any(key not in known and key.partition("\0")[0].strip().casefold() in folded for key in keys)
