"""The steps of an attempt, in the order that the agent-audit contract demands.

In: what came of each step. Out: events that tell them, and the same as data for meta. A step that is told
out of its order is a fault of ours, so it is not told but raised. Never does a step itself.
"""

from __future__ import annotations

import time
from enum import IntEnum
from typing import Any

import msgspec

from steno.evidence.kinds import AgentStep


class Step(IntEnum):
    ARGUMENTS = 1
    RUN_DIRECTORY = 2
    FS_BEFORE = 3
    ENVIRONMENT = 4
    SKILLS = 5
    TRUST = 6
    LAUNCH = 7
    STREAMS = 8
    COMPLETION = 9
    FS_AFTER = 10
    META = 11  # told as it begins: the record is sealed before meta can say where it is


class Steps:
    def __init__(self) -> None:
        self.told: list[AgentStep] = []

    def did(self, step: Step, detail: str, facts: dict[str, Any] | None = None) -> AgentStep:
        if step != len(self.told) + 1:
            raise AssertionError(f"step {step} ({step.name}) after step {len(self.told)}")
        told = AgentStep(
            number=step.value,
            name=step.name.lower(),
            detail=detail,
            done_ms=time.time_ns() // 1_000_000,
            facts=facts,
        )
        self.told.append(told)
        return told

    def as_data(self) -> list[dict[str, Any]]:
        """Without the facts: they have places of their own in meta."""
        return [msgspec.to_builtins(msgspec.structs.replace(step, facts=None)) for step in self.told]
