"""The tables of a run as documents: all that the rows say, also of a record that lost something else."""

from __future__ import annotations

import json
import typing
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

import steno
from steno.errors import UnreadableBundleError
from steno.evidence import canonical, layout
from steno.judge import types as rows
from steno.model import table_documents
from steno.model.evidence_files import documents_of
from steno.model.tables import plain, types_of
from support.reading import opened, sealed
from support.run_builder import RunBuilder

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("v*/*.tar.gz"))


def told(run: steno.Run, name: str) -> dict[str, Any]:
    found = documents_of(run.folder)
    assert found is not None
    columns = canonical.decode(b"".join(table_documents.read(found, table_documents.path_of(name))))
    assert isinstance(columns, dict)
    return columns


def rows_of(row: type[rows.Row], columns: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of columns again."""
    values = [_values(hint, columns[name]) for name, hint in types_of(row).items()]
    return [dict(zip(types_of(row), one, strict=True)) for one in zip(*values, strict=True)]


def _values(hint: Any, column: Any) -> list[Any]:
    if isinstance(column, dict):
        return rows_of(hint, column)
    if typing.get_origin(hint) is list:
        return [_values(typing.get_args(hint)[0], one) for one in column]
    arguments = {hint, *typing.get_args(hint)}
    if int in arguments:
        return [canonical.integer(one) if one is not None else None for one in column]
    return [b64decode(one) if bytes in arguments and one is not None else one for one in column]


@pytest.mark.parametrize("bundle", GOLDEN, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_document_has_every_row_of_its_table_and_every_column(bundle: Path) -> None:
    with steno.open(bundle) as run:
        tables = run.tables
        for name, row in table_documents.ROWS.items():
            found = documents_of(run.folder)
            assert found is not None
            assert table_documents.has(found, table_documents.path_of(name)) == (name in tables)
            if name in tables:
                assert rows_of(row, told(run, name)) == list(map(plain, tables[name]))


def test_a_renamed_directory_is_a_row(tmp_path: Path) -> None:
    builder = RunBuilder("mv").process("mv").renamed("/old", "/new", None)
    with opened(sealed(builder, tmp_path)) as run:
        kept = json.loads(b"".join(run.documents.read(layout.FILES)))["directory_renames"]
        assert [(one.old_path, one.new_path) for one in run.directory_renames] == [
            (one["from"], one["to"]) for one in kept
        ]


def test_a_name_that_is_not_utf_8_is_there_byte_for_byte(tmp_path: Path) -> None:
    builder = RunBuilder("touch").process("touch").wrote(b"/bad\xff")
    with opened(sealed(builder, tmp_path)) as run:
        columns = told(run, "files")
    assert columns["path"] == ["/bad\\xff"]
    assert [b64decode(one) for one in columns["path_bytes"]] == [b"/bad\xff"]


def test_a_table_of_a_record_that_lost_something_else_is_still_made(tmp_path: Path) -> None:
    path = RunBuilder("touch").process("touch").wrote("/made").seal(tmp_path)
    (path / layout.MANIFEST).unlink()
    with opened(path) as run:
        assert told(run, "files")["letter"] == ["A"]


def test_a_table_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    path = RunBuilder("touch").process("touch").wrote("/made").seal(tmp_path)
    (path / layout.FILE_LINES).unlink()
    with opened(path) as run, pytest.raises(UnreadableBundleError, match="cannot be read: No such file"):
        told(run, "files")
