"""One real bundle for those who attack it: tests copy it, change the copy, and ask for the verdict."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from steno.bundle.verify import Status
from support.program import IDENTITY, PROGRAM, SECONDS
from support.resealing import verdict_of


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One real run with input, output, errors and a change in a repository; nobody changes this copy."""
    place = tmp_path_factory.mktemp("original")
    env = {"PATH": os.environ["PATH"], "HOME": str(place), "STENO_HOME": str(place / "runs"), **IDENTITY}
    repo = place / "repo"
    repo.mkdir()
    (repo / "kept.txt").write_text("one\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=repo, env=env, check=True, timeout=SECONDS)
    script = "cat; echo caf\u00e9 >&2; echo two >> kept.txt; echo password=hunter2-and-more"
    subprocess.run(
        [PROGRAM, "run", "--", "sh", "-c", script],
        cwd=repo,
        env=env,
        input=b"typed\n",
        check=True,
        timeout=SECONDS,
    )
    (run,) = (place / "runs").glob("2*")
    return run


@pytest.fixture
def bundle(original: Path, tmp_path: Path) -> Path:
    """A copy to be changed."""
    copy = tmp_path / original.name
    shutil.copytree(original, copy)
    assert verdict_of(copy).status is Status.VALID
    return copy
