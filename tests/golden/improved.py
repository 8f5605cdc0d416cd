"""What is told of a golden bundle today and was not on the day it was made, field by field.

The rest is told as it was then.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from golden.answers import exported

# Verification says what it does in these words now, and asks no more what a copy of a judgement could answer.
_STEPS_THEN = {
    2: "the manifest is canonical, of this version, covered by its root, and of the run of the folder's name",
    5: "the events are canonical, of known kinds, in sequence, of this run, and agree with each other",
    7: "every derived file is what the primary files give, and the snapshot tells of its files",
}
# These hold the event that begins a run, which names the streams that were recorded: nothing else differs.
# `improved.py` writes their digests of today.
_WITH_THE_FIRST_EVENT = ("assay-runner", "perfetto")
_KEPT = Path(__file__).parent / "exports_since.json"


def as_then(command: str, found: dict[str, Any], bundle: Path) -> dict[str, Any]:
    """An answer of today without what is told since."""
    answer = found.get("answer")
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


def exports(bundle: Path, then: dict[str, Any]) -> dict[str, Any]:
    """What was exported then, but for the forms that tell more since."""
    if bundle.parent.name != "v1":
        return then
    since: dict[str, Any] = json.loads(_KEPT.read_bytes())[bundle.name]
    return then | since


def main() -> None:
    bundles = sorted((Path(__file__).parent / "v1").glob("*.tar.gz"))
    found = {one.name: {form: exported(form, one) for form in _WITH_THE_FIRST_EVENT} for one in bundles}
    _KEPT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
