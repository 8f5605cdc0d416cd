"""Where the programs are that come with Steno and are not Python, and how they are started.

In: the name of one, and the environment. Out: its path, or its process. Never searched for on PATH: a program
of another version would write another record.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import steno
from steno.capture.keeper import RESTORED
from steno.errors import CaptureError

WHY_NOT = "not-built.txt"  # written by hatch_build.py, beside the programs
_AGAIN = "then install Steno again (from a checkout: pip install .)"
_COMPILER_HINT = f"apt install gcc libc6-dev, {_AGAIN}"


def find_program(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    folder = Path(steno.__file__).parent / "native"
    places = [folder / name]
    variable = name.upper().replace("-", "_")
    if environ.get(variable):
        places.insert(0, Path(environ[variable]))
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    searched = ", ".join(map(str, places))
    raise _not_there(f"{name} is not there: searched {searched} and ${variable}", name, folder / WHY_NOT)


def _not_there(message: str, name: str, told: Path) -> CaptureError:
    """With the reason that the build left, where it left one: a compiler is not always what was lacking."""
    try:
        lines = told.read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    why = next((line.partition(": ")[2] for line in lines if line.startswith(f"{name}: ")), None)
    if why is None:
        return CaptureError(message, hint=_COMPILER_HINT)
    if why.startswith("no C compiler found"):
        hint = _COMPILER_HINT
    elif why.endswith(" failed"):
        hint = (
            f"{told} has what the compiler said (without headers: apt install libc6-dev); mend that, {_AGAIN}"
        )
    else:
        hint = f"mend that, {_AGAIN}"
    return CaptureError(f"{message}; it was not built: {why}", hint=hint)


def spawn(program: Path, argv: list[str], environ: Mapping[str, str], given: Sequence[int]) -> int:
    """Not by fork: another thread of ours may be loading what the seal will need."""
    found = [os.get_inheritable(fd) for fd in given]
    for fd in given:
        os.set_inheritable(fd, True)
    try:
        return os.posix_spawn(program, argv, environ, setsigdef=RESTORED)
    finally:
        for fd, inheritable in zip(given, found, strict=True):
            os.set_inheritable(fd, inheritable)
