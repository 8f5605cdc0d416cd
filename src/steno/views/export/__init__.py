"""Exports: a sealed bundle written in somebody else's format, one file a format.

In: a bundle's folder and a directory to write into. Out: files, and the path that was written.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from steno.bundle.folder import Folder
from steno.errors import BadRequestError

Export = Callable[[Folder, Path], Path]

# name -> module in this package; the module has a function `export`
FORMATS = {"capture-run": "capture_run"}


def export_named(name: str) -> Export:
    if name not in FORMATS:
        known = ", ".join(sorted(FORMATS))
        raise BadRequestError(f"there is no export named {name!r}", hint=f"known exports: {known}")
    export: Export = import_module(f"steno.views.export.{FORMATS[name]}").export
    return export
