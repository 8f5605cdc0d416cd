"""assay-runner: S4, its checks of policy in S7, and the rows of its matrix that have a policy.

A real MCP server (`@modelcontextprotocol/server-filesystem`) behind `steno mcp wrap`, called by a client that
knows nothing of Steno.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from steno.contracts.assay import manifest as assay_manifest
from support.assay_archives import Measured, lines_in, run_measured, steno_in
from support.machine import FILESYSTEM_SERVER, a_cgroup_can_be_made
from support.observers import observers, strongest
from support.program import PROGRAM

AGENT = Path(__file__).parent.parent / "workloads" / "mcp-policy-agent.py"
POLICY = """\
version: 1
default: deny
rules:
  - tools: ["read_*", "list_*"]
    action: allow
"""
BEST = strongest()
ALLOWED, DENIED = "tc_runner_policy_001", "tc_runner_policy_002"
pytestmark = pytest.mark.skipif(
    not FILESYSTEM_SERVER.exists(), reason="@modelcontextprotocol/server-filesystem is not installed"
)


class Called(NamedTuple):
    """Three runs with the same calls, each in the same place made anew."""

    place: Path
    runs: list[Measured]
    calls: list[dict[str, Any]]

    @property
    def one(self) -> Measured:
        return self.runs[0]

    def call(self, tool_call_id: str) -> dict[str, Any]:
        (found,) = [call for call in self.calls[0]["calls"] if call["tool_call_id"] == tool_call_id]
        assert isinstance(found, dict)
        return found


def called(home: Path, observer: str, wanted: list[dict[str, Any]], runs: int) -> Called:
    place, steno = home / "place", steno_in(home)
    place.mkdir()
    (place / "data.txt").write_text("what the tool reads\n")
    (home / "policy.yaml").write_text(POLICY)
    for call in wanted:
        call["arguments"]["path"] = str(place / call["arguments"]["path"])
    wrap = [PROGRAM, "mcp", "wrap", "--policy", home / "policy.yaml", "--label", "filesystem", "--"]
    words = [sys.executable, AGENT, json.dumps(wanted), *wrap, "node", FILESYSTEM_SERVER, place]
    measured, calls = [], []
    for _ in range(runs):
        measured.append(run_measured(steno, home / "out", observer, *map(str, words), cwd=place))
        calls.append(json.loads(steno("calls", "@last", "--json").stdout))
    return Called(place, measured, calls)


@pytest.fixture(scope="module", params=observers())
def allowed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Called:
    wanted = {"id": ALLOWED, "tool": "read_text_file", "arguments": {"path": "data.txt"}}
    runs = 3 if request.param == BEST else 1
    return called(tmp_path_factory.mktemp("allowed"), request.param, [wanted], runs)


@pytest.fixture(scope="module")
def denied(tmp_path_factory: pytest.TempPathFactory) -> Called:
    arguments = {"path": "made.txt", "content": "what nobody may write"}
    wanted = {"id": DENIED, "tool": "write_file", "arguments": arguments}
    return called(tmp_path_factory.mktemp("denied"), BEST, [wanted], runs=1)


def policy_lines(measured: Measured) -> list[dict[str, Any]]:
    return lines_in(measured.files["layers/policy.ndjson"])


def stable(found: dict[str, Any], *unstable: str) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in {"run_id", *unstable}}


# --- S4: none + kernel+policy ----------------------------------------------------------------------------


def test_s4_the_tool_was_really_called(allowed: Called) -> None:
    answer = json.loads(allowed.one.done.stdout)
    assert answer["result"]["content"][0]["text"] == "what the tool reads\n"


def test_s4_the_sdk_layer_is_absent(allowed: Called) -> None:
    assert allowed.one.health["sdk_layer"] == "absent"
    assert allowed.one.files["layers/sdk.ndjson"] == b""


def test_s4_the_policy_layer_is_present(allowed: Called) -> None:
    assert allowed.one.health["policy_layer"] == "present"


def test_s4_the_policy_event_includes_a_stable_tool_call_id(allowed: Called) -> None:
    for run in allowed.runs:
        (line,) = policy_lines(run)
        told = {name: line[name] for name in ("tool_call_id", "tool", "decision", "source_event_type")}
        assert told == {
            "tool_call_id": ALLOWED,
            "tool": "read_text_file",
            "decision": "allow",
            "source_event_type": "assay.tool.decision",
        }


def test_s4_the_kernel_capability_set_is_congruent_with_the_allowed_tool_call(allowed: Called) -> None:
    surface = allowed.one.surface
    assert str(allowed.place / "data.txt") in surface["steno"]["files"]["read"]
    assert surface["mcp_tools"] == ["filesystem.read_text_file"]
    assert surface["policy_decisions"] == ["allow:filesystem.read_text_file"]


def test_s4_the_report_joins_policy_to_kernel_by_run_window_and_cgroup(allowed: Called) -> None:
    report = allowed.one.correlation
    (binding,) = report["bindings"]
    assert (binding["tool_call_id"], binding["policy_decision"]) == (ALLOWED, "allow")
    assert binding["kernel_event_count"] > 0
    assert binding["window"]["start"] <= binding["window"]["end"]
    if a_cgroup_can_be_made():
        assert isinstance(binding["cgroup_id"], int | str)
        assert (report["status"], report["ambiguities"]) == ("clean", [])


def test_s4_the_events_are_those_of_that_server_process_in_that_window(allowed: Called) -> None:
    call = allowed.call(ALLOWED)
    assert call["seen"]["files"]["read"] == [str(allowed.place / "data.txt")]
    assert call["seen"]["files"]["written"] == []
    assert call["verdict"] == "confirmed"


def test_s4_the_fixture_verifies(allowed: Called) -> None:
    assert {run.status for run in allowed.runs} == {"valid"}


def test_s4_three_repeated_runs_are_the_same(allowed: Called) -> None:
    first, *others = allowed.runs
    for other in others:
        assert stable(other.health) == stable(first.health)
        assert other.surface["mcp_tools"] == first.surface["mcp_tools"]
        assert other.surface["policy_decisions"] == first.surface["policy_decisions"]
        assert stable(other.correlation, "bindings") == stable(first.correlation, "bindings")
        assert [stable(line, "steno") for line in policy_lines(other)] == [
            stable(line, "steno") for line in policy_lines(first)
        ]
    for calls in allowed.calls:
        assert calls["calls"][0]["seen"]["files"] == allowed.call(ALLOWED)["seen"]["files"]


# --- S7, and the matrix: a tool that is denied -------------------------------------------------------------


def test_s7_a_denied_call_produces_a_policy_event(denied: Called) -> None:
    (line,) = policy_lines(denied.one)
    assert (line["tool_call_id"], line["decision"]) == (DENIED, "deny")
    assert denied.one.surface["policy_decisions"] == ["deny:filesystem.write_file"]
    assert denied.one.surface["mcp_tools"] == []


def test_s7_a_denied_call_claims_no_side_effect(denied: Called) -> None:
    (binding,) = denied.one.correlation["bindings"]
    assert (binding["policy_decision"], binding["kernel_event_count"]) == ("deny", 0)
    call = denied.call(DENIED)
    assert call["verdict"] == "denied"
    assert not any(call["seen"]["files"].values())


def test_s7_a_denied_call_has_no_effect(denied: Called) -> None:
    assert not (denied.place / "made.txt").exists()
    assert str(denied.place / "made.txt") not in denied.one.surface["filesystem_paths"]


def test_s7_whoever_asked_can_read_that_it_was_denied(denied: Called) -> None:
    result = json.loads(denied.one.done.stdout)["result"]
    assert result["isError"] is True
    assert "write_file" in result["content"][0]["text"]


def test_matrix_mcp_denied_tool_has_policy_present_and_no_false_claim(denied: Called) -> None:
    assert denied.one.health["policy_layer"] == "present"
    assert denied.one.correlation["status"] != "failed"
    assert denied.one.files[assay_manifest.KERNEL_LINES]


def test_matrix_mcp_allowed_tool_has_a_complete_kernel_layer_and_policy_present(allowed: Called) -> None:
    health = allowed.one.health
    assert (health["kernel_layer"], health["policy_layer"]) == ("complete", "present")
