"""What a session is continued with: what the register says, and what came to light on the way."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from steno.agents.stream import Session
from steno.contracts.agent_audit.meta import PolicyGiven, describe
from steno.errors import BadRequestError
from steno.launch import start as resuming
from steno.launch.agent_settings import policy_given
from steno.launch.attempt import AgentCommand, LaunchOptions
from steno.launch.finish import keep_meta
from steno.launch.run_dirs import RunName, prepare_run
from support.attempts_made import ended_well

NOW = datetime(2026, 1, 25, 12, tzinfo=UTC)


@pytest.fixture
def around(tmp_path: Path) -> LaunchOptions:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return LaunchOptions(
        environ={"PATH": str(program.parent)}, root=tmp_path / "root", store=tmp_path / "store"
    )


def attempt(root: Path, session: str | None, run_id: str | None = None, **told: Any) -> RunName:
    with prepare_run(root, "codex", run_id, now=NOW) as prepared:
        found = Session("thread_id", session, "stdout") if session else Session()
        known = {"session": found, "home": f"/home-{prepared.attempt}", **told}
        entry = msgspec.structs.replace(prepared.entry.known, **known)
        keep_meta(root, prepared, describe(entry, ended_well()))
    return prepared.name


def resumed(
    around: LaunchOptions, selector: str, monkeypatch: pytest.MonkeyPatch, **kept: bool
) -> tuple[AgentCommand, LaunchOptions]:
    """The job that would be launched, and what would be around it."""
    made: list[tuple[AgentCommand, LaunchOptions]] = []
    monkeypatch.setattr(resuming, "run_attempt", lambda job, around, **_: made.append((job, around)))
    monkeypatch.setattr(resuming, "finish_crashed", lambda *_: ["a note"])
    resuming.resume(selector, ["Go on."], around, **kept, on_sealing=lambda _: None)
    return made[0]


def test_the_newest_session_goes_on_in_its_own_home(
    around: LaunchOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = attempt(around.root, "t-1")
    attempt(around.root, "t-2", name.run_id)
    attempt(around.root, None, name.run_id)
    job, world = resumed(around, name.suffix, monkeypatch)
    assert "t-2" in job.arguments(())
    assert "Go on." not in job.options
    assert (job.selector, world.home, job.notes) == (name.suffix, "/home-2", ["a note"])


def test_while_an_attempt_runs_that_is_what_is_told(
    around: LaunchOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    with prepare_run(around.root, "codex", None, now=NOW) as running:
        with pytest.raises(BadRequestError, match="an attempt is running") as caught:
            resumed(around, running.name.suffix, monkeypatch)
        assert "wait" in caught.value.hint


def test_a_session_that_could_be_an_option_is_none(
    around: LaunchOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = attempt(around.root, "--dangerous")
    with pytest.raises(BadRequestError, match="told of a session"):
        resumed(around, name.suffix, monkeypatch)


# --- the policy and the hooks of the attempt before --------------------------------------------------

HOME = "/home-of-the-agent"


@pytest.fixture
def policy(tmp_path: Path) -> PolicyGiven:
    path = tmp_path / "policy.yaml"
    path.write_text("version: 1\ndefault: deny\n")
    return policy_given(path)


def test_the_policy_and_the_hooks_of_the_attempt_before_hold_again(
    around: LaunchOptions, policy: PolicyGiven, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = attempt(around.root, "t-1", home=HOME, policy=policy, hooks=True)
    job, world = resumed(around, name.suffix, monkeypatch)
    assert (job.policy, world.policy, world.hooks) == (policy, Path(policy.path), True)


def test_the_user_can_say_otherwise(
    around: LaunchOptions, policy: PolicyGiven, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = attempt(around.root, "t-1", home=HOME, policy=policy, hooks=True)
    for kept in ("keep_policy", "keep_hooks"):
        job, world = resumed(around, name.suffix, monkeypatch, **{kept: False})
        assert (job.policy is None, world.hooks) == (kept == "keep_policy", kept == "keep_policy")
    other = Path(policy.path).with_name("other.yaml")
    other.write_text("version: 1\ndefault: allow\n")
    job, _ = resumed(around._replace(policy=other), name.suffix, monkeypatch, keep_policy=False)
    assert job.policy == policy_given(other)


def test_what_the_newest_attempt_in_that_home_had_counts(
    around: LaunchOptions, policy: PolicyGiven, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = attempt(around.root, "t-1", home=HOME)
    attempt(around.root, None, name.run_id, home=HOME, policy=policy)
    attempt(around.root, None, name.run_id, home="default")
    with prepare_run(around.root, "codex", name.run_id, now=NOW):
        """One that was killed before anything was known of it."""
    assert resumed(around, name.suffix, monkeypatch)[0].policy == policy
    attempt(around.root, None, name.run_id, home=HOME)
    assert resumed(around, name.suffix, monkeypatch)[0].policy is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be used any more: .*No such file"),
        ("version: 9", "cannot be used any more"),
        ("version: 1\ndefault: allow\n", "which has changed since: its sha256 was [0-9a-f]{12}…, and is"),
    ],
)
def test_a_policy_that_is_gone_or_another_one_now_is_refused_until_the_user_says_what_is_meant(
    around: LaunchOptions,
    policy: PolicyGiven,
    content: str | None,
    told: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = attempt(around.root, "t-1", home=HOME, policy=policy)
    Path(policy.path).unlink()
    if content is not None:
        Path(policy.path).write_text(content)
    with pytest.raises(BadRequestError, match=told) as caught:
        resumed(around, name.suffix, monkeypatch)
    assert f"--policy FILE {name.suffix}" in caught.value.hint
    assert "--no-policy" in caught.value.hint
    assert resumed(around, name.suffix, monkeypatch, keep_policy=False)[0].policy is None


def test_an_attempt_that_cannot_be_read_may_have_had_a_policy(
    around: LaunchOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = attempt(around.root, "t-1", home=HOME)
    attempt(around.root, None, name.run_id, home=HOME)
    (around.root / "metadata" / "attempts" / name.run_id / "2.json").write_text("{")
    with pytest.raises(BadRequestError, match="nobody knows which policy and hooks attempt 2 had"):
        resumed(around, name.suffix, monkeypatch)
    resumed(around, name.suffix, monkeypatch, keep_policy=False, keep_hooks=False)
