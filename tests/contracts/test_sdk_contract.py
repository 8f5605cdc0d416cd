"""assay-runner: S5, its transport: a command gets the name of a log, and what it writes there is taken.

It is taken by the contract, or refused with a word. Nothing that the command does there changes how it ends.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steno.bundle.verify import Status
from steno.capture.tmpfs import memory_directories
from steno.contracts.assay import manifest as assay_manifest
from steno.evidence import layout
from support.assay_archives import lines_in, taken_apart
from support.claims_told import sdk
from support.program import PROGRAM, SECONDS, Steno
from support.recorded import Recorded, only_run, spooled
from support.spools import RUN_ID
from support.waiting import until

QUICK = ("--no-git", "--observer", "none")
TOKEN = "ghp_" + "a1B2c3D4" * 4 + "e5F6"


def intakes(run: Recorded) -> list[Path]:
    return [path for place in memory_directories() for path in place.glob(f"steno-intake-{run.path.name}*")]


def agent(*lines: bytes) -> list[str]:
    """A program that writes these lines to the log of its run, as a shim of anybody's would."""
    script = (
        "import os,sys\n"
        "lines = sys.argv[1].replace(sys.argv[2], os.environ['ASSAY_RUNNER_RUN_ID'])\n"
        "with open(os.environ['ASSAY_RUNNER_SDK_EVENT_LOG'], 'a') as log: log.write(lines)\n"
        "sys.exit(7)\n"
    )
    return [sys.executable, "-S", "-c", script, b"".join(lines).decode(), RUN_ID]


def recorded(steno: Steno, store: Path, command: list[str], *options: str, **more: Any) -> Recorded:
    done = steno("run", *QUICK, *options, "--", *command, **more)
    assert done.returncode == 7, done.stderr
    run = only_run(store)
    assert run.verdict().exit_code in {0, 3}
    assert intakes(run) == []
    return run


def health(run: Recorded) -> dict[str, Any]:
    found: dict[str, Any] = run.json(layout.HEALTH)
    return found


