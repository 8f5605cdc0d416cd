"""What may stand in a policy file, and what it becomes.

In: the tree of a file, with places. Out: `Settings`; whatever is wrong is added to a list of problems, all of
it at once, and the settings are then of no use. `policy.schema.json` says the same to editors; a test holds
the two together. Follows the links of directories that rules name. Never reads a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, cast, get_args

from steno.mcp.constraints import Constraint
from steno.mcp.globs import Globs
from steno.mcp.limits import MAX_CALLS, MAX_SECONDS, RateLimit
from steno.mcp.pins import OnChange
from steno.mcp.policy import ALWAYS_PASS, APPROVAL_SECONDS, TOOL_CALL, Action, Methods, Rule
from steno.mcp.policy_constraints import paths_constraint, schema_constraint, urls_constraint
from steno.mcp.policy_fields import Fields
from steno.mcp.policy_nodes import Node, Problem

VERSION = 1
MAX_APPROVAL_SECONDS = 3600
KEYS = frozenset(
    {"version", "default", "rules", "methods", "approval", "hide_denied", "dry_run", "pins", "on_change"}
)
RULE_KEYS = frozenset({"name", "servers", "tools", "action", "arguments", "paths", "urls", "rate"})
METHOD_KEYS = frozenset({"allow", "deny"})
APPROVAL_KEYS = frozenset({"command", "seconds"})
RATE_KEYS = frozenset({"calls", "seconds"})
ACTIONS: tuple[str, ...] = get_args(Action)
ON_CHANGE: tuple[str, ...] = get_args(OnChange)
_CONSTRAINTS = ("arguments", "paths", "urls", "rate")


class Approval(NamedTuple):
    command: list[str]
    seconds: int = APPROVAL_SECONDS


class Settings(NamedTuple):
    default: Action
    rules: tuple[Rule, ...]
    methods: Methods
    hide_denied: bool
    dry_run: bool
    approval: Approval | None
    pins: Node | None  # the name of the pin file
    on_change: OnChange


def read(root: Node, folder: Path, problems: list[Problem]) -> Settings:
    """`folder` is where relative names in the file begin."""
    fields = Fields(root, KEYS, "a policy", problems)
    if root.value is not None:
        fields.need("version")
    version = fields.node("version")
    if version is not None and (version.value != VERSION or isinstance(version.value, bool)):
        fields.problem(version, f"the version is {VERSION}")
    pins = fields.node("pins")
    if pins is not None and fields.word("pins") is None:
        pins = None
    if fields.has("on_change") and not fields.has("pins"):
        fields.problem(fields.key("on_change"), "on_change says what becomes of pins, and there are none")
    return Settings(
        default=cast("Action", fields.choice("default", ACTIONS) or "deny"),
        rules=tuple(
            _rule(node, number, folder, problems) for number, node in enumerate(fields.items("rules"), 1)
        ),
        methods=_methods(fields.node("methods"), problems),
        hide_denied=fields.flag("hide_denied"),
        dry_run=fields.flag("dry_run"),
        approval=_approval(fields.node("approval"), folder, problems),
        pins=pins,
        on_change=cast("OnChange", fields.choice("on_change", ON_CHANGE) or "block"),
    )


def _rule(node: Node, number: int, folder: Path, problems: list[Problem]) -> Rule:
    fields = Fields(node, RULE_KEYS, "a rule", problems)
    fields.need("action")
    if not fields.has("tools") and not fields.has("servers"):
        fields.problem(node, "a rule names tools, or servers, or both")
    action = cast("Action | None", fields.choice("action", ACTIONS))
    constraints = _constraints(fields, folder)
    limit = _limit(fields.node("rate"), problems)
    if action == "deny":
        for name in _CONSTRAINTS:
            if fields.has(name):
                fields.problem(fields.key(name), f"a rule that denies has no {name}: it denies every call")
    return Rule(
        name=fields.word("name") or f"rule {number}",
        tools=_globs(fields, "tools"),
        servers=_globs(fields, "servers"),
        action=action or "deny",
        constraints=constraints,
        limit=limit,
    )


def _globs(fields: Fields, name: str) -> Globs:
    return Globs(fields.globs(name) if fields.has(name) else ["*"])


def _constraints(fields: Fields, folder: Path) -> tuple[Constraint, ...]:
    found = (
        schema_constraint(fields.node("arguments"), fields.problems),
        paths_constraint(fields.node("paths"), folder, fields.problems),
        urls_constraint(fields.node("urls"), fields.problems),
    )
    return tuple(constraint for constraint in found if constraint is not None)


def _limit(node: Node | None, problems: list[Problem]) -> RateLimit | None:
    if node is None:
        return None
    fields = Fields(node, RATE_KEYS, "rate", problems)
    fields.need("calls", "seconds")
    calls = fields.number("calls", 1, MAX_CALLS, whole=True)
    seconds = fields.number("seconds", 0.001, MAX_SECONDS, whole=False)
    return None if calls is None or seconds is None else RateLimit(int(calls), seconds)


def _methods(node: Node | None, problems: list[Problem]) -> Methods:
    if node is None:
        return Methods()
    fields = Fields(node, METHOD_KEYS, "methods", problems)
    for name in ("allow", "deny"):
        for item in fields.items(name):
            if item.value == TOOL_CALL:
                fields.problem(item, "rules say which tools may be called")
            elif name == "deny" and item.value in ALWAYS_PASS:
                fields.problem(
                    item, f"{item.value} always passes: without it nothing can be connected or listed"
                )
    return Methods(allow=Globs(fields.globs("allow")), deny=Globs(fields.globs("deny")))


def _approval(node: Node | None, folder: Path, problems: list[Problem]) -> Approval | None:
    if node is None:
        return None
    fields = Fields(node, APPROVAL_KEYS, "approval", problems)
    fields.need("command")
    command = fields.words("command")
    seconds = fields.number("seconds", 1, MAX_APPROVAL_SECONDS, whole=True)
    if not command:
        return None
    if "/" in command[0]:
        command[0] = str(folder / command[0])
    return Approval(command) if seconds is None else Approval(command, int(seconds))
