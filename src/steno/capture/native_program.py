"""Where the programs are that come with Steno and are not Python.

In: the name of one, and the environment. Out: its path. Never searched for on PATH: a program of another
version would write another record.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import steno
from steno.errors import CaptureError

_HINT = "apt install gcc libc6-dev, then install Steno again (in a checkout: make native)"


def find_program(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    places = [Path(steno.__file__).parent / "native" / name]
    variable = name.upper().replace("-", "_")
    if environ.get(variable):
        places.insert(0, Path(environ[variable]))
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    searched = ", ".join(map(str, places))
    raise CaptureError(f"{name} is not there: searched {searched} and ${variable}", hint=_HINT)
