"""What `steno run` says: of a noticed filter, a refused log of an SDK, and a list that cannot be made."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from steno.cli import run
from steno.evidence.kinds import SdkIntake
from steno.record.run import Outcome
from support.kernel_tables import OBSERVED


@pytest.mark.parametrize(("allowed", "observer"), [(True, "ebpf"), (False, "none")])
def test_a_refused_listener_is_told_with_an_observer_that_the_user_may_have(
    allowed: bool, observer: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run, "may_load", lambda: allowed)
    observed = msgspec.structs.replace(OBSERVED, listeners_refused=1)
    run.tell(Outcome("id", Path("/"), 0, None, [], None, None, observed, 0), "make")
    out, err = capsys.readouterr()
    assert out == ""
    assert "a seccomp listener of its own and was refused" in err
    assert f"`--observer {observer}`" in err


@pytest.mark.parametrize(
    ("told", "says"),
    [
        (
            SdkIntake(shim="none", lines=1, hooks=0, refused="seq_gap", refused_line=1),
            " from line 2 on: seq_gap",
        ),
        (SdkIntake(shim="openai-agents", lines=0, hooks=0, refused="empty_log"), ": empty_log"),
    ],
)
def test_a_log_of_an_sdk_that_was_refused_is_told_with_its_reason(
    told: SdkIntake, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run.tell(Outcome("id", Path("/"), 0, None, [], None, None, None, 0, told), "make")
    out, err = capsys.readouterr()
    assert out == ""
    assert f"steno: the log of the agent's SDK was refused{says}\n" in err
    assert "docs/shims.md" in err


@pytest.mark.parametrize("refused", [None, "shim_none"])
def test_a_log_that_was_taken_or_not_wanted_is_no_trouble(
    refused: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    told = SdkIntake(shim="none", lines=0, hooks=0, refused=refused)
    run.tell(Outcome("id", Path("/"), 0, None, [], None, None, None, 0, told), "make")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("can_be_made", [True, False])
def test_a_list_of_ignored_paths_that_cannot_be_made_is_told_in_one_line(
    can_be_made: bool, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "file").touch()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home if can_be_made else home / "file"))
    run.tell(Outcome("id", Path("/"), 0, None, [], None, None, OBSERVED, 0), "make")
    said = [line for line in capsys.readouterr().err.splitlines() if "ignored paths" in line]
    assert [line.startswith("steno: the default list") for line in said] == [True] * (not can_be_made)
