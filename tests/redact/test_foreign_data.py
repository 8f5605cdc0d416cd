"""Data of somebody else: there the name of a value says that it is a secret, and a list may be arguments."""

from __future__ import annotations

from typing import Any

import pytest

from steno.redact.findings import Findings
from steno.redact.redactor import Redactor


@pytest.mark.parametrize(
    ("given", "masked"),
    [
        ({"password": "hunter22x"}, {"password": "[REDACTED:secret-pair:9]"}),
        ({"deep": [{"api_key": "zyx-987-wvu-654"}]}, {"deep": [{"api_key": "[REDACTED:secret-pair:15]"}]}),
        (["--token", "q1w2e3r4t5"], ["--token", "[REDACTED:argument:10]"]),
        ({"token": "[REDACTED:secret-pair:9]"}, {"token": "[REDACTED:secret-pair:9]"}),
    ],
)
def test_what_its_name_says_is_a_secret_is_masked_once(given: Any, masked: Any) -> None:
    redactor = Redactor(findings=Findings())
    assert redactor.foreign(given, "x") == masked
    assert redactor.foreign(masked, "x") == masked


@pytest.mark.parametrize(
    "plain",
    [
        {"key": "count", "path": "/tmp/key", "token_type": "bearer", "max_tokens": "100"},
        {"tool_use_id": "toolu_01A09q90qw90lq917835lq9", "numbers": [1, 2.5, None, True]},
        ["ls", "-la"], [], {}, None, 7,
    ],
)  # fmt: skip
def test_what_is_no_secret_stays_as_it_is(plain: Any) -> None:
    findings = Findings()
    assert Redactor(findings=findings).foreign(plain, "x") == plain
    assert findings.total == 0


def test_a_name_that_is_a_secret_is_masked_in_the_report_too() -> None:
    findings = Findings()
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    Redactor(findings=findings).foreign({secret: {"password": "hunter22x"}}, "x")
    assert "a1B2c3D4" not in str(findings.snapshot())
