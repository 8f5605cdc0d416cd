"""What an older Steno recorded is read as it was read then: same verdict, same answers, same exports."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from golden import improved, judged
from golden.answers import COMMANDS, EXPORTS, asked, exported, kept_answers
from steno.evidence import compat, layout
from support.reading import unpack

BUNDLES = sorted(Path(__file__).parent.glob("v*/*.tar.gz"))


def test_there_are_twelve_bundles_of_each_format() -> None:
    assert Counter(path.parent.name for path in BUNDLES) == {"v1": 12, "v2": 12}


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_golden_bundle_is_answered_as_on_the_day_it_was_made(bundle: Path, store: Path) -> None:
    """But for what is told better since, field by field."""
    kept = kept_answers(bundle)
    assert [*kept] == sorted([*COMMANDS, "exports"])
    for command in COMMANDS:
        assert improved.as_then(command, asked(command, bundle), bundle) == kept[command], command
    exports = improved.exports(bundle, kept["exports"])
    for form in EXPORTS:
        assert exported(form, bundle) == exports[form], form


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_stands_in_a_bundle_of_what_somebody_concluded_is_never_shown(
    bundle: Path, store: Path, tmp_path: Path
) -> None:
    """Whatever a forger puts there, and also when it is not there at all: only the verdict speaks of it."""
    unpack(bundle, tmp_path / "run")
    concluded = [*compat.CONCLUDED] if bundle.parent.name == "v1" else [*layout.JUDGED_FILES]
    if (tmp_path / "run/terminal/output.idx").exists():
        concluded.remove("terminal/output")  # it was recorded
    for path in concluded[::2]:
        (tmp_path / "run" / path).parent.mkdir(exist_ok=True)
        (tmp_path / "run" / path).write_bytes(b'{"forged":[')
    for path in concluded[1::2]:
        (tmp_path / "run" / path).unlink(missing_ok=True)
    kept = json.loads(json.dumps(kept_answers(bundle)).replace(bundle.name, "run"))
    for name in COMMANDS.keys() - {"verify"}:
        assert improved.as_then(name, asked(name, tmp_path / "run"), bundle) == kept[name], name


def test_a_rule_that_changed_has_a_number_and_a_line() -> None:
    """Red, and the change is meant? Add a line to `judge/rules.py`, then run `golden/judged.py`."""
    assert judged.digests() == json.loads(judged.KEPT.read_bytes())
