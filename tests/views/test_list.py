"""The table of runs: every state, hostile names, damaged runs, and speed."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.bundle.lock import LOCK, holding
from steno.bundle.store import RunState
from steno.evidence import kinds, layout
from steno.model.runs import Row, rows
from steno.text.style import Paint
from steno.views.list import table
from support.making import FINISHED, make_run, start
from support.run_builder import RunBuilder

NOW_MS = 1_769_342_400_000


def run_id(number: int) -> str:
    return f"2026-01-25T12-00-00-{number:03d}Z_a1b2c3d4"


def printed(found: list[Row], width: int = 80, paint: Paint = Paint()) -> list[str]:  # noqa: B008 - frozen
    return list(table(found, width=width, now_ms=NOW_MS, paint=paint))


def test_runs_come_newest_first(tmp_path: Path) -> None:
    for number in (2, 0, 1):
        make_run(tmp_path, run_id=run_id(number))
    assert [row.run_id for row in rows(tmp_path)] == [run_id(2), run_id(1), run_id(0)]
    assert [row.run_id for row in rows(tmp_path, 1)] == [run_id(2)]


def test_a_sealed_run_has_its_facts(tmp_path: Path) -> None:
    make_run(tmp_path, start("make", "all", name="nightly"), *FINISHED)
    (row,) = rows(tmp_path)
    assert (row.state, row.exit_code, row.complete) == (RunState.SEALED, 0, True)
    assert row.title == "nightly: make all"


def test_the_time_of_a_run_is_that_of_its_command(tmp_path: Path) -> None:
    RunBuilder().events_at(0, 400, 1400, 1700).seal(tmp_path)
    (row,) = rows(tmp_path)
    assert row.command_ns == 1_000_000_000
    assert "  1.00s  " in printed([row])[1]


ATTEMPT = "20260125T120000-claude-0123abcd attempt 2"
CHAIN = "echo >/proc/7/fd/9; exec env -u SHELL /usr/bin/strace -o /proc/7/fd/3 -- /opt/claude -p 'Fix it.'"


@pytest.mark.parametrize(
    ("command", "title"),
    [
        (["/opt/node/bin/claude", "-p", "Fix it."], "claude -p 'Fix it.'"),
        (["/opt/node/bin/claude"], "claude"),
        (["env", "SHELL=/bin/sh", "/usr/bin/script", "-qef", "--command", CHAIN], "claude -p 'Fix it.'"),
    ],
)
def test_an_attempt_of_an_agent_is_told_by_the_agent_and_its_words(
    tmp_path: Path, command: list[str], title: str
) -> None:
    make_run(tmp_path, start(*command, name=ATTEMPT), *FINISHED)
    (row,) = rows(tmp_path)
    assert (row.title, row.name) == (title, ATTEMPT)
    assert f"  {title[:15]}" in printed([row])[1], "it is seen on a terminal of 80 columns"


def test_a_spool_is_unsealed_and_a_locked_one_is_running(tmp_path: Path) -> None:
    path = make_run(tmp_path, start("sleep", "9"), sealed=False)
    (row,) = rows(tmp_path)
    assert (row.state, row.command, row.exit_code) == (RunState.UNSEALED, ["sleep", "9"], None)
    with Folder(path / layout.SPOOL) as spool, holding(spool) as held:
        assert held
        (row,) = rows(tmp_path)
        assert row.state is RunState.RUNNING
    assert (path / layout.SPOOL / LOCK).exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"started_at_ms":"x"}', b"[" * 100_000])
def test_a_run_with_a_bad_file_is_damaged(tmp_path: Path, content: bytes) -> None:
    (make_run(tmp_path) / layout.EVENTS).write_bytes(content)
    assert [row.state for row in rows(tmp_path)] == [RunState.DAMAGED]


def test_whatever_stands_in_place_of_a_run_is_damaged(tmp_path: Path) -> None:
    (tmp_path / run_id(1)).mkdir()
    (tmp_path / run_id(2)).write_bytes(b"a file")
    (tmp_path / run_id(3)).symlink_to("/")
    (tmp_path / run_id(4)).symlink_to(run_id(4))
    assert [row.state for row in rows(tmp_path)] == [RunState.DAMAGED] * 4
    assert len(printed(list(rows(tmp_path)))) == 5


def test_names_cannot_reach_the_terminal(tmp_path: Path) -> None:
    make_run(tmp_path, start("printf", "\x1b]0;owned\x07\n", name="a\x1b[2Jb"), *FINISHED)
    lines = printed(list(rows(tmp_path)), width=200)
    assert len(lines) == 2
    assert "\x1b" not in "".join(lines)
    assert "a\\x1b[2Jb: printf" in lines[1]


@pytest.mark.parametrize("width", [20, 60, 67, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, width: int) -> None:
    make_run(tmp_path, start("echo", "x" * 500), *FINISHED)
    assert all(len(line) <= width for line in printed(list(rows(tmp_path)), width))


def test_colour_is_only_added_when_asked_for(tmp_path: Path) -> None:
    make_run(tmp_path, start(), kinds.CommandFinished(3), kinds.RunFinish(3, completed=True))
    found = list(rows(tmp_path))
    assert "\x1b" not in "".join(printed(found))
    assert "\x1b[31;1m3" in printed(found, paint=Paint(colour=True))[1]


def test_no_runs_no_table(tmp_path: Path) -> None:
    assert printed(list(rows(tmp_path / "none"))) == []


def test_thousands_of_runs_are_listed_at_once(tmp_path: Path) -> None:
    first = make_run(tmp_path, run_id=run_id(0))
    for number in range(1, 1000):
        shutil.copytree(first, tmp_path / run_id(number), copy_function=os.link)
    began = time.process_time()
    assert len(list(rows(tmp_path))) == 1000
    assert time.process_time() - began < 2.0


def test_a_narrow_terminal_shows_state_exit_and_command_first(tmp_path: Path) -> None:
    run = make_run(tmp_path, start("make", "test"), *FINISHED)
    first, second = printed(list(rows(tmp_path)), width=40)
    assert first == "sealed exit 0  make test"
    assert second.startswith(f"  {run.name}")
