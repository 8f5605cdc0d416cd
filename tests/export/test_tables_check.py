"""Exported tables looked at again: the same, made by other rules, or not what the run gives."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from steno import __version__
from steno.cli.verify import verify_command
from steno.export import tables
from steno.judge.rules import RULES
from support.reading import opened, sealed
from support.run_builder import RUN_ID, RunBuilder

SAME = "judgement: same"
NOT = "judgement: not what these rules give"


def built(content: bytes = b"object") -> RunBuilder:
    return RunBuilder("make").process("make", pid=7).wrote(b"/w/\xff", content).printed("hello\n")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    sealed(built(), tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def copy(store: Path, tmp_path: Path) -> Path:
    with opened(store / RUN_ID) as folder:
        return tables.export(folder, tmp_path / "out").path


def verified(store: Path, copy: Path, *more: str) -> tuple[int, str]:
    """The exit code, and what is said."""
    found = CliRunner().invoke(
        verify_command,
        [str(copy), "--store", str(store), *more],
        standalone_mode=False,
        catch_exceptions=False,
    )
    return found.return_value, found.output


def forge(copy: Path, change: Callable[[dict[str, Any]], object], name: str = "", data: bytes = b"") -> None:
    """Change a file and let the stamp agree with it."""
    stamp = json.loads((copy / "judgement.json").read_bytes())
    if name:
        (copy / name).write_bytes(data)
        stamp["files"][name] = hashlib.sha256(data).hexdigest()
    change(stamp)
    (copy / "judgement.json").write_text(json.dumps(stamp))


def test_an_export_of_a_run_in_the_store_is_the_same(store: Path, copy: Path) -> None:
    code, said = verified(store, copy)
    assert code == 0
    assert f"{SAME} (the stamp says rules {RULES} of Steno {__version__}; " in said


def test_parquet_of_another_writer_with_the_same_rows_is_the_same(store: Path, copy: Path) -> None:
    table = pq.read_table(copy / "files.parquet")
    pq.write_table(table, copy / "files.parquet", compression="snappy")
    data = (copy / "files.parquet").read_bytes()
    forge(copy, lambda _: None, "files.parquet", data)
    assert verified(store, copy)[0] == 0
    pq.write_table(table.slice(0, 0), copy / "files.parquet")
    forge(copy, lambda _: None, "files.parquet", (copy / "files.parquet").read_bytes())
    assert verified(store, copy)[0] == 1


@pytest.mark.parametrize("name", ["files.ndjson", "files.parquet", "judgement.txt"])
def test_a_changed_file_is_told(store: Path, copy: Path, name: str) -> None:
    (copy / name).write_bytes(b"{}\n")
    code, said = verified(store, copy)
    assert (code, NOT in said, f"{name}: " in said) == (1, True, True)


@pytest.mark.parametrize("name", ["files.ndjson", "files.parquet"])
def test_a_stamp_that_agrees_with_a_changed_file_gains_nothing(store: Path, copy: Path, name: str) -> None:
    forge(copy, lambda _: None, name, b"{}\n")
    code, said = verified(store, copy)
    assert code == 1
    assert f"{name}: is not what follows from the evidence" in said


def test_a_table_that_is_missing_or_more_is_told(store: Path, copy: Path) -> None:
    (copy / "gaps.ndjson").unlink()
    forge(copy, lambda stamp: stamp["files"].pop("gaps.ndjson"), "more.ndjson", b"{}\n")
    code, said = verified(store, copy)
    assert code == 1
    assert "gaps.ndjson: is not in the copy" in said
    assert "more.ndjson: is no table of this run" in said


@pytest.mark.parametrize("change", [{"rules": RULES + 1}, {"steno": "9.9"}])
def test_what_other_rules_gave_is_not_compared(store: Path, copy: Path, change: dict[str, Any]) -> None:
    forge(copy, lambda stamp: stamp.update(change), "files.ndjson", b"{}\n")
    code, said = verified(store, copy)
    assert code == 3
    assert "judgement: made by other rules" in said
    assert "; not compared)" in said


def test_without_the_run_the_digests_are_compared(copy: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, said = verified(tmp_path / "empty", copy)
    assert (code, "judgement: not compared" in said, "root" in said) == (3, True, False)
    (copy / "files.ndjson").write_bytes(b"{}\n")
    assert verified(tmp_path / "empty", copy)[0] == 1


def test_the_run_can_be_given(store: Path, copy: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert verified(tmp_path / "empty", copy, "--against", str(store / RUN_ID))[0] == 0


def test_a_copy_of_another_record_of_the_same_name_is_told(store: Path, copy: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = sealed(built(b"something else"), tmp_path / "other")
    code, said = verified(store, copy, "--against", str(other))
    assert (code, "the stamp names another record" in said) == (1, True)


def test_of_a_run_that_is_not_what_was_sealed_nothing_is_compared(store: Path, copy: Path) -> None:
    manifest = store / RUN_ID / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"root":"', b'"root":"0'))
    code, said = verified(store, copy)
    assert (code, "judgement" in said) == (1, False)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"[" * 100_000, b" " * (2 << 20)])
def test_a_stamp_that_cannot_be_read_is_told(store: Path, copy: Path, data: bytes) -> None:
    (copy / "judgement.json").write_bytes(data)
    code, said = verified(store, copy)
    assert (code, "cannot be read as exported tables" in said) == (4, True)
