"""What is told of a golden bundle today and was not on the day it was made, field by field.

The rest is told as it was then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from golden.answers import exported

# Verification says what it does in these words now, and asks no more what a copy of a judgement could answer.
_STEPS_THEN = {
    2: "the manifest is canonical, of this version, covered by its root, and of the run of the folder's name",
    5: "the events are canonical, of known kinds, in sequence, of this run, and agree with each other",
    7: "every derived file is what the primary files give, and the snapshot tells of its files",
}
_SCHEMAS_THEN = {
    "steno.capability-surface.v1": "assay.runner.capability_surface.v0",
    "steno.correlation-report.v1": "assay.runner.correlation_report.v0",
    "steno.observation-health.v1": "assay.runner.observation_health.v0",
}
# Some exports hold the event that begins a run, which names the streams that were recorded. An archive of
# assay-runner carries the table of system calls, and its rows as lines no more; the other files are the same.
# `improved.py` writes the digests of today.
_SINCE = {"v1": ("assay-runner", "perfetto")}
_KEPT = Path(__file__).parent / "exports_since.json"


def as_then(command: str, found: dict[str, Any], bundle: Path) -> dict[str, Any]:
    """An answer of today without what is told since."""
    answer = found.get("answer")
    for document in _concluded(command, answer):
        document["schema"] = _SCHEMAS_THEN[document["schema"]]
    if command == "show" and answer is not None and answer.get("kernel") is not None:
        assert (
            answer["kernel"].pop("hook_processes") == 0
        )  # these records do not name the program of the hooks
    for processes in _processes(command, answer):
        assert {process.pop("role") for process in processes} <= {"command", "server", "tool"}
    if bundle.parent.name != "v1":
        return found
    if command == "show" and answer is not None:
        del answer["run"]["terminal"]["recorded"]
    if command == "verify" and answer is not None:
        for verdict in answer["verdicts"]:
            assert verdict.pop("notes") == []
            for step in verdict["steps"]:
                step["says"] = _STEPS_THEN.get(step["number"], step["says"])
    return found


def _processes(command: str, answer: Any) -> Iterator[list[dict[str, Any]]]:
    if answer is not None and command == "tree":
        yield answer["processes"]
    if answer is not None and command == "show" and "processes.json" in answer["files"]:
        yield answer["files"]["processes.json"]["processes"]


def _concluded(command: str, answer: Any) -> Iterator[dict[str, Any]]:
    """What is told by a schema of our own since."""
    if answer is None:
        return
    if command in {"surface", "projected"}:
        yield answer
    if command == "show":
        told = [answer["health"], *answer["files"].values()]
        yield from (one for one in told if one.get("schema") in _SCHEMAS_THEN)


def exports(bundle: Path, then: dict[str, Any]) -> dict[str, Any]:
    """What was exported then, but for the forms that tell more since."""
    since: dict[str, Any] = json.loads(_KEPT.read_bytes()).get(_name(bundle), {})
    return then | since


def _name(bundle: Path) -> str:
    return f"{bundle.parent.name}/{bundle.name}"


def main() -> None:
    found = {
        _name(bundle): {form: exported(form, bundle) for form in forms}
        for folder, forms in _SINCE.items()
        for bundle in sorted((Path(__file__).parent / folder).glob("*.tar.gz"))
    }
    _KEPT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
