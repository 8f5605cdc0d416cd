"""What the tests of capture-run and of assay-runner start from."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.artifacts import Artifacts, Capture
from support.assay_archives import Measure, Measured, run_measured
from support.program import Steno


@pytest.fixture
def capture(steno: Steno, store: Path, tmp_path: Path) -> Capture:
    """Run a command as capture-run would and read its artifacts: options of `steno run`, then the command."""

    def run(
        *command: str,
        options: tuple[str, ...] = (),
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> Artifacts:
        done = steno("run", *options, "--", *command, cwd=cwd, env=env)
        exported = steno("export", "@last", "--as", "capture-run", "-o", tmp_path / "out")
        assert exported.returncode == 0, exported.stderr
        return Artifacts(Path(exported.stdout.decode().strip()), done.returncode)

    return run


@pytest.fixture
def measure(steno: Steno, tmp_path: Path) -> Measure:
    """Run a command under an observer and export it as an archive of assay-runner."""

    def run(
        observer: str,
        *command: str,
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> Measured:
        archives = tmp_path / "archives"
        return run_measured(steno, archives, observer, *command, cwd=cwd, env=env)

    return run
