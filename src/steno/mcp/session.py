"""One connection between a client and a server, without its transport: what passes, and what is said instead.

In: the messages of both sides, one at a time, in any order and from any thread. Out: the same bytes to pass
on, or an answer in the server's place, or a question to somebody who approves. Every call of a tool is told
to the journal before it passes; if that cannot be written, it does not pass. Never touches a socket or a
pipe, and never changes a byte of what it lets through, but for listings that a policy has shortened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, TypeGuard

from steno.evidence.claims import Outcome, ProcessKey
from steno.mcp import answers, server_frames
from steno.mcp.frames import INVALID_REQUEST, Frame, RequestId, classify
from steno.mcp.journal import Journal, JournalError
from steno.mcp.listings import KnownTools
from steno.mcp.open_requests import Asked, Open, OpenRequests, Ticket
from steno.mcp.policy import TOOL_CALL, Call, Policy, Ruling
from steno.mcp.server_messages import ServerMessages
from steno.mcp.teller import CloseReason, Teller

MAX_NAME = 256


class Forward(NamedTuple):
    data: bytes  # byte for byte what came in
    call: int | None = None  # the number of the call that it is; `given` is to be told of it


class Answer(NamedTuple):
    data: bytes | None  # to the client; None: there is nothing to say


class Ask(NamedTuple):
    call: Call
    ruling: Ruling
    then: Callable[[bool], Forward | Answer]  # with the answer, once


class Session:
    def __init__(
        self,
        policy: Policy,
        journal: Journal,
        *,
        label: str,
        source: str,
        connection: str,
        server_process: ProcessKey | None,
        tools: KnownTools | None = None,
    ) -> None:
        """`tools`: what other connections to the same server have listed."""
        self._policy = policy
        self._label = label
        self._journal = journal
        self._lock = threading.RLock()
        self._tools = tools or KnownTools(policy, label)
        self._initialized = self._closed = False
        self._teller = Teller(
            journal,
            connection=connection,
            source=source,
            label=label,
            policy=policy.digest,
            dry_run=policy.dry_run,
            server_process=server_process,
        )
        self._open = OpenRequests(self._teller)
        self._from_server = ServerMessages(policy, self._teller, self._open, self._tools)

    @property
    def is_waiting(self) -> bool:
        """Whether the client has asked something that has no answer yet."""
        return bool(self._open)

    @property
    def is_asking(self) -> bool:
        """Whether a call waits for an approval."""
        return any(request.asking is not None for request in self._open)

    def from_client(self, data: bytes, frame: Frame | None = None) -> Forward | Answer | Ask:
        """`frame`: what `classify` said of the data, if that is known already."""
        frame = frame or classify(data)
        with self._lock:
            if frame.kind == "blank":
                return Forward(data)
            if frame.kind == "refused":
                return self._refuse_frame(frame)
            if frame.kind == "response":
                return self._response(frame, data)
            if frame.method == TOOL_CALL:
                return self._tool_call(frame, data)
            return self._other_method(frame, data)

    def given(self, call: int | None) -> None:
        """The last byte of a message is about to be written to the server: before that nobody hears it."""
        if call is not None:
            with self._lock:
                self._open.given(call)

    def ticket(self, request_id: RequestId | None) -> Ticket | None:
        """Of the request that is open with this id; None: there is none."""
        with self._lock:
            request = self._open.of(request_id)
            return None if request is None else Ticket(request.id, request.number)

    def from_server(self, data: bytes, to: Ticket | None = None) -> bytes:
        """What to pass on: the same bytes, unless a listing is shortened; nothing if it is not to pass.

        `to`: what the server was asked where it says this. An answer with its id is to no other request.
        """
        with self._lock:
            return self._from_server.shown(data, to)

    def for_server(self) -> list[bytes]:
        """What the server is to be told in the client's place, after something that it said."""
        with self._lock:
            return self._from_server.take_answers()

    def noticed(self, kind: str, detail: str) -> None:
        """For what only a transport can see, such as a message that is too large."""
        with self._lock:
            self._teller.noticed(kind, detail)

    def refuse(self, frame: Frame, reason: str, code: int, says: str) -> Answer:
        """Likewise, for a message of the client, such as one whose headers do not fit."""
        with self._lock:
            if frame.kind == "refused":
                return self._refuse_frame(frame)
            self._tell_refused(frame.method, frame.id, frame.params, reason)
            return self._error(frame.id if frame.kind == "request" else None, code, says, reason)

    def lost(self, request: Ticket, outcome: Outcome, why: str | None = None) -> bytes | None:
        """One request will get no answer; None: it is not open."""
        with self._lock:
            if (closed := self._open.close(request.id, outcome, request)) is None:
                return None
            return answers.none_will_come(closed.id, closed.method, outcome, why)

    def unanswered(self, outcome: Outcome) -> list[bytes]:
        """An error for every request without an answer: none will come."""
        with self._lock:
            waiting = [Ticket(request.id, request.number) for request in self._open]
            return [error for one in waiting if (error := self.lost(one, outcome)) is not None]

    def server_gone(self, exit_code: int | None = None, signal: str | None = None) -> list[bytes]:
        with self._lock:
            said = self.unanswered("server_gone")
            self.close("server_exited", exit_code, signal)
            return said

    def client_gone(self, exit_code: int | None = None, signal: str | None = None) -> None:
        with self._lock:
            self.unanswered("client_gone")
            self.close("client_closed", exit_code, signal)

    def close(self, reason: CloseReason, exit_code: int | None = None, signal: str | None = None) -> None:
        """Told once, whoever calls it how often."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._teller.closed(reason, exit_code, signal)

    # --- from the client -------------------------------------------------------------------------------

    def _refuse_frame(self, frame: Frame) -> Answer:
        reason = frame.problem or ""
        for position, (method, params) in enumerate(frame.told):
            request_id = frame.ids[position] if len(frame.ids) == len(frame.told) else None
            self._tell_refused(method, request_id, params, reason)
        if not frame.told:
            self._teller.noticed("frame_refused", reason)
        says = "this message is refused, because servers would not all read it alike"
        free = tuple(one for one in frame.ids if self._open.of(one) is None)
        if frame.problem == "batch" and free:
            return Answer(answers.errors(free, frame.code, says, reason))
        return Answer(answers.error(free[0] if len(free) == 1 else None, frame.code, says, reason))

    def _tell_refused(
        self, method: str | None, request_id: RequestId | None, params: Any, reason: str
    ) -> None:
        if method == TOOL_CALL:
            name = params.get("name") if isinstance(params, dict) else None
            tool = name if _is_tool_name(name) else ""
            self._teller.refused(self._teller.caller(request_id, params), tool, "error", reason)
        else:
            self._teller.noticed("frame_refused", f"{reason}: {method}")

    def _response(self, frame: Frame, data: bytes) -> Forward | Answer:
        if self._from_server.was_asked(frame.id):
            return Forward(data)
        self._teller.noticed("response_unasked", "the client answered what the server did not ask")
        return Answer(None)

    def _other_method(self, frame: Frame, data: bytes) -> Forward | Answer:
        method = frame.method or ""
        if not self._policy.passes_method(method):
            self._teller.noticed("method_refused", method)
            if not self._policy.dry_run:
                says = f"the policy does not pass the method {method[:MAX_NAME]!r}"
                if frame.kind == "notification":
                    return Answer(None)
                return self._error(frame.id, answers.METHOD_NOT_FOUND, says, "method_refused")
        if frame.kind == "request":
            if (refused := self._unusable_id(frame)) is not None:
                return refused
            self._initialized |= method == "initialize"
            self._open.add(Open(_id_of(frame), self._open.number(), method))
        elif method == server_frames.CANCELLED:
            self._cancelled_by_client(frame.params)
        return Forward(data)

    def _tool_call(self, frame: Frame, data: bytes) -> Forward | Answer | Ask:
        params = frame.params if isinstance(frame.params, dict) else {}
        if frame.kind != "request":
            self._tell_refused(TOOL_CALL, None, params, "call_without_id")
            return Answer(None)
        if (refused := self._unusable_id(frame)) is not None:
            return refused
        if not _is_tool_name(params.get("name")):
            self._tell_refused(TOOL_CALL, frame.id, params, "tool_name_invalid")
            return self._error(frame.id, -32602, "a call needs the name of a tool", "tool_name_invalid")
        caller = self._teller.caller(frame.id, params)
        call = Call(self._label, params["name"], params.get("arguments"))
        return self._decide(Asked(self._open.number(), frame, data, caller, call))

    def _decide(self, asked: Asked) -> Forward | Answer | Ask:
        ruling = self._policy.decide(asked.call, self._journal.now())
        if ruling.decision == "allow":
            return self._let_through(asked, ruling)
        if self._policy.dry_run:
            return self._let_through(asked, ruling, would_be="deny")
        if ruling.decision == "deny":
            return self._deny(asked, ruling)
        self._open.add(Open(_id_of(asked.frame), asked.number, TOOL_CALL, asking=asked))
        return Ask(asked.call, ruling, partial(self._approved, asked, ruling))

    def _approved(self, asked: Asked, ruling: Ruling, approved: bool) -> Forward | Answer:
        with self._lock:
            if not self._open.approved(asked):
                return Answer(None)  # cancelled, or a side has gone, while somebody thought about it
            if approved and (refusal := self._policy.refusal(asked.call)) is not None:
                return self._deny(asked, refusal)  # it was fit to be asked about then, and is not now
            if approved:
                return self._let_through(asked, ruling._replace(reason="allowed_by_approval"))
            says = f"Nobody approved the tool {asked.call.tool!r}."
            return self._deny(asked, ruling._replace(reason="approval_refused", says=says))

    def _let_through(
        self, asked: Asked, ruling: Ruling, would_be: Literal["deny"] | None = None
    ) -> Forward | Answer:
        tool = asked.call.tool
        try:
            self._teller.let_through(
                asked.caller, tool, would_be or "allow", ruling.reason, asked.frame.params, len(asked.data),
                self._tools.read_only(tool),
            )  # fmt: skip
        except JournalError:
            says = "The decision about this call could not be written down."
            return self._refusal(asked, says, "decision_log_unwritable")
        self._open.add(Open(_id_of(asked.frame), asked.number, TOOL_CALL, call=asked.caller.number))
        return Forward(asked.data, asked.caller.number)

    def _deny(self, asked: Asked, ruling: Ruling) -> Answer:
        tool = asked.call.tool
        self._teller.refused(
            asked.caller, tool, "deny", ruling.reason, asked.frame.params, len(asked.data),
            self._tools.read_only(tool),
        )  # fmt: skip
        return self._refusal(asked, ruling.says, ruling.reason)

    def _refusal(self, asked: Asked, says: str, reason: str) -> Answer:
        meta = asked.frame.params.get("_meta")
        current = not self._initialized or (isinstance(meta, dict) and answers.ERA_KEY in meta)
        return Answer(answers.refusal(_id_of(asked.frame), says, reason, current_era=current))

    def _unusable_id(self, frame: Frame) -> Answer | None:
        is_in_use = self._open.of(frame.id) is not None
        if is_in_use:
            reason, says = "request_id_in_use", "the id of this request is that of one without an answer yet"
        elif self._open.are_too_many:
            reason, says = "too_many_requests", "too many requests have no answer yet"
        else:
            return None
        self._tell_refused(frame.method, frame.id, frame.params, reason)
        # An error with the id in use would be taken for the answer to the first request.
        return self._error(None if is_in_use else frame.id, INVALID_REQUEST, says, reason)

    def _cancelled_by_client(self, params: Any) -> None:
        request_id = params.get("requestId") if isinstance(params, dict) else None
        self._open.close(request_id, "cancelled")

    def _error(self, request_id: RequestId | None, code: int, says: str, reason: str) -> Answer:
        return Answer(answers.error(request_id, code, says, reason))


def _id_of(frame: Frame) -> RequestId:
    if frame.id is None:
        raise ValueError("a request without an id")
    return frame.id


def _is_tool_name(name: Any) -> TypeGuard[str]:
    """Nothing invisible in it: some servers stop at a NUL, or drop what they cannot show."""
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()
