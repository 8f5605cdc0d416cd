"""Telling the decision log of one connection: it opened, what was decided, how calls ended, that it closed.

In: facts of a session. Out: lines in its journal, masked. A decision that cannot be written raises
`JournalError`, because nobody may act on it; everything else that cannot be written is lost without a word,
as the next decision will fail. Never decides anything itself.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, Literal, NamedTuple

import msgspec

from steno.agents.made import CALL_ID_KEYS
from steno.capture.telling import process_key
from steno.evidence import intake
from steno.evidence.claims import Decision, Outcome, ProcessKey
from steno.mcp.frames import RequestId
from steno.mcp.journal import Journal, JournalError

# Where the agent's own id of a call is found in `params._meta`, in this order.
ID_KEYS = (*CALL_ID_KEYS, "steno/toolCallId")
MAX_ID = 256
MAX_DETAIL = 200
MAX_NOTICED = 1000  # a connection; the others would say the same
CloseReason = Literal["client_closed", "server_exited", "proxy_failed"]


class Caller(NamedTuple):
    """Who asks: the call's number on its connection, and the ids by which others know it."""

    number: int
    tool_call_id: str
    id_from: str
    request_id: str | None


class Teller:
    def __init__(
        self,
        journal: Journal,
        *,
        connection: str,
        source: str,
        label: str,
        policy: str,
        dry_run: bool,
        server_process: ProcessKey | None,
    ) -> None:
        self._journal = journal
        self._connection = connection
        self._calls = self._noticed = 0
        self._opened: intake.Opened | None = intake.Opened(
            **self._now(),
            source=source,
            server=self._masked(label),
            policy=policy,
            dry_run=dry_run,
            server_process=server_process,
            proxy_process=process_key(os.getpid()) or ProcessKey(os.getpid(), 0),
        )
        self._told_if_possible()

    def caller(self, request_id: RequestId | None, params: Any) -> Caller:
        """The arguments are the tool's, but for one key that assay-runner reads there as well."""
        self._calls += 1
        told = self._masked(request_id) if isinstance(request_id, str) else request_id
        written = None if told is None else msgspec.json.encode(told).decode()
        meta = params.get("_meta") if isinstance(params, dict) else None
        for key in ID_KEYS:
            if isinstance(meta, dict) and _is_usable_id(meta.get(key)):
                return Caller(self._calls, meta[key], f"_meta.{key}", written)
        inner = params.get("arguments") if isinstance(params, dict) else None
        meta = inner.get("_meta") if isinstance(inner, dict) else None
        if isinstance(meta, dict) and _is_usable_id(meta.get("tool_call_id")):
            return Caller(self._calls, meta["tool_call_id"], "arguments._meta.tool_call_id", written)
        by_request = f"request:{self._connection}:{written}"
        if told is not None and told == request_id and _is_usable_id(by_request):
            return Caller(self._calls, by_request, "request", written)
        return Caller(self._calls, f"generated:{self._connection}:{self._calls}", "generated", written)

    def let_through(
        self, caller: Caller, tool: str, decision: Decision, reason: str, params: Any, size: int,
        read_only: bool | None,
    ) -> None:  # fmt: skip
        """Raises when it cannot be told: then it must not be let through."""
        self._tell(self._decided(caller, tool, decision, reason, params, size, read_only))

    def refused(
        self, caller: Caller, tool: str, decision: Decision, reason: str, params: Any = None, size: int = 0,
        read_only: bool | None = None,
    ) -> None:  # fmt: skip
        told = self._decided(caller, tool, decision, reason, params, size, read_only)
        self._told_if_possible(told, intake.Ended(**self._now(), call=caller.number, outcome="denied"))

    def ended(self, call: int, outcome: Outcome, given_ns: int | None) -> None:
        self._told_if_possible(intake.Ended(**self._now(), call=call, outcome=outcome, given_ns=given_ns))

    def now(self) -> int:
        return self._journal.now()

    def noticed(self, kind: str, detail: str) -> None:
        self._noticed += 1
        if self._noticed <= MAX_NOTICED and self._journal.is_kept:
            shown = self._masked(detail)[:MAX_DETAIL]
            self._told_if_possible(intake.Noticed(**self._now(), kind=kind, detail=shown))

    def closed(self, reason: CloseReason, exit_code: int | None, signal: str | None) -> None:
        self._told_if_possible(
            intake.Closed(**self._now(), reason=reason, exit_code=exit_code, signal=signal)
        )

    def _decided(
        self, caller: Caller, tool: str, decision: Decision, reason: str, params: Any, size: int,
        read_only: bool | None,
    ) -> intake.Decided:  # fmt: skip
        arguments = params.get("arguments") if isinstance(params, dict) else None
        kept, cut = self._journal.masker.keep(arguments, size) if self._journal.is_kept else (None, False)
        return intake.Decided(
            **self._now(),
            call=caller.number,
            tool_call_id=self._masked(caller.tool_call_id),
            id_from=caller.id_from,
            request_id=caller.request_id,
            method="tools/call",
            tool=self._masked(tool),
            decision=decision,
            reason=reason,
            read_only=read_only,
            arguments=kept,
            arguments_cut=cut,
        )

    def _masked(self, foreign: str) -> str:
        """Whatever others name. The rules of masking are loaded with the first, while a server starts."""
        return self._journal.masker.text(foreign) if self._journal.is_kept else foreign

    def _now(self) -> dict[str, Any]:
        return {
            "run_id": self._journal.run_id,
            "connection": self._connection,
            "at_ns": self._journal.now(),
        }

    def _told_if_possible(self, *lines: intake.PolicyTold) -> None:
        with suppress(JournalError):
            self._tell(*lines)

    def _tell(self, *lines: intake.PolicyTold) -> None:
        if self._opened is not None:
            self._journal.told(self._opened, *lines)
            self._opened = None
        else:
            self._journal.told(*lines)


def _is_usable_id(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID and value.isprintable()
