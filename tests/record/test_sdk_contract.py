"""The contract for the SDK log: each refusal has its word, and what came before it is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.claims.logs import take
from steno.evidence.intake_names import MAX_ID
from support.claims_told import sdk
from support.spools import RUN_ID

ID = "call_0f3a9b1c2d4e5f60"


def test_a_whole_log_is_taken() -> None:
    kinds = ("tool_call_started", "tool_call_completed", "run_finished", "run_failed")
    taken = take(b"".join(sdk(seq, kind) for seq, kind in enumerate(kinds)), RUN_ID)
    assert (taken.refused, taken.refused_line) == (None, None)
    assert [line.event_type for line in taken.lines] == list(kinds)
    assert [line.seq for line in taken.lines] == [0, 1, 2, 3]
    first = taken.lines[0]
    assert (first.source, first.sdk_name, first.sdk_version) == ("openai-agents", "@openai/agents", "0.1.0")
    assert (first.tool_call_id, first.tool, first.steno) == (ID, "read_file", None)


def test_an_empty_log_is_no_fault_by_itself() -> None:
    assert take(b"", RUN_ID) == ([], None, None)


REFUSED = [
    ({"schema": "assay.runner.sdk_event.v1"}, "wrong_schema"),
    ({"schema": None}, "wrong_schema"),
    ({"run_id": "run_1"}, "wrong_run_id"),
    ({"run_id": None}, "wrong_run_id"),
    ({"seq": 2}, "seq_gap"),
    ({"seq": 0}, "seq_gap"),
    ({"seq": "1"}, "seq_gap"),
    ({"seq": True}, "seq_gap"),
    ({"seq": 1.0}, "seq_gap"),
    ({"event_type": "tool_call_guessed"}, "unknown_event_type"),
    ({"event_type": ["tool_call_started"]}, "unknown_event_type"),
    ({"tool_call_id": None}, "tool_call_without_id"),
    ({"tool_call_id": ""}, "tool_call_without_id"),
    ({"tool_call_id": 7}, "tool_call_without_id"),
    ({"tool_call_id": "a\nb"}, "tool_call_without_id"),
    ({"tool_call_id": "x" * (MAX_ID + 1)}, "tool_call_without_id"),
    ({"source": None}, "malformed_field"),
    ({"source": ""}, "malformed_field"),
    ({"tool": ["read_file"]}, "malformed_field"),
    ({"sdk_version": 1}, "malformed_field"),
    ({"sdk_name": "x" * 2000}, "malformed_field"),
]


@pytest.mark.parametrize(
    ("changes", "word"), REFUSED, ids=[f"{word}-{n}" for n, (_, word) in enumerate(REFUSED)]
)
def test_a_line_that_breaks_the_contract_is_refused_and_those_before_it_are_kept(
    changes: dict[str, Any], word: str
) -> None:
    taken = take(sdk(0) + sdk(**{"seq": 1, **changes}) + sdk(2), RUN_ID)
    assert (len(taken.lines), taken.refused, taken.refused_line) == (1, word, 1)


@pytest.mark.parametrize("kind", ["run_finished", "run_failed"])
def test_the_end_of_a_run_needs_no_id(kind: str) -> None:
    assert take(sdk(0, kind, tool_call_id=None, tool=None), RUN_ID).refused is None


@pytest.mark.parametrize(
    "line",
    [b"\n", b"null\n", b"[]\n", b"7\n", b"{\n", b"\xff\n", b'{"a":NaN}\n', b"[" * 9999 + b"\n", b"{}{}\n"],
)
def test_a_line_that_is_no_json_object_is_refused(line: bytes) -> None:
    assert take(sdk(0) + line, RUN_ID)[1:] == ("not_a_json_object", 1)


def test_a_torn_last_line_is_refused() -> None:
    taken = take(sdk(0) + sdk(1)[:-1], RUN_ID)
    assert (len(taken.lines), taken.refused, taken.refused_line) == (1, "torn_line", 1)


def test_a_line_without_end_is_refused_unread() -> None:
    assert take(sdk(0, extra="x" * (1 << 20)), RUN_ID).refused == "line_too_long"


def test_a_missing_field_is_no_field_of_another_kind() -> None:
    raw = json.loads(sdk(0))
    for name in ("sdk_name", "sdk_version", "tool"):
        del raw[name]
    (line,) = take(json.dumps(raw).encode() + b"\n", RUN_ID).lines
    assert (line.sdk_name, line.sdk_version, line.tool) == (None, None, None)


def test_fields_that_the_contract_does_not_have_are_dropped() -> None:
    (line,) = take(sdk(0, timestamp="now", model={"a": 1}), RUN_ID).lines
    assert line.steno is None


def test_of_our_own_part_only_what_a_shim_may_say_is_taken() -> None:
    own = {
        "schema": "steno.sdk_event.v1",
        "input": {"a": 1},
        "output": "b",
        "message": "c",
        "at_ns": 5,
        "id_from": "hook",
        "server": "files",
        "process": {"pid": 1, "start_ticks": 2},
    }
    (line,) = take(sdk(0, steno=own), RUN_ID).lines
    assert line.steno is not None
    assert (line.steno.input, line.steno.output, line.steno.message, line.steno.at_ns) == (
        {"a": 1},
        "b",
        "c",
        5,
    )
    assert line.steno.id_from == "sdk"
    assert not {"server", "process"} & set(line.steno.__struct_fields__)


def test_what_only_a_newer_shim_tells_is_passed_over() -> None:
    (line,) = take(sdk(0, steno={"at_ns": 5, "of_tomorrow": 1}), RUN_ID).lines
    assert line.steno is not None
    assert line.steno.at_ns == 5


def test_a_shim_may_say_that_it_inferred_an_id() -> None:
    (line,) = take(sdk(0, steno={"id_from": "inferred"}), RUN_ID).lines
    assert line.steno is not None
    assert line.steno.id_from == "inferred"


@pytest.mark.parametrize("own", [1, "x", {"at_ns": "now"}, {"message": 2}, {"schema": "other"}, []])
def test_a_part_of_ours_that_does_not_fit_is_not_taken(own: Any) -> None:
    (line,) = take(sdk(0, steno=own), RUN_ID).lines
    assert line.steno is None


@pytest.mark.parametrize("at_ns", [-1, 2**53, 2**63])
def test_a_time_that_cannot_be_is_not_taken(at_ns: int) -> None:
    (line,) = take(sdk(0, steno={"at_ns": at_ns}), RUN_ID).lines
    assert line.steno is None or line.steno.at_ns is None


@given(st.binary(max_size=300), st.integers(0, 2))
def test_on_any_bytes_there_are_lines_and_perhaps_a_word(data: bytes, whole: int) -> None:
    taken = take(b"".join(map(sdk, range(whole))) + data, RUN_ID)
    assert len(taken.lines) == whole
    assert (taken.refused is None) == (not data)


@given(
    st.dictionaries(
        st.sampled_from(sorted(json.loads(sdk(0)))), st.none() | st.text() | st.integers(), max_size=3
    )
)
def test_any_fields_are_taken_or_refused(changes: dict[str, Any]) -> None:
    taken = take(sdk(**{"seq": 0, **changes}), RUN_ID)
    assert (len(taken.lines) == 1) == (taken.refused is None)
