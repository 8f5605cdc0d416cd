"""The first seed's view: `artifacts/capture_run/<run_id>/`, exact to `seeds/capture-run.txt`.

In: a sealed bundle and a directory. Out: the seed's files, the same bytes every time; the only paths of the
machine in them are `cwd` and `artifact_dir`. An event that the bundle does not have is not made up: a run
whose end was not seen has no `command_finished`, and its exit code is null. Never writes what the bundle does
not hold.

`repo_diff.patch` is the work tree at the end against its HEAD, as the seed's `git diff`, but with staged and
untracked changes in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from steno.bundle import manifest as manifests
from steno.bundle.first_format import as_today
from steno.bundle.folder import Folder
from steno.bundle.inventory import completeness_of
from steno.bundle.manifest import Manifest
from steno.bundle.reader import FolderLayers
from steno.errors import UnreadableBundleError
from steno.evidence import canonical, kinds, layout
from steno.evidence.kinds import Event, RepoSnapshot
from steno.judge import summaries
from steno.judge.facts import RunFacts
from steno.judge.streams import recorded
from steno.judge.tails import tail
from steno.redact.engine import Redactor
from steno.redact.findings import Findings
from steno.views.export import Exported
from steno.views.export.placing import place_tree
from steno.views.plain import utf8

PLACE = "artifacts/capture_run"
# A command that could not be started was still attempted: the seed's event has no pid then.
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


def export(folder: Folder, directory: Path) -> Exported:
    try:
        made = _CaptureRun(as_today(folder), manifests.read(folder), directory)
    except (OSError, ValueError) as error:
        raise UnreadableBundleError(
            f"{folder.path} cannot be exported: {error}", hint=f"`steno verify {folder.path}` says more"
        ) from error
    return Exported(place_tree(directory, made.place, made.files()))


class _CaptureRun:
    def __init__(self, folder: Folder, manifest: Manifest, directory: Path) -> None:
        self._layers = FolderLayers(folder, manifest.run_id)
        self._facts = RunFacts.of(self._layers)
        self._completeness = completeness_of(self._facts)
        self.place = f"{PLACE}/{manifest.run_id}"  # the manifest's reader has checked its form
        # The one text in the export that is not from the bundle, so it is the one to be masked here.
        place = utf8(str(directory.absolute() / self.place))
        self._artifact_dir = Redactor(findings=Findings()).text(place, "artifact_dir")

    def files(self) -> dict[str, Iterable[bytes]]:
        facts, layers = self._facts, self._layers
        events = list(self._events())
        found: dict[str, Iterable[bytes]] = {
            "env.json": [canonical.encode(summaries.environment(facts))],
            "events.jsonl": map(canonical.encode_line, events),
            "hashes.json": [canonical.encode(self._hashes)],
            "stdout_tail.txt": [tail(layers, layout.STDOUT, facts.start.tail_bytes)],
            "stderr_tail.txt": [tail(layers, layout.STDERR, facts.start.tail_bytes)],
            "redaction_report.json": summaries.redaction_report(layers),
            "episodes/episodes.jsonl": map(
                canonical.encode_line, _episodes(events, self._hashes, self.place)
            ),
        }
        found |= self._repo_files()
        if facts.start.raw_logs:
            found |= {
                "stdout_full.txt": self._full(layout.STDOUT),
                "stderr_full.txt": self._full(layout.STDERR),
            }
        return found

    def _repo_files(self) -> dict[str, Iterable[bytes]]:
        found: dict[str, Iterable[bytes]] = {}
        for name, snapshot in (("before", self._facts.before), ("after", self._facts.after)):
            if snapshot is not None and snapshot.reason is None:
                found[f"repo_{name}.json"] = [canonical.encode(self._snapshot(snapshot))]
                found[f"repo_status_{name}.txt"] = self._layers.read(_STATUS[name])
        if self._looked_after:
            found["repo_diff.patch"] = self._layers.read(layout.WORKTREE_DIFF)
        return found

    def _full(self, tape: str) -> Iterator[bytes]:
        is_merged = tape == layout.STDOUT and tape not in recorded(self._layers)
        return self._layers.read(layout.OUTPUT if is_merged else tape)

    @property
    def _looked_after(self) -> bool:
        return self._facts.after is not None and self._facts.after.reason is None

    @cached_property
    def _hashes(self) -> dict[str, str]:
        found: dict[str, str] = dict(canonical.decode(b"".join(summaries.hashes(self._layers))))
        found.pop("repo_diff_hash", None)  # the bundle's is that of the run's own patch
        if self._looked_after:
            found["repo_diff_hash"] = summaries.sha256_of(self._layers, layout.WORKTREE_DIFF)
        return found

    def _events(self) -> Iterator[Data]:
        for event in self._layers.events():
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
                hashes = self._hashes
                names = ("stdout_tail_hash", "stderr_tail_hash")
                return {"exit_code": exit_code, **{name: hashes[name] for name in names}}
            case kinds.RunFinish(exit_code=exit_code):
                return {"exit_code": exit_code, "artifact_dir": self._artifact_dir, **self._what_is_missing()}
            case _:
                return {}

    def _snapshot(self, snapshot: RepoSnapshot) -> Data:
        if snapshot.reason is not None:
            return {"reason": snapshot.reason}
        found: Data = {
            "status_summary": snapshot.status_summary,
            "diff_hash": summaries.diff_hash(self._layers, snapshot),
        }
        if snapshot.head is not None:  # before the first commit there is none
            found["head"] = snapshot.head
        if snapshot.head is not None or snapshot.branch is not None:
            found["branch"] = snapshot.branch or _DETACHED
        return found

    def _what_is_missing(self) -> Data:
        found = self._completeness
        if found.complete:
            return {}
        return {"completeness": {"complete": False, "completed": found.completed, "gaps": list(found.gaps)}}


def _episodes(events: list[Data], hashes: dict[str, str], place: str) -> Iterator[Data]:
    number = 0
    types = [event["type"] for event in events]
    diff_after = (
        kinds.CommandFinished.type if kinds.CommandFinished.type in types else kinds.RepoSnapshotAfter.type
    )
    for index, event in enumerate(events):
        found = list(_episodes_of(event))
        if event["type"] == diff_after and "repo_diff_hash" in hashes:
            found.append(_diff_episode(hashes["repo_diff_hash"]))
        for episode in found:
            number += 1
            refs = {"event_index": index, "run_dir": place, **episode.pop("refs", {})}
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
