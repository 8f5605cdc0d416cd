"""assay-runner: S5 and the row of its matrix with an SDK: agents of openai-agents and a scripted model.

The tool call is real: it flows from the framework through `steno mcp wrap` to the real
`@modelcontextprotocol/server-filesystem`, whose process the kernel layer has.
"""

from __future__ import annotations

import compileall
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import steno as steno_package
from steno.bundle.verify import Status
from steno.contracts.assay import manifest as assay_manifest
from steno.evidence import layout
from steno.judge.surface_names import project
from support.assay_archives import Measured, lines_in, run_measured, steno_in, verdict_of
from support.javascript import needs_filesystem_server, needs_openai_agents_js, placed
from support.machine import FILESYSTEM_SERVER, a_cgroup_can_be_made
from support.observers import strongest
from support.program import PROGRAM, Steno
from support.recorded import Recorded, runs

WORKLOADS = Path(__file__).parent.parent / "workloads"
PYTHON, JAVASCRIPT = "openai-agents", "openai-agents-js"
POLICY = """\
version: 1
default: deny
rules:
  - tools: ["read_*", "list_*"]
    action: allow
"""
CALL, SDK_ONLY, POLICY_ONLY = "tc_runner_001", "tc_runner_sdk_only_001", "tc_runner_policy_001"
RUNS = 3
STRONGEST = strongest()
# What differs between equal runs: when something was, which process it was, and names made up for it.
UNSTABLE = frozenset({"run_id", "start", "end", "cgroup_id", "pid", "start_ticks", "connection"})
MEASURED_TIMES = ("_ns",)


class Flowed(NamedTuple):
    """Three runs of one agent in one place."""

    place: Path
    steno: Steno
    runs: list[Recorded]
    done: list[subprocess.CompletedProcess[bytes]]

    @property
    def one(self) -> Recorded:
        return self.runs[0]


def flowed(home: Path, source: str, call: dict[str, Any]) -> Flowed:
    steno, place = steno_in(home), home / "place"
    place.mkdir()
    (place / "data.txt").write_text("what the tool reads\n")
    (home / "policy.yaml").write_text(POLICY)
    call = {"tool": "read_text_file", "arguments": {"path": str(place / "data.txt")}, **call}
    words = [
        *("run", "--no-git", "--observer", STRONGEST, "--shim", "openai-agents", "--"),
        *("setarch", "-R"),  # where node lies decides whether it reads its own program: never twice the same
        *(*_agent(source, home), json.dumps(call)),
        *(PROGRAM, "mcp", "wrap", "--policy", home / "policy.yaml", "--label", "filesystem", "--"),
        *("node", FILESYSTEM_SERVER, place),
    ]
    compileall.compile_dir(Path(steno_package.__file__).parent, quiet=1)  # or the first run would do it
    done = [steno(*words, cwd=place) for _ in range(RUNS)]
    assert [one.returncode for one in done] == [0] * RUNS, done[0].stderr
    return Flowed(place, steno, runs(home / "runs"), done)


def _agent(source: str, home: Path) -> list[str | Path]:
    if source == PYTHON:
        return [sys.executable, WORKLOADS / "openai-agents-agent.py"]
    return ["node", placed(WORKLOADS / "openai-agents-agent.mjs", home / "javascript")]


IN_BOTH_LANGUAGES = [PYTHON, pytest.param(JAVASCRIPT, marks=needs_openai_agents_js)]


