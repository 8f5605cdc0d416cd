"""agent-audit, clause by clause: what an attempt leaves, in which order it is made, and how it is judged.

The agent is a stand-in whose prompt is a script of the shell. Names of tests begin with the clause they hold.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from steno.bundle.folder import Folder
from steno.contracts.agent_audit.meta import Meta
from steno.export.contracts import agent_audit
from steno.launch.agent_settings import UNKNOWN_PLACE
from steno.launch.status import judged_again
from steno.launch.translate import attempt_of, translate
from support.reading import opened
from support.recorded import Recorded, runs
from support.stand_in_agent import DONE_MARKER, Attempt, Started, saying, stand_in

PARTS = {
    "meta": "json",
    "stdin": "log",
    "stdout": "log",
    "stderr": "log",
    "pty-output": "log",
    "pty-timing": "log",
    "fd-trace": "log",
    "fs-before": "json",
    "fs-after": "json",
    "fs-diff": "json",
}
STEPS = [
    "arguments", "run_directory", "fs_before", "environment", "skills", "trust", "launch",
    "streams", "completion", "fs_after", "meta",
]  # fmt: skip
FIRST = "; ".join(
    [
        "test -t 0 && test -t 1 && test -t 2 && echo all three are terminals",
        "cat $HOME/.standin.json",
        "find .standin",
        "env",
        "cat kept",
        "rm removed",
        "echo changed > changed",
        "echo new > new",
        "printf 'caf\\303'; printf '\\251\\n'",
        "echo to stderr >&2",
        saying(DONE_MARKER),
    ]
)


class Made(NamedTuple):
    agent: Started
    seeded: Attempt
    first: Attempt
    left: dict[str, bytes]  # what the first attempt left, before there was a second
    second: Attempt
    store: list[Recorded]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Started:
    home = tmp_path_factory.mktemp("agent-audit")
    store = {"HOME": str(home), "STENO_HOME": str(home / "records"), "TERM": "xterm"}
    return stand_in(home, {"PATH": os.environ["PATH"], **store})


@pytest.fixture(scope="module")
def made(agent: Started) -> Made:
    skill = agent.home / "skills" / "counting"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("# Counting\n\nCount.\n")
    (agent.home / "policy.yaml").write_text("version: 1\ndefault: deny\n")
    seeding = "echo kept > kept; echo old > changed; echo old > removed; silent=1"
    seeded = agent.start(seeding, "--policy", agent.home / "policy.yaml")
    first = agent.attempt(
        "start", "--run-dir", seeded.run_dir, "--skills", agent.home / "skills", "standin", FIRST
    )
    left = audit_files(first)
    second = agent.attempt("resume", first.run_dir.name, "echo once more; exit 3")
    return Made(agent, seeded, first, left, second, runs(agent.home / "records"))


def audit_files(attempt: Attempt) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (attempt.run_dir / ".audit").iterdir()}


def events_of(made: Made) -> list[dict[str, Any]]:
    return made.store[made.first.number - 1].events


# --- §3: directories and files ---------------------------------------------------------------------


def test_3_every_attempt_has_every_file_with_its_number(made: Made) -> None:
    for attempt in (made.first, made.second):
        assert all(attempt.file(part, suffix).is_file() for part, suffix in PARTS.items())


def test_3_a_run_directory_is_named_by_time_agent_and_eight_digits(made: Made) -> None:
    assert made.first.run_dir.parent.name == "runs"
    assert re.fullmatch(r"\d{8}T\d{6}-standin-[0-9a-f]{8}", made.first.run_dir.name)


def test_3_attempts_are_numbered_from_one(made: Made) -> None:
    assert (made.first.number, made.second.number) == (2, 3)
    assert (made.first.run_dir / ".audit" / "meta.1.json").is_file()


def test_3_meta_names_command_arguments_exit_files_and_completion(made: Made) -> None:
    meta = made.second.meta
    assert meta["schemaVersion"] == 3
    assert meta["launch"]["command"].endswith("/bin/standin")
    assert meta["launch"]["args"] == ["--resume", "s-1", "-p", "echo once more; exit 3"]
    assert meta["launch"]["cwd"] == str(made.second.run_dir)
    assert (meta["exitCode"], meta["signal"], meta["success"], meta["started"]) == (3, None, False, True)
    assert meta["protocol"]["completion"]["state"] == "interrupted"
    assert set(meta["auditFiles"].values()) == {
        f".audit/{part}.{made.second.number}.{suffix}" for part, suffix in PARTS.items()
    }


# --- §4: the order of the start --------------------------------------------------------------------


def test_4_the_eleven_steps_are_events_in_their_order_with_the_agent_between(made: Made) -> None:
    events = events_of(made)
    steps = [event["data"] for event in events if event["type"] == "agent_step"]
    assert [step["number"] for step in steps] == list(range(1, 12))
    assert [step["name"] for step in steps] == STEPS
    told = [event["data"].get("name", event["type"]) for event in events]
    assert told.index("launch") < told.index("command_started") < told.index("command_finished")
    assert told.index("command_finished") < told.index("streams")


def test_4_the_steps_are_in_meta_as_they_are_in_the_record(made: Made) -> None:
    steps = [event["data"] for event in events_of(made) if event["type"] == "agent_step"]
    told = [{name: value for name, value in step.items() if name != "facts"} for step in steps]
    assert made.first.meta["steno"]["steps"] == told
    assert [step["done_ms"] for step in steps] == sorted(step["done_ms"] for step in steps)


def test_4_3_the_files_are_looked_at_before_skills_are_copied(made: Made) -> None:
    assert set(made.first.json("fs-before")) == {"kept", "changed", "removed"}
    assert ".standin/skills/counting/SKILL.md" in made.first.json("fs-diff")["created"]


def test_4_4_home_xdg_and_path_lead_into_the_managed_root(made: Made) -> None:
    root = made.first.run_dir.parents[1]
    env = dict(line.partition("=")[::2] for line in made.first.log("stdout").decode().splitlines())
    places = {name: value for name, value in env.items() if name == "HOME" or name.startswith("XDG_")}
    assert set(places) >= {"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"}
    assert all(Path(value).is_relative_to(root / "home") for value in places.values())
    assert env["PATH"].startswith(str(root))


def test_4_4_a_policy_that_holds_for_nothing_does_not_look_as_if_it_held(made: Made) -> None:
    assert UNKNOWN_PLACE in made.seeded.done.stderr.decode()
    (step,) = (step for step in made.seeded.meta["steno"]["steps"] if step["name"] == "environment")
    assert UNKNOWN_PLACE in step["detail"]


def test_4_5_skills_are_in_the_run_before_the_agent_starts_and_the_source_is_untouched(made: Made) -> None:
    assert b".standin/skills/counting/SKILL.md" in made.first.log("stdout")
    source = made.agent.home / "skills" / "counting" / "SKILL.md"
    assert source.read_text() == "# Counting\n\nCount.\n"


def test_4_6_the_run_directory_is_trusted_before_the_agent_starts(made: Made) -> None:
    assert str(made.first.run_dir).encode() in made.first.log("stdout")
    assert made.first.meta["trustApplied"] is True


def test_4_11_the_attempts_are_in_both_indexes(made: Made) -> None:
    root = made.first.run_dir.parents[1]
    index = json.loads((root / "runs" / "index.json").read_bytes())["attempts"]
    handles = json.loads((root / "metadata" / "interactive-handles.json").read_bytes())["handles"]
    mine = [entry["attempt"] for entry in index if entry["runId"] == made.first.run_dir.name]
    assert mine[:3] == [1, 2, 3]
    assert {handle["session"]["value"] for handle in handles} == {"s-1"}


# --- §6: stdout and stderr -------------------------------------------------------------------------


def test_6_bytes_of_one_character_in_two_writes_are_whole_again(made: Made) -> None:
    assert "café\n".encode() in made.first.log("stdout")
    assert b"to stderr\n" in made.first.log("stderr")
    assert b"to stderr\n" not in made.first.log("stdout")


# --- §7: what is recorded --------------------------------------------------------------------------


def test_7_created_modified_and_deleted_files_are_told(made: Made) -> None:
    found = made.first.json("fs-diff")
    assert (found["modified"], found["deleted"]) == (["changed"], ["removed"])
    assert [path for path in found["created"] if not path.startswith(".standin/")] == ["new"]


# --- §8: who sees the terminal ---------------------------------------------------------------------


def test_8_level_0_passes_the_terminal_on(made: Made) -> None:
    assert b"all three are terminals\r\n" in made.first.done.stdout


@pytest.mark.parametrize("level", ["1", "2", "3"])
def test_8_above_level_0_nothing_is_passed_on_and_the_translation_follows(agent: Started, level: str) -> None:
    attempt = agent.start("echo raw noise", "--translate", level)
    assert b"raw noise\r\n" not in attempt.done.stdout
    assert attempt.done.stdout
    if level == "2":
        envelopes = [json.loads(line) for line in attempt.done.stdout.splitlines()]
        assert {envelope["protocol_version"] for envelope in envelopes} == {"fcmp/1.0"}
        assert envelopes[-1]["type"] == "user.input.required"
    assert b"raw noise\n" in attempt.log("stdout")
    assert b"raw noise\r\n" in attempt.log("pty-output")
    assert attempt.meta["interactive"]["translateLevel"] == int(level)


# --- §9: how it ended ------------------------------------------------------------------------------

DONE_SIGNAL = (
    'AGENT_ENV_DONE {"version":"1","state":"completed","skill":"counting","result_kind":"none",'
    '"needs_user_input":false,"reason_code":"ALL_COUNTED"}'
)
ENDS = {
    "1-a-done-signal-counts-more-than-the-exit-code": (
        f"{saying(DONE_SIGNAL)}; exit 4", "completed", "ALL_COUNTED"),
    "2-an-exit-code-counts-more-than-a-marker": (
        f"{saying(DONE_MARKER)}; exit 4", "interrupted", "PROCESS_EXIT_NON_ZERO"),
    "2-a-signal-interrupts": ("kill -TERM $$", "interrupted", "PROCESS_EXIT_NON_ZERO"),
    "3-the-marker-in-lower-case-completes": (
        saying('{"__skill_done__": true}'), "completed", "DONE_MARKER_FOUND"),
    "4-a-line-between-the-records-is-not-the-agents": (
        f"echo '{DONE_SIGNAL}'", "awaiting_user_input", "TERMINAL_SIGNAL_WITHOUT_DONE_MARKER"),
    "4-a-turn-that-ended-without-a-marker-awaits-the-user": (
        "echo well", "awaiting_user_input", "TERMINAL_SIGNAL_WITHOUT_DONE_MARKER"),
    "4-a-turn-that-failed-awaits-nobody": ("bad=true", "interrupted", "TERMINAL_SIGNAL_FAILED"),
    "5-anything-else-is-unknown": ("silent=1", "unknown", "INSUFFICIENT_EVIDENCE"),
}  # fmt: skip


@pytest.mark.parametrize(("script", "state", "reason"), ENDS.values(), ids=ENDS.keys())
def test_9_the_end_is_judged_by_priority(agent: Started, script: str, state: str, reason: str) -> None:
    attempt = agent.start(script)
    found = attempt.completion
    assert (found["state"], found["reasonCode"]) == (state, reason)


def test_9_a_marker_that_the_agent_only_repeats_from_its_prompt_does_not_count(agent: Started) -> None:
    attempt = agent.start(saying(f"When you have counted all of the files in this folder, say {DONE_MARKER}"))
    assert attempt.completion["state"] == "awaiting_user_input"


# --- §11: the checklist ----------------------------------------------------------------------------


def test_11_1_the_agent_runs_on_a_terminal(made: Made) -> None:
    assert b"all three are terminals\n" in made.first.log("stdout")
    assert b"stdin is not a terminal" not in made.first.log("pty-output")
    assert made.first.meta["runtime"]["mode"] == "pty"


def test_11_2_every_run_has_its_meta_and_files_with_the_same_number(made: Made) -> None:
    for attempt in (made.first, made.second):
        meta = attempt.meta
        assert meta["attempt"]["number"] == attempt.number
        assert all((attempt.run_dir / path).is_file() for path in meta["auditFiles"].values())


def test_11_3_stdout_and_stderr_can_be_rebuilt_from_the_trace(made: Made, tmp_path: Path) -> None:
    out, err = tmp_path / "out", tmp_path / "err"
    done = made.agent.steno("reconstruct", made.first.file("fd-trace"), out, err, "--json")
    counted = made.first.meta["runtime"]["splitReconstruction"]
    told = json.loads(done.stdout)
    assert out.read_bytes() == made.first.log("stdout") != b""
    assert err.read_bytes() == made.first.log("stderr") != b""
    assert {name: told[name] for name in counted} == counted


def test_11_4_the_diff_has_nothing_of_our_own_files(made: Made) -> None:
    for attempt in (made.first, made.second):
        for part in ("fs-before", "fs-after", "fs-diff"):
            assert ".audit" not in attempt.file(part, "json").read_text()


def test_11_5_a_later_attempt_leaves_earlier_files_as_they_are(made: Made) -> None:
    assert made.left.items() <= audit_files(made.second).items()


def left(audit: Path, attempt: Attempt) -> tuple[dict[str, Any] | None, str]:
    """How it ended and what was said, from the files in a folder and nothing else."""
    meta = msgspec.json.decode((audit / f"meta.{attempt.number}.json").read_bytes(), type=Meta)
    with Folder(audit) as folder:
        judged = msgspec.to_builtins(judged_again(folder, meta))
    stdout, stderr = ((audit / f"{part}.{attempt.number}.log").read_bytes() for part in ("stdout", "stderr"))
    said = "".join(translate(attempt_of(meta, meta.interactive.session.field, stdout, stderr), 3))
    return judged, said


def test_11_6_the_same_files_are_always_judged_the_same(made: Made) -> None:
    for attempt in (made.first, made.second):
        for _ in range(2):
            assert left(attempt.run_dir / ".audit", attempt)[0] == attempt.completion


def test_11_7_what_is_parsed_is_the_audit_files_and_nothing_else(made: Made, tmp_path: Path) -> None:
    elsewhere = tmp_path / "copied"
    shutil.copytree(made.first.run_dir / ".audit", elsewhere)
    told = made.agent.steno("translate", made.first.run_dir, "--attempt", str(made.first.number))
    assert left(elsewhere, made.first)[1] == told.stdout.decode() != ""


# --- the same from the recording -------------------------------------------------------------------


def test_the_export_of_a_recording_says_of_the_agent_what_its_meta_says(made: Made, tmp_path: Path) -> None:
    with opened(made.store[made.first.number - 1].path) as recorded:
        audit = agent_audit(recorded, tmp_path).path / ".audit"
    own, exported = made.first.meta, json.loads((audit / "meta.1.json").read_bytes())
    for name in ("agentName", "launch", "exitCode", "success", "trustApplied", "protocol", "runtime"):
        assert exported[name] == own[name], name
    for name in ("trust", "skills", "rules", "steps"):
        assert exported["steno"][name] == own["steno"][name], name
    assert (audit / "stdout.1.log").read_bytes() == made.first.log("stdout")
    with Folder(audit) as folder:
        judged = judged_again(folder, msgspec.convert(exported, Meta))
    assert msgspec.to_builtins(judged) == made.first.completion
