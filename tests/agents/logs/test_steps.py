"""The steps of an attempt are told in one order, or not at all."""

from __future__ import annotations

import pytest

from steno.launch.attempt import Step, Steps


def test_the_steps_are_numbered_from_one_without_a_hole() -> None:
    assert [step.value for step in Step] == list(range(1, 12))


def test_what_was_done_is_told_with_its_time() -> None:
    steps = Steps()
    first, second = (steps.did(step, "well") for step in (Step.ARGUMENTS, Step.RUN_DIRECTORY))
    assert steps.told == [first, second]
    assert (second.number, second.name, second.detail) == (2, "run_directory", "well")
    assert (first.done_ms or 0) <= (second.done_ms or 0)
    assert [step["number"] for step in steps.as_data()] == [1, 2]


@pytest.mark.parametrize("step", [Step.ARGUMENTS, Step.FS_BEFORE])
def test_a_step_out_of_its_order_is_a_fault(step: Step) -> None:
    steps = Steps()
    steps.did(Step.ARGUMENTS, "well")
    with pytest.raises(AssertionError):
        steps.did(step, "too early, or once more")
