"""Text from a record is hostile: nothing in it may work on the reader's terminal."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.text.safe import columns, cut, listed, pad, relative_to_cwd, utf8, visible, visible_json

ACTIVE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("red \x1b[31m", "red \\x1b[31m"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x00\x07\x7f", "\\x00\\x07\\x7f"),
        ("c1 \x9b31m", "c1 \\x9b31m"),
        ("bidi \u202etxt", "bidi \\u202etxt"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("line\u2028end", "line\\u2028end"),
        ("lone \udcff", "lone \\udcff"),
        ("tag \U000e0041", "tag \\U000e0041"),
        ("grüße 日本 🎉", "grüße 日本 🎉"),
    ],
)
def test_what_is_not_seen_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(codec=None)))
def test_nothing_active_is_left(text: str) -> None:
    assert not {unicodedata.category(character) for character in visible(text)} & ACTIVE


@given(st.text())
def test_json_stays_the_same_data_and_is_harmless(text: str) -> None:
    shown = visible_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(shown) == text
    assert not {unicodedata.category(character) for character in shown} & ACTIVE


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])), st.integers(0, 30))
def test_a_cut_text_fits(text: str, width: int) -> None:
    assert columns(cut(text, width)) <= width


def test_names_that_are_not_utf8_can_be_written_as_json() -> None:
    assert utf8({"a\udcff": ["b\udcfe", 1, None]}) == {"a\\xff": ["b\\xfe", 1, None]}


def test_a_cut_shows_as_an_ellipsis() -> None:
    assert cut("make everything", 8) == "make ev…"
    assert cut("make", 4) == "make"
    assert cut("日本語", 4) == "日…"


def test_wide_characters_are_padded_by_their_columns() -> None:
    assert pad("日本", 6) == "日本  "


def test_a_long_list_says_how_many_are_left_off() -> None:
    assert listed(["a", "b\n", "c"], 2) == "a, b\\n and 1 more"
    assert listed(["a"], 2) == "a"


def test_only_the_directory_that_a_path_begins_with_is_left_out() -> None:
    assert relative_to_cwd("not written: /var/tmp/x.txt, /tmp/y", "/tmp") == "not written: /var/tmp/x.txt, y"
    assert relative_to_cwd("it changed /work/a", "/") == "it changed /work/a"
    assert relative_to_cwd("it changed /a.c/b, /abc/d", "/a.c") == "it changed b, /abc/d"
