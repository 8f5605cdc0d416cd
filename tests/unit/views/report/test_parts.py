"""The parts: the files of the record, byte for byte, and never anything else."""

from __future__ import annotations

import errno
import gzip
import os
import re
from base64 import b64decode
from pathlib import Path

import pytest

from making import FINISHED, make_run, start
from resealing import reseal
from steno.bundle.blobs import open_blobs
from steno.bundle.folder import Folder
from steno.bundle.frames import KERNEL
from steno.evidence import canonical, layout
from steno.views.report import parts
from steno.views.report.extract import EXTRACT
from steno.views.report.parts import Parts, parts_of
from support.run_builder import Content, RunBuilder


def embedded(found: Parts) -> dict[str, bytes]:
    """What a browser finds in the elements, by path."""
    carried = {}
    for entry, block in zip(found.data["parts"], found.embedded(), strict=True):
        match = re.fullmatch(
            rb'<script type="text/plain" id="(part-\d+)">([A-Za-z0-9+/=]*)</script>\n', block
        )
        assert match
        assert match[1].decode() == entry["id"]
        carried[entry["path"]] = gzip.decompress(b64decode(match[2]))
    return carried


def files_of(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_a_page_carries_every_file_of_the_bundle_byte_for_byte(tmp_path: Path) -> None:
    run = make_run(tmp_path, tapes=[(layout.STDOUT, 5, b"hello \xff\x00")])
    with Folder(run) as folder:
        found = parts_of(folder)
        assert embedded(found) == files_of(run)
        assert [len(content) for content in embedded(found).values()] == [
            part["bytes"] for part in found.data["parts"]
        ]


def test_the_manifest_is_the_first_part_and_has_no_digest_of_its_own(tmp_path: Path) -> None:
    with Folder(make_run(tmp_path)) as folder:
        first, *others = parts_of(folder).data["parts"]
    assert (first["path"], first["sha256"]) == (layout.MANIFEST, None)
    assert all(part["sha256"] for part in others)


def test_a_tampered_file_is_carried_as_it_is_with_the_digest_that_was_sealed(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    with Folder(run) as folder:
        sealed = {part.path: part.sha256 for part in parts_of(folder).inside}
        (run / layout.STDOUT).write_bytes(b"forged")
        found = parts_of(folder)
        assert embedded(found)[layout.STDOUT] == b"forged"
        assert {part.path: part.sha256 for part in found.inside} == sealed


def test_what_the_manifest_does_not_name_stays_out(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / "added.html").write_text("mine")
    (run / "blobs.parquet").write_text("mine, under a name that a bundle may have")
    with Folder(run) as folder:
        assert not {"added.html", "blobs.parquet"} & set(embedded(parts_of(folder)))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (tmp_path / "secret").write_text("not of the record")
    (run / layout.STDOUT).unlink()
    (run / layout.STDOUT).symlink_to(tmp_path / "secret")
    with Folder(run) as folder:
        found = embedded(parts_of(folder))
    assert layout.STDOUT not in found
    assert b"not of the record" not in b"".join(found.values())


def test_a_file_that_is_too_large_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path, tapes=[(layout.STDOUT, 5, b"x" * 20_000)])
    with Folder(run) as folder:
        found = parts_of(folder, 19_999)
        assert layout.STDOUT in [part.path for part in parts_of(folder, 20_000).inside]
    left_out = {one["path"]: one for one in found.data["left_out"]}
    assert left_out[layout.STDOUT]["bytes"] == 20_000
    assert left_out[layout.STDOUT]["why"].startswith("larger than ")
    assert layout.STDOUT not in [part.path for part in found.inside]


def _with_contents(store: Path) -> Path:
    run = RunBuilder().process("sh").read("/big", b"read only " * 2_000)
    run.wrote("/made.bin", os.urandom(30_000))
    run.wrote("/src.txt", Content(b"two", secret=True), before=b"one")
    return run.seal(store)


def test_contents_of_changed_files_are_carried_where_all_contents_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _with_contents(tmp_path)
    monkeypatch.setattr(parts, "LARGEST", 20_000)
    with Folder(run) as folder:
        found = parts_of(folder, 20_000)
        whole = parts_of(folder, 1 << 20)
        without = parts_of(folder, 20_000, extract=False)
    assert layout.BLOBS in [one.path for one in found.left_out]
    (extract,) = (one for one in found.data["parts"] if one["path"] == EXTRACT)
    assert (extract["sha256"], extract["extract_of"]) == (None, layout.BLOBS)
    (content,) = (one.read() for one in found.inside if one.path == EXTRACT)
    assert len(content) == extract["bytes"]
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / layout.BLOBS).write_bytes(content)
    with Folder(tmp_path / "alone") as folder, open_blobs(folder) as blobs:
        assert sorted(blobs.keys()) == ["after:/src.txt", "before:/src.txt"]  # the larger one did not fit
        assert blobs.read("before:/src.txt") == b"one"
        assert blobs.is_encrypted("after:/src.txt")
    assert EXTRACT not in [one.path for one in (*whole.inside, *without.inside)]


