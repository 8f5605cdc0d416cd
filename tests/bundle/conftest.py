"""A disk that fills up, for the tests of the bundle."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.waiting import SECONDS

SMALL_DISK_KIB = 512


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of half a megabyte, all for this test."""
    place = tmp_path / "small-disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK_KIB}k", "tmpfs", place],
        check=False,
        capture_output=True,
        timeout=SECONDS,
    )
    if mounted.returncode:
        pytest.skip("mounting a small tmpfs is not permitted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True, timeout=SECONDS)
