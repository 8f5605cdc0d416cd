"""Disks that fill up and recorders that are killed, for the tests of the bundle."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SMALL_DISK_KIB = 512
# What changes a file system, or makes sure of it. The end of a process can fall before any of these.
OPERATIONS = ("open", "write", "fsync", "link", "replace", "unlink", "mkdir", "rmdir", "ftruncate")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte, all for this test."""
    place = tmp_path / "small-disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_KIB}k", "tmpfs", place],
        check=False,
        capture_output=True,
        timeout=20,
    )
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs is not permitted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True, timeout=20)


class KilledError(BaseException):
    """The process ends here: nothing but closing descriptors happens after it."""


class Killer:
    """Counts the operations on files, and ends the process before the chosen one."""

    def __init__(self) -> None:
        self.count = 0

    @contextmanager
    def before(self, chosen: int | None) -> Iterator[None]:
        self.count = 0
        with pytest.MonkeyPatch.context() as patch:
            for name in OPERATIONS:
                patch.setattr(os, name, self._watched(getattr(os, name), chosen, durable=name == "fsync"))
            yield

    def _watched(self, real: Callable[..., Any], chosen: int | None, *, durable: bool) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self.count += 1
            if chosen is not None and self.count >= chosen:
                raise KilledError
            return None if durable else real(*args, **options)  # a real fsync proves nothing here

        return call


@pytest.fixture
def killer() -> Killer:
    return Killer()
