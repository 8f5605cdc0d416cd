"""Ids for calls that have none: the two ends of a call meet, and no two calls share an id."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from steno.evidence.claims import ProcessKey, SdkEventType
from steno.evidence.intake import HookTold
from steno.judge.claims import with_ids

BEGINS: SdkEventType = "tool_call_started"
ENDS: SdkEventType = "tool_call_completed"


def told(
    event: SdkEventType,
    given_: Any = None,
    *,
    tool: str = "read_file",
    session: str = "s",
    call: str | None = None,
) -> HookTold:
    return HookTold(
        run_id="r",
        at_ns=0,
        agent="gemini",
        event_type=event,
        tool_call_id=call,
        tool=tool,
        session=session,
        process=ProcessKey(1, 2),
        parent=None,
        input=given_,
    )


def ids(*lines: HookTold) -> list[str | None]:
    return [each for _, each in with_ids(lines)]


def test_an_id_tells_the_tool_the_names_of_its_arguments_and_the_number_of_the_call() -> None:
    calls = [told(BEGINS, {"path": "/a"}), told(BEGINS, {"path": "/b"}), told(BEGINS, {"url": "/b"})]
    first, second, other = ids(*calls)
    assert (first, second) == ("inferred:e368efa4:1", "inferred:e368efa4:2")
    assert other is not None
    assert not other.startswith("inferred:e368efa4:")


def test_both_ends_of_a_call_get_one_id_however_the_input_is_written() -> None:
    begin, end = ids(told(BEGINS, {"a": 1, "b": 2}), told(ENDS, {"b": 2, "a": 1}))
    assert begin == end


def test_the_same_call_twice_has_two_ids_in_order() -> None:
    first, second, first_end, second_end = ids(told(BEGINS), told(BEGINS), told(ENDS), told(ENDS))
    assert first == first_end != second == second_end


def test_another_tool_another_input_and_another_session_are_other_calls() -> None:
    assert (
        len(set(ids(told(BEGINS), told(BEGINS, 1), told(BEGINS, tool="b"), told(BEGINS, session="t")))) == 4
    )
    begin, end = ids(told(BEGINS), told(ENDS, session="t"))
    assert begin != end


def test_an_end_without_a_beginning_has_an_id_of_its_own() -> None:
    end, begin = ids(told(ENDS), told(BEGINS))
    assert end != begin


def test_an_id_that_was_told_is_kept_and_an_end_of_a_run_has_none() -> None:
    assert ids(told(BEGINS, call="toolu_1"), told("run_finished")) == ["toolu_1", None]


def test_an_input_that_is_too_deep_is_matched_by_name_and_order() -> None:
    deep: Any = 0
    for _ in range(100):
        deep = [deep]
    begin, end = ids(told(BEGINS, deep), told(ENDS, deep))
    assert begin == end


@given(st.lists(st.tuples(st.sampled_from([BEGINS, ENDS]), st.sampled_from("abc"), st.sampled_from("st"))))
def test_every_call_has_at_most_one_beginning_and_one_end(
    calls: list[tuple[SdkEventType, str, str]],
) -> None:
    given_ids = with_ids([told(event, tool, tool=tool, session=session) for event, tool, session in calls])
    seen = [(each, line.event_type) for line, each in given_ids]
    assert len(seen) == len(set(seen))
