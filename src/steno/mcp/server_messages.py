"""What a server says to its client, held to the policy: what passes, and what is said instead.

In: the messages of a server, one at a time. Out: the same bytes; a listing without what the policy hides;
nothing, or an error in its place, where a message must not reach the client: an answer that nobody asked
for, a request whose method the policy does not pass, and whatever two clients could read differently where
that matters. Answers to the server are kept until they are taken. Never changes anything else.
"""

from __future__ import annotations

from typing import Any

from steno.mcp import answers, listings, server_frames
from steno.mcp.frames import Reading, RequestId, is_id, read
from steno.mcp.open_requests import MAX_OPEN, Open, OpenRequests, Ticket, key_of
from steno.mcp.policy import Policy
from steno.mcp.server_frames import Said
from steno.mcp.teller import Teller

_UNREADABLE_LISTING = "the server's list of tools can be read in more than one way"
_UNREADABLE = "what the server says can be read in more than one way"
_NOT_READ = Reading(None, None)
_OF_OBJECTS = frozenset({"duplicate_key", "keys_differ_in_case", "not_a_number"})  # wherever they are
_KEYS = ("jsonrpc", "id", "method", "params", "result", "error")
_KEYS_OF_RESULT = ("tools", "inputRequests", "resultType")


class ServerMessages:
    def __init__(
        self, policy: Policy, teller: Teller, requests: OpenRequests, tools: listings.KnownTools
    ) -> None:
        self._policy = policy
        self._teller = teller
        self._requests = requests
        self._tools = tools
        self._open_at_client: dict[RequestId, None] = {}  # requests of the server that have no answer yet
        self._for_server: list[bytes] = []

    def shown(self, data: bytes, to: Ticket | None) -> bytes:
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

    def _batch(self, data: bytes, to: Ticket | None) -> bytes:
        keys = server_frames.delicate_keys(data)
        if keys:
            reading = read(data, portable_values=False)
            if "tools" in keys or reading.problem is not None:
                return self._not_passed(reading.value, keys, to)
        parts = server_frames.parts_of_batch(data)
        if not parts:
            return self._noise(data)
        kept = [shown for part in parts if (shown := self._one(part, to))]
        if kept == parts:
            return data
        return b"[" + b",".join(kept) + b"]\n" if kept else b""

    def _one(self, data: bytes, to: Ticket | None) -> bytes:
        keys = server_frames.delicate_keys(data)
        value, problem, _ = read(data, portable_values=False) if keys else _NOT_READ
        if problem is not None and _is_text(data, problem):
            self._noise(data)
            return b""  # but for what it begins with it might be a message
        said = server_frames.look(data)
        if keys and (said is None or not _is_certain(data, value, problem, keys)):
            return self._not_passed(value, keys, to)
        if said is None:
            return self._noise(data)
        if said.kind == "response":
            return self._response(said, value, data, to)
        if self._refuses(said.method):
            self._answer_in_place_of_client(said)
            return b""
        return self._request(said, data) if said.kind == "request" else self._notification(said, data)

    def _noise(self, data: bytes) -> bytes:
        """No client takes it for a message."""
        if data and not data.isspace():
            self._teller.noticed("server_frame_unreadable", f"{len(data)} bytes")
        return data

    def _response(self, said: Said, value: Any, data: bytes, to: Ticket | None) -> bytes:
        request = self._requests.of(said.id)
        result = _result_of(value)
        is_listing = _is_listing(result, request)
        is_readable = is_listing and self._learn(result["tools"])  # also if it does not pass: it has changed
        if not self._requests.were_sent(said.id):
            return data if said.is_error_to_nothing else self._unasked()
        if is_listing and (not is_readable or "error" in value):
            return self._not_passed(value, {"tools"}, to)
        if (method := self._refused_input(result)) is not None:
            self._requests.close(said.id, "protocol_error", to)
            says = f"the policy does not pass the method {method!r} that the server asks for"
            return self._error(request, answers.METHOD_NOT_FOUND, says, "method_refused")
        if request is not None:
            outcome = server_frames.outcome(said) if request.call is not None else "result"
            self._requests.close(said.id, outcome, to)
        return self._tools.shown(data) if is_listing else data

    def _learn(self, tools: Any) -> bool:
        """False: they can be read in two ways."""
        if not listings.are_definitions(tools):
            return False
        for tool, what in self._tools.learn(tools):
            self._teller.noticed("tool_not_as_pinned", f"{tool}: {what}")
        return True

    def _unasked(self) -> bytes:
        self._teller.noticed("response_unasked", "the server answered what the client did not ask")
        return b""

    def _request(self, said: Said, data: bytes) -> bytes:
        if (key := key_of(said.id)) is not None:
            if len(self._open_at_client) >= MAX_OPEN:
                del self._open_at_client[next(iter(self._open_at_client))]
            self._open_at_client[key] = None
        return data

    def _notification(self, said: Said, data: bytes) -> bytes:
        cancelled = server_frames.cancelled_id(said) if said.method == server_frames.CANCELLED else None
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
        self._teller.noticed("method_refused", f"{method}, asked by the server")
        return not self._policy.dry_run

    # --- instead ---------------------------------------------------------------------------------------

    def _answer_in_place_of_client(self, said: Said) -> None:
        if is_id(said.id):
            says = f"the policy does not pass the method {said.method[:256]!r}"
            self._for_server.append(answers.error(said.id, answers.METHOD_NOT_FOUND, says, "method_refused"))

    def _not_passed(self, value: Any, keys: set[str], to: Ticket | None) -> bytes:
        """Two clients could read it differently, where that matters."""
        is_listing = "tools" in keys
        says = _UNREADABLE_LISTING if is_listing else _UNREADABLE
        reason = "listing_unreadable" if is_listing else "server_frame_ambiguous"
        self._teller.noticed(reason, says)
        request = self._answered_by(value, to)
        if request is None or self._requests.close(request.id, "protocol_error", to) is None:
            return b""
        return self._error(request, answers.INTERNAL_ERROR, says, reason)

    def _answered_by(self, value: Any, to: Ticket | None) -> Open | None:
        named = self._requests.of(value.get("id")) if isinstance(value, dict) else None
        asked = named or (None if to is None else self._requests.of(to.id))
        if asked is None:
            asked = next((one for one in self._requests if one.method == listings.METHOD), None)
        return None if asked is None or asked.asking is not None else asked

    def _error(self, request: Open | None, code: int, says: str, reason: str) -> bytes:
        return b"" if request is None else answers.error(request.id, code, says, reason)


