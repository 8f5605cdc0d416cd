"""What the tests of the wrap share: policies, messages, sessions whose journal can be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from steno.evidence import intake
from steno.evidence.claims import ProcessKey
from steno.mcp.decision_log import DecisionLog
from steno.mcp.policy.globs import Globs
from steno.mcp.policy.policy import Action, Policy, Rule
from steno.mcp.session import Answer, Session

CURRENT = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}


def make_policy(default: Action = "deny", *, allow: tuple[str, ...] = ("read_*",), **more: Any) -> Policy:
    """Allows the tools that read, unless told otherwise."""
    rules = (Rule("rules[0]", Globs(allow), Globs(("*",)), "allow"),)
    return Policy(digest="0" * 64, default=default, rules=rules, **more)


def message(**fields: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **fields}).encode() + b"\n"


def tool_call(request_id: int | str, tool: str = "read_file", /, **params: Any) -> bytes:
    return message(id=request_id, method="tools/call", params={"name": tool, **params})


def result(request_id: int | str, **fields: Any) -> bytes:
    return message(id=request_id, result=fields)


class Wrapped(Session):
    """A session that remembers where its journal is."""

    def __init__(self, place: Path, policy: Policy | None = None, label: str = "files") -> None:
        self.policy = policy or make_policy()
        self.log = place / "decisions.ndjson"
        self.journal = DecisionLog.open({}, str(self.log))
        super().__init__(
            self.policy,
            self.journal,
            label=label,
            source="steno.mcp.wrap",
            connection="c1",
            server_process=ProcessKey(7, 8),
        )

    @property
    def told(self) -> list[intake.PolicyTold]:
        return told_in(self.log)

    @property
    def decided(self) -> list[intake.Decided]:
        return [line for line in self.told if isinstance(line, intake.Decided)]

    @property
    def outcomes(self) -> list[tuple[int, str]]:
        return [(line.call, line.outcome) for line in self.told if isinstance(line, intake.Ended)]

    @property
    def notices(self) -> list[str]:
        return [line.kind for line in self.told if isinstance(line, intake.Noticed)]


def told_in(log: Path) -> list[intake.PolicyTold]:
    """The whole lines: of one that is being written, a reader may see the beginning."""
    lines = log.read_bytes().splitlines(keepends=True)
    return [intake.policy_told(line) for line in lines if line.endswith(b"\n")]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def said(step: Any) -> Any:
    """What the client is told instead of the server's answer."""
    assert isinstance(step, Answer)
    assert step.data is not None
    return json.loads(step.data)
