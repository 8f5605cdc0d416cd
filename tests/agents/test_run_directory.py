"""Run directories: selecting them, and numbers that are never given twice."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steno.agents.definition import AGENT_NAME
from steno.bundle.folder import Folder
from steno.bundle.lock import holding
from steno.errors import BadRequestError, RunNotFoundError, StoreError
from steno.evidence.kinds import CommandStarted
from steno.launch import run_dirs
from steno.launch.registry import AttemptState, agent_process, attempts
from steno.launch.run_dirs import (
    RunName,
    agents_root,
    find_run,
    format_name,
    open_runs,
    parse_name,
    prepare_run,
    run_names,
)
from steno.launch.status import one_run
from support.making import RUN_ID, make_run
from support.making import start as start_event

NOW = datetime(2026, 1, 25, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "agents"


def start(root: Path, selector: str | None = None, agent: str = "codex") -> tuple[Path, int]:
    with prepare_run(root, agent, selector, now=NOW) as prepared:
        return prepared.run_dir, prepared.attempt


def numbers(root: Path, run: Path) -> list[int]:
    return sorted(int(path.stem) for path in (root / "metadata" / "attempts" / run.name).glob("[0-9]*.json"))


def in_child(work: Callable[[], int]) -> int:
    """What `work` returns, from a process of its own; 99 if it raised."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


# --- names -------------------------------------------------------------------------------------------


def test_a_name_holds_the_time_the_agent_and_eight_digits() -> None:
    assert format_name("codex", NOW, b"\x01\x02\xab\xcd") == (
        "20260125T120000-codex-0102abcd",
        "codex",
        "0102abcd",
    )


@given(
    st.from_regex(AGENT_NAME, fullmatch=True),
    st.datetimes(min_value=datetime(1000, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis adds it
    st.binary(min_size=4, max_size=4),
)
def test_a_name_is_read_back_as_what_it_was_made_of(agent: str, now: datetime, randomness: bytes) -> None:
    name = format_name(agent, now, randomness)
    assert parse_name(name.run_id) == name
    assert "/" not in name.run_id


@given(st.text())
def test_what_is_not_a_name_of_ours_is_not_read_as_one(text: str) -> None:
    name = parse_name(text)
    assert name is None or name.run_id == text


@pytest.mark.parametrize("agent", ["", "..", "A", "a/b", "-x", "a b", "é", "a\n", "x" * 65])
def test_an_agent_cannot_have_a_name_that_is_no_part_of_a_file_name(root: Path, agent: str) -> None:
    with pytest.raises(BadRequestError):
        start(root, agent=agent)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"STENO_AGENTS": "/a", "XDG_DATA_HOME": "/x", "HOME": "/h"}, "/a"),
        ({"XDG_DATA_HOME": "/x", "HOME": "/h"}, "/x/steno/agents"),
        ({"HOME": "/h", "STENO_AGENTS": ""}, "/h/.local/share/steno/agents"),
    ],
)
def test_the_root_is_found_in_the_environment(environ: dict[str, str], expected: str) -> None:
    assert agents_root(environ) == Path(expected)


def test_without_a_place_there_is_an_error() -> None:
    with pytest.raises(StoreError, match="STENO_AGENTS"):
        agents_root({})


# --- selectors ---------------------------------------------------------------------------------------


def test_a_start_without_a_selector_makes_a_private_run_directory(root: Path) -> None:
    run, attempt = start(root)
    assert attempt == 1
    assert run.parent == root / "runs"
    for path in (run, run / ".audit", root / "runs", root / "metadata" / "attempts" / run.name):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.parametrize("how", [str, lambda run: run.name, lambda run: run.name[-8:], lambda run: f"{run}/"])
def test_a_path_an_id_and_its_last_digits_select_a_run(root: Path, how: Callable[[Path], str]) -> None:
    run, _ = start(root)
    assert start(root, how(run)) == (run, 2)


def test_a_relative_path_selects_a_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = start(root)
    monkeypatch.chdir(run)
    assert start(root, ".") == (run, 2)


def test_a_path_may_lead_through_a_link_of_the_user(root: Path, tmp_path: Path) -> None:
    run, _ = start(root)
    (tmp_path / "link").symlink_to(root)
    assert start(root, str(tmp_path / "link" / "runs" / run.name)) == (run, 2)


def test_digits_of_two_runs_are_ambiguous_and_both_are_named(root: Path) -> None:
    (root / "runs").mkdir(parents=True)
    ids = [f"20260125T12000{second}-codex-0123abcd" for second in range(2)]
    for run_id in ids:
        (root / "runs" / run_id).mkdir()
    with pytest.raises(RunNotFoundError) as caught:
        start(root, "0123abcd")
    assert all(run_id in str(caught.value) for run_id in ids)


