"""The programs that tests drive: what no script can do (`native/tests/programs`), and installed ones."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from support.program import SECONDS

_NATIVE = Path(__file__).parents[2] / "native"


@functools.cache
def compiled(name: str) -> Path:
    """The program, compiled anew; one that runs elsewhere at the same time is not disturbed."""
    program = _NATIVE / "build" / name
    program.parent.mkdir(exist_ok=True)
    unfinished = program.with_name(f".{name}.{os.getpid()}")
    source = _NATIVE / "tests" / "programs" / f"{name}.c"
    words: list[str | Path] = [
        "cc",
        "-std=gnu11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pthread",
        "-o",
        unfinished,
        source,
    ]
    subprocess.run(words, check=True, timeout=SECONDS)
    return unfinished.replace(program)


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        shutil.which(program) is None, reason=f"{program} is not installed; `make programs` does it as root"
    )
