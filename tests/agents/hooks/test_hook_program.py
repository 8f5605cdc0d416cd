"""`steno hook`, as an agent calls it: one line for the recorder, and nothing that could stop the agent."""

from __future__ import annotations

import json
import os
import pty
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from steno.evidence import intake
from steno.evidence.intake import HookTold
from steno.hooks.payload import MAX_PAYLOAD
from support.hook_payloads import PAYLOADS, agent_of, payload
from support.program import PROGRAM, SECONDS, Steno
from support.recorded import only_run

SECRET = "ghp_" + "EXAMPLEexample0123456789EXAMPLEexampl"
TOLD = payload("claude-PostToolUse-Bash")


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="steno-test-intake-", dir="/dev/shm"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def in_run(folder: Path) -> dict[str, str]:
    return {"STENO_RUN_ID": "run", "STENO_INTAKE": str(folder), "STENO_CLOCK_ORIGIN_NS": "0"}


def lines(folder: Path) -> list[HookTold]:
    return [intake.hook_told(line) for line in (folder / intake.HOOKS).read_bytes().splitlines(keepends=True)]


@pytest.mark.parametrize("name", ["claude-PreToolUse-Bash", "codex-Stop", "gemini-BeforeTool-read_file"])
def test_a_hook_forwards_what_it_was_given_and_answers_nothing(
    steno: Steno, folder: Path, in_run: dict[str, str], name: str
) -> None:
    agent = agent_of(name)
    done = steno("hook", agent, input=payload(name), env=in_run)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == b"{}\n"
    (told,) = lines(folder)
    assert (told.run_id, told.agent, told.payload) == ("run", agent, PAYLOADS[name])
    assert told.parent is not None
    assert told.parent.pid == os.getpid()


def test_only_the_owner_can_read_what_is_told(steno: Steno, folder: Path, in_run: dict[str, str]) -> None:
    old = os.umask(0)
    try:
        steno("hook", "claude", input=TOLD, env=in_run)
    finally:
        os.umask(old)
    assert (folder / intake.HOOKS).stat().st_mode & 0o777 == 0o600


def test_outside_of_a_run_nothing_happens(steno: Steno) -> None:
    for agent in ("claude", "gemini"):
        done = steno("hook", agent, input=TOLD)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"no JSON", "payload_not_json"),
        (b"[]", "payload_not_understood"),
        (b"x" * (MAX_PAYLOAD + 5_000_000), "payload_too_large"),
    ],
    ids=["no JSON", "no event", "too large"],
)
def test_what_cannot_be_understood_is_told_as_such(
    steno: Steno, folder: Path, in_run: dict[str, str], data: bytes, problem: str
) -> None:
    done = steno("hook", "claude", input=data, env=in_run)
    assert (done.returncode, done.stdout) == (0, b"{}\n")
    assert done.stderr == f"steno: what claude said cannot be understood: {problem}\n".encode()
    (told,) = lines(folder)
    assert (told.event_type, told.problem) == (None, problem)


def test_an_intake_that_cannot_be_written_is_one_line_on_stderr(
    steno: Steno, folder: Path, in_run: dict[str, str]
) -> None:
    (folder / intake.HOOKS).mkdir()
    done = steno("hook", "gemini", input=payload("gemini-AfterAgent"), env=in_run)
    assert (done.returncode, done.stdout) == (0, b"{}\n")
    assert done.stderr.startswith(b"steno: this was not recorded: ")
    assert done.stderr.count(b"\n") == 1


def test_a_link_in_the_place_of_the_log_is_not_followed(
    steno: Steno, folder: Path, in_run: dict[str, str], tmp_path: Path
) -> None:
    (folder / intake.HOOKS).symlink_to(tmp_path / "elsewhere")
    assert steno("hook", "claude", input=TOLD, env=in_run).returncode == 0
    assert not (tmp_path / "elsewhere").exists()


def test_closed_descriptors_do_not_stop_the_agent(folder: Path, in_run: dict[str, str]) -> None:
    hook = shlex.join([str(PROGRAM), "hook", "claude"])
    done = subprocess.run(
        ["sh", "-c", f"{hook} <&- >&- 2>&-"], env={**os.environ, **in_run}, timeout=SECONDS, check=False
    )
    assert done.returncode == 0
    (told,) = lines(folder)
    assert told.problem == "payload_not_json"