def _is_listing(result: dict[str, Any], request: Open | None) -> bool:
    """Whoever asked for whatever: a client may take it for one."""
    tools = result.get("tools")
    return isinstance(tools, list) or (
        "tools" in result and request is not None and request.method == listings.METHOD
    )


def _is_text(data: bytes, problem: str) -> bool:
    """A line that is no message, such as one of a log, though there is something like one in it."""
    begins_as_text = not data.lstrip().startswith((b"{", b"["))
    return begins_as_text and (problem == "not_json" or b"{" not in data)


def _is_certain(data: bytes, value: Any, problem: str | None, keys: set[str]) -> bool:
    """All clients read alike what a policy looks at. What is deeper in a result is its own affair."""
    if not isinstance(value, dict) or _has_keys_of_other_case(value):
        return False
    if "method" in value and ("result" in value or "error" in value):
        return False  # a request to one, an answer to another
    if problem is None:
        return True
    return problem in _OF_OBJECTS and "tools" not in keys and server_frames.has_certain_envelope(data)


def _has_keys_of_other_case(value: dict[str, Any]) -> bool:
    return _is_any_of_other_case(value, _KEYS) or _is_any_of_other_case(_result_of(value), _KEYS_OF_RESULT)


def _result_of(value: Any) -> dict[str, Any]:
    result = value.get("result") if isinstance(value, dict) else None
    return result if isinstance(result, dict) else {}


def _is_any_of_other_case(keys: dict[str, Any], known: tuple[str, ...]) -> bool:
    folded = {key.casefold() for key in known}
    return any(key not in known and key.partition("\0")[0].strip().casefold() in folded for key in keys)
