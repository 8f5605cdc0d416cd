"""A run as OpenTelemetry spans, in OTLP's JSON."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

from steno.evidence import layout
from steno.evidence.kinds import NO_SHIM
from steno.export import Exported
from steno.export.atomic import place_below
from steno.judge.calls.types import Call, Decided, Said
from steno.judge.types import Exec
from steno.model.record import readable
from steno.model.run import Run
from steno.text.safe import ELLIPSIS

INTERNAL = 1
ERROR = 2
LONGEST_TEXT = 4000
MOST_ITEMS = 100
MOST_EVENTS = 128  # as the kits of OpenTelemetry have it
_TRACE_BYTES, _SPAN_BYTES = 16, 8
_LARGEST = (1 << 63) - 1

Data = dict[str, Any]
Value = str | bool | int | list[str] | None


class Spans:
    """The spans of one run: they share a trace, and the wall-clock time of its start."""

    def __init__(self, run_id: str, started_at_ms: int) -> None:
        self._run_id = run_id
        self._started_ns = started_at_ms * 1_000_000
        self._trace_id = _digest(run_id, "trace")[:_TRACE_BYTES].hex()

    def span(
        self,
        key: str,
        name: str,
        times: tuple[int, int],
        attributes: Mapping[str, Value],
        *,
        parent: str | None = None,
        links: Iterable[str] = (),
        events: Iterable[Data] = (),
        error: str | None = None,
    ) -> Data:
        """`key` says what the span stands for; `parent` and `links` are keys of others."""
        start_ns, end_ns = times
        happened = list(events)
        found: Data = {
            "traceId": self._trace_id,
            "spanId": self.span_id(key),
            "name": cut(name),
            "kind": INTERNAL,
            "startTimeUnixNano": self.moment(start_ns),
            "endTimeUnixNano": self.moment(max(start_ns, end_ns)),
            "attributes": attribute_list(attributes),
        }
        if parent is not None:
            found["parentSpanId"] = self.span_id(parent)
        linked = [{"traceId": self._trace_id, "spanId": self.span_id(one)} for one in links]
        if linked:
            found["links"] = linked
        if happened:
            found["events"] = happened[:MOST_EVENTS]
        if len(happened) > MOST_EVENTS:
            found["droppedEventsCount"] = len(happened) - MOST_EVENTS
        if error is not None:
            found["status"] = {"code": ERROR, "message": cut(error)}
        return found

    def event(self, name: str, at_ns: int, attributes: Mapping[str, Value]) -> Data:
        return {
            "name": cut(name),
            "timeUnixNano": self.moment(at_ns),
            "attributes": attribute_list(attributes),
        }

    def span_id(self, key: str) -> str:
        return _digest(self._run_id, f"span {key}")[:_SPAN_BYTES].hex()

    def moment(self, at_ns: int) -> str:
        """Wall-clock time: that of the run's start, and what the monotonic clock says since."""
        return str(min(max(self._started_ns + at_ns, 0), _LARGEST))


def attribute_list(attributes: Mapping[str, Value]) -> list[Data]:
    """What is None was not recorded, and is no attribute."""
    return [
        {"key": key, "value": _any_value(value)}
        for key, value in sorted(attributes.items())
        if value is not None
    ]


def cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + ELLIPSIS


def _any_value(value: str | bool | int | list[str]) -> Data:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if -_LARGEST <= value <= _LARGEST else {"stringValue": str(value)}
    if isinstance(value, str):
        return {"stringValue": cut(value)}
    kept = [{"stringValue": cut(item)} for item in value[:MOST_ITEMS]]
    if len(value) > MOST_ITEMS:
        kept.append({"stringValue": f"{ELLIPSIS} {len(value) - MOST_ITEMS} more"})
    return {"arrayValue": {"values": kept}}


def _digest(run_id: str, what: str) -> bytes:
    return hashlib.sha256(f"steno.otlp.v1\0{run_id}\0{what}".encode()).digest()


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


NAME = "steno-{run_id}.otlp.jsonl"
SPANS_A_LINE = 1000
ROOT = "run"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # as OpenTelemetry calls them


def export(run: Run, directory: Path) -> Exported:
    def write(out: IO[bytes]) -> None:
        with readable(run.folder):
            out.writelines(requests(run))

    path = place_below(directory, NAME.format(run_id=run.run_id), write)
    return Exported(path, tuple(_notes(run)))


