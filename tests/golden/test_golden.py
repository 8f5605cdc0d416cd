"""What an older Steno recorded is read as it was read then: same verdict, same answers, same exports."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden.answers import answers, kept_answers

BUNDLES = sorted(Path(__file__).parent.glob("v*/*.tar.gz"))


def test_there_are_twelve_bundles_of_the_first_format() -> None:
    assert len([path for path in BUNDLES if path.parent.name == "v1"]) == 12


@pytest.mark.parametrize("bundle", BUNDLES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_golden_bundle_is_answered_as_on_the_day_it_was_made(bundle: Path, store: Path) -> None:
    kept, found = kept_answers(bundle), answers(bundle)
    assert found.keys() == kept.keys()
    for command, answer in kept.items():
        assert found[command] == answer, command
