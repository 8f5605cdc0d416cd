"""Recovery: wherever a spool was cut, what is whole is kept, what is missing is said, and it verifies."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steno.bundle.folder import Folder
from steno.bundle.manifest import completeness_of
from steno.bundle.reader import FolderLayers
from steno.bundle.recover import KILLED, TORN, recover
from steno.bundle.spool import RESERVE
from steno.bundle.verify import Status, Verdict, verify
from steno.errors import BadRequestError, UnreadableBundleError
from steno.evidence import index, kinds, layout
from support.spools import RUN_ID, open_spool, small_spool, start

TAPES = (layout.STDIN, layout.OUTPUT)
TAPE_FILES = [path for tape in TAPES for path in (tape, layout.index_of(tape))]


@pytest.fixture(autouse=True)
def _disk_that_is_sure_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of recoveries: what fsync is good for is not tested here."""
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda _fd: None)


def tiny_spool(run: Path, *, finished: bool) -> None:
    """As little as a run can be, so that every one of its bytes can be a place to cut."""
    spool = open_spool(run)
    spool.event(start(env={}, cmd_redacted=["a"]))
    stdin, output = (spool.stream(tape) for tape in TAPES)
    stdin.append(spool.now(), b"in\n")
    output.append(spool.now(), b"one\n")
    output.append(spool.now(), b"two\n")
    stdin.close()
    output.close()
    spool.event(kinds.CommandFinished(exit_code=3))
    if finished:
        spool.event(kinds.RunFinish(exit_code=3, completed=True))
    spool.close()


def recovered(base: Path, run: Path, cuts: dict[str, int]) -> Verdict:
    """Recover a copy of a spool in which files end early, and look at the result."""
    shutil.copytree(base, run)
    for path, size in cuts.items():
        os.truncate(run / "spool" / path, size)
    with Folder(run) as folder:
        recover(folder)
        verdict = verify(folder)
    assert verdict.status in {Status.VALID, Status.INCOMPLETE}, (cuts, verdict.steps[-1])
    return verdict


def stream(run: Path, tape: str) -> bytes:
    with Folder(run) as folder:
        return b"".join(FolderLayers(folder, RUN_ID).read(tape))


def arrivals(run: Path, tape: str) -> list[index.Arrival]:
    with Folder(run) as folder:
        return list(FolderLayers(folder, RUN_ID).arrivals(tape))


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "scratch"
    yield place
    shutil.rmtree(place, ignore_errors=True)


def test_events_cut_at_every_byte_keep_every_whole_line(tmp_path: Path, scratch: Path) -> None:
    tiny_spool(tmp_path / "base", finished=True)
    whole = (tmp_path / "base/spool" / layout.EVENTS).read_bytes()
    roots: dict[bytes, str | None] = {}
    for size in range(whole.index(b"\n") + 1, len(whole)):
        kept = whole[: whole.rfind(b"\n", 0, size) + 1]
        if kept not in roots:
            verdict = recovered(tmp_path / "base", scratch, {layout.EVENTS: size})
            assert verdict.gaps == [KILLED]
            assert (scratch / layout.EVENTS).read_bytes().startswith(kept)
            assert stream(scratch, layout.OUTPUT) == b"one\ntwo\n"
            roots[kept] = verdict.root
        else:  # a torn line leaves no trace: the bundle is that of the whole lines
            shutil.copytree(tmp_path / "base", scratch)
            os.truncate(scratch / "spool" / layout.EVENTS, size)
            with Folder(scratch) as folder:
                assert recover(folder).manifest.root == roots[kept], size
        shutil.rmtree(scratch)
    assert len(roots) == 2


def test_a_finished_run_is_sealed_as_it_is(tmp_path: Path, scratch: Path) -> None:
    tiny_spool(tmp_path / "base", finished=True)
    assert recovered(tmp_path / "base", scratch, {}).status is Status.VALID
    assert (scratch / layout.EVENTS).read_bytes() == (tmp_path / "base/spool" / layout.EVENTS).read_bytes()


