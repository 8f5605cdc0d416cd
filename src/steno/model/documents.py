"""What is concluded of a run as JSON documents, which views, pages and exports carry: docs/judgement.md."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from steno.evidence import canonical, kinds, layout
from steno.evidence.layers import Layers
from steno.evidence.syscalls import named_text
from steno.judge import terminal
from steno.judge.calls.types import Call, Calls, Check, Claim, Effects
from steno.judge.judgement import Judgement
from steno.judge.types import (
    Access,
    Connection,
    DirectoryRename,
    Exec,
    File,
    FileState,
    Process,
    Repository,
    name_of_address,
)

EMPTY_TALLY: dict[str, Any] = {"redacted_fields": [], "counts": {}, "total": 0, "examples": []}
CALLS, FILES, PROCESSES = "steno.calls.v1", "steno.files.v1", "steno.processes.v1"
_NANO = 1_000_000_000
Data = dict[str, Any]


class Readable(Protocol):
    """Documents of a run, or of an archive that came from anywhere, by name."""

    @property
    def path(self) -> Path: ...

    def has(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def read(self, path: str, start: int = 0) -> Iterator[bytes]: ...

    def read_all(self, path: str, limit: int) -> bytes: ...


class Documents:
    """The documents of one run; `path` is where its record is."""

    def __init__(self, judgement: Judgement, path: Path) -> None:
        self.judgement = judgement
        self.path = path
        self._whole: dict[str, bytes] = {}

    def has(self, path: str) -> bool:
        if path in {layout.REPO_BEFORE, layout.REPO_AFTER}:
            facts = self.judgement.facts
            snapshot = facts.before if path == layout.REPO_BEFORE else facts.after
            return snapshot is not None and snapshot.reason is None
        return path in _MADE and (path == layout.KERNEL_LINES or self.judgement.has(path))

    def size(self, path: str) -> int:
        return len(self.read_all(path))

    def read(self, path: str, start: int = 0) -> Iterator[bytes]:
        if start or path in self._whole:
            return iter([self.read_all(path)[start:]])
        if not self.has(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return _MADE[path](self.judgement)

    def read_all(self, path: str, limit: int | None = None) -> bytes:
        if path not in self._whole:
            self._whole[path] = b"".join(self.read(path))
        found = self._whole[path]
        if limit is not None and len(found) > limit:
            raise OSError(errno.EFBIG, f"longer than {limit} bytes", path)
        return found

    @property
    def names(self) -> list[str]:
        return list(filter(self.has, _MADE))


def _run(judgement: Judgement) -> Iterator[bytes]:
    facts = judgement.facts
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


def _redaction_report(judgement: Judgement) -> Iterator[bytes]:
    tally = judgement.facts.tally
    told = EMPTY_TALLY if tally is None else msgspec.to_builtins(tally)
    yield canonical.encode({"schema": "steno.redaction-report.v1", "run_id": judgement.facts.run_id, **told})


def _repo_before(judgement: Judgement) -> Iterator[bytes]:
    yield from _snapshot(judgement.reading, judgement.facts.before)


def _repo_after(judgement: Judgement) -> Iterator[bytes]:
    yield from _snapshot(judgement.reading, judgement.facts.after)


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


def _cast(judgement: Judgement) -> Iterator[bytes]:
    return terminal.cast(judgement.reading)


def _surface(judgement: Judgement) -> Iterator[bytes]:
    yield _plain(judgement.surface)


def _health(judgement: Judgement) -> Iterator[bytes]:
    yield _plain(judgement.health)


def _correlation(judgement: Judgement) -> Iterator[bytes]:
    yield _plain(judgement.correlation)


def _plain(told: msgspec.Struct) -> bytes:
    return canonical.encode(msgspec.to_builtins(told))


def _processes(judgement: Judgement) -> Iterator[bytes]:
    found = map(process_json, judgement.processes)
    yield from _listed(b'{"processes":[', found, {"run_id": judgement.facts.run_id, "schema": PROCESSES})


def _files(judgement: Judgement) -> Iterator[bytes]:
    found = judgement.files
    head = b'{"directory_renames":' + canonical.encode(list(map(_rename, found.directory_renames)))
    repositories = list(map(repository_json, found.repositories))
    last = {"git_repositories": repositories, "schema": FILES}
    yield from _listed(head + b',"files":[', map(file_json, found.files), last)


def _listed(head: bytes, found: Iterable[Data], last: Data) -> Iterator[bytes]:
    """An object with a list that may be long, and members after it."""
    yield head
    separator = b""
    for one in found:
        yield separator + canonical.encode(one)
        separator = b","
    yield b"]," + canonical.encode(last)[1:]


def _accesses(judgement: Judgement) -> Iterator[bytes]:
    return (canonical.encode_line(_access(one)) for one in judgement.accesses())


def _calls(judgement: Judgement) -> Iterator[bytes]:
    yield canonical.encode(calls_json(judgement.calls))


_MADE: dict[str, Callable[[Judgement], Iterator[bytes]]] = {
    layout.RUN: _run,
    layout.REDACTION_REPORT: _redaction_report,
    layout.HEALTH: _health,
    layout.SURFACE: _surface,
    layout.CORRELATION: _correlation,
    layout.CALLS: _calls,
    layout.KERNEL_LINES: _accesses,
    layout.PROCESSES: _processes,
    layout.FILES: _files,
    layout.REPO_BEFORE: _repo_before,
    layout.REPO_AFTER: _repo_after,
    layout.CAST: _cast,
}


def process_json(one: Process) -> Data:
    ended: Data | None = None
    if one.exit_code is not None:
        ended = {"code": one.exit_code}
    elif one.signal is not None:
        ended = {"signal": one.signal, "core": one.core_dumped}
    return {
        "process": one.process,
        "parent": one.parent or 0,
        "pid": one.pid,
        "start_ticks": one.start_ticks,
        "first_ns": one.started_ns,
        "ended_ns": one.ended_ns,
        "execs": list(map(_exec, one.execs)),
        "exit": ended,
        "exit_known": one.end_known,
        "outlived": one.still_running,
        "threads": one.threads,
        "role": one.role,
        "events": one.n_events,
    }


def _exec(one: Exec) -> Data:
    interpreter: Data | None = None
    if one.interpreter_bytes is not None:
        argument = one.interpreter_argument
        interpreter = {
            **_readable("path", one.interpreter_bytes),
            **({"argument": None} if argument is None else _readable("argument", argument)),
        }
    words = [_readable("word", word) for word in one.words]
    exact = {"argv_b64": [word.get("word_b64", "") for word in words]}
    return {
        "at_ns": one.at_ns,
        **_readable("requested", one.requested_bytes),
        **_readable("path", one.executable_bytes),
        "argv": [word["word"] for word in words],
        **(exact if any(exact["argv_b64"]) else {}),
        "argc": one.n_arguments,
        "argv_cut": one.arguments_cut,
        "interpreter": interpreter,
        "result": one.result,
        "privilege_lost": one.privilege_lost,
    }


def file_json(one: File) -> Data:
    told: Data = {
        **named_text("path", one.name),
        "operations": one.operations,
        "before": state_json(one.before),
        "after": state_json(one.after) | ({"tombstone": True} if one.is_gone else {}),
        "change": one.change,
    }
    if one.changed_by_others:
        told["by_others"] = True
    return told if one.git is None else {**told, "git": msgspec.to_builtins(one.git)}


def state_json(state: FileState) -> Data:
    if not state.exists:
        return {"unknown": True} if state.exists is None else {"exists": False}
    found = {
        "exists": True,
        "type": state.kind,
        "mode": state.mode,
        "mtime": None if state.mtime_ns is None else state.mtime_ns // _NANO,
        "mtime_ns": state.mtime_ns,
        "size": state.size,
        "uid": state.uid,
        "gid": state.gid,
        "blob": state.blob,
        "content": state.no_content_reason,
    }
    return _given(found) | ({} if state.target is None else named_text("target", state.link))


def repository_json(one: Repository) -> Data:
    found = {"root": one.root, "head": one.head, "dirty": one.dirty}
    return found if one.root_b64 is None else {**found, "root_b64": one.root_b64}


def connection_json(one: Connection) -> Data:
    address = named_text("address", one.address_bytes)
    return {
        **address,
        "family": one.family,
        "name": name_of_address(address["address"]),
        "operations": one.operation_counts,
        "results": one.result_counts,
        "outcome": one.outcome,
        "processes": one.processes,
        "count": one.times,
        "first_ns": one.first_ns,
        "last_ns": one.last_ns,
    }


def _rename(one: DirectoryRename) -> Data:
    told: Data = {**named_text("from", one.old), **named_text("to", one.new)}
    return {**told, "exchange": True} if one.exchanged else told


def _access(one: Access) -> Data:
    found = {
        "category": one.category,
        "count": one.times,
        "first_ns": one.first_ns,
        "last_ns": one.last_ns,
        "op": one.operation,
        "process": one.process,
        "result": one.result,
        "access": one.access,
        "create": one.creates or None,
        "truncate": one.truncates or None,
    }
    return _given(found) | ({} if one.name is None else named_text("path", one.name))


def calls_json(found: Calls) -> Data:
    told: Data = {"schema": CALLS, "run_id": found.run_id, "calls": list(map(_call, found.calls))}
    if not found.has_rest:
        return told
    outside: Data | None = None
    if found.unattributed is not None:
        servers = {one.server: _effects(one) for one in found.by_servers}
        outside = {**_effects(found.unattributed), "by_servers": servers}
    return {
        **told,
        "ambiguous": [{"candidates": one.candidates, **_effects(one)} for one in found.ambiguous],
        "unattributed": outside,
        "claims": list(map(_claim, found.claims)),
    }


def _call(one: Call) -> Data:
    seen = None if one.seen is None else {**_effects(one.seen), "own_state": one.seen.own_state}
    return {
        "tool_call_id": one.tool_call_id,
        "tool": one.tool,
        "server": one.server,
        "said": msgspec.to_builtins(one.said),
        "decided": msgspec.to_builtins(one.decided),
        "window": msgspec.to_builtins(one.window),
        "seen": seen,
        "verdict": one.verdict,
        "rules": list(map(_check, one.checks)),
    }


def _effects(one: Effects) -> Data:
    return {"kernel_event_count": one.n_events, **msgspec.to_builtins(one.names)}


def _check(one: Check) -> Data:
    return {"rule": one.rule, "result": one.result, "says": one.detail}


def _claim(one: Claim) -> Data:
    return {
        "source": one.source,
        "event_type": one.kind,
        "seq": one.seq,
        "corroboration": one.corroboration,
        "rule": one.rule,
        "rules": list(map(_check, one.checks)),
    }


def _given(found: Data) -> Data:
    return {name: value for name, value in found.items() if value is not None}


def _readable(name: str, data: bytes) -> dict[str, str]:
    return named_text(name, data, readable=True)
