"""The list of files: which of them, one line each, whatever their names are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from steno.judge.types import File
from steno.text.safe import columns
from steno.text.style import Paint
from steno.views import files
from steno.views.files import Choice, FileFilter
from support.frames_made import Found
from support.reading import opened, sealed
from support.run_builder import DIRECTORY, LINK, UNKNOWN, RunBuilder

EVIL = "/\x1b]0;owned\x07\u202e\n"


def run() -> RunBuilder:
    return RunBuilder().process("sh")


def seen(store: Path, builder: RunBuilder) -> list[File]:
    with opened(sealed(builder, store)) as found:
        return list(found.files)


def listed(store: Path, builder: RunBuilder, width: int | None = None) -> list[str]:
    return list(files.lines(seen(store, builder), Paint(), width=width))


def chosen(found: list[File], choice: Choice, *paths: bytes) -> list[str]:
    return [one.path for one in files.chosen(found, FileFilter(choice, paths))]


def git(relative_path: str, **changed: Any) -> dict[str, Any]:
    return {
        "in_repo": True,
        "root": "/repo",
        "head": "a" * 40,
        "relative_path": relative_path,
        "tracked": True,
        "dirty": False,
        "ignored": False,
    } | changed


@pytest.mark.parametrize(
    ("builder", "letter"),
    [
        (run().wrote("/f"), "A"),
        (run().wrote("/f", before=b"x"), "M"),
        (run().deleted("/f"), "D"),
        (run().changed_mode("/f", 0o755), "m"),
        (run().wrote("/f", UNKNOWN), "?"),
        (run().read("/f"), "r"),
        (run().executed("f", path="/f", state=b"x").left("/f", b"x"), "r"),
        (run().looked("/f"), "-"),
    ],
)
def test_a_letter_says_what_became_of_it(tmp_path: Path, builder: RunBuilder, letter: str) -> None:
    (line,) = listed(tmp_path, builder)
    assert line.split()[0] == letter
    assert line.split()[-1] == "/f"


def test_a_directory_that_lists_something_else_is_not_called_changed_in_content(tmp_path: Path) -> None:
    builder = run().listed("/d").left("/d", Found(mode=DIRECTORY, mtime_ns=1)).listed("/same")
    lines = listed(tmp_path, builder)
    assert [line.split() for line in lines] == [["m", "-", "/d/"], ["-", "-", "/same/"]]


def test_what_came_and_went_is_called_temporary(tmp_path: Path) -> None:
    (line,) = listed(tmp_path, run().wrote("/t", None).call("unlink", "/t", state=b"x", result=0))
    assert line.split()[0] == "t"


def test_how_much_it_grew_or_shrank_is_told(tmp_path: Path) -> None:
    builder = (
        run()
        .wrote("/a", bytes(2048))
        .wrote("/b", bytes(4), before=bytes(10))
        .deleted("/c", bytes(7))
        .read("/d", bytes(5))
        .wrote("/e", UNKNOWN)
        .changed_mode("/f", 0o600, bytes(9))
    )
    lines = listed(tmp_path, builder)
    assert [line[3:11].strip() for line in lines] == ["+2.0 KiB", "-6 B", "-7 B", "5 B", "?", "9 B"]


def test_what_it_is_to_git_is_told(tmp_path: Path) -> None:
    builder = (
        run()
        .wrote("/a", before=b"x", git=git("a"))
        .wrote("/b", before=b"x", git=git("b", dirty=True))
        .wrote("/c", before=b"x", git=git("c", tracked=False))
        .wrote("/d", before=b"x", git=git("d", tracked=False, ignored=True))
        .wrote("/x", before=b"x")
    )
    lines = listed(tmp_path, builder)
    assert [line.split()[3] for line in lines] == ["clean", "dirty", "untracked", "ignored", "-"]


def test_directories_and_links_are_recognised(tmp_path: Path) -> None:
    def link(target: str | bytes) -> Found:
        return Found(mode=LINK, size=3, target=target)

    builder = (
        run()
        .made_directory("/d")
        .call("symlink", "/e", extra=b"\xe9", state=None)
        .left("/e", link(b"\xe9"))
        .deleted("/gone", link("old"))
        .call("symlink", "/l", extra="/etc/\x1bx", state=None)
        .left("/l", link("/etc/\x1bx"))
    )
    assert [line.split(maxsplit=2)[-1].split("  ")[-1] for line in listed(tmp_path, builder)] == [
        "/d/",
        "/e -> \\xe9",
        "/gone -> old",
        "/l -> /etc/\\x1bx",
    ]


def test_the_default_is_what_changed_and_all_is_all(tmp_path: Path) -> None:
    builder = (
        run()
        .wrote("/changed", before=b"x")
        .read("/both")
        .wrote("/both", before=b"x")
        .read("/read")
        .executed("run", path="/run", state=b"x")
        .left("/run", b"x")
        .looked("/looked", None)
        .wrote("/unknown", UNKNOWN)
    )
    found = seen(tmp_path, builder)
    assert chosen(found, FileFilter().choice) == ["/both", "/changed", "/unknown"]
    assert chosen(found, Choice.READ) == ["/both", "/read", "/run"]
    assert len(chosen(found, Choice.ALL)) == 6


def test_paths_choose_files_directories_and_patterns(tmp_path: Path) -> None:
    builder = run()
    for name in (b"/w/a.py", b"/w/src/b.py", b"/w/src/c/d.c", b"/w/srcs/e.py", b"/etc/x", b"/w/\xff"):
        builder.wrote(name, before=b"x")
    found = seen(tmp_path, builder)
    assert chosen(found, Choice.CHANGED, b"/w/a.py") == ["/w/a.py"]
    assert chosen(found, Choice.CHANGED, b"/w/src") == ["/w/src/b.py", "/w/src/c/d.c"]
    assert chosen(found, Choice.CHANGED, b"/w/*.py", b"/etc") == [
        "/etc/x",
        "/w/a.py",
        "/w/src/b.py",
        "/w/srcs/e.py",
    ]
    assert chosen(found, Choice.CHANGED, b"/w/\xff") == ["/w/\\xff"]
    assert len(chosen(found, Choice.CHANGED, b"/")) == 6
    assert chosen(found, Choice.CHANGED, b"/nowhere") == []


def test_names_cannot_reach_the_terminal(tmp_path: Path) -> None:
    lines = listed(tmp_path, run().wrote(EVIL).wrote(b"/caf\xe9\x1b"))
    assert not {"\x1b", "\x07", "\u202e", "\n"} & set("".join(lines))
    assert lines[1].endswith("/caf\\xe9\\x1b")


@pytest.mark.parametrize("width", [10, 20, 30, 60])
def test_a_narrow_terminal_keeps_the_end_of_a_name(tmp_path: Path, width: int) -> None:
    builder = run().wrote("/a/" + "deep/" * 20 + "x.py", before=b"x", git=git("x"))
    lines = listed(tmp_path, builder.wrote("/" + "ü" * 90 + "x.py", before=b"x"), width)
    assert len(lines) == 2
    assert all(columns(line) <= width and line.endswith("x.py") for line in lines)


def test_no_files_no_lines(tmp_path: Path) -> None:
    assert listed(tmp_path, run()) == []