def test_a_run_of_another_agent_is_refused(root: Path) -> None:
    run, _ = start(root)
    with pytest.raises(BadRequestError, match="is a run of codex, not of claude"):
        start(root, run.name, agent="claude")
    assert numbers(root, run) == [1]


@pytest.mark.parametrize(
    "selector", ["", "nothing", "0123abcd", "20260125T120000-codex-0123abcd", "/", "..", "a\0b", "/nowhere/x"]
)
def test_what_is_not_there_is_an_error(root: Path, selector: str) -> None:
    start(root)
    with pytest.raises(RunNotFoundError):
        start(root, selector)


def test_a_directory_of_somebody_else_is_no_run_directory(root: Path, tmp_path: Path) -> None:
    start(root)
    stranger = tmp_path / "20260125T120000-codex-0123abcd"
    stranger.mkdir()
    with pytest.raises(RunNotFoundError, match="not a run directory"):
        start(root, str(stranger))
    assert not list(stranger.iterdir())


def test_the_newest_run_comes_first_and_other_files_are_passed_over(root: Path) -> None:
    (root / "runs").mkdir(parents=True)
    for name in ("20260125T120000-a-00000001", "20260126T120000-b-c-00000002", "mine", ".x"):
        (root / "runs" / name).mkdir()
    (root / "runs" / "20260127T120000-a-00000003").write_bytes(b"")
    with open_runs(root) as runs:
        assert run_names(runs) == [
            RunName("20260126T120000-b-c-00000002", "b-c", "00000002"),
            RunName("20260125T120000-a-00000001", "a", "00000001"),
        ]
        assert find_run(runs, "00000002").agent == "b-c"


def test_without_a_root_there_is_no_run(root: Path) -> None:
    with pytest.raises(RunNotFoundError), open_runs(root):
        pass


def test_a_run_whose_directory_is_gone_takes_no_attempt(root: Path) -> None:
    run, _ = start(root)
    run.rename(root / "moved")
    with pytest.raises(RunNotFoundError, match="its directory is gone") as caught:
        start(root, run.name[-8:])
    assert "put it back" in caught.value.hint
    assert numbers(root, run) == [1]
    (root / "moved").rename(run)
    assert start(root, run.name) == (run, 2)


# --- planted links -----------------------------------------------------------------------------------


def test_no_link_is_followed_on_the_way_to_an_attempt(root: Path, tmp_path: Path) -> None:
    run, _ = start(root)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    planted = root / "runs" / "20260125T120000-codex-0123abcd"
    planted.symlink_to(elsewhere)
    with pytest.raises(RunNotFoundError):
        start(root, planted.name)
    with pytest.raises(RunNotFoundError):
        start(root, str(planted))
    (run / ".audit").rename(run / "moved")
    (run / ".audit").symlink_to(elsewhere)
    with pytest.raises(BadRequestError, match="not a directory"):
        start(root, run.name)
    assert not list(elsewhere.iterdir())


def test_a_runs_folder_that_is_a_link_is_refused(root: Path, tmp_path: Path) -> None:
    root.mkdir()
    (root / "runs").symlink_to(tmp_path)
    with pytest.raises(StoreError):
        start(root)


def test_a_root_that_cannot_be_written_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError) as caught:
        start(tmp_path / "file" / "agents")
    assert "STENO_AGENTS" in caught.value.hint


def test_a_root_that_cannot_be_made_is_told_as_that_and_not_as_a_run_that_is_missing() -> None:
    # /proc refuses new folders to root as well, and says that there is no such file.
    with pytest.raises(StoreError, match="the managed root /proc/x cannot be made: ") as caught:
        start(Path("/proc/x"))
    assert "steno agent start" not in caught.value.hint


# --- numbers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", ["meta.2.json", ".stdout.2.log.0123456789abcdef", "fs-before.2.json"])
def test_a_number_that_a_file_has_is_passed_over_so_that_the_file_is_kept(root: Path, left: str) -> None:
    run, _ = start(root)
    (run / ".audit" / left).write_bytes(b"")
    assert start(root, run.name) == (run, 3)


@pytest.mark.parametrize("left", ["meta.7.json", "meta.999999999.json", f"meta.{'9' * 100}.json"])
def test_a_file_cannot_choose_the_number_of_the_next_attempt(root: Path, left: str) -> None:
    run, _ = start(root)
    (run / ".audit" / left).write_bytes(b"")
    assert [start(root, run.name)[1] for _ in range(2)] == [2, 3]


