"""The observers as parameters of tests that hold for each; what the machine cannot do is skipped aloud."""

from __future__ import annotations

import pytest
from _pytest.mark.structures import ParameterSet

from support import machine

ALL = ("notify", "ebpf", "both")
PROBING = ("ebpf", "both")
STOPPING = ("notify", "both")


def working(among: tuple[str, ...] = ALL) -> list[str]:
    return [name for name in among if _refused(name) is None]


def strongest() -> str:
    """The one that sees most here."""
    return (working() or ["none"])[-1]


def observers(among: tuple[str, ...] = ALL) -> list[ParameterSet]:
    """All of them as parameters of a test: no test vanishes."""
    return [pytest.param(name, marks=needs(name)) for name in among]


def needs(name: str) -> list[pytest.MarkDecorator]:
    """The marks of a test's parameter that needs this observer."""
    reason = _refused(name)
    return [] if reason is None else [pytest.mark.skip(reason=f"observer {name} cannot work here: {reason}")]


def _refused(name: str) -> str | None:
    stopping = machine.why_no_listener() if name in STOPPING else None
    return stopping or (machine.why_no_probe() if name in PROBING else None)
