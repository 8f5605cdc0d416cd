"""The claims of a run that is being recorded: what stays behind is said."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from steno.bundle.folder import Folder
from steno.claims import folder as claims_folder
from steno.claims.folder import RunClaims
from steno.evidence import intake_names, layout
from steno.record.recorder import Recorder
from steno.redact.findings import Findings
from steno.redact.redactor import Redactor
from support.making import RUN_ID


def test_a_folder_that_cannot_be_removed_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    claims = RunClaims(f"{RUN_ID[:-8]}{os.urandom(4).hex()}", "auto", 0, {})
    with monkeypatch.context() as patched:
        patched.setattr(claims_folder.IntakeFolder, "remove", lambda _: False)
        claims.close(needed=False)
    assert f"steno: {claims.scratch[0]} could not be removed" in capsys.readouterr().err
    claims.close(needed=False)
    assert capsys.readouterr().err == ""


def test_a_variable_of_others_says_what_ours_does(tmp_path: Path) -> None:
    claims = RunClaims(f"{RUN_ID[:-8]}{os.urandom(4).hex()}", "auto", 0, {"STENO_RUN_ID": "THEIR_RUN"})
    given = claims.open(tmp_path)
    claims.close(needed=False)
    assert given["THEIR_RUN"] == given["STENO_RUN_ID"]
    assert claims.variables.keys() == given.keys()


class _Witness:
    def __init__(self) -> None:
        self.told: list[object] = []

    def event(self, event: object) -> None:
        self.told.append(event)

    def gap(self, *gap: str) -> None:
        self.told.append(gap)


@pytest.fixture
def claims(tmp_path: Path) -> Iterator[RunClaims]:
    claims = RunClaims(f"{RUN_ID[:-8]}{os.urandom(4).hex()}", "auto", 0, {})
    claims.open(tmp_path)
    yield claims
    claims.close(needed=False)


def kept(claims: RunClaims, here: Path) -> list[object]:
    recorder = _Witness()
    with Folder(here) as folder:
        claims.keep(folder, cast("Recorder", recorder), Redactor(findings=Findings()), 10**18)
    return recorder.told


def test_claims_that_the_command_planted_are_gone_where_nobody_told_anything(
    claims: RunClaims, tmp_path: Path
) -> None:
    planted = tmp_path / layout.SPOOL / layout.CLAIMS
    planted.parent.mkdir(parents=True)
    planted.write_text("{}\n")
    assert kept(claims, tmp_path) == []
    assert not planted.exists()


@pytest.mark.parametrize("harm", ["unlink", "replace", "mode", "write", "log"])
def test_an_intake_that_was_touched_is_not_taken_for_a_silent_one(
    claims: RunClaims, tmp_path: Path, harm: str
) -> None:
    (tmp_path / layout.SPOOL / layout.CLAIMS).parent.mkdir(parents=True)
    folder = Path(claims.scratch[0])
    hooks = folder / intake_names.HOOKS
    match harm:
        case "unlink":
            hooks.unlink()
        case "replace":
            hooks.unlink()
            hooks.write_bytes(b"")
        case "mode":
            folder.chmod(0o500)
        case "write":
            hooks.write_text("junk\n")
        case "log":
            (folder / intake_names.policy_log(1, 2)).write_bytes(b"")
    assert kept(claims, tmp_path) != []
