"""Lines of a trace: exact times, and names that cannot hurt whoever opens it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.export.perfetto import LONGEST_NAME, LONGEST_TEXT, Lane, complete, instant, microseconds
from steno.text.safe import visible

LANE = Lane(7, 8)


def args_of(args: dict[str, Any]) -> Any:
    return json.loads(instant("x", LANE, 0, "c", args))["args"]


@pytest.mark.parametrize(
    ("nanoseconds", "text"), [(0, "0.000"), (1, "0.001"), (1_234_567, "1234.567"), (-5, "0.000")]
)
def test_no_nanosecond_is_lost(nanoseconds: int, text: str) -> None:
    assert microseconds(nanoseconds) == text


def test_a_slice_that_ends_before_it_begins_has_no_length() -> None:
    assert json.loads(complete("x", LANE, 5000, 1000, "c", {}))["dur"] == 0


@given(st.text())
def test_any_name_becomes_one_line_of_printable_ascii(name: str) -> None:
    line = instant(name, LANE, 1, "c", {"name": name, name: 1})
    assert line.isascii()
    assert line.isprintable()
    assert visible(json.loads(line)["name"]) == json.loads(line)["name"]


def test_a_name_is_cut_and_a_megabyte_is_not_carried_along() -> None:
    line = instant("n" * 1_000_000, LANE, 1, "c", {"path": "p" * 1_000_000})
    found = json.loads(line)
    assert len(found["name"]) == LONGEST_NAME
    assert len(found["args"]["path"]) == LONGEST_TEXT


def test_numbers_that_a_viewer_would_round_are_text() -> None:
    assert args_of({"a": 2**53, "b": 2**53 - 1, "c": True}) == {"a": str(2**53), "b": 2**53 - 1, "c": True}


def test_what_is_left_off_is_counted() -> None:
    assert args_of({"argv": ["x"] * 150})["argv"][-1] == "… 50 more"
    assert args_of({"env": dict.fromkeys(map(str, range(150)))})["env"]["…"] == 50


def test_a_deep_value_ends() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    assert "…" in json.dumps(args_of({"deep": deep}), ensure_ascii=False)
