"""A run as OpenTelemetry spans, read back with the messages of OTLP itself."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import msgspec
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from steno.export import Exported
from steno.export.otlp import SPANS_A_LINE, export
from support.calls_made import decision, said, said_call
from support.exported_calls import run_with_calls
from support.reading import opened
from support.recorded import Recorded
from support.run_builder import RUN_ID, RunBuilder

OK, ERROR = 0, 2


def exported(run: Path, directory: Path) -> Exported:
    with opened(run) as folder:
        return export(folder, directory)


def requests_in(path: Path) -> list[Any]:
    """Each line as a message of OTLP; a field that the message does not have is an error."""
    lines = path.read_bytes().splitlines()
    return [
        json_format.ParseDict(_in_base64(json.loads(line)), ExportTraceServiceRequest()) for line in lines
    ]


def _in_base64(value: Any) -> Any:
    """OTLP writes ids in hexadecimal, where the JSON of protobuf has base64."""
    match value:
        case dict():
            return {
                key: base64.b64encode(bytes.fromhex(item)).decode()
                if key.endswith(("traceId", "panId"))
                else _in_base64(item)
                for key, item in value.items()
            }
        case list():
            return [_in_base64(item) for item in value]
        case _:
            return value


def spans_of(run: Path, directory: Path) -> list[Any]:
    requests = requests_in(exported(run, directory).path)
    return [span for one in requests for span in one.resource_spans[0].scope_spans[0].spans]


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: _plain(one.value) for one in span.attributes}


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(item) for item in value.array_value.values]
    return getattr(value, kind)


def named(spans: list[Any], name: str) -> Any:
    (found,) = [span for span in spans if span.name == name]
    return found


def test_the_same_run_gives_the_same_bytes_and_ids(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").process("ls", parent=1).seal(tmp_path / "store")
    once, twice = exported(run, tmp_path / "a"), exported(run, tmp_path / "b")
    assert once.path == tmp_path / "a" / f"steno-{RUN_ID}.otlp.jsonl"
    assert once.path.read_bytes() == twice.path.read_bytes()
    spans = spans_of(run, tmp_path / "a")
    assert {len(span.trace_id) for span in spans} == {16}
    assert len({span.span_id for span in spans}) == len(spans) == 3
    assert len({span.trace_id for span in spans}) == 1


def test_the_run_is_the_root_and_everything_else_hangs_below_it(tmp_path: Path) -> None:
    run = RunBuilder("/bin/make", "test").process("sh").process("ls", parent=1).process("lost", parent=99)
    spans = spans_of(run.seal(tmp_path / "store"), tmp_path)
    root = named(spans, "make")
    assert root.parent_span_id == b""
    assert named(spans, "sh").parent_span_id == root.span_id
    assert named(spans, "ls").parent_span_id == named(spans, "sh").span_id
    assert named(spans, "lost").parent_span_id == root.span_id
    found = attributes(root)
    assert found["process.command_args"] == ["/bin/make", "test"]
    assert found["process.exit.code"] == 0
    assert found["steno.run.complete"] is True
    assert root.status.code == OK
    assert "error.type" not in found


def test_the_resource_says_who_recorded_where(tmp_path: Path) -> None:
    (request,) = requests_in(exported(RunBuilder().seal(tmp_path / "store"), tmp_path).path)
    found = {one.key: one.value.string_value for one in request.resource_spans[0].resource.attributes}
    assert found["service.name"] == "steno"
    assert (found["host.name"], found["host.arch"], found["os.type"]) == ("box", "amd64", "linux")
    assert request.resource_spans[0].scope_spans[0].scope.name == "steno"


def test_times_are_those_of_the_wall_clock(tmp_path: Path) -> None:
    run = RunBuilder().process("sh", at=1_000_000_000, until=2_000_000_000).seal(tmp_path / "store")
    span = named(spans_of(run, tmp_path), "sh")
    began = Recorded(run).events[0]["ts_ms"] * 1_000_000
    assert span.start_time_unix_nano == began + 1_000_000_000
    assert span.end_time_unix_nano == began + 2_000_000_000


def test_a_failure_is_an_error_and_says_which(tmp_path: Path) -> None:
    run = RunBuilder("make").process("cc", code=2).ended(137, signal="SIGKILL")
    spans = spans_of(run.seal(tmp_path / "store"), tmp_path)
    assert attributes(named(spans, "make"))["error.type"] == "SIGKILL"
    assert named(spans, "make").status.message == "ended by SIGKILL"
    assert attributes(named(spans, "cc"))["error.type"] == "2"
    assert named(spans, "cc").status.code == ERROR


def test_a_gap_stands_in_the_root(tmp_path: Path) -> None:
    run = RunBuilder().gap("stream_lost", "disk full").seal(tmp_path / "store")
    (root,) = spans_of(run, tmp_path)
    assert attributes(root)["steno.run.complete"] is False
    assert [event.name for event in root.events] == ["steno.gap"]


def test_without_a_kernel_layer_the_run_is_told_and_the_rest_is_said_to_be_missing(tmp_path: Path) -> None:
    done = exported(RunBuilder().seal(tmp_path / "store"), tmp_path)
    assert done.notes == ("the run has no kernel layer: no process is among the spans",)


def test_every_execution_is_an_event_of_its_process_up_to_a_limit(tmp_path: Path) -> None:
    run = RunBuilder("make").process()
    for _ in range(200):
        run.executed("/bin/a")
    span = named(spans_of(run.seal(tmp_path / "store"), tmp_path), "a")
    assert (len(span.events), span.dropped_events_count) == (128, 72)


def test_a_call_that_was_let_through_is_a_tool_that_was_executed(tmp_path: Path) -> None:
    policy = [decision("call-1", "act", at=(10, 20), request_id='"seven"', arguments={"path": "/x"})]
    spans = spans_of(run_with_calls(policy).seal(tmp_path / "store"), tmp_path)
    span = named(spans, "execute_tool act")
    found = attributes(span)
    assert found["gen_ai.operation.name"] == "execute_tool"
    assert (found["gen_ai.tool.name"], found["gen_ai.tool.call.id"]) == ("act", "call-1")
    assert found["gen_ai.tool.type"] == "function"
    assert json.loads(found["gen_ai.tool.call.arguments"]) == {"path": "/x"}
    assert (found["mcp.method.name"], found["jsonrpc.request.id"]) == ("tools/call", "seven")
    assert found["network.transport"] == "pipe"
    assert found["steno.call.decision"] == "allow"
    assert found["steno.call.times"] == "told by policy"
    assert span.end_time_unix_nano - span.start_time_unix_nano == 10
    assert span.parent_span_id == named(spans, "make").span_id
    assert [link.span_id for link in span.links] == [named(spans, "server").span_id]
    assert span.status.code == OK


def test_a_denied_call_and_one_that_failed_are_errors(tmp_path: Path) -> None:
    policy = [
        decision("a", "denied", at=(10, 20), decision="deny"),
        decision("b", "failed", at=(30, 40), outcome="tool_error"),
        decision("c", "fine", at=(50, 60)),
    ]
    spans = spans_of(run_with_calls(policy).seal(tmp_path / "store"), tmp_path)
    kinds_of = {
        span.name: attributes(span).get("error.type") for span in spans if "execute_tool" in span.name
    }
    assert kinds_of == {
        "execute_tool denied": "denied",
        "execute_tool failed": "tool_error",
        "execute_tool fine": None,
    }
    assert named(spans, "execute_tool denied").status.code == ERROR
    assert not named(spans, "execute_tool denied").links


def test_times_that_only_the_agent_tells_are_marked_as_said(tmp_path: Path) -> None:
    sdk = [*said_call("a", "timed"), said("tool_call_started", "b", "untimed")]
    sdk = [_at(line, at) for line, at in zip(sdk, (100, 400, None), strict=True)]
    spans = spans_of(run_with_calls(sdk=sdk).seal(tmp_path / "store"), tmp_path)
    timed, untimed = named(spans, "execute_tool timed"), named(spans, "execute_tool untimed")
    assert attributes(timed)["steno.call.times"] == "said by the agent"
    assert timed.end_time_unix_nano - timed.start_time_unix_nano == 300
    assert attributes(untimed)["steno.call.times"] == "not known"
    assert attributes(timed)["steno.call.corroboration"] == "self_reported"


def _at(line: Any, at_ns: int | None) -> Any:
    return msgspec.structs.replace(line, steno=msgspec.structs.replace(line.steno, at_ns=at_ns))


def test_arguments_that_are_too_long_are_left_out_whole(tmp_path: Path) -> None:
    policy = [decision("a", "act", at=(10, 20), arguments={"text": "x" * 100_000})]
    spans = spans_of(run_with_calls(policy).seal(tmp_path / "store"), tmp_path)
    found = attributes(named(spans, "execute_tool act"))
    assert "gen_ai.tool.call.arguments" not in found
    assert found["steno.call.arguments_left_out"] is True


def test_a_contradiction_is_an_event_of_the_call(tmp_path: Path) -> None:
    policy = [decision("a", "act", at=(10, 20))]
    run = run_with_calls(policy, said_call("a", "other"))
    span = named(spans_of(run.seal(tmp_path / "store"), tmp_path), "execute_tool act")
    assert attributes(span)["steno.call.verdict"] == "contradicted"
    assert [event.name for event in span.events] == ["steno.contradicted"]


def test_many_spans_are_several_requests_of_one_trace(tmp_path: Path) -> None:
    run = RunBuilder()
    for _ in range(SPANS_A_LINE + 1):
        run.process("sh")
    requests = requests_in(exported(run.seal(tmp_path / "store"), tmp_path).path)
    counts = [len(one.resource_spans[0].scope_spans[0].spans) for one in requests]
    assert counts == [SPANS_A_LINE, 2]


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    evil = "\x1b[2J\u202e</script>" + "n" * 1_000_000
    path = exported(RunBuilder(evil).process(evil).seal(tmp_path / "store"), tmp_path).path
    data = path.read_bytes()
    assert data.isascii()
    assert not set(data) & (set(range(32)) - {10})
    assert len(data) < 60_000
    assert len(requests_in(path)) == 1
