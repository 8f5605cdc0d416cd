"""`steno serve` before it serves: which store it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from steno.cli import serve
from steno.errors import StoreError


def test_a_store_that_is_named_and_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store at") as refused:
        serve.command.main(["--store", str(tmp_path / "typo")], standalone_mode=False)
    assert refused.value.hint


def test_the_usual_store_may_come_later_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STENO_HOME", str(tmp_path / "later"))
    monkeypatch.setattr(serve, "_wait", lambda: None)
    serve.command.main([], standalone_mode=False)
    assert f"serving {tmp_path / 'later'}, where nothing is recorded yet" in capsys.readouterr().err
