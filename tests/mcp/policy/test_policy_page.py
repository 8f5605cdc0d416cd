"""The page on policies: its examples do what it says, and it has every key and every reason."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from steno.mcp.pins import write
from steno.mcp.policy.loader import load
from steno.mcp.policy.policy import Call

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "policy.md").read_text()
SCHEMA = json.loads((ROOT / "src/steno/mcp/policy/policy.schema.json").read_text())
EXAMPLES = re.findall(r"^```yaml\n(.+?)^```", PAGE, re.MULTILINE | re.DOTALL)
DECIDED = re.findall(r"^\| (\w+) \| (\w+) \| `({.*})` \| (\w+) \| `(\w+)` \|$", PAGE, re.MULTILINE)
CODE = "".join(
    (ROOT / "src/steno/mcp" / f"{name}.py").read_text() for name in ("policy/policy", "pins", "session")
)
WRITTEN = re.compile(r"(?:Decision\(\s*\"\w+\",\s*|PinViolation\(\s*|_replace\(\s*reason=)\"(\w+)\"")


def rows(heading: str) -> set[str]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


@pytest.mark.parametrize("text", EXAMPLES)
def test_every_example_is_a_policy(tmp_path: Path, text: str) -> None:
    (tmp_path / "policy.yaml").write_text(text)
    (tmp_path / "pins.json").write_bytes(write({}))
    assert load(tmp_path / "policy.yaml")
    jsonschema.validate(yaml.safe_load(text), SCHEMA)


@pytest.mark.parametrize(("server", "tool", "arguments", "decision", "reason"), DECIDED)
def test_the_first_example_decides_as_the_page_says(
    tmp_path: Path, server: str, tool: str, arguments: str, decision: str, reason: str
) -> None:
    (tmp_path / "policy.yaml").write_text(EXAMPLES[0])
    ruling = load(tmp_path / "policy.yaml").decide(Call(server, tool, json.loads(arguments)), 0)
    assert (ruling.action, ruling.reason) == (decision, reason)


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) == 3
    assert len(DECIDED) == 9


def test_the_page_has_every_key() -> None:
    assert rows("Keys") == {
        *SCHEMA["$defs"]["PolicyFile"]["properties"],
        *SCHEMA["$defs"]["Rule"]["properties"],
    }


def test_the_page_has_every_reason_and_no_other() -> None:
    constraints = {"arguments_invalid", "path_not_allowed", "url_not_allowed"}
    verdicts = {f"{verb}_{by}" for verb in ("allowed", "denied") for by in ("by_rule", "by_default")}
    assert rows("Reasons") == {*WRITTEN.findall(CODE), *constraints, *verdicts}
