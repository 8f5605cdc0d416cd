"""The lock: the same runs give the same bytes, degraded evidence is refused, and no other file is a lock."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.compare import sides
from steno.compare.sides import Evidence, Named, pair
from steno.errors import BadRequestError, DegradedEvidenceError, UnreadableBundleError
from steno.evidence import canonical
from support.capabilities_made import RUN_A, RUN_B, evidence

DEGRADED = {"complete": False, "gaps": ["kernel_events_lost"], "kernel_layer": "partial"}


def made(*runs: Evidence, projected: bool = True, accept_partial: bool = False) -> sides.Lock:
    return sides.make(runs or [evidence()], projected=projected, accept_partial=accept_partial)


def told(value: sides.Lock) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(sides.to_bytes(value))
    return found


def test_the_order_of_the_runs_does_not_matter_and_a_run_counts_once() -> None:
    a, b = evidence(files_read=["/x"]), evidence(RUN_B, files_read=["/y"], execs_ran=["/bin/sh"])
    assert sides.to_bytes(made(a, b)) == sides.to_bytes(made(b, a, b))


def test_a_lock_is_the_union_of_its_runs_and_names_them() -> None:
    a, b = evidence(files_read=["/srv/a/x"]), evidence(RUN_B, files_read=["/y"])
    found = told(made(a, b))
    assert found["schema"] == "steno.capability_lock.v1"
    assert found["capabilities"]["files"]["read"] == ["$RUN_CWD/x", "/y"]
    assert [source["run_id"] for source in found["sources"]] == [RUN_A, RUN_B]
    assert found["sources"][0]["root"] == a.source.root
    assert (found["evidence"], found["projections"]) == ("complete", ["$HOME", "$RUN_CWD", "$TMP"])


def test_a_lock_is_canonical_and_ends_with_a_newline() -> None:
    data = sides.to_bytes(made(evidence(files_read=["/caf\u00e9", "/a"])))
    assert canonical.decode_line(data) == json.loads(data)


def test_degraded_evidence_is_refused_with_its_own_exit_code() -> None:
    with pytest.raises(DegradedEvidenceError, match="kernel_events_lost") as raised:
        made(evidence(of=DEGRADED))
    assert raised.value.exit_code == 3
    assert "--accept-partial" in raised.value.hint


def test_degraded_evidence_that_is_accepted_is_told() -> None:
    found = made(evidence(), evidence(RUN_B, of=DEGRADED), accept_partial=True)
    assert found.evidence == "degraded"
    assert sides.parse(sides.to_bytes(found)) == found


def test_a_formatter_may_have_been_at_it() -> None:
    found = made(evidence(files_read=["/x"]))
    assert sides.parse(json.dumps(told(found), indent=4).encode()) == found


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "steno.capability_lock.v2"}, "unknown schema"),
        ({"sources": []}, "names no run"),
        ({"evidence": "degraded"}, "its evidence"),
        ({"projections": ["$HOME"]}, "unknown projections"),
        ({"more": 1}, "unknown field"),
        ({"capabilities": {}}, "missing required field"),
    ],
)
def test_a_lock_that_is_not_right_is_refused(change: dict[str, Any], says: str) -> None:
    data = json.dumps({**told(made()), **change}).encode()
    with pytest.raises(sides.BadLockError, match=says):
        sides.parse(data)
    with pytest.raises(UnreadableBundleError) as raised:
        sides.read(data, "some.lock")
    assert raised.value.exit_code == 4


def test_a_source_that_hides_what_it_lacks_is_refused() -> None:
    found = told(made(evidence(of=DEGRADED), accept_partial=True))
    found["evidence"] = "complete"
    with pytest.raises(sides.BadLockError, match="its evidence"):
        sides.parse(json.dumps(found).encode())


def test_an_observer_is_a_word_and_nothing_that_a_reader_of_comments_acts_on() -> None:
    found = told(made())
    found["sources"][0]["observer"] = "<img src=x>"
    with pytest.raises(sides.BadLockError, match="observer"):
        sides.parse(json.dumps(found).encode())


def test_the_lock_decides_whether_directories_are_projected() -> None:
    run = evidence(RUN_B, files_read=["/srv/a/x"])
    for projected, path in ((True, "$RUN_CWD/x"), (False, "/srv/a/x")):
        of_lock = Named("lock", made(evidence(files_read=["/srv/a/x"]), projected=projected))
        for one in pair(of_lock, Named("b", run), projected=None):
            assert one.capabilities.entries["files.read"] == {path}
        with pytest.raises(BadRequestError, match="projections"):
            pair(of_lock, Named("b", run), projected=not projected)


def test_locks_of_different_forms_cannot_be_compared() -> None:
    one, other = (Named("lock", made(projected=projected)) for projected in (True, False))
    with pytest.raises(BadRequestError, match="the other without"):
        pair(one, other, projected=None)


_JSON = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.lists(st.text(max_size=3), max_size=2)
)


@given(data=st.binary(max_size=100))
def test_any_bytes_are_a_lock_or_an_error_of_ours(data: bytes) -> None:
    with pytest.raises(sides.BadLockError):
        sides.parse(data)


@given(st.data())
def test_a_lock_with_anything_planted_in_it_is_read_or_refused(data: st.DataObject) -> None:
    found: Any = copy.deepcopy(told(made(evidence(files_read=["/x"], names={"192.0.2.1": ["a.example"]}))))
    inner, key = found, data.draw(st.sampled_from(sorted(found)))
    while isinstance(inner[key], dict) and inner[key] and data.draw(st.booleans()):
        inner = inner[key]
        key = data.draw(st.sampled_from(sorted(inner)))
    inner[key] = data.draw(_JSON)
    try:
        assert sides.parse(json.dumps(found).encode()).sources
    except sides.BadLockError:
        return


def test_half_a_surrogate_is_no_text() -> None:
    found = json.dumps(told(made(evidence(files_read=["/x"])))).replace('"/x"', '"/\\ud800"')
    with pytest.raises(sides.BadLockError):
        sides.parse(found.encode())
