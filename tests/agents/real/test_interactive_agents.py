"""A person at a terminal talks with an agent of `steno agent start`: what is typed, shown and replayed.

One agent is a stand-in that edits its lines; the other is the real Claude Code, whose model is a script.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from steno.evidence import layout
from support import line_editor
from support.line_editor import LEAVES, LEFT, PROMPT, UP
from support.program import PROGRAM, SECONDS
from support.real_agents import CLAUDE, environment, needs
from support.recorded import Recorded, only_run
from support.screen import Screen
from support.scripted_models import MessagesModel, Say
from support.stand_in_agent import Started, stand_in

DELETE, CONTROL_C = "\x7f", "\x03"


def replayed(run: Recorded, env: dict[str, str]) -> bytes:
    played = subprocess.run(
        [PROGRAM, "play", run.path, "--speed", "1000"],
        capture_output=True,
        env=env,
        timeout=SECONDS,
        check=True,
    )
    assert played.stdout == run.stream("output")
    return played.stdout


def cast(run: Recorded, code: str) -> list[str]:
    """What the recording for other players has of one kind."""
    lines = run.judged(layout.CAST).decode().splitlines()[1:]
    return [data for _, kind, data in map(json.loads, lines) if kind == code]


class Patient(Screen):
    def leave(self) -> None:
        """Control-C, and once more when asked to: where that comes too late, it is the first one again."""
        self.keys(CONTROL_C)
        while self._child.expect_exact(["rc=0", "again"]):
            self.keys(CONTROL_C)


def test_a_person_edits_lines_resizes_interrupts_and_leaves(home: Path, clean_env: dict[str, str]) -> None:
    agent = stand_in(home, clean_env)
    talking = f"exec {sys.executable} {line_editor.__file__}"
    screen = Screen.of_shell(f"steno agent start standin '{talking}'; echo rc=$?", agent.env, home)
    screen.see(PROMPT)
    screen.line(f"helo{LEFT}l")
    screen.see("heard olleh")
    screen.see(PROMPT)
    screen.line(f"{UP} again")
    screen.see("heard niaga olleh")
    screen.see(PROMPT)
    screen.resize(40, 120)
    screen.see("now 120 40")
    screen.keys(CONTROL_C)
    screen.see("once more to leave")
    screen.see(PROMPT)
    screen.line("no")
    screen.see("heard on")
    for _ in range(2):
        screen.see(PROMPT)
        screen.keys(CONTROL_C)
    screen.see(f"rc={LEAVES}")
    screen.rest()
    run = only_run(home / "runs")
    assert run.event("terminal_resized") == {"cols": 120, "rows": 40}
    # Such an editor reads without the terminal's echo, as whoever asks for a password does: keys are masked.
    assert run.stream("stdin") == f"****\x1b***\r\x1b********\r{CONTROL_C}**\r{CONTROL_C}{CONTROL_C}".encode()
    assert b"heard niaga olleh" in replayed(run, agent.env)


@needs(CLAUDE)
def test_a_real_agent_is_asked_answers_and_is_left(tmp_path: Path) -> None:
    agent = Started(tmp_path, {**environment(tmp_path), "TERM": "xterm-256color"})
    home = agent.root / "home"
    home.mkdir(parents=True)
    known = {"hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": ["scripted"]}}
    (home / ".claude.json").write_text(json.dumps({**known, "theme": "dark"}))
    with MessagesModel([Say("Forty-two.")]) as model:
        agent.env.update({"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "scripted"})
        screen = Patient(["bash", "-c", "steno agent start claude; echo rc=$?"], agent.env, tmp_path)
        screen.see("shortcuts")
        screen.keys("What is siix times seven?")
        screen.see("seven?")
        screen.keys(LEFT * len("ix times seven?") + DELETE)
        screen.keys("\r")
        screen.see("Forty-two.")
        screen.resize(40, 120)
        screen.see("shortcuts")
        screen.leave()
        screen.rest()
        asked = json.dumps([request["messages"] for request in model.requests])
    run = only_run(tmp_path / "records")
    assert "What is six times seven?" in asked
    assert b"Forty-two." in replayed(run, agent.env)
    assert "Forty-two." in "".join(cast(run, "o"))
    assert cast(run, "r") == ["120x40"]


def test_a_long_look_at_the_files_is_told_and_can_be_ended(home: Path, clean_env: dict[str, str]) -> None:
    agent = stand_in(home, clean_env)
    after = Screen.of_shell("steno agent start standin 'truncate -s 100G big'; echo rc=$?", agent.env, home)
    after.see("looking at the files: 1, ")
    after.keys(CONTROL_C)
    after.see("not all files were looked at: SIGINT ended it")
    after.see("rc=0")
    after.rest()
    (run,) = agent.listed()
    before = Screen.of_shell(
        f"steno agent start --run-dir {run['handle']} standin true; echo rc=$?", agent.env, home
    )
    before.see("looking at the files: 1, ")
    before.keys(CONTROL_C)
    before.see("rc=130")
    before.rest()
    first, second = agent.listed()[0]["attempts"]
    assert first["completion"]["state"] == "awaiting_user_input"
    assert (second["started"], second["error"]) == (False, "interrupted")
    audit = Path(run["runDirectory"]) / ".audit"
    assert json.loads((audit / "meta.1.json").read_bytes())["auditFiles"]["fsAfter"] is None
    assert only_run(home / "runs").is_valid
