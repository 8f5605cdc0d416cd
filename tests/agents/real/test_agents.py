"""Agents started, continued and listed, as a user does it, with what can be wrong before one is started.

The agent is a stand-in whose prompt is a script of the shell; `test_started_agents.py` has the real ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from steno.evidence import layout
from steno.export.contracts import agent_audit
from steno.launch.attempt import Step
from support.program import PROGRAM, SECONDS
from support.reading import opened
from support.recorded import runs
from support.sought import assert_nowhere
from support.stand_in_agent import Attempt, Started, stand_in
from support.waiting import until

NOT_STARTED = 125
SERVERS = '[[settings.mcp_servers]]\nfile = ".servers.json"\nformat = "json"\nkey = ["mcpServers"]\n'
SPOOLED_STDOUT = f"{layout.SPOOL}/{layout.STDOUT}"


@pytest.fixture
def agent(home: Path, clean_env: dict[str, str]) -> Started:
    return stand_in(home, clean_env)


class Twice(NamedTuple):
    """A run with two attempts, which is only looked at."""

    agent: Started
    first: Attempt
    trust: bytes  # as it was after the first
    second: Attempt


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Twice:
    home = tmp_path_factory.mktemp("twice")
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "STENO_HOME": str(home / "runs"), "TERM": "xterm"}
    agent = stand_in(home, env)
    with (home / ".config" / "steno" / "agents" / "standin.toml").open("a") as described:
        described.write(SERVERS)
    trusted = agent.root / "home" / ".standin.json"
    trusted.parent.mkdir(parents=True)
    trusted.write_text('{"theme": "dark"}')
    trusted.with_name(".servers.json").write_text('{"mcpServers": {"files": {"command": "s"}}}')
    (home / "policy.yaml").write_text("version: 1\ndefault: deny\n")
    first = agent.attempt("start", "--policy", "policy.yaml", "standin", "echo", "hi", "--", "--fast", "a b")
    trust = trusted.read_bytes()
    second = agent.attempt("resume", first.run_dir.name, "exit 1")
    return Twice(agent, first, trust, second)


def refusal(
    agent: Started,
    *words: str | Path,
    exit_code: int = NOT_STARTED,
    env: Mapping[str, str] | None = None,
) -> str:
    """What a command says that must not start anything."""
    recorded = len(runs(agent.home / "runs"))
    done = agent.steno(*words, env=env)
    assert done.returncode == exit_code
    assert done.stdout == b""
    assert len(runs(agent.home / "runs")) == recorded
    said = done.stderr.decode()
    assert "Traceback" not in said
    assert "\nhint: " in said
    return said


# --- what is wrong before anything is started ------------------------------------------------------


def test_the_nearest_names_are_offered_for_an_agent_that_nobody_knows(agent: Started) -> None:
    said = refusal(agent, "start", "cladue", "hello")
    assert "there is no agent 'cladue'" in said
    assert "did you mean claude" in said
    assert not agent.root.exists()


def test_an_agent_that_is_not_installed_comes_with_how_to_install_it(agent: Started) -> None:
    (agent.home / "bin" / "standin").unlink()
    said = refusal(agent, "start", "standin", "hello")
    assert "standin is not installed" in said
    assert "put it on PATH" in said
    assert not agent.root.exists()


def test_an_option_before_the_dashes_is_not_said_to_the_model(agent: Started) -> None:
    said = refusal(agent, "start", "standin", "hello", "--fast")
    assert "--fast" in said
    assert "follow --" in said


def test_a_translation_and_json_do_not_share_stdout(agent: Started) -> None:
    said = refusal(agent, "start", "--json", "--translate", "2", "standin", "hello")
    assert "both want stdout" in said


def test_a_trust_file_that_is_no_json_is_left_untouched(agent: Started) -> None:
    trusted = agent.root / "home" / ".standin.json"
    trusted.parent.mkdir(parents=True)
    trusted.write_text("{ not json")
    assert ".standin.json" in refusal(agent, "start", "standin", "hello")
    assert trusted.read_text() == "{ not json"


def test_an_attempt_that_was_not_started_keeps_its_number_and_says_why(agent: Started) -> None:
    trusted = agent.root / "home" / ".standin.json"
    trusted.parent.mkdir(parents=True)
    trusted.write_text("[]")
    refusal(agent, "start", "standin", "hello")
    (run,) = agent.listed()
    trusted.unlink()
    again = agent.attempt("start", "--run-dir", run["handle"], "standin", "echo hi")
    first, second = agent.listed()[0]["attempts"]
    assert again.number == 2
    assert (first["started"], first["completion"]) == (False, None)
    assert ".standin.json" in first["error"]
    assert second["started"] is True


def test_skills_without_a_skill_file_are_an_error(agent: Started) -> None:
    (agent.home / "skills" / "empty").mkdir(parents=True)
    said = refusal(agent, "start", "--skills", agent.home / "skills", "standin", "hello")
    assert "SKILL.md" in said


def test_a_skill_of_an_earlier_attempt_that_is_printed_says_nothing_of_this_one(agent: Started) -> None:
    (agent.home / "skills" / "greet").mkdir(parents=True)
    (agent.home / "skills" / "greet" / "SKILL.md").write_text(
        "Greet whoever asks, and say their name once.\n"
    )
    made = agent.start("echo hi", "--skills", agent.home / "skills")
    again = agent.start("cat .standin/skills/greet/SKILL.md", "--run-dir", made.run_dir)
    assert again.completion["state"] == "awaiting_user_input"


def test_without_an_observer_an_attempt_is_judged_by_what_is_in_its_files(agent: Started) -> None:
    made = agent.start("echo hi", "--observer", "none")
    assert made.completion["state"] == "awaiting_user_input"


def test_a_run_of_another_agent_is_not_reused(twice: Twice) -> None:
    described = twice.agent.home / ".config" / "steno" / "agents"
    other = (described / "standin.toml").read_text().replace('name = "standin"', 'name = "other"')
    (described / "other.toml").write_text(other)
    said = refusal(twice.agent, "start", "--run-dir", twice.first.run_dir, "other", "hello")
    assert "is a run of standin, not of other" in said


def test_a_selector_of_no_run_is_an_error(twice: Twice) -> None:
    refusal(twice.agent, "start", "--run-dir", "00000000", "standin", "hello")
    refusal(twice.agent, "resume", "20260101T000000-standin-00000000", "hello")
    refusal(twice.agent, "status", "nowhere", exit_code=2)


def test_a_home_that_cannot_be_written_to_is_an_error(agent: Started) -> None:
    nowhere = agent.home / "file"
    nowhere.write_text("")
    said = refusal(agent, "start", "--home", nowhere / "home", "standin", "hello")
    assert "home" in said


def test_a_read_only_home_is_an_error(agent: Started) -> None:
    if os.geteuid() == 0:
        home = Path("/proc/self/fdinfo")  # what even root cannot write to
    else:
        home = agent.home / "closed"
        home.mkdir(mode=0o500)
    assert "cannot be written to" in refusal(agent, "start", "--home", home, "standin", "hello")


def test_a_run_that_told_of_no_session_cannot_be_resumed(agent: Started) -> None:
    (agent.home / "bin" / "standin").write_text("#!/bin/sh\necho nothing to say\n")
    made = agent.start("hello")
    assert "no attempt" in refusal(agent, "resume", made.run_dir.name, "hello")
    assert agent.listed()[0]["attempts"][-1]["number"] == 1


# --- one attempt at a time, and none twice ---------------------------------------------------------


def started(agent: Started, script: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [PROGRAM, "agent", "start", "standin", script],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=agent.home,
        env=agent.env,
    )


def test_two_starts_in_one_run_directory_do_not_run_at_once(agent: Started) -> None:
    go = agent.home / "go"
    os.mkfifo(go)
    with started(agent, f"touch here; cat {go}") as first:
        until(lambda: bool(list(agent.root.glob("runs/*/here"))))
        (run,) = agent.listed()
        assert run["attempts"][0]["state"] == "running"
        said = refusal(agent, "start", "--run-dir", run["handle"], "standin", "hello")
        go.write_bytes(b"")
        assert first.wait(SECONDS) == 0
    assert "an attempt is running" in said
    again = agent.attempt("start", "--run-dir", run["handle"], "standin", "echo hi")
    assert again.number == 2


def test_an_attempt_that_crashed_keeps_its_number_gets_its_files_and_can_be_resumed(agent: Started) -> None:
    go = agent.home / "go"
    os.mkfifo(go)
    with started(agent, f"cat {go}") as first:
        until(lambda: b'"s-1"}' in said_so_far(agent))
        first.send_signal(signal.SIGKILL)
    (run,) = agent.listed()
    assert run["attempts"][0]["state"] == "running"  # the agent itself goes on
    assert "is running" in refusal(agent, "start", "--run-dir", run["handle"], "standin", "hello")
    go.write_bytes(b"")
    until(lambda: agent.listed()[0]["attempts"][0]["state"] == "crashed")
    left = audit_files(run)
    status = agent.steno("status", run["handle"])
    assert "attempt 1  crashed" in status.stdout.decode()
    assert "steno agent recover" in status.stderr.decode()
    assert audit_files(run) == left  # it only reads
    told = agent.steno("recover", run["handle"]).stdout.decode()
    found = audit_files(run)
    meta = json.loads(found["meta.1.json"])
    assert "attempt 1  interrupted (PROCESS_EXIT_NON_ZERO)" in told
    assert left.items() <= found.items()
    assert b"s-1" in found["stdout.1.log"]
    assert (meta["started"], meta["success"]) == (True, False)
    assert "recorder_killed" in meta["steno"]["gaps"]
    again = agent.attempt("resume", run["handle"], "echo hi")
    assert again.number == 2
    assert again.meta["launch"]["args"][:2] == ["--resume", "s-1"]
    assert found.items() <= audit_files(run).items()


def said_so_far(agent: Started) -> bytes:
    tapes = (run.path / SPOOLED_STDOUT for run in runs(agent.home / "runs"))
    return b"".join(tape.read_bytes() for tape in tapes if tape.exists())


def audit_files(run: Mapping[str, str]) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(run["runDirectory"], ".audit").iterdir()}


# --- what an agent is given, and what is told of it ------------------------------------------------


def test_the_exit_code_is_the_agents_own(agent: Started) -> None:
    done = agent.steno("start", "--json", "standin", "exit 7")
    told = json.loads(done.stdout)  # and nothing of the agent's
    assert (done.returncode, told["exitCode"], told["attempt"]["exitCode"]) == (7, 7, 7)
    assert told["attempt"] == agent.listed()[0]["attempts"][0]
    ended = agent.start("kill -TERM $$")
    assert ended.done.returncode == 128 + signal.SIGTERM
    assert (ended.meta["exitCode"], ended.meta["signal"]) == (128 + signal.SIGTERM, "SIGTERM")


def test_an_agent_gets_nothing_of_the_users_environment_but_what_is_listed(agent: Started) -> None:
    made = agent.start("env", env={"SOME_DEPLOY_KEY": "k-2f6d1b", "STANDIN_HOME": "/else", "LANG": "C"})
    seen = made.log("stdout").decode()
    assert "LANG=C\n" in seen
    assert "STANDIN=1\n" in seen
    assert "SOME_DEPLOY_KEY" not in seen
    assert "STANDIN_HOME" not in seen


def test_the_agents_own_arguments_follow_the_dashes(twice: Twice) -> None:
    assert twice.first.meta["launch"]["args"] == ["-p", "echo hi", "--fast", "a b"]


def test_trust_is_merged_and_the_second_time_changes_nothing(twice: Twice) -> None:
    trusted = twice.agent.root / "home" / ".standin.json"
    key = ["projects", str(twice.first.run_dir), "trusted"]
    assert json.loads(twice.trust) == {"theme": "dark", key[0]: {key[1]: {key[2]: True}}}
    assert trusted.read_bytes() == twice.trust
    told = [made.meta["steno"]["trust"] for made in (twice.first, twice.second)]
    assert told == [{"file": str(trusted), "key": key, "alreadyThere": there} for there in (False, True)]


def test_a_resumed_attempt_stands_behind_the_same_policy_and_both_say_so(twice: Twice) -> None:
    policy = twice.agent.home / "policy.yaml"
    digest = hashlib.sha256(policy.read_bytes()).hexdigest()
    for made in (twice.first, twice.second):
        assert made.meta["steno"]["policy"] == {"path": str(policy), "sha256": digest}
        assert made.meta["steno"]["hooks"] is False
        world = made.meta["steno"]["steps"][Step.ENVIRONMENT - 1]["detail"]
        assert world.endswith(f", server files behind {policy} ({digest[:12]})")
        with opened(twice.agent.home / "runs" / made.meta["steno"]["runId"]) as recorded:
            exported = agent_audit(recorded, twice.agent.home / "exported").path
        meta = json.loads(next(exported.rglob("meta.1.json")).read_bytes())
        assert meta["steno"]["policy"] == made.meta["steno"]["policy"]


def test_agents_and_runs_are_listed_and_a_status_has_every_attempt(twice: Twice) -> None:
    agent = twice.agent
    (agent.home / ".config" / "steno" / "agents" / "broken.toml").write_text("program = 1")
    told = json.loads(agent.steno("list", "--json").stdout)
    (run,) = told["runs"]
    agents = {one["name"]: one for one in told["agents"]}
    assert agents["standin"]["program"] == str(agent.home / "bin" / "standin")
    assert "broken.toml" in agents["broken"]["problem"]
    listed = agent.steno("list").stdout.decode()
    assert f"standin   {agent.home / 'bin' / 'standin'}\n" in listed
    assert listed.endswith(f"\n{run['runId']}  2        interrupted (PROCESS_EXIT_NON_ZERO)\n")
    assert json.loads(agent.steno("status", twice.first.run_dir, "--json").stdout) == run
    assert [attempt["exitCode"] for attempt in run["attempts"]] == [0, 1]
    text = agent.steno("status", run["handle"]).stdout.decode()
    assert "attempt 1  awaiting_user_input" in text
    assert "  environment: home isolated, " in text
    assert "attempt 2  interrupted" in text


def test_a_start_with_nothing_to_say_is_interactive(agent: Started) -> None:
    made = agent.attempt("start", "standin")
    assert made.meta["launch"]["args"] == []


def test_a_session_is_resumed_as_it_was_recorded_whatever_stands_in_the_run_directory(agent: Started) -> None:
    other = agent.home / "elsewhere"
    made = agent.start("echo $HOME", "--home", other)
    forged = made.file("meta", "json").read_text().replace(str(other), str(agent.home)).replace("s-1", "s-2")
    made.file("meta", "json").write_text(forged)
    made.file("stdout").write_text('{"type":"system","subtype":"init","session_id":"s-3"}\n')
    (made.run_dir / ".audit" / "meta.7.json").write_text(forged.replace('"number":1', '"number":7'))
    handle = made.run_dir.name[-8:]
    again = agent.attempt(
        "resume", handle, "echo $HOME; rm -r .audit; mkdir .audit; echo > .audit/meta.2.json"
    )
    assert f"{other}\n".encode() in again.log("stdout")
    assert again.number == 2
    assert again.meta["launch"]["args"][:2] == ["--resume", "s-1"]
    assert again.meta["reuse"] == {"enabled": True, "selector": handle}
    assert "meta.2.json was there and is not ours" in again.done.stderr.decode()
    told = agent.steno("status", handle).stdout.decode()
    assert "session s-1" in told
    assert "missing: stdout.1.log" in told
    assert "not ours: meta.2.json.found-" in told


# --- an agent that does not keep to its place ------------------------------------------------------


def test_what_an_agent_does_to_our_files_changes_neither_its_exit_code_nor_what_is_kept(
    agent: Started,
) -> None:
    made = agent.start("rm -r .audit; mkdir .audit; echo forged > .audit/stdout.1.log; exit 6")
    assert made.done.returncode == 6
    assert b'"session_id":"s-1"' in made.log("stdout")
    assert "stdout.1.log was there and is not ours" in made.done.stderr.decode()
    assert (made.meta["auditFiles"]["stdout"], made.meta["exitCode"]) == (".audit/stdout.1.log", 6)
    assert runs(agent.home / "runs")[0].is_valid


def test_a_run_is_known_also_when_its_agent_takes_its_directory_away(agent: Started) -> None:
    made = agent.start(f"mv $PWD {agent.home}/moved; exit 6")
    assert made.done.returncode == 6
    assert "its directory is gone" in made.done.stderr.decode()
    (run,) = agent.listed()
    assert (run["problem"], run["attempts"][0]["session"]) == ("its directory is gone", "s-1")
    assert "its directory is gone" in refusal(agent, "resume", run["handle"], "hello")


def test_a_program_that_cannot_be_executed_was_not_started(agent: Started) -> None:
    (agent.home / "bin" / "standin").write_text("#!/nowhere/at-all\n")
    done = agent.steno("start", "--json", "standin", "hello")
    (attempt,) = agent.listed()[0]["attempts"]
    assert (done.returncode, json.loads(done.stdout)["attempt"]) == (NOT_STARTED, attempt)
    assert (attempt["started"], attempt["completion"]) == (False, None)
    assert "not started: No such file" in done.stderr.decode()


def test_a_session_that_an_agent_tells_cannot_become_an_option(agent: Started) -> None:
    forged = '{"type":"system","subtype":"init","session_id":"--dangerous"}'
    made = agent.start(f"echo '{forged}'; silent=1")
    assert made.meta["interactive"]["session"]["value"] == "s-1"


# --- the chain of script and strace ----------------------------------------------------------------

NEEDS_STRACE = pytest.mark.skipif(
    not (shutil.which("strace") and shutil.which("script")), reason="script and strace are not installed"
)


@NEEDS_STRACE
def test_streams_are_rebuilt_from_a_trace_of_strace_without_a_secret_in_it(agent: Started) -> None:
    key = "sk-9f3b7c1d5e2a4860b1c2"
    script = f"echo to stdout {key}; touch {key}.txt; cat nowhere; test -t 0 && echo tty; cat; kill -TERM $$"
    made = agent.start(script, "--observer", "strace", env={"SOME_API_KEY": key})
    assert made.done.returncode == 128 + signal.SIGTERM
    assert made.meta["runtime"]["traceSource"] == "strace"
    assert (made.meta["signal"], made.completion["state"]) == ("SIGTERM", "interrupted")
    assert made.meta["launch"]["command"].endswith("/standin")
    assert b"to stdout " in made.log("stdout")
    assert b"tty\n" in made.log("stdout")
    assert b"^@" not in made.log("pty-output"), "the end of the input is an end, and nothing that is shown"
    assert made.log("stderr").startswith(b"cat: nowhere: ")
    out, err = agent.home / "out", agent.home / "err"
    agent.steno("reconstruct", made.file("fd-trace"), out, err)
    assert (out.read_bytes(), err.read_bytes()) == (made.log("stdout"), made.log("stderr"))
    assert len(made.json("fs-diff")["created"]) == 1
    with opened(agent.home / "runs" / made.meta["steno"]["runId"]) as recorded:
        exported = agent_audit(recorded, agent.home / "exported")
    assert "its split is not in the recording" in exported.notes[-1]
    assert_nowhere([key], made.run_dir / ".audit", agent.root / "metadata", agent.home / "exported")


def test_a_machine_without_strace_is_told_before_the_launch(agent: Started) -> None:
    said = refusal(
        agent,
        "start",
        "--observer",
        "strace",
        "standin",
        "echo hi",
        env={"PATH": str(agent.home / "bin")},
    )
    assert "script, strace" in said
    assert "install it" in said
    assert not agent.root.exists()
