"""What STENO_REQUIRE names is tested, or the run of the tests fails at once and says what is lacking."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]


def collected(place: Path, required: str, **changed: str) -> subprocess.CompletedProcess[str]:
    (place / "pytest.ini").write_text(f"[pytest]\npythonpath = {TESTS}\naddopts = -p support.plugin\n")
    (place / "test_it.py").write_text("def test_that_passes():\n    pass\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=place,
        env={**os.environ, "STENO_REQUIRE": required, **changed},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_nothing_is_required_unasked(tmp_path: Path) -> None:
    assert collected(tmp_path, "", PATH="", STENO_NODE_MODULES="/nowhere").returncode == 0


def test_what_is_required_and_lacking_is_a_failure_that_names_it(tmp_path: Path) -> None:
    agents = collected(tmp_path, "agents", STENO_NODE_MODULES="/nowhere")
    assert agents.returncode == 4
    assert "agents is required (STENO_REQUIRE), and lacks" in agents.stderr
    assert "/nowhere/.bin/claude" in agents.stderr
    browser = collected(tmp_path, "browser", PATH="")
    assert (browser.returncode, "lacks chromium" in browser.stderr) == (4, True)
    kernel = collected(tmp_path, "kernel", PATH="")
    assert (kernel.returncode, "strace" in kernel.stderr) == (4, True)


def test_a_word_that_means_nothing_is_refused(tmp_path: Path) -> None:
    assert "STENO_REQUIRE knows kernel, browser, agents" in collected(tmp_path, "kernels").stderr
