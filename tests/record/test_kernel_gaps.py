"""Every way in which the observers lose something is a gap, so that the record is incomplete."""

from __future__ import annotations

from pathlib import Path

import pytest

from steno.evidence import wire
from steno.judge import health as health_judged
from steno.record import gaps as gap_reasons
from support.kernel_runs import Run


@pytest.mark.parametrize(
    ("counter", "reason"),
    [
        ("lost_events", "kernel_events_lost"),
        ("lost_blobs", "blobs_lost"),
        ("unreadable", "kernel_calls_unreadable"),
        ("unresolved", "changes_unresolved"),
        ("unlisted", "changes_unresolved"),
        ("outlived", "processes_outlived"),
        ("unknown_parents", "process_origin_unknown"),
        ("unseen_exits", "process_end_unknown"),
        ("ring_lost", "ring_buffer_drops"),
        ("probe_unread", "kernel_calls_unreadable"),
        ("probe_unplaced", "kernel_events_lost"),
        ("only_notify", "witness_disagreement"),
        ("only_ebpf", "witness_disagreement"),
        ("escaped", "processes_escaped"),
    ],
)
def test_a_counter_of_what_was_lost_is_a_gap_with_its_number(
    tmp_path: Path, counter: str, reason: str
) -> None:
    run = Run(tmp_path)
    run.frames.header(**{counter: 3})
    event, gaps = run.keep()
    assert event is not None
    assert getattr(event, counter) == 3
    ((found, words),) = gaps
    assert found == reason
    assert words.startswith("3 ")
    assert reason in health_judged.GAPS


def test_every_counter_that_makes_the_layer_partial_is_a_gap() -> None:
    assert set(health_judged.LOSSES) <= set(gap_reasons.OF_COUNTERS)


@pytest.mark.parametrize(
    ("whose", "result", "reasons"),
    [
        (0, 0, []),
        (1, 0, ["outside_reached", "recorder_reached"]),
        (1, -1, []),
        (2, -1, []),
        (2, wire.RESULT_UNKNOWN, ["recorder_reached", "recorder_reached"]),
        (3, wire.RESULT_UNKNOWN, ["outside_reached", "recorder_reached"]),
    ],
)
def test_reaching_into_processes_that_are_not_of_the_run_is_a_gap_and_so_are_stops_that_never_came_then(
    tmp_path: Path, whose: int, result: int, reasons: list[str]
) -> None:
    run = Run(tmp_path)
    run.frames.header(untaken=2).event("reach", arg=whose, arg2=7, result=result)
    assert [reason for reason, _ in run.keep().gaps] == reasons


def test_a_stop_that_somebody_else_answered_is_a_gap(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.frames.header(taken_over=1)
    assert [reason for reason, _ in run.keep().gaps] == ["recorder_reached"]
