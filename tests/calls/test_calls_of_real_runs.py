"""`steno calls` on real runs: an agent with a server and hooks of its own, watched by every observer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from steno.errors import BadRequestError
from support.assay_archives import steno_in
from support.making import FINISHED, make_run, start
from support.observers import observers
from support.recorded import Recorded, only_run

# Told what proxies and hooks tell, under the name of our program; what its tools do is in its arguments.
AGENT = """
import os, subprocess, sys
from steno.capture.procfs import process_key
from steno.claims.client import Intake
from steno.evidence import intake

place = sys.argv[3]
told = Intake.of(os.environ)
if len(sys.argv) > 4:
    hook = intake.HookTold(
        run_id=told.run_id, at_ns=told.now(), agent="claude", event_type=sys.argv[4],
        tool_call_id="toolu_hook", tool="Bash",
        process=process_key(os.getpid()), parent=process_key(os.getppid()),
        input={"command": f"echo hooked > {place}/by-hook"},
    )
    told.log(intake.HOOKS).append(intake.write(hook))
    sys.exit()

SERVER = '\\n'.join((
    "import sys", "print('ready', flush=True)", "for line in sys.stdin:", "    exec(line)",
    "    print('done', flush=True)",
))
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
server = subprocess.Popen([sys.executable, "-c", SERVER], **pipes)
assert server.stdout.readline() == "ready\\n"
log = told.policy_log()
common = {"run_id": told.run_id, "connection": "c1"}
log.append(intake.write(intake.Opened(
    **common, at_ns=told.now(), source="steno.mcp.wrap", server="tools", policy="0" * 64, dry_run=False,
    server_process=process_key(server.pid), proxy_process=process_key(os.getpid()),
)))

def call(number, tool_call_id, tool, code, read_only, decision="allow", **arguments):
    log.append(intake.write(intake.Decided(
        **common, at_ns=told.now(), call=number, tool_call_id=tool_call_id, id_from="_meta.steno/toolCallId",
        request_id=str(number), method="tools/call", tool=tool, decision=decision,
        reason="allowed_by_rule" if decision == "allow" else "denied_by_rule", read_only=read_only,
        arguments=arguments,
    )))
    if decision == "allow":
        server.stdin.write(code + "\\n")
        server.stdin.flush()
        assert server.stdout.readline() == "done\\n"
    log.append(intake.write(intake.Ended(
        **common, at_ns=told.now(), call=number, outcome="result" if decision == "allow" else "denied"
    )))

