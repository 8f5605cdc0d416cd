"""Runs with tool calls, made by hand: lines of policy and of agents beside a kernel table, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from steno.contracts.assay import claim_lines
from steno.evidence import canonical, claims, compat, kinds, layout
from steno.evidence.claims import PolicyLine, ProcessKey, SdkLine
from steno.evidence.kinds import EventData
from support.documents import calls, correlation
from support.frames_made import FakeFrames
from support.kernel_tables import OBSERVED, Line, lines_of, table_of
from support.spools import FINISH, RUN_ID, MemoryLayers, numbered, start

TICKS = 7
SCOPE = kinds.CgroupScope(hierarchy="unified", path="/x", cgroup_id=77)
EMPTY = kinds.CgroupEnded(empty=True, removed=True)
BORN = msgspec.structs.replace(OBSERVED, features=["cgroup"])
HOOKS_LOG = f"/dev/shm/steno-intake-{RUN_ID}/hooks.ndjson"
POLICY_LOG = f"/dev/shm/steno-intake-{RUN_ID}/policy.1001-{TICKS}.ndjson"  # of the first process


def key(number: int) -> ProcessKey:
    """The key of a process that `FakeFrames` has given this number."""
    return ProcessKey(1000 + number, TICKS)


def decision(
    tool_call_id: str = "a",
    tool: str = "act",
    *,
    at: tuple[int, int | None] = (0, 1),
    server: int | None = 2,
    decision: str = "allow",
    **more: Any,
) -> PolicyLine:
    values: dict[str, Any] = {
        "connection": "c1",
        "request_id": "1",
        "id_from": "request",
        "server": "fs",
        "method": "tools/call",
        "reason": "allowed_by_rule" if decision == "allow" else "denied_by_rule",
        "policy": "0" * 64,
        "start_ns": at[0],
        "end_ns": at[1],
        "outcome": None if at[1] is None else "result" if decision == "allow" else "denied",
        "server_process": None if server is None else key(server),
    }
    return msgspec.convert(
        {
            "run_id": RUN_ID,
            "seq": 0,
            "source": "steno.mcp.wrap",
            "tool_call_id": tool_call_id,
            "tool": tool,
            "decision": decision,
            "steno": msgspec.to_builtins(claims.PolicyDetail(**(values | more))),
        },
        PolicyLine,
    )


def said(event_type: str, tool_call_id: str | None = "a", tool: str | None = "act", **more: Any) -> SdkLine:
    """`source` and what stands under `steno`; `hook` and `agent` are numbers of processes."""
    source = more.pop("source", "openai-agents")
    for name, field in (("hook", "process"), ("agent", "parent")):
        if name in more:
            more[field] = key(more.pop(name))
            more.setdefault("id_from", "hook")
    return msgspec.convert(
        {
            "run_id": RUN_ID,
            "seq": 0,
            "event_type": event_type,
            "source": source,
            "sdk_name": source,
            "sdk_version": None,
            "tool_call_id": tool_call_id,
            "tool": tool,
            "steno": msgspec.to_builtins(claims.SdkDetail(**more)),
        },
        SdkLine,
    )


def said_call(
    tool_call_id: str = "a", tool: str = "act", *, output: Any = None, **more: Any
) -> list[SdkLine]:
    began = said("tool_call_started", tool_call_id, tool, **more)
    more.pop("input", None)
    return [began, said("tool_call_completed", tool_call_id, tool, output=output, **more)]


def run_of(
    frames: FakeFrames | None,
    policy: Sequence[PolicyLine] = (),
    sdk: Sequence[SdkLine] = (),
    *,
    events: Sequence[EventData] = (SCOPE, EMPTY),
    observed: kinds.KernelObserved = BORN,
    shim: str = "auto",
    env: dict[str, str | None] | None = None,
    cwd: str = "/work",
    lines: Sequence[Line] = (),
) -> MemoryLayers:
    """`lines`: those of `evidence/files.ndjson`."""
    kernel = [] if frames is None else [observed]
    began = start(shim=shim, env={"HOME": "/home/ada"} if env is None else env, cwd=cwd)
    intake = []
    if sdk:
        named = sdk[0].source if shim == "auto" else shim
        intake = [kinds.SdkIntake(shim=named, lines=len(sdk), hooks=0)]
    ordered = sorted(policy, key=lambda line: line.steno.start_ns)
    files = {
        compat.FOLDED_POLICY: b"".join(map(claim_lines.policy_line, _numbered(ordered))),
        compat.FOLDED_SDK: b"".join(map(claim_lines.sdk_line, _numbered(sdk))),
    }
    if frames is not None:
        files[layout.KERNEL_TABLE] = table_of(frames)
        files[layout.FILE_LINES] = lines_of(lines)
    told = numbered([began, *events, *kernel, *intake, FINISH], step_ns=1_000_000_000)
    return MemoryLayers(told, files, block=1 << 16)


def calls_of(*run: Any, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = canonical.decode(b"".join(calls(run_of(*run, **more))))
    return found


def report_of(*run: Any, **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = canonical.decode(b"".join(correlation(run_of(*run, **more))))
    return found


def _numbered(lines: Sequence[Any]) -> list[Any]:
    return [msgspec.structs.replace(line, seq=seq) for seq, line in enumerate(lines)]
