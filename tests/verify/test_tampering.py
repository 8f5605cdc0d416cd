"""A real bundle in hostile hands: whatever is done to its files, it is never `valid`, and never an error."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from steno.bundle import pack
from steno.bundle.folder import Folder
from steno.bundle.recover import recover
from steno.bundle.verify import STEPS, Status, verify
from steno.contracts.assay import verify as assay
from steno.evidence import canonical, layout
from support.assay_archives import exported
from support.making import RUN_ID, make_run
from support.program import SECONDS, Steno
from support.recorded import Recorded
from support.resealing import BAD, files_of, verdict_of
from support.spools import small_spool

SMALL = 400
STRIDE = 29
TERABYTE = 1 << 40


def positions(size: int) -> Iterator[int]:
    yield from range(size) if size <= SMALL else [*range(0, size - 1, STRIDE), size - 1]


def test_the_bundle_has_everything_that_can_be_changed(original: Path) -> None:
    verdict = verdict_of(original)
    assert verdict.status is Status.VALID
    assert [(step.number, step.passed) for step in verdict.steps] == [(number, True) for number in STEPS]
    files = files_of(original)
    assert {*layout.TAPES, layout.INDEX, layout.DIFF, layout.CHANGES} - {layout.OUTPUT} <= set(files)
    assert Recorded(original).json(layout.REDACTION_REPORT)["total"] > 0


def test_every_byte_counts(bundle: Path) -> None:
    tried = 0
    for name in files_of(bundle):
        path = bundle / name
        data = path.read_bytes()
        for at in positions(len(data)):
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
            assert verdict_of(bundle).status is Status.INVALID, (name, at)
            tried += 1
        path.write_bytes(data)
    assert tried > 500
    assert verdict_of(bundle).status is Status.VALID


def test_every_file_must_be_there(bundle: Path) -> None:
    for name in files_of(bundle):
        (bundle / name).rename(bundle.parent / "taken")
        expected = Status.UNREADABLE if name == layout.MANIFEST else Status.INVALID
        assert verdict_of(bundle).status is expected, name
        (bundle.parent / "taken").rename(bundle / name)
    assert verdict_of(bundle).status is Status.VALID


@pytest.mark.parametrize("where", ["", "evidence", "evidence/terminal", "evidence/git"])
def test_nothing_may_be_added_at_any_level(bundle: Path, where: str) -> None:
    added = bundle / where / "added"
    for make, remove in (
        (lambda: added.write_bytes(b""), added.unlink),
        (added.mkdir, added.rmdir),
        (lambda: added.symlink_to("nowhere"), added.unlink),
        (lambda: os.mkfifo(added), added.unlink),
    ):
        make()
        assert verdict_of(bundle).status is Status.INVALID
        remove()
    assert verdict_of(bundle).status is Status.VALID


def test_a_spool_beside_the_manifest_is_never_called_valid(bundle: Path) -> None:
    (bundle / layout.SPOOL).mkdir()
    verdict = verdict_of(bundle)
    assert verdict.status is Status.INCOMPLETE
    assert verdict.gaps == ["unsealed"]


@pytest.mark.timeout(60)
def test_a_deep_tree_is_refused(bundle: Path) -> None:
    bundle.joinpath(*["deep"] * 200).mkdir(parents=True)
    assert verdict_of(bundle).status is Status.INVALID


@pytest.mark.parametrize("name", [b"caf\xe9", b"\x1b[2J", b"new\nline", b" "])
def test_a_strange_name_is_refused_in_words_that_can_be_printed(
    bundle: Path, steno: Steno, name: bytes
) -> None:
    (bundle / os.fsdecode(name)).write_bytes(b"")
    verdict = verdict_of(bundle)
    assert verdict.status is Status.INVALID
    canonical.encode(verdict.steps[-1].problems)
    for option in ([], ["--json"]):
        answer = steno("verify", *option, bundle)
        assert answer.returncode == 1
        assert b"Traceback" not in answer.stderr
        assert b"\x1b[2J" not in answer.stdout


def test_a_shorter_and_a_longer_file_are_refused(bundle: Path) -> None:
    for name in files_of(bundle):
        path = bundle / name
        data = path.read_bytes()
        for changed in (data[:-1], data[: len(data) // 2], b"", data + b"\0", data + b"\n", data + data):
            if changed != data:
                path.write_bytes(changed)
                assert verdict_of(bundle).status is Status.INVALID, name
        path.write_bytes(data)


def test_two_files_that_changed_places_are_refused(bundle: Path) -> None:
    names = files_of(bundle)
    for one, other in pairwise(names):
        first, second = (bundle / one).read_bytes(), (bundle / other).read_bytes()
        if first == second:
            continue
        (bundle / one).write_bytes(second)
        (bundle / other).write_bytes(first)
        assert verdict_of(bundle).status is Status.INVALID, (one, other)
        (bundle / one).write_bytes(first)
        (bundle / other).write_bytes(second)


def as_link(path: Path, kept: Path) -> None:
    path.symlink_to(kept)


def as_link_into_the_bundle(path: Path, _kept: Path) -> None:
    path.symlink_to(layout.EVENTS)


def as_hard_link_to_another(path: Path, kept: Path) -> None:
    other = kept.with_name("another")
    other.write_bytes(b"another file\n")
    path.hardlink_to(other)


def as_fifo(path: Path, _kept: Path) -> None:
    os.mkfifo(path)


def as_directory(path: Path, _kept: Path) -> None:
    path.mkdir()


def as_huge_file(path: Path, _kept: Path) -> None:
    with path.open("wb") as file:
        file.truncate(TERABYTE)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "replace",
    [as_link, as_link_into_the_bundle, as_hard_link_to_another, as_fifo, as_directory, as_huge_file],
)
def test_a_file_that_was_replaced_is_refused_and_never_read_through(
    bundle: Path, replace: Callable[[Path, Path], None]
) -> None:
    kept = bundle.parent / "kept"
    for name in files_of(bundle):
        path = bundle / name
        path.rename(kept)
        replace(path, kept)
        assert verdict_of(bundle).status in BAD, name
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        kept.with_name("another").unlink(missing_ok=True)
        kept.rename(path)
    assert verdict_of(bundle).status is Status.VALID


def test_a_directory_that_became_a_link_to_its_copy_is_refused(bundle: Path) -> None:
    kept = bundle.parent / "kept"
    for name in (layout.EVIDENCE, "evidence/terminal", "evidence/git"):
        (bundle / name).rename(kept)
        (bundle / name).symlink_to(kept)
        assert verdict_of(bundle).status is Status.INVALID
        (bundle / name).unlink()
        kept.rename(bundle / name)


# --- the program ---------------------------------------------------------------------------------------


def test_the_program_exits_with_the_code_of_the_verdict(bundle: Path, steno: Steno, tmp_path: Path) -> None:
    assert steno("verify", bundle).returncode == 0
    (bundle / layout.STDOUT).write_bytes(b"forged")
    assert steno("verify", bundle).returncode == 1
    killed = tmp_path / "killed"
    small_spool(killed, finished=False)
    assert steno("verify", killed).returncode == 3
    with Folder(killed) as folder:
        recover(folder)
    assert steno("verify", killed).returncode == 3
    (killed / layout.MANIFEST).unlink()
    assert steno("verify", killed).returncode == 4
    (tmp_path / "empty").mkdir()
    assert steno("verify", tmp_path / "empty").returncode == 4
    (tmp_path / "garbage.tar.gz").write_bytes(b"garbage")
    assert steno("verify", tmp_path / "garbage.tar.gz").returncode == 4


@pytest.mark.timeout(60)
def test_the_program_refuses_a_file_of_a_terabyte_at_once(bundle: Path, steno: Steno) -> None:
    for name in (layout.STDOUT, layout.MANIFEST):
        (bundle / name).unlink()
        as_huge_file(bundle / name, bundle)
        assert steno("verify", bundle).returncode in {1, 4}


def test_the_verdict_does_not_depend_on_where_we_stand(bundle: Path, steno: Steno) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "steno", "verify", "."],
        cwd=bundle,
        check=False,
        timeout=SECONDS,
        capture_output=True,
    )
    assert answer.returncode == 0


def test_a_genuine_run_in_the_folder_of_another_is_found(tmp_path: Path) -> None:
    other = RUN_ID.replace("a1b2c3d4", "00000000")
    path = make_run(tmp_path)
    swapped = path.rename(tmp_path / other)
    with Folder(swapped) as folder:
        verdict = verify(folder)
    assert (verdict.status, len(verdict.steps)) == (Status.INVALID, 2)
    assert verdict.steps[-1].problems == [f"the folder is named {other}, and holds the run {RUN_ID}"]
    archive = exported(swapped, tmp_path)
    assert assay.verify(archive).status is Status.INCOMPLETE
    archive = archive.rename(str(archive).replace(RUN_ID, other))
    told = assay.verify(archive)
    assert (told.status, told.steps[-1].problems) == (
        Status.INVALID,
        [f"the file is named after {other}, and holds the run {RUN_ID}"],
    )
    for name, status in ((other, Status.INVALID), (RUN_ID, Status.VALID), ("a", Status.VALID)):
        packed = tmp_path / f"{name}.tar.gz"
        with Folder(swapped) as folder, packed.open("wb") as out:
            pack.pack(folder, out)
        with pack.unpacked(packed) as folder:
            assert verify(folder).status is status, name
    with Folder(swapped.rename(tmp_path / "a-copy")) as folder:
        assert verify(folder).status is Status.VALID
