"""How the outside formats read a run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import steno

_SOURCES = sorted((Path(steno.__file__).parent / "contracts").rglob("*.py"))


def _opened_records(source: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Attribute) and node.attr == "record":
            yield f"line {node.lineno}: .record"
        if isinstance(node, ast.ImportFrom):
            yield from (f"line {node.lineno}: {name.name}" for name in node.names if name.name == "Record")


@pytest.mark.parametrize("source", _SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_contract_is_made_of_a_run_and_of_no_opened_record(source: Path) -> None:
    assert not [*_opened_records(source)]
