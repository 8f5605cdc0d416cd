"""Whether the content of a file holds a secret: wherever it stands, and without counting it."""

from __future__ import annotations

import pytest

from steno.redact.findings import Findings
from steno.redact.redactor import _SCANNED, Redactor, holds_secret

SECRET = b"the password of the run is hunter2-hunter2"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"plain text\n" * 1000, False),
        (b"", False),
        (b"x" * 300_000 + b"\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIbPxRfiCYzzzzzKEYAb3dE5fGh\n", True),
        (b"\0\1\2known-value-of-this-run\0" + bytes(1000), True),
        (b"y" * (_SCANNED - 8) + b"known-value-of-this-run", True),
    ],
    ids=["clean", "empty", "by name", "by value in a binary", "across a border"],
)
def test_a_secret_is_found_wherever_it_stands(content: bytes, *, expected: bool) -> None:
    findings = Findings()
    redactor = Redactor(findings=findings, literals=[b"known-value-of-this-run"])
    assert holds_secret(redactor, content) is expected
    assert findings.total == 0
