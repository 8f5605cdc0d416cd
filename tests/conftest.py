"""What most tests start from: a store of their own, the installed program, a small git repository.

Nothing here touches the home, the configuration or the environment of whoever runs the tests.
"""

from __future__ import annotations

import atexit
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import pytest
from hypothesis import settings

from support.once import Once, made_once
from support.program import IDENTITY, PROGRAM, SECONDS, Steno

_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR")

# Keys that are made in this process; a test with a store of its own has them in its own home.
os.environ["XDG_STATE_HOME"] = mkdtemp(prefix="steno-tests-state-")
atexit.register(rmtree, os.environ["XDG_STATE_HOME"], ignore_errors=True)

# The suite asks each property the same questions every time; `make soak` asks many more, each time others.
settings.register_profile("suite", max_examples=50, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("suite")


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


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Recordings that several tests read: `once("a name of its own", make)`."""
    return made_once(tmp_path_factory)


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
