"""Reading what `steno export --as capture-run` wrote."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Artifacts:
    """One exported run."""

    def __init__(self, path: Path, exit_code: int) -> None:
        self.path = path
        self.exit_code = exit_code

    def json(self, name: str) -> Any:
        return json.loads((self.path / name).read_bytes())

    def raw(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.raw(name).splitlines()]

    @property
    def names(self) -> set[str]:
        return {str(path.relative_to(self.path)) for path in self.path.rglob("*") if path.is_file()}

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.lines("events.jsonl")]

    def data(self, kind: str) -> dict[str, Any]:
        (found,) = [event["data"] for event in self.lines("events.jsonl") if event["type"] == kind]
        assert isinstance(found, dict)
        return found

    @property
    def everything(self) -> bytes:
        return b"\n".join(path.read_bytes() for path in sorted(self.path.rglob("*")) if path.is_file())


Capture = Callable[..., Artifacts]


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def git(repo: Path, *words: str, env: dict[str, str]) -> str:
    done = subprocess.run(
        ["git", *words], cwd=repo, env=env, check=True, capture_output=True, text=True, timeout=60
    )
    return done.stdout
