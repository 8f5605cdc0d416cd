"""Which observers work on this machine: tests that hold for every one of them are parametrised over these."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet

from support.program import PROGRAM, SECONDS

ALL = ("notify", "ebpf", "both")
PROBING = ("ebpf", "both")
STOPPING = ("notify", "both")


@cache
def _doctor() -> dict[str, Any]:
    with TemporaryDirectory() as store:
        env = {"PATH": os.environ["PATH"], "HOME": store, "STENO_HOME": str(Path(store) / "runs")}
        done = subprocess.run(
            [PROGRAM, "doctor", "--json"], capture_output=True, env=env, timeout=SECONDS, check=False
        )
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def working(among: tuple[str, ...] = ALL) -> list[str]:
    """Those that the doctor has nothing against, by name."""
    return [name for name in among if _refused(name) is None]


def strongest() -> str:
    """The one that sees most here."""
    return (working() or ["none"])[-1]


def observers(among: tuple[str, ...] = ALL) -> list[ParameterSet]:
    """All of them as parameters of a test. What does not work here is skipped aloud: no test vanishes."""
    return [pytest.param(name, marks=needs(name)) for name in among]


def needs(name: str) -> list[pytest.MarkDecorator]:
    """The marks of a test's parameter that needs this observer."""
    reason = _refused(name)
    return (
        [] if reason is None else [pytest.mark.skip(reason=f"observer {name} does not work here: {reason}")]
    )


def _refused(name: str) -> str | None:
    reason = _doctor()["observers"].get(name, "steno doctor does not know it")
    return None if reason is None else str(reason)


def a_run_has_a_cgroup() -> bool:
    """Whether a run of whoever runs the tests is born into a cgroup of its own."""
    return any(one["about"] == "cgroup" and one["mark"] == "ok" for one in _doctor()["findings"])
