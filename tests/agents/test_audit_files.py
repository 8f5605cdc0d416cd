"""The files of an attempt: whole, never overwritten, and known again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from steno.bundle.folder import Folder
from steno.errors import BadRequestError, StoreError
from steno.launch import audit_files
from steno.launch.audit_files import (
    AuditFiles,
    UnwrittenError,
    compared,
    digest,
    is_temporary,
    numbers_in,
    open_audit,
)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Folder]:
    with Folder(tmp_path) as folder:
        yield folder


def names(run: Folder) -> list[str]:
    return sorted(path.name for path in Path(run.path, ".audit").iterdir())


def test_a_file_is_private_and_its_digest_is_known(run: Folder) -> None:
    files = AuditFiles(run, 2)
    files.write("stdout", lambda: [b"o", b"ut\n"])
    files.write_json("fs-before", {})
    assert names(run) == ["fs-before.2.json", "stdout.2.log"]
    assert {path.stat().st_mode & 0o777 for path in Path(run.path, ".audit").iterdir()} == {0o600}
    assert files.files == {"stdout.2.log": digest([b"out\n"]), "fs-before.2.json": digest([b"{}"])}
    assert files.parts == ("stdout", "fs-before")
    assert files.read("stdout") == b"out\n"
    with pytest.raises(BadRequestError, match=r"stderr\.2\.log cannot be read"):
        files.read("stderr")


def test_a_file_that_is_too_large_to_be_held_is_not_read_as_an_empty_one(
    run: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = AuditFiles(run, 1)
    files.write("stdout", lambda: [b"out\n"])
    monkeypatch.setattr(audit_files, "MOST_BYTES", 3)
    with pytest.raises(BadRequestError, match="has 4 bytes, and at most 3"):
        files.read("stdout")


@pytest.mark.parametrize("planted", ["file", "link", "directory"])
def test_what_stands_in_the_place_of_a_file_is_kept_aside_and_told(run: Folder, planted: str) -> None:
    audit, target = Path(run.path, ".audit"), Path(run.path, "target")
    audit.mkdir()
    place = audit / "stdout.1.log"
    if planted == "file":
        place.write_bytes(b"forged")
    elif planted == "link":
        place.symlink_to(target)
    else:
        place.mkdir()
    files = AuditFiles(run, 1)
    files.write("stdout", lambda: [b"out\n"])
    aside, ours = names(run)[1], names(run)[0]
    assert (ours, place.read_bytes(), target.exists()) == ("stdout.1.log", b"out\n", False)
    assert aside.startswith("stdout.1.log.found-")
    assert aside in files.notes[0]


def test_a_file_of_ours_that_a_crash_left_is_taken_for_what_it_is(run: Folder) -> None:
    AuditFiles(run, 1).write("stdout", lambda: [b"out\n"])
    files = AuditFiles(run, 1)
    files.write("stdout", lambda: [b"out\n"])
    assert (names(run), files.notes) == (["stdout.1.log"], [])
    assert files.files == {"stdout.1.log": digest([b"out\n"])}


def test_a_file_that_was_changed_is_not_read_as_ours(run: Folder) -> None:
    files = AuditFiles(run, 1)
    files.write("stdout", lambda: [b"out\n"])
    Path(run.path, ".audit", "stdout.1.log").write_bytes(b"forged")
    with pytest.raises(BadRequestError, match="is not as Steno wrote it"):
        files.read("stdout")
    assert AuditFiles(run, 1, {"stdout.1.log": digest([b"forged"])}).read("stdout") == b"forged"


def test_an_audit_folder_is_made_again_and_private_again(run: Folder) -> None:
    audit = Path(run.path, ".audit")
    audit.mkdir()
    audit.chmod(0o755)
    AuditFiles(run, 1).write_json("meta", {})
    assert audit.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("planted", ["file", "link"])
def test_an_audit_folder_that_is_none_is_refused(run: Folder, planted: str) -> None:
    place = Path(run.path, ".audit")
    place.write_bytes(b"") if planted == "file" else place.symlink_to(run.path.parent)
    files = AuditFiles(run, 1)
    for part in ("stdout", "stderr"):
        with pytest.raises(UnwrittenError, match="is not a directory"):
            files.write(part, lambda: [b""])
    assert (files.unwritten, files.parts) == (("stdout.1.log", "stderr.1.log"), ())
    (note,) = files.notes
    assert note.startswith("not written: stdout.1.log, stderr.1.log: ")
    with pytest.raises(BadRequestError, match="is not a directory"):
        AuditFiles(run, 1, {"stdout.1.log": ""}).read("stdout")
    place.unlink()
    files.write("stdout", lambda: [b""])
    assert files.unwritten == ("stderr.1.log",)


def test_what_is_expected_is_unwritten_until_it_is_written(run: Folder) -> None:
    files = AuditFiles(run, 1, unwritten=["fs-after.1.json"])
    files.expect(["stdout", "stderr"])
    files.write("stdout", lambda: [b""])
    assert (files.unwritten, files.notes) == (("fs-after.1.json", "stderr.1.log"), [])


def test_a_file_of_ours_may_take_the_place_of_its_earlier_self(run: Folder) -> None:
    files = AuditFiles(run, 1)
    files.write_json("meta", {"a": 1})
    files.write_json("meta", {"a": 2})
    assert (names(run), files.read("meta"), files.notes) == (["meta.1.json"], b'{"a":2}', [])


def test_a_run_directory_that_is_gone_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    with Folder(tmp_path / "gone") as run:
        (tmp_path / "gone").rmdir()
        with pytest.raises(StoreError, match=r"cannot write into .*\.audit") as caught:
            AuditFiles(run, 1).write("stdout", lambda: [b""])
    assert "is gone" in caught.value.hint


def test_changed_and_missing_files_are_told_apart(run: Folder) -> None:
    files = AuditFiles(run, 1)
    for part in ("stdin", "stdout", "stderr", "meta"):
        files.write(part, lambda: [b"as written"])
    audit = Path(run.path, ".audit")
    (audit / "stdin.1.log").unlink()
    (audit / "stdout.1.log").write_bytes(b"forged")
    (audit / "stderr.1.log").unlink()
    (audit / "stderr.1.log").mkdir()
    with open_audit(run) as folder:
        assert compared(folder, files.files) == (["stdout.1.log", "stderr.1.log"], ["stdin.1.log"])


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("meta.7.json", 7),
        ("fs-before.12.json", 12),
        (".stdout.7.log.0123456789abcdef", 7),
        ("stdout.7.log.found-01234567", 7),
        ("meta.999999999999.json", 999_999_999_999),
        ("meta.json", None),
        ("stdout.log", None),
        ("x.-9.log", None),
        ("x.٣.log", None),
        ("meta.07.json", None),
    ],
)
def test_a_number_is_found_in_the_name_of_a_file(run: Folder, name: str, number: int | None) -> None:
    Path(run.path, name).write_bytes(b"")
    assert numbers_in(run) == ({} if number is None else {name: number})
    assert is_temporary(name) == name.startswith(".")
