"""Real recordings to look at in a browser, and the reports of them.

Each is made once a session. The session of `docs/examples/report` has something for every panel; the
hostile one has markup wherever a command can put text; the large one has 100,000 events and 5,000 files.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from steno.report.overview import subject_of
from steno.report.page import document
from support.hook_payloads import payload
from support.program import IDENTITY, PROGRAM, SECONDS
from support.reading import opened
from support.recorded import Recorded, only_run

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
_HOSTILE_COMMAND = Path(__file__).parents[1] / "workloads" / "hostile-command.py"
SESSION_TOKEN = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
# Each would show itself: by a dialog, by a request, by a title, or by the policy that stops it.
SCRIPT = "</script><script>alert(1);fetch('http://127.0.0.1:9/')</script>"
IMAGE = "<img src=x onerror=alert(2)>"
VECTORS = (SCRIPT, IMAGE, '"><svg onload=alert(3)>', "javascript:alert(4)", "{{7*7}}${7*7}", "\u202egnp.exe")
# The contents of large files that a run only read would make large pages; what it changes here is small.
_SMALL = ("--max-blob", "100000")
EVENTS, FILES = 100_000, 5_000
PROCESSES = 200
_LARGE = f"""
import os, subprocess
for number in range({PROCESSES}):
    subprocess.run(["true"])
for number in range({FILES}):
    folder = f"tree/{{number % 50:02d}}/{{number // 1000}}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{{folder}}/file-{{number:04d}}.txt", "w") as file:
        file.write(f"line {{number}}\\n")
for number in range({EVENTS}):
    os.stat(f"tree/{{number % 50:02d}}")
"""


def report_of(run: Path, place: Path) -> Path:
    """The report of a run, made as the command makes it."""
    making = place.with_name(f"{place.name}.{os.getpid()}")
    with opened(run) as found, making.open("wb") as out:
        out.writelines(document(found, subject_of(found)))
    making.replace(place)  # another worker of the same tests may be reading it
    return place


class Reports:
    """In a folder that the workers of one test run share: who comes first records, the others wait for it."""

    def __init__(self, base: Path) -> None:
        self._base = base
        base.mkdir(exist_ok=True)

    @cached_property
    def session(self) -> Recorded:
        return self._once("session", self._record_session)

    @cached_property
    def hostile(self) -> Recorded:
        return self._once("hostile", self._record_hostile)

    @cached_property
    def large(self) -> Recorded:
        return self._once("large", self._record_large)

    def _once(self, name: str, record: Callable[[], None]) -> Recorded:
        with (self._base / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._store(name).exists():
                record()
        return only_run(self._store(name))

    @cached_property
    def session_page(self) -> Path:
        return report_of(self.session.path, self._base / "session.html")

    @cached_property
    def hostile_page(self) -> Path:
        return report_of(self.hostile.path, self._base / "hostile.html")

    @cached_property
    def large_page(self) -> Path:
        return report_of(self.large.path, self._base / "large.html")

    def copy_of_session(self, name: str) -> Path:
        """A copy to do harm to; it keeps its name, which is the run's."""
        return Path(shutil.copytree(self.session.path, self._base / name / self.session.path.name))

    def page(self, run: Path, name: str) -> Path:
        return report_of(run, self._base / f"{name}.html")

    def _record_session(self) -> None:
        base, env = self._base / "session", self._env("session")
        for name in ("report", "mcp"):
            shutil.copytree(EXAMPLES / name, base / name)
        work = base / "letters"
        subprocess.run(["sh", base / "report" / "prepare.sh", work], env=env, check=True, timeout=SECONDS)
        words = ["sh", "../report/session.sh", "../mcp"]
        self._record("session", work, "--pty", "always", "--name", "mend the greeting", "--", *words)

    def _record_hostile(self) -> None:
        work = self._base / "hostile" / f"work {IMAGE}"
        work.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", work], env=self._env("hostile"), check=True, timeout=SECONDS)
        for number, tool in enumerate((f"Bash{IMAGE}", f"mcp__{SCRIPT}__x")):
            said = payload(
                "claude-PreToolUse-Bash", tool_name=tool, tool_use_id=f"{number}{SCRIPT}", cwd=str(work)
            )
            (work / f"{number}.json").write_bytes(said)
        words: list[str | Path] = [sys.executable, _HOSTILE_COMMAND, PROGRAM, *VECTORS]
        self._record("hostile", work, "--pty", "always", "--name", f"named {SCRIPT}", "--", *words)

    def _record_large(self) -> None:
        work = self._base / "large" / "work"
        work.mkdir(parents=True)
        self._record("large", work, "--no-git", "--", sys.executable, "-c", _LARGE)

    def _store(self, name: str) -> Path:
        return self._base / name / "runs"

    def _env(self, name: str) -> dict[str, str]:
        home = self._base / name / "home"
        home.mkdir(parents=True, exist_ok=True)
        path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
        return {
            "PATH": path,
            "HOME": str(home),
            "STENO_HOME": str(self._store(name)),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            **IDENTITY,
        }

    def _record(self, name: str, work: Path, *words: str | Path) -> None:
        done = subprocess.run(
            [PROGRAM, "run", *_SMALL, *words],
            cwd=work,
            env=self._env(name),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2 * SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace") + done.stdout.decode(
            "utf-8", "replace"
        )
