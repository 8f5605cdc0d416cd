"""The tool calls of one run, as its sealed bundle tells them.

In: an open record. Out: `calls.json` as data, and the same in checked fields, with what the correlation
report says of the whole. A run that is not sealed has
none yet: a `BadRequestError` that says so. What cannot be read is an `UnreadableBundleError`. Never verifies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from steno.bundle.judged import Files as Documents
from steno.errors import BadRequestError
from steno.evidence import canonical, layout
from steno.judge.surface_names import is_file
from steno.model import rows
from steno.model.kernel_layer import checked, read_json, whole
from steno.model.record import Record


class Files(msgspec.Struct, frozen=True):
    read: list[str]
    written: list[str]
    created: list[str]
    deleted: list[str]
    attempted: list[str]

    @property
    def changed(self) -> list[str]:
        """Terminals, sinks and the logs of the run itself are no files."""
        return sorted(filter(is_file, {*self.written, *self.created, *self.deleted}))

    @property
    def overwritten(self) -> list[str]:
        """What was there before it was written."""
        return sorted({*self.written} - {*self.created})


class Endpoints(msgspec.Struct, frozen=True):
    connected: list[str]
    sent: list[str]

    @property
    def tried(self) -> list[str]:
        """What it connected to or sent to; whether a connect succeeded is not always known."""
        return sorted({*self.connected, *self.sent})


class Execs(msgspec.Struct, frozen=True):
    ran: list[str]


class Sockets(msgspec.Struct, frozen=True):
    connected: list[str]


class Seen(msgspec.Struct, frozen=True):
    kernel_event_count: int
    files: Files
    endpoints: Endpoints
    unix_sockets: Sockets
    execs: Execs
    own_state: list[str] = []


class Unattributed(Seen, frozen=True, kw_only=True):
    by_servers: dict[str, Seen] = {}


class Shared(Seen, frozen=True, kw_only=True):
    candidates: list[str]


class Rule(msgspec.Struct, frozen=True):
    rule: str
    result: str
    says: str


class Said(msgspec.Struct, frozen=True):
    source: str
    corroboration: str
    rule: str | None
    input: Any = None


class Decided(msgspec.Struct, frozen=True):
    decision: str
    reason: str
    dry_run: bool
    outcome: str | None
    connection: str
    arguments: Any = None


class Window(msgspec.Struct, frozen=True):
    start_ns: int | str
    end_ns: int | str
    ended_by: str
    told_by: str
    process: int | None


class Call(msgspec.Struct, frozen=True):
    tool_call_id: str
    tool: str
    server: str | None
    said: Said | None
    decided: Decided | None
    window: Window | None
    seen: Seen | None
    verdict: str
    rules: list[Rule]

    @property
    def name(self) -> str:
        return self.tool if self.server is None else f"{self.server}.{self.tool}"

    @property
    def contradictions(self) -> list[Rule]:
        return [rule for rule in self.rules if rule.result == "contradicted"]


class Claim(msgspec.Struct, frozen=True):
    source: str
    event_type: str
    corroboration: str
    rules: list[Rule]


class _Told(msgspec.Struct, frozen=True):
    calls: list[Call]
    ambiguous: list[Shared]
    unattributed: Unattributed | None
    claims: list[Claim]


class Correlation(msgspec.Struct, frozen=True):
    status: str
    ambiguities: list[str]


class Calls(NamedTuple):
    run_id: str
    told: dict[str, Any]  # as the bundle has it
    calls: list[Call]
    ambiguous: list[Shared]
    unattributed: Unattributed | None
    claims: list[Claim]
    cwd: str = ""  # where the run was
    correlation: Correlation | None = None  # None: it is not told here

    @property
    def verdicts(self) -> dict[str, int]:
        return dict(Counter(call.verdict for call in self.calls))

    def only(self, tool_call_id: str) -> Calls:
        """The calls with this id, and nothing beside."""
        kept = [place for place, call in enumerate(self.calls) if call.tool_call_id == tool_call_id]
        if not kept:
            raise BadRequestError(
                f"the run has no call {tool_call_id!r}", hint=f"`steno calls {self.run_id}` lists them"
            )
        told = {**self.told, "calls": [self.told["calls"][place] for place in kept]}
        for name in ("ambiguous", "unattributed", "claims"):
            del told[name]
        return Calls(self.run_id, told, [self.calls[place] for place in kept], [], None, [], self.cwd)

    def table_rows(self) -> Iterator[rows.Call]:
        for number, call in enumerate(self.calls, 1):
            yield _call_row(number, call)

    def claim_rows(self) -> Iterator[rows.Claim]:
        for number, claim in enumerate(self.claims, 1):
            yield rows.Claim(number, claim.source, claim.event_type, claim.corroboration)

    def check_rows(self) -> Iterator[rows.Check]:
        for number, call in enumerate(self.calls, 1):
            yield from (rows.Check(number, None, rule.rule, rule.result, rule.says) for rule in call.rules)
        for number, claim in enumerate(self.claims, 1):
            yield from (rows.Check(None, number, rule.rule, rule.result, rule.says) for rule in claim.rules)

    def effect_rows(self) -> Iterator[rows.Effects]:
        for number, call in enumerate(self.calls, 1):
            if call.seen is not None:
                yield _effects(call.seen, call=number)
        for shared in self.ambiguous:
            yield _effects(shared, candidates=shared.candidates)
        if self.unattributed is not None:
            yield _effects(self.unattributed)
            for server, seen in self.unattributed.by_servers.items():
                yield _effects(seen, server=server)


def _call_row(number: int, call: Call) -> rows.Call:
    said, decided, window, seen = call.said, call.decided, call.window, call.seen
    told = said.input if said is not None and said.input is not None else decided and decided.arguments
    return rows.Call(
        call=number,
        tool_call_id=call.tool_call_id,
        tool=call.tool,
        server=call.server,
        verdict=call.verdict,
        told_by=said.source if said else None,
        corroboration=said.corroboration if said else None,
        corroborated_by=said.rule if said else None,
        decision=decided.decision if decided else None,
        reason=decided.reason if decided else None,
        dry_run=decided is not None and decided.dry_run,
        decision_outcome=decided.outcome if decided else None,
        started_ns=whole(window.start_ns) if window else None,
        ended_ns=whole(window.end_ns) if window else None,
        window_told_by=window.told_by if window else None,
        window_ended_by=window.ended_by if window else None,
        process=window.process if window else None,
        n_events=seen.kernel_event_count if seen else None,
        files_changed=seen.files.changed if seen else [],
        files_read=seen.files.read if seen else [],
        programs=seen.execs.ran if seen else [],
        endpoints=seen.endpoints.tried if seen else [],
        input=_json(told),
        arguments=_json(decided.arguments if decided else None),
    )


def _json(value: Any) -> str | None:
    return None if value is None else canonical.encode(value).decode()


def _effects(
    seen: Seen, *, call: int | None = None, candidates: Sequence[str] = (), server: str | None = None
) -> rows.Effects:
    return rows.Effects(
        call=call,
        candidates=[*candidates],
        server=server,
        n_events=seen.kernel_event_count,
        files_created=seen.files.created,
        files_written=seen.files.overwritten,
        files_deleted=seen.files.deleted,
        files_changed=seen.files.changed,
        files_read=seen.files.read,
        files_tried=seen.files.attempted,
        endpoints=seen.endpoints.tried,
        sockets=seen.unix_sockets.connected,
        programs=seen.execs.ran,
        own_state=seen.own_state,
    )


def has_calls(record: Record) -> bool:
    return record.files.has(layout.CALLS)


def read_calls(record: Record) -> Calls:
    if not has_calls(record):
        raise BadRequestError(
            "this run was recorded by a version that did not tell calls", hint="record the run again"
        )
    found = calls_of(record.files, record.run_id)
    return found._replace(cwd=record.facts.start.cwd, correlation=_correlation(record))


def calls_of(documents: Documents, run_id: str = "") -> Calls:
    """Also of a record that lost something else."""
    told: dict[str, Any] = read_json(documents, layout.CALLS, dict)
    with checked(documents, layout.CALLS):
        found = msgspec.convert(told, _Told)
    return Calls(run_id, told, found.calls, found.ambiguous, found.unattributed, found.claims)


def _correlation(record: Record) -> Correlation | None:
    if not record.files.has(layout.CORRELATION):
        return None
    told: dict[str, Any] = read_json(record.files, layout.CORRELATION, dict)
    with checked(record.files, layout.CORRELATION):
        return msgspec.convert(told, Correlation)
