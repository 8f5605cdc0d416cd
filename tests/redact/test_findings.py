"""The tally says how much and where, never what."""

from __future__ import annotations

import json
import pickle

import pytest

from steno.redact import Findings


def test_the_report_carries_lengths_and_keyed_digests_and_never_the_secret() -> None:
    findings = Findings(key=b"k" * 32)
    findings.add("stdout", "jwt", b"hunter2")
    report = findings.snapshot()
    (example,) = report["examples"]
    assert example["length"] == 7
    assert len(example["hmac"]) == 16
    assert "hunter2" not in json.dumps(report)
    assert "6b6b" not in json.dumps(report)


def test_two_runs_give_one_secret_two_digests() -> None:
    reports = []
    for _ in range(2):
        findings = Findings()
        findings.add("stdout", "jwt", b"hunter2")
        reports.append(findings.snapshot()["examples"][0]["hmac"])
    assert reports[0] != reports[1]


def test_places_rules_and_total_are_counted() -> None:
    findings = Findings()
    for where, rule in [("stdout", "jwt"), ("cmd[1]", "option"), ("stdout", "jwt")]:
        findings.add(where, rule, b"x")
    report = findings.snapshot()
    assert report["redacted_fields"] == ["cmd[1]", "stdout"]
    assert report["counts"] == {"jwt": 2, "option": 1}
    assert report["total"] == findings.total == 3


def test_lists_are_bounded_and_what_is_left_off_is_declared() -> None:
    findings = Findings()
    for number in range(1200):
        findings.add(f"field[{number}]", "jwt", b"x")
    report = findings.snapshot()
    assert len(report["redacted_fields"]) == 1000
    assert report["redacted_fields_left_off_at_most"] == 200
    assert len(report["examples"]) == 50
    assert report["total"] == 1200


def test_the_key_is_neither_shown_nor_serialised() -> None:
    findings = Findings(key=b"very-secret-key")
    assert "very-secret-key" not in repr(findings)
    with pytest.raises(TypeError):
        pickle.dumps(findings)
