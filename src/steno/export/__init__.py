"""Exports: a run written in somebody else's format, one module a format."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from steno.errors import BadRequestError
from steno.model.run import Run


class Exported(NamedTuple):
    path: Path
    notes: tuple[str, ...] = ()  # what the bundle holds and the export does not


Export = Callable[[Run, Path], Exported]


class _Format(NamedTuple):
    function: str  # in this package
    place: str  # what it fills below its directory, as far as that is known before the run has a name
    directory: str = "."  # where it goes when the user names none


_FORMATS = {
    "agent-audit": _Format("contracts.agent_audit", ".audit"),
    "agent-snapshot": _Format("contracts.agent_snapshot", "", "snapshot-{run_id}"),
    "asciicast": _Format("asciicast.export", "steno-asciicast"),
    "assay-runner": _Format("contracts.assay_runner", "assay-runner-spike"),
    "capture-run": _Format("contracts.capture_run", "artifacts/capture_run"),
    "otlp": _Format("otlp.export", "steno-otlp"),
    "perfetto": _Format("perfetto.export", "steno-perfetto"),
    "sqlite": _Format("sqlite.export", "steno-sqlite"),
    "tables": _Format("tables.export", "steno-tables"),
}
FORMATS = tuple(_FORMATS)


def export_named(name: str) -> Export:
    if name not in _FORMATS:
        known = ", ".join(FORMATS)
        raise BadRequestError(f"there is no export named {name!r}", hint=f"known exports: {known}")
    module, function = _FORMATS[name].function.split(".")
    export: Export = getattr(import_module(f"{__name__}.{module}"), function)
    return export


def directory_of(name: str, run_id: str) -> Path:
    return Path(_FORMATS[name].directory.format(run_id=run_id))


def place_of(name: str, directory: Path) -> Path:
    """The directory that an export fills, so that a recorder can leave it out of what it watches."""
    return directory / _FORMATS[name].place