def test_what_the_sdk_says_is_self_reported_and_goes_into_the_archive(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    lines = (sdk(0), sdk(1, "tool_call_completed"), sdk(2, "run_finished", tool_call_id=None, tool=None))
    run = recorded(steno, store, agent(*lines), "--export", f"assay-runner:{tmp_path / 'out'}")
    assert run.is_valid
    assert health(run)["sdk_layer"] == "self_reported"
    assert run.json(layout.RUN)["shim"] == "openai-agents"
    (archive,) = (tmp_path / "out").iterdir()
    files = taken_apart(archive)
    assert [line["event_type"] for line in lines_in(files[assay_manifest.SDK_LINES])] == [
        "tool_call_started", "tool_call_completed", "run_finished"
    ]  # fmt: skip
    fields = {
        "schema",
        "run_id",
        "seq",
        "event_type",
        "source",
        "sdk_name",
        "sdk_version",
        "tool_call_id",
        "tool",
    }
    assert all(set(line) - {"steno"} == fields for line in lines_in(files[assay_manifest.SDK_LINES]))
    assert lines_in(files[assay_manifest.EVENTS])[0]["agent_shim"] == "openai-agents"
    assert steno("verify", archive).returncode == 3  # nobody watched the kernel, and that is all


def test_a_program_may_be_given_the_log_as_a_descriptor(steno: Steno, store: Path, tmp_path: Path) -> None:
    (tmp_path / "lines").write_bytes(sdk(0) + sdk(1, "tool_call_completed"))
    child = f'env -i sed "s/{RUN_ID}/$STENO_RUN_ID/" {tmp_path}/lines >&9'
    run = recorded(steno, store, ["sh", "-c", f'exec 9>>"$STENO_SDK_EVENT_LOG"; {child}; exit 7'])
    assert run.is_valid
    assert run.event("sdk_intake")["lines"] == 2


@pytest.mark.parametrize(
    ("last", "word"),
    [
        (sdk(1, schema="assay.runner.sdk_event.v1"), "wrong_schema"),
        (sdk(1).replace(RUN_ID.encode(), b"run_of_somebody_else"), "wrong_run_id"),
        (sdk(2), "seq_gap"),
        (sdk(1, "tool_call_thought_of"), "unknown_event_type"),
        (sdk(1, tool_call_id=None), "tool_call_without_id"),
        (b"tool call 2 started\n", "not_a_json_object"),
        (sdk(1)[:-1], "torn_line"),
    ],
)
def test_a_log_that_breaks_the_contract_is_refused_and_the_run_is_not(
    steno: Steno, store: Path, last: bytes, word: str
) -> None:
    run = recorded(steno, store, agent(sdk(0), last))
    assert run.is_valid
    assert f"sdk_log_refused:{word}" in health(run)["notes"]
    assert len(run.said) == 1
    assert run.event("sdk_intake")["refused_line"] == 1


def test_an_empty_log_is_refused_where_the_shim_was_named(steno: Steno, store: Path) -> None:
    done = steno("run", *QUICK, "--shim", "openai-agents", "--", "true")
    assert b"steno: the log of the agent's SDK was refused: empty_log\nhint: " in done.stderr
    run = only_run(store)
    assert run.is_valid
    assert (run.json(layout.RUN)["shim"], health(run)["sdk_layer"]) == ("openai-agents", "absent")
    assert "sdk_log_refused:empty_log" in health(run)["notes"]


def test_shim_none_forces_sdk_layer_absent_whatever_is_written(steno: Steno, store: Path) -> None:
    run = recorded(steno, store, agent(sdk(0)), "--shim", "none")
    assert run.is_valid
    assert health(run)["sdk_layer"] == "absent"
    assert run.evidence(layout.CLAIMS) == b""


HOSTILE = {
    "removes the folder": 'rm -rf "$STENO_INTAKE"; exit 7',
    "puts another in its place": 'mv "$STENO_INTAKE" "$STENO_INTAKE-x"; mkdir "$STENO_INTAKE"; exit 7',
    "makes the folder a link": 'rm -rf "$STENO_INTAKE"; ln -s /etc "$STENO_INTAKE"; exit 7',
    "opens it to everybody": 'chmod 777 "$STENO_INTAKE"; exit 7',
}
# Among the logs is one that is named after a proxy.
HOSTILE_LOGS = {
    "makes every log a pipe": "for f in *; do rm $f; mkfifo $f; done",
    "makes every log a link": "for f in *; do ln -sf /etc/passwd $f; done",
    "makes every log a folder": "for f in *; do rm $f; mkdir -p $f/a; done",
    "writes no lines": "for f in *; do head -c 4096 /dev/urandom > $f; done",
    "fills them": "truncate -s 70M *.ndjson",
}


@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_the_command_does_to_the_folder_is_a_gap_and_never_a_failure(
    steno: Steno, store: Path, script: str
) -> None:
    done = steno("run", *QUICK, "--", "sh", "-c", script)
    run = only_run(store)
    for left in intakes(run):  # not ours any more, so not ours to remove
        left.unlink() if left.is_symlink() else subprocess.run(["rm", "-rf", left], check=True)
    assert done.returncode == 7
    verdict = run.verdict()
    assert verdict.status is Status.INCOMPLETE
    assert "intake_disturbed" in verdict.gaps
    assert Path("/etc/passwd").exists()


@pytest.mark.parametrize("script", HOSTILE_LOGS.values(), ids=HOSTILE_LOGS.keys())
def test_what_the_command_does_to_the_logs_is_a_gap_and_never_a_failure(
    steno: Steno, store: Path, script: str
) -> None:
    script = f'cd "$STENO_INTAKE"; touch policy.1-1.ndjson; {script}; exit 7'
    run = recorded(steno, store, ["sh", "-c", script])
    assert {"hook_log_damaged", "policy_log_damaged"} <= set(run.verdict().gaps)
    assert any(note.startswith("sdk_log_refused:") for note in health(run)["notes"])
    assert b"root:" not in run.evidence(layout.CLAIMS)


def test_a_secret_that_an_sdk_tells_is_nowhere_in_the_bundle_nor_in_its_exports(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    known = "correct-horse-battery-9"
    own = {"input": {"password": "hunter22x", "note": TOKEN}, "output": known, "message": f"used {TOKEN}"}
    lines = (sdk(0, steno=own, tool=TOKEN), sdk(1, tool_call_id=known))
    (tmp_path / "lines").write_bytes(b"".join(lines))
    script = f'sed "s/{RUN_ID}/$STENO_RUN_ID/" {tmp_path}/lines >> "$STENO_SDK_EVENT_LOG"; exit 7'
    env = {"MY_SERVICE_TOKEN": known}
    out = tmp_path / "out"
    options = [word for name in ("assay-runner", "capture-run") for word in ("--export", f"{name}:{out}")]
    run = recorded(steno, store, ["sh", "-c", script], *options, env=env)
    assert len(run.said) == 2
    found = [path for place in (run.path, out) for path in place.rglob("*") if path.is_file()]
    read = b"".join(
        b"".join(taken_apart(path).values()) if path.suffix == ".gz" else path.read_bytes() for path in found
    )
    for secret in (known, "hunter22x", TOKEN.removeprefix("ghp_")):
        assert secret.encode() not in read


def started_pids(store: Path) -> list[int]:
    whole = [line for line in spooled(store).splitlines(keepends=True) if line.endswith(b"\n")]
    return [event["data"]["pid"] for event in map(json.loads, whole) if event["type"] == "command_started"]


def test_what_was_told_to_a_recorder_that_was_killed_is_recovered(
    steno: Steno, store: Path, clean_env: dict[str, str], tmp_path: Path
) -> None:
    script = agent(sdk(0), sdk(1, "tool_call_completed"))
    told = tmp_path / "told"
    shell = ["sh", "-c", '"$@"; touch "$0"; exec sleep 1000', str(told), *script]
    recorder = subprocess.Popen(
        [PROGRAM, "run", "--no-git", "--observer", "none", "--", *shell],
        env=clean_env,
        stdin=subprocess.DEVNULL,
    )
    until(lambda: told.exists() and bool(started_pids(store)))
    run = only_run(store)
    (command,) = started_pids(store)
    recorder.send_signal(signal.SIGKILL)
    recorder.wait(SECONDS)
    os.kill(command, signal.SIGKILL)
    until(lambda: steno("recover", "@last").returncode == 0)
    assert run.verdict().gaps == ["recorder_killed"]
    assert len(run.said) == 2
    assert health(run)["sdk_layer"] == "self_reported"
    assert intakes(run) == []
