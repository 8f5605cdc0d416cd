"""Tool calls as spans: `execute_tool NAME`, with what was said, decided and seen of each.

In: a run. Out: spans. A call stands below the run; a link leads to the process in whose line
its effects were seen, because a window is no proof of a cause. The times of a call that has no window are
those that the agent told, and `steno.call.times` says so. Never adds a call, never judges one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator

from steno.judge.calls.types import Call, Decided, Said
from steno.model.run import Run
from steno.views.export.otlp_spans import LONGEST_TEXT, Data, Spans, Value

_TRANSPORTS = {"steno.mcp.wrap": "pipe", "steno.mcp.proxy": "tcp"}
# how a call ended that did not end well, as `error.type` has it
_FAILURES = frozenset({"tool_error", "protocol_error", "cancelled", "server_gone", "client_gone", "denied"})


def call_spans(spans: Spans, run: Run, *, parent: str) -> Iterator[Data]:
    calls, said_at = run.told_calls, _times_said(run)
    for place, call in enumerate(calls.calls):
        start_ns, end_ns, source = _times(call, said_at)
        error = _failure(call)
        attributes: dict[str, Value] = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool,
            "gen_ai.tool.type": "function",  # run on this side, not by whoever serves the model
            "gen_ai.tool.call.id": call.tool_call_id,
            "error.type": error,
            "steno.call.times": source,
            "steno.call.verdict": call.verdict,
            "steno.call.server": call.server,
            **_arguments(call),
            **_decided(call.decided),
            **_said(call.said),
            **_seen(call),
        }
        contradictions = [
            spans.event("steno.contradicted", end_ns, {"steno.rule": check.rule, "steno.says": check.detail})
            for check in call.contradictions
        ]
        yield spans.span(
            f"call {place}",
            f"execute_tool {call.tool}",
            (start_ns, end_ns),
            attributes,
            parent=parent,
            links=_links(call),
            events=contradictions,
            error=error,
        )


def _times_said(run: Run) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for line in run.sdk_lines():
        if line.tool_call_id is not None and line.steno is not None and line.steno.at_ns is not None:
            found[line.tool_call_id].append(line.steno.at_ns)
    return found


def _times(call: Call, said_at: dict[str, list[int]]) -> tuple[int, int, str]:
    if call.window is not None:
        return call.window.start_ns, call.window.end_ns, f"told by {call.window.told_by}"
    said = said_at.get(call.tool_call_id)
    return (min(said), max(said), "said by the agent") if said else (0, 0, "not known")


def _links(call: Call) -> list[str]:
    if call.window is None or call.window.process is None:
        return []
    return [f"process {call.window.process}"]


def _failure(call: Call) -> str | None:
    if call.decided is None:
        return None
    outcome = call.decided.outcome
    return outcome if outcome in _FAILURES else None


def _arguments(call: Call) -> dict[str, Value]:
    """What the proxy saw, else what the agent said; both are masked. Half a document would be no document."""
    given = call.decided.arguments if call.decided is not None else call.said.input if call.said else None
    if given is None:
        return {}
    text = json.dumps(given, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    if len(text) > LONGEST_TEXT:
        return {"steno.call.arguments_left_out": True}
    return {"gen_ai.tool.call.arguments": text}


def _decided(told: Decided | None) -> dict[str, Value]:
    if told is None:
        return {}
    return {
        "mcp.method.name": told.method,
        "jsonrpc.request.id": _request_id(told.request_id),
        "network.transport": _TRANSPORTS.get(told.source),
        "steno.call.connection": told.connection,
        "steno.call.decision": told.decision,
        "steno.call.reason": told.reason,
        "steno.call.dry_run": told.dry_run or None,
        "steno.call.outcome": told.outcome,
    }


def _request_id(written: str | None) -> str | None:
    """The record has the id as it stood in the message; the convention wants text without its quotes."""
    try:
        found = None if written is None else json.loads(written)
    except ValueError:
        return written
    return found if isinstance(found, str) else written if found is not None else None


def _said(told: Said | None) -> dict[str, Value]:
    if told is None:
        return {}
    return {
        "steno.call.said_by": told.source,
        "steno.call.corroboration": told.corroboration,
        "steno.call.corroborated_by": told.rule,
    }


def _seen(call: Call) -> dict[str, Value]:
    if call.seen is None:
        return {}
    return {
        "steno.seen.kernel_events": call.seen.n_events,
        "steno.seen.files_read": len(call.files_read),
        "steno.seen.files_changed": call.files_changed,
        "steno.seen.endpoints": call.endpoints,
        "steno.seen.execs": call.programs,
    }