def test_a_secret_is_masked_before_it_reaches_a_disk(steno: Steno, in_run: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix="steno-test-", dir="/var/tmp") as disk:
        env = {**in_run, "STENO_INTAKE": disk, "CLAUDE_CODE_MESSAGING_TOKEN": "q7Zr1vT9mKx4Lw2B"}
        command = f"curl -H 'Authorization: Bearer {SECRET}' example.org/?q7Zr1vT9mKx4Lw2B"
        data = payload("claude-PreToolUse-Bash", tool_input={"command": command})
        assert steno("hook", "claude", input=data, env=env).returncode == 0
        (told,) = lines(Path(disk))
        assert "curl" in told.payload["tool_input"]["command"]
        written = (Path(disk) / intake.HOOKS).read_text()
        assert SECRET not in written
        assert "q7Zr1vT9mKx4Lw2B" not in written


def test_the_environment_is_never_told(steno: Steno, folder: Path, in_run: dict[str, str]) -> None:
    env = {**in_run, "CLAUDE_CODE_MESSAGING_TOKEN": "q7Zr1vT9mKx4Lw2B"}
    steno("hook", "claude", input=TOLD, env=env)
    assert b"q7Zr1vT9mKx4Lw2B" not in (folder / intake.HOOKS).read_bytes()


def test_hooks_at_the_same_time_do_not_mix_their_lines(folder: Path, in_run: dict[str, str]) -> None:
    data = payload("claude-PreToolUse-Write", tool_input={"file_path": "/a", "content": "x" * 50_000})
    started = [
        subprocess.Popen([PROGRAM, "hook", "claude"], stdin=subprocess.PIPE, env={**os.environ, **in_run})
        for _ in range(8)
    ]
    for each in started:
        each.communicate(data, timeout=SECONDS)
    assert len(lines(folder)) == 8


def test_a_hook_loads_nothing_that_is_slow(in_run: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", PROGRAM, "hook", "claude"],
        input=TOLD,
        capture_output=True,
        env={**os.environ, **in_run},
        timeout=SECONDS,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert "steno.hooks.program" in loaded
    assert not loaded & {"click", "msgspec", "rfc8785", "re2", "subprocess", "steno.cli.main", "pathlib"}


@pytest.mark.parametrize("words", [["hook"], ["hook", "nobody"], ["hook", "claude", "--no-such-option"]])
def test_words_that_are_wrong_do_not_stop_an_agent_that_takes_2_for_no(
    steno: Steno, words: list[str]
) -> None:
    done = steno(*words, input=TOLD)
    assert done.returncode == 1
    assert b"hint: " in done.stderr


@pytest.mark.parametrize("agent", ["claude", "codex", "gemini"])
def test_the_settings_are_printed_with_the_program_that_printed_them(steno: Steno, agent: str) -> None:
    done = steno("hook", agent, "--print-settings")
    hooks = json.loads(done.stdout)["hooks"]
    commands = {group["hooks"][0]["command"] for groups in hooks.values() for group in groups}
    assert commands in ({f"{PROGRAM} hook {agent}"}, {f"steno hook {agent}"})
    assert b"settings.json" in done.stderr or b"hooks.json" in done.stderr


def test_hooks_of_a_module_run_no_code_of_the_project_they_work_in(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "steno", "hook", "claude", "--print-settings"]
    printed = subprocess.run(words, cwd="/", capture_output=True, check=True, timeout=SECONDS)
    command = json.loads(printed.stdout)["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    (tmp_path / "json.py").write_text("open('ran', 'w')\nraise SystemExit(9)\n")
    hook = subprocess.run(
        command, shell=True, cwd=tmp_path, input=TOLD, capture_output=True, check=False, timeout=SECONDS
    )
    assert (hook.returncode, hook.stderr) == (0, b"")
    assert not (tmp_path / "ran").exists()


def test_what_hooks_tell_in_a_run_is_in_its_record(steno: Steno, store: Path, tmp_path: Path) -> None:
    for position, name in enumerate(["claude-PreToolUse-Bash", "claude-PostToolUse-Bash", "claude-Stop"]):
        (tmp_path / f"{position}.json").write_bytes(payload(name))
    script = "\n".join(f"{shlex.quote(str(PROGRAM))} hook claude < {position}.json" for position in range(3))
    assert steno("run", "--observer", "none", "--", "sh", "-c", script).returncode == 0
    run = only_run(store)
    told = run.said
    assert [line["event_type"] for line in told] == [
        "tool_call_started",
        "tool_call_completed",
        "run_finished",
    ]
    assert {line["tool_call_id"] for line in told} == {"toolu_01bash", None}
    assert told[2]["steno"]["message"] == "All done: the tests pass."
    assert run.is_valid


def test_on_a_terminal_it_says_who_calls_it_and_waits_for_nobody() -> None:
    user, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [PROGRAM, "hook", "claude"], stdin=terminal, capture_output=True, timeout=SECONDS, check=True
        )
    finally:
        os.close(user)
        os.close(terminal)
    assert done.stdout == b""
    assert b"--print-settings" in done.stderr
