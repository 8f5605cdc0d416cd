"""`observation-health.json`: the words that assay-runner allows, and never better than the evidence."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from steno.evidence import canonical, compat, kinds
from steno.evidence.kinds import EventData
from steno.judge import health as health_judged
from steno.judge.health import MOST_LISTED
from support.claims_told import policy_line, sdk_line
from support.documents import health
from support.frames_made import FakeFrames
from support.kernel_tables import OBSERVED, kernel_layers
from support.spools import FINISH, HOST, RUN_ID, START, MemoryLayers, numbered, start

SCOPE = kinds.CgroupScope(hierarchy="unified", path="/x/steno-run", cgroup_id=77)
EMPTY = kinds.CgroupEnded(empty=True, removed=True)
BORN = msgspec.structs.replace(OBSERVED, features=["notify", "cgroup"])


def of_layers(layers: MemoryLayers) -> dict[str, Any]:
    found: dict[str, Any] = canonical.decode(b"".join(health(layers)))
    return found


def told(*events: EventData) -> dict[str, Any]:
    return of_layers(MemoryLayers(numbered(events)))


def during(*events: EventData) -> dict[str, Any]:
    return told(START, *events, FINISH)


def changed(**fields: Any) -> kinds.KernelObserved:
    return msgspec.structs.replace(BORN, **fields)


def test_what_was_not_observed_is_named() -> None:
    found = during()
    assert found["kernel_layer"] == found["policy_layer"] == found["sdk_layer"] == "absent"
    assert found["notes"] == [
        "kernel_layer_absent:observer_none",
        "cgroup_scope_absent:not_made",
        "policy_layer_absent",
        "sdk_layer_absent:shim_none",
    ]
    assert found["steno"] == {
        "schema": "steno.health.v1",
        "observer": "none",
        "observer_asked": "none",
        "features": [],
        "kernel_layer": "absent",
        "counters": {},
        "gaps": [],
        "witness_disagreements": {"count": 0, "listed": []},
        "scope": None,
        "completed": True,
        "streams": "separate",
    }


def test_streams_that_were_merged_or_held_and_what_is_missing_are_told() -> None:
    inherited = kinds.Terminal("pipes", "merged", "inherited", None, None, None)
    found = told(
        start(terminal=inherited),
        kinds.TerminalHeld("terminal/output"),
        kinds.Gap("stream_lost", "no room", 5),
        kinds.RunFinish(exit_code=None, completed=False, reason="recorder_killed"),
    )
    assert {
        "stdout_and_stderr_merged",
        "stdin_not_recorded",
        "terminal_held_by_others:terminal/output",
    } <= set(found["notes"])
    assert (found["steno"]["completed"], found["steno"]["gaps"]) == (False, ["stream_lost"])


def test_the_kernel_layer_is_complete_only_when_nothing_of_it_is_missing() -> None:
    def layer(*events: EventData) -> tuple[str, str]:
        found = during(*events)
        return found["kernel_layer"], found["steno"]["kernel_layer"]

    partial = ("partial_ringbuf_drops", "partial")
    assert layer(OBSERVED) == ("complete", "complete")
    assert layer(OBSERVED, kinds.Gap("stream_lost", "no room")) == ("complete", "complete")
    assert layer(OBSERVED, kinds.Gap("blobs_lost", "no room")) == partial
    assert layer(msgspec.structs.replace(OBSERVED, closed=False)) == partial
    assert layer(kinds.Gap("observer_failed", "refused")) == ("absent", "absent")


@pytest.mark.parametrize("counter", health_judged.LOSSES)
def test_every_counter_of_a_loss_makes_the_layer_partial_and_is_told(counter: str) -> None:
    found = during(changed(**{counter: 3}))
    assert found["kernel_layer"] == "partial_ringbuf_drops"
    assert f"kernel_layer_partial:{counter}" in found["notes"]
    assert found["steno"]["counters"][counter] == 3
    assert found["ringbuf_drops"] == (3 if counter == "ring_lost" else 0)


@pytest.mark.parametrize("reason", sorted(health_judged.GAPS))
def test_every_gap_of_the_layer_makes_it_partial(reason: str) -> None:
    assert during(BORN, kinds.Gap(reason, "why"))["kernel_layer"] == "partial_ringbuf_drops"


def test_another_platform_has_no_kernel_layer_whatever_its_events_say() -> None:
    mac = msgspec.structs.replace(HOST, platform="darwin")
    found = told(start(host=mac), SCOPE, EMPTY, BORN, FINISH)
    assert (found["kernel_layer"], found["cgroup_correlation"]) == ("absent", "partial")
    assert "kernel_layer_absent:not_linux" in found["notes"]


# --- the cgroup ------------------------------------------------------------------------------------------


def test_the_correlation_is_clean_when_the_command_was_born_into_a_scope_that_ended_empty() -> None:
    found = during(SCOPE, EMPTY, BORN)
    assert found["cgroup_correlation"] == "clean"
    assert not [note for note in found["notes"] if note.startswith("cgroup")]
    assert found["steno"]["scope"] == {
        "hierarchy": "unified",
        "reason": None,
        "born_into": True,
        "empty": True,
        "removed": True,
        "left": 0,
    }


@pytest.mark.parametrize(
    ("events", "note"),
    [
        ([BORN], "cgroup_scope_absent:not_made"),
        ([kinds.CgroupScope(reason="not_permitted"), BORN], "cgroup_scope_absent:not_permitted"),
        ([SCOPE, EMPTY], "cgroup_correlation_partial:kernel_layer_absent"),
        ([SCOPE, BORN], "cgroup_correlation_partial:end_unknown"),
        (
            [SCOPE, kinds.CgroupEnded(empty=False, removed=False, left_count=1), BORN],
            "cgroup_correlation_partial:processes_left",
        ),
        (
            [SCOPE, EMPTY, changed(features=["cgroup", "ebpf"], escaped=1)],
            "cgroup_correlation_partial:processes_escaped",
        ),
    ],
)
def test_a_scope_that_is_not_there_to_the_end_makes_it_partial(events: list[EventData], note: str) -> None:
    found = during(*events)
    assert found["cgroup_correlation"] == "partial"
    assert note in found["notes"]


@pytest.mark.parametrize(
    ("kernel", "note"),
    [
        (OBSERVED, "not_born_into_scope"),
        (changed(features=["cgroup", "ebpf"], unknown_parents=1), "processes_of_unknown_origin"),
    ],
)
def test_events_that_cannot_be_tied_to_the_scope_make_it_failed(kernel: EventData, note: str) -> None:
    found = during(SCOPE, EMPTY, kernel)
    assert found["cgroup_correlation"] == "failed"
    assert f"cgroup_correlation_failed:{note}" in found["notes"]


def test_without_a_probe_an_unknown_parent_does_not_break_the_scope() -> None:
    """The filter is inherited: whoever it stops is of this run."""
    assert during(SCOPE, EMPTY, changed(unknown_parents=1))["cgroup_correlation"] == "clean"


# --- two witnesses ---------------------------------------------------------------------------------------


def test_what_one_witness_alone_saw_is_counted_and_listed_by_name() -> None:
    made = FakeFrames().event("unlink", "/b", notes=["unconfirmed"]).event("unlink", "/a", result=0)
    made.event("open", "/proc/12/x", notes=["unconfirmed", "by_probe"]).event(
        "unlink", "/b", notes=["unconfirmed"]
    )
    kernel = changed(observer="both", features=["notify", "ebpf"], only_notify=2, only_ebpf=1)
    found = of_layers(kernel_layers(made, (), kernel))
    assert found["steno"]["witness_disagreements"] == {
        "count": 3,
        "listed": [
            {"op": "open", "path": "/proc/PID/x", "seen_by": "ebpf"},
            {"op": "unlink", "path": "/b", "seen_by": "notify"},
        ],
    }
    assert found["kernel_layer"] == "partial_ringbuf_drops"


def test_a_long_list_of_disagreements_is_cut_and_its_count_is_not() -> None:
    made = FakeFrames()
    for number in range(MOST_LISTED + 5):
        made.event("unlink", f"/{number:02}", notes=["unconfirmed"])
    found = of_layers(kernel_layers(made, (), changed(only_notify=MOST_LISTED + 5)))
    disagreements = found["steno"]["witness_disagreements"]
    assert (disagreements["count"], len(disagreements["listed"])) == (MOST_LISTED + 5, MOST_LISTED)
    assert disagreements["listed"][0]["path"] == "/00"


def test_a_probe_that_could_not_be_had_is_noted() -> None:
    assert "probe_absent:no_btf" in during(kinds.ProbeState("no_btf", "why"), BORN)["notes"]
    assert "probe_absent:ready" not in during(kinds.ProbeState("ready"), BORN)["notes"]


def test_equal_runs_give_equal_health() -> None:
    """Numbers, names of scopes and how many calls there were differ between two runs of one command."""
    one = during(kinds.CommandStarted(7), SCOPE, EMPTY, changed(events=5, processes=1))
    other_scope = kinds.CgroupScope(hierarchy="unified", path="/x/steno-other", cgroup_id=78)
    other = during(
        kinds.CommandStarted(8), other_scope, EMPTY, changed(events=9, processes=2, counted={"futex": 3})
    )
    assert one == other
    assert one["run_id"] == RUN_ID


def claimed(
    *events: EventData, policy: bytes = b"", sdk: bytes = b"", begin: EventData = START
) -> dict[str, Any]:
    files = {compat.FOLDED_POLICY: policy, compat.FOLDED_SDK: sdk}
    return of_layers(MemoryLayers(numbered([begin, *events, FINISH]), files))


SAID = kinds.SdkIntake(shim="openai-agents", lines=1, hooks=0)


def test_a_decision_makes_the_policy_layer_present() -> None:
    found = claimed(policy=policy_line(0))
    assert found["policy_layer"] == "present"
    assert "policy_layer_absent" not in found["notes"]


def test_what_an_agent_says_is_self_reported_and_no_more() -> None:
    found = claimed(SAID, sdk=sdk_line(0), begin=start(shim="auto"))
    assert found["sdk_layer"] == "self_reported"
    assert not [note for note in found["notes"] if note.startswith("sdk_")]


def test_shim_none_forces_an_absent_sdk_layer() -> None:
    silent = kinds.SdkIntake(shim="none", lines=0, hooks=0, refused="shim_none")
    found = claimed(silent, begin=start(shim="none"))
    assert found["sdk_layer"] == "absent"
    assert {"sdk_layer_absent:shim_none", "sdk_log_refused:shim_none"} <= set(found["notes"])
    assert claimed(sdk=sdk_line(0), begin=start(shim="none"))["sdk_layer"] == "absent"


def test_with_auto_and_nobody_who_speaks_there_is_no_shim() -> None:
    assert "sdk_layer_absent:shim_none" in claimed(begin=start(shim="auto"))["notes"]


def test_a_shim_that_was_named_and_said_nothing_is_named() -> None:
    found = claimed(
        kinds.SdkIntake(shim="openai-agents", lines=0, hooks=0, refused="empty_log"),
        begin=start(shim="openai-agents"),
    )
    assert {"sdk_layer_absent:shim_openai-agents", "sdk_log_refused:empty_log"} <= set(found["notes"])


@pytest.mark.parametrize(
    "reason", ["intake_disturbed", "policy_log_damaged", "hook_log_damaged", "hook_payload_unreadable"]
)
def test_claims_that_are_lost_are_noted(reason: str) -> None:
    assert f"claims_incomplete:{reason}" in claimed(kinds.Gap(reason, "x"))["notes"]


def test_an_intake_on_the_disk_is_noted() -> None:
    assert "intake_on_disk" in claimed(begin=start(intake="disk"))["notes"]
    assert "intake_on_disk" not in claimed(begin=start(intake="memory"))["notes"]
