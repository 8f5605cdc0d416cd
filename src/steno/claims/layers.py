"""What programs of a run told: `claims.ndjson`, masked and not put together, and the events that tell of it.

A fault in a log costs what it hides, never the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, Protocol

import msgspec

from steno.bundle.folder import Folder
from steno.bundle.seal import write_file
from steno.claims import logs as claim_logs
from steno.claims.logs import (
    MOST_DAMAGED,
    TOO_LARGE,
    Damage,
    LogRead,
    PolicyLog,
    Taken,
    take_hooks,
    take_lines,
)
from steno.evidence import canonical, claim_lines, intake, kinds, layout
from steno.evidence.claims import BadClaimError, FileKey, ProcessKey, ProxyLog
from steno.evidence.intake import BadIntakeError, HookTold, SdkTold, Told
from steno.evidence.intake_names import DISTURBED, NOT_WANTED
from steno.evidence.kinds import ANY_SHIM, NO_SHIM, EventData
from steno.evidence.proxy_logs import Connection, ProxyLogs
from steno.judge.claims import MAX_CLAIMS
from steno.redact.redactor import Redactor

POLICY_DAMAGED = "policy_log_damaged"
HOOKS_DAMAGED = "hook_log_damaged"
NOT_UNDERSTOOD = "hook_payload_unreadable"
# Shims that write to the SDK log; the others tell by hooks.
_WRITES_THE_LOG = frozenset({"openai-agents"})
# What may hold a secret beside what is somebody else's; the other fields are numbers and words of ours.
_TEXTS = (
    *("connection", "source", "server", "policy", "tool_call_id", "id_from", "request_id", "method", "tool"),
    *("reason", "kind", "detail", "signal", "agent", "sdk_name", "sdk_version", "session", "problem"),
)
# Somebody else's data, and what says that it was too large to be kept.
_FOREIGN = {"arguments": "arguments_cut", "input": "cut", "output": "cut", "message": "cut"}
_PLACE = layout.shown(layout.CLAIMS)
_MOST_OF_PROXIES = MAX_CLAIMS // 2  # so that nobody takes the room of the others

_MOST_WORDS = 10
MOST_NAMED = 1000  # logs and processes, in one event


class Heard(NamedTuple):
    """How the run's claims are to be read."""

    run_id: str
    shim: str  # as it was asked for
    latest_ns: int  # nothing can have been later
    texts: bool = True  # False: what is secret is not known any more, so that free text is not kept


class Logs(Protocol):
    """Where programs of the run tell of themselves."""

    def problem(self) -> str | None: ...

    def read(self, name: str) -> LogRead: ...

    def policy_logs(self) -> Iterable[PolicyLog]: ...


class ClaimsRead(NamedTuple):
    lines: list[bytes]  # of `claims.ndjson`
    events: list[EventData]  # in the order in which they are to be written, gaps last


def keep_claims(spool: Folder, found: Logs | None, redactor: Redactor, how: Heard) -> list[EventData]:
    """Write what was told when the command is over."""
    kept = read_claims(found, redactor, how)
    with suppress(FileNotFoundError):
        spool.remove_tree(layout.CLAIMS)
    write_file(spool, layout.CLAIMS, iter(kept.lines), sync=True)
    return kept.events


def read_claims(found: Logs | None, redactor: Redactor, how: Heard) -> ClaimsRead:
    gaps: list[EventData] = []
    if found is None:
        gaps.append(kinds.Gap(DISTURBED, "the folder is gone: what programs of the run told is lost"))
    elif (problem := found.problem()) is not None:
        gaps.append(kinds.Gap(DISTURBED, f"the folder was {problem}"))
    sheet = _Sheet(_Masking(redactor, keep_texts=how.texts), how.run_id)
    proxies, connections = _keep_policy(sheet, [] if found is None else found.policy_logs(), how, gaps)
    sheet.most = MAX_CLAIMS
    hook = _log(found, intake.HOOKS)
    silent, sdk = _keep_agents(sheet, _log(found, intake.SDK), hook, how, gaps)
    logs = _logs(proxies, hook.file if hook.data else None, silent)
    told_by_events = [*connections, *([logs] if proxies or hook.data else []), *([sdk] if sdk else []), *gaps]
    return ClaimsRead(sheet.lines, told_by_events)


def _log(found: Logs | None, name: str) -> LogRead:
    return LogRead(b"") if found is None else found.read(name)


