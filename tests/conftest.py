"""What most tests start from: a store of their own, the installed program, a small git repository.

Nothing here touches the home, the configuration or the environment of whoever runs the tests.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Protocol

import pytest
from hypothesis import settings

# An assertion in a helper tells as much as one in a test.
pytest.register_assert_rewrite(*(path.stem for path in Path(__file__).parent.glob("*.py")))

PROGRAM = Path(sys.executable).with_name("steno")
SECONDS = 60.0
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")
IDENTITY = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2026-01-25T12:00:00Z",
    "GIT_COMMITTER_DATE": "2026-01-25T12:00:00Z",
}

# Keys that are made in this process; a test with a store of its own has them in its own home.
os.environ["XDG_STATE_HOME"] = mkdtemp(prefix="steno-tests-state-")
atexit.register(rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# The suite asks each property the same questions every time; `make soak` asks many more, each time others.
settings.register_profile("suite", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("suite")


class Steno(Protocol):
    def __call__(
        self,
        *words: str | Path,
        input: bytes | None = None,  # noqa: A002 - the name that subprocess.run uses
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]: ...


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    return path


@pytest.fixture
def store(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the runs of this test go; it does not exist yet. Children find it through STENO_HOME."""
    path = home / "runs"
    monkeypatch.setenv("STENO_HOME", str(path))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    return path


@pytest.fixture
def clean_env(home: Path, store: Path) -> dict[str, str]:
    """The environment that `steno` is given: nothing of the tester's own but where programs are."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "HOME": str(home), "STENO_HOME": str(store), "TERM": "xterm", **IDENTITY}


@pytest.fixture
def steno(tmp_path: Path, clean_env: dict[str, str]) -> Steno:
    """Run the installed program, as a user would, away from any terminal."""

    def run(
        *words: str | Path,
        input: bytes | None = None,  # noqa: A002 - the name that subprocess.run uses
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [PROGRAM, *words],
            input=b"" if input is None else input,
            capture_output=True,
            cwd=cwd or tmp_path,
            env={**clean_env, **(env or {})},
            timeout=SECONDS,
            check=False,
        )

    return run


@pytest.fixture
def repo(tmp_path: Path, clean_env: dict[str, str]) -> Path:
    """A small repository with one commit, on branch `main`, that nobody's configuration reaches."""
    path = tmp_path / "repo"
    path.mkdir()
    (path / "kept.txt").write_text("one\ntwo\nthree\n")
    (path / "other.txt").write_text("other\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=path, env=clean_env, check=True, timeout=SECONDS)
    return path


@pytest.fixture
def clean_git(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that call git in this process: nobody's configuration, and an identity to commit with."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Where the time went: by folder, of both workers together."""
    seconds: defaultdict[str, float] = defaultdict(float)
    tests: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                folder = "/".join(Path(report.nodeid.partition("::")[0]).parent.parts[:3])
                seconds[folder] += report.duration
                tests[folder] += report.when == "call"
    if len(seconds) > 1:
        terminalreporter.write_sep("=", "time by folder")
        for folder, taken in sorted(seconds.items(), key=itemgetter(1), reverse=True):
            terminalreporter.write_line(f"{taken:8.1f}s {tests[folder]:6} tests  {folder}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """What failed comes last and short, where the end of a log is all that is seen of it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or os.environ.get("PYTEST_XDIST_WORKER"):
        return
    for report in (*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())):
        crash = getattr(report.longrepr, "reprcrash", None)
        print(f"failed: {report.nodeid}: {' '.join(crash.message.split())[:300] if crash else ''}")
