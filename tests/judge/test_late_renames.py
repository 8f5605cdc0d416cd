"""Directories that were renamed before anybody looked: what they spoil, and what they brought untold."""

from __future__ import annotations

import pytest

from steno.judge.path_history import LateRenames


@pytest.fixture
def renames() -> LateRenames:
    made = LateRenames()
    assert not made
    made.add("rename", b"/old", exchange=False)
    made.add("rename_to", b"/new", exchange=False)
    assert made
    return made


@pytest.mark.parametrize(
    ("op", "name", "found", "spoilt"),
    [
        ("open", b"/new/a", True, True),
        ("open", b"/new/a", False, False),
        ("unlink", b"/new/d/a", False, True),
        ("open", b"/old/a", False, True),
        ("open", b"/new", True, False),
        ("open", b"/newer/a", True, False),
    ],
)
def test_a_look_is_spoilt_below_both_names(
    renames: LateRenames, op: str, name: bytes, *, found: bool, spoilt: bool
) -> None:
    assert renames.spoil(op, name, found=found) == spoilt


def test_a_directory_that_brought_something_untold_counts_once(renames: LateRenames) -> None:
    renames.add("moved_to", b"/new/told", exchange=False)
    for op, name in (("open", b"/new/told"), ("rename_to", b"/new/put"), ("moved_to", b"/new/put/b")):
        renames.spoil(op, name, found=True)
    assert renames.unlisted == 0
    for name in (b"/new/a", b"/new/b"):
        renames.spoil("moved", name, found=True)
    assert renames.unlisted == 1


def test_what_was_exchanged_has_come_and_gone_on_both_sides() -> None:
    renames = LateRenames()
    for op, name in (("rename", b"/a"), ("rename_to", b"/b")):
        renames.add(op, name, exchange=True)
    assert all(
        renames.spoil("open", name, found=False) and renames.may_hide(name) for name in (b"/a/x", b"/b/x")
    )
    assert not renames.may_hide(b"/c/x")
