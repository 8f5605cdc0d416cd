"""The decision log: where a proxy writes what it decided before it acts on it, masked, and in whole lines.

A decision that cannot be written raises `DecisionLogError`, because nobody may act on it; everything else
that cannot be written is lost without a word, as the next decision will fail.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple

import msgspec

from steno.agents.made import CALL_ID_KEYS
from steno.capture import procfs
from steno.claims.client import Intake, Log
from steno.errors import StenoError
from steno.evidence import claims, intake
from steno.evidence.claims import Outcome, ProcessKey
from steno.evidence.intake import MAX_TOLD
from steno.mcp.protocol import CALL_TOOL, RequestId

OUTSIDE = "outside-of-a-run"  # in place of a run's id
# Where the agent's own id of a call is found in `params._meta`, in this order.
ID_KEYS = (*CALL_ID_KEYS, "steno/toolCallId")
MAX_ID = 256
MAX_DETAIL = 200
MAX_NOTICED = 1000  # a connection; the others would say the same
MAX_TEXT = 1024  # of a string in arguments that are too large
_LOOKED_AT = 8 * MAX_TEXT  # a secret that begins in what is kept ends in here
_MOST_PARTS = 4096
_SURELY_TOO_LARGE = 4 * MAX_TOLD  # a message of this size is not written down again only to be measured
_RUN = (intake.RUN_ID, intake.FOLDER, intake.ORIGIN_NS)
CloseReason = Literal["client_closed", "server_exited", "proxy_failed"]


class DecisionLogError(StenoError):
    """A decision cannot be written down, so it is not acted upon."""


def warn(text: str) -> None:
    """For whoever started us. A stderr that is closed or full keeps nobody from being served."""
    if sys.stderr is None:  # print would take stdout, which may be the protocol's
        return
    with contextlib.suppress(OSError, ValueError):
        print(f"steno: {text}", file=sys.stderr, flush=True)


def find_run(environ: Mapping[str, str]) -> Intake | None:
    """The run that we are part of. Many clients start a server with a handful of variables only, so the
    processes that we descend from are asked too."""
    told_to = (procfs.environ(pid, _RUN) for pid in [os.getppid(), *procfs.ancestors(os.getppid())])
    return Intake.of(environ) or next((run for names in told_to if (run := Intake.of(names))), None)


class DecisionLog:
    """May be used by several threads: a line is one write."""

    def __init__(
        self,
        logs: list[Log],
        *,
        environ: Mapping[str, str],
        run: Intake | None = None,
        optional: bool = False,
    ) -> None:
        self.run_id = run.run_id if run else OUTSIDE
        self._environ = environ
        self._origin_ns = run.origin_ns if run else 0
        self._logs = logs
        self._torn = [False] * len(logs)
        self._optional = optional

    @staticmethod
    def open(environ: Mapping[str, str], path: str | None = None, *, optional: bool = False) -> DecisionLog:
        """In the intake of the run that we are part of, at `path`, both or neither."""
        run = find_run(environ)
        wanted: list[tuple[str, Callable[[], Log]]] = []
        if run is not None:
            wanted.append((run.folder, run.policy_log))
        if path is not None:
            wanted.append((path, lambda: Log(path)))
        opened: list[Log] = []
        for place, opening in wanted:
            try:
                opened.append(opening())
            except OSError as error:
                if not optional:
                    raise _unwritable(place, error) from error
                warn(str(_unwritable(place, error)))
        return DecisionLog(opened, environ=environ, run=run, optional=optional)

    @cached_property
    def masker(self) -> Masker:
        return Masker(self._environ)

    @property
    def is_kept(self) -> bool:
        """Whether anything is written anywhere."""
        return bool(self._logs)

    def now(self) -> int:
        return time.monotonic_ns() - self._origin_ns

    def append(self, *lines: intake.PolicyTold) -> None:
        """All of them in one write to each log."""
        if not self._logs:
            return
        data = b"".join(map(intake.write, lines))
        for position, log in enumerate(self._logs):
            try:
                # A write that failed may have left half a line: what comes next must not become part of it.
                log.append(b"\n" + data if self._torn[position] else data)
                self._torn[position] = False
            except OSError as error:
                if not self._torn[position]:
                    warn(f"cannot write decisions: {error.strerror}")
                self._torn[position] = True
                if not self._optional:
                    raise _unwritable("the decision log", error) from error

    def close(self) -> None:
        for log in self._logs:
            log.close()


def _unwritable(place: str, error: OSError) -> DecisionLogError:
    return DecisionLogError(
        f"cannot write decisions to {place}: {error.strerror}",
        hint="make room or give the permission; --log-optional goes on without a record of decisions",
    )


# --- one connection ------------------------------------------------------------------------------------


class Caller(NamedTuple):
    """Who asks: the call's number on its connection, and the ids by which others know it."""

    number: int
    tool_call_id: str
    id_from: str
    request_id: str | None


