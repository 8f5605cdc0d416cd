"""The process tree: what each process ran and how it ended, readable for thousands, safe for hostile ones."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from kernel_bundles import execution, file, kernel_run, line, process
from steno.bundle.folder import Folder
from steno.views import process_tree
from steno.views.kernel_layer import KernelLayer
from steno.views.paint import Paint
from steno.views.plain import columns
from steno.views.record import open_record

EVIL = "\x1b]0;owned\x07\u202e\n"


def tree(
    store: Path,
    *processes: dict[str, Any],
    width: int | None = None,
    every: bool = False,
    paint: Paint = Paint(),  # noqa: B008 - frozen
    **layer: Any,
) -> list[str]:
    path = kernel_run(store, processes=processes, **layer)
    with Folder(path) as folder, open_record(folder) as record:
        return list(process_tree.lines(KernelLayer(record), paint, width=width, every=every))


def drawn(lines: list[str]) -> list[str]:
    """The tree alone, without the columns before it."""
    place = lines[0].index("PROCESS")
    return [one[place:] for one in lines[1:]]


def test_children_hang_below_their_parents(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        process(1, "make", "test"),
        process(2, "sh", "-c", "cc a.c", parent=1),
        process(3, "cc", "a.c", parent=2),
        process(4, "./a.out", parent=1, code=3),
    )
    assert drawn(found) == ["make test", "├─ sh -c 'cc a.c'", "│  └─ cc a.c", "└─ ./a.out"]
    assert [one.split()[0] for one in found] == ["EXIT", "0", "0", "0", "3"]
    assert [one.split()[1] for one in found] == ["TIME"] + ["1.00s"] * 4


def test_how_a_process_ended_is_told(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        process(1, "a", exit={"signal": "SIGTERM", "core": False}),
        process(2, "b", code=None, ended_ns=None, outlived=True),
        process(3, "c", code=None, ended_ns=None),
        process(4, "d", code=7),
    )
    assert [one.split()[:2] for one in found[1:]] == [
        ["SIGTERM", "1.00s"],
        ["alive", "-"],
        ["?", "-"],
        ["7", "1.00s"],
    ]


def test_colour_marks_what_went_wrong_and_only_where_asked_for(tmp_path: Path) -> None:
    processes = [process(1, "a"), process(2, "b", code=1), process(3, "c", code=None, outlived=True)]
    good, bad, alive = tree(tmp_path / "one", *processes, paint=Paint(colour=True))[1:]
    assert good.startswith("\x1b[2m")
    assert bad.startswith("\x1b[31;1m")
    assert alive.startswith("\x1b[33m")
    assert "\x1b" not in "".join(tree(tmp_path / "two", *processes))


def test_a_chain_of_programs_in_one_process_is_shown(tmp_path: Path) -> None:
    chain = [execution("sh", "-c", "exec env x"), execution("env", "x"), execution("x", "-v")]
    assert drawn(tree(tmp_path, process(1, execs=chain))) == ["sh → env → x -v"]


def test_a_failed_search_for_a_program_is_no_part_of_the_chain(tmp_path: Path) -> None:
    tried = [execution("/usr/local/bin/x", result="ENOENT"), execution("/usr/bin/x", result="unknown")]
    assert drawn(tree(tmp_path, process(1, execs=tried))) == ["/usr/bin/x"]


def test_a_copy_of_its_parent_says_so_and_what_it_could_not_run(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        process(1, "bash"),
        process(2, parent=1),
        process(3, parent=2, code=127, execs=[execution("/bin/nosuch", result="ENOENT")]),
    )
    assert drawn(found) == [
        "bash",
        "└─ (bash, forked)",
        "   └─ (bash, forked) could not run /bin/nosuch: ENOENT",
    ]


def test_a_false_name_does_not_hide_the_program(tmp_path: Path) -> None:
    liar = execution("sshd: root", "-x", requested="/tmp/miner", path="/tmp/miner")
    login = execution("-bash", requested="/bin/bash", path="/usr/bin/bash")
    assert drawn(tree(tmp_path, process(1, execs=[liar]), process(2, execs=[login]))) == [
        "/tmp/miner (as 'sshd: root' -x)",
        "-bash",
    ]


def test_scripts_name_their_interpreter_and_lost_privilege_is_said(tmp_path: Path) -> None:
    script = execution("./configure", interpreter={"path": "/bin/sh", "argument": None})
    setuid = execution("su", privilege_lost=True)
    assert drawn(tree(tmp_path, process(1, execs=[script]), process(2, execs=[setuid]))) == [
        "./configure (by /bin/sh)",
        "su (without its privilege)",
    ]


def test_files_that_came_out_changed_are_counted_for_who_changed_them(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        process(1, "make"),
        process(2, "cc", parent=1),
        files=[file("/a.o", "created"), file(b"/\xff", "deleted"), file("/a.c", "none")],
        lines=[
            line(2, "open", "/a.o", access="write", create=True),
            line(2, "chmod", "/a.o"),
            line(2, "unlink", b"/\xff"),
            line(2, "open", "/a.c", access="read_write"),
            line(1, "open", "/a.o", access="read"),
            line(1, "open", "/a.o", access="write", result="EACCES"),
        ],
    )
    assert [one.split()[2] for one in found[1:]] == ["make", "2"]


def test_identical_siblings_share_a_line(tmp_path: Path) -> None:
    processes = [process(1, "sh"), *(process(number, "true", parent=1) for number in range(2, 502))]
    found = tree(tmp_path, *processes)
    assert drawn(found) == ["sh", "└─ 500 x true"]
    assert found[2].split()[:2] == ["0", "8m20s"]


def test_siblings_that_differ_in_anything_do_not(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        process(1, "sh"),
        process(2, "true", parent=1),
        process(3, "true", "x", parent=1),
        process(4, "true", parent=1, code=1),
        process(5, "true", parent=1, code=None, outlived=True),
        process(6, "true", parent=1),
        process(7, "cat", parent=6),
    )
    assert len(found) == 8


def test_identical_families_share_their_lines(tmp_path: Path) -> None:
    families = [
        one
        for number in range(2, 200, 2)
        for one in (process(number, "sh", parent=1), process(number + 1, "cc", parent=number))
    ]
    assert drawn(tree(tmp_path, process(1, "make"), *families)) == [
        "make",
        "└─ 99 x sh",
        "   └─ 99 x cc",
    ]


def test_a_crowd_is_cut_short_and_its_failures_are_counted(tmp_path: Path) -> None:
    crowd = [
        process(number, "cc", f"{number}.c", parent=1, code=int(number in {90, 91}))
        for number in range(2, 102)
    ]
    below = process(200, "as", parent=90, code=1)
    found = tree(tmp_path, process(1, "make"), *crowd, below)
    assert len(found) == 13
    assert found[-1].startswith("3 failed")
    assert found[-1].endswith("└─ … 90 more of cc, which started 1 others")


def test_all_shows_every_process(tmp_path: Path) -> None:
    processes = [process(1, "sh"), *(process(number, "true", parent=1) for number in range(2, 502))]
    assert len(tree(tmp_path, *processes, every=True)) == 502


@pytest.mark.parametrize("width", [1, 10, 20, 30, 40, 80])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, width: int) -> None:
    chain = [process(number, "sh", "-c", "x" * 300, parent=number - 1) for number in range(1, 60)]
    lines = tree(tmp_path, *chain, width=width)
    assert len(lines) == 60
    assert all(columns(one) <= max(width, 10) for one in lines)
    assert width < 30 or all("sh" in one for one in lines[1:])


def test_without_a_terminal_nothing_is_cut(tmp_path: Path) -> None:
    assert "x" * 5000 in tree(tmp_path, process(1, "echo", "x" * 5000))[1]


def test_no_text_of_the_record_reaches_the_terminal_alive(tmp_path: Path) -> None:
    evil = execution(EVIL, EVIL, requested=EVIL, path=EVIL, interpreter={"path": EVIL, "argument": EVIL})
    lines = tree(
        tmp_path,
        process(1, execs=[execution(EVIL), evil], exit={"signal": EVIL, "core": False}),
        process(2, parent=1, execs=[execution(EVIL, result=EVIL)]),
    )
    assert len(lines) == 3
    assert not {"\x1b", "\x07", "\u202e", "\n"} & set("".join(lines))
    assert "owned" in lines[1]


def test_parents_in_a_circle_and_unknown_ones_are_shown_once(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        process(1, "a", parent=2),
        process(2, "b", parent=1),
        process(3, "c", parent=3),
        process(4, "d", parent=99),
    )
    assert sorted(one.lstrip("└─ ") for one in drawn(found)) == ["a", "b", "c", "d"]


def test_twenty_thousand_processes_in_one_line_of_descent_are_no_problem(tmp_path: Path) -> None:
    chain = [process(number, "sh", parent=number - 1) for number in range(1, 20_001)]
    began = time.process_time()
    lines = tree(tmp_path, *chain, width=80)
    assert len(lines) == 20_001
    assert time.process_time() - began < 20
    assert all(columns(one) <= 80 for one in lines)


def test_as_data_the_processes_are_as_they_were_recorded(tmp_path: Path) -> None:
    processes = [process(1, "sh"), process(2, "cc", parent=1)]
    path = kernel_run(
        tmp_path,
        processes=processes,
        files=[file("/a", "created")],
        lines=[line(2, "open", "/a", access="write")],
    )
    with Folder(path) as folder, open_record(folder) as record:
        found = process_tree.to_json(KernelLayer(record))
    assert found["schema"] == "steno.tree.v1"
    assert found["processes"] == [{**processes[0], "files_changed": 0}, {**processes[1], "files_changed": 1}]
