"""The requests of a client that have no answer yet, by their ids.

In: requests as they are let through or wait for an approval, and how they end. Out: whether an answer of the
server is one to something that it was asked; every call's end is told. Ids that a client takes for the same
are the same here: SDKs read "1" and 1.0 as 1. Never looks at a message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

from steno.evidence.claims import Outcome
from steno.mcp.frames import Frame, RequestId, is_id
from steno.mcp.policy import Call
from steno.mcp.teller import Caller, Teller

MAX_OPEN = 100_000
MAX_REMEMBERED = 10_000  # that were sent and are not open any more: an answer may come late, or again
_WHOLE_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,15})")


class Ticket(NamedTuple):
    """One request of the client: another one with the same id has another number."""

    id: RequestId
    number: int


class Asked(NamedTuple):
    """A call of a tool whose form is right."""

    number: int  # of the request
    frame: Frame
    data: bytes
    caller: Caller
    call: Call


class Open(NamedTuple):
    """A request of the client that has no answer yet."""

    id: RequestId  # as the client wrote it
    number: int
    method: str
    call: int | None = None  # the number of the call, once it was let through to the server
    asking: Asked | None = None  # a call that waits for an approval


class OpenRequests:
    def __init__(self, teller: Teller) -> None:
        self._teller = teller
        self._numbers = count(1)
        self._open: dict[RequestId, Open] = {}
        self._given: dict[int, int] = {}  # when each call that has no answer yet was given to the server
        self._before: dict[RequestId, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Open]:
        return iter(list(self._open.values()))

    @property
    def are_too_many(self) -> bool:
        return len(self._open) >= MAX_OPEN

    def number(self) -> int:
        return next(self._numbers)

    def of(self, request_id: Any) -> Open | None:
        key = key_of(request_id)
        return None if key is None else self._open.get(key)

    def add(self, request: Open) -> None:
        key = _certain_key(request.id)
        self._open[key] = request
        if request.asking is None:
            self._before.pop(key, None)
            self._before[key] = None
            if len(self._before) > MAX_REMEMBERED + len(self._open):
                del self._before[next(iter(self._before))]

    def were_sent(self, request_id: Any) -> bool:
        """Whether the server was asked this, now or some time before."""
        key = key_of(request_id)
        request = None if key is None else self._open.get(key)
        return key in self._before if request is None else request.asking is None

    def approved(self, asked: Asked) -> bool:
        """No longer waits for an approval; False: it did not any more."""
        request = self.of(asked.frame.id)
        if request is None or request.asking is not asked:
            return False
        del self._open[_certain_key(request.id)]
        return True

    def given(self, call: int) -> None:
        """The server can hear it from now on."""
        self._given[call] = self._teller.now()

    def close(self, request_id: Any, outcome: Outcome, only: Ticket | None = None) -> Open | None:
        """None: it is not open, or not the one that is meant."""
        request = self.of(request_id)
        if request is None or (only is not None and _is_another(only, request)):
            return None
        del self._open[_certain_key(request.id)]
        if request.call is not None:
            self._teller.ended(request.call, outcome, self._given.pop(request.call, None))
        elif request.asking is not None:
            asked = request.asking
            self._teller.refused(
                asked.caller,
                asked.call.tool,
                "error",
                "approval_unfinished",
                asked.frame.params,
                len(asked.data),
            )
        return request


def key_of(request_id: Any) -> RequestId | None:
    """The same for all ids that some client takes for the same; None: that is no id."""
    if isinstance(request_id, float) and request_id.is_integer():
        request_id = int(request_id)
    if isinstance(request_id, str) and _WHOLE_NUMBER.fullmatch(request_id):
        return int(request_id)
    return request_id if is_id(request_id) else None


def _certain_key(request_id: RequestId) -> RequestId:
    key = key_of(request_id)
    if key is None:
        raise ValueError("a request without an id")
    return key


def _is_another(ticket: Ticket, request: Open) -> bool:
    return key_of(ticket.id) == key_of(request.id) and ticket.number != request.number
