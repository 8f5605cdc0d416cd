"""What an agent told by its framework and by hooks becomes one list of lines."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from steno.contracts.assay import claim_lines
from steno.evidence import compat, intake
from steno.evidence.claims import SdkLine
from steno.evidence.intake import SdkTold
from steno.judge.claims import said
from support.claims_told import AGENT, HOOK, hook, sdk


def by_hooks(*lines: bytes) -> list[SdkLine]:
    return said([], map(intake.hook_told, lines))


def told_by_sdk(line: bytes) -> SdkTold:
    return msgspec.convert(json.loads(line), SdkTold)


def test_a_hook_is_a_line_with_who_ran_it() -> None:
    (line,) = by_hooks(hook(input={"command": "ls"}, server="files"))
    assert (line.source, line.sdk_name, line.sdk_version) == ("claude", "claude", "2.1")
    assert (line.tool_call_id, line.tool) == ("toolu_01A09q90qw90lq917835lq9", "Bash")
    assert line.steno is not None
    assert (line.steno.id_from, line.steno.process, line.steno.parent) == ("hook", HOOK, AGENT)
    assert (line.steno.input, line.steno.server, line.steno.at_ns) == ({"command": "ls"}, "files", 10)


def test_hooks_stand_in_the_order_of_time() -> None:
    found = by_hooks(hook("tool_call_completed", 20), hook("tool_call_started", 10))
    assert [line.event_type for line in found] == ["tool_call_started", "tool_call_completed"]


def test_what_the_framework_says_stands_before_what_hooks_say_and_all_are_numbered() -> None:
    aside = {"input": {"a": 1}, "at_ns": 7, "id_from": "inferred"}
    found = said(map(told_by_sdk, [sdk(0, steno=aside), sdk(1)]), [intake.hook_told(hook(at_ns=1))])
    assert [(line.seq, line.source) for line in found] == [
        (0, "openai-agents"), (1, "openai-agents"), (2, "claude")
    ]  # fmt: skip
    own = found[0].steno
    assert own is not None
    assert (own.id_from, own.at_ns, own.input, own.process) == ("inferred", 7, {"a": 1}, None)
    assert found[1].steno is None


def test_a_call_without_an_id_gets_one_that_is_called_inferred() -> None:
    nameless = {"agent": "gemini", "tool_call_id": None, "tool": "run", "session": "s"}
    found = by_hooks(
        hook("tool_call_started", 10, input={"a": 1}, **nameless),
        hook("tool_call_started", 11, input={"a": 2}, **nameless),
        hook("tool_call_completed", 12, input={"a": 2}, **nameless),
        hook("tool_call_completed", 13, input={"a": 1}, **nameless),
        hook("run_finished", 14, agent="gemini", tool_call_id=None, tool=None),
    )
    ids = [line.tool_call_id for line in found]
    assert ids[0] == ids[3] != ids[1] == ids[2]
    assert ids[4] is None
    assert [line.steno.id_from for line in found if line.steno] == ["inferred"] * 4 + ["hook"]


def test_a_hook_that_did_not_understand_says_nothing() -> None:
    assert by_hooks(hook(None, problem="payload_not_json")) == []


@given(st.lists(st.sampled_from([hook(), hook(None), hook(tool_call_id=None), hook("run_failed", 3)])))
def test_on_any_lines_what_is_said_can_be_written(lines: list[bytes]) -> None:
    for line in by_hooks(*lines):
        assert compat.folded_sdk_line(claim_lines.sdk_line(line)) == line
