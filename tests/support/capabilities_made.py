"""Surfaces, sources and sides of a comparison, made by hand: exactly the entries that a test is about."""

from __future__ import annotations

import hashlib
from typing import Any

from steno.compare.comparison import Comparison, compare
from steno.compare.ignore import IgnoreRules
from steno.compare.sides import Evidence, Named, Source, pair
from steno.model.capabilities import CATEGORIES

RUN_A = "2026-01-25T12-00-00-000Z_aaaaaaaa"
RUN_B = "2026-01-25T12-00-01-000Z_bbbbbbbb"
ROOTS = {"cwd": "/srv/a", "home": "/home/ada", "tmp": "/tmp"}


def surface(
    run_id: str = RUN_A, *, names: dict[str, list[str]] | None = None, roots: Any = None, **entries: Any
) -> dict[str, Any]:
    """A surface; the entries of a category are named by its key, with `_` between its parts."""
    own: dict[str, Any] = {}
    for category in CATEGORIES:
        if category.act:
            listed = entries.pop(f"{category.group}_{category.act}", [])
            own.setdefault(category.group, {})[category.act] = sorted(listed)
    found = {
        "schema": "steno.capability-surface.v1",
        "run_id": run_id,
        "filesystem_prefixes": [],
        "filesystem_paths": sorted({path for paths in own["files"].values() for path in paths}),
        "network_endpoints": own["endpoints"]["connected"],
        "process_execs": own["execs"]["ran"],
        "mcp_tools": entries.pop("mcp_tools", []),
        "policy_decisions": entries.pop("policy_decisions", []),
        "steno": {
            "schema": "steno.surface.v1",
            **own,
            "names": names or {},
            "roots": roots or ROOTS,
            "kernel_layer": "complete",
        },
    }
    assert not entries, "no such category"
    return found


def source(run_id: str = RUN_A, **changed: Any) -> Source:
    values: dict[str, Any] = {
        "run_id": run_id,
        "root": hashlib.sha256(run_id.encode()).hexdigest(),
        "observer": "notify",
        "kernel_layer": "complete",
        "cgroup_correlation": "partial",
        "complete": True,
        "gaps": [],
    }
    return Source(**(values | changed))


def evidence(run_id: str = RUN_A, *, of: dict[str, Any] | None = None, **entries: Any) -> Evidence:
    """A run with these entries; `of` are changed facts of its source."""
    return Evidence(source(run_id, **(of or {})), surface(run_id, **entries))


def compared(
    a: Evidence,
    b: Evidence,
    rules: IgnoreRules | None = None,
    *,
    by_name: bool = False,
    projected: bool | None = None,
) -> Comparison:
    sides = pair(Named("a", a), Named("b", b), projected=projected)
    return compare(*sides, rules or IgnoreRules(), by_name=by_name)
