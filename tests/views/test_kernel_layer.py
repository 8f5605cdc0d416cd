"""Reading a kernel layer: why there is none, and what a stranger's files can do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from steno.bundle.folder import Folder
from steno.bundle.lock import holding
from steno.errors import BadRequestError, UnreadableBundleError
from steno.evidence import layout
from steno.model.run import Run
from steno.text.style import Paint
from steno.views import files, net, tree
from support.reading import opened, sealed
from support.run_builder import RunBuilder

READERS: list[Callable[[Run], Any]] = [
    lambda run: list(tree.lines(run, Paint(), width=80)),
    lambda run: list(files.lines(run.files, Paint(), width=80)),
    lambda run: list(net.lines(run, Paint(), width=80)),
    tree.to_json,
    net.to_json,
]


def why_not(path: Path) -> BadRequestError:
    with opened(path) as run, pytest.raises(BadRequestError) as raised:
        run.kernel  # noqa: B018 - asking is enough
    return raised.value


def read_all(path: Path) -> None:
    with opened(path) as run:
        for read in READERS:
            read(run)


def a_run(store: Path) -> Path:
    return RunBuilder().process("sh").wrote("/a", before=b"x").connected("inet:1.2.3.4:80").seal(store)


def test_a_run_without_the_layer_says_so_with_a_hint(tmp_path: Path) -> None:
    error = why_not(sealed(RunBuilder(observer="none"), tmp_path))
    assert str(error) == "this run has no kernel layer: it was recorded with observer 'none'"
    assert "steno doctor" in error.hint
    assert error.exit_code == 2


def test_a_run_that_is_not_sealed_says_what_to_do(tmp_path: Path) -> None:
    path = RunBuilder().process("sh").spool(tmp_path)
    assert "steno recover" in why_not(path).hint
    with Folder(path / layout.SPOOL) as spool, holding(spool):
        assert "still going on" in str(why_not(path))


def test_numbers_beyond_what_json_can_hold_are_read(tmp_path: Path) -> None:
    run = RunBuilder().process("sh", at=2**53, until=2**53 + 1_500_000_000)
    with opened(sealed(run, tmp_path)) as found:
        lines = list(tree.lines(found, Paint(), width=None))
    assert lines[1].split()[1] == "1.50s"


@pytest.mark.parametrize("name", [layout.KERNEL_TABLE, layout.FILE_LINES])
@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda _: b"[]\n",
        lambda data: b"\xff" * len(data),
        lambda _: b"[" * 100_000,
        lambda data: data.replace(b"PAR1", b"PAR2").replace(b'"path"', b'"name"'),
    ],
    ids=["torn", "half", "list", "no text", "deep", "another form"],
)
def test_damaged_evidence_is_an_error_with_a_hint(
    tmp_path: Path, name: str, damage: Callable[[bytes], bytes]
) -> None:
    path = a_run(tmp_path)
    (path / name).write_bytes(damage((path / name).read_bytes()))
    with pytest.raises(UnreadableBundleError) as raised:
        read_all(path)
    assert "steno verify" in raised.value.hint


@pytest.mark.parametrize("name", [layout.KERNEL_TABLE, layout.FILE_LINES])
def test_a_planted_link_is_not_followed(tmp_path: Path, name: str) -> None:
    path = a_run(tmp_path)
    (path / name).rename(tmp_path / "elsewhere")
    (path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises((UnreadableBundleError, BadRequestError)):
        read_all(path)
