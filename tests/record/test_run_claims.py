"""The claims of a run that is being recorded: what stays behind is said."""

from __future__ import annotations

import os

import pytest

from steno.record import intake
from steno.record.run_claims import RunClaims
from support.making import RUN_ID


def test_a_folder_that_cannot_be_removed_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    claims = RunClaims(f"{RUN_ID[:-8]}{os.urandom(4).hex()}", "auto", 0)
    with monkeypatch.context() as patched:
        patched.setattr(intake.IntakeFolder, "remove", lambda _: False)
        claims.close(needed=False)
    assert f"steno: {claims.scratch[0]} could not be removed" in capsys.readouterr().err
    claims.close(needed=False)
    assert capsys.readouterr().err == ""
