"""Comparing capabilities: additions, removals, attempts, ignored entries, and evidence that is degraded."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.compare import ignore
from steno.compare.comparison import Comparison, Outcome, to_json
from steno.model.capabilities import CATEGORIES
from support.capabilities_made import RUN_A, RUN_B, compared, evidence

CAPABILITIES = [category for category in CATEGORIES if not category.is_attempt]
ATTEMPTS = [category for category in CATEGORIES if category.is_attempt]


def only(category: Any) -> dict[str, Any]:
    """One entry, in one category."""
    return {category.key.replace(".", "_"): ["/x"]}


def outcome(found: Comparison) -> tuple[str, int]:
    return found.outcome.value, found.exit_code


def test_equal_runs_are_the_same() -> None:
    a, b = (evidence(run, files_read=["/etc/hosts"], execs_ran=["/bin/sh"]) for run in (RUN_A, RUN_B))
    found = compared(a, b)
    assert outcome(found) == ("same", 0)
    assert found.unchanged == 2


@pytest.mark.parametrize("category", CAPABILITIES, ids=lambda category: category.key)
def test_an_addition_in_any_category_is_an_addition(category: Any) -> None:
    added = evidence(RUN_B, **only(category))
    found = compared(evidence(), added)
    assert outcome(found) == ("added", 1)
    assert [(entry.category.key, entry.text) for entry in found.added] == [(category.key, "/x")]


def test_what_the_run_tells_its_recorder_is_no_addition() -> None:
    log = "/dev/shm/steno-intake-RUN_ID"
    added = evidence(RUN_B, files_written=[f"{log}/hooks.ndjson", f"{log}/policy.PID.ndjson"])
    assert outcome(compared(evidence(), added)) == ("same", 0)


@pytest.mark.parametrize("category", CAPABILITIES, ids=lambda category: category.key)
def test_what_is_only_removed_is_told_and_is_no_failure(category: Any) -> None:
    found = compared(evidence(**only(category)), evidence(RUN_B))
    assert outcome(found) == ("removed", 0)
    assert [entry.text for entry in found.removed] == ["/x"]


@pytest.mark.parametrize("category", ATTEMPTS, ids=lambda category: category.key)
def test_a_new_attempt_is_shown_and_is_never_an_addition(category: Any) -> None:
    found = compared(evidence(), evidence(RUN_B, **only(category)))
    assert outcome(found) == ("same", 0)
    shown = to_json(found)["attempts"][category.key]
    assert shown == {"added": [{"entry": "/x"}], "removed": [], "unchanged": []}


def test_what_failed_before_and_is_done_now_is_an_addition() -> None:
    found = compared(evidence(files_attempted=["/x"]), evidence(RUN_B, files_written=["/x"]))
    assert outcome(found) == ("added", 1)
    assert found.added[0].was_attempted


@pytest.mark.parametrize(
    "facts",
    [
        {"complete": False, "gaps": ["kernel_events_lost"]},
        {"complete": False},
        {"kernel_layer": "partial"},
        {"kernel_layer": "absent"},
        {"cgroup_correlation": "failed"},
    ],
)
@pytest.mark.parametrize("side", ["A", "B"])
def test_degraded_evidence_never_passes_as_equal(facts: dict[str, Any], side: str) -> None:
    a = evidence(of=facts if side == "A" else {}, files_read=["/x"])
    b = evidence(RUN_B, of=facts if side == "B" else {}, files_read=["/x"])
    found = compared(a, b)
    assert outcome(found) == ("inconclusive", 3)
    assert found.degraded
    assert all(why.startswith(f"{side}: ") for why in found.degraded)


def test_removals_do_not_pass_either_when_evidence_is_degraded() -> None:
    found = compared(evidence(files_read=["/x"]), evidence(RUN_B, of={"kernel_layer": "partial"}))
    assert outcome(found) == ("inconclusive", 3)
    assert [entry.text for entry in found.removed] == ["/x"]


def test_an_addition_counts_also_when_evidence_is_degraded() -> None:
    found = compared(evidence(of={"kernel_layer": "absent"}), evidence(RUN_B, files_read=["/x"]))
    assert outcome(found) == ("added", 1)
    assert found.degraded


def test_ignoring_does_not_mend_degraded_evidence() -> None:
    rules = ignore.parse(b"paths: ['**']")
    found = compared(evidence(), evidence(RUN_B, of={"kernel_layer": "partial"}, files_read=["/x"]), rules)
    assert outcome(found) == ("inconclusive", 3)


def test_what_is_ignored_is_counted_and_listed_with_its_rule() -> None:
    rules = ignore.parse(b"prefixes:\n- /usr\npaths:\n- $TMP/**\n")
    a = evidence(files_read=["/usr/old"])
    b = evidence(RUN_B, files_read=["/usr/new"], files_created=["/tmp/t"], files_attempted=["/usr/no"])
    found = to_json(compared(a, b, rules))
    assert found["verdict"] == "same"
    assert found["summary"] == {"added": 0, "removed": 0, "unchanged": 0, "ignored": 4}
    told = [(one["category"], one["change"], one["entry"], one["rule"]["line"]) for one in found["ignored"]]
    assert told == [
        ("files.read", "added", "/usr/new", 2),
        ("files.read", "removed", "/usr/old", 2),
        ("files.created", "added", "$TMP/t", 4),
        ("files.attempted", "added", "/usr/no", 2),
    ]


def test_an_entry_of_both_sides_is_unchanged_whatever_the_rules_say() -> None:
    rules = ignore.parse(b"paths: ['**']")
    found = compared(evidence(files_read=["/x"]), evidence(RUN_B, files_read=["/x"]), rules)
    assert (found.unchanged, found.ignored) == (1, [])


def test_endpoints_are_shown_with_the_names_of_their_own_side() -> None:
    a = evidence(endpoints_connected=["192.0.2.1:443"], names={"192.0.2.1": ["old.example"]})
    b = evidence(RUN_B, endpoints_connected=["192.0.2.2:443"], names={"192.0.2.2": ["new.example"]})
    found = to_json(compared(a, b))["categories"]["endpoints.connected"]
    assert found["added"] == [{"entry": "192.0.2.2:443", "names": ["new.example"]}]
    assert found["removed"] == [{"entry": "192.0.2.1:443", "names": ["old.example"]}]


def test_by_name_another_address_of_the_same_name_is_no_difference() -> None:
    a = evidence(endpoints_connected=["192.0.2.1:443"], names={"192.0.2.1": ["cdn.example"]})
    b = evidence(RUN_B, endpoints_connected=["192.0.2.2:443"], names={"192.0.2.2": ["cdn.example"]})
    assert outcome(compared(a, b)) == ("added", 1)
    assert outcome(compared(a, b, by_name=True)) == ("same", 0)


def test_by_name_a_second_name_of_a_known_address_is_an_addition() -> None:
    a = evidence(endpoints_connected=["192.0.2.1:443"], names={"192.0.2.1": ["cdn.example"]})
    b = evidence(
        RUN_B, endpoints_connected=["192.0.2.1:443"], names={"192.0.2.1": ["cdn.example", "evil.example"]}
    )
    found = compared(a, b, by_name=True)
    assert [entry.text for entry in found.added] == ["evil.example:443"]


def test_two_checkouts_compare_as_equal_when_projected_and_not_otherwise() -> None:
    a = evidence(files_read=["/srv/a/x"])
    b = evidence(RUN_B, files_read=["/work/b/x"], roots={"cwd": "/work/b", "home": None, "tmp": "/tmp"})
    assert outcome(compared(a, b)) == ("same", 0)
    assert outcome(compared(a, b, projected=False)) == ("added", 1)


def test_another_observer_is_noted() -> None:
    found = compared(evidence(), evidence(RUN_B, of={"observer": "both"}))
    assert [note.code for note in found.notes] == ["observers_differ"]
    who, _, why = found.notes[0].says.partition("; ")
    assert who == "A was observed by notify, B by both"
    assert why == "notify does not see every result, so what failed may count as done"


def test_a_run_that_is_compared_with_itself_is_noted() -> None:
    assert [note.code for note in compared(evidence(), evidence()).notes] == ["same_runs"]


_PATHS = st.lists(st.sampled_from(["/a", "/b", "/c"]), unique=True)


@given(a=_PATHS, b=_PATHS)
def test_every_entry_is_added_removed_or_unchanged_and_only_one_of_them(a: list[str], b: list[str]) -> None:
    found = compared(evidence(files_read=a), evidence(RUN_B, files_read=b))
    one = found.compared[0]
    added, removed = {entry.text for entry in one.added}, {entry.text for entry in one.removed}
    assert (added, removed, set(one.unchanged)) == (set(b) - set(a), set(a) - set(b), set(a) & set(b))
    assert (found.outcome is Outcome.ADDED) is bool(added)
