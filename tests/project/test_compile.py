"""The build of the native program: it fails aloud, and leaves nothing half made or of another age."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def build(output: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "native" / "compile.py", output],
        env={"PATH": os.environ["PATH"], **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def compiler_that(folder: Path, does: str) -> str:
    """A compiler that is asked `... -o OUTPUT SOURCE...`."""
    script = folder / "cc"
    script.write_text(f'#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n{does}\n')
    script.chmod(0o700)
    return str(script)


def test_the_sources_become_a_program_at_the_place_that_was_asked_for(tmp_path: Path) -> None:
    output = tmp_path / "new" / "steno-trace"
    done = build(output, CC=compiler_that(tmp_path, 'shift; echo "$@" > "$1"'))
    assert done.returncode == 0, done.stderr
    sources = output.read_text().split()[1:]
    native = ROOT / "native"
    assert sorted(map(Path, sources)) == sorted([*native.glob("trace/*.c"), *native.glob("generated/*.c")])
    assert list(output.parent.iterdir()) == [output]


@pytest.mark.parametrize("does", ['touch "$2"; exit 1', "exit 1"])
def test_a_compiler_that_fails_is_told_and_an_older_program_is_gone(tmp_path: Path, does: str) -> None:
    output = tmp_path / "native" / "steno-trace"
    output.parent.mkdir()
    output.write_text("older")
    done = build(output, CC=compiler_that(tmp_path, does))
    assert done.returncode == 1
    assert "steno-trace is not built" in done.stderr
    assert not list(output.parent.iterdir())


def test_without_a_compiler_it_says_what_it_looked_for(tmp_path: Path) -> None:
    done = build(tmp_path / "steno-trace", PATH=str(tmp_path))
    assert done.returncode == 1
    assert "no C compiler found ($CC, cc, gcc, clang)" in done.stderr
    done = build(tmp_path / "steno-trace", CC=str(tmp_path / "none"))
    assert "No such file or directory" in done.stderr


def test_a_place_that_takes_no_program_is_told_in_the_last_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = build(tmp_path / "file" / "steno-trace", CC=compiler_that(tmp_path, "exit 0"))
    assert done.returncode == 1
    assert done.stderr == f"steno: steno-trace is not built: {tmp_path / 'file'}: File exists\n"
