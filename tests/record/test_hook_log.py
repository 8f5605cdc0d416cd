"""What hooks told is taken as they told it, and what a hook did not understand is counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from steno.claims.logs import HookLog, take_hooks
from steno.evidence.claims import ProcessKey
from steno.evidence.intake import BadIntakeError, HookTold
from support.claims_told import hook
from support.spools import RUN_ID

LATEST = 1000


def taken(*lines: bytes) -> tuple[HookLog, list[int]]:
    kept: list[int] = []

    def keep(number: int, _told: HookTold) -> None:
        kept.append(number)

    return take_hooks(b"".join(lines), RUN_ID, LATEST, keep), kept


def test_each_line_is_kept_by_its_number_in_the_log() -> None:
    found, kept = taken(hook(at_ns=20), b"x\n", hook(at_ns=10))
    assert ([one.at_ns for one in found.told], kept, found.damage.lines) == ([20, 10], [0, 2], 1)


def test_a_hook_that_did_not_understand_is_kept_and_counted_by_its_word() -> None:
    puzzled = hook(None, problem="payload_not_json")
    found, kept = taken(puzzled, puzzled, hook(None))
    assert (kept, found.damage.lines) == ([0, 1, 2], 0)
    assert found.problems == {"payload_not_json": 2, "unknown": 1}


def test_what_cannot_be_kept_is_damage_and_its_teller_is_known() -> None:
    def refuse(_number: int, _told: HookTold) -> None:
        raise BadIntakeError("no room")

    found = take_hooks(hook(), RUN_ID, LATEST, refuse)
    assert (len(found.told), found.damage.lines) == (1, 1)


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
    found, kept = taken(*bad)
    assert (found.damage.lines, found.told, kept) == (len(bad), [], [])


@given(st.lists(st.sampled_from([hook(), hook(None), hook(tool_call_id=None)]) | st.binary(max_size=50)))
def test_on_any_lines_each_is_kept_or_damage(lines: list[bytes]) -> None:
    found, kept = taken(*lines)
    assert len(found.told) == len(kept) == len(set(kept))
