"""The parts: the evidence byte for byte, what was concluded from it, and never anything else."""

from __future__ import annotations

import errno
import gzip
import hashlib
import os
import re
from base64 import b64decode
from pathlib import Path

import pytest

from steno import __version__
from steno.bundle.blobs import open_blobs
from steno.bundle.folder import Folder
from steno.bundle.lock import KERNEL
from steno.evidence import canonical, layout
from steno.judge.rules import RULES
from steno.model import table_documents
from steno.model.run import Run
from steno.model.runs import open_path
from steno.report import parts
from steno.report.parts import EXTRACT, JUDGED, Parts, parts_of
from support.documents import of_folder
from support.making import FINISHED, make_run, start
from support.reading import opened
from support.resealing import files_of, reseal
from support.run_builder import Content, RunBuilder

GOLDEN = Path(__file__).parents[1] / "golden" / "v1"
BLOBS = "blobs.parquet"
FILES = table_documents.path_of("files")
WRITTEN = [(layout.STDOUT, 5, b"true")]


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


def test_a_page_carries_every_file_of_the_bundle_byte_for_byte(tmp_path: Path) -> None:
    run = make_run(tmp_path, tapes=[(layout.STDOUT, 5, b"hello \xff\x00")])
    with opened(run) as folder:
        found = parts_of(folder)
        carried = embedded(found)
    sealed = {part["path"]: part["sealed_as"] for part in found.data["parts"] if part["path"] not in JUDGED}
    assert sealed["terminal/stdout"] == layout.STDOUT
    assert {name: carried[path] for path, name in sealed.items()} == {
        name: (run / name).read_bytes() for name in files_of(run)
    }
    assert [len(content) for content in carried.values()] == [part["bytes"] for part in found.data["parts"]]


