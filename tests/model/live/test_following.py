"""Following a run: what is told, when, and that nothing secret is."""

from __future__ import annotations

import gc
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steno.bundle.folder import Folder
from steno.bundle.keys import KEY_IN_STORE
from steno.bundle.store import RunState
from steno.evidence import intake, kinds, layout, wire
from steno.judge.activity import Happening
from steno.model.live.following import Following, Step, following
from support.claims_told import POLICY, decided, ended, hook, opened, sdk
from support.live_runs import SECRET, LiveRun

TOKEN = b"ghp_abcdefghijklmnopqrstuvwxyz0123456789"
MANY = 1000


@pytest.fixture
def run(tmp_path: Path) -> LiveRun:
    return LiveRun(tmp_path)


@pytest.fixture
def watch(run: LiveRun) -> Iterator[Following]:
    with Folder(run.path) as folder, following(folder, run.store) as found:
        yield found


def settled(watch: Following, most: int = MANY) -> list[Happening]:
    """What two looks tell: the results of calls are waited for until the second."""
    return [*watch.look(most).happenings, *watch.look(most).happenings]


def words(happenings: list[Happening]) -> list[str]:
    return [f"{one.word} {one.subject}".rstrip() for one in happenings]


def everything(happenings: list[Happening]) -> str:
    return json.dumps([one.to_json() for one in happenings])


def test_what_happened_so_far_is_told_in_order_of_time(run: LiveRun, watch: Following) -> None:
    run.event(kinds.CommandStarted(pid=7))
    found = settled(watch)
    assert [one.at_ns for one in found] == sorted(one.at_ns for one in found)
    assert {"run started sh -c 'echo one two'", "started sh", "command started pid 7"} <= set(words(found))


def test_what_comes_later_is_told_when_it_comes(run: LiveRun, watch: Following) -> None:
    settled(watch)
    run.saw("unlink", "/w/a")
    run.event(kinds.TerminalResized(cols=80, rows=24))
    assert watch.look(MANY).happenings == [], "all of it comes together, in order of time"
    assert words(watch.look(MANY).happenings) == ["deleted /w/a", "terminal resized 80x24"]
    assert settled(watch) == []


def test_a_result_that_is_told_late_is_believed(run: LiveRun, watch: Following) -> None:
    settled(watch)
    run.saw("unlink", "/w/a", result=None)
    assert watch.look(MANY).happenings == []
    run.frames.events[-1] = run.frames.events[-1]._replace(result=-2)
    run.write_frames()
    assert watch.look(MANY).happenings == []


def test_secrets_are_masked_by_their_shape_and_by_what_the_recorder_knew(
    run: LiveRun, watch: Following
) -> None:
    run.frames.exec("/bin/curl", [b"curl", b"-H", b"Authorization: Bearer " + TOKEN, SECRET], result=0)
    run.saw("unlink", b"/w/" + SECRET)
    run.saw("connect", b"unix:/run/" + TOKEN)
    run.told(POLICY, opened(), decided(arguments={"query": f"say {SECRET.decode()}", "password": "hunter22"}))
    run.told(intake.HOOKS, hook(input={"command": f"echo {TOKEN.decode()}"}))
    run.told(intake.SDK, sdk(tool=SECRET.decode()))
    shown = everything(settled(watch))
    assert "curl" in shown
    assert "/w/****" in shown
    for secret in (SECRET.decode(), TOKEN.decode(), "hunter22"):
        assert secret not in shown


def test_decisions_and_claims_are_told_with_the_names_of_their_tools(run: LiveRun, watch: Following) -> None:
    settled(watch)
    run.told(
        POLICY, opened(at_ns=1), decided(at_ns=2), decided(2, at_ns=3, decision="deny", reason="no_rule")
    )
    run.told(POLICY, ended(at_ns=4))
    run.told(intake.HOOKS, hook(at_ns=5))
    run.told(intake.SDK, sdk())
    found = settled(watch)
    assert words(found) == [
        "connected files",
        "allow files.read_file",
        "deny files.read_file",
        "result files.read_file",
        "says started Bash",
        "says started read_file",
    ]
    assert [one.detail for one in found[1:3]] == ['{"path":"/a"}', "no_rule"]
    assert [one.bad for one in found[1:3]] == [False, True]


def test_without_an_observer_nobody_knows_what_is_secret_so_arguments_are_not_shown(tmp_path: Path) -> None:
    run = LiveRun(tmp_path, observer="none")
    with Folder(run.path) as folder, following(folder, run.store) as watch:
        run.told(POLICY, opened(), decided(arguments={"query": SECRET.decode()}))
        shown = everything(watch.look(MANY).happenings)
    assert "files.read_file" in shown
    assert SECRET.decode() not in shown


@pytest.mark.parametrize(
    "junk",
    [
        b"junk\n",
        b"\xff\xff\n",
        b"{}\n",
        b"[" * 100_000 + b"\n",
        decided().replace(b"0123abcd", b"ffffffff"),
        decided(at_ns=-1),
        decided(at_ns=1 << 60),
        b"x" * (3 << 20) + b"\n",
    ],
)
def test_what_no_program_of_ours_would_write_is_passed_over(
    run: LiveRun, watch: Following, junk: bytes
) -> None:
    settled(watch)
    for log in (POLICY, intake.HOOKS, intake.SDK):
        run.told(log, junk)
    run.told(intake.HOOKS, hook())
    found = [*watch.look(MANY).happenings, *watch.look(MANY).happenings]
    assert words(found) == ["says started Bash"]