def test_contents_that_cannot_be_read_give_no_extract(tmp_path: Path) -> None:
    run = _with_contents(tmp_path)
    (run / layout.BLOBS).write_bytes(b"x" * 30_000)
    reseal(run)
    with Folder(run) as folder:
        found = parts_of(folder, 20_000)
    assert EXTRACT not in [one.path for one in found.inside]
    assert layout.BLOBS in [one.path for one in found.left_out]


def test_the_health_of_a_run_that_goes_on_has_no_word_that_is_untrue(tmp_path: Path) -> None:
    run = make_run(tmp_path, start(), FINISHED[0], sealed=False)
    (run / layout.SPOOL / KERNEL).mkdir()
    (run / layout.SPOOL / KERNEL / "events-0").write_bytes(b"frames")
    with Folder(run) as folder:
        (told,) = (part.read() for part in parts_of(folder).inside if part.path == layout.HEALTH)
    found = canonical.decode(told)
    assert found["steno"]["kernel_layer"] == found["kernel_layer"] == "so far"
    assert found["steno"]["gaps"] == ["unsealed"]
    assert not [note for note in found["notes"] if note.startswith("kernel_layer_absent")]


def test_a_file_that_cannot_be_read_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Folder.open

    def refuse(folder: Folder, path: str, *, write: bool = False) -> int:
        if path == layout.STDOUT:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(folder, path, write=write)

    run = make_run(tmp_path)
    monkeypatch.setattr(Folder, "open", refuse)
    with Folder(run) as folder:
        found = parts_of(folder)
        assert embedded(found)  # the others are still there
    assert found.data["left_out"][0]["why"] == "it cannot be read: Permission denied"


@pytest.mark.parametrize("manifest", [None, b"{}", b"\xff"])
def test_without_a_manifest_only_names_of_a_bundle_are_carried(
    tmp_path: Path, manifest: bytes | None
) -> None:
    run = make_run(tmp_path)
    (run / "private.txt").write_text("mine")
    (run / layout.MANIFEST).unlink()
    if manifest is not None:
        (run / layout.MANIFEST).write_bytes(manifest)
    with Folder(run) as folder:
        found = embedded(parts_of(folder))
    assert found[layout.EVENTS] == (run / layout.EVENTS).read_bytes()
    assert layout.CAST in found
    assert "private.txt" not in found


def test_of_a_spool_it_carries_what_is_there_and_what_follows_from_it(tmp_path: Path) -> None:
    run = make_run(tmp_path, start(), FINISHED[0], tapes=[(layout.STDOUT, 5, b"hello\n")], sealed=False)
    with (run / layout.SPOOL / layout.EVENTS).open("ab") as events:
        events.write(b'{"data":{"torn')
    with Folder(run) as folder:
        found = parts_of(folder)
        carried = embedded(found)
    assert carried[layout.STDOUT] == b"hello\n"
    assert carried[layout.EVENTS].count(b"\n") == 2
    assert carried[layout.EVENTS].endswith(b"\n")
    assert b"hello" in carried[layout.CAST]
    assert all(part.sha256 is None for part in found.inside)


def test_a_spool_in_which_nothing_is_yet_gives_no_part(tmp_path: Path) -> None:
    (tmp_path / layout.SPOOL).mkdir()
    with Folder(tmp_path) as folder:
        assert parts_of(folder) == Parts([], [])
