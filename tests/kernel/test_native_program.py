"""The program is found beside the package or where the environment says, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from steno.capture.observer import find_program
from steno.errors import CaptureError


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "steno"
    (folder / "native").mkdir(parents=True)
    monkeypatch.setattr("steno.__file__", str(folder / "__init__.py"))
    return folder


def make_program(path: Path, mode: int = 0o700) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return path


def test_it_lies_in_the_package(package: Path) -> None:
    program = make_program(package / "native" / "steno-trace")
    assert find_program("steno-trace", {}) == program


def test_the_environment_comes_first(package: Path, tmp_path: Path) -> None:
    make_program(package / "native" / "steno-trace")
    other = make_program(tmp_path / "other")
    assert find_program("steno-trace", {"STENO_TRACE": str(other)}) == other


def test_what_cannot_be_executed_is_not_it_and_every_place_is_told(package: Path, tmp_path: Path) -> None:
    make_program(package / "native" / "steno-trace", mode=0o600)
    with pytest.raises(CaptureError) as caught:
        find_program("steno-trace", {"STENO_TRACE": str(tmp_path / "none")})
    for place in (tmp_path / "none", package / "native" / "steno-trace"):
        assert str(place) in str(caught.value)
    assert "apt install gcc" in caught.value.hint


def test_path_is_not_searched(tmp_path: Path) -> None:
    make_program(tmp_path / "steno-trace")
    with pytest.raises(CaptureError):
        find_program("steno-trace", {"PATH": str(tmp_path)})


@pytest.mark.parametrize(
    ("why", "hint"),
    [
        ("no C compiler found ($CC, cc, gcc, clang)", "apt install gcc"),
        ("/usr/bin/cc failed", "has what the compiler said"),
        ("/tree/native: Permission denied", "mend that, then install Steno again"),
    ],
)
def test_the_reason_that_the_build_left_is_told_with_what_helps_against_it(
    package: Path, why: str, hint: str
) -> None:
    (package / "native" / "not-built.txt").write_text(f"steno-probe: other\nsteno-trace: {why}\n\nwords\n")
    with pytest.raises(CaptureError) as caught:
        find_program("steno-trace", {})
    assert str(caught.value).endswith(f"it was not built: {why}")
    assert hint in caught.value.hint
    assert ("apt install gcc" in caught.value.hint) == why.startswith("no C compiler")
