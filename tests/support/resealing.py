"""A forger who knows the format: digests and root of a bundle are put right again after a change."""

from __future__ import annotations

import hashlib
from pathlib import Path

from steno.bundle import manifest as manifests
from steno.bundle.folder import Folder
from steno.bundle.manifest import FileDigest
from steno.bundle.verify import Status, Verdict, verify
from steno.evidence import layout

BAD = {Status.INVALID, Status.UNREADABLE}


def files_of(run: Path) -> list[str]:
    return sorted(str(path.relative_to(run)) for path in run.rglob("*") if path.is_file())


def reseal(run: Path) -> None:
    """Write a manifest that fits the files as they are now."""
    before = manifests.parse((run / layout.MANIFEST).read_bytes())
    files = {}
    for name in files_of(run):
        if name != layout.MANIFEST:
            data = (run / name).read_bytes()
            files[name] = FileDigest(hashlib.sha256(data).hexdigest(), len(data))
    built = manifests.build(before.run_id, files)
    (run / layout.MANIFEST).write_bytes(manifests.to_bytes(built))


def verdict_of(run: Path) -> Verdict:
    with Folder(run) as folder:
        return verify(folder)


def caught(run: Path, step: int | None = None) -> bool:
    """Whether a forgery whose digests are right is refused, at the step where it should be."""
    reseal(run)
    verdict = verdict_of(run)
    assert all(found.passed for found in verdict.steps[:-1])
    return verdict.status is Status.INVALID and step in {None, verdict.steps[-1].number}


def event_lines(run: Path) -> list[bytes]:
    return (run / layout.EVENTS).read_bytes().splitlines(keepends=True)


def put_events(run: Path, lines: list[bytes]) -> None:
    (run / layout.EVENTS).write_bytes(b"".join(lines))
