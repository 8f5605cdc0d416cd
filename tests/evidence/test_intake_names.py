"""The name of a proxy's log is that of its process, and nothing else is such a name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.evidence.intake_names import policy_log, policy_log_owner

NUMBERS = st.integers(0, 10**15 - 1)


@given(NUMBERS, NUMBERS)
def test_a_log_is_named_after_its_process(pid: int, ticks: int) -> None:
    assert policy_log_owner(policy_log(pid, ticks)) == (pid, ticks)


@given(st.text())
def test_any_other_name_is_nobodys(name: str) -> None:
    owner = policy_log_owner(name)
    assert owner is None or policy_log(*owner) == name


@pytest.mark.parametrize(
    "name",
    ["policy.ndjson", "policy.01-1.ndjson", "policy.1-1", "1-1", "policy.²-1.ndjson", "policy.1--1.ndjson"],
)
def test_what_only_looks_like_one_is_nobodys(name: str) -> None:
    assert policy_log_owner(name) is None
    assert policy_log_owner(f"policy.{'9' * 5000}-1.ndjson") is None
