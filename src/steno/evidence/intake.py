"""What the programs of a run tell its recorder: the names of the environment, and the lines of three logs.

A writer appends whole lines; nobody rewrites one. Times are nanoseconds on the run's monotonic clock:
CLOCK_MONOTONIC minus the origin that the environment tells. What a program says here is believed as far as
the kernel layer shows that it was that program.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar

import msgspec

from steno.evidence import canonical
from steno.evidence.claims import Decision, Outcome, ProcessKey, SdkEventType
from steno.evidence.intake_names import (
    FOLDER,
    HOOKS,
    MAX_ID,
    MAX_LINE,
    MAX_NAME,
    MAX_PAYLOAD_TOLD,
    MAX_TOLD,
    ORIGIN_NS,
    RUN_ID,
    SDK,
    SDK_LOG,
    SDK_LOG_SCHEMA,
    SDK_SCHEMA,
    policy_log,
    policy_log_owner,
)

__all__ = [
    "FOLDER",
    "HOOKS",
    "MAX_ID",
    "MAX_LINE",
    "MAX_NAME",
    "MAX_PAYLOAD_TOLD",
    "MAX_TOLD",
    "ORIGIN_NS",
    "RUN_ID",
    "SDK",
    "SDK_LOG",
    "SDK_LOG_SCHEMA",
    "SDK_SCHEMA",
    "BadIntakeError",
    "Closed",
    "Decided",
    "Ended",
    "HookTold",
    "Noticed",
    "Opened",
    "PolicyTold",
    "SdkTold",
    "Told",
    "hook_told",
    "is_process",
    "policy_log",
    "policy_log_owner",
    "policy_told",
    "write",
]


class BadIntakeError(ValueError):
    """A line is not one that our programs write."""


class _Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="what"):
    run_id: str
    connection: str
    at_ns: int


class Opened(_Told, frozen=True, kw_only=True, tag="opened"):
    """A proxy stands between a client and a server."""

    source: str
    server: str  # its label
    policy: str  # SHA-256
    dry_run: bool
    server_process: ProcessKey | None
    proxy_process: ProcessKey


class Decided(_Told, frozen=True, kw_only=True, tag="decided"):
    """Written before the call is let through, or refused; `call` is its number on this connection."""

    call: int
    tool_call_id: str
    id_from: str
    request_id: str | None
    method: str
    tool: str
    decision: Decision
    reason: str
    read_only: bool | None = None
    arguments: Any = None
    arguments_cut: bool = False


class Ended(_Told, frozen=True, kw_only=True, tag="ended"):
    call: int
    outcome: Outcome
    given_ns: int | None = None  # when its last byte was about to be given to the server; None: it never was


class Noticed(_Told, frozen=True, kw_only=True, tag="noticed"):
    """Something that is no call: a tool whose definition is not the pinned one, a frame that was refused."""

    kind: str  # a fixed word
    detail: str


class Closed(_Told, frozen=True, kw_only=True, tag="closed"):
    reason: Literal["client_closed", "server_exited", "proxy_failed"]
    exit_code: int | None = None
    signal: str | None = None


PolicyTold = Opened | Decided | Ended | Noticed | Closed


class HookTold(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an agent's hook was given."""

    run_id: str
    at_ns: int
    agent: str
    sdk_version: str | None = None
    payload: Any = None  # what the agent gave to its hook; None: what follows was read from it by the hook
    event_type: SdkEventType | None = None  # None: it cannot be understood, and `problem` says why
    tool_call_id: str | None = None
    tool: str | None = None
    server: str | None = None
    session: str | None = None
    process: ProcessKey  # of the hook
    parent: ProcessKey | None
    input: Any = None
    output: Any = None
    message: str | None = None
    cut: bool = False
    problem: str | None = None  # a fixed word; docs/hooks.md lists them


class SdkAside(msgspec.Struct, frozen=True, kw_only=True):
    """What an SDK says beside its contract, under `steno`."""

    id_from: Literal["sdk", "inferred"] = "sdk"
    at_ns: int | None = None
    input: Any = None
    output: Any = None
    message: str | None = None
    cut: bool = False


class SdkTold(msgspec.Struct, frozen=True, kw_only=True):
    """What a framework says of itself, by the contract of its log."""

    schema: Literal["assay.runner.sdk_event.v0"]
    run_id: str
    seq: int
    event_type: SdkEventType
    source: str  # the shim
    sdk_name: str | None = None
    sdk_version: str | None = None
    tool_call_id: str | None = None
    tool: str | None = None
    steno: SdkAside | None = None


Told = PolicyTold | HookTold | SdkTold
_Line = TypeVar("_Line")

_policy: msgspec.json.Decoder[PolicyTold] = msgspec.json.Decoder(PolicyTold)
_hooks = msgspec.json.Decoder(HookTold)


def policy_told(line: bytes) -> PolicyTold:
    return _read(line, _policy)


def hook_told(line: bytes) -> HookTold:
    return _read(line, _hooks)


def write(told: PolicyTold | HookTold) -> bytes:
    return msgspec.json.encode(told) + b"\n"


def is_process(key: ProcessKey | None) -> bool:
    """One that there can be, or none."""
    return key is None or all(0 <= number <= canonical.SAFE_INTEGER for number in (key.pid, key.start_ticks))


def _read(line: bytes, decoder: msgspec.json.Decoder[_Line]) -> _Line:
    if not line.endswith(b"\n") or len(line) > MAX_LINE:
        raise BadIntakeError("a line that is torn or too long")
    try:
        return decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadIntakeError(str(error)) from None
