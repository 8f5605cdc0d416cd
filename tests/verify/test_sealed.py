"""What is read of a sealed bundle is what was sealed: of every format, whoever changed it since."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import steno as steno_module
from steno.bundle import judgement_cache
from steno.bundle.folder import Folder
from steno.bundle.reader import NotAsSealedError, open_sealed
from steno.errors import UnreadableBundleError
from steno.evidence import layout
from support.program import Steno
from support.reading import unpack
from support.run_builder import RUN_ID, RunBuilder

GOLDEN = Path(__file__).parents[1] / "golden"


def a_run(store: Path) -> Path:
    return (
        RunBuilder("make").process("make").wrote("/w/a", b"after", before=b"before").printed("x").seal(store)
    )


@pytest.fixture(params=["v1", "v2"])
def bundle(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpack(GOLDEN / request.param / "both.tar.gz", tmp_path / "run")


def read_whole(run: Path) -> Iterator[bytes]:
    with Folder(run) as folder:
        _, found = open_sealed(folder)
        for path in filter(found.has, layout.EVIDENCE_FILES):
            yield from found.read(path)


def test_every_file_of_an_untouched_bundle_of_any_format_is_given(bundle: Path) -> None:
    assert b"".join(read_whole(bundle))


def test_no_changed_byte_of_the_evidence_of_any_format_is_given(bundle: Path) -> None:
    with Folder(bundle) as folder:
        found = open_sealed(folder)[1]
        places = [
            os.fsdecode(Path(f"/proc/self/fd/{found.open(path)}").readlink())
            for path in filter(found.has, layout.EVIDENCE_FILES)
        ]
    for place in map(Path, places):
        whole = place.read_bytes()
        for changed in (whole[:-1], whole + b"x", b"\0" * len(whole)):
            place.write_bytes(changed)
            with pytest.raises(NotAsSealedError, match=r"not as it was sealed"):
                list(read_whole(bundle))
        place.write_bytes(whole)
    assert list(read_whole(bundle))


def test_a_file_that_was_taken_out_is_missed_and_not_taken_for_one_that_never_was(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    (run / layout.BLOBS).unlink()
    with Folder(run) as folder:
        _, found = open_sealed(folder)
        assert found.has(layout.BLOBS)
        with pytest.raises(NotAsSealedError, match=r"blobs.parquet is missing"):
            found.open(layout.BLOBS)


def test_a_file_that_was_put_in_is_not_there(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    (run / layout.CLAIMS).write_bytes(b"planted")
    with Folder(run) as folder:
        assert not open_sealed(folder)[1].has(layout.CLAIMS)


def test_a_manifest_whose_root_is_not_its_own_opens_nothing(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    root = open_sealed(Folder(run))[0].root
    manifest = run / layout.MANIFEST
    manifest.write_bytes(manifest.read_bytes().replace(root.encode(), b"0" * 64))
    with Folder(run) as folder, pytest.raises(NotAsSealedError, match="root"):
        open_sealed(folder)


def test_a_file_that_is_changed_after_it_was_read_is_not_given_again(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    with Folder(run) as folder:
        _, found = open_sealed(folder)
        whole = b"".join(found.read(layout.EVENTS))
        (run / layout.EVENTS).write_bytes(whole.replace(b"make", b"fake"))
        with pytest.raises(NotAsSealedError):
            list(found.read(layout.EVENTS))


def test_a_harmed_content_stops_no_command_that_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what is concluded is kept, by what all files are."""
    monkeypatch.setattr(judgement_cache, "WORTH_KEEPING", 0)
    run = a_run(tmp_path)
    (run / layout.BLOBS).write_bytes(b"another")
    with steno_module.open(run) as opened:
        assert [file.path for file in opened.changes] == ["/w/a"]
        with pytest.raises(UnreadableBundleError, match=r"blobs.parquet is not as it was sealed"):
            opened.content(opened.file("/w/a").after)


READING = ["show", "tree", "files", "net", "events", "calls", "surface", "play", "tail"]


@pytest.mark.parametrize("name", [layout.EVENTS, layout.KERNEL_TABLE, layout.FILE_LINES, layout.CLAIMS])
def test_no_command_shows_what_was_changed_after_the_seal(steno: Steno, tmp_path: Path, name: str) -> None:
    """Each fails, or needs nothing of that file and says what it says of the untouched bundle."""
    bundle = unpack(GOLDEN / "v2" / "mcp-policy.tar.gz", tmp_path / "run")
    before = {command: steno(command, bundle, "--json") for command in READING}
    whole = (bundle / name).read_bytes()
    (bundle / name).write_bytes(whole[:-9] + b"x" + whole[-8:])
    failed = 0
    for command in READING:
        done = steno(command, bundle, "--json")
        assert b"Traceback" not in done.stderr
        assert done.returncode == 4 or done.stdout == before[command].stdout
        failed += done.returncode == 4
        assert done.returncode != 4 or b"steno verify" in done.stderr
    assert failed


def test_a_report_of_what_was_changed_shows_it_below_the_verdict(steno: Steno, tmp_path: Path) -> None:
    run = a_run(tmp_path)
    (run / layout.STDOUT).write_bytes(b"y")
    done = steno("report", run, "-o", tmp_path / "page.html")
    assert b"invalid" in done.stderr
    assert b"Invalid" in (tmp_path / "page.html").read_bytes()


def test_a_record_that_was_changed_is_a_damaged_row_of_the_list(steno: Steno, store: Path) -> None:
    store.mkdir()
    run = a_run(store)
    assert b"sealed" in steno("list").stdout
    (run / layout.EVENTS).write_bytes((run / layout.EVENTS).read_bytes().replace(b'"make"', b'"fake"'))
    listed = steno("list").stdout
    assert b"damaged" in listed
    assert b"fake" not in listed


def test_a_record_of_a_newer_steno_is_listed_as_that(steno: Steno, store: Path) -> None:
    store.mkdir()
    manifest = a_run(store) / layout.MANIFEST
    manifest.write_bytes(manifest.read_bytes().replace(b'"format":2', b'"format":99'))
    listed = steno("list").stdout.decode()
    assert RUN_ID in listed
    assert "made by a newer Steno" in listed
    assert "damaged" not in listed
