"""The archive of assay-runner: its bytes around the files, its manifest, and where it is put."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

import pytest

from steno.contracts.assay import archive
from steno.contracts.assay import manifest as assay_manifest
from steno.contracts.assay.documents import SCHEMAS
from steno.errors import BadRequestError, StoreError
from steno.evidence import layout
from steno.judge import rules
from support.assay_archives import exported, lines_in, sealed_run, taken_apart
from support.frames_made import FakeFrames, Found
from support.recorded import Recorded
from support.spools import RUN_ID

FILES = [
    "manifest.json",
    "capability-surface.json",
    "correlation-report.json",
    "events.ndjson",
    "layers/kernel.ndjson",
    "layers/policy.ndjson",
    "layers/sdk.ndjson",
    "observation-health.json",
    "steno/syscalls.parquet",
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = FakeFrames().process().exec("/bin/sh", ["sh"], result=0, state=Found(mode=0o100755))
    return sealed_run(tmp_path / "run", made.event("open", "/a", state=Found()).exit())


def test_the_archive_is_named_by_the_run(run: Path, tmp_path: Path) -> None:
    assert exported(run, tmp_path / "new" / "out") == tmp_path / f"new/out/assay-runner-spike-{RUN_ID}.tar.gz"


def test_the_manifest_comes_first_and_the_other_files_are_sorted(run: Path, tmp_path: Path) -> None:
    with tarfile.open(exported(run, tmp_path)) as archive:
        assert archive.getnames() == FILES


def test_nothing_in_the_headers_tells_of_the_machine_or_the_time(run: Path, tmp_path: Path) -> None:
    path = exported(run, tmp_path)
    assert path.read_bytes()[:10] == b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
    with tarfile.open(path) as archive:
        assert not archive.pax_headers
        for member in archive.getmembers():
            assert member.isreg()
            assert member.mode == 0o644
            assert (member.uid, member.gid, member.mtime) == (0, 0, 0)
            assert (member.uname, member.gname) == ("", "")


def test_two_exports_have_the_same_bytes(run: Path, tmp_path: Path) -> None:
    assert exported(run, tmp_path / "a").read_bytes() == exported(run, tmp_path / "b").read_bytes()


def test_the_manifest_lists_the_others_and_not_itself(run: Path, tmp_path: Path) -> None:
    files = taken_apart(exported(run, tmp_path))
    manifest = json.loads(files.pop(layout.MANIFEST))
    assert manifest == {
        "schema": "assay.runner.archive_manifest.v0",
        "run_id": RUN_ID,
        "files": {
            path: {
                "path": path,
                "sha256": f"sha256:{hashlib.sha256(data).hexdigest()}",
                "bytes": len(data),
            }
            for path, data in files.items()
        },
    }


def test_surface_health_and_correlation_are_those_of_the_record_under_the_schemas_of_the_contract(
    run: Path, tmp_path: Path
) -> None:
    files = taken_apart(exported(run, tmp_path))
    for name, path in archive.CONCLUDED.items():
        theirs, ours = json.loads(files[path]), json.loads(Recorded(run).judged(name))
        assert theirs.pop("schema") == SCHEMAS[path]
        assert ours.pop("schema").startswith("steno.")
        assert theirs == ours


def test_no_rule_knows_a_schema_of_the_contract() -> None:
    sources = Path(rules.__file__).parent.rglob("*.py")
    assert not [path.name for path in sources if "assay." in path.read_text()]


def test_there_is_a_line_for_every_row(run: Path, tmp_path: Path) -> None:
    lines = lines_in(taken_apart(exported(run, tmp_path))[assay_manifest.KERNEL_LINES])
    assert [line["event_type"] for line in lines] == [101, 4, 1, 105]


def test_something_else_under_the_name_is_kept(run: Path, tmp_path: Path) -> None:
    archive = exported(run, tmp_path)
    archive.write_bytes(b"mine")
    with pytest.raises(BadRequestError, match="holds something else"):
        exported(run, tmp_path)
    assert archive.read_bytes() == b"mine"


def test_a_place_that_cannot_be_made_is_told(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot make"):
        exported(run, tmp_path / "file" / "below")
