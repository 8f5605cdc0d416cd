"""Which directories a run mounted upon, and what lies below them."""

from __future__ import annotations

import pytest

from steno.evidence import wire
from steno.evidence.ignore_rules import lies_below
from steno.judge.path_history import FOUND, Rows, mounted_upon

BIND, MOVE, REMOUNT, RECURSIVE, PRIVATE = 4096, 8192, 32, 16384, 1 << 18
OLD_MAGIC = 0xC0ED0000


def points(op: str, arg: int = 0, *, notes: int = 0, failed: bool = False, key: str = "/m") -> set[str]:
    return mounted_upon(Rows([key], [op], [arg], [notes], [failed], [FOUND], [0o40755]))


@pytest.mark.parametrize(
    "flags", [0, BIND, BIND | RECURSIVE, MOVE, BIND | PRIVATE, OLD_MAGIC | BIND, OLD_MAGIC]
)
def test_what_is_mounted_hides_what_was_there(flags: int) -> None:
    assert points("mount", flags) == {"/m"}


@pytest.mark.parametrize("flags", [REMOUNT, REMOUNT | BIND, PRIVATE, PRIVATE | RECURSIVE])
def test_a_mount_that_is_only_changed_hides_nothing(flags: int) -> None:
    assert points("mount", flags) == set()


def test_what_is_taken_away_shows_something_else() -> None:
    assert points("umount") == {"/m"}


def test_what_failed_has_no_name_or_is_another_namespaces_counts_for_nothing() -> None:
    assert points("mount", failed=True) == set()
    assert points("umount", notes=wire.NOTES["other_root"]) == set()
    assert points("mount", key="") == set()
    assert points("mkdir") == set()


@pytest.mark.parametrize(
    ("path", "below"),
    [(b"/m", True), (b"/m/x/y", True), (b"/mm", False), (b"/", False), (b"/a/m/x", False), (b"m/x", False)],
)
def test_what_lies_below(path: bytes, below: bool) -> None:
    assert lies_below(path, {b"/m"}) is below
    assert not lies_below(path, set())


def test_everything_absolute_lies_below_the_root() -> None:
    assert lies_below(b"/a/b", {b"/"})
    assert lies_below(b"/", {b"/"})
    assert not lies_below(b"a", {b"/"})
