"""Exports: a sealed run written in somebody else's format, one file a format.

In: a run and a directory to write into. Out: files, the path that was written, and what the
user should know about it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from steno.errors import BadBundleError, BadRequestError, UnreadableBundleError
from steno.model.run import Run, Status, Verdict


class Exported(NamedTuple):
    path: Path
    notes: tuple[str, ...] = ()  # what the bundle holds and the export does not


Export = Callable[[Run, Path], Exported]

# name -> the function in this package that writes it
FORMATS = {
    "agent-audit": "contracts.agent_audit",
    "agent-snapshot": "contracts.agent_snapshot",
    "asciicast": "asciicast.export",
    "assay-runner": "contracts.assay_runner",
    "capture-run": "contracts.capture_run",
    "otlp": "otlp.export",
    "perfetto": "perfetto.export",
    "sqlite": "sqlite.export",
    "tables": "tables.export",
}
# name -> what it makes below the directory it is given: no part of the work that a run is about. Nobody knows
# the name of an agent-audit, or of an export that is one file, before the run has one, and nothing is there
# under the name without it.
PLACES = {
    "agent-audit": ".audit",
    "agent-snapshot": "",
    "asciicast": "steno-asciicast",
    "assay-runner": "assay-runner-spike",
    "capture-run": "artifacts/capture_run",
    "otlp": "steno-otlp",
    "perfetto": "steno-perfetto",
    "sqlite": "steno-sqlite",
    "tables": "steno-tables",
}
# name -> the directory it is given when the user names none
DIRECTORIES = {
    "agent-audit": ".",
    "agent-snapshot": "snapshot-{run_id}",
    "asciicast": ".",
    "assay-runner": ".",
    "capture-run": ".",
    "otlp": ".",
    "perfetto": ".",
    "sqlite": ".",
    "tables": ".",
}


def export_named(name: str) -> Export:
    if name not in FORMATS:
        known = ", ".join(sorted(FORMATS))
        raise BadRequestError(f"there is no export named {name!r}", hint=f"known exports: {known}")
    module, function = FORMATS[name].split(".")
    export: Export = getattr(import_module(f"steno.views.export.{module}"), function)
    return export


def directory_of(name: str, run_id: str) -> Path:
    return Path(DIRECTORIES[name].format(run_id=run_id))


def place_of(name: str, directory: Path) -> Path:
    """The directory that an export fills, so that a recorder can leave it out of what it watches."""
    return directory / PLACES[name]


def trusted(run: Run, *documents: str) -> Verdict:
    """Verify a bundle that is to be passed on: a forged one must not come out looking sound.

    A bundle that declares its gaps is passed on, with its gaps. A run that is not sealed is not. `documents`
    will be read of it.
    """
    verdict = run.verify(*documents)
    if verdict.gaps == ["unsealed"]:
        raise BadRequestError(
            f"{run.path.name} is not sealed", hint=f"`steno recover {run.path}` seals what was recorded"
        )
    return sound(verdict, run.path)


def sound(verdict: Verdict, path: Path) -> Verdict:
    """The same verdict; raises for what is not what it says it is."""
    if verdict.status in {Status.VALID, Status.INCOMPLETE}:
        return verdict
    failed = verdict.steps[-1]
    says = f"{path} is {verdict.status}: step {failed.number}: {'; '.join(failed.problems[:3])}"
    hint = f"`steno verify {path}` says more"
    if verdict.status is Status.UNREADABLE:
        raise UnreadableBundleError(says, hint=hint)
    raise BadBundleError(says, hint=hint)
