"""The sweep: a secret that got into a spool does not get into a bundle."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from steno.bundle.blobs import BlobWriter
from steno.bundle.folder import Folder
from steno.bundle.seal import Sweeper, holds_secret, seal
from steno.bundle.verify import Status, verify
from steno.errors import SealError
from steno.evidence import canonical, index, layout
from steno.evidence.index import Arrival
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from support.frames_made import ABSENT, FakeFrames, Found
from support.kernel_tables import observed_spool, table_of
from support.sought import assert_nowhere, strings_of
from support.spools import RUN_ID, contents, small_spool

SECRET = b"ghp_" + b"0aB1" * 9
LITERAL = b"correct horse battery"


def plant(path: Path, data: bytes) -> None:
    """Put bytes into a spool file by a way that does not pass the redactor."""
    path.write_bytes(path.read_bytes() + data)


def plant_in_stream(spool: Path, data: bytes) -> None:
    plant(spool / layout.STDOUT, data)
    plant(spool / layout.index_of(layout.STDOUT), index.pack([Arrival(10**15, len(data))]))


def plant_in_event(spool: Path, data: bytes) -> None:
    lines = (spool / layout.EVENTS).read_bytes().splitlines(keepends=True)
    first = canonical.decode_line(lines[0])
    first["data"]["cmd_redacted"].append(data.decode())
    (spool / layout.EVENTS).write_bytes(b"".join([canonical.encode_line(first), *lines[1:]]))


def plant_in_patch(spool: Path, data: bytes) -> None:
    plant(spool / layout.DIFF, b"+" + data + b"\n")


def plant_in_changes(spool: Path, data: bytes) -> None:
    (spool / layout.CHANGES).write_bytes(canonical.encode([{"path": data.decode(), "status": "A"}]))


PLACES = [plant_in_stream, plant_in_event, plant_in_patch, plant_in_changes]


@pytest.mark.parametrize("planted", [SECRET, LITERAL], ids=["by-shape", "by-value"])
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_a_secret_in_a_spool_file_is_masked_before_it_is_sealed(
    tmp_path: Path, place: Any, planted: bytes
) -> None:
    small_spool(tmp_path / "run")
    place(tmp_path / "run/spool", planted)
    with Folder(tmp_path / "run") as folder:
        seal(folder, RUN_ID, Sweeper([LITERAL]))
        assert verify(folder).status is Status.VALID
    for path, data in contents(tmp_path / "run").items():
        assert planted not in data, path


def test_a_clean_spool_is_not_rewritten(tmp_path: Path) -> None:
    small_spool(tmp_path / "run")
    before = (tmp_path / "run/spool" / layout.DIFF).stat().st_ino
    with Folder(tmp_path / "run") as folder:
        seal(folder, RUN_ID, Sweeper([LITERAL]))
    assert (tmp_path / "run" / layout.DIFF).stat().st_ino == before


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_one_that_cannot_be_masked_fails_the_seal_and_the_spool_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Any
) -> None:
    def unchanged(_sweeper: Sweeper, _path: str, blocks: Iterable[bytes]) -> Iterator[bytes]:
        yield from blocks

    small_spool(tmp_path / "run")
    place(tmp_path / "run/spool", SECRET)
    monkeypatch.setattr(Sweeper, "masked", unchanged)
    with Folder(tmp_path / "run") as folder:
        with pytest.raises(SealError, match="call a secret"):
            seal(folder, RUN_ID, Sweeper())
        assert not folder.has(layout.MANIFEST)
        assert folder.has_folder(layout.SPOOL)
    outside = {
        path: data for path, data in contents(tmp_path / "run").items() if not path.startswith("spool/")
    }
    assert not [path for path, data in outside.items() if SECRET in data]


def test_the_sweep_tells_digest_size_and_rules() -> None:
    clean = Sweeper().sweep(layout.STDOUT, [b"plain ", b"text\n"])
    assert (clean.digest.bytes, clean.rules) == (11, [])
    found = Sweeper([LITERAL]).sweep(layout.STDOUT, [LITERAL[:5], LITERAL[5:]])
    assert len(found.rules) == 1
    numbers = Sweeper([LITERAL]).sweep(layout.INDEX, [LITERAL])
    assert numbers.rules == []
    assert numbers.digest == found.digest


def test_masking_keeps_lines_and_lengths() -> None:
    lines = [canonical.encode_line({"a": "x"}), canonical.encode_line({"a": LITERAL.decode()})]
    masked = b"".join(Sweeper([LITERAL]).masked(layout.EVENTS, [b"".join(lines)[:9], b"".join(lines)[9:]]))
    assert masked.startswith(lines[0])
    assert LITERAL not in masked
    assert canonical.decode(masked.splitlines()[0]) == {"a": "x"}
    stream = b"".join(Sweeper([LITERAL]).masked(layout.STDOUT, [b"a ", LITERAL, b" b"]))
    assert stream == b"a " + b"*" * len(LITERAL) + b" b"


def test_every_file_is_read_for_secrets_but_the_index_and_what_is_compressed() -> None:
    found = {
        path
        for path in layout.EVIDENCE_FILES
        if Sweeper([LITERAL]).sweep(path, [canonical.encode([LITERAL.decode()])]).rules
    }
    assert {*layout.EVIDENCE_FILES} - found == {layout.INDEX, layout.KERNEL_TABLE, layout.BLOBS}


@pytest.mark.parametrize(
    "literal", ['quo"ted secret', "back\\slash secret", "two\nlines of secret", "caf\u00e9 secret"]
)
@pytest.mark.parametrize("cut", [1, 7, 1000])
def test_a_secret_is_found_in_json_however_it_is_written_and_cut(literal: str, cut: int) -> None:
    data = b"".join(
        canonical.encode_line({"path": f"/{word}", "n": 1}) for word in ("plain", literal, "x" * 30, "other")
    )
    sweeper = Sweeper([literal.encode()])
    blocks = [data[at : at + cut] for at in range(0, len(data), cut)]
    assert sweeper.sweep("a.ndjson", blocks).rules
    assert not Sweeper([b"something else"]).sweep("a.ndjson", blocks).rules


def test_a_line_that_begins_like_a_netrc_entry_is_found_in_json() -> None:
    line = canonical.encode_line({"text": "password Tr0ub4dor-and-3-more"})
    expected = Sweeper().sweep("a.txt", [b"password Tr0ub4dor-and-3-more\n"]).rules
    assert Sweeper().sweep("a.ndjson", [line]).rules == expected


def test_a_secret_is_found_among_many_strings_of_one_line() -> None:
    names = [f"/usr/share/file {number}" for number in range(5000)]
    told = canonical.encode({"files": [{"path": name, "size": 3} for name in names]})
    blocks = [told[at : at + 1000] for at in range(0, len(told), 1000)]
    assert Sweeper([LITERAL]).sweep("files.json", blocks).rules == []
    names[3210] = f"/{LITERAL.decode()}"
    told = canonical.encode({"files": [{"path": name, "size": 3} for name in names]})
    blocks = [told[at : at + 1000] for at in range(0, len(told), 1000)]
    assert len(Sweeper([LITERAL]).sweep("files.json", blocks).rules) == 1


@pytest.mark.parametrize("data", [SECRET, b'{"a":"b"} ' + SECRET, b'{"a":"' + SECRET, b"{'a':'b'}"])
def test_what_is_not_json_is_refused_and_not_passed_over(data: bytes) -> None:
    with pytest.raises(canonical.NotCanonicalError):
        Sweeper().sweep("a.json", [data])


def test_a_secret_that_only_the_compressed_tables_hold_is_masked_before_they_are_sealed(
    tmp_path: Path,
) -> None:
    made = FakeFrames().process()
    made.exec("/bin/echo", ["echo", LITERAL])
    made.event("open", b"/tmp/" + LITERAL, state=Found(target=LITERAL.decode()))
    made.event("open", "/tmp/other", state=ABSENT)
    observed_spool(tmp_path / "run", made)
    table = tmp_path / "run" / layout.SPOOL / layout.KERNEL_TABLE
    assert LITERAL in strings_of(table.read_bytes())
    before = pq.read_table(table).to_pylist()
    with Folder(tmp_path / "run") as run:
        seal(run, RUN_ID, Sweeper([LITERAL]))
        assert verify(run).status is not Status.INVALID
    assert_nowhere([LITERAL], tmp_path / "run")
    after = pq.read_table(tmp_path / "run" / layout.KERNEL_TABLE).to_pylist()
    secret = {"path", "resolved", "extra", "target"}
    assert [{k: v for k, v in row.items() if k not in secret} for row in after] == [
        {k: v for k, v in row.items() if k not in secret} for row in before
    ]
    assert after[2]["path"] == b"/tmp/" + b"*" * len(LITERAL)
    assert after[3] == before[3]


def test_a_secret_in_the_key_of_a_kept_content_is_not_sealed(tmp_path: Path) -> None:
    small_spool(tmp_path / "run")
    with Folder(tmp_path / "run" / layout.SPOOL) as spool:
        writer = BlobWriter(spool, bytes(32))
        writer.add("before:/tmp/" + LITERAL.decode(), b"content", secret=False)
        writer.close()
    with Folder(tmp_path / "run") as run, pytest.raises(SealError, match=r"blobs\.parquet still holds"):
        seal(run, RUN_ID, Sweeper([LITERAL]))
    assert not (tmp_path / "run" / layout.MANIFEST).exists()


def test_a_secret_in_the_key_that_a_row_names_is_found_in_the_table() -> None:
    made = FakeFrames().process()
    made.event("unlink", "/a", state=Found(size=3, blob=made.blob(b"old"), content="kept"))
    redactor = Redactor(findings=Findings(), literals=[LITERAL])
    for key, found in (("before:/a", False), (f"before:/{LITERAL.decode()}", True)):
        table = io.BytesIO(table_of(made, blobs={1: key}))
        assert holds_secret(layout.KERNEL_TABLE, table, redactor) is found
