"""What a record tells of a run in a few words: the run itself, what was masked, and its git repository."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from steno.evidence import canonical, kinds, layout
from steno.evidence.layers import Layers
from steno.judge.facts import RunFacts

EMPTY_TALLY: dict[str, Any] = {"redacted_fields": [], "counts": {}, "total": 0, "examples": []}


def run(layers: Layers) -> Iterator[bytes]:
    facts = RunFacts.of(layers)
    start = facts.start
    yield canonical.encode(
        {
            "schema": "steno.run.v1",
            "run_id": facts.run_id,
            "name": start.name,
            "command": start.cmd_redacted,
            "cwd": start.cwd,
            "git_enabled": start.git_enabled,
            "host": msgspec.to_builtins(start.host),
            "tool_versions": facts.tool_versions,
            "steno_version": start.steno_version,
            "started_at_ms": facts.started_at_ms,
            "finished_at_ms": facts.finished_at_ms,
            "duration_ns": facts.end_ns,
            "pid": facts.pid,
            "exit_code": facts.exit_code,
            "signal": facts.signal,
            "completed": facts.completed,
            "usage": _usage(facts.finished),
            "terminal": {
                **msgspec.to_builtins(start.terminal),
                "held_by_others": list(facts.held),
                "stdin_unread_bytes": facts.stdin_unread,
            },
            "env": start.env,
            "observer": start.observer,
            "shim": facts.shim,
            "shim_asked": start.shim,
            "tail_bytes": start.tail_bytes,
            "raw_logs": start.raw_logs,
            "uid": start.uid,
            "gid": start.gid,
            "kernel": _told(facts.kernel),
            "cgroup": {"scope": _told(facts.scope), "end": _told(facts.scope_end)},
            "probe": _told(facts.probe),
            "intake": start.intake,
            "connections": [_told(connection) for connection in facts.connections],
            "sdk_intake": _told(facts.sdk_intake),
            "gaps": [_told(gap) for gap in facts.gaps],
        }
    )


def redaction_report(layers: Layers) -> Iterator[bytes]:
    tally = RunFacts.of(layers).tally
    told = EMPTY_TALLY if tally is None else msgspec.to_builtins(tally)
    yield canonical.encode({"schema": "steno.redaction-report.v1", "run_id": layers.run_id, **told})


def repo_before(layers: Layers) -> Iterator[bytes]:
    yield from _snapshot(layers, RunFacts.of(layers).before)


def repo_after(layers: Layers) -> Iterator[bytes]:
    yield from _snapshot(layers, RunFacts.of(layers).after)


def diff_hash(layers: Layers, snapshot: kinds.RepoSnapshot) -> str | None:
    """The SHA-256 of the masked patch of the work tree; None: there is no snapshot, or no patch."""
    if snapshot.reason is not None or snapshot.diff_hash is not None:
        return snapshot.diff_hash
    after = isinstance(snapshot, kinds.RepoSnapshotAfter)
    return _sha256_of(layers, layout.WORKTREE_DIFF if after else layout.WORKTREE_BEFORE)


def _sha256_of(layers: Layers, path: str) -> str:
    digest = hashlib.sha256()
    for block in layers.read(path):
        digest.update(block)
    return digest.hexdigest()


def _snapshot(layers: Layers, snapshot: kinds.RepoSnapshot | None) -> Iterator[bytes]:
    facts: dict[str, Any] = {} if snapshot is None else msgspec.to_builtins(snapshot)
    if snapshot is not None and (digest := diff_hash(layers, snapshot)) is not None:
        facts["diff_hash"] = digest
    yield canonical.encode({"schema": "steno.repo-snapshot.v1", "run_id": layers.run_id, **facts})


def _told(data: kinds.EventData | None) -> dict[str, Any] | None:
    told: dict[str, Any] | None = None if data is None else msgspec.to_builtins(data)
    return told


def _usage(finished: kinds.CommandFinished | None) -> dict[str, int | None] | None:
    if finished is None:
        return None
    return {
        "user_us": finished.user_us,
        "system_us": finished.system_us,
        "max_rss_kib": finished.max_rss_kib,
    }
