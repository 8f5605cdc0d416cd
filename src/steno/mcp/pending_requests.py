"""The requests of a client that have no answer yet, by their ids; each call's end is logged.

Ids that a client takes for the same are the same here: SDKs read "1" and 1.0 as 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from steno.evidence.claims import Outcome
from steno.mcp.decision_log import Caller, ConnectionLog
from steno.mcp.messages import is_id
from steno.mcp.policy.policy import Call
from steno.mcp.protocol import RequestId

MAX_OPEN = 100_000
MAX_REMEMBERED = 10_000  # that were sent and are not open any more: an answer may come late, or again
_WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})")


class ToolCall(NamedTuple):
    """A call of a tool whose form is right, which may have to wait for an approval."""

    id: RequestId
    params: dict[str, Any]
    data: bytes
    caller: Caller
    call: Call


class PendingRequest:
    """Compared by identity: another one may come with the same id."""

    def __init__(self, request_id: RequestId, method: str, *, waits: ToolCall | None = None) -> None:
        self.id = request_id  # as the client wrote it
        self.method = method
        self.waits = waits  # for an approval
        self.call: int | None = None  # its number, once it was let through to the server
        self.given_ns: int | None = None  # when the server could hear it


class PendingRequests:
    def __init__(self, log: ConnectionLog) -> None:
        self._log = log
        self._open: dict[RequestId, PendingRequest] = {}
        self._given: dict[int, PendingRequest] = {}
        self._sent: dict[RequestId, None] = {}  # now, or some time before

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[PendingRequest]:
        return iter(list(self._open.values()))

    @property
    def are_too_many(self) -> bool:
        return len(self._open) >= MAX_OPEN

    def get(self, request_id: Any) -> PendingRequest | None:
        key = key_of(request_id)
        return None if key is None else self._open.get(key)

    def add(self, request: PendingRequest) -> None:
        self._open[_certain_key(request)] = request

    def send(self, request: PendingRequest, call: int | None = None) -> None:
        """It is let through, and open from now on if it was not before."""
        key = _certain_key(request)
        self._open[key] = request
        request.waits, request.call = None, call
        if call is not None:
            self._given[call] = request
        self._sent.pop(key, None)
        self._sent[key] = None
        if len(self._sent) > MAX_REMEMBERED + len(self._open):
            del self._sent[next(iter(self._sent))]

    def was_sent(self, request_id: Any) -> bool:
        """Whether the server was asked this, now or some time before."""
        key = key_of(request_id)
        request = None if key is None else self._open.get(key)
        return key in self._sent if request is None else request.waits is None

    def given(self, call: int) -> None:
        """The server can hear it from now on."""
        if (request := self._given.get(call)) is not None:
            request.given_ns = self._log.now()

    def drop(self, request: PendingRequest) -> None:
        """It is answered by us, and its end is logged with that."""
        del self._open[_certain_key(request)]

    def close(
        self, request_id: Any, outcome: Outcome, only: PendingRequest | None = None
    ) -> PendingRequest | None:
        """None: it is not open, or not the one that is meant."""
        request = self.get(request_id)
        if request is None or (only is not None and only is not request and _have_one_id(only, request)):
            return None
        self.drop(request)
        if request.call is not None:
            del self._given[request.call]
            self._log.ended(request.call, outcome, request.given_ns)
        elif (waiting := request.waits) is not None:
            tool, size = waiting.call.tool, len(waiting.data)
            self._log.refused(waiting.caller, tool, "error", "approval_unfinished", waiting.params, size)
        return request


def key_of(request_id: Any) -> RequestId | None:
    """The same for all ids that some client takes for the same; None: that is no id."""
    if isinstance(request_id, float) and request_id.is_integer():
        request_id = int(request_id)
    if isinstance(request_id, str) and _WHOLE_NUMBER.fullmatch(request_id):
        return int(request_id)
    return request_id if is_id(request_id) else None


def _certain_key(request: PendingRequest) -> RequestId:
    key = key_of(request.id)
    if key is None:
        raise ValueError("a request without an id")
    return key


def _have_one_id(one: PendingRequest, other: PendingRequest) -> bool:
    return key_of(one.id) == key_of(other.id)
