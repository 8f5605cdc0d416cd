"""What is concluded depends on the evidence and the rules, and on nothing of the machine that reads."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import steno.judge
from steno.judge.rules import CHANGES, RULES

OF_THE_READER = {"errno", "getpass", "locale", "os", "platform", "signal", "socket", "sys", "time"}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_no_rule_asks_the_machine_that_reads() -> None:
    room = Path(steno.judge.__file__).parent
    asked = {path.name: OF_THE_READER & set(imported(path)) for path in room.rglob("*.py")}
    assert {name: names for name, names in asked.items() if names} == {}


def test_every_change_of_the_rules_has_its_number_and_says_what_it_was() -> None:
    assert [change.rules for change in CHANGES] == [*range(1, RULES + 1)]
    assert all(change.what for change in CHANGES)
