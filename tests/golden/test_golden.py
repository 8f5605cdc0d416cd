"""What an older Steno recorded is read as it was read then: same verdict, same answers, same exports."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from golden import judged
from golden.answers import COMMANDS, answers, asked, kept_answers
from steno.evidence import layout

BUNDLES = sorted(Path(__file__).parent.glob("v*/*.tar.gz"))


def test_there_are_twelve_bundles_of_the_first_format() -> None:
    assert len([path for path in BUNDLES if path.parent.name == "v1"]) == 12


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_golden_bundle_is_answered_as_on_the_day_it_was_made(bundle: Path, store: Path) -> None:
    kept, found = kept_answers(bundle), answers(bundle)
    assert found.keys() == kept.keys()
    for command, answer in kept.items():
        assert found[command] == answer, command


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_what_stands_in_a_bundle_of_what_somebody_concluded_is_never_shown(
    bundle: Path, store: Path, tmp_path: Path
) -> None:
    """Whatever a forger puts there, and also when it is not there at all: only the verdict speaks of it."""
    with tarfile.open(bundle) as packed:
        packed.extractall(tmp_path / "run", filter="data")
    present = [path for path in layout.JUDGED_FILES if (tmp_path / "run" / path).exists()]
    assert len(present) >= 10
    for path in present[::2]:
        (tmp_path / "run" / path).write_bytes(b'{"forged":[')
    for path in present[1::2]:
        (tmp_path / "run" / path).unlink()
    kept = json.loads(json.dumps(kept_answers(bundle)).replace(bundle.name, "run"))
    for name in COMMANDS.keys() - {"verify"}:
        assert asked(name, tmp_path / "run") == kept[name], name


def test_a_rule_that_changed_has_a_number_and_a_line() -> None:
    """Red, and the change is meant? Add a line to `judge/rules.py`, then run `golden/judged.py`."""
    assert judged.digests() == json.loads(judged.KEPT.read_bytes())
