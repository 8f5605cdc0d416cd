"""The health of a run in words: what `steno show` says of how far it was observed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from steno.evidence import canonical, kinds
from steno.evidence.kinds import EventData
from steno.text.style import Paint
from steno.views import health as health_text
from support.documents import health
from support.frames_made import FakeFrames
from support.kernel_tables import OBSERVED, kernel_layers
from support.spools import FINISH, START, MemoryLayers, numbered

SCOPE = kinds.CgroupScope(hierarchy="unified", path="/x", cgroup_id=7)
EMPTY = kinds.CgroupEnded(empty=True, removed=True)


def observed(**changes: Any) -> kinds.KernelObserved:
    return msgspec.structs.replace(OBSERVED, features=["cgroup"], **changes)


def lines_of(layers: MemoryLayers) -> list[str]:
    found = canonical.decode(b"".join(health(layers)))
    return list(health_text.lines(found, Paint(colour=False)))


def during(*events: EventData) -> list[str]:
    return lines_of(MemoryLayers(numbered([START, *events, FINISH])))


def test_a_run_without_an_observer_has_one_line() -> None:
    assert during() == ["kernel layer absent, policy layer absent, sdk layer absent"]


def test_a_whole_run_says_who_watched_and_that_its_scope_was_clean() -> None:
    assert during(SCOPE, EMPTY, observed(observer="both")) == [
        "kernel layer complete, policy layer absent, sdk layer absent",
        "changes were stopped by a filter, calls were seen by a probe (both)",
        "the two witnesses agree",
        "the command was born into a cgroup of its own, which was empty at the end",
    ]


def test_drops_are_told_in_capitals_and_the_layer_is_partial() -> None:
    found = during(SCOPE, EMPTY, observed(observer="ebpf", ring_lost=2))
    assert found[0].startswith("kernel layer partial")
    assert "2 events DROPPED: the probe's ring buffer was full" in found


UNCOMPARED = "the two witnesses could not be compared everywhere"


@pytest.mark.parametrize("lost", ["ring_lost", "lost_events"])
def test_witnesses_are_not_said_to_agree_where_one_lost_events(lost: str) -> None:
    found = during(SCOPE, EMPTY, observed(observer="both", **{lost: 2}))
    assert UNCOMPARED in found
    assert "the two witnesses agree" not in found


def test_a_disagreement_is_told_beside_what_could_not_be_compared() -> None:
    found = during(SCOPE, EMPTY, observed(observer="both", ring_lost=2, only_ebpf=1))
    assert {UNCOMPARED, "1 change seen by one witness only"} <= set(found)


def test_one_witness_has_nobody_to_be_compared_with() -> None:
    assert UNCOMPARED not in during(SCOPE, EMPTY, observed(observer="ebpf", ring_lost=2))


def test_what_one_witness_alone_saw_is_named() -> None:
    made = FakeFrames().event("unlink", "/a\x1b", notes=["unconfirmed"])
    found = lines_of(kernel_layers(made, (), observed(observer="both", only_notify=1)))
    assert "1 change seen by one witness only: unlink /a\\x1b (only notify)" in found


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], "no cgroup of its own"),
        ([kinds.CgroupScope(reason="not_permitted")], "no cgroup of its own: the user may not make one"),
        ([kinds.CgroupScope(reason="odd\x1b")], "no cgroup of its own: odd\\x1b"),
        ([SCOPE], "how the run's cgroup was left is not known"),
        (
            [SCOPE, kinds.CgroupEnded(empty=False, removed=False, left_count=2)],
            "2 processes left in the run's cgroup when the recording ended",
        ),
        (
            [SCOPE, kinds.CgroupEnded(empty=False, removed=False, left_count=1)],
            "1 process left in the run's cgroup when the recording ended",
        ),
    ],
)
def test_a_scope_that_is_not_clean_is_told(events: list[EventData], words: str) -> None:
    assert during(*events, observed())[-1] == words


def test_a_scope_that_what_was_seen_cannot_be_tied_to_is_told() -> None:
    assert during(SCOPE, EMPTY, OBSERVED)[-1] == "what was seen CANNOT be tied to this run's cgroup"


def test_a_probe_that_could_not_be_had_is_told() -> None:
    assert "no probe: no_btf" in during(kinds.ProbeState("no_btf"), observed())