def test_a_log_that_is_a_link_or_a_pipe_is_not_opened(run: LiveRun, watch: Following, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(hook())
    (run.intake / intake.HOOKS).symlink_to(tmp_path / "elsewhere")
    os.mkfifo(run.intake / intake.SDK)
    assert not [one for one in settled(watch) if one.what == "call"]


def test_an_intake_that_is_a_link_is_not_entered(run: LiveRun, watch: Following, tmp_path: Path) -> None:
    run.told(intake.HOOKS, hook())
    run.intake.rename(tmp_path / "elsewhere")
    run.intake.symlink_to(tmp_path / "elsewhere")
    assert not [one for one in settled(watch) if one.what == "call"]


def test_the_newest_are_told_and_the_others_counted(run: LiveRun, watch: Following) -> None:
    for number in range(50):
        run.frames.event("unlink", f"/w/{number}", result=0)
    run.write_frames()
    step = watch.look(10)
    assert len(step.happenings) == 10
    files = [one for one in step.happenings if one.what == "file"]
    assert words(files)[-1] == "deleted /w/49"
    assert files[-1].program == "sh", "who it was is known also from what was passed over"
    assert step.passed_over >= 40


def test_a_flood_keeps_little_in_memory_and_says_how_much_it_passed_over(
    run: LiveRun, watch: Following
) -> None:
    settled(watch)
    one = run.frames.event("unlink", "/w/a", result=0).events[-1]
    run.frames.events += [one] * 200_000
    run.frames.event("unlink", "/w/last", result=0)
    run.write_frames(closed=1)
    step = watch.look(5)
    assert words(step.happenings)[-1] == "deleted /w/last"
    assert step.passed_over > 199_000


def test_records_that_cannot_be_true_are_not_told(run: LiveRun, watch: Following) -> None:
    settled(watch)
    good = run.frames.event("unlink", "/w/a", result=0).events.pop()
    for bad in (
        good._replace(op=999),
        good._replace(op=199),
        good._replace(path=5000, resolved=5000),
        good._replace(process=1 << 31),
        good._replace(mono_ns=1 << 63),
    ):
        run.frames.events.append(bad)
    run.frames.events.append(good)
    run.write_frames(closed=1)
    assert words(watch.look(MANY).happenings) == ["deleted /w/a"]


def test_what_the_probe_tells_late_stands_where_it_belongs(run: LiveRun, watch: Following) -> None:
    settled(watch)
    run.frames.event("unlink", "/w/second", result=0, at=9000)
    run.frames.event("unlink", "/w/first", result=0, at=8000)
    run.write_frames(features=wire.FEATURES["ebpf"])
    assert words(settled(watch)) == ["deleted /w/first", "deleted /w/second"]


def test_a_run_that_is_sealed_between_two_looks_is_told_to_its_end(run: LiveRun, watch: Following) -> None:
    settled(watch)
    run.saw("unlink", "/w/last")
    run.finish()
    step = watch.look(MANY)
    assert step.ended is RunState.SEALED
    assert words(step.happenings) == ["deleted /w/last", "command finished with 0", "recording ended with 0"]


def test_a_recorder_that_is_gone_is_noticed_and_not_at_its_first_pause(
    run: LiveRun, watch: Following
) -> None:
    run.let_go()
    assert watch.look(MANY).ended is None
    ends = [watch.look(MANY).ended for _ in range(10)]
    assert ends[-1] is RunState.UNSEALED


def test_a_command_that_outlives_its_recorder_is_followed_and_that_is_said_once(
    run: LiveRun, watch: Following
) -> None:
    settled(watch)
    with run.outlived():
        steps = [watch.look(MANY) for _ in range(10)]
    said = [one for step in steps for one in step.happenings if one.word == "recorder is gone:"]
    assert len(said) == 1
    assert said[0].bad
    assert f"`steno recover {run.path.name}` seals it" in said[0].subject
    assert {step.ended for step in steps} == {None}


def test_a_run_that_is_removed_ends(run: LiveRun, watch: Following) -> None:
    settled(watch)
    shutil.rmtree(run.path)
    assert watch.look(MANY).ended is RunState.DAMAGED


def test_a_folder_where_nothing_is_written_yet_is_waited_for(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / layout.SPOOL).mkdir(parents=True)
    with Folder(run) as folder, following(folder, tmp_path) as watch:
        assert watch.look(MANY) == Step([])


def test_a_key_that_cannot_be_used_is_said_and_the_rest_is_told(run: LiveRun, watch: Following) -> None:
    (run.store / KEY_IN_STORE).write_bytes(b"short")
    assert words(settled(watch)) == ["run started sh -c 'echo one two'"]
    assert "5 bytes" in (watch.why_no_kernel or "")


def test_a_torn_or_foreign_event_is_passed_over(run: LiveRun, watch: Following) -> None:
    settled(watch)
    with (run.path / layout.SPOOL / layout.EVENTS).open("ab") as file:
        file.write(b'{"half":\n')
    run.event(kinds.CommandStarted(pid=7))
    assert words(settled(watch)) == ["command started pid 7"]


def test_following_changes_nothing_and_leaves_nothing_open(run: LiveRun) -> None:
    def state() -> dict[str, Any]:
        return {
            str(path): (path.lstat().st_mtime_ns, path.lstat().st_size)
            for path in sorted(run.store.rglob("*"))
        }

    gc.collect()  # what other tests have left is not closed meanwhile
    before, files = state(), len(os.listdir("/proc/self/fd"))
    with Folder(run.path) as folder, following(folder, run.store) as watch:
        settled(watch)
    assert state() == before
    assert len(os.listdir("/proc/self/fd")) == files
