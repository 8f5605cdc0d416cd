"""Names as git writes them survive the way in and out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.capture.git.status import (
    ignore_pattern,
    is_within,
    join_status,
    quote,
    status_lines,
    summarise,
    unquote,
    with_dirty,
)


@given(st.binary(min_size=1).filter(lambda name: b"\0" not in name))
def test_quoting_can_be_undone(name: bytes) -> None:
    assert unquote(quote(name, always=True)) == name
    if not name.startswith(b'"'):
        assert unquote(quote(name)) == name


@pytest.mark.parametrize(
    ("name", "quoted"),
    [
        (b"plain", b"plain"),
        (b"new\nline", b'"new\\nline"'),
        (b'q"\\', b'"q\\"\\\\"'),
        (b"\xe9", b'"\\351"'),
        (b"\x7f\x01", b'"\\177\\001"'),
    ],
)
def test_a_name_is_quoted_as_git_does(name: bytes, quoted: bytes) -> None:
    assert quote(name) == quoted


def test_a_status_is_parsed_and_counted() -> None:
    tracked = b' M a\nR  old -> "new name"\nR  "x -> y" -> z\nA  "caf\\303\\251"\nD  gone\nUU both\nAD ad\n'
    status = tracked + b"?? dir/\n"
    lines = status_lines(status)
    assert [line.paths for line in lines] == [
        (b"a",),
        (b"old", b"new name"),
        (b"x -> y", b"z"),
        ("caf\u00e9".encode(),),
        (b"gone",),
        (b"both",),
        (b"ad",),
        (b"dir/",),
    ]
    assert summarise(lines) == {
        "changed_files": 8,
        "added": 1,
        "modified": 2,
        "deleted": 2,
        "renamed": 2,
        "untracked": 1,
    }
    assert join_status(lines) == status


def test_a_dirty_submodule_takes_its_place_once() -> None:
    lines = with_dirty(status_lines(b" M a\n M m\n M z\n?? b\n"), [b"m", b"su b"])
    assert join_status(lines) == b' M a\n M m\n M "su b"\n M z\n?? b\n'


def test_an_ignore_pattern_has_no_wildcards_left() -> None:
    assert ignore_pattern(b"a*/[b] c!") == b"/a\\*/\\[b\\]\\ c\\!\n"


def test_a_path_is_within_itself_and_its_parents_only() -> None:
    assert is_within(b"a/b", (b"a",))
    assert is_within(b"a", (b"a",))
    assert not is_within(b"ab", (b"a",))
