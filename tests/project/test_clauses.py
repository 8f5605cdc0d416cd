"""The clauses of the four outside formats: each is told on its page, and each has a test that there is."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CONTRACTS = TESTS.parent / "docs" / "contracts"
CLAUSES: dict[str, dict[str, list[str]]] = tomllib.loads((CONTRACTS / "clauses.toml").read_text())


def names_in(path: Path) -> set[str]:
    """The tests of a file as the list of clauses names them."""
    found = [node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    return {f"{path.relative_to(TESTS)}::{name}" for name in found if name.startswith("test_")}


def test_every_contract_has_a_page() -> None:
    assert {path.stem for path in CONTRACTS.glob("*.md")} == CLAUSES.keys()


@pytest.mark.parametrize("contract", CLAUSES)
def test_the_list_has_the_clauses_of_the_page_in_their_order(contract: str) -> None:
    told = re.findall(
        r"^- \*\*([A-Z]+)-(\d+)\*\* \S", (CONTRACTS / f"{contract}.md").read_text(), re.MULTILINE
    )
    (prefix,) = {prefix for prefix, _ in told}
    assert [number for _, number in told] == [str(number) for number in range(1, len(told) + 1)]
    assert [*CLAUSES[contract]] == [f"{prefix}-{number}" for _, number in told]


@pytest.mark.parametrize("contract", CLAUSES)
def test_every_clause_has_tests_that_there_are(contract: str) -> None:
    for clause, named in CLAUSES[contract].items():
        assert named, clause
        for test in named:
            path = TESTS / test.partition("::")[0]
            assert path.is_file(), (clause, test)
            assert test in names_in(path), (clause, test)


def test_every_conformance_test_holds_a_clause() -> None:
    held = {test for clauses in CLAUSES.values() for named in clauses.values() for test in named}
    there = {test for path in (TESTS / "contracts").glob("test_*.py") for test in names_in(path)}
    assert there - held == set()
