"""Reading a policy file, and the pin file that it names.

In: a path. Out: a `Policy`, or `BadPolicyError` that tells every problem with file, line and column. A file
that is not a regular one is refused, not waited for. Never writes.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import NamedTuple, NoReturn

from steno.errors import BadPolicyError
from steno.mcp import pins, policy_nodes, policy_schema
from steno.mcp.pins import Pins
from steno.mcp.policy import Policy
from steno.mcp.policy_nodes import Problem
from steno.mcp.policy_schema import Settings

MAX_BYTES = 256 << 10
MAX_PIN_BYTES = 16 << 20
MOST_PROBLEMS = 50
_HINT = "docs/policy.md has every key; `steno mcp check --policy FILE` checks a file"


class _UnreadableError(Exception):
    """Why the bytes of a file cannot be had."""


class PolicyText(NamedTuple):
    """A policy file that has been read, but not what it names."""

    path: Path
    digest: str
    settings: Settings

    def pin_file(self) -> Path | None:
        return None if self.settings.pins is None else self.path.parent / str(self.settings.pins.value)


def load(path: Path) -> Policy:
    text = read(path)
    settings = text.settings
    return Policy(
        digest=text.digest,
        default=settings.default,
        rules=settings.rules,
        methods=settings.methods,
        hide_denied=settings.hide_denied,
        dry_run=settings.dry_run,
        approval=None if settings.approval is None else settings.approval.command,
        approval_seconds=0 if settings.approval is None else settings.approval.seconds,
        pins=_pins(text),
    )


def read(path: Path) -> PolicyText:
    try:
        data = _bytes(path, MAX_BYTES)
    except _UnreadableError as error:
        raise BadPolicyError([f"{path}: {error}"], hint=_HINT) from None
    problems: list[Problem] = []
    try:
        root = policy_nodes.parse(data, problems)
        settings = policy_schema.read(root, Path.cwd().joinpath(path).parent, problems)
    except policy_nodes.UnreadableTextError as error:
        _refuse(path, [*problems, error.problem])
    if problems:
        _refuse(path, problems)
    return PolicyText(path, hashlib.sha256(data).hexdigest(), settings)


def read_pins(path: Path) -> dict[str, pins.ServerPins]:
    try:
        return pins.read(_bytes(path, MAX_PIN_BYTES))
    except (_UnreadableError, pins.BadPinsError) as error:
        hint = "`steno mcp pin --policy FILE -- SERVER…` makes it; remove a damaged one first"
        raise BadPolicyError([f"the pin file {path}: {error}"], hint=hint) from None


def _pins(text: PolicyText) -> Pins | None:
    path = text.pin_file()
    return None if path is None else Pins(read_pins(path), text.settings.on_change)


def _bytes(path: Path, most: int) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor
            mode = os.fstat(descriptor).st_mode
            if not stat.S_ISREG(mode):
                raise _UnreadableError("is a directory" if stat.S_ISDIR(mode) else "is not a regular file")
            data = file.read(most + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _UnreadableError(getattr(error, "strerror", None) or str(error)) from None
    if len(data) > most:
        raise _UnreadableError(f"is larger than {most} bytes")
    return data


def _refuse(path: Path, problems: list[Problem]) -> NoReturn:
    ordered = sorted(set(problems))
    lines = [f"{path}:{problem.line}:{problem.column}: {problem.says}" for problem in ordered[:MOST_PROBLEMS]]
    if len(ordered) > MOST_PROBLEMS:
        lines.append(f"{path}: and {len(ordered) - MOST_PROBLEMS} more problems")
    raise BadPolicyError(lines, hint=_HINT)
