"""The process tree: what each process ran and how it ended, readable for thousands, safe for hostile ones."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from steno.text.safe import columns
from steno.text.style import Paint
from steno.views import tree as process_tree
from support.reading import opened, sealed
from support.run_builder import RunBuilder

EVIL = "\x1b]0;owned\x07\u202e\n"
A_SECOND = {"at": 0, "until": 1_000_000_000}


def tree(
    store: Path,
    run: RunBuilder,
    *,
    width: int | None = None,
    every: bool = False,
    paint: Paint = Paint(),  # noqa: B008 - frozen
) -> list[str]:
    with opened(sealed(run, store)) as found:
        return list(process_tree.lines(found, paint, width=width, every=every))


def drawn(lines: list[str]) -> list[str]:
    """The tree alone, without the columns before it."""
    place = lines[0].index("PROCESS")
    return [one[place:] for one in lines[1:]]


def many(run: RunBuilder, count: int, *argv: str) -> RunBuilder:
    """Children of the first process that all do the same."""
    for _ in range(count):
        run.process(*argv, parent=1, **A_SECOND)
    return run


def chain(count: int, *argv: str) -> RunBuilder:
    """Processes of which each started the next one."""
    run = RunBuilder()
    for parent in range(count):
        run.process(*argv, parent=parent)
    return run


def test_children_hang_below_their_parents(tmp_path: Path) -> None:
    run = (
        RunBuilder()
        .process("make", "test", **A_SECOND)
        .process("sh", "-c", "cc a.c", parent=1, **A_SECOND)
        .process("cc", "a.c", parent=2, **A_SECOND)
        .process("./a.out", parent=1, code=3, **A_SECOND)
    )
    found = tree(tmp_path, run)
    assert drawn(found) == ["make test", "├─ sh -c 'cc a.c'", "│  └─ cc a.c", "└─ ./a.out"]
    assert [one.split()[0] for one in found] == ["EXIT", "0", "0", "0", "3"]
    assert [one.split()[1] for one in found] == ["TIME"] + ["1.00s"] * 4


def test_how_a_process_ended_is_told(tmp_path: Path) -> None:
    run = (
        RunBuilder()
        .process("a", code=None, at=0)
        .exit(signal=15, at=A_SECOND["until"])
        .process("b", code=None)
        .outlived()
        .process("c", code=None)
        .process("d", code=7, **A_SECOND)
    )
    assert [one.split()[:2] for one in tree(tmp_path, run)[1:]] == [
        ["SIGTERM", "1.00s"],
        ["alive", "-"],
        ["?", "-"],
        ["7", "1.00s"],
    ]


def test_colour_marks_what_went_wrong_and_only_where_asked_for(tmp_path: Path) -> None:
    run = RunBuilder().process("a").process("b", code=1).process("c", code=None).outlived()
    good, bad, alive = tree(tmp_path / "one", run, paint=Paint(colour=True))[1:]
    assert good.startswith("\x1b[2m")
    assert bad.startswith("\x1b[31;1m")
    assert alive.startswith("\x1b[33m")
    assert "\x1b" not in "".join(tree(tmp_path / "two", run))


def test_a_chain_of_programs_in_one_process_is_shown(tmp_path: Path) -> None:
    run = RunBuilder().process("sh", "-c", "exec env x").executed("env", "x").executed("x", "-v")
    assert drawn(tree(tmp_path, run)) == ["sh → env → x -v"]


def test_a_failed_search_for_a_program_is_no_part_of_the_chain(tmp_path: Path) -> None:
    run = RunBuilder().process("/usr/local/bin/x", result=-2).executed("/usr/bin/x", result=None)
    assert drawn(tree(tmp_path, run)) == ["/usr/bin/x"]


def test_a_copy_of_its_parent_says_so_and_what_it_could_not_run(tmp_path: Path) -> None:
    run = RunBuilder().process("bash").process(parent=1).process("/bin/nosuch", parent=2, code=127, result=-2)
    assert drawn(tree(tmp_path, run)) == [
        "bash",
        "└─ (bash, forked)",
        "   └─ (bash, forked) could not run /bin/nosuch: ENOENT",
    ]


def test_a_false_name_does_not_hide_the_program(tmp_path: Path) -> None:
    run = (
        RunBuilder()
        .process("sshd: root", "-x", path="/tmp/miner")
        .process("-bash", requested="/bin/bash", path="/usr/bin/bash")
    )
    assert drawn(tree(tmp_path, run)) == ["/tmp/miner (as 'sshd: root' -x)", "-bash"]


def test_scripts_name_their_interpreter_and_lost_privilege_is_said(tmp_path: Path) -> None:
    run = RunBuilder().process("./configure").interpreted("/bin/sh").process("su", notes=["privilege_lost"])
    assert drawn(tree(tmp_path, run)) == ["./configure (by /bin/sh)", "su (without its privilege)"]


def test_files_that_came_out_changed_are_counted_for_who_changed_them(tmp_path: Path) -> None:
    run = (
        RunBuilder()
        .process("make")
        .process("cc", parent=1)
        .wrote("/a.o")
        .changed_mode("/a.o", 0o755)
        .deleted(b"/\xff")
        .call("open", "/a.c", state=b"x", arg=os.O_RDWR, result=0)
        .left("/a.c", b"x", before=b"x")
        .by(1)
        .read("/a.o", b"after")
        .call("open", "/a.o", state=b"after", arg=os.O_WRONLY, result=-13)
    )
    assert [one.split()[2] for one in tree(tmp_path, run)[1:]] == ["make", "2"]


def test_identical_siblings_share_a_line(tmp_path: Path) -> None:
    found = tree(tmp_path, many(RunBuilder().process("sh"), 500, "true"))
    assert drawn(found) == ["sh", "└─ 500 x true"]
    assert found[2].split()[:2] == ["0", "8m20s"]


def test_siblings_that_differ_in_anything_do_not(tmp_path: Path) -> None:
    run = (
        RunBuilder()
        .process("sh")
        .process("true", parent=1)
        .process("true", "x", parent=1)
        .process("true", parent=1, code=1)
        .process("true", parent=1, code=None)
        .outlived()
        .process("true", parent=1)
        .process("cat", parent=6)
    )
    assert len(tree(tmp_path, run)) == 8


def test_identical_families_share_their_lines(tmp_path: Path) -> None:
    run = RunBuilder().process("make")
    for number in range(2, 200, 2):
        run.process("sh", parent=1).process("cc", parent=number)
    assert drawn(tree(tmp_path, run)) == ["make", "└─ 99 x sh", "   └─ 99 x cc"]


def test_a_crowd_is_cut_short_and_its_failures_are_counted(tmp_path: Path) -> None:
    run = RunBuilder().process("make")
    for number in range(2, 102):
        run.process("cc", f"{number}.c", parent=1, code=int(number in {90, 91}))
    found = tree(tmp_path, run.process("as", parent=90, code=1))
    assert len(found) == 13
    assert found[-1].startswith("3 failed")
    assert found[-1].endswith("└─ … 90 more of cc, which started 1 others")


def test_all_shows_every_process(tmp_path: Path) -> None:
    assert len(tree(tmp_path, many(RunBuilder().process("sh"), 500, "true"), every=True)) == 502


@pytest.mark.parametrize("width", [1, 10, 20, 30, 40, 80])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, width: int) -> None:
    lines = tree(tmp_path, chain(59, "sh", "-c", "x" * 300), width=width)
    assert len(lines) == 60
    assert all(columns(one) <= max(width, 10) for one in lines)
    assert width < 30 or all("sh" in one for one in lines[1:])


def test_without_a_terminal_nothing_is_cut(tmp_path: Path) -> None:
    assert "x" * 5000 in tree(tmp_path, RunBuilder().process("echo", "x" * 5000))[1]


def test_no_text_of_the_record_reaches_the_terminal_alive(tmp_path: Path) -> None:
    run = (
        RunBuilder()
        .process(EVIL)
        .executed(EVIL, EVIL, path=EVIL)
        .interpreted(EVIL, EVIL)
        .process(EVIL, parent=1, result=-2)
    )
    lines = tree(tmp_path, run)
    assert len(lines) == 3
    assert not {"\x1b", "\x07", "\u202e", "\n"} & set("".join(lines))
    assert "owned" in lines[1]


def test_parents_in_a_circle_and_unknown_ones_are_shown_once(tmp_path: Path) -> None:
    run = (
        RunBuilder()
        .process("a", parent=2)
        .process("b", parent=1)
        .process("c", parent=3)
        .process("d", parent=99)
    )
    assert sorted(one.lstrip("└─ ") for one in drawn(tree(tmp_path, run))) == ["a", "b", "c", "d"]


def test_twenty_thousand_processes_in_one_line_of_descent_are_no_problem(tmp_path: Path) -> None:
    with opened(chain(20_000, "sh").seal(tmp_path)) as run:
        began = time.process_time()
        lines = list(process_tree.lines(run, Paint(), width=80))
    assert time.process_time() - began < 20
    assert len(lines) == 20_001
    assert all(columns(one) <= 80 for one in lines)


def test_as_data_the_processes_are_as_they_were_recorded(tmp_path: Path) -> None:
    run = RunBuilder().process("sh", **A_SECOND).process("cc", parent=1, code=None, at=5).wrote("/a")
    with opened(sealed(run, tmp_path)) as shown:
        found = process_tree.to_json(shown)
    assert found["schema"] == "steno.tree.v1"
    sh, cc = found["processes"]
    assert sh == {
        "process": 1,
        "parent": 0,
        "pid": 1001,
        "start_ticks": 1,
        "first_ns": 0,
        "ended_ns": 1_000_000_000,
        "execs": [
            {
                "at_ns": 1_000_000,
                "requested": "/usr/bin/sh",
                "path": "/usr/bin/sh",
                "argv": ["sh"],
                "argc": 1,
                "argv_cut": False,
                "interpreter": None,
                "result": "ok",
                "privilege_lost": False,
            }
        ],
        "exit": {"code": 0},
        "exit_known": "kernel",
        "outlived": False,
        "role": "command",
        "threads": 1,
        "events": 3,
        "files_changed": 0,
    }
    assert (cc["parent"], cc["exit"], cc["files_changed"]) == (1, None, 1)
