"""How an attempt ended: completed, waiting for the user, interrupted, or not to be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from steno.agents.definition import Log, TerminalSignal, TerminalSignals
from steno.agents.stream import parser
from steno.contracts.agent_audit import log_scan
from steno.contracts.agent_audit.log_scan import (
    MOST_PROBLEMS,
    PLACES,
    DoneSignal,
    Evidence,
    LogFindings,
    State,
    gather,
)
from steno.errors import BadRequestError

LOGS: tuple[Log, ...] = ("pty", "stdout", "stderr")  # in order of rank

# --- reason codes, when no done signal gives its own ------------------------------------------------
PROCESS_EXIT_NON_ZERO = "PROCESS_EXIT_NON_ZERO"
TERMINAL_SIGNAL_FAILED = "TERMINAL_SIGNAL_FAILED"
DONE_MARKER_FOUND = "DONE_MARKER_FOUND"
TERMINAL_SIGNAL_WITHOUT_DONE_MARKER = "TERMINAL_SIGNAL_WITHOUT_DONE_MARKER"
INSUFFICIENT_EVIDENCE = "INSUFFICIENT_EVIDENCE"

# --- diagnostics, in the order in which they are told -----------------------------------------------
DONE_SIGNAL_INVALID_SCHEMA = "DONE_SIGNAL_INVALID_SCHEMA"
DONE_SIGNAL_NOT_FOUND = "DONE_SIGNAL_NOT_FOUND"
DONE_SIGNAL_CONFLICT = "DONE_SIGNAL_CONFLICT"
PROCESS_INTERRUPTED = "PROCESS_INTERRUPTED"
DONE_MARKER_MISSING = "DONE_MARKER_MISSING"
INTERACTIVE_END_UNCERTAIN = "INTERACTIVE_END_UNCERTAIN"
LOG_LINE_TOO_LONG = "LOG_LINE_TOO_LONG"
SIGNAL_OUTSIDE_RECORDS = "SIGNAL_OUTSIDE_RECORDS"
DIAGNOSTICS = (
    DONE_SIGNAL_INVALID_SCHEMA,
    DONE_SIGNAL_NOT_FOUND,
    DONE_SIGNAL_CONFLICT,
    PROCESS_INTERRUPTED,
    TERMINAL_SIGNAL_FAILED,
    DONE_MARKER_MISSING,
    INTERACTIVE_END_UNCERTAIN,
    LOG_LINE_TOO_LONG,
    SIGNAL_OUTSIDE_RECORDS,
)


class Rules(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """What an attempt is judged by besides its logs; kept with them, so that anybody can judge again."""

    parser: str = "plain"
    terminal_signals: list[TerminalSignal] = msgspec.field(default_factory=list)
    given: list[str] = msgspec.field(default_factory=list)  # what is kept of skills, as `endings` has it


def rules_of(kept: Any) -> Rules:
    """The rules that an attempt was judged by, as they were kept. A newer Steno may have kept other ones."""
    try:
        rules = msgspec.convert(kept or {}, Rules)
    except msgspec.ValidationError as error:
        raise BadRequestError(
            f"the attempt was judged by rules that this version does not know: {error}",
            hint="use the version of Steno that recorded it, or a newer one",
        ) from None
    parser(rules.parser)
    return rules


class Completion(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    state: State
    reason_code: str
    needs_user_input: bool
    source: Log | Literal["process"] | None  # where the decisive word stands
    diagnostics: list[str]
    done_signal: DoneSignal | None = None
    problems: list[str] = msgspec.field(default_factory=list)  # of done signals that are not valid


class _Judgement(NamedTuple):
    state: State
    reason_code: str
    source: Log | Literal["process"] | None
    diagnostic: str = ""


def completion(
    *,
    exit_code: int | None,
    signal: str | None,
    logs: Mapping[Log, Iterable[bytes]],
    rules: Rules,
    given: Iterable[bytes] = (),
) -> Completion:
    """`logs` are blocks of bytes; `given` are whole texts that are kept as they are: prompt, what was typed.

    An exit code that is not known is none of success.
    """
    words = sorted({*rules.given, *endings(given)})
    gathered: dict[Log, LogFindings] = {
        log: gather(
            logs.get(log, ()),
            TerminalSignals(rules.terminal_signals, log),
            words,
            parser(rules.parser),
        )
        for log in LOGS
    }
    found = _counting(gathered)
    ended_well = exit_code == 0 and signal is None
    chosen = next(((source, log.signal) for source, log in found.items() if log.signal), None)
    if chosen is not None:
        source, done = chosen
        judged = _Judgement(done.state, done.reason_code, source)
    else:
        done, judged = None, _judged(found, ended_well=ended_well)
    return Completion(
        state=judged.state,
        reason_code=judged.reason_code,
        needs_user_input=done.needs_user_input if done else judged.state == "awaiting_user_input",
        source=judged.source,
        diagnostics=_diagnostics(gathered, found, judged.diagnostic),
        done_signal=done,
        problems=[f"{source}, {problem}" for source, log in found.items() for problem in log.problems][
            :MOST_PROBLEMS
        ],
    )


def endings(texts: Iterable[bytes]) -> list[str]:
    """What has to be known of given texts to know them again: the letters before each marker and signal."""
    return sorted(log_scan.endings(texts, PLACES))


def _counting(gathered: Mapping[Log, LogFindings]) -> dict[Log, Evidence]:
    """In a stream of records a line that is none comes from somebody else than the agent."""
    is_stream = _is_stream(gathered)
    return {log: of.records if is_stream else of.other_lines for log, of in gathered.items()}


def _is_stream(gathered: Mapping[Log, LogFindings]) -> bool:
    return any(of.has_records for of in gathered.values())


def _judged(found: Mapping[Log, Evidence], *, ended_well: bool) -> _Judgement:
    if not ended_well:
        return _Judgement("interrupted", PROCESS_EXIT_NON_ZERO, "process", PROCESS_INTERRUPTED)
    turn = _last_turn(found)
    if turn is not None and found[turn].meaning == "failed":
        return _Judgement("interrupted", TERMINAL_SIGNAL_FAILED, turn)
    marked = next((source for source, log in found.items() if log.marker), None)
    if marked is not None:
        return _Judgement("completed", DONE_MARKER_FOUND, marked)
    if turn is not None:
        return _Judgement(
            "awaiting_user_input", TERMINAL_SIGNAL_WITHOUT_DONE_MARKER, turn, DONE_MARKER_MISSING
        )
    return _Judgement("unknown", INSUFFICIENT_EVIDENCE, None, INTERACTIVE_END_UNCERTAIN)


def _last_turn(found: Mapping[Log, Evidence]) -> Log | None:
    return next((source for source, log in found.items() if log.meaning), None)


def _diagnostics(
    gathered: Mapping[Log, LogFindings], found: Mapping[Log, Evidence], judged: str
) -> list[str]:
    logs = found.values()
    signals = [log.signal for log in logs if log.signal]
    turn = _last_turn(found)
    told = {
        judged: True,
        DONE_SIGNAL_INVALID_SCHEMA: any(log.problems for log in logs),
        DONE_SIGNAL_NOT_FOUND: not signals,
        DONE_SIGNAL_CONFLICT: any(log.signals_differ for log in logs)
        or any(signal != signals[0] for signal in signals),
        TERMINAL_SIGNAL_FAILED: turn is not None and found[turn].meaning == "failed",
        LOG_LINE_TOO_LONG: any(of.lines_skipped for of in gathered.values()),
        SIGNAL_OUTSIDE_RECORDS: _is_stream(gathered)
        and any(of.other_lines.says_something for of in gathered.values()),
    }
    return [code for code in DIAGNOSTICS if told.get(code)]
