"""A recording by its facts and its streams: a run, or what there is of one before it is sealed."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

from steno.evidence.kinds import ANY_SHIM, NO_SHIM
from steno.evidence.layers import Layers
from steno.judge.facts import RunFacts
from steno.judge.terminal import (
    INPUT,
    RESIZE,
    Clock,
    Moment,
    output_moments,
    recorded,
    tape_moments,
    timeline,
)
from steno.model.documents import diff_hash

__all__ = [
    "ANY_SHIM",
    "INPUT",
    "NO_SHIM",
    "RESIZE",
    "Clock",
    "Moment",
    "RecordedSoFar",
    "Recording",
    "RunFacts",
    "diff_hash",
    "output_moments",
    "recorded",
    "tape_moments",
    "timeline",
]


class Recording(Protocol):
    """As a `Run` is one."""

    @property
    def facts(self) -> RunFacts: ...

    @property
    def evidence(self) -> Layers: ...


class RecordedSoFar:
    """What was recorded so far, by its layers alone."""

    def __init__(self, layers: Layers) -> None:
        self.evidence = layers

    @cached_property
    def facts(self) -> RunFacts:
        return RunFacts.of(self.evidence)