call(1, "tc_read", "read_file", f"open({place!r} + '/data').close()", True, path=place + "/data")
call(2, "tc_hidden", "look", f"open({place!r} + '/hidden', 'w').close()", True)
call(3, "tc_denied", "write_file", "", False, "deny", path=place + "/never")
open(place + "/outside", "w").close()
subprocess.run([sys.executable, __file__, "hook", "claude", place, "tool_call_started"], check=True)
subprocess.run(["sh", "-c", f"echo hooked > {place}/by-hook"], check=True)
subprocess.run([sys.executable, __file__, "hook", "claude", place, "tool_call_completed"], check=True)
server.stdin.close()
server.wait()
log.append(intake.write(intake.Closed(**common, at_ns=told.now(), reason="client_closed", exit_code=0)))
"""


one_observer = pytest.mark.parametrize("called", observers()[:1], indirect=True)


class Called(NamedTuple):
    place: Path
    run: Recorded
    steno: Any

    @property
    def told(self) -> dict[str, Any]:
        found: dict[str, Any] = self.run.json("calls.json")
        return found

    def call(self, tool_call_id: str) -> dict[str, Any]:
        (found,) = [call for call in self.told["calls"] if call["tool_call_id"] == tool_call_id]
        assert isinstance(found, dict)
        return found


@pytest.fixture(scope="module", params=observers())
def called(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Called:
    home = tmp_path_factory.mktemp("called")
    place, agent, steno = home / "place", home / "steno", steno_in(home)
    place.mkdir()
    (place / "data").write_text("data\n")
    agent.write_text(AGENT)
    words = [
        "run",
        "--observer",
        request.param,
        "--shim",
        "claude",
        "--",
        sys.executable,
        agent,
        "mcp",
        "wrap",
    ]
    done = steno(*words, place)
    assert done.returncode == 0, done.stderr
    return Called(place, only_run(home / "runs"), steno)


def test_the_record_of_such_a_run_is_valid(called: Called) -> None:
    assert called.run.is_valid


def test_each_call_has_its_own_effects_and_its_own_verdict(called: Called) -> None:
    read, hidden = called.call("tc_read"), called.call("tc_hidden")
    assert (read["verdict"], read["seen"]["files"]["read"]) == ("confirmed", [str(called.place / "data")])
    assert read["seen"]["files"]["written"] == []
    assert (hidden["verdict"], hidden["seen"]["files"]["created"]) == (
        "contradicted",
        [str(called.place / "hidden")],
    )


def test_a_denied_call_has_no_effects(called: Called) -> None:
    denied = called.call("tc_denied")
    assert (denied["verdict"], denied["seen"]["kernel_event_count"]) == ("denied", 0)


def test_a_call_between_two_hooks_is_confirmed_by_its_shell(called: Called) -> None:
    hooked = called.call("toolu_hook")
    assert hooked["verdict"] == "confirmed", hooked["rules"]
    assert hooked["seen"]["files"]["created"] == [str(called.place / "by-hook")]
    assert (hooked["said"]["corroboration"], hooked["said"]["rule"]) == ("corroborated", "command_claimed")


def test_what_happened_outside_of_every_call_is_listed(called: Called) -> None:
    outside = called.told["unattributed"]["files"]
    assert str(called.place / "outside") in outside["created"]
    assert str(called.place / "hidden") not in outside["written"]


def test_the_report_binds_every_decision_to_its_events(called: Called) -> None:
    report = called.run.json("correlation-report.json")
    counts = {one["tool_call_id"]: one["kernel_event_count"] for one in report["bindings"]}
    assert counts["tc_read"] > 0
    assert counts["tc_denied"] == 0
    assert [one for one in report["ambiguities"] if not one.startswith("cgroup_")] == []


@one_observer
def test_calls_and_show_say_it_in_words(called: Called) -> None:
    text = called.steno("calls", called.run.path).stdout.decode()
    rows = {
        line.split()[1]: line.split()[0]
        for line in text.splitlines()
        if line.endswith(("tc_read", "tc_hidden"))
    }
    assert rows == {"tools.read_file": "confirmed", "tools.look": "contradicted"}
    assert "read_only_tool_wrote: only reads, it is said; it changed" in text
    assert "outside of every call:" in text
    shown = called.steno("show", called.run.path).stdout.decode()
    assert "4 tool calls: 1 contradicted, 1 denied, 2 confirmed" in shown


@one_observer
def test_one_call_is_shown_in_full(called: Called) -> None:
    text = called.steno("calls", called.run.path, "--call", "tc_read").stdout.decode()
    assert "confirmed: read_claimed" in text
    assert "place/data" in text
    assert json.loads(called.steno("calls", called.run.path, "--json").stdout) == called.told
    told = json.loads(called.steno("calls", called.run.path, "--call", "tc_read", "--json").stdout)
    assert [call["tool_call_id"] for call in told["calls"]] == ["tc_read"]
    done = called.steno("calls", called.run.path, "--call", "nobody")
    assert (done.returncode, b"hint: " in done.stderr) == (BadRequestError.exit_code, True)


def test_a_run_without_calls_says_so_and_one_that_is_not_sealed_that_they_are_not_all(tmp_path: Path) -> None:
    steno, store = steno_in(tmp_path), tmp_path / "runs"
    sealed = make_run(store, start(), *FINISHED)
    done = steno("calls", sealed)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"nobody told of a tool call" in done.stderr
    open_run = make_run(store, start(), run_id="2026-01-25T12-00-00-001Z_a1b2c3d4", sealed=False)
    done = steno("calls", open_run)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"told and seen so far" in done.stderr
    assert b"steno recover" in done.stderr
