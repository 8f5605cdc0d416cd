"""What hooks told becomes lines of the SDK layer, and what a hook did not understand is counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from claims_told import AGENT, HOOK, hook
from spools import RUN_ID
from steno.evidence import claims
from steno.evidence.claims import ProcessKey
from steno.record.hook_fold import HookFold, fold_hooks

LATEST = 1000


def fold(*lines: bytes) -> HookFold:
    return fold_hooks(b"".join(lines), RUN_ID, LATEST)


def test_a_hook_is_a_line_with_who_ran_it() -> None:
    (line,) = fold(hook(input={"command": "ls"}, server="files")).lines
    assert (line.source, line.sdk_name, line.sdk_version) == ("claude", "claude", "2.1")
    assert (line.tool_call_id, line.tool) == ("toolu_01A09q90qw90lq917835lq9", "Bash")
    assert line.steno is not None
    assert (line.steno.id_from, line.steno.process, line.steno.parent) == ("hook", HOOK, AGENT)
    assert (line.steno.input, line.steno.server, line.steno.at_ns) == ({"command": "ls"}, "files", 10)


def test_hooks_stand_in_the_order_of_time() -> None:
    found = fold(hook("tool_call_completed", 20), hook("tool_call_started", 10))
    assert [line.event_type for line in found.lines] == ["tool_call_started", "tool_call_completed"]


def test_a_call_without_an_id_gets_one_that_is_called_inferred() -> None:
    nameless = {"agent": "gemini", "tool_call_id": None, "tool": "run", "session": "s"}
    found = fold(
        hook("tool_call_started", 10, input={"a": 1}, **nameless),
        hook("tool_call_started", 11, input={"a": 2}, **nameless),
        hook("tool_call_completed", 12, input={"a": 2}, **nameless),
        hook("tool_call_completed", 13, input={"a": 1}, **nameless),
        hook("run_finished", 14, agent="gemini", tool_call_id=None, tool=None),
    )
    ids = [line.tool_call_id for line in found.lines]
    assert ids[0] == ids[3] != ids[1] == ids[2]
    assert ids[4] is None
    assert [line.steno.id_from for line in found.lines if line.steno] == ["inferred"] * 4 + ["hook"]


def test_a_hook_that_did_not_understand_is_counted_by_its_word() -> None:
    found = fold(hook(None, problem="payload_not_json"), hook(None, problem="payload_not_json"), hook(None))
    assert (found.lines, found.damage.lines) == ([], 0)
    assert found.problems == {"payload_not_json": 2, "unknown": 1}


def test_what_no_hook_writes_is_damage() -> None:
    bad = [
        b"x\n",
        hook(run_id="other"),
        hook(at_ns=-1),
        hook(at_ns=LATEST + 1),
        hook(tool_call_id=""),
        hook(tool_call_id="x" * 300),
        hook(agent=""),
        hook(tool="x" * 2000),
        hook(process=ProcessKey(-1, 0)),
        hook()[:-1],
    ]
    assert fold(*bad).damage.lines == len(bad)
    assert fold(*bad).lines == []


@given(st.lists(st.sampled_from([hook(), hook(None), hook(tool_call_id=None)]) | st.binary(max_size=50)))
def test_on_any_lines_what_is_taken_can_be_written(lines: list[bytes]) -> None:
    for line in fold(*lines).lines:
        assert claims.sdk_line(claims.write(line)) == line
