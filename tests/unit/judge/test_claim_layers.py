"""The layers of claims are read as a whole, and only as a recorder writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claims_told import policy_line, sdk_line
from spools import FINISH, START, MemoryLayers, numbered
from steno.evidence import layout
from steno.evidence.claims import BadClaimError
from steno.judge import claim_layers
from steno.judge.claim_layers import policy_lines, sdk_lines


def layers(policy: bytes = b"", sdk: bytes = b"") -> MemoryLayers:
    files = {layout.POLICY_LINES: policy, layout.SDK_LINES: sdk}
    return MemoryLayers(numbered([START, FINISH]), files)


def test_lines_are_read_in_their_order() -> None:
    found = layers(policy_line(0) + policy_line(1, start_ns=15), sdk_line(0) + sdk_line(1))
    assert [line.seq for line in policy_lines(found)] == [0, 1]
    assert [line.seq for line in sdk_lines(found)] == [0, 1]


def test_an_empty_layer_and_one_of_an_older_bundle_have_no_lines() -> None:
    older = MemoryLayers(numbered([START, FINISH]))
    for found in (layers(), older):
        assert (policy_lines(found), sdk_lines(found)) == ([], [])


BAD_POLICY = {
    "no line": b"x\n",
    "another kind of line": sdk_line(0),
    "another run": policy_line(0, run_id="other"),
    "a hole": policy_line(1),
    "a line twice": policy_line(0) * 2,
    "back in time": policy_line(0, start_ns=10) + policy_line(1, start_ns=9),
    "before the run": policy_line(0, start_ns=-1, end_ns=None),
    "an end before its beginning": policy_line(0, end_ns=9),
    "a torn line": policy_line(0)[:-1],
    "not canonical": policy_line(0).replace(b'":', b'": ', 1),
    "an unknown decision": policy_line(0).replace(b'"allow"', b'"admit"'),
}


@pytest.mark.parametrize("data", BAD_POLICY.values(), ids=BAD_POLICY.keys())
def test_a_policy_layer_that_no_recorder_writes_is_refused(data: bytes) -> None:
    with pytest.raises(BadClaimError, match=layout.POLICY_LINES):
        policy_lines(layers(policy=data))


@pytest.mark.parametrize(
    "data", [b"\n", policy_line(0), sdk_line(1), sdk_line(0)[:-1], sdk_line(0, run_id="other")]
)
def test_an_sdk_layer_that_no_recorder_writes_is_refused(data: bytes) -> None:
    with pytest.raises(BadClaimError, match=layout.SDK_LINES):
        sdk_lines(layers(sdk=data))


def test_a_layer_that_is_too_large_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claim_layers, "MAX_LAYER", 10)
    with pytest.raises(BadClaimError, match="longer than"):
        policy_lines(layers(policy=policy_line(0)))


@given(st.binary(max_size=200))
def test_on_any_bytes_there_are_lines_or_one_error(data: bytes) -> None:
    for read, found in ((policy_lines, layers(policy=data)), (sdk_lines, layers(sdk=data))):
        try:
            read(found)
        except BadClaimError:
            continue
        assert data == b""
