"""Every system call has one class, and what is made from the tables is fresh."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import generate
import generate_calls
from generate_calls import MACHINES, TableError, calls_of, numbers, tables
from steno.evidence.calls import NAMES

ROOT = Path(__file__).parents[2]
# Calls that programs make by the thousand: none of them may be stopped, whatever it asks for.
FREQUENT = {
    "read",
    "pread64",
    "close",
    "fstat",
    "lseek",
    "ioctl",
    "futex",
    "poll",
    "mprotect",
    "munmap",
    "brk",
}


DESCRIBED, KNOWN = tables()


@pytest.mark.parametrize(("path", "text"), generate.generated().items(), ids=generate.generated())
def test_what_is_made_from_the_tables_is_fresh(path: str, text: str) -> None:
    assert (ROOT / path).read_text() == text, "run `python native/generate.py --write`"


@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_has_one_class(machine: str) -> None:
    calls = KNOWN[machine]
    assert {call.number: call.name for call in calls} == numbers(machine) == NAMES[machine]
    assert {call.group for call in calls} == {"recorded", "counted", "unseen"}
    always = {call.name for call in calls if call.group != "unseen" and "when" not in call.row}
    assert not always & FREQUENT


def test_a_call_without_a_class_is_an_error() -> None:
    with pytest.raises(TableError, match="x86_64 470 listns has no class"):
        calls_of("x86_64", DESCRIBED, {**numbers("x86_64"), 470: "listns"})


def test_a_call_with_two_classes_is_an_error() -> None:
    twice = {**DESCRIBED, "counted": {**DESCRIBED["counted"], "machine": ["openat"]}}
    with pytest.raises(TableError, match=r"openat is in syscalls\.toml twice"):
        calls_of("x86_64", twice, numbers("x86_64"))


def test_a_class_without_a_call_is_an_error() -> None:
    invented = {**DESCRIBED, "counted": {"machine": ["opennat"]}}
    with pytest.raises(TableError, match="no machine has these calls: opennat"):
        calls_of("x86_64", invented, numbers("x86_64"))


@pytest.mark.parametrize(
    "row",
    [
        {"op": "stat", "serve": "sys_path", "pth": 0},
        {"op": "stat", "path": 0},
        {"op": "stat", "serve": "sys_path", "traits": ["nofolow"]},
        {"op": "stat", "serve": "sys_path", "when": "sometimes"},
        {"op": "stat", "serve": "sys_path", "effect": "looks"},
        {"op": "stat", "serve": "sys_path", "probe": "sees"},
    ],
    ids=["word", "no handler", "trait", "condition", "effect", "probe"],
)
def test_a_misspelt_row_is_an_error(row: dict[str, Any]) -> None:
    misspelt = {**DESCRIBED, "recorded": {**DESCRIBED["recorded"], "stat": row}}
    with pytest.raises(TableError, match="stat: "):
        calls_of("x86_64", misspelt, numbers("x86_64"))


@pytest.mark.parametrize("machine", MACHINES)
def test_a_row_names_arguments_that_a_call_can_have(machine: str) -> None:
    for call in KNOWN[machine]:
        given = [call.row[position] for position in generate_calls.POSITIONS if position in call.row]
        assert all(0 <= position < 6 for position in given), call
        if {"at_nofollow", "at_follow"} & set(call.row.get("traits", ())):
            assert "flags" in call.row, call


def test_the_same_call_is_told_apart_by_its_machine() -> None:
    served = {
        machine: {call.number: call.row.get("serve") for call in calls} for machine, calls in KNOWN.items()
    }
    assert (served["x86_64"][9], served["i386"][90], served["i386"][192]) == (
        "sys_fd",
        "sys_map_old",
        "sys_fd",
    )
