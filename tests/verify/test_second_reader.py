"""`docs/examples/read_record.py`, a second reader made from the pages alone, finds what Steno finds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from steno.bundle import manifest as manifests
from steno.evidence import canonical, layout
from support.observers import STOPPING, observers
from support.program import SECONDS, Steno
from support.reading import unpack
from support.recorded import only_run
from support.resealing import files_of, reseal

ROOT = Path(__file__).parents[2]
READER = ROOT / "docs" / "examples" / "read_record.py"
GOLDEN = ROOT / "tests" / "golden" / "v2"
PACKS = sorted(GOLDEN.glob("*.tar.gz"))
OTHER_PYTHON = Path("/usr/bin/python3")
LETTERS = {"created": "A", "deleted": "D", "modified": "M"}
SCRIPT = """
echo out; echo err >&2; cat
echo more >> kept.txt; echo new > made.txt; rm other.txt; mv moved.txt there.txt
cat kept.txt > /dev/null; mkdir below; echo 1 > below/gone; rm -r below; echo same > same.txt
chmod 600 mode.txt; ln -s made.txt link; ln -sfn there.txt old-link; touch -d 2001-01-01 dated.txt
: > "$(printf 'not \\377 utf-8')"
"""
INPUT = b"typed\n"


def read(bundle: Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-W", "error", READER, bundle], capture_output=True, timeout=SECONDS, check=False
    )


def answer(bundle: Path) -> tuple[int, str]:
    """Its exit code, and the first word that it says."""
    done = read(bundle)
    assert done.stderr == b""
    return done.returncode, done.stdout.split(b" ")[0].decode()


def put_manifest(run: Path, **changed: object) -> None:
    told = json.loads((run / layout.MANIFEST).read_bytes()) | changed
    (run / layout.MANIFEST).write_bytes(canonical.encode(told))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    for name in ("kept", "other", "moved", "same", "mode", "dated"):
        (path / f"{name}.txt").write_text(f"{name}\n")
    (path / "old-link").symlink_to("kept.txt")
    return path


@pytest.fixture
def run(steno: Steno, store: Path, work: Path) -> Path:
    """A small record without a table."""
    done = steno("run", "--observer", "none", "--", "sh", "-c", "echo out; cat", cwd=work, input=INPUT)
    assert done.returncode == 0
    return only_run(store).path


@pytest.mark.parametrize("observer", observers())
def test_it_finds_a_record_valid_and_the_same_files_changed(
    steno: Steno, store: Path, work: Path, observer: str
) -> None:
    done = steno("run", "--observer", observer, "--", "sh", "-c", SCRIPT, cwd=work, input=INPUT)
    assert done.returncode == 0, done.stderr
    recorded = only_run(store)
    said = read(recorded.path)
    assert (said.returncode, said.stderr) == (0, b"")
    first, *lines = said.stdout.decode().splitlines()
    assert first == f"valid {recorded.path.name}"
    expected = {
        f"{LETTERS[file['change']]} {file['path']}"
        for file in recorded.json(layout.FILES)["files"]
        if file["change"] in LETTERS and file["path"].startswith(f"{work}/") and "path_b64" not in file
    }
    names = ("kept.txt", "other.txt", "moved.txt", "made.txt", "there.txt", "link", "old-link")
    seen = {line.rpartition("/")[2] for line in expected}
    assert "made.txt" in seen
    if observer in STOPPING:  # who looks after the call knows less of what was before
        assert seen == {*names}
    told = {line for line in lines if f" {work}/" in line and "utf-8" not in line}
    assert {line for line in told if line[0] in LETTERS.values()} == expected
    assert f"A {work}/not \\udcff utf-8" in lines


def test_a_packed_record_is_read_like_its_folder(steno: Steno, run: Path, tmp_path: Path) -> None:
    pack = tmp_path / "run.tar.gz"
    assert steno("pack", str(run), "-o", str(pack)).returncode == 0
    assert read(pack).stdout == read(run).stdout
    pack.write_bytes(pack.read_bytes()[:-100])
    assert answer(pack)[0] == 2


@pytest.mark.skipif(
    not OTHER_PYTHON.exists() or OTHER_PYTHON.resolve().name != f"python3.{sys.version_info.minor}",
    reason="there is no other Python of this minor version that could use the same pyarrow",
)
def test_the_python_of_the_system_reads_a_packed_record_too() -> None:
    """Debian 12 has 3.11.2, whose tarfile and shutil have no filters."""
    place = {"PYTHONPATH": sysconfig.get_path("platlib"), "PATH": os.defpath}
    pack = GOLDEN / "notify.tar.gz"
    words = [str(OTHER_PYTHON), "-W", "error", str(READER), str(pack)]
    said = subprocess.run(words, capture_output=True, timeout=SECONDS, check=False, env=place)
    assert (said.returncode, said.stdout, said.stderr) == (0, read(pack).stdout, b"")


@pytest.mark.parametrize("name", ["../beside", "/tmp/steno-beside", "evidence/../../beside", "evidence/link"])
def test_nothing_of_a_pack_is_put_beside_its_folder(run: Path, tmp_path: Path, name: str) -> None:
    pack = tmp_path / "run.tar.gz"
    with tarfile.open(pack, "w:gz") as packed:
        for path in files_of(run):
            packed.add(run / path, path)
        member = tarfile.TarInfo(name)
        member.type = tarfile.SYMTYPE if name.endswith("link") else tarfile.REGTYPE
        member.linkname = "/etc/hostname" * name.endswith("link")
        packed.addfile(member)
    assert answer(pack) == (1, "invalid:")
    assert not (tmp_path / "beside").exists()
    assert not Path("/tmp/steno-beside").exists()


def _change_a_byte(run: Path, name: str) -> None:
    data = bytearray((run / name).read_bytes())
    data[len(data) // 2] ^= 1
    (run / name).write_bytes(data)


def _link_a_file(run: Path) -> None:
    stdout = run / layout.STDOUT
    stdout.rename(run.parent / "elsewhere")
    stdout.symlink_to(run.parent / "elsewhere")


def _link_a_folder(run: Path) -> None:
    folder = (run / layout.STDOUT).parent
    folder.rename(run.parent / "elsewhere")
    folder.symlink_to(run.parent / "elsewhere")


def _write_it_another_way(run: Path) -> None:
    path = run / layout.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_bytes())))


def _spill_a_byte(run: Path) -> None:
    (run / layout.STDOUT).write_bytes((run / layout.STDOUT).read_bytes() + b"!")
    reseal(run)


def _drop_an_event(run: Path) -> None:
    lines = (run / layout.EVENTS).read_bytes().splitlines(keepends=True)
    (run / layout.EVENTS).write_bytes(b"".join(lines[:2] + lines[3:]))
    reseal(run)


TAMPERED: dict[str, Callable[[Path], object]] = {
    "a file that was added": lambda run: (run / layout.EVIDENCE / "more").write_bytes(b"more"),
    "a file beside the evidence": lambda run: (run / "run.json").write_bytes(b"{}"),
    "an empty folder": lambda run: (run / layout.EVIDENCE / "empty").mkdir(),
    "a pipe": lambda run: os.mkfifo(run / layout.EVIDENCE / "pipe"),
    "a missing file": lambda run: (run / layout.STDOUT).unlink(),
    "a file that is a link": _link_a_file,
    "a folder that is a link": _link_a_folder,
    "a manifest with another run": lambda run: put_manifest(run, run_id="2026-01-01T00-00-00-000Z_00000000"),
    "a manifest with another root": lambda run: put_manifest(run, root="0" * 64),
    "a manifest with other files": lambda run: put_manifest(run, files={}),
    "a manifest that is not canonical": _write_it_another_way,
    "a manifest that is none": lambda run: (run / layout.MANIFEST).write_bytes(b"[]"),
    "a byte that no index covers": _spill_a_byte,
    "an event that is gone": _drop_an_event,
}


@pytest.mark.parametrize("how", TAMPERED)
def test_what_was_tampered_with_is_invalid_to_both(steno: Steno, run: Path, how: str) -> None:
    assert answer(run) == (0, "valid")
    TAMPERED[how](run)
    assert answer(run) == (1, "invalid:")
    assert steno("verify", str(run)).returncode == 1


@pytest.mark.parametrize("name", [layout.KERNEL_TABLE, layout.FILE_LINES])
def test_a_table_that_was_taken_out_of_bundle_and_manifest_together_is_missed(
    steno: Steno, tmp_path: Path, name: str
) -> None:
    unpack(GOLDEN / "notify.tar.gz", tmp_path / "run")
    assert answer(tmp_path / "run") == (0, "valid")
    (tmp_path / "run" / name).unlink()
    reseal(tmp_path / "run")
    assert answer(tmp_path / "run") == (1, "invalid:")
    assert steno("verify", str(tmp_path / "run")).returncode == 1


def test_a_manifest_that_is_too_deep_is_invalid(run: Path) -> None:
    (run / layout.MANIFEST).write_bytes(b"[" * 200_000)
    assert answer(run) == (1, "invalid:")


def test_a_changed_byte_of_any_file_is_found(run: Path) -> None:
    for name in files_of(run):
        before = (run / name).read_bytes()
        _change_a_byte(run, name)
        assert answer(run)[0] != 0, name
        (run / name).write_bytes(before)
    assert answer(run) == (0, "valid")


def test_a_newer_format_is_told_as_such_and_not_as_invalid(steno: Steno, run: Path) -> None:
    put_manifest(run, format=99)
    said = read(run)
    assert said.returncode == 2
    assert b"made by a newer Steno" in said.stdout
    verified = steno("verify", str(run))
    assert verified.returncode == 4
    assert b"made by a newer Steno" in verified.stdout + verified.stderr


def test_an_older_format_and_what_is_no_record_are_not_readable(run: Path, tmp_path: Path) -> None:
    assert answer(ROOT / "tests" / "golden" / "v1" / "pipes.tar.gz") == (2, "not")
    assert answer(tmp_path) == (2, "not")
    assert answer(tmp_path / "nothing") == (2, "not")
    assert answer(READER) == (2, "not")
    (run / layout.MANIFEST).unlink()
    assert answer(run) == (2, "not")


def test_what_a_newer_steno_adds_to_the_format_is_passed_over(steno: Steno, run: Path) -> None:
    """A kind of event, a field, a file of evidence, a stream, a field of the manifest: valid to both."""
    lines = [json.loads(line) for line in (run / layout.EVENTS).read_bytes().splitlines()]
    lines.insert(1, {**lines[1], "type": "of_a_newer_steno", "data": {"any": ["thing"]}})
    lines[0]["data"]["of_a_newer_steno"] = {"more": 1}
    events = (canonical.encode_line({**line, "seq": number}) for number, line in enumerate(lines))
    (run / layout.EVENTS).write_bytes(b"".join(events))
    (run / layout.EVIDENCE / "of-a-newer-steno").write_bytes(b"anything")
    index = (run / layout.INDEX).read_bytes()
    (run / layout.INDEX).write_bytes(index + index[-16:-4] + (1000).to_bytes(4, "little"))
    reseal(run)
    manifest = manifests.parse((run / layout.MANIFEST).read_bytes())
    body = {"files": manifest.files, "format": 2, "run_id": manifest.run_id, "of_a_newer_steno": True}
    put_manifest(run, of_a_newer_steno=True, root=manifests._root(body))  # noqa: SLF001 - no writer adds one
    assert answer(run) == (0, "valid")
    assert steno("verify", str(run)).returncode == 0


@pytest.mark.parametrize("pack", PACKS, ids=lambda path: path.name)
def test_a_golden_record_is_valid(pack: Path) -> None:
    assert answer(pack) == (0, "valid")
    with tarfile.open(pack) as packed:
        (events,) = (packed.extractfile(one) for one in packed if one.name == layout.EVENTS)
        assert events is not None
        gaps = [line for line in map(json.loads, events) if line["type"] == "gap"]
    assert read(pack).stdout.count(b"\ngap ") >= len(gaps)


def test_it_is_short_and_knows_nothing_of_steno() -> None:
    text = READER.read_text()
    assert len(text.splitlines()) <= 150
    assert not re.search(r"^\s*(?:from|import) steno", text, re.MULTILINE)


def test_there_are_golden_records_where_there_is_a_folder_for_them() -> None:
    assert bool(PACKS) == GOLDEN.is_dir()