def _logs(
    proxies: list[ProxyLog], hooks: FileKey | None, processes: Iterable[ProcessKey]
) -> kinds.IntakeLogs:
    policy = sorted(proxies, key=lambda log: (log.process.start_ticks, log.process.pid))
    others = sorted(processes, key=lambda key: (key.start_ticks, key.pid))
    return kinds.IntakeLogs(
        policy=policy[:MOST_NAMED],
        policy_left_off=max(0, len(policy) - MOST_NAMED),
        hooks=hooks,
        hook_processes=others[:MOST_NAMED],
        hook_processes_left_off=max(0, len(others) - MOST_NAMED),
    )


def _keep_policy(
    sheet: _Sheet, logs: Iterable[PolicyLog], how: Heard, gaps: list[EventData]
) -> tuple[list[ProxyLog], list[EventData]]:
    told_of = ProxyLogs(how.run_id, how.latest_ns)
    proxies: list[ProxyLog] = []
    problems: Counter[str] = Counter()
    damage = Damage()

    def take(log: PolicyLog, number: int, raw: bytes) -> None:
        entry = sheet.entry(log.name, number, intake.policy_told(raw))
        if isinstance(entry.told, intake.PolicyTold):
            told_of.take(entry.told, log.owner)
        sheet.keep(entry)

    for log in logs:
        damage += take_lines(log.read.data, partial(take, log))
        proxies.append(ProxyLog(log.owner, log.read.file))
        problems.update([log.read.problem] if log.read.problem else [])
    if problems:
        gaps.append(kinds.Gap(POLICY_DAMAGED, f"logs of proxies: {_says(problems)}"))
    gaps += _damage_gaps(POLICY_DAMAGED, "logs of proxies", damage + Damage(told_of.missing))
    return proxies, [*map(_event, told_of.connections)]


def _event(connection: Connection) -> kinds.McpConnection:
    opened, closed = connection.opened, connection.closed
    return kinds.McpConnection(
        connection=opened.connection,
        source=opened.source,
        server=opened.server,
        policy=opened.policy,
        dry_run=opened.dry_run,
        server_process=opened.server_process,
        proxy_process=opened.proxy_process,
        opened_ns=opened.at_ns,
        closed_ns=closed.at_ns if closed else None,
        end=closed.reason if closed else None,
        exit_code=closed.exit_code if closed else None,
        signal=closed.signal if closed else None,
        calls=len(connection.calls),
        noticed=connection.noticed,
        noticed_count=connection.noticed_count,
    )


def _keep_agents(
    sheet: _Sheet, sdk: LogRead, hook: LogRead, how: Heard, gaps: list[EventData]
) -> tuple[set[ProcessKey], EventData | None]:
    """The processes of hooks that told something which is not kept, and what the events tell of the rest."""
    is_heard = how.shim != NO_SHIM
    taken = _taken(sdk, how)
    came = bool(sdk.data or hook.data or taken.refused)
    taken = _kept(sheet, taken) if is_heard else Taken([], NOT_WANTED if came else None)
    hooks: list[HookTold] = []

    def keep(number: int, one: HookTold) -> None:
        if is_heard:
            sheet.keep(sheet.entry(intake.HOOKS, number, one))
            hooks.append(one)

    log = take_hooks(hook.data, how.run_id, how.latest_ns, keep)
    if hook.problem is not None:
        gaps.append(kinds.Gap(HOOKS_DAMAGED, f"{intake.HOOKS}: {hook.problem}"))
    gaps += _damage_gaps(HOOKS_DAMAGED, intake.HOOKS, log.damage)
    if log.problems:
        gaps.append(kinds.Gap(NOT_UNDERSTOOD, _says(log.problems)))
    silent = {one.process for one in log.told} - {one.process for one in hooks}
    if not came and how.shim in {ANY_SHIM, NO_SHIM}:
        return silent, None
    return silent, kinds.SdkIntake(
        shim=_first_that_spoke(taken, hooks) if how.shim == ANY_SHIM else how.shim,
        lines=len(taken.lines),
        hooks=len(hooks),
        refused=taken.refused,
        refused_line=taken.refused_line,
    )


def _taken(log: LogRead, how: Heard) -> Taken:
    taken = claim_logs.take(log.data, how.run_id)
    if log.problem is not None and (taken.refused is None or log.problem == TOO_LARGE):
        return Taken(taken.lines, log.problem)
    if how.shim in _WRITES_THE_LOG and not taken.lines and taken.refused is None:
        return Taken([], claim_logs.EMPTY)
    return taken


def _kept(sheet: _Sheet, taken: Taken) -> Taken:
    """The log ends before the first line that there is no room for."""
    for number, one in enumerate(taken.lines):
        try:
            sheet.keep(sheet.entry(intake.SDK, number, one))
        except BadIntakeError:
            return Taken(taken.lines[:number], TOO_LARGE, number)
    return taken


