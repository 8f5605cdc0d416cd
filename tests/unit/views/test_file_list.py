"""The list of files: which of them, one line each, whatever their names are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernel_bundles import ABSENT, TOMBSTONE, file, git, kernel_run, state
from steno.bundle.folder import Folder
from steno.views import file_list
from steno.views.file_list import Choice, Wanted
from steno.views.kernel_layer import KernelLayer, Seen
from steno.views.paint import Paint
from steno.views.plain import columns
from steno.views.record import open_record

EVIL = "/\x1b]0;owned\x07\u202e\n"


def seen(store: Path, *files: dict[str, Any]) -> list[Seen]:
    path = kernel_run(store, files=files)
    with Folder(path) as folder, open_record(folder) as record:
        return KernelLayer(record).files()


def listed(store: Path, *files: dict[str, Any], width: int | None = None) -> list[str]:
    return list(file_list.lines(seen(store, *files), Paint(), width=width))


def chosen(found: list[Seen], choice: Choice, *paths: bytes) -> list[str]:
    return [one.file.path for one in file_list.chosen(found, Wanted(choice, paths))]


@pytest.mark.parametrize(
    ("change", "operations", "letter"),
    [
        ("created", ["write"], "A"),
        ("modified", ["write"], "M"),
        ("deleted", ["delete"], "D"),
        ("metadata", ["metadata"], "m"),
        ("unknown", ["write"], "?"),
        ("none", ["read"], "r"),
        ("none", ["execute"], "r"),
        ("none", ["existence"], "-"),
        ("none", ["directory"], "-"),
        ("anything else", ["write"], "?"),
    ],
)
def test_a_letter_says_what_became_of_it(
    tmp_path: Path, change: str, operations: list[str], letter: str
) -> None:
    (line,) = listed(tmp_path, file("/f", change, *operations))
    assert line.split()[0] == letter
    assert line.split()[-1] == "/f"


def test_a_directory_that_lists_something_else_is_not_called_changed_in_content(tmp_path: Path) -> None:
    here = state(0, "directory")
    (line,) = listed(tmp_path, file("/d", "modified", before=here, after={**here, "mtime": 1}))
    assert line.split() == ["m", "-", "/d/"]


def test_what_came_and_went_is_called_temporary(tmp_path: Path) -> None:
    (line,) = listed(tmp_path, file("/t", "none", "write", "delete", before=ABSENT, after=TOMBSTONE))
    assert line.split()[0] == "t"


def test_how_much_it_grew_or_shrank_is_told(tmp_path: Path) -> None:
    lines = listed(
        tmp_path,
        file("/a", "created", after=state(2048)),
        file("/b", "modified", before=state(10), after=state(4)),
        file("/c", "deleted", before=state(7)),
        file("/d", "none", before=state(5), after=state(5)),
        file("/e", "unknown"),
        file("/f", "metadata", before=state(9), after=state(9)),
    )
    assert [line[3:11].strip() for line in lines] == ["+2.0 KiB", "-6 B", "-7 B", "5 B", "?", "9 B"]


def test_what_it_is_to_git_is_told(tmp_path: Path) -> None:
    classes = [
        (git("a"), "clean"),
        (git("b", dirty=True), "dirty"),
        (git("c", tracked=False), "untracked"),
        (git("d", tracked=False, ignored=True), "ignored"),
    ]
    lines = listed(
        tmp_path,
        *(file(f"/{word}", "modified", git=found) for found, word in classes),
        file("/x", "modified"),
    )
    assert [line.split()[3] for line in lines] == ["clean", "dirty", "untracked", "ignored", "-"]


def test_directories_and_links_are_recognised(tmp_path: Path) -> None:
    lines = listed(
        tmp_path,
        file("/d", "created", after=state(0, "directory")),
        file("/l", "created", after=state(3, "symlink", target="/etc/\x1bx")),
        file("/gone", "deleted", before=state(3, "symlink", target="old"), after=TOMBSTONE),
        file("/e", "created", after=state(1, "symlink", target="é", target_b64="6Q==")),
    )
    assert [line.split(maxsplit=2)[-1].split("  ")[-1] for line in lines] == [
        "/d/",
        "/l -> /etc/\\x1bx",
        "/gone -> old",
        "/e -> \\xe9",
    ]


def test_the_default_is_what_changed_and_all_is_all(tmp_path: Path) -> None:
    found = seen(
        tmp_path,
        file("/changed", "modified", "write"),
        file("/both", "modified", "read", "write"),
        file("/read", "none", "read"),
        file("/run", "none", "execute"),
        file("/looked", "none", "existence", before=ABSENT, after=ABSENT),
        file("/unknown", "unknown"),
    )
    assert chosen(found, Wanted().choice) == ["/changed", "/both", "/unknown"]
    assert chosen(found, Choice.READ) == ["/both", "/read", "/run"]
    assert len(chosen(found, Choice.ALL)) == 6


def test_paths_choose_files_directories_and_patterns(tmp_path: Path) -> None:
    names = ["/w/a.py", "/w/src/b.py", "/w/src/c/d.c", "/w/srcs/e.py", "/etc/x"]
    found = seen(tmp_path, *(file(name, "modified") for name in names), file(b"/w/\xff", "modified"))
    assert chosen(found, Choice.CHANGED, b"/w/a.py") == ["/w/a.py"]
    assert chosen(found, Choice.CHANGED, b"/w/src") == ["/w/src/b.py", "/w/src/c/d.c"]
    assert chosen(found, Choice.CHANGED, b"/w/*.py", b"/etc") == [
        "/w/a.py",
        "/w/src/b.py",
        "/w/srcs/e.py",
        "/etc/x",
    ]
    assert chosen(found, Choice.CHANGED, b"/w/\xff") == ["/w/\xff"]
    assert len(chosen(found, Choice.CHANGED, b"/")) == 6
    assert chosen(found, Choice.CHANGED, b"/nowhere") == []


def test_names_cannot_reach_the_terminal(tmp_path: Path) -> None:
    lines = listed(tmp_path, file(EVIL, "created"), file(b"/caf\xe9\x1b", "created"))
    assert not {"\x1b", "\x07", "\u202e", "\n"} & set("".join(lines))
    assert lines[1].endswith("/caf\\xe9\\x1b")


@pytest.mark.parametrize("width", [10, 20, 30, 60])
def test_a_narrow_terminal_keeps_the_end_of_a_name(tmp_path: Path, width: int) -> None:
    lines = listed(
        tmp_path,
        file("/a/" + "deep/" * 20 + "x.py", "modified", git=git("x")),
        file("/" + "ü" * 90 + "x.py", "modified"),
        width=width,
    )
    assert all(columns(line) <= width and line.endswith("x.py") for line in lines)


def test_no_files_no_lines(tmp_path: Path) -> None:
    assert listed(tmp_path) == []
