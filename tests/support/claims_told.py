"""Lines that programs of a run tell its recorder, made by hand."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from steno.contracts.assay import claim_lines
from steno.evidence import intake
from steno.evidence.claims import PolicyDetail, PolicyLine, ProcessKey, SdkLine
from support.spools import RUN_ID

PROXY, SERVER, HOOK, AGENT = (ProcessKey(pid, 100 + pid) for pid in (11, 12, 13, 14))
POLICY = intake.policy_log(PROXY.pid, PROXY.start_ticks)


def opened(connection: str = "c1", at_ns: int = 1, **changes: Any) -> bytes:
    told = intake.Opened(
        run_id=RUN_ID,
        connection=connection,
        at_ns=at_ns,
        source="steno.mcp.wrap",
        server="files",
        policy="0" * 64,
        dry_run=False,
        server_process=SERVER,
        proxy_process=PROXY,
    )
    return intake.write(msgspec.structs.replace(told, **changes))


def decided(call: int = 1, at_ns: int = 10, connection: str = "c1", **changes: Any) -> bytes:
    told = intake.Decided(
        run_id=RUN_ID,
        connection=connection,
        at_ns=at_ns,
        call=call,
        tool_call_id=f"tc_runner_policy_{call:03}",
        id_from="_meta.callId",
        request_id=str(call),
        method="tools/call",
        tool="read_file",
        decision="allow",
        reason="allowed_by_rule",
        arguments={"path": "/a"},
    )
    return intake.write(msgspec.structs.replace(told, **changes))


def ended(
    call: int = 1,
    at_ns: int = 20,
    connection: str = "c1",
    outcome: Any = "result",
    given_ns: int | None = None,
) -> bytes:
    told = intake.Ended(
        run_id=RUN_ID, connection=connection, at_ns=at_ns, call=call, outcome=outcome, given_ns=given_ns
    )
    return intake.write(told)


def noticed(kind: str, at_ns: int = 5) -> bytes:
    return intake.write(
        intake.Noticed(run_id=RUN_ID, connection="c1", at_ns=at_ns, kind=kind, detail="read_file")
    )


def closed(at_ns: int = 30, connection: str = "c1", **changes: Any) -> bytes:
    told = intake.Closed(run_id=RUN_ID, connection=connection, at_ns=at_ns, reason="client_closed")
    return intake.write(msgspec.structs.replace(told, **changes))


def hook(event_type: str | None = "tool_call_started", at_ns: int = 10, **changes: Any) -> bytes:
    told = intake.HookTold(
        run_id=RUN_ID,
        at_ns=at_ns,
        agent="claude",
        sdk_version="2.1",
        event_type=event_type,  # type: ignore[arg-type]
        tool_call_id="toolu_01A09q90qw90lq917835lq9",
        tool="Bash",
        process=HOOK,
        parent=AGENT,
    )
    return intake.write(msgspec.structs.replace(told, **changes))


def sdk(seq: int = 0, event_type: Any = "tool_call_started", **changes: Any) -> bytes:
    told = {
        "schema": intake.SDK_SCHEMA,
        "run_id": RUN_ID,
        "seq": seq,
        "event_type": event_type,
        "source": "openai-agents",
        "sdk_name": "@openai/agents",
        "sdk_version": "0.1.0",
        "tool_call_id": "call_0f3a9b1c2d4e5f60",
        "tool": "read_file",
    }
    return json.dumps(told | changes).encode() + b"\n"


def policy_line(seq: int = 0, start_ns: int = 10, **changes: Any) -> bytes:
    """A line of the layer, as a recorder writes it for `opened` and `decided`."""
    detail = PolicyDetail(
        connection="c1",
        request_id="1",
        id_from="_meta.callId",
        server="files",
        method="tools/call",
        reason="allowed_by_rule",
        policy="0" * 64,
        start_ns=start_ns,
        end_ns=start_ns + 10,
        outcome="result",
        server_process=SERVER,
        proxy_process=PROXY,
    )
    own = {name: changes.pop(name) for name in list(changes) if name in PolicyDetail.__struct_fields__}
    line = PolicyLine(
        RUN_ID,
        seq,
        "steno.mcp.wrap",
        "tc_runner_policy_001",
        "read_file",
        "allow",
        msgspec.structs.replace(detail, **own),
    )
    return claim_lines.policy_line(msgspec.structs.replace(line, **changes))


def sdk_line(seq: int = 0, **changes: Any) -> bytes:
    """A line of the layer, as a recorder writes it for `sdk`."""
    found = msgspec.convert({**json.loads(sdk(seq)), "steno": None}, SdkLine)
    return claim_lines.sdk_line(msgspec.structs.replace(found, **changes))