def test_a_spool_without_a_whole_event_is_not_a_run(tmp_path: Path, scratch: Path) -> None:
    tiny_spool(tmp_path / "base", finished=False)
    first = (tmp_path / "base/spool" / layout.EVENTS).read_bytes().index(b"\n")
    for size in (0, 1, first // 2, first):
        with pytest.raises(UnreadableBundleError, match="no events"):
            recovered(tmp_path / "base", scratch, {layout.EVENTS: size})
        shutil.rmtree(scratch)


@pytest.mark.parametrize("finished", [True, False], ids=["finished", "killed"])
@pytest.mark.parametrize("path", TAPE_FILES)
def test_a_tape_or_an_index_cut_at_every_byte_keeps_every_byte_of_the_stream(
    tmp_path: Path, scratch: Path, path: str, finished: bool
) -> None:
    tiny_spool(tmp_path / "base", finished=finished)
    base = tmp_path / "base/spool"
    tape = path.removesuffix(layout.INDEX_SUFFIX)
    full, whole = (base / path).stat().st_size, stream(base, tape)
    for size in range(full + 1):
        verdict = recovered(tmp_path / "base", scratch, {path: size})
        expected = whole[:size] if path == tape else whole
        assert stream(scratch, tape) == expected, size
        times = [arrival.mono_ns for arrival in arrivals(scratch, tape)]
        assert times == sorted(times)
        gaps = ([] if finished else [KILLED]) + ([TORN] if size < full else [])
        assert verdict.gaps == gaps, size
        types = [
            kinds.parse_line(line + b"\n").type
            for line in (scratch / layout.EVENTS).read_bytes().splitlines()
        ]
        assert types[-1] == "run_finish"
        shutil.rmtree(scratch)


@settings(max_examples=40)
@given(st.data())
def test_any_cuts_together_give_a_bundle_that_verifies(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    place = tmp_path_factory.mktemp("cut")
    tiny_spool(place / "base", finished=data.draw(st.booleans()))
    sizes = {path: (place / "base/spool" / path).stat().st_size for path in [*TAPE_FILES, layout.EVENTS]}
    first = (place / "base/spool" / layout.EVENTS).read_bytes().index(b"\n") + 1
    cuts = {
        path: data.draw(st.integers(first if path == layout.EVENTS else 0, size), label=path)
        for path, size in sizes.items()
    }
    verdict = recovered(place / "base", place / "run", cuts)
    assert (verdict.status is Status.VALID) == (cuts == sizes and bool(verdict.gaps) is False)


def test_an_exit_code_that_was_seen_is_kept_and_the_run_is_not_called_completed(tmp_path: Path) -> None:
    tiny_spool(tmp_path / "run", finished=False)
    with Folder(tmp_path / "run") as folder:
        found = recover(folder)
    assert found.facts.exit_code == 3
    assert not found.facts.completed
    assert completeness_of(found.facts).gaps == [KILLED]


def test_a_torn_stream_of_a_finished_run_leaves_its_end_as_it_was(tmp_path: Path, scratch: Path) -> None:
    tiny_spool(tmp_path / "base", finished=True)
    verdict = recovered(tmp_path / "base", scratch, {layout.index_of(layout.OUTPUT): 13})
    assert verdict.gaps == [TORN]
    with Folder(scratch) as folder:
        found = recover_again(folder)
    assert found.completed
    assert found.exit_code == 3


def recover_again(folder: Folder) -> kinds.RunFinish:
    last = [kinds.parse_line(line + b"\n") for line in folder.read_all(layout.EVENTS, 1 << 20).splitlines()][
        -1
    ]
    assert isinstance(last.data, kinds.RunFinish)
    return last.data


def test_files_whose_event_was_never_written_are_not_kept(tmp_path: Path) -> None:
    small_spool(tmp_path / "run", finished=False)
    events = (tmp_path / "run/spool" / layout.EVENTS).read_bytes().splitlines(keepends=True)
    kept = [line for line in events if b"repo_snapshot_after" not in line]
    (tmp_path / "run/spool" / layout.EVENTS).write_bytes(b"".join(kept))
    (tmp_path / "run/spool" / RESERVE).write_bytes(b"room")
    with Folder(tmp_path / "run") as folder:
        recover(folder)
        assert verify(folder).status is Status.INCOMPLETE
        assert folder.has(layout.WORKTREE_BEFORE)
        for path in (layout.STATUS_AFTER, layout.DIFF, layout.WORKTREE_DIFF, layout.CHANGES, RESERVE):
            assert not folder.has(path), path


def test_a_run_whose_recorder_lives_is_left_alone(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run")
    spool.event(start())
    before = (tmp_path / "run/spool" / layout.EVENTS).read_bytes()
    with Folder(tmp_path / "run") as folder, pytest.raises(BadRequestError, match="still being recorded"):
        recover(folder)
    assert (tmp_path / "run/spool" / layout.EVENTS).read_bytes() == before
    spool.close()


def test_events_that_do_not_begin_with_the_start_of_a_run_are_not_ours(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "run")
    spool.event(kinds.CommandStarted(7))
    spool.close()
    with Folder(tmp_path / "run") as folder, pytest.raises(UnreadableBundleError, match="run_start"):
        recover(folder)


def test_a_sealed_bundle_whose_spool_is_still_there_keeps_its_manifest(tmp_path: Path) -> None:
    small_spool(tmp_path / "run")
    shutil.copytree(tmp_path / "run/spool", tmp_path / "spool")
    with Folder(tmp_path / "run") as folder:
        sealed = recover(folder).manifest
        shutil.copytree(tmp_path / "spool", tmp_path / "run/spool")
        (tmp_path / "run/spool" / layout.STDOUT).unlink()  # the removal had begun
        found = recover(folder)
        assert found.manifest == sealed
        assert found.facts.exit_code == 3
        assert verify(folder).status is Status.VALID
