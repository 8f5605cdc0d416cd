"""Reading a policy file, and the pin file that it names; every problem is told with file, line and column."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

from msgspec import UNSET, UnsetType

from steno import strict_yaml
from steno.errors import BadPolicyError
from steno.mcp import pins
from steno.mcp.pins import Pins
from steno.mcp.policy import grammar
from steno.mcp.policy.constraints import (
    DEFAULT_SCHEMES,
    ArgumentNames,
    Constraint,
    PathAllowlist,
    PathConstraint,
    UrlAllowlist,
    UrlConstraint,
)
from steno.mcp.policy.globs import Globs
from steno.mcp.policy.policy import Approval, Methods, Policy, RateLimit, Rule
from steno.strict_yaml import Problem

MAX_BYTES = 256 << 10
MAX_PIN_BYTES = 16 << 20
MOST_PROBLEMS = 50
_HINT = "docs/policy.md has every key; `steno mcp check --policy FILE` checks a file"


class _UnreadableError(Exception):
    """Why the bytes of a file cannot be had."""


class PolicyText(NamedTuple):
    """A policy file that has been read, but not the pin file that it names."""

    path: Path
    digest: str
    file: grammar.PolicyFile

    def pin_file(self) -> Path | None:
        return None if self.file.pins is UNSET else self.path.parent / self.file.pins


def load(path: Path) -> Policy:
    text = read(path)
    file, pin_file = text.file, text.pin_file()
    folder = Path.cwd().joinpath(path).parent  # where relative names in the file begin
    return Policy(
        digest=text.digest,
        default=file.default,
        rules=tuple(_rule(rule, number, folder) for number, rule in enumerate(file.rules, 1)),
        methods=Methods(allow=Globs(file.methods.allow), deny=Globs(file.methods.deny)),
        hide_denied=file.hide_denied,
        dry_run=file.dry_run,
        approval=_approval(file.approval, folder),
        pins=None if pin_file is None else Pins(read_pins(pin_file), file.on_change or "block"),
    )


def read(path: Path) -> PolicyText:
    try:
        data = _bytes(path, MAX_BYTES)
    except _UnreadableError as error:
        raise BadPolicyError([f"{path}: {error}"], hint=_HINT) from None
    problems: list[Problem] = []
    try:
        root = strict_yaml.parse(data, problems)
    except strict_yaml.UnreadableTextError as error:
        _refuse(path, [*problems, error.problem])
    file = grammar.read(root, problems)
    if file is None:
        _refuse(path, problems)
    return PolicyText(path, hashlib.sha256(data).hexdigest(), file)


def read_pins(path: Path) -> dict[str, pins.ServerPins]:
    try:
        return pins.read(_bytes(path, MAX_PIN_BYTES))
    except (_UnreadableError, pins.BadPinsError) as error:
        hint = "`steno mcp pin --policy FILE -- SERVER…` makes it; remove a damaged one first"
        raise BadPolicyError([f"the pin file {path}: {error}"], hint=hint) from None


def _approval(given: grammar.Approval | UnsetType, folder: Path) -> Approval | None:
    if given is UNSET:
        return None
    program, *arguments = given.command
    return Approval([str(folder / program) if "/" in program else program, *arguments], given.seconds)


def _rule(rule: grammar.Rule, number: int, folder: Path) -> Rule:
    return Rule(
        name=rule.name or f"rule {number}",
        tools=Globs(rule.tools or ["*"]),
        servers=Globs(rule.servers or ["*"]),
        action=rule.action,
        constraints=tuple(_constraints(rule, folder)),
        limit=None if rule.rate is UNSET else RateLimit(rule.rate.calls, rule.rate.seconds),
    )


def _constraints(rule: grammar.Rule, folder: Path) -> Iterator[Constraint]:
    if rule.arguments is not UNSET:
        from steno.mcp.policy.json_schema import SchemaConstraint  # late, as where it was checked

        yield SchemaConstraint(rule.arguments)
    if (paths := rule.paths) is not UNSET:
        directories = PathAllowlist(str(folder / directory) for directory in paths.under)
        yield PathConstraint(ArgumentNames(paths.arguments), directories, paths.optional)
    if (urls := rule.urls) is not UNSET:
        schemes = urls.schemes or DEFAULT_SCHEMES
        allowed = UrlAllowlist(hosts=urls.hosts, schemes=schemes, ports=urls.ports)
        yield UrlConstraint(ArgumentNames(urls.arguments), allowed, urls.optional)


def _bytes(path: Path, most: int) -> bytes:
    """A file that is not a regular one is refused, not waited for."""
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