class ConnectionLog:
    """What is written of one connection: it opened, what was decided, how calls ended, that it closed."""

    def __init__(
        self,
        log: DecisionLog,
        *,
        connection: str,
        source: str,
        label: str,
        policy: str,
        dry_run: bool,
        server_process: ProcessKey | None,
    ) -> None:
        self._log = log
        self._connection = connection
        self._calls = self._noticed = 0
        self._opened: intake.Opened | None = intake.Opened(
            **self._now(),
            source=source,
            server=self._masked(label),
            policy=policy,
            dry_run=dry_run,
            server_process=server_process,
            proxy_process=procfs.process_key(os.getpid()) or ProcessKey(os.getpid(), 0),
        )
        self._try_append()

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
        self, caller: Caller, tool: str, decision: claims.Decision, reason: str, params: Any, size: int,
        read_only: bool | None,
    ) -> None:  # fmt: skip
        """Raises when it cannot be written: then it must not be let through."""
        self._append(self._decided(caller, tool, decision, reason, params, size, read_only))

    def refused(
        self, caller: Caller, tool: str, decision: claims.Decision, reason: str, params: Any = None,
        size: int = 0, read_only: bool | None = None,
    ) -> None:  # fmt: skip
        decided = self._decided(caller, tool, decision, reason, params, size, read_only)
        self._try_append(decided, intake.Ended(**self._now(), call=caller.number, outcome="denied"))

    def ended(self, call: int, outcome: Outcome, given_ns: int | None) -> None:
        self._try_append(intake.Ended(**self._now(), call=call, outcome=outcome, given_ns=given_ns))

    def now(self) -> int:
        return self._log.now()

    def noticed(self, kind: str, detail: str) -> None:
        self._noticed += 1
        if self._noticed <= MAX_NOTICED and self._log.is_kept:
            shown = self._masked(detail)[:MAX_DETAIL]
            self._try_append(intake.Noticed(**self._now(), kind=kind, detail=shown))

    def closed(self, reason: CloseReason, exit_code: int | None, signal: str | None) -> None:
        self._try_append(intake.Closed(**self._now(), reason=reason, exit_code=exit_code, signal=signal))

    def _decided(
        self, caller: Caller, tool: str, decision: claims.Decision, reason: str, params: Any, size: int,
        read_only: bool | None,
    ) -> intake.Decided:  # fmt: skip
        arguments = params.get("arguments") if isinstance(params, dict) else None
        kept, cut = self._log.masker.keep(arguments, size) if self._log.is_kept else (None, False)
        return intake.Decided(
            **self._now(),
            call=caller.number,
            tool_call_id=self._masked(caller.tool_call_id),
            id_from=caller.id_from,
            request_id=caller.request_id,
            method=CALL_TOOL,
            tool=self._masked(tool),
            decision=decision,
            reason=reason,
            read_only=read_only,
            arguments=kept,
            arguments_cut=cut,
        )

    def _masked(self, foreign: str) -> str:
        """Whatever others name. The rules of masking are loaded with the first, while a server starts."""
        return self._log.masker.text(foreign) if self._log.is_kept else foreign

    def _now(self) -> dict[str, Any]:
        return {"run_id": self._log.run_id, "connection": self._connection, "at_ns": self._log.now()}

    def _try_append(self, *lines: intake.PolicyTold) -> None:
        with contextlib.suppress(DecisionLogError):
            self._append(*lines)

    def _append(self, *lines: intake.PolicyTold) -> None:
        opened = [] if self._opened is None else [self._opened]
        self._log.append(*opened, *lines)
        self._opened = None


def _is_usable_id(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID and value.isprintable()


# --- arguments -----------------------------------------------------------------------------------------


class Kept(NamedTuple):
    arguments: Any
    cut: bool


class TooLargeError(ValueError):
    """Not even with its strings cut is it small."""


class Masker:
    """What is kept of foreign words: without secrets, and small. To make one loads the rules, which takes a
    tenth of a second."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        from steno.redact import Findings, Redactor

        self._redactor = Redactor(findings=Findings())
        self._redactor.learn(self._redactor.secrets_in_env(environ))

    def keep(self, arguments: Any, size: int) -> Kept:
        """Of arguments that are large the long strings are cut, so that a path beside a long text is still
        kept. `size` is that of the message that they came in."""
        if arguments is None:
            return Kept(None, cut=False)
        try:
            if size <= _SURELY_TOO_LARGE:
                whole = msgspec.json.encode(arguments)
                if len(whole) <= MAX_TOLD:
                    return Kept(self._masked(arguments, whole), cut=False)
            looked_at = _shortened(arguments, _LOOKED_AT, [_MOST_PARTS])
            masked = msgspec.json.decode(self._masked(looked_at, msgspec.json.encode(looked_at)))
            kept = msgspec.json.encode(_shortened(masked, MAX_TEXT, [_MOST_PARTS]))
        except (TooLargeError, UnicodeError, RecursionError, msgspec.MsgspecError):
            return Kept(None, cut=True)
        return Kept(msgspec.Raw(kept) if len(kept) <= MAX_TOLD else None, cut=True)

    def text(self, value: str) -> str:
        """The same, if there is no secret in it."""
        plain = value.encode("utf-8", "replace")
        return plain.decode() if self._redactor.is_clean(plain) else self._redactor.text(plain.decode(), "")

    def _masked(self, arguments: Any, encoded: bytes) -> msgspec.Raw:
        if self._redactor.is_clean(encoded):
            return msgspec.Raw(encoded)
        return msgspec.Raw(msgspec.json.encode(self._redactor.foreign(arguments, "")))


def _shortened(value: Any, most: int, parts: list[int]) -> Any:
    parts[0] -= 1
    if parts[0] < 0:
        raise TooLargeError
    if isinstance(value, str):
        return value[:most]
    if isinstance(value, dict):
        return {key[:most]: _shortened(part, most, parts) for key, part in value.items()}
    if isinstance(value, list):
        return [_shortened(part, most, parts) for part in value]
    return value
