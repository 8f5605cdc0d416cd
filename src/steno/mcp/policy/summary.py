"""What a policy file says, in short, for `steno mcp check`.

Points out what may be written but is hardly meant: a rule that is never reached, an approval that nobody
can give.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from steno.mcp.policy.constraints import Constraint, PathConstraint, UrlConstraint
from steno.mcp.policy.loader import load
from steno.mcp.policy.policy import Policy, Rule
from steno.mcp.protocol import KNOWN

_RESOURCES = "resources/read"
_ON_CHANGE = {
    "block": "a tool that is not as it was pinned is refused",
    "warn": "a tool that is not as it was pinned is told of and let through",
}


def summary(path: Path) -> dict[str, Any]:
    policy = load(path)
    return {
        "file": str(path),
        "digest": policy.digest,
        "default": policy.default,
        "dry_run": policy.dry_run,
        "hide_denied": policy.hide_denied,
        "approval": policy.approval and policy.approval.command,
        "approval_seconds": policy.approval and policy.approval.seconds,
        "methods": {
            "allow": [*policy.methods.allow.globs],
            "deny": [*policy.methods.deny.globs],
            "refused": sorted(method for method in KNOWN if not policy.passes_method(method)),
        },
        "pins": _pins(policy),
        "rules": [_rule(rule) for rule in policy.rules],
        "warnings": _warnings(policy),
    }


def text(told: dict[str, Any]) -> str:
    return "\n".join(_lines(told))


def _lines(told: dict[str, Any]) -> Iterator[str]:
    yield f"{told['file']}: a good policy"
    yield f"digest   {told['digest']}"
    yield f"default  {told['default']}"
    if told["dry_run"]:
        yield "dry run: decisions are told and not enforced"
    for number, rule in enumerate(told["rules"], 1):
        kept_to = f" ({', '.join(rule['constraints'])})" if rule["constraints"] else ""
        names = f"{' '.join(rule['tools'])} on {' '.join(rule['servers'])}"
        yield f"{number:4}  {rule['action']:5}  {names}{kept_to}"
    yield f"methods  {_methods(told['methods'])}"
    if told["approval"] is not None:
        yield f"approval {shlex.join(told['approval'])} (within {told['approval_seconds']} s)"
    if told["hide_denied"]:
        yield "hidden   tools that are never allowed are left out of listings"
    if told["pins"] is not None:
        pinned = ", ".join(_pinned(server, count) for server, count in told["pins"]["servers"].items())
        yield f"pins     {pinned or 'nothing'}; {_ON_CHANGE[told['pins']['on_change']]}"
    yield from (f"warning: {warning}" for warning in told["warnings"])


def _methods(methods: dict[str, list[str]]) -> str:
    """Whoever denies every tool may not expect that files can be read as resources."""
    refused = methods["refused"]
    but = f" but {', '.join(refused)}" if refused else ""
    too = "" if _RESOURCES in refused else f", {_RESOURCES} too"
    more = f"; also {' '.join(methods['allow'])}" if methods["allow"] else ""
    return f"rules are about tools/call; all other methods of the protocol{but} pass{too}{more}"


def _pinned(server: str, count: int) -> str:
    return f"{server} {count} tool{'' if count == 1 else 's'}"


def _kept_to(constraint: Constraint) -> str:
    word = constraint.reason.partition("_")[0]
    if isinstance(constraint, PathConstraint | UrlConstraint) and constraint.optional:
        return f"optional {word}"
    return word


def _rule(rule: Rule) -> dict[str, Any]:
    kept_to = [_kept_to(constraint) for constraint in rule.constraints]
    return {
        "name": rule.name,
        "action": rule.action,
        "tools": [*rule.tools.globs],
        "servers": [*rule.servers.globs],
        "constraints": [*kept_to, *([rule.limit.text()] if rule.limit else [])],
    }


def _pins(policy: Policy) -> dict[str, Any] | None:
    if policy.pins is None:
        return None
    counts = {server: len(tools) for server, tools in sorted(policy.pins.servers.items())}
    return {"on_change": policy.pins.on_change, "servers": counts}


def _warnings(policy: Policy) -> list[str]:
    warnings = []
    for number, rule in enumerate(policy.rules):
        if before := next((other for other in policy.rules[:number] if _covers(other, rule)), None):
            warnings.append(f"{rule.name} is never reached: {before.name} takes all that it names")
    asks = policy.default == "ask" or any(rule.action == "ask" for rule in policy.rules)
    if asks and policy.approval is None:
        warnings.append("some calls need an approval, and no command can give it: they are refused")
    return warnings


def _covers(before: Rule, after: Rule) -> bool:
    """Judged by the globs as they are written, so it may miss a case but never makes one up."""
    pairs = ((before.tools, after.tools), (before.servers, after.servers))
    return all("*" in wide.globs or set(narrow.globs) <= set(wide.globs) for wide, narrow in pairs)
