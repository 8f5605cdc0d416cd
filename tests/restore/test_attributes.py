"""What no state tells of stays as it is: access lists, extended attributes, the times of directories."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from support.snapshots import recording, snapshot

ACL, DEFAULT_ACL = "system.posix_acl_access", "system.posix_acl_default"
USER_OBJ, USER, GROUP_OBJ, MASK, OTHER = 1, 2, 4, 16, 32
READ, WRITE, ANYBODY = 4, 2, 2**32 - 1


def access_list(mask: int) -> bytes:
    """User 65534 may read and write, as far as the mask allows; the group may nothing."""
    entries = [
        (USER_OBJ, READ | WRITE, ANYBODY),
        (USER, READ | WRITE, 65534),
        (GROUP_OBJ, 0, ANYBODY),
        (MASK, mask, ANYBODY),
        (OTHER, 0, ANYBODY),
    ]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path / "root"
    (place / "d").mkdir(parents=True)
    for name in ("listed", "plain"):
        (place / "d" / name).write_bytes(b"before")
        (place / "d" / name).chmod(0o600)
    try:
        os.setxattr(place / "d" / "listed", "user.note", b"kept")
        os.setxattr(place / "d" / "listed", ACL, access_list(READ))
        os.setxattr(place / "d", DEFAULT_ACL, access_list(READ | WRITE))
    except OSError:
        pytest.skip("this file system keeps no access lists or attributes")
    os.utime(place / "d", ns=(0, 1_500_000_000_000_000_001))
    return place


def attributes(path: Path) -> dict[str, bytes]:
    names = [name for name in os.listxattr(path) if not name.startswith("security.")]
    return {name: os.getxattr(path, name) for name in names}


def test_access_lists_and_attributes_that_the_run_never_touched_stay_and_no_mode_gets_wider(
    root: Path,
) -> None:
    before = snapshot(root)
    files = [root / "d" / "listed", root / "d" / "plain"]
    kept = [attributes(path) for path in files]
    assert kept[0][ACL] == access_list(READ)
    assert kept[1] == {}
    for path in files:
        path.write_bytes(b"after!")
    after = snapshot(root)
    recorded = recording(before, after)
    recorded.undo()
    assert snapshot(root) == before  # also the time of the directory
    assert [attributes(path) for path in files] == kept
    recorded.restore()
    assert snapshot(root) == after
    assert [attributes(path) for path in files] == kept