def requests(run: Run) -> Iterator[bytes]:
    run.expect(layout.PROCESSES, layout.CALLS)
    resource = {"attributes": attribute_list(_resource(run))}
    scope = {"name": "steno", "version": run.facts.start.steno_version}
    spans = _spans(run)
    while some := list(islice(spans, SPANS_A_LINE)):
        told = {"resource": resource, "scopeSpans": [{"scope": scope, "spans": some}]}
        yield _line({"resourceSpans": [told]})


def _line(value: Data) -> bytes:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode("ascii") + b"\n"


def _notes(run: Run) -> Iterator[str]:
    if not run.has_kernel_layer:
        yield "the run has no kernel layer: no process is among the spans"


def _resource(run: Run) -> dict[str, Value]:
    host = run.facts.start.host
    return {
        "service.name": "steno",
        "service.version": run.facts.start.steno_version,
        "host.name": host.name,
        "host.arch": _ARCHITECTURES.get(host.machine, host.machine),
        "os.type": host.platform,
        "os.version": host.release,
        "steno.run.id": run.run_id,
    }


def _spans(run: Run) -> Iterator[Data]:
    spans = Spans(run.run_id, run.facts.started_at_ms)
    yield _root(spans, run)
    if run.has_kernel_layer:
        yield from _process_spans(spans, run)
    if run.has_calls:
        yield from call_spans(spans, run, parent=ROOT)


def _root(spans: Spans, run: Run) -> Data:
    facts, complete = run.facts, run.completeness
    command = facts.start.cmd_redacted
    attributes: dict[str, Value] = {
        "process.executable.name": _base_name(command[0] if command else "?"),
        "process.command_args": list(command),
        "process.working_directory": facts.start.cwd,
        "process.pid": facts.pid,
        "gen_ai.agent.name": None if facts.shim == NO_SHIM else facts.shim,
        "steno.run.id": facts.run_id,
        "steno.run.name": facts.start.name,
        "steno.run.root": run.root,
        "steno.run.complete": complete["complete"],
        "steno.run.gaps": complete["gaps"],
        **_ending(facts.exit_code, facts.signal),
    }
    gaps = [spans.event("steno.gap", facts.end_ns, {"reason": one.reason, "detail": one.detail})
            for one in facts.gaps]  # fmt: skip
    name = str(attributes["process.executable.name"])
    error = _error(facts.exit_code, facts.signal)
    return spans.span(ROOT, name, (0, facts.end_ns), attributes, events=gaps, error=error)


def process_key(number: int) -> str:
    return f"process {number}"


def _process_spans(spans: Spans, run: Run) -> Iterator[Data]:
    processes, execs = list(run.processes), run.execs_by_process()
    pids = {one.process: one.pid for one in processes}
    for one in processes:
        became = execs.get(one.process, [])
        last = next((exec_ for exec_ in reversed(became) if exec_.has_started), None)
        attributes: dict[str, Value] = {
            "process.executable.name": one.label,
            "process.executable.path": last.executable if last else None,
            "process.command_args": list(last.arguments) if last else None,
            "process.pid": one.pid,
            "process.parent_pid": pids.get(one.parent or 0),
            "steno.process.number": one.process,
            "steno.process.forked_only": None if last else True,
            "steno.process.threads": one.threads,
            "steno.process.kernel_events": one.n_events,
            "steno.process.outlived": one.still_running or None,
            **_ending(one.exit_code, one.signal),
        }
        ended_ns = run.facts.end_ns if one.ended_ns is None else one.ended_ns
        yield spans.span(
            process_key(one.process),
            one.label,
            (one.started_ns, ended_ns),
            attributes,
            parent=process_key(one.parent) if one.parent in pids and one.parent else ROOT,
            events=[_executed(spans, exec_) for exec_ in became],
            error=_error(one.exit_code, one.signal),
        )


def _executed(spans: Spans, one: Exec) -> Data:
    told: dict[str, Value] = {
        "process.executable.path": one.executable or one.requested,
        "process.command_args": list(one.arguments),
        "steno.result": one.result,
    }
    return spans.event("exec", one.at_ns, told)


def _ending(code: int | None, signal: str | None) -> dict[str, Value]:
    """A process that a signal ended has no code of its own; the run has the one that a shell would give."""
    failed = signal is not None or bool(code)
    return {
        "process.exit.code": code,
        "steno.exit.signal": signal,
        "error.type": (signal or str(code)) if failed else None,
    }


def _error(code: int | None, signal: str | None) -> str | None:
    if signal is not None:
        return f"ended by {signal}"
    return f"exit code {code}" if code else None


def _base_name(path: str) -> str:
    return path.rpartition("/")[2] or path