def _first_that_spoke(taken: Taken, hooks: list[HookTold]) -> str:
    if taken.lines:
        return taken.lines[0].source
    if not hooks:
        return NO_SHIM
    from steno.agents.hook_payload import interpreted  # late, as in hook_log

    read = (interpreted(one) for one in hooks)
    understood = (one for one in read if one is not None and one.event_type is not None)
    first = min(understood, key=lambda one: one.at_ns, default=None)
    return NO_SHIM if first is None else first.agent


def _says(problems: Counter[str]) -> str:
    return ", ".join(f"{count} of {word}" for word, count in problems.most_common(_MOST_WORDS))


def _damage_gaps(reason: str, name: str, damage: Damage) -> Iterator[kinds.Gap]:
    if damage.lines:
        lines = "line" if damage.lines == 1 else "lines"
        yield kinds.Gap(reason, f"{name}: {damage.lines} {lines} could not be taken")
    if damage.unread:
        unread = f"{damage.unread} {'byte' if damage.unread == 1 else 'bytes'}"
        yield kinds.Gap(reason, f"{name}: {unread} after {MOST_DAMAGED} such lines not read")


class _Entry(NamedTuple):
    raw: bytes
    told: Told | None  # as whoever reads the line finds it


class _Sheet:
    """`claims.ndjson` as it grows."""

    def __init__(self, masking: _Masking, run_id: str) -> None:
        self.lines: list[bytes] = []
        self.most = _MOST_OF_PROXIES
        self._size = 0
        self._masking = masking
        self._run_id = run_id

    def entry(self, log: str, number: int, one: Told) -> _Entry:
        """Masked, and to be kept before another is made."""
        try:
            raw = claim_lines.write(len(self.lines), log, number, self._masking.masked(one))
            read = claim_lines.read(raw, len(self.lines), self._run_id)
        except (BadClaimError, canonical.NotCanonicalError) as error:
            raise BadIntakeError(str(error)) from None
        if self._size + len(raw) > self.most:
            raise BadIntakeError("there is no room for it")
        return _Entry(raw, read.told)

    def keep(self, entry: _Entry) -> None:
        self.lines.append(entry.raw)
        self._size += len(entry.raw)


class _Masking:
    """Plain data without secrets. Ids are read like any text: what is no secret stays a join key."""

    def __init__(self, redactor: Redactor, *, keep_texts: bool) -> None:
        self._redactor = redactor
        self._keep_texts = keep_texts

    def masked(self, one: Told) -> dict[str, Any]:
        raw = self._texts(one)
        if isinstance(one, HookTold) and one.payload is not None:
            return self._payload(one, raw)
        if isinstance(one, SdkTold):
            return raw if one.steno is None else raw | {"steno": self._foreign(raw["steno"])}
        return self._foreign(raw)

    def _payload(self, one: HookTold, raw: dict[str, Any]) -> dict[str, Any]:
        """Where it cannot be kept, what it says is, without what a tool was given and answered."""
        kept = self._kept(one.payload, f"{_PLACE}.payload", intake.MAX_PAYLOAD_TOLD)
        if kept is not None:
            return raw | {"payload": kept}
        from steno.agents.hook_payload import interpreted

        read = interpreted(one) or msgspec.structs.replace(one, payload=None)
        facts = msgspec.structs.replace(read, input=None, output=None, message=None, cut=True)
        return self._texts(facts)

    def _texts(self, one: Told) -> dict[str, Any]:
        raw: dict[str, Any] = msgspec.to_builtins(one)
        texts = {name: text for name in _TEXTS if isinstance(text := raw.get(name), str)}
        if self._redactor.is_clean("\n".join(texts.values()).encode()):  # most are, and together it is quick
            return raw
        return raw | {name: self._redactor.text(text, f"{_PLACE}.{name}") for name, text in texts.items()}

    def _foreign(self, raw: dict[str, Any]) -> dict[str, Any]:
        for name, cut in _FOREIGN.items():
            if raw.get(name) is not None:
                raw[name] = self._kept(raw[name], f"{_PLACE}.{name}")
                raw[cut] = raw[cut] or raw[name] is None
        return raw

    def _kept(self, value: Any, where: str, most: int = intake.MAX_TOLD) -> Any:
        """None for what is too much, or cannot be written as deep in a line as it will stand."""
        try:
            if not self._keep_texts or len(canonical.encode(value)) > most:
                return None
            masked = self._redactor.foreign(value, where)
            canonical.encode([[[masked]]])
        except (ValueError, RecursionError):
            return None
        return masked
