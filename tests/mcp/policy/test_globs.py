"""Globs against a slow and simple reference, and against names that make others slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.mcp.policy.globs import MAX_LENGTH, BadGlobError, Globs

LETTERS = "ab*?\n.+^$|()é"


def fits(glob: str, name: str) -> bool:
    """Which beginnings of the name each beginning of the glob can take: slow, and plain to see."""
    reached = {0}
    for character in glob:
        if character == "*":
            reached = set(range(min(reached), len(name) + 1)) if reached else set()
        else:
            reached = {
                place + 1 for place in reached if place < len(name) and character in {"?", name[place]}
            }
    return len(name) in reached


@given(st.text("ab*?.+^$|()é", min_size=1, max_size=12), st.text(LETTERS, max_size=16))
def test_a_glob_fits_what_the_reference_fits(glob: str, name: str) -> None:
    assert Globs([glob]).fits(name) == fits(glob, name)


@given(st.lists(st.text("ab*?", min_size=1, max_size=6), max_size=4), st.text("ab", max_size=8))
def test_several_globs_fit_what_one_of_them_fits(globs: list[str], name: str) -> None:
    assert Globs(globs).fits(name) == any(fits(glob, name) for glob in globs)


def test_case_and_the_whole_name_matter() -> None:
    globs = Globs(["read_*", "stat"])
    assert globs.fits("read_file")
    assert not globs.fits("Read_file")
    assert not globs.fits("xread_file")
    assert not globs.fits("stat2")
    assert not globs.fits("stat\n")


def test_no_name_is_slow() -> None:
    assert not Globs(["*a" * 100 + "*b"]).fits("a" * 100_000)


@pytest.mark.parametrize("glob", ["", "[ab]", "{a,b}", "a\\*", "!a", "a\nb", "a\0", "x" * (MAX_LENGTH + 1)])
def test_a_glob_that_could_mean_something_else_is_refused(glob: str) -> None:
    with pytest.raises(BadGlobError):
        Globs([glob])
