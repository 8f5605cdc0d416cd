"""Makes `policy.schema.json`, which editors check a policy file with, of the types that it is read as."""

# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import json
from pathlib import Path

from steno.mcp.policy import grammar

if __name__ == "__main__":
    path = Path(grammar.__file__).with_name("policy.schema.json")
    path.write_text(json.dumps(grammar.json_schema(), indent=2) + "\n")
