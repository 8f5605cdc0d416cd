"""Source code is not shredded: findings in the source of the standard library stay below a bound."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from steno.redact import Findings, Redactor

MOST_PER_MEGABYTE = 10


def test_the_source_of_the_standard_library_has_few_findings() -> None:
    root = Path(sysconfig.get_paths()["stdlib"])
    redactor = Redactor(findings=Findings())
    size = found = 0
    for path in root.rglob("*.py"):
        if "site-packages" not in path.parts:
            data = path.read_bytes()
            size += len(data)
            found += len(redactor.find(data))
    assert found / (size / 1_000_000) < MOST_PER_MEGABYTE
