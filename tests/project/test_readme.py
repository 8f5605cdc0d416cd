"""The README's examples are real: they are run here, and what they print is compared."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from generate_readme import normalised, run_blocks  # noqa: E402 - the generator lives beside what it writes


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="the examples are root's, as the README says")
def test_the_examples_of_the_readme_print_what_it_says() -> None:
    blocks = list(run_blocks((ROOT / "README.md").read_text()))
    assert len(blocks) == 4
    for written, now in blocks:
        assert normalised(now) == normalised(written)


def test_the_readme_names_the_command_that_ci_runs() -> None:
    ci = (ROOT / ".ci" / "run").read_text().splitlines()
    assert ci[-1] == "make test"
    assert "\nmake test " in (ROOT / "README.md").read_text()
