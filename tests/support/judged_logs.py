"""Logs of agents that are made by hand, and what is judged of them."""

from __future__ import annotations

import json
from typing import Any

from steno.agents.definition import Log, TerminalSignal
from steno.contracts.agent_audit.completion import LOGS, Completion, Rules, completion

CODEX = [
    TerminalSignal("stdout", "json", {"type": "turn.completed"}, "end_of_turn"),
    TerminalSignal("stdout", "json", {"type": "turn.failed"}, "failed"),
]
SIGNAL = {
    "version": "1",
    "state": "completed",
    "skill": "demo",
    "result_kind": "text",
    "needs_user_input": False,
    "reason_code": "ALL_DONE",
}
MARKER = b'{"__SKILL_DONE__": true}'
END = b'{"type":"turn.completed"}'
FAILED = b'{"type":"turn.failed","error":{"message":"no"}}'


def done(**changes: Any) -> bytes:
    return b"AGENT_ENV_DONE " + json.dumps({**SIGNAL, **changes}).encode()


SKILL = (
    b"""---
name: demo
---
# Demo

## How to finish
When the task is done, the last line of your answer is the object
```json
{"__SKILL_DONE__": true}
```
or, when asked for more, one line such as
"""
    + done(reason_code="OK")
    + b"\n"
)


def told(
    *,
    pty: bytes = b"",
    stdout: bytes = b"",
    stderr: bytes = b"",
    exit_code: int | None = 0,
    signal: str | None = None,
    signals: list[TerminalSignal] = CODEX,
    words: tuple[bytes, ...] = (),
    parser: str = "plain",
) -> Completion:
    logs: dict[Log, list[bytes]] = {"pty": [pty], "stdout": [stdout], "stderr": [stderr]}
    rules = Rules(parser=parser, terminal_signals=signals)
    return completion(exit_code=exit_code, signal=signal, logs=logs, rules=rules, given=words)


def told_by(log: str, content: bytes, words: tuple[bytes, ...] = ()) -> Completion:
    pty, stdout, stderr = (content if log == name else b"" for name in LOGS)
    return told(pty=pty, stdout=stdout, stderr=stderr, words=words)


def reason(**given_logs: Any) -> tuple[str, str]:
    found = told(**given_logs)
    return found.state, found.reason_code
