"""What git shows of a run: the snapshots before and after the command, and the patch between them.

What cannot be looked at or kept is a gap.
"""

from __future__ import annotations

from typing import Any

from steno.bundle.spool import Spool
from steno.capture.git.snapshot import RepoWatch
from steno.capture.git.types import Change, Skip, Snapshot
from steno.evidence import kinds, layout
from steno.record.recorder import Recorder
from steno.redact.findings import Findings

WITHHELD = "withheld-file"


class RepositoryRecord:
    def __init__(self, repo: RepoWatch, spool: Spool, recorder: Recorder, findings: Findings) -> None:
        self._repo = repo
        self._spool = spool
        self._recorder = recorder
        self._findings = findings
        self._before: Snapshot | Skip | None = None

    def look_before(self) -> None:
        self._before = self._repo.before()
        self._keep_snapshot(self._repo, self._before)

    def look_after(self) -> None:
        if self._before is not None:
            self._keep_comparison(self._repo, self._before, self._repo.after())

    def _keep_snapshot(self, repo: RepoWatch, before: Snapshot | Skip) -> None:
        if isinstance(before, Skip):
            self._recorder.event(kinds.RepoSnapshotBefore(reason=before.reason, detail=before.detail))
            self._recorder.note_skip(before)
            return
        with self._recorder.tolerating_losses():
            self._spool.file(layout.STATUS_BEFORE, [before.status])
            patch = repo.worktree_patch(before)
            self._spool.file(layout.WORKTREE_BEFORE, patch)
            if patch.failure is not None:
                self._recorder.gap("repo_before_unknown", f"{patch.failure.reason}: {patch.failure.detail}")
            self._recorder.event(kinds.RepoSnapshotBefore(**_facts(before)))

    def _keep_comparison(self, repo: RepoWatch, before: Snapshot | Skip, after: Snapshot | Skip) -> None:
        if isinstance(after, Skip):
            self._recorder.event(kinds.RepoSnapshotAfter(reason=after.reason, detail=after.detail))
            if isinstance(before, Snapshot):
                self._recorder.gap("repo_after_unknown", f"{after.reason}: {after.detail}")
            return
        with self._recorder.tolerating_losses():
            self._spool.file(layout.STATUS_AFTER, [after.status])
            worktree = repo.worktree_patch(after)
            self._spool.file(layout.WORKTREE_DIFF, worktree)
            if worktree.failure is not None:
                self._recorder.gap(
                    "repo_after_unknown", f"{worktree.failure.reason}: {worktree.failure.detail}"
                )
            compared = self._keep_patch(repo, before, after) if isinstance(before, Snapshot) else {}
            self._recorder.event(kinds.RepoSnapshotAfter(**_facts(after), **compared))

    def _keep_patch(self, repo: RepoWatch, before: Snapshot, after: Snapshot) -> dict[str, Any]:
        compared = repo.compare(before, after)
        patch = repo.patch(before, after)
        masked_before = self._findings.total
        self._spool.file(layout.DIFF, patch)
        masked = self._findings.total - masked_before
        for path in compared.withheld:
            self._findings.add(f"{layout.shown(layout.DIFF)}:{path}", WITHHELD, b"")
        if compared.changes:
            self._spool.json_file(layout.CHANGES, [_change(change) for change in compared.changes])
        if compared.unpatched:
            paths = ", ".join(f"{file.path} ({file.reason})" for file in compared.unpatched)
            self._recorder.gap("patch_incomplete", f"changed, but not in the patch: {paths}")
        failure = compared.failure or patch.failure
        if failure is not None:
            self._recorder.gap("patch_incomplete", f"{failure.reason}: {failure.detail}")
        return {
            "changed": len(compared.changes),
            "added_lines": sum(change.added or 0 for change in compared.changes),
            "deleted_lines": sum(change.deleted or 0 for change in compared.changes),
            "withheld": list(compared.withheld),
            "masked_in_patch": masked,
            "unpatched": [file.path for file in compared.unpatched],
        }


def _facts(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "root": snapshot.root,
        "head": snapshot.head,
        "branch": snapshot.branch,
        "status_summary": snapshot.status_summary,
        "omitted": [
            {"path": file.path, "size": file.size, "reason": file.reason} for file in snapshot.omitted
        ],
        "notes": list(snapshot.notes),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "path": change.path,
        "status": change.status,
        "added": change.added,
        "deleted": change.deleted,
        "binary": change.binary,
    }
