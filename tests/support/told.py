"""Lines of `claims.ndjson` made by hand: of what stands in logs, or of calls that were put together."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from steno.evidence import claim_lines, intake
from steno.evidence.claims import PolicyLine, ProcessKey, SdkLine
from steno.evidence.intake import SDK_SCHEMA, Decided, Ended, HookTold, Opened, SdkAside, SdkTold

Told = Mapping[str, bytes | Sequence[bytes]]


def claims_file(logs: Told) -> bytes:
    """The logs one behind the other, as a recorder without secrets keeps them."""
    found: list[bytes] = []
    for log, lines in logs.items():
        split = lines.splitlines(keepends=True) if isinstance(lines, bytes) else lines
        for number, line in enumerate(split):
            found.append(claim_lines.write(len(found), log, number, json.loads(line)))
    return b"".join(found)


def logs_of(policy: Sequence[PolicyLine], sdk: Sequence[SdkLine], run_id: str) -> dict[str, list[bytes]]:
    """The logs that these calls may have been told in."""
    logs: dict[str, list[bytes]] = defaultdict(list)
    for name in dict.fromkeys(line.steno.connection for line in policy):
        calls = [line for line in policy if line.steno.connection == name]
        proxy = calls[0].steno.proxy_process or ProcessKey(1, 1)
        logs[intake.policy_log(proxy.pid, proxy.start_ticks)] += map(
            _json, _connection(calls, name, proxy, run_id)
        )
    for line in sdk:
        if line.steno is not None and line.steno.process is not None:
            logs[intake.HOOKS].append(_json(_hook(line, run_id)))
        else:
            logs[intake.SDK].append(_json(_of_sdk(line, len(logs[intake.SDK]), run_id)))
    return logs


def _json(one: msgspec.Struct) -> bytes:
    return msgspec.json.encode(one) + b"\n"


def _connection(
    calls: Sequence[PolicyLine], name: str, proxy: ProcessKey, run_id: str
) -> Iterable[Opened | Decided | Ended]:
    own = calls[0].steno
    common: dict[str, Any] = {"run_id": run_id, "connection": name}
    yield Opened(
        **common,
        at_ns=0,
        source=calls[0].source,
        server=own.server,
        policy=own.policy,
        dry_run=own.dry_run,
        server_process=own.server_process,
        proxy_process=proxy,
    )
    for number, line in enumerate(calls, 1):
        detail = line.steno
        yield Decided(
            **common,
            at_ns=detail.start_ns,
            call=number,
            tool_call_id=line.tool_call_id,
            id_from=detail.id_from,
            request_id=detail.request_id,
            method=detail.method,
            tool=line.tool,
            decision=line.decision,
            reason=detail.reason,
            read_only=detail.read_only,
            arguments=detail.arguments,
            arguments_cut=detail.arguments_cut,
        )
        if detail.end_ns is not None:
            yield Ended(**common, at_ns=detail.end_ns, call=number, outcome=detail.outcome or "result")


def _hook(line: SdkLine, run_id: str) -> HookTold:
    own = line.steno
    assert own is not None
    assert own.process is not None
    return HookTold(
        run_id=run_id,
        at_ns=own.at_ns or 0,
        agent=line.source,
        sdk_version=line.sdk_version,
        event_type=line.event_type,
        tool_call_id=None if own.id_from == "inferred" else line.tool_call_id,
        tool=line.tool,
        server=own.server,
        process=own.process,
        parent=own.parent,
        input=own.input,
        output=own.output,
        message=own.message,
        cut=own.cut,
    )


def _of_sdk(line: SdkLine, seq: int, run_id: str) -> SdkTold:
    own = line.steno
    aside = None
    if own is not None:
        aside = SdkAside(
            id_from="inferred" if own.id_from == "inferred" else "sdk",
            at_ns=own.at_ns,
            input=own.input,
            output=own.output,
            message=own.message,
            cut=own.cut,
        )
    return SdkTold(
        schema=SDK_SCHEMA,
        run_id=run_id,
        seq=seq,
        event_type=line.event_type,
        source=line.source,
        sdk_name=line.sdk_name,
        sdk_version=line.sdk_version,
        tool_call_id=line.tool_call_id,
        tool=line.tool,
        steno=aside,
    )