@pytest.mark.parametrize("how", ["removed", "moved"])
def test_a_number_is_not_used_again_when_the_agent_takes_our_files_away(root: Path, how: str) -> None:
    run, _ = start(root)
    (run / ".audit").rmdir() if how == "removed" else (run / ".audit").rename(run / "moved")
    assert start(root, run.name) == (run, 2)
    assert numbers(root, run) == [1, 2]


def test_a_second_start_in_one_run_directory_is_refused_while_the_first_goes_on(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_dirs, "_PATIENCE", 0)
    with prepare_run(root, "codex", None, now=NOW) as first:
        first.audit_dir.rename(first.run_dir / "moved")  # by the agent: it makes no difference
        with pytest.raises(BadRequestError, match="is running") as caught:
            start(root, first.name.run_id)
        assert "wait" in caught.value.hint
        assert [record.state for record in attempts(root, first.name.run_id)] == [AttemptState.RUNNING]
    assert start(root, first.name.run_id)[1] == 2


def test_an_attempt_that_is_killed_leaves_no_lock_and_keeps_its_number(root: Path) -> None:
    run, _ = start(root)

    def killed() -> int:
        with prepare_run(root, "codex", run.name, now=NOW):
            os.kill(os.getpid(), signal.SIGKILL)
        return 0

    assert in_child(killed) == -signal.SIGKILL
    assert start(root, run.name) == (run, 3)


def test_a_start_is_refused_while_the_agent_of_a_killed_recorder_goes_on(root: Path, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], env={"PATH": os.environ["PATH"], "STENO_RUN_ID": RUN_ID}) as agent:
        started = CommandStarted(pid=agent.pid)
        recording = make_run(tmp_path / "store", start_event(), started, sealed=False)
        with prepare_run(root, "codex", None, now=NOW) as first:
            first.keep(store=str(tmp_path / "store"), record=RUN_ID)
        with Folder(recording / "spool") as spool, holding(spool):
            (record,) = attempts(root, first.name.run_id)
            assert (record.state, record.outlived) == (AttemptState.RUNNING, True)
            with pytest.raises(BadRequestError, match="is running") as caught:
                start(root, first.name.run_id)
            (told,) = one_run(root, first.name.run_id)["attempts"]
            agent.kill()
            agent.wait()
            assert record.entry is not None
            assert agent_process(record.entry) is None
    assert f"`kill {agent.pid}` (sleep 60), or begin a new run with `steno agent start" in caught.value.hint
    assert told["pid"] == agent.pid
    assert f"`kill {agent.pid}` (sleep 60)" in told["problem"]
    assert attempts(root, first.name.run_id)[0].state is AttemptState.CRASHED
    assert start(root, first.name.run_id)[1] == 2


STEPS = (
    "mkdir", "open", "write", "fsync", "close", "fchmod", "link", "unlink",
    "listdir", "dup", "urandom", "stat",
)  # fmt: skip


def dying_at(step: int) -> Callable[[], None]:
    """From now on the process ends just before its `step`-th call of the system."""
    calls = 0

    def counted(really: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == step:
                os._exit(42)
            return really(*args, **options)

        return call

    def arm() -> None:
        for name in STEPS:
            setattr(os, name, counted(getattr(os, name)))

    return arm


@pytest.mark.parametrize("again", [False, True], ids=["a new run", "a run that is there"])
def test_a_crash_at_any_step_never_gives_a_number_away_twice(root: Path, again: bool) -> None:
    run, _ = start(root)
    selector = run.name if again else None
    crashes = 0
    seen = set() if again else {run}
    for step in range(1, 500):
        if in_child(lambda step=step: (dying_at(step)(), start(root, selector), 0)[2]) != 42:  # type: ignore[misc]
            break
        crashes += 1
        for directory in {*(root / "runs").iterdir()} - seen:
            used = numbers(root, directory)
            assert start(root, directory.name)[1] == len(used) + 1
            assert used == list(range(1, len(used) + 1))
            seen |= set() if again else {directory}
    else:
        pytest.fail("it never came to its end")
    assert crashes > 10


def test_many_processes_at_once_get_numbers_of_their_own(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_dirs, "_PATIENCE", 0)
    run, _ = start(root)
    count = 12

    def reserve() -> int:
        while True:
            try:
                return start(root, run.name)[1]
            except BadRequestError:
                os.sched_yield()

    children = []
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                code = reserve()
            finally:
                os._exit(code)
        children.append(pid)
    codes = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children)
    assert codes == list(range(2, count + 2))


def test_many_processes_at_once_make_runs_of_their_own(root: Path) -> None:
    children = []
    for _ in range(12):
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                code = start(root)[1]
            finally:
                os._exit(code)
        children.append(pid)
    assert {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children} == {1}
    with open_runs(root) as runs:
        assert len(run_names(runs)) == 12
