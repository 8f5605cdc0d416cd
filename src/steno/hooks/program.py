"""`steno hook AGENT`: one event of an agent, told to the recorder of the run that it is part of.

In: the agent's JSON on stdin, the environment of a recorded command. Out: one line in the run's intake, and
on stdout what the agent wants to see. Outside of a run it does nothing. It never fails the agent: whatever
happens, it returns, with one line on stderr if something is lost. What cannot be understood is told as such,
so that the record knows of it. The environment is never written; what would reach a disk is masked first.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

from steno.capture.procfs import start_ticks
from steno.capture.telling import Intake
from steno.evidence.intake_names import HOOKS
from steno.hooks.agent import Agent
from steno.hooks.fitting import encoded
from steno.hooks.reading import MAX_PAYLOAD, NotUnderstoodError, read
from steno.hooks.whereabouts import is_in_memory, who_asked

_PIECE = 1 << 20


def run(name: str) -> None:
    agent: Agent = import_module(f"steno.hooks.{name}").AGENT
    try:
        _tell(agent)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - a hook that fails would stop its agent
        _complain(f"this was not recorded: {error or type(error).__name__}")
    with suppress(OSError):
        os.write(1, agent.answer)


def _tell(agent: Agent) -> None:
    intake = Intake.of(os.environ)
    if intake is None:
        _payload(keep=False)  # whoever writes it must not meet a closed pipe
        return
    at_ns = intake.now()
    told = _read(agent)
    if told is None:
        return
    line = {"run_id": intake.run_id, "at_ns": at_ns, "agent": agent.name, **_processes(agent.name), **told}
    if not is_in_memory(intake.folder):
        line = _masked(line)
    log = intake.log(HOOKS)
    try:
        log.append(encoded(line) + b"\n")
    finally:
        log.close()


def _read(agent: Agent) -> dict[str, Any] | None:
    try:
        return read(_payload(keep=True), agent)
    except NotUnderstoodError as error:
        _complain(f"what {agent.name} said cannot be understood: {error}")
        return {"event_type": None, "tool_call_id": None, "tool": None, "problem": str(error)}


def _payload(*, keep: bool) -> bytes:
    """At most one byte more than is taken; the rest is read and forgotten."""
    kept = bytearray()
    with suppress(OSError):  # a closed stdin is an empty one
        while piece := os.read(0, _PIECE):
            if keep:
                kept += piece[: MAX_PAYLOAD + 1 - len(kept)]
    return bytes(kept)


def _processes(agent: str) -> dict[str, Any]:
    return {"process": _key(os.getpid()), "parent": _key(who_asked(agent))}


def _key(pid: int) -> dict[str, int] | None:
    with suppress(OSError):  # /proc may hide the processes of others
        ticks = start_ticks(pid)
        return None if ticks is None else {"pid": pid, "start_ticks": ticks}
    return None


def _masked(line: dict[str, Any]) -> dict[str, Any]:
    """Loads the rules, which takes a tenth of a second: only for an intake that is not in memory."""
    from steno.redact import Findings, Redactor

    redactor = Redactor(findings=Findings())
    redactor.learn(redactor.secrets_in_env(os.environ))
    said = {name: line[name] for name in ("input", "output", "message", "tool") if name in line}
    masked: dict[str, Any] = redactor.foreign(said, "hook")
    return line | masked


def _complain(message: str) -> None:
    if sys.stderr is None:  # it was closed, and its number may be another file by now
        return
    with suppress(OSError):
        os.write(2, f"steno: {message}\n".encode("utf-8", "replace"))
