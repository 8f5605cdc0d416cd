"""A patch for the eye: what changed in a line stands out, and nothing in it works on a terminal."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from steno.text.style import Paint
from steno.views.file_diff import painted

HEAD = [b"diff --git a/x b/x\n", b"--- a/x\n", b"+++ b/x\n", b"@@ -1 +1 @@\n"]
STRONG, WEAK = "\x1b[7m", "\x1b[27m"


def shown(*lines: bytes, colour: bool = True, head: bool = True) -> list[str]:
    patch = [*HEAD, *lines] if head else lines
    return list(painted(patch, Paint(colour)))[len(HEAD) if head else 0 :]


def test_without_colour_it_is_the_patch_as_text() -> None:
    lines = [*HEAD, b" same\n", b"-one\n", b"+two\n", b"\\ No newline at end of file\n", b"# /y: binary\n"]
    assert [f"{line}\n".encode() for line in painted(lines, Paint())] == lines


def test_nothing_but_a_tab_is_acted_on() -> None:
    assert shown(b"+\tx\x1b[2J\xff\n", colour=False) == ["+\tx\\x1b[2J\\xff"]


def test_added_and_removed_lines_have_their_colours() -> None:
    assert shown(b"-gone\n", b" same\n", b"+new\n") == [
        "\x1b[31;1m-gone\x1b[0m",
        " same",
        "\x1b[32m+new\x1b[0m",
    ]


def test_the_words_that_changed_stand_out() -> None:
    old, new = shown(b"-count = first_value + 1\n", b"+count = second_value + 1\n")
    assert old == f"\x1b[31;1m-count = {STRONG}first_value{WEAK} + 1\x1b[0m"
    assert new == f"\x1b[32m+count = {STRONG}second_value{WEAK} + 1\x1b[0m"


def test_lines_with_nothing_in_common_are_not_marked() -> None:
    assert STRONG not in "".join(shown(b"-  abc\n", b"+  xyz\n"))


def test_lines_that_have_no_other_are_not_marked() -> None:
    assert STRONG not in "".join(shown(b"-a b\n", b"-c d\n", b"+a x\n"))


def test_two_changes_side_by_side_are_held_apart() -> None:
    lines = shown(b"-a 1\n", b"+a 2\n", b"-b 1\n", b"+b 2\n")
    assert [line.count(STRONG) for line in lines] == [1, 1, 1, 1]


def test_a_removed_line_that_looks_like_a_heading_is_a_removed_line() -> None:
    assert shown(b"--- x\n") == ["\x1b[31;1m--- x\x1b[0m"]
    assert shown(b"--- x\n", head=False) == ["\x1b[1m--- x\x1b[0m"]


@given(st.lists(st.tuples(st.sampled_from(b"+- "), st.binary(max_size=12)), max_size=12))
def test_no_line_is_lost_moved_or_changed(made: list[tuple[int, bytes]]) -> None:
    lines = [bytes([sign]) + text.replace(b"\n", b"") + b"\n" for sign, text in made]
    without = [re.sub("\x1b\\[[0-9;]*m", "", line) for line in shown(*lines)]
    assert without == shown(*lines, colour=False)
    assert len(without) == len(lines)
