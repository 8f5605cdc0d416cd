"""One connection between a client and a server, without its transport: what passes, and what is not.

Every call of a tool is logged before it passes; if that cannot be written, it does not pass. No byte of
what is let through is changed, but for listings that a policy has shortened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple, TypeGuard

from steno.evidence.claims import Outcome, ProcessKey
from steno.mcp import protocol
from steno.mcp.decision_log import CloseReason, ConnectionLog, DecisionLog, DecisionLogError
from steno.mcp.messages import ClientMessage, classify
from steno.mcp.pending_requests import PendingRequest, PendingRequests, ToolCall
from steno.mcp.policy.policy import Call, Decision, Policy
from steno.mcp.protocol import CALL_TOOL, RequestId
from steno.mcp.server_filter import KnownTools, ServerFilter

MAX_NAME = 256


class Forward(NamedTuple):
    data: bytes  # byte for byte what came in
    call: int | None = None  # the number of the call that it is, for `given`


class Answer(NamedTuple):
    data: bytes | None  # to the client; None: there is nothing to say
    code: int | None = None  # of the error that it is


class ApprovalRequest(NamedTuple):
    call: Call
    decision: Decision
    then: Callable[[bool], Forward | Answer]  # with the answer, once


class Session:
    def __init__(
        self,
        policy: Policy,
        log: DecisionLog,
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
        self._decision_log = log
        self._lock = threading.RLock()
        self._tools = tools or KnownTools(policy, label)
        self._initialized = self._closed = False
        self._log = ConnectionLog(
            log,
            connection=connection,
            source=source,
            label=label,
            policy=policy.digest,
            dry_run=policy.dry_run,
            server_process=server_process,
        )
        self._pending = PendingRequests(self._log)
        self._filter = ServerFilter(policy, self._log, self._pending, self._tools)

    @property
    def is_waiting(self) -> bool:
        """Whether the client has asked something that has no answer yet."""
        return bool(self._pending)

    @property
    def awaits_approval(self) -> bool:
        """Whether a call waits for an approval."""
        return any(request.waits is not None for request in self._pending)

    def from_client(
        self, data: bytes, message: ClientMessage | None = None
    ) -> Forward | Answer | ApprovalRequest:
        """`message`: what `classify` said of the data, if that is known already."""
        message = message or classify(data)
        with self._lock:
            if message.kind == "blank":
                return Forward(data)
            if message.kind == "refused":
                return self._refuse(message)
            if message.kind == "response":
                return self._response(message, data)
            if message.method == CALL_TOOL:
                return self._tool_call(message, data)
            return self._other_method(message, data)

    def given(self, call: int | None) -> None:
        """The last byte of a message is about to be written to the server: before that nobody hears it."""
        if call is not None:
            with self._lock:
                self._pending.given(call)

    def pending(self, request_id: RequestId | None) -> PendingRequest | None:
        with self._lock:
            return self._pending.get(request_id)

    def from_server(self, data: bytes, to: PendingRequest | None = None) -> bytes:
        """What to pass on: the same bytes, unless a listing is shortened; nothing if it is not to pass.

        `to`: what the server was asked where it says this. An answer with its id is to no other request.
        """
        with self._lock:
            return self._filter.shown(data, to)

    def for_server(self) -> list[bytes]:
        """What the server is to be told in the client's place, after something that it said."""
        with self._lock:
            return self._filter.take_answers()

    def noticed(self, kind: str, detail: str) -> None:
        """For what only a transport can see, such as a message that is too large."""
        with self._lock:
            self._log.noticed(kind, detail)

    def refuse(self, message: ClientMessage, reason: str, code: int, why: str) -> Answer:
        """Likewise, for a message of the client, such as one whose headers do not fit."""
        with self._lock:
            if message.kind == "refused":
                return self._refuse(message)
            self._log_refused(message.method, message.id, message.params, reason)
            return self._error(message.id if message.kind == "request" else None, code, why, reason)

    def lost(self, request: PendingRequest, outcome: Outcome, why: str | None = None) -> bytes | None:
        """One request will get no answer; None: it is not open."""
        with self._lock:
            if self._pending.close(request.id, outcome, request) is None:
                return None
        closed = "the client closed its side, and then " if outcome == "client_gone" else ""
        why = why or f"{closed}the server ended without one"
        message = f"{request.method} gets no answer: {why}"
        return protocol.error(request.id, protocol.INTERNAL_ERROR, message, outcome)

    def unanswered(self, outcome: Outcome) -> list[bytes]:
        """An error for every request without an answer: none will come."""
        with self._lock:
            errors = [self.lost(request, outcome) for request in self._pending]
            return [error for error in errors if error is not None]

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
                self._log.closed(reason, exit_code, signal)

    # --- from the client -------------------------------------------------------------------------------

    def _refuse(self, message: ClientMessage) -> Answer:
        reason, ids = message.problem or "", message.ids
        for position, (method, params) in enumerate(message.requests):
            request_id = ids[position] if len(ids) == len(message.requests) else None
            self._log_refused(method, request_id, params, reason)
        if not message.requests:
            self._log.noticed("frame_refused", reason)
        why = "this message is refused, because servers would not all read it alike"
        free = tuple(one for one in ids if self._pending.get(one) is None)
        if message.problem == "batch" and free:
            return Answer(protocol.batch_error(free, message.code, why, reason), message.code)
        return self._error(free[0] if len(free) == 1 else None, message.code, why, reason)

    def _log_refused(
        self, method: str | None, request_id: RequestId | None, params: Any, reason: str
    ) -> None:
        if method == CALL_TOOL:
            name = params.get("name") if isinstance(params, dict) else None
            tool = name if _is_tool_name(name) else ""
            self._log.refused(self._log.caller(request_id, params), tool, "error", reason)
        else:
            self._log.noticed("frame_refused", f"{reason}: {method}")

    def _response(self, message: ClientMessage, data: bytes) -> Forward | Answer:
        if self._filter.was_asked(message.id):
            return Forward(data)
        self._log.noticed("response_unasked", "the client answered what the server did not ask")
        return Answer(None)

    def _other_method(self, message: ClientMessage, data: bytes) -> Forward | Answer:
        method = message.method or ""
        if not self._policy.passes_method(method):
            self._log.noticed("method_refused", method)
            if not self._policy.dry_run:
                why = f"the policy does not pass the method {method[:MAX_NAME]!r}"
                if message.kind == "notification":
                    return Answer(None)
                return self._error(message.id, protocol.METHOD_NOT_FOUND, why, "method_refused")
        if message.id is not None:
            if (refused := self._unusable_id(message)) is not None:
                return refused
            self._initialized |= method == protocol.INITIALIZE
            self._pending.send(PendingRequest(message.id, method))
        elif method == protocol.CANCELLED:
            cancelled = message.params.get("requestId") if isinstance(message.params, dict) else None
            self._pending.close(cancelled, "cancelled")
        return Forward(data)

    def _tool_call(self, message: ClientMessage, data: bytes) -> Forward | Answer | ApprovalRequest:
        params = message.params if isinstance(message.params, dict) else {}
        if message.id is None:
            self._log_refused(CALL_TOOL, None, params, "call_without_id")
            return Answer(None)
        if (refused := self._unusable_id(message)) is not None:
            return refused
        if not _is_tool_name(params.get("name")):
            self._log_refused(CALL_TOOL, message.id, params, "tool_name_invalid")
            why = "a call needs the name of a tool"
            return self._error(message.id, protocol.INVALID_PARAMS, why, "tool_name_invalid")
        caller = self._log.caller(message.id, params)
        call = Call(self._label, params["name"], params.get("arguments"))
        return self._decide(ToolCall(message.id, params, data, caller, call))

    def _decide(self, asked: ToolCall) -> Forward | Answer | ApprovalRequest:
        decision = self._policy.decide(asked.call, self._decision_log.now())
        if decision.action == "allow":
            return self._let_through(asked, decision)
        if self._policy.dry_run:
            return self._let_through(asked, decision, would_be="deny")
        if decision.action == "deny":
            return self._deny(asked, decision)
        request = PendingRequest(asked.id, CALL_TOOL, waits=asked)
        self._pending.add(request)
        return ApprovalRequest(asked.call, decision, partial(self._answered, request, decision))

    def _answered(self, request: PendingRequest, decision: Decision, approved: bool) -> Forward | Answer:
        with self._lock:
            asked = request.waits
            if asked is None or self._pending.get(request.id) is not request:
                return Answer(None)  # cancelled, or a side has gone, while somebody thought about it
            self._pending.drop(request)
            if approved and (refusal := self._policy.refusal(asked.call)) is not None:
                return self._deny(asked, refusal)  # it was fit to be asked about then, and is not now
            if approved:
                return self._let_through(asked, decision._replace(reason="allowed_by_approval"), request)
            message = f"Nobody approved the tool {asked.call.tool!r}."
            return self._deny(asked, decision._replace(reason="approval_refused", message=message))

    def _let_through(
        self,
        asked: ToolCall,
        decision: Decision,
        request: PendingRequest | None = None,
        *,
        would_be: Literal["deny"] | None = None,
    ) -> Forward | Answer:
        tool = asked.call.tool
        try:
            self._log.let_through(
                asked.caller, tool, would_be or "allow", decision.reason, asked.params, len(asked.data),
                self._tools.read_only(tool),
            )  # fmt: skip
        except DecisionLogError:
            why = "The decision about this call could not be written down."
            return self._refusal(asked, why, "decision_log_unwritable")
        self._pending.send(request or PendingRequest(asked.id, CALL_TOOL), asked.caller.number)
        return Forward(asked.data, asked.caller.number)

    def _deny(self, asked: ToolCall, decision: Decision) -> Answer:
        tool = asked.call.tool
        self._log.refused(
            asked.caller, tool, "deny", decision.reason, asked.params, len(asked.data),
            self._tools.read_only(tool),
        )  # fmt: skip
        return self._refusal(asked, decision.message, decision.reason)

    def _refusal(self, asked: ToolCall, why: str, reason: str) -> Answer:
        meta = asked.params.get("_meta")
        current = not self._initialized or (isinstance(meta, dict) and protocol.VERSION_KEY in meta)
        return Answer(protocol.refused_call(asked.id, why, reason, current_era=current))

    def _unusable_id(self, message: ClientMessage) -> Answer | None:
        is_in_use = self._pending.get(message.id) is not None
        if is_in_use:
            reason, why = "request_id_in_use", "the id of this request is that of one without an answer yet"
        elif self._pending.are_too_many:
            reason, why = "too_many_requests", "too many requests have no answer yet"
        else:
            return None
        self._log_refused(message.method, message.id, message.params, reason)
        # An error with the id in use would be taken for the answer to the first request.
        return self._error(None if is_in_use else message.id, protocol.INVALID_REQUEST, why, reason)

    def _error(self, request_id: RequestId | None, code: int, why: str, reason: str) -> Answer:
        return Answer(protocol.error(request_id, code, why, reason), code)


def _is_tool_name(name: Any) -> TypeGuard[str]:
    """Nothing invisible in it: some servers stop at a NUL, or drop what they cannot show."""
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable()
