"""What the hooks of real agents were given, captured once, with neutral names and paths.

`PAYLOADS` is by name: agent, event and tool, and what was special about it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PAYLOADS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "agents" / "hooks" / "payloads.json").read_text(encoding="utf-8")
)


def payload(name: str, **changes: Any) -> bytes:
    return json.dumps({**PAYLOADS[name], **changes}).encode()


def agent_of(name: str) -> str:
    """`claude325` is a later Claude Code."""
    return name.partition("-")[0].removesuffix("325")
