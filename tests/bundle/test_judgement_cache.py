"""What was concluded from a large record is kept in the user's own store, and nowhere else."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from steno.bundle import judgement_cache
from steno.bundle.folder import Folder
from steno.bundle.judgement_cache import CACHE, MOST_RUNS
from steno.evidence import layout
from steno.evidence.layers import Layers
from steno.judge import files as files_judged
from steno.judge.types import Files
from support.documents import of_folder
from support.run_builder import RunBuilder


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(judgement_cache, "WORTH_KEEPING", 0)
    return RunBuilder("make").process("make").wrote("/w/a", b"x").seal(tmp_path / "runs")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A word each time that the files were concluded."""
    words: list[str] = []
    conclude = files_judged.files

    def noted(layers: Layers) -> Files:
        words.append(layout.FILES)
        return conclude(layers)

    monkeypatch.setattr(files_judged, "files", noted)
    return words


def files_of(run: Path) -> bytes:
    with Folder(run) as folder:
        return b"".join(of_folder(folder).read(layout.FILES))


def entries(run: Path) -> list[Path]:
    return [path for path in (run.parent / CACHE).rglob("*") if path.is_file()]


def test_it_is_concluded_once_and_read_the_next_time(run: Path, made: list[str]) -> None:
    first = files_of(run)
    assert files_of(run) == first
    assert made == [layout.FILES]
    assert [path.name for path in entries(run)] == [layout.FILES]
    assert (run.parent / CACHE).stat().st_mode & 0o777 == 0o700
    assert entries(run)[0].stat().st_mode & 0o777 == 0o600


def test_a_small_record_keeps_nothing(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgement_cache, "WORTH_KEEPING", 1 << 20)
    files_of(run)
    assert entries(run) == []


def test_a_changed_file_of_the_record_or_a_changed_rule_makes_it_anew(
    run: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files_of(run)
    os.utime(run / layout.EVENTS)
    files_of(run)
    monkeypatch.setattr(judgement_cache, "RULES", 1000)
    files_of(run)
    assert made == [layout.FILES] * 3


def test_a_record_outside_of_a_store_of_the_user_keeps_nothing(run: Path, made: list[str]) -> None:
    (run.parent / CACHE).rmdir()
    assert files_of(run) == files_of(run)
    assert made == [layout.FILES] * 2
    assert not (run.parent / CACHE).exists()


def test_a_disk_without_room_costs_no_answer_and_leaves_no_half_of_one(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_fd: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr("os.write", full)
        told = files_of(run)
    assert entries(run) == []
    assert files_of(run) == told


def test_what_was_not_read_to_its_end_is_not_kept(run: Path) -> None:
    with Folder(run) as folder:
        accesses = of_folder(folder).judgement.accesses()
        next(accesses)
        del accesses
    assert entries(run) == []


@pytest.mark.parametrize("harm", [lambda data: data[:-1], lambda data: b"\x80" + data[1:], lambda _: b""])
def test_what_was_harmed_is_concluded_anew(
    run: Path, made: list[str], harm: Callable[[bytes], bytes]
) -> None:
    first = files_of(run)
    (entry,) = entries(run)
    entry.write_bytes(harm(entry.read_bytes()))
    assert files_of(run) == first
    assert made == [layout.FILES] * 2
    assert files_of(run) == first
    assert made == [layout.FILES] * 2


def test_planted_links_are_not_followed(run: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (run.parent / CACHE).rmdir()
    (run.parent / CACHE).symlink_to(tmp_path / "elsewhere")
    files_of(run)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_the_oldest_goes_when_there_are_too_many(run: Path) -> None:
    for number in range(MOST_RUNS + 3):
        old = run.parent / CACHE / f"{number:064d}"
        old.mkdir(mode=0o700, parents=True)
        os.utime(old, (number, number))
    files_of(run)
    left = sorted(path.name for path in (run.parent / CACHE).iterdir())
    assert len(left) == MOST_RUNS
    assert f"{3:064d}" not in left
    assert f"{MOST_RUNS + 2:064d}" in left
