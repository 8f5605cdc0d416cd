"""A run as the files of the capture-run contract; its clauses are in `docs/contracts/capture-run.md`.

An event that was not recorded is not made up. The only paths of the machine in these files are the directory
of the command and the one that the artifacts are in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from steno.evidence import canonical, kinds, layout
from steno.evidence.kinds import Event, RepoSnapshot
from steno.model.recording import diff_hash
from steno.model.run import Run

PLACE = "artifacts/capture_run"
_CONTINUATION = range(0x80, 0xC0)
_LONGEST_CHARACTER = 4
# A command that could not be started was still attempted: its event has no pid then.
_TYPES = {
    kinds.RunStart.type: kinds.RunStart.type,
    kinds.RepoSnapshotBefore.type: kinds.RepoSnapshotBefore.type,
    kinds.CommandStarted.type: kinds.CommandStarted.type,
    kinds.CommandNotStarted.type: kinds.CommandStarted.type,
    kinds.CommandFinished.type: kinds.CommandFinished.type,
    kinds.RepoSnapshotAfter.type: kinds.RepoSnapshotAfter.type,
    kinds.RunFinish.type: kinds.RunFinish.type,
}
_DETACHED = "HEAD"  # what `git rev-parse --abbrev-ref HEAD` says where there is no branch
_STATUS = {"before": layout.STATUS_BEFORE, "after": layout.STATUS_AFTER}
_EPISODES = {
    "run_start": "EP.RUN_START",
    "repo_snapshot_before": "EP.REPO_SNAPSHOT_BEFORE",
    "command_finished": "EP.CMD_FINISHED",
    "repo_snapshot_after": "EP.REPO_SNAPSHOT_AFTER",
    "run_finish": "EP.RUN_FINISH",
}

Data = dict[str, Any]


def place(run: Run) -> str:
    """Where these files are, below the directory that the user names."""
    return f"{PLACE}/{run.run_id}"


def files(run: Run, artifact_dir: str) -> dict[str, Iterable[bytes]]:
    """By name; `artifact_dir` is the absolute path of their place, as it may be shown."""
    return _CaptureRun(run, artifact_dir).files()


def hashes(run: Run) -> dict[str, str]:
    """Of the ends of stdout and stderr, of what is told of the run, and of the patch that it made."""
    found = _hashes(run)
    if run.facts.after is not None and run.facts.after.changed is not None:
        found["repo_diff_hash"] = _sha256(run.evidence.read(layout.DIFF))
    return found


def environment(run: Run) -> Data:
    """`env.json`: the facts of a run, none of them derived, no path but that of its directory."""
    facts = run.facts
    return {
        "run_id": facts.run_id,
        "started_at_ms": facts.started_at_ms,
        "finished_at_ms": facts.finished_at_ms,
        "cwd": facts.start.cwd,
        "cmd": facts.start.cmd_redacted,
        "exit_code": facts.exit_code,
        "git_enabled": facts.start.git_enabled,
        "host": {
            "os": facts.start.host.os,
            "platform": facts.start.host.platform,
            "node": facts.tool_versions.get("node"),
        },
        "tool_versions": facts.tool_versions,
        "streams": facts.start.terminal.streams,
    }


def tail(run: Run, stream: str) -> bytes:
    """At most as many of the last bytes as the run was to keep, beginning at a character.

    Where stdout and stderr were merged, stdout is the merged output and stderr is empty. Where an observer
    split them on a terminal they are what the programs wrote, before the terminal made it lines.
    """
    source = _source(run, stream)
    limit = min(max(run.facts.start.tail_bytes, 0), kinds.MAX_TAIL_BYTES)
    start = max(0, run.evidence.size(source) - limit)
    data = b"".join(run.evidence.read(source, start))
    return data[_broken_character(data) :] if start else data


def _source(run: Run, stream: str) -> str:
    return layout.OUTPUT if stream == layout.STDOUT and stream not in run.streams else stream


def _broken_character(data: bytes) -> int:
    """How many bytes at the front belong to a character whose beginning was cut off."""
    count = 0
    while count < min(len(data), _LONGEST_CHARACTER - 1) and data[count] in _CONTINUATION:
        count += 1
    return count


def _hashes(run: Run) -> dict[str, str]:
    return {
        "stdout_tail_hash": _sha256([tail(run, layout.STDOUT)]),
        "stderr_tail_hash": _sha256([tail(run, layout.STDERR)]),
        "env_hash": _sha256([canonical.encode(environment(run))]),
    }


def _sha256(blocks: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for block in blocks:
        found.update(block)
    return found.hexdigest()


class _CaptureRun:
    def __init__(self, run: Run, artifact_dir: str) -> None:
        self._run = run
        self._evidence = run.evidence
        self._facts = run.facts
        self._artifact_dir = artifact_dir

    def files(self) -> dict[str, Iterable[bytes]]:
        events = list(self._events())
        found: dict[str, Iterable[bytes]] = {
            "env.json": [canonical.encode(environment(self._run))],
            "events.jsonl": map(canonical.encode_line, events),
            "hashes.json": [canonical.encode(self._hashes)],
            "stdout_tail.txt": [tail(self._run, layout.STDOUT)],
            "stderr_tail.txt": [tail(self._run, layout.STDERR)],
            "redaction_report.json": self._run.documents.read(layout.REDACTION_REPORT),
            "episodes/episodes.jsonl": map(
                canonical.encode_line, _episodes(events, self._hashes, place(self._run))
            ),
        }
        found |= self._repo_files()
        if self._facts.start.raw_logs:
            found |= {
                "stdout_full.txt": self._evidence.read(_source(self._run, layout.STDOUT)),
                "stderr_full.txt": self._evidence.read(_source(self._run, layout.STDERR)),
            }
        return found

    def _repo_files(self) -> dict[str, Iterable[bytes]]:
        found: dict[str, Iterable[bytes]] = {}
        for name, snapshot in (("before", self._facts.before), ("after", self._facts.after)):
            if snapshot is not None and snapshot.reason is None:
                found[f"repo_{name}.json"] = [canonical.encode(self._snapshot(snapshot))]
                found[f"repo_status_{name}.txt"] = self._evidence.read(_STATUS[name])
        if self._looked_after:
            found["repo_diff.patch"] = self._evidence.read(layout.WORKTREE_DIFF)
        return found

    @property
    def _looked_after(self) -> bool:
        return self._facts.after is not None and self._facts.after.reason is None

    @cached_property
    def _hashes(self) -> dict[str, str]:
        found = _hashes(self._run)
        if self._looked_after:
            found["repo_diff_hash"] = _sha256(self._evidence.read(layout.WORKTREE_DIFF))
        return found

    def _events(self) -> Iterator[Data]:
        for event in self._evidence.events():
            if event.type in _TYPES:
                yield {
                    "ts_ms": event.ts_ms,
                    "run_id": event.run_id,
                    "type": _TYPES[event.type],
                    "data": self._data(event),
                }

    def _data(self, event: Event) -> Data:
        match event.data:
            case kinds.RunStart(cwd=cwd, cmd_redacted=words, git_enabled=git):
                return {"cwd": cwd, "cmd_redacted": words, "git_enabled": git}
            case kinds.RepoSnapshot() as snapshot:
                return self._snapshot(snapshot)
            case kinds.CommandStarted(pid=pid):
                return {"pid": pid}
            case kinds.CommandFinished(exit_code=exit_code):
                names = ("stdout_tail_hash", "stderr_tail_hash")
                return {"exit_code": exit_code, **{name: self._hashes[name] for name in names}}
            case kinds.RunFinish(exit_code=exit_code):
                return {"exit_code": exit_code, "artifact_dir": self._artifact_dir, **self._what_is_missing()}
            case _:
                return {}

    def _snapshot(self, snapshot: RepoSnapshot) -> Data:
        if snapshot.reason is not None:
            return {"reason": snapshot.reason}
        found: Data = {
            "status_summary": snapshot.status_summary,
            "diff_hash": diff_hash(self._evidence, snapshot),
        }
        if snapshot.head is not None:  # before the first commit there is none
            found["head"] = snapshot.head
        if snapshot.head is not None or snapshot.branch is not None:
            found["branch"] = snapshot.branch or _DETACHED
        return found

    def _what_is_missing(self) -> Data:
        found = self._run.completeness
        return {} if found["complete"] else {"completeness": found}


def _episodes(events: list[Data], digests: dict[str, str], run_dir: str) -> Iterator[Data]:
    number = 0
    types = [event["type"] for event in events]
    diff_after = (
        kinds.CommandFinished.type if kinds.CommandFinished.type in types else kinds.RepoSnapshotAfter.type
    )
    for index, event in enumerate(events):
        found = list(_episodes_of(event))
        if event["type"] == diff_after and "repo_diff_hash" in digests:
            found.append(_diff_episode(digests["repo_diff_hash"]))
        for episode in found:
            number += 1
            refs = {"event_index": index, "run_dir": run_dir, **episode.pop("refs", {})}
            yield {
                "episode_id": f"{event['run_id']}_{number:04d}",
                "run_id": event["run_id"],
                "ts_ms": event["ts_ms"],
                "refs": refs,
                **episode,
            }


def _episodes_of(event: Data) -> Iterator[Data]:
    kind, data = event["type"], event["data"]
    if kind not in _EPISODES:
        return
    if "reason" in data:
        yield {"kind": "EP.GIT_SKIP", "hashes": {}, "outcome": {"git": "SKIP"}}
        return
    outcome: Data = {"git": "OK"} if kind.startswith("repo_") else {}
    if "exit_code" in data:
        outcome = {"exit_code": data["exit_code"]}
    tails = {name: data[name] for name in ("stdout_tail_hash", "stderr_tail_hash") if name in data}
    yield {"kind": _EPISODES[kind], "hashes": tails, "outcome": outcome}


def _diff_episode(digest: str) -> Data:
    refs = {"patch_ref": "repo_diff.patch"}
    return {"kind": "EP.REPO_DIFF", "refs": refs, "hashes": {"repo_diff_hash": digest}, "outcome": {}}
