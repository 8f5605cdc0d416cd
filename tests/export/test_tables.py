"""The tables of a run as files of other programs: Parquet, lines of JSON, SQLite."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import steno
from steno.errors import BadRequestError
from steno.export import Exported, sqlite, tables
from steno.judge.rules import RULES
from steno.model.tables import columns
from support.reading import opened, sealed
from support.run_builder import RUN_ID, RunBuilder

LARGE = 2**53 + 1


@pytest.fixture
def run(tmp_path: Path) -> Path:
    builder = RunBuilder("make").process("make", pid=7).wrote(b"/w/\xff", b"object").printed("hello\n")
    return sealed(builder.call("open", "/w/large", process=1, arg=LARGE), tmp_path)


def exported(run: Path, directory: Path) -> Exported:
    with opened(run) as folder:
        return tables.export(folder, directory)


def test_every_table_is_there_as_parquet_and_as_lines(run: Path, tmp_path: Path) -> None:
    place = exported(run, tmp_path / "out").path
    assert place == tmp_path / "out" / f"steno-{RUN_ID}-tables"
    with steno.open(run) as opened:
        for name, table in opened.tables.items():
            assert pq.read_table(place / f"{name}.parquet").equals(table.to_arrow()), name
            lines = (place / f"{name}.ndjson").read_bytes().splitlines()
            assert [sorted(json.loads(line)) for line in lines] == [
                sorted(columns(table.row)) for _ in range(len(table))
            ], name
        names = {f"{name}.{form}" for name in opened.tables for form in ("parquet", "ndjson")}
    assert {path.name for path in place.iterdir()} == {*names, "judgement.json"}


def test_the_stamp_says_of_what_it_is_a_copy(run: Path, tmp_path: Path) -> None:
    place = exported(run, tmp_path / "out").path
    stamp = json.loads((place / "judgement.json").read_bytes())
    with steno.open(run) as opened:
        assert (stamp["rules"], stamp["root"], stamp["run_id"]) == (RULES, opened.info.root, RUN_ID)
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in place.iterdir()
        if path.name != "judgement.json"
    }
    assert stamp["files"] == digests


def test_what_json_cannot_hold_is_text(run: Path, tmp_path: Path) -> None:
    place = exported(run, tmp_path / "out").path
    events = [json.loads(line) for line in (place / "events.ndjson").read_bytes().splitlines()]
    assert [one["argument"] for one in events if one["path"] == "/w/large"] == [str(LARGE)]
    (file,) = [json.loads(one) for one in (place / "files.ndjson").read_bytes().splitlines() if b"xff" in one]
    assert (file["path"], file["path_bytes"]) == ("/w/\\xff", "L3cv/w==")


def test_exporting_again_gives_the_same_and_overwrites_nothing_else(run: Path, tmp_path: Path) -> None:
    place = exported(run, tmp_path / "out").path
    assert exported(run, tmp_path / "out").path == place
    (place / "files.ndjson").write_bytes(b"mine")
    with pytest.raises(BadRequestError, match="something else"):
        exported(run, tmp_path / "out")
    assert (place / "files.ndjson").read_bytes() == b"mine"


def test_sqlite_answers_questions(run: Path, tmp_path: Path) -> None:
    with opened(run) as folder:
        made = sqlite.export(folder, tmp_path / "out").path
    with closing(sqlite3.connect(made)) as database:
        asked = "SELECT letter, path_bytes, json_extract(after, '$.size') FROM files WHERE change = 'created'"
        assert database.execute(asked).fetchall() == [("A", b"/w/\xff", 6)]
        asked = "SELECT argument FROM events WHERE path = '/w/large'"
        assert database.execute(asked).fetchall() == [(LARGE,)]
        names = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    with steno.open(run) as found:
        assert names == set(found.tables)
