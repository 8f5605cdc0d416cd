"""Repositories to watch: git as the tests call it, and snapshots of what it did."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from steno.capture.git.snapshot import RepoWatch, Skip, Snapshot


def git(where: Path, *args: str, check: bool = True) -> bytes:
    command = ["git", "-c", "protocol.file.allow=always", *args]
    return subprocess.run(command, cwd=where, check=check, capture_output=True).stdout


def watch(
    cwd: Path, finder: Callable[[bytes], bool] = lambda _: False, exclude: Sequence[Path] = ()
) -> RepoWatch:
    return RepoWatch(cwd, exclude=exclude, fallback=cwd.parent / "fallback", finder=finder)


def taken(result: Snapshot | Skip) -> Snapshot:
    assert isinstance(result, Snapshot), result
    return result
