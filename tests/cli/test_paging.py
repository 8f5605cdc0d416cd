"""Long text on a real terminal: through the user's pager, in the user's colours, at the terminal's width."""

from __future__ import annotations

import re
from pathlib import Path

import pexpect
import pytest

from support.program import PROGRAM, Steno
from support.programs import needs
from support.run_builder import RunBuilder

ROWS = 12
MARK = "sed s/^/PAGED:/"
EVIL = "\x1b]0;owned\x07"


@pytest.fixture
def run(store: Path) -> Path:
    run = RunBuilder("make", "a very long command", "x" * 100)
    for number in range(1, 30):
        run.process("sh", f"-c {number}", parent=number - 1)
    for number in range(60):
        run.wrote(f"/work/{number:03d}-{EVIL}")
    return run.seal(store)


def on_terminal(
    env: dict[str, str], *words: str, rows: int = ROWS, columns: int = 80
) -> pexpect.spawn[bytes]:
    return pexpect.spawn(str(PROGRAM), list(words), env=env, dimensions=(rows, columns), timeout=60)


def output_of(child: pexpect.spawn[bytes]) -> bytes:
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 0
    assert isinstance(child.before, bytes)
    return child.before


@needs("less")
def test_what_is_longer_than_the_screen_goes_through_less_and_q_leaves(
    run: Path, clean_env: dict[str, str]
) -> None:
    child = on_terminal(clean_env, "files", "@last")
    child.expect_exact(b"010-")
    child.send(b"q")
    rest = output_of(child)
    assert b"050-" not in rest
    assert b"\x1b]0;" not in rest


@needs("less")
def test_control_c_belongs_to_the_pager(run: Path, clean_env: dict[str, str]) -> None:
    child = on_terminal(clean_env, "files", "@last")
    child.expect_exact(b"010-")
    child.sendintr()
    child.send(b"q")
    assert b"Traceback" not in output_of(child)


def test_a_pager_that_leaves_at_once_is_no_error(run: Path, clean_env: dict[str, str]) -> None:
    assert b"Traceback" not in output_of(on_terminal({**clean_env, "PAGER": "true"}, "files", "@last"))


@pytest.mark.parametrize("variable", ["STENO_PAGER", "PAGER"])
def test_the_pager_is_the_users(run: Path, clean_env: dict[str, str], variable: str) -> None:
    shown = output_of(on_terminal({**clean_env, variable: MARK}, "files", "@last"))
    assert shown.count(b"PAGED:") == 60


@pytest.mark.parametrize(
    "environ",
    [
        {"STENO_PAGER": "", "PAGER": MARK},
        {"PAGER": "cat"},
        {"PAGER": "no-such-program"},
        {"PAGER": MARK, "TERM": "dumb"},
    ],
    ids=str,
)
def test_no_pager_where_none_is_wanted_or_there(
    run: Path, clean_env: dict[str, str], environ: dict[str, str]
) -> None:
    shown = output_of(on_terminal({**clean_env, **environ}, "files", "@last"))
    assert b"PAGED:" not in shown
    assert b"059-" in shown


def test_what_fits_is_not_paged(run: Path, clean_env: dict[str, str]) -> None:
    env = {**clean_env, "PAGER": MARK}
    assert b"PAGED:" not in output_of(on_terminal(env, "files", "@last", rows=100))
    assert b"PAGED:" in output_of(on_terminal(env, "files", "@last", rows=60))


def test_what_goes_to_another_program_is_not_paged(run: Path, steno: Steno) -> None:
    assert steno("files", "@last", env={"PAGER": MARK}).stdout.count(b"PAGED:") == 0


@pytest.mark.parametrize("command", ["show", "net"])
def test_forty_columns_are_enough(run: Path, clean_env: dict[str, str], command: str) -> None:
    env = {**clean_env, "STENO_PAGER": "", "NO_COLOR": "1"}
    lines = output_of(on_terminal(env, command, "@last", columns=40)).decode().split("\r\n")
    assert all(len(line) <= 40 for line in lines), max(lines, key=len)


def test_colour_can_be_forced_for_a_program_that_understands_it(run: Path, steno: Steno) -> None:
    forced = steno("tree", "@last", env={"CLICOLOR_FORCE": "1"}).stdout
    assert b"\x1b[1m" in forced
    assert b"\x1b" not in steno("tree", "@last", env={"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}).stdout
    assert re.sub(rb"\x1b\[[0-9;]*m", b"", forced) == steno("tree", "@last").stdout


def test_less_is_told_how_to_behave_only_where_the_user_has_not(run: Path, clean_env: dict[str, str]) -> None:
    tell = 'cat > /dev/null; echo "LESS=$LESS"'
    assert b"LESS=FRX" in output_of(on_terminal({**clean_env, "STENO_PAGER": tell}, "files", "@last"))
    own = {**clean_env, "STENO_PAGER": tell, "LESS": "-S"}
    assert b"LESS=-S" in output_of(on_terminal(own, "files", "@last"))
