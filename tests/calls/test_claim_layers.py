"""What was told is read as a whole, and only as a recorder writes it; so is what format 1 put together."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.evidence import canonical, compat, intake, layout
from steno.evidence.claims import BadClaimError
from steno.judge import claims
from steno.judge.claims import claims_of
from support.claims_told import (
    HOOK,
    POLICY,
    PROXY,
    closed,
    decided,
    ended,
    hook,
    opened,
    policy_line,
    sdk,
    sdk_line,
)
from support.spools import FINISH, START, MemoryLayers, numbered
from support.told import claims_file

LOGS = {
    POLICY: [opened(), decided(), ended(), decided(2, 11, decision="deny"), closed()],
    intake.SDK: [sdk(0), sdk(1, "tool_call_completed")],
    intake.HOOKS: [hook(at_ns=12), hook(None), hook(tool_call_id=None, at_ns=9)],
}
TOLD = claims_file(LOGS)
LINES = TOLD.splitlines(keepends=True)


def layers(told: bytes) -> MemoryLayers:
    return MemoryLayers(numbered([START, FINISH]), {layout.CLAIMS: told})


def folded(policy: bytes = b"", sdk: bytes = b"") -> MemoryLayers:
    files = {compat.FOLDED_POLICY: policy, compat.FOLDED_SDK: sdk}
    return MemoryLayers(numbered([START, FINISH]), files)


def test_what_was_told_is_put_together() -> None:
    found = claims_of(layers(TOLD))
    assert [(line.seq, line.decision, line.steno.outcome) for line in found.policy] == [
        (0, "allow", "result"), (1, "deny", "denied")
    ]  # fmt: skip
    assert [(line.seq, line.source) for line in found.sdk] == [
        (0, "openai-agents"), (1, "openai-agents"), (2, "claude"), (3, "claude")
    ]  # fmt: skip
    assert [line.tool_call_id for line in found.sdk[2:]] == ["inferred:0e2336bb:1", json.loads(LINES[7])[
        "told"
    ]["tool_call_id"]]  # fmt: skip
    assert (found.agents_lines, set(found.hooks), set(found.proxies)) == (5, {HOOK}, {PROXY})
    assert [one.name for one in found.connections or []] == ["c1"]


def test_where_nothing_was_told_nothing_is_concluded() -> None:
    older = MemoryLayers(numbered([START, FINISH]))
    for found in (layers(b""), folded(), older):
        assert claims_of(found)[:4] == ([], [], 0, frozenset())


def changed(line: int, /, **fields: Any) -> bytes:
    """What was told in a line changed, or what stands beside it."""
    found = json.loads(LINES[line])
    own = {name: fields.pop(name) for name in list(fields) if name in found}
    found = found | own | {"told": found["told"] | fields}
    return b"".join([*LINES[:line], canonical.encode_line(found), *LINES[line + 1 :]])


def test_what_only_a_newer_steno_tells_is_passed_over() -> None:
    newer = changed(0, colour="blue")
    more = canonical.encode_line({"seq": len(LINES), "log": "radio.ndjson", "line": 0, "told": {"a": 1}})
    beside = canonical.encode_line(json.loads(LINES[0]) | {"heard": 7}) + b"".join(LINES[1:])
    for told in (newer, TOLD + more, beside):
        assert claims_of(layers(told))[:4] == claims_of(layers(TOLD))[:4]


BAD = {
    "no line": b"x\n",
    "an empty line": TOLD + b"\n",
    "a line of format 1": policy_line(0),
    "a torn line": TOLD[:-1],
    "not canonical": TOLD.replace(b'":', b'": ', 1),
    "a hole": b"".join(LINES[1:]),
    "a line twice": LINES[0] + TOLD,
    "another number": changed(1, seq=7),
    "a line that does not follow in its log": changed(2, line=1),
    "a line before the first": changed(0, line=-1),
    "another run, by a proxy": changed(1, run_id="other"),
    "another run, by an SDK": changed(5, run_id="other"),
    "another run, by a hook": changed(7, run_id="other"),
    "an unknown decision": changed(1, decision="admit"),
    "an unknown outcome": changed(2, outcome="lost"),
    "an unknown kind of event": changed(5, event_type="tool_call_dreamt"),
    "something that no proxy tells": changed(1, what="dreamt"),
    "a call of no connection": changed(1, connection="c9"),
    "an end before its call": changed(2, at_ns=9),
    "a second end": changed(4, **json.loads(ended())),
    "a time before the run": changed(0, at_ns=-1),
    "a connection of another process": changed(0, proxy_process={"pid": 1, "start_ticks": 1}),
    "a line in the log of another proxy": changed(1, log=intake.policy_log(1, 1)),
    "a hook in the log of a proxy": changed(7, log=POLICY, line=9),
}


@pytest.mark.parametrize("data", BAD.values(), ids=BAD.keys())
def test_lines_that_no_recorder_writes_are_refused(data: bytes) -> None:
    with pytest.raises(BadClaimError, match=layout.CLAIMS):
        claims_of(layers(data))


FOLDED_LINES = folded(policy_line(0) + policy_line(1, start_ns=15), sdk_line(0) + sdk_line(1))


def test_what_format_1_put_together_is_taken_as_it_stands() -> None:
    found = claims_of(FOLDED_LINES)
    assert [line.seq for line in found.policy] == [0, 1]
    assert [line.seq for line in found.sdk] == [0, 1]
    assert (found.agents_lines, found.connections) == (2, None)


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
def test_decisions_that_no_recorder_of_format_1_wrote_are_refused(data: bytes) -> None:
    with pytest.raises(BadClaimError, match=compat.FOLDED_POLICY):
        claims_of(folded(policy=data))


@pytest.mark.parametrize(
    "data", [b"\n", policy_line(0), sdk_line(1), sdk_line(0)[:-1], sdk_line(0, run_id="other")]
)
def test_words_of_agents_that_no_recorder_of_format_1_wrote_are_refused(data: bytes) -> None:
    with pytest.raises(BadClaimError, match=compat.FOLDED_SDK):
        claims_of(folded(sdk=data))


def test_a_file_that_is_too_large_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "MAX_CLAIMS", 10)
    monkeypatch.setattr(claims, "MAX_FOLDED", 10)
    for found in (layers(TOLD), FOLDED_LINES):
        with pytest.raises(BadClaimError, match="longer than"):
            claims_of(found)


@given(st.binary(max_size=200))
def test_on_any_bytes_there_are_lines_or_one_error(data: bytes) -> None:
    for found in (layers(data), folded(policy=data), folded(sdk=data)):
        try:
            claims_of(found)
        except BadClaimError:
            continue
        assert data == b""
