"""An agent that does what it is told: its prompt is a script of the shell. A file describes it.

In: a home for the test. Out: `Started`, which starts `steno agent …` there, and looks at what is left. It
speaks the stream of Claude Code, so that sessions and ends of turns are found by the same parser as the
real one's.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from steno.launch.status import all_runs
from support.program import PROGRAM, SECONDS

_SAID = re.compile(r"(?P<run>\S+) attempt (?P<number>\d+): ")
DONE_MARKER = '{"__SKILL_DONE__": true}'
_SCRIPT = """\
#!/bin/sh
session=s-1
if [ "$1" = --resume ]; then session=$2; shift 2; fi
printf '{"type":"system","subtype":"init","session_id":"%s"}\\n' "$session"
echo "a word of warning" >&2
eval "$2" || exit
[ "$silent" ] && exit
printf '{"type":"result","subtype":"success","is_error":%s,"session_id":"%s"}\\n' "${bad:-false}" "$session"
"""
_DESCRIPTION = """\
name = "standin"
program = "standin"
install = "put it on PATH"

[launch]
start = ["-p", "{prompt}"]
resume = ["--resume", "{session}", "-p", "{message}"]
skills_dir = ".standin/skills"
home_variables = ["STANDIN_HOME"]

[launch.env]
STANDIN = "1"

[stream]
parser = "claude"
session_field = "session_id"

[settings.trust]
file = ".standin.json"
format = "json"
key = ["projects", "{directory}", "trusted"]
value = true

[[stream.signals]]
stream = "stdout"
kind = "json"
match = {type = "result", is_error = "true"}
means = "failed"

[[stream.signals]]
stream = "stdout"
kind = "json"
match = {type = "result", is_error = "false"}
means = "end_of_turn"
"""


def saying(words: str) -> str:
    """A script by which the stand-in says these words, in a record as Claude Code does."""
    record = {"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}
    return "printf '%s\\n' " + shlex.quote(json.dumps(record))


class Attempt(NamedTuple):
    done: subprocess.CompletedProcess[bytes]
    run_dir: Path
    number: int

    def file(self, name: str, suffix: str = "log") -> Path:
        return self.run_dir / ".audit" / f"{name}.{self.number}.{suffix}"

    def log(self, name: str) -> bytes:
        return self.file(name).read_bytes()

    def json(self, name: str) -> Any:
        return json.loads(self.file(name, "json").read_bytes())

    @property
    def meta(self) -> dict[str, Any]:
        return self.json("meta")  # type: ignore[no-any-return]

    @property
    def completion(self) -> dict[str, Any]:
        return self.meta["protocol"]["completion"]  # type: ignore[no-any-return]


class Started(NamedTuple):
    """A home in which `steno agent` is used."""

    home: Path
    env: dict[str, str]

    @property
    def root(self) -> Path:
        return self.home / ".local" / "share" / "steno" / "agents"

    def steno(
        self, *words: str | Path, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [PROGRAM, "agent", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=self.home,
            env={**self.env, **(env or {})},
            timeout=2 * SECONDS,
            check=False,
        )

    def listed(self) -> list[dict[str, Any]]:
        """What `steno agent list --json` prints, without the cost of starting it."""
        return all_runs(self.root)

    def attempt(self, *words: str | Path, env: Mapping[str, str] | None = None) -> Attempt:
        """A command that makes an attempt, and what it says that it made."""
        done = self.steno(*words, env=env)
        said = _SAID.search(done.stderr.decode())
        assert said is not None, done.stderr
        return Attempt(done, self.root / "runs" / said["run"], int(said["number"]))

    def start(self, script: str, *options: str | Path, env: Mapping[str, str] | None = None) -> Attempt:
        """The stand-in does what the script says."""
        return self.attempt("start", *options, "standin", script, env=env)


def stand_in(home: Path, env: Mapping[str, str]) -> Started:
    """A home with the stand-in in it."""
    programs, described = home / "bin", home / ".config" / "steno" / "agents"
    programs.mkdir(parents=True)
    described.mkdir(parents=True)
    (programs / "standin").write_text(_SCRIPT)
    (programs / "standin").chmod(0o755)
    (described / "standin.toml").write_text(_DESCRIPTION)
    return Started(home, {**env, "PATH": f"{programs}{os.pathsep}{env['PATH']}"})
