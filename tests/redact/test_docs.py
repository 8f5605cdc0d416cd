"""The table of rules in docs/redaction.md is made from the rules. Run this file as a script to renew it."""

from __future__ import annotations

from pathlib import Path

from steno.redact import RULES

PAGE = Path(__file__).parents[2] / "docs" / "redaction.md"
BEGIN = "<!-- rules: made by tests/redact/test_docs.py -->\n"
END = "<!-- end of rules -->"


def table() -> str:
    rows = ["| rule | what it masks |", "| --- | --- |"]
    rows += [f"| `{rule.name}` | {rule.description} |" for rule in sorted(RULES, key=lambda rule: rule.name)]
    return "\n".join(rows) + "\n"


def renewed(page: str) -> str:
    head, rest = page.split(BEGIN)
    _, tail = rest.split(END)
    return head + BEGIN + table() + END + tail


def test_the_table_of_rules_is_fresh() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == renewed(page), "run: python tests/redact/test_docs.py"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
