"""An exported database looked at again: the same, made by other rules, or not what the run gives."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from steno.cli.verify import verify_command
from steno.export import sqlite
from support.reading import opened, sealed
from support.run_builder import RUN_ID, RunBuilder

SAME = "judgement: same"
NOT = "judgement: not what these rules give"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    made = RunBuilder("make").process("make", pid=7).wrote(b"/w/\xff", b"object", before=b"x")
    sealed(made.printed(b"\x00\xff").connected("inet:1.2.3.4:80"), tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def copy(store: Path, tmp_path: Path) -> Path:
    with opened(store / RUN_ID) as run:
        return sqlite.export(run, tmp_path).path


def verified(store: Path, copy: Path, *more: str) -> tuple[int, str]:
    """The exit code, and what is said."""
    found = CliRunner().invoke(
        verify_command,
        [str(copy), "--store", str(store), *more],
        standalone_mode=False,
        catch_exceptions=False,
    )
    return found.return_value, found.output


def changed(copy: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(copy)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()
    return copy


def test_a_database_as_it_was_exported_is_the_same(store: Path, copy: Path) -> None:
    code, said = verified(store, copy)
    assert (code, SAME in said) == (0, True), said


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE files SET letter = 'r'",
        "UPDATE files SET size_change = 6.5",
        "UPDATE processes SET exit_code = 7",
        "UPDATE output SET data = x'00'",
        "DELETE FROM connections",
        "INSERT INTO gaps VALUES ('r', 'd', NULL)",
        "DROP TABLE processes",
        "CREATE TABLE more (a)",
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER more AFTER INSERT ON files BEGIN SELECT 1; END",
        "ALTER TABLE files ADD COLUMN more TEXT",
    ],
)
def test_whatever_somebody_changes_in_a_database_is_found(store: Path, copy: Path, statement: str) -> None:
    code, said = verified(store, changed(copy, statement))
    assert (code, NOT in said) == (1, True), said


def test_a_database_of_other_rules_is_not_compared(store: Path, copy: Path) -> None:
    code, said = verified(store, changed(copy, "UPDATE about SET rules = 999", "DELETE FROM files"))
    assert (code, "made by other rules" in said) == (3, True), said


def test_a_database_that_names_another_record_is_not_what_the_rules_give(store: Path, copy: Path) -> None:
    code, said = verified(store, changed(copy, "UPDATE about SET root = 'f00'"))
    assert (code, "names another record" in said) == (1, True), said


def test_without_its_run_nothing_is_compared(copy: Path, store: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert verified(tmp_path / "empty", copy)[0] == 3
    assert verified(tmp_path / "empty", copy, "--against", str(store / RUN_ID))[0] == 0


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM about",
        "UPDATE about SET rules = 'many'",
        "DROP TABLE about",
        "ALTER TABLE about RENAME COLUMN root TO tree",
    ],
)
def test_a_database_that_says_not_what_it_is_of_cannot_be_read(
    store: Path, copy: Path, statement: str
) -> None:
    assert verified(store, changed(copy, statement))[0] == 4


def test_a_stamp_that_would_never_be_told_is_given_up(store: Path, copy: Path) -> None:
    endless = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS rules, x, x, x FROM n"
    )
    changed(copy, "DROP TABLE about", f"CREATE VIEW about AS {endless} WHERE x < 0")
    assert verified(store, copy)[0] == 4


@pytest.mark.parametrize("cut", [20, 100, 5000])
def test_a_database_that_was_cut_is_an_error_in_words(store: Path, copy: Path, cut: int) -> None:
    copy.write_bytes(copy.read_bytes()[:cut])
    code, said = verified(store, copy)
    assert code in {1, 4}
    assert "Traceback" not in said
