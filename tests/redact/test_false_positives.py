"""Source code is not shredded, and what the bench plants is found."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import credentials
from steno.redact import Findings, Redactor

MOST_PER_MEGABYTE = 2


def test_the_source_of_the_standard_library_has_few_findings() -> None:
    root = Path(sysconfig.get_paths()["stdlib"])
    redactor = Redactor(findings=Findings())
    size = found = 0
    for path in root.rglob("*.py"):
        if "site-packages" not in path.parts and not any("test" in part for part in path.parts):
            data = path.read_bytes()
            size += len(data)
            found += len(redactor.find(data))
    assert found / (size / 1_000_000) < MOST_PER_MEGABYTE


def test_what_the_bench_plants_is_found_and_its_look_alikes_are_not() -> None:
    for row in credentials.measure():
        assert row.recall >= 0.95, (row.family, row.missed)
        assert row.masked == 0, row.family
