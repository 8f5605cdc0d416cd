"""Which observers work on this machine: tests that hold for every one of them are parametrised over these."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conftest import PROGRAM, SECONDS

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


def observers(among: tuple[str, ...] = ALL) -> list[str]:
    """Those that the doctor has nothing against, by name."""
    refused = _doctor()["observers"]
    return [name for name in among if name in refused and refused[name] is None]


def a_run_has_a_cgroup() -> bool:
    """Whether a run of whoever runs the tests is born into a cgroup of its own."""
    return any(one["about"] == "cgroup" and one["mark"] == "ok" for one in _doctor()["findings"])
