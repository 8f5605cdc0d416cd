"""What is dear to make is made once a session: the worker that comes first makes it, the others wait."""

from __future__ import annotations

import fcntl
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

import pytest

Made = TypeVar("Made")


class Once(Protocol):
    def __call__(self, name: str, make: Callable[[Path], Made]) -> Made: ...


def made_once(factory: pytest.TempPathFactory) -> Once:
    """`make` is given a directory of its own, which stays; what it returns is kept for all workers."""
    own = factory.getbasetemp()
    base = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "once"
    base.mkdir(exist_ok=True)

    def once(name: str, make: Callable[[Path], Made]) -> Made:
        place, kept = base / name, base / f"{name}.pickle"
        with (base / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not kept.exists():
                shutil.rmtree(place, ignore_errors=True)
                place.mkdir()
                kept.write_bytes(pickle.dumps(make(place)))
        made: Made = pickle.loads(kept.read_bytes())
        return made

    return once
