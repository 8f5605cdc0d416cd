"""How often a command reads the table of system calls: once, and once more where tool calls were told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from steno.bundle.reader import FolderLayers
from steno.cli.main import exit_code
from steno.evidence import layout
from support.calls_made import EMPTY, SCOPE, TICKS, decision, said_call
from support.run_builder import RUN_ID, RunBuilder

SIMPLE = ["show", "show --json", "tree", "tree --json", "files", "files --all --json", "net", "net --json"]
COMMANDS = [*SIMPLE, "surface", "calls", "verify", "report", "report --markdown"]
OF_CALLS = {"show", "show --json", "calls", "report", "report --markdown"}


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    opened: list[str] = []
    open_file = FolderLayers.open

    def noting(layers: FolderLayers, path: str) -> BinaryIO:
        opened.append(path)
        return open_file(layers, path)

    monkeypatch.setattr(FolderLayers, "open", noting)
    return lambda: opened.count(layout.KERNEL_TABLE)


def run(*, with_calls: bool) -> RunBuilder:
    """Two witnesses watched it, and one of them missed a call."""
    builder = RunBuilder("agent").event(SCOPE, EMPTY).kernel(observer="both", features=["cgroup"])
    builder.kernel(only_ebpf=1)
    if with_calls:
        builder.decided(decision("a", at=(3_000_000, 6_000_000))).said(*said_call("a"))
    builder.process("agent", start_ticks=TICKS, code=None, at=1_000_000)
    builder.process("server", parent=1, start_ticks=TICKS, code=None, at=2_000_000)
    return builder.wrote("/work/a", b"x").read("/work/b").connected("inet:192.0.2.1:80").deleted("/work/c")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("with_calls", [False, True], ids=["without calls", "with calls"])
def test_a_command_reads_the_system_calls_once_and_once_more_for_tool_calls(
    command: str, with_calls: bool, store: Path, passes: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(with_calls=with_calls).seal(store)
    monkeypatch.chdir(store.parent)
    name, *options = command.split()
    assert exit_code([name, RUN_ID, *options]) == 0
    assert passes() == (2 if with_calls and command in OF_CALLS else 1)


def test_undo_reads_them_once_with_its_verification(store: Path, passes: Callable[[], int]) -> None:
    run(with_calls=False).seal(store)
    exit_code(["undo", RUN_ID, "--dry-run"])
    assert passes() == 1


@pytest.mark.parametrize(
    ("kind", "most"), [("tables", 5), ("sqlite", 4), ("otlp", 3), ("perfetto", 4), ("assay-runner", 4)]
)
def test_an_export_reads_them_for_its_rows_beside_what_is_concluded(
    kind: str, most: int, store: Path, passes: Callable[[], int], tmp_path: Path
) -> None:
    """Once to verify, twice to conclude, and once for every file that has a line for each of them."""
    run(with_calls=True).seal(store)
    assert exit_code(["export", RUN_ID, "--as", kind, "-o", str(tmp_path / "out")]) == 0
    assert passes() <= most


def test_whoever_compares_reads_each_side_once(store: Path, passes: Callable[[], int]) -> None:
    run(with_calls=False).seal(store)
    exit_code(["diff", RUN_ID, RUN_ID])
    assert passes() == 2


def test_a_page_is_verified_and_made_again_from_one_pass(
    store: Path, passes: Callable[[], int], tmp_path: Path
) -> None:
    run(with_calls=False).seal(store)
    page = tmp_path / "page.html"
    assert exit_code(["report", RUN_ID, "-o", str(page)]) == 0
    made = passes()
    exit_code(["verify", str(page)])
    assert passes() - made == 1
