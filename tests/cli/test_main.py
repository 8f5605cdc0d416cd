"""How the program ends: with the command's own verdict, or with a code that is none."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from steno.cli import read, run
from steno.cli.main import exit_code
from support.making import make_run
from support.program import PROGRAM, SECONDS, Steno


@pytest.fixture
def tampered(store: Path) -> Path:
    path = make_run(store)
    (path / "run.json").write_text("{}")
    return path


@pytest.fixture
def nobody_reads() -> Iterator[int]:
    """The end of a pipe whose reader has gone."""
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@pytest.mark.parametrize("words", [["verify", "@last"], ["list"], ["--help"], []])
def test_a_reader_that_went_away_is_the_end_that_other_programs_have(
    words: list[str], tampered: Path, nobody_reads: int, clean_env: dict[str, str]
) -> None:
    done = subprocess.run(
        [PROGRAM, *words],
        stdout=nobody_reads,
        stderr=subprocess.PIPE,
        env=clean_env,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (141, b"")


def test_where_nobody_hears_what_is_wrong_the_exit_code_says_it(
    nobody_reads: int, clean_env: dict[str, str]
) -> None:
    done = subprocess.run(
        [PROGRAM, "nonsense"], stderr=nobody_reads, env=clean_env, timeout=SECONDS, check=False
    )
    assert done.returncode == 2


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["verify", "@last"], 125),
        (["list", "--json"], 125),
        (["--help"], 125),
        (["show", "nothing"], 2),
        (["run", "--no-git", "--observer", "none", "true"], 0),
    ],
)
def test_what_cannot_be_written_to_a_closed_stdout_is_no_success(
    words: list[str], code: int, closed: str, tampered: Path, clean_env: dict[str, str]
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", PROGRAM, *words],
        capture_output=True,
        env=clean_env,
        timeout=SECONDS,
        check=False,
    )
    assert (done.returncode, b"Traceback" in done.stderr) == (code, False)
    assert (b"stdout is closed" in done.stderr) == (code == 125 and closed == ">&-")


@pytest.mark.parametrize(
    ("module", "name", "words", "code"),
    [(read, "list_command", ["list"], 70), (run, "command", ["run", "true"], 125)],
)
def test_a_fault_that_nobody_foresaw_never_ends_as_a_verdict_does(
    module: object,
    name: str,
    words: list[str],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @click.command(context_settings={"ignore_unknown_options": True})
    @click.argument("words", nargs=-1)
    def broken(words: tuple[str, ...]) -> None:
        raise ValueError("\x1b[2J")

    monkeypatch.setattr(module, name, broken)
    assert exit_code(words) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("steno: Traceback")
    assert "ValueError" in said.err
    assert "\x1b" not in said.err
    assert "\nhint: " in said.err


def test_steno_alone_prints_its_help(steno: Steno) -> None:
    bare = steno()
    assert (bare.returncode, bare.stderr) == (0, b"")
    assert bare.stdout == steno("--help").stdout


@pytest.mark.parametrize("group", ["mcp", "agent"])
def test_a_group_without_a_command_prints_its_help_plainly_and_is_a_usage_error(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code([group]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"Usage: steno {group}")
    assert "hint:" not in said.err


def test_an_error_of_clicks_own_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def refusing() -> None:
        raise click.FileError("name")  # click's code for it is 1

    monkeypatch.setattr(read, "list_command", refusing)
    assert exit_code(["list"]) == 2