@pytest.fixture(scope="module", params=IN_BOTH_LANGUAGES)
def flow(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Flowed:
    return flowed(tmp_path_factory.mktemp("flow"), request.param, {"id": CALL})


@pytest.fixture(scope="module")
def mismatch(tmp_path_factory: pytest.TempPathFactory) -> Flowed:
    call = {"id": SDK_ONLY, "request_id": POLICY_ONLY}
    return flowed(tmp_path_factory.mktemp("mismatch"), JAVASCRIPT, call)


def stable(found: Any) -> Any:
    """What equal runs have in common."""
    if isinstance(found, dict):
        return {
            name: stable(value)
            for name, value in found.items()
            if name not in UNSTABLE and not name.endswith(MEASURED_TIMES)
        }
    return [stable(one) for one in found] if isinstance(found, list) else found


# --- S5: openai-agents, in Python and in JavaScript ------------------------------------------------------


@needs_filesystem_server
def test_s5_the_tool_was_really_called(flow: Flowed) -> None:
    assert all(b"what the tool reads" in done.stdout for done in flow.done)


@needs_filesystem_server
def test_s5_the_sdk_layer_is_self_reported(flow: Flowed) -> None:
    assert flow.one.json(layout.HEALTH)["sdk_layer"] == "self_reported"


@needs_filesystem_server
def test_s5_the_normalized_events_are_those_of_the_contract(flow: Flowed) -> None:
    lines = flow.one.said
    assert [line["event_type"] for line in lines] == [
        "tool_call_started",
        "tool_call_completed",
        "run_finished",
    ]
    assert [line["tool"] for line in lines] == ["read_text_file", "read_text_file", None]


@needs_filesystem_server
def test_s5_the_package_and_its_version_are_recorded(flow: Flowed) -> None:
    for line in flow.one.said:
        assert line["sdk_name"] in {"openai-agents", "@openai/agents"}
        assert line["sdk_version"][0].isdigit()


@needs_filesystem_server
def test_s5_one_id_is_told_by_the_sdk_and_by_policy_and_for_the_call(flow: Flowed) -> None:
    assert [line["tool_call_id"] for line in flow.one.said] == [CALL, CALL, None]
    assert [line["tool_call_id"] for line in flow.one.decided] == [CALL]
    assert [call["tool_call_id"] for call in flow.one.json(layout.CALLS)["calls"]] == [CALL]
    bindings = flow.one.json(layout.CORRELATION)["bindings"]
    assert [binding["tool_call_id"] for binding in bindings] == [CALL]


@needs_filesystem_server
def test_s5_the_kernel_saw_what_the_server_did_for_that_call(flow: Flowed) -> None:
    (call,) = flow.one.json(layout.CALLS)["calls"]
    assert call["seen"]["files"]["read"] == [str(flow.place / "data.txt")]
    assert call["verdict"] == "confirmed"
    assert flow.one.json(layout.CORRELATION)["bindings"][0]["kernel_event_count"] > 0


@needs_filesystem_server
def test_s5_the_events_came_through_the_log_and_not_through_the_output(flow: Flowed) -> None:
    assert not any(b"assay.runner.sdk_event" in done.stdout + done.stderr for done in flow.done)


@needs_filesystem_server
def test_s5_no_model_was_asked_over_a_network(flow: Flowed) -> None:
    assert flow.one.json(layout.SURFACE)["network_endpoints"] == []


@needs_filesystem_server
def test_matrix_openai_agents_tool_call_passes_the_gate_of_the_delegated_host(flow: Flowed) -> None:
    layers = {"kernel_layer": "complete", "policy_layer": "present", "sdk_layer": "self_reported"}
    for run in flow.runs:
        health, report = run.json(layout.HEALTH), run.json(layout.CORRELATION)
        assert {layer: health[layer] for layer in layers} == layers
        if a_cgroup_can_be_made():
            assert health["cgroup_correlation"] == "clean"
            assert (report["status"], report["ambiguities"]) == ("clean", [])
        else:
            assert health["cgroup_correlation"] != "clean"
            assert (report["status"], bool(report["ambiguities"])) == ("partial", True)


@needs_filesystem_server
def test_s5_the_bundle_verifies_and_so_does_the_archive_of_the_contract(flow: Flowed) -> None:
    assert all(run.is_valid for run in flow.runs)
    flow.steno("export", flow.one.path, "--as", "assay-runner", "-o", flow.place.parent / "out")
    (archive,) = (flow.place.parent / "out").iterdir()
    assert verdict_of(archive).status == Status.VALID


@needs_filesystem_server
def test_s5_three_runs_have_the_same_health(flow: Flowed) -> None:
    assert_equal([run.json(layout.HEALTH) for run in flow.runs])


@needs_filesystem_server
def test_s5_three_runs_have_the_same_surface(flow: Flowed) -> None:
    surfaces = [run.json(layout.SURFACE) for run in flow.runs]
    assert_equal([project(surface, surface["steno"]["roots"]) for surface in surfaces])


@needs_filesystem_server
def test_s5_three_runs_have_the_same_claims(flow: Flowed) -> None:
    assert_equal([run.decided for run in flow.runs])
    assert_equal([run.said for run in flow.runs])


@needs_filesystem_server
def test_s5_three_runs_have_the_same_correlation(flow: Flowed) -> None:
    assert_equal([run.json(layout.CORRELATION) for run in flow.runs])


@needs_filesystem_server
def test_s5_the_events_in_the_window_of_the_tool_are_the_same_three_times(flow: Flowed) -> None:
    assert_equal([run.json(layout.CALLS)["calls"] for run in flow.runs])


def assert_equal(found: list[Any]) -> None:
    first, *others = map(stable, found)
    assert len(others) == RUNS - 1
    for other in others:
        assert other == first


# --- S5: an id that policy does not know ------------------------------------------------------------------


@needs_filesystem_server
@needs_openai_agents_js
def test_s5_a_mismatch_is_a_fixed_string_in_a_partial_report_three_times(mismatch: Flowed) -> None:
    for run in mismatch.runs:
        report = run.json(layout.CORRELATION)
        assert report["status"] == "partial"
        assert report["ambiguities"] == [f"sdk_tool_call_without_policy_binding:{SDK_ONLY}"]
    assert_equal([run.json(layout.CORRELATION) for run in mismatch.runs])


@needs_filesystem_server
@needs_openai_agents_js
def test_s5_what_the_sdk_says_makes_no_binding(mismatch: Flowed) -> None:
    for run in mismatch.runs:
        assert {line["tool_call_id"] for line in run.decided} == {POLICY_ONLY}
        assert [one["tool_call_id"] for one in run.json(layout.CORRELATION)["bindings"]] == [POLICY_ONLY]


# --- S5: the contract of the log alone ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log")


@pytest.fixture(scope="module")
def wrapper(place: Path) -> Measured:
    words = ("sh", str(WORKLOADS / "sdk-event-wrapper.sh"), CALL)
    return run_measured(steno_in(place), place / "out", "none", *words, shim="openai-agents")


def test_s5_a_shell_can_write_the_log_that_the_run_supplies(wrapper: Measured) -> None:
    assert wrapper.health["sdk_layer"] == "self_reported"
    assert [line["tool_call_id"] for line in lines_in(wrapper.files[assay_manifest.SDK_LINES])] == [
        CALL,
        CALL,
        None,
    ]


def test_s5_what_is_said_on_stdout_and_stderr_is_no_event(wrapper: Measured) -> None:
    assert b"only_on_stdout" in wrapper.done.stdout
    assert b"only_on_stderr" in wrapper.done.stderr
    assert b"only_on" not in wrapper.files[assay_manifest.SDK_LINES]


def test_s5_sdk_only_data_cannot_make_the_kernel_layer_complete(wrapper: Measured) -> None:
    assert wrapper.health["kernel_layer"] == "absent"
    assert wrapper.health["policy_layer"] == "absent"
    assert wrapper.correlation["status"] != "clean"
    assert wrapper.correlation["bindings"] == []
    assert wrapper.files[assay_manifest.KERNEL_LINES] == b""


def spoken(place: Path, shim: str, *command: str) -> tuple[subprocess.CompletedProcess[bytes], Recorded]:
    done = steno_in(place)("run", "--no-git", "--observer", "none", "--shim", shim, "--", *command)
    return done, runs(place / "runs")[-1]


def test_no_shim_forces_the_sdk_layer_to_be_absent(place: Path) -> None:
    _, run = spoken(place, "none", "sh", str(WORKLOADS / "sdk-event-wrapper.sh"), CALL)
    assert run.json(layout.HEALTH)["sdk_layer"] == "absent"
    assert run.evidence(layout.CLAIMS) == b""


LINE = (
    '{"schema":"%s","run_id":"%s","seq":%s,"event_type":"%s","source":"s","sdk_name":null,'
    '"sdk_version":null,"tool_call_id":%s,"tool":"t"}\\n'
)
SCHEMA, RUN = '"$ASSAY_RUNNER_SDK_EVENT_SCHEMA"', '"$ASSAY_RUNNER_RUN_ID"'


def said(*values: str) -> str:
    return f"printf '{LINE}' {' '.join(values)} >> \"$ASSAY_RUNNER_SDK_EVENT_LOG\"; "


@pytest.mark.parametrize(
    ("program", "word", "kept"),
    [
        (said("other.v0", RUN, "0", "run_finished", "null"), "wrong_schema", 0),
        (said(SCHEMA, "another", "0", "run_finished", "null"), "wrong_run_id", 0),
        (said(SCHEMA, RUN, "1", "run_finished", "null"), "seq_gap", 0),
        (said(SCHEMA, RUN, "0", "tool_call_dreamt", "null"), "unknown_event_type", 0),
        (said(SCHEMA, RUN, "0", "tool_call_started", "null"), "tool_call_without_id", 0),
        ("true; ", "empty_log", 0),
        (
            said(SCHEMA, RUN, "0", "run_finished", "null")
            + 'printf "{not json" >> "$ASSAY_RUNNER_SDK_EVENT_LOG"; ',
            "torn_line",
            1,
        ),
    ],
)
def test_a_malformed_log_degrades_its_layer_and_never_the_run(
    place: Path, program: str, word: str, kept: int
) -> None:
    done, run = spoken(place, "openai-agents", "sh", "-c", f"{program}echo worked; exit 3")
    assert (done.returncode, done.stdout) == (3, b"worked\n")
    assert run.is_valid
    health = run.json(layout.HEALTH)
    assert any(note.startswith(f"sdk_log_refused:{word}") for note in health["notes"])
    assert health["sdk_layer"] == ("self_reported" if kept else "absent")
    assert len(run.said) == kept
