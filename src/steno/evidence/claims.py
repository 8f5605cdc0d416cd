"""What policy decided and what an agent said of itself, put together: one decision a call, one word a line.

They follow from what was told, and format 1 has them in two files, which `compat` reads. What a proxy or a
hook of Steno tells besides stands under `steno`. Times are nanoseconds on the run's monotonic clock.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Decision = Literal["allow", "deny", "error"]
# How a call that was let through ended; `denied` for one that was not.
Outcome = Literal[
    "result",
    "tool_error",
    "protocol_error",
    "input_required",
    "cancelled",
    "server_gone",
    "client_gone",
    "denied",
]
SdkEventType = Literal["tool_call_started", "tool_call_completed", "run_finished", "run_failed"]


class BadClaimError(ValueError):
    """A line is not one of its layer."""


class ProcessKey(msgspec.Struct, frozen=True):
    """A process, told apart from a later one with the same number: field 22 of /proc/PID/stat."""

    pid: int
    start_ticks: int


class FileKey(msgspec.Struct, frozen=True):
    """A file, whatever its name is."""

    dev: int
    ino: int


class ProxyLog(msgspec.Struct, frozen=True):
    """The log of one proxy as it was found at the end, and the process that it is named after."""

    process: ProcessKey
    file: FileKey | None = None  # None: its numbers are larger than JSON can hold


class NoticedByProxy(msgspec.Struct, frozen=True):
    """Something on a connection that is no call: `kind` is a fixed word of the proxy."""

    kind: str
    detail: str
    at_ns: int


class PolicyDetail(msgspec.Struct, frozen=True, kw_only=True):
    schema: Literal["steno.policy_event.v1"] = "steno.policy_event.v1"
    connection: str  # one client and one server, unique in the run
    request_id: str | None  # the JSON-RPC id as it was written in the message; None: it had none
    id_from: str  # where tool_call_id is from: `_meta.KEY`, `request`, `generated`
    server: str  # the label of the server
    method: str
    reason: str  # a fixed word; docs/policy.md lists them
    policy: str  # SHA-256 of the policy file
    dry_run: bool = False  # the decision was told and not enforced
    start_ns: int
    end_ns: int | None = None  # None: no end was seen
    outcome: Outcome | None = None
    server_process: ProcessKey | None = None
    proxy_process: ProcessKey | None = None
    read_only: bool | None = None  # the server's own readOnlyHint for this tool; None: not told
    arguments: Any = None  # masked
    arguments_cut: bool = False  # too large to be kept


class PolicyLine(msgspec.Struct, frozen=True):
    run_id: str
    seq: int
    source: str  # "steno.mcp.wrap" or "steno.mcp.proxy"
    tool_call_id: str
    tool: str
    decision: Decision
    steno: PolicyDetail


class SdkDetail(msgspec.Struct, frozen=True, kw_only=True):
    schema: Literal["steno.sdk_event.v1"] = "steno.sdk_event.v1"
    id_from: Literal["sdk", "hook", "inferred", "stream"] = "sdk"  # inferred: by name, arguments and order
    at_ns: int | None = None  # when the writer says it was: information, never the only ground of a join
    process: ProcessKey | None = None  # the hook's own process
    parent: ProcessKey | None = None  # the process that ran the hook: the agent
    server: str | None = None  # the MCP server that the agent says it asks
    input: Any = None  # what the tool was given; masked
    output: Any = None  # what the tool answered; masked
    message: str | None = None  # the agent's last words; masked
    cut: bool = False  # something above was too large to be kept


class SdkLine(msgspec.Struct, frozen=True):
    run_id: str
    seq: int
    event_type: SdkEventType
    source: str  # the shim: "openai-agents", "openai-agents-js", "claude", "codex", "gemini"
    sdk_name: str | None
    sdk_version: str | None
    tool_call_id: str | None
    tool: str | None
    steno: SdkDetail | None = None
