"""What a translation is made of: the audit files of one attempt, and how it ended.

In: stdout and stderr of an attempt as its audit files have them, and its meta, with the rules by which it was
judged. Out: an `Attempt`, its events and its session. It is all that the translator is given: never the state
of a running agent, so that the same files always give the same words.
"""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from steno.agents.completion import rules_of
from steno.agents.streams.reading import read
from steno.agents.streams.said import Event
from steno.agents.streams.session import Session, session_of
from steno.agents.terminal_signal import TerminalSignal
from steno.contracts.agent_audit.meta import Meta


class Attempt(Struct, frozen=True, kw_only=True, dict=True):
    run_id: str
    number: int
    agent: str
    stream: str  # the name of the parser
    stdout: bytes
    stderr: bytes
    state: str
    reason_code: str
    exit_code: int | None
    signal: str | None = None
    session_field: str | None = None
    terminal_signals: tuple[TerminalSignal, ...] = ()

    @cached_property
    def events(self) -> list[Event]:
        return read(self.stream, self.stdout, self.stderr, self.terminal_signals)

    @cached_property
    def session(self) -> Session:
        return session_of(self.stream, [self.stdout], [self.stderr], field=self.session_field)


def attempt_of(meta: Meta, session_field: str | None, stdout: bytes, stderr: bytes) -> Attempt:
    completion = meta.protocol.completion or {}
    rules = rules_of(meta.steno.rules)
    return Attempt(
        run_id=meta.run_id,
        number=meta.attempt.number,
        agent=meta.agent_name,
        stream=rules.parser,
        stdout=stdout,
        stderr=stderr,
        state=completion.get("state", "unknown"),
        reason_code=completion.get("reasonCode", ""),
        exit_code=meta.exit_code,
        signal=meta.signal,
        session_field=session_field,
        terminal_signals=tuple(rules.terminal_signals),
    )