def test_what_was_concluded_is_carried_beside_it_with_whose_word_it_is(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").wrote("/src", b"two", before=b"one").seal(tmp_path)
    with opened(run) as folder:
        found = parts_of(folder)
        judged = of_folder(folder.folder)
        concluded = {path: content for path, content in embedded(found).items() if path in JUDGED}
        assert concluded == {
            path: b"".join(table_documents.read(judged, path))
            if path in table_documents.PATHS
            else judged.read_all(path, 1 << 20)
            for path in concluded
        }
    assert {layout.RUN, layout.CAST, *table_documents.PATHS} < set(concluded)
    assert found.data["judgement"] == {
        "rules": RULES,
        "steno": __version__,
        "root": canonical.decode((run / layout.MANIFEST).read_bytes())["root"],
        "files": {path: hashlib.sha256(content).hexdigest() for path, content in concluded.items()},
    }
    told = [part for part in found.data["parts"] if part["path"] in concluded]
    assert not [part for part in told if "sealed_as" in part]


def test_a_record_of_format_1_is_carried_under_the_names_of_today_without_its_old_conclusions() -> None:
    with Run(open_path(GOLDEN / "split-terminal.tar.gz")) as run:
        folder = run.folder
        found = parts_of(run)
        carried = embedded(found)
        told = {part["path"]: part for part in found.data["parts"]}
        for path, part in told.items():
            if "sealed_as" in part:
                assert carried[path] == b"".join(folder.read(part["sealed_as"]))
        assert carried[layout.RUN] != b"".join(folder.read("run.json"))
    assert told["syscalls.parquet"]["sealed_as"] == "layers/kernel.parquet"
    assert told["terminal/output.idx"]["sealed_as"] == "terminal/output.idx"
    header = carried["terminal/output"][: told["terminal/output"]["skip"]]
    assert header.startswith(b"Script started, recorded by steno as ")
    assert header.endswith(b"\n")
    assert "terminal/session.cast" not in told


def test_evidence_of_a_newer_steno_takes_the_name_of_nothing_else(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / layout.EVIDENCE / layout.RUN).write_bytes(b"{}")
    (run / layout.EVIDENCE / "new.bin").write_bytes(b"new")
    reseal(run)
    with opened(run) as folder:
        carried = embedded(parts_of(folder))
    assert carried["new.bin"] == b"new"
    assert carried[f"{layout.EVIDENCE}/{layout.RUN}"] == b"{}"
    assert canonical.decode(carried[layout.RUN])["command"] == ["make", "test"]


def test_the_manifest_is_the_first_part_and_has_no_digest_of_its_own(tmp_path: Path) -> None:
    with opened(make_run(tmp_path)) as folder:
        first, *others = parts_of(folder).data["parts"]
    assert (first["path"], first["sha256"]) == (layout.MANIFEST, None)
    assert all(part["sha256"] for part in others)


def test_a_tampered_file_is_carried_as_it_is_with_the_digest_that_was_sealed(tmp_path: Path) -> None:
    run = make_run(tmp_path, tapes=WRITTEN)
    with opened(run) as folder:
        sealed = {part.path: part.sha256 for part in parts_of(folder).inside if part.sealed_as}
        (run / layout.STDOUT).write_bytes(b"forged")
        found = parts_of(folder)
        assert embedded(found)["terminal/stdout"] == b"forged"
        assert {part.path: part.sha256 for part in found.inside if part.sealed_as} == sealed


def test_what_the_manifest_does_not_name_stays_out(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    (run / "added.html").write_text("mine")
    (run / layout.BLOBS).write_text("mine, under a name that a bundle may have")
    with opened(run) as folder:
        assert not {"added.html", "blobs.parquet"} & set(embedded(parts_of(folder)))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    run = make_run(tmp_path, tapes=WRITTEN)
    (tmp_path / "secret").write_text("not of the record")
    (run / layout.STDOUT).unlink()
    (run / layout.STDOUT).symlink_to(tmp_path / "secret")
    with opened(run) as folder:
        found = embedded(parts_of(folder))
    assert "terminal/stdout" not in found
    assert b"not of the record" not in b"".join(found.values())


def test_a_file_that_is_too_large_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path, tapes=[(layout.STDOUT, 5, b"x" * 20_000)])
    with opened(run) as folder:
        found = parts_of(folder, 19_999)
        assert "terminal/stdout" in [part.path for part in parts_of(folder, 20_000).inside]
    left_out = {one["path"]: one for one in found.data["left_out"]}
    assert left_out["terminal/stdout"]["bytes"] == 20_000
    assert left_out["terminal/stdout"]["why"].startswith("larger than ")
    assert "terminal/stdout" not in [part.path for part in found.inside]


def test_a_conclusion_that_is_too_large_is_named_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(tmp_path, tapes=[(layout.STDOUT, 5, b"x" * 20_000)])
    monkeypatch.setattr(parts, "LARGEST", 19_999)
    with opened(run) as folder:
        found = parts_of(folder, 20_000)
    assert [(one.path, one.size) for one in found.left_out] == [(layout.CAST, None)]
    assert layout.CAST not in found.data["judgement"]["files"]


def test_a_conclusion_that_cannot_be_made_is_named_with_the_reason(tmp_path: Path) -> None:
    run = RunBuilder().process("sh").wrote("/src", b"two", before=b"one").seal(tmp_path)
    (run / layout.FILE_LINES).unlink()
    with opened(run) as folder:
        found = parts_of(folder)
    (left_out,) = (one for one in found.left_out if one.path == FILES)
    assert left_out.why == f"it cannot be made: {layout.FILE_LINES}: No such file or directory"
    assert layout.RUN in found.data["judgement"]["files"]


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
    with opened(run) as folder:
        found = parts_of(folder, 20_000)
        whole = parts_of(folder, 1 << 20)
        without = parts_of(folder, 20_000, extract=False)
    assert BLOBS in [one.path for one in found.left_out]
    (extract,) = (one for one in found.data["parts"] if one["path"] == EXTRACT)
    assert (extract["sha256"], extract["extract_of"]) == (None, BLOBS)
    (content,) = (one.read() for one in found.inside if one.path == EXTRACT)
    assert len(content) == extract["bytes"]
    (tmp_path / "alone" / layout.EVIDENCE).mkdir(parents=True)
    (tmp_path / "alone" / layout.BLOBS).write_bytes(content)
    with Folder(tmp_path / "alone") as alone, open_blobs(alone) as blobs:
        assert sorted(blobs.keys()) == ["after:/src.txt", "before:/src.txt"]  # the larger one did not fit
        assert blobs.read("before:/src.txt") == b"one"
        assert blobs.is_encrypted("after:/src.txt")
    assert EXTRACT not in [one.path for one in (*whole.inside, *without.inside)]


def test_contents_that_cannot_be_read_give_no_extract(tmp_path: Path) -> None:
    run = _with_contents(tmp_path)
    (run / layout.BLOBS).write_bytes(b"x" * 30_000)
    reseal(run)
    with opened(run) as folder:
        found = parts_of(folder, 20_000)
    assert EXTRACT not in [one.path for one in found.inside]
    assert BLOBS in [one.path for one in found.left_out]


def test_the_health_of_a_run_that_goes_on_has_no_word_that_is_untrue(tmp_path: Path) -> None:
    run = make_run(tmp_path, start(), FINISHED[0], sealed=False)
    (run / layout.SPOOL / KERNEL).mkdir()
    (run / layout.SPOOL / KERNEL / "events-0").write_bytes(b"frames")
    with opened(run) as folder:
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
        if path == layout.STDOUT and folder.path == run:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(folder, path, write=write)

    run = make_run(tmp_path, tapes=WRITTEN)
    monkeypatch.setattr(Folder, "open", refuse)
    with opened(run) as folder:
        found = parts_of(folder)
        assert "events.ndjson" in embedded(found)  # the others are still there
    why = {one["path"]: one["why"] for one in found.data["left_out"]}
    assert why["terminal/stdout"] == "it cannot be read: Permission denied"
    assert why[layout.CAST] == f"it cannot be made: {layout.STDOUT}: Permission denied"


@pytest.mark.parametrize("manifest", [None, b"{}", b"\xff"])
def test_without_a_manifest_only_names_of_a_bundle_are_carried(
    tmp_path: Path, manifest: bytes | None
) -> None:
    run = make_run(tmp_path)
    (run / "private.txt").write_text("mine")
    (run / layout.MANIFEST).unlink()
    if manifest is not None:
        (run / layout.MANIFEST).write_bytes(manifest)
    with opened(run) as folder:
        found = embedded(parts_of(folder))
    assert found["events.ndjson"] == (run / layout.EVENTS).read_bytes()
    assert layout.CAST in found
    assert "private.txt" not in found


def test_of_a_spool_it_carries_what_is_there_and_what_follows_from_it(tmp_path: Path) -> None:
    run = make_run(tmp_path, start(), FINISHED[0], tapes=[(layout.STDOUT, 5, b"hello\n")], sealed=False)
    with (run / layout.SPOOL / layout.EVENTS).open("ab") as events:
        events.write(b'{"data":{"torn')
    with opened(run) as folder:
        found = parts_of(folder)
        carried = embedded(found)
    assert carried["terminal/stdout"] == b"hello\n"
    assert carried["terminal/stdout.idx"]
    assert carried["events.ndjson"].count(b"\n") == 2
    assert carried["events.ndjson"].endswith(b"\n")
    assert b"hello" in carried[layout.CAST]
    tables = {path for path in carried if path in table_documents.PATHS}
    assert tables == {table_documents.path_of(name) for name in ("calls", "checks", "claims", "effects")}
    assert all(part.sealed_as is None for part in found.inside)
    assert found.data["judgement"]["root"] is None


def test_a_spool_in_which_nothing_is_yet_gives_no_part(tmp_path: Path) -> None:
    (tmp_path / layout.SPOOL).mkdir()
    with opened(tmp_path) as folder:
        assert parts_of(folder) == Parts([], [])
