"""Small programs say what they did, and the kernel layer says the same: no more, no less, in that order."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from steno.evidence import layout, wire
from support.cases import cases
from support.observers import STOPPING, observers
from support.once import Once
from support.program import PROGRAM, SECONDS, Steno
from support.recorded import Recorded, only_run
from support.tracee_batches import Batch, Done, do_batch
from support.tracees import (
    FAMILIES,
    ROOT,
    THEN,
    Row,
    built,
    cases_of,
    compare,
    exercised,
    furnish,
    rows,
)
from support.waiting import until

# Their own tests know what to expect of these.
APART = {
    "a_process_that_stays",
    "a_fork_bomb",
    "a_file_that_grows",
    "a_directory_swapped_for_a_link",
    "a_hundred_thousand_threads",
    "twenty_thousand_processes",
}
# What a probe alone tells otherwise: it stops nothing, so nothing is refused and nothing is kept from before;
# and where links change right after a call, its name is what the call said.
OTHERWISE_UNDER_EBPF = {
    "a_ring": "the ring is made, and what it does is a declared gap",
    "an_own_listener": "the listener is made",
    "mounts": "the ring is made, and what it does is a declared gap",
    "links_that_change": "names are not followed through links that are gone",
}
# Here the command does notice: the answer is ours, and a message says so.
ANSWERED_BY_US = {
    "a_ring": "io_uring 4 = ENOSYS",
    "an_own_listener": "seccomp 1 = EBUSY",
    "mounts": "io_uring 4 = 38",
}
STATIC = ["write_over_a_file", "change_relative_to_a_descriptor", "map_a_file_to_write_it"]
# Where the name of something cannot be learned, the record says so.
DECLARED = {"paths_longer_than_a_path_can_be": ["changes_unresolved"]}
CASES = [
    *[
        (family, case)
        for family in (*FAMILIES, "thirtytwo")
        for case in cases_of(family)
        if case not in APART
    ],
    *[("static", case) for case in STATIC],
]
# Whoever is not root may not look into it, and that is a gap (docs/coverage.md).
CLOSED = set() if os.geteuid() == 0 else {"not_dumpable", "empty_a_file_by_its_handle"}
TOGETHER = {
    family: tuple(
        case
        for of, case in CASES
        if of == family and not {case} & {*CLOSED, *DECLARED, *OTHERWISE_UNDER_EBPF, *ANSWERED_BY_US}
    )
    for family in (*FAMILIES, "thirtytwo", "static")
}
ALONE = [(family, case) for family, case in CASES if case not in TOGETHER.get(family, ())]


class Traced:
    """One case, done under Steno in a fresh room, and what it printed."""

    def __init__(self, steno: Steno, store: Path, room: Path, *options: str) -> None:
        self._steno = steno
        self._store = store
        self._options = options
        self.room = room
        self.output = ""
        self.errors = ""

    def run(self, family: str, case: str) -> Recorded:
        furnish(self.room)
        words: list[str | Path] = ["run", "--no-git", *self._options, "--", built()[family], case, self.room]
        done = self._steno(*words)
        self.output, self.errors = done.stdout.decode(), done.stderr.decode()
        _skip_if_told(self.output)
        assert done.returncode == 0, self.errors
        return only_run(self._store)


@pytest.fixture(params=observers())
def observer(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=observers(STOPPING))
def stopped(request: pytest.FixtureRequest, steno: Steno, store: Path, tmp_path: Path) -> Traced:
    """Under the observers that stop a call before it has an effect."""
    return Traced(steno, store, tmp_path / "room", "--observer", str(request.param))


@pytest.fixture
def traced(steno: Steno, store: Path, tmp_path: Path, observer: str) -> Traced:
    return Traced(steno, store, tmp_path / "room", "--observer", observer)


def _skip_if_told(output: str) -> None:
    for line in output.splitlines():
        if line.startswith("skip "):
            pytest.skip(line.removeprefix("skip "))


def _alone(family: str, case: str, room: Path, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    furnish(room)
    done = subprocess.run(
        [built()[family], case, room],
        capture_output=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
        env=env,
        cwd=room.parent,
    )
    shutil.rmtree(room)
    return done


Batched = Callable[[str], Batch]


def batched_by(once: Once, observer: str) -> Batched:
    """The recording of a family of cases that this observer watched."""

    def recorded(family: str) -> Batch:
        def do(base: Path) -> Done:
            env = {"PATH": os.environ["PATH"], "HOME": str(base), "STENO_HOME": str(base / "runs")}
            recorder = (str(PROGRAM), "run", "--no-git", "--observer", observer, "--")
            execute = partial(
                subprocess.run, capture_output=True, check=True, timeout=SECONDS, env=env, cwd=base
            )
            return do_batch(base, family, TOGETHER[family], execute, *recorder)

        done = once(f"tracees-{observer}-{family}", do)
        return Batch(done, done.base / "runs")

    return recorded


@pytest.fixture
def batched(once: Once, observer: str) -> Batched:
    return batched_by(once, observer)


@pytest.fixture(params=observers(STOPPING))
def stopping(request: pytest.FixtureRequest, once: Once) -> Batched:
    """Under the observers that stop a call before it has an effect."""
    return batched_by(once, str(request.param))


def _of(run: Recorded, op: str) -> list[Row]:
    return [row for row in rows(run) if row.op == op]


@pytest.mark.parametrize("family", TOGETHER)
def test_the_record_of_many_is_what_each_tracee_says_and_none_notices_anything(
    batched: Batched, family: str
) -> None:
    made = batched(family)
    with cases() as case:
        for name in TOGETHER[family]:
            with case(name):
                made.compare(name)
    assert made.gaps == []


@pytest.mark.parametrize(("family", "case"), ALONE)
def test_the_record_is_what_the_tracee_says_and_the_tracee_notices_nothing(
    traced: Traced, clean_env: dict[str, str], observer: str, family: str, case: str
) -> None:
    if case in CLOSED:
        pytest.skip("only root's observer may look into it")
    bare = _alone(family, case, traced.room, clean_env)
    run = traced.run(family, case)
    alone = observer == "ebpf" and case in OTHERWISE_UNDER_EBPF
    if not alone:
        compare(traced.output, run, traced.room)
    if case in ANSWERED_BY_US and not alone:
        assert ANSWERED_BY_US[case] in traced.output.splitlines()
    else:
        assert sorted(traced.output.splitlines()) == sorted(bare.stdout.decode().splitlines())
        assert _without_gaps(traced.errors) == bare.stderr.decode()
    rings = ["io_uring_unobserved"] if alone and "ring" in OTHERWISE_UNDER_EBPF[case] else []
    assert run.verdict().gaps == DECLARED.get(case, rings)


def _without_gaps(errors: str) -> str:
    return "".join(line for line in errors.splitlines(keepends=True) if "the record has a gap" not in line)


def test_every_call_that_is_recorded_has_a_case() -> None:
    recorded = tomllib.loads((ROOT / "native" / "syscalls.toml").read_text())["recorded"]
    told = exercised()
    for machine, made in told.items():
        table = (ROOT / "native" / "numbers" / f"{machine}.tsv").read_text()
        names = {line.split()[1] for line in table.splitlines() if line and not line.startswith("#")}
        rows_of = {name: recorded.get(name) or recorded.get(f"{machine}:{name}") for name in names}
        # open_tree is told by the mount that uses its descriptor; test_forged_intake.py mounts so.
        wanted = {name for name, row in rows_of.items() if row and row.get("serve") != "sys_open_tree"}
        assert len(wanted) > 90
        assert sorted(wanted - made) == [], machine


def test_the_list_of_cases_is_what_the_programs_have() -> None:
    for family in (*FAMILIES, "thirtytwo"):
        listed = subprocess.run(
            [built()[family], "--list"], capture_output=True, text=True, check=True, timeout=60
        )
        assert sorted(line.split("\t")[0] for line in listed.stdout.splitlines()) == sorted(cases_of(family))


# --- states and contents ------------------------------------------------------------------------------------


def test_the_state_at_a_stop_is_the_one_before_the_call(stopping: Batched) -> None:
    made, case = stopping("changing"), "write_over_a_file"
    (opened,) = [row for row in made.rows_that("open", case) if row.where == str(made.room(case) / "file")]
    assert (opened.exists, opened.size, opened.mtime_ns, opened.nlink) == (True, 4, THEN * 10**9, 1)
    assert opened.content == "kept"
    found = made.file(case, "file")
    assert (found["before"]["size"], found["after"]["size"]) == (4, 4)
    assert found["change"] == "modified"
    assert found["before"]["blob"] != found["after"]["blob"]


CHANGES = [
    ("create_a_file", "fresh", "created"),
    ("unlink_old", "file", "deleted"),
    ("truncate_old", "file", "modified"),
    ("chmod_old", "file", "metadata"),
    ("rename_old", "file", "deleted"),
    ("rename_old", "moved", "created"),
    ("rename_over_a_file", "other", "modified"),
    ("map_a_file_to_write_it", "file", "modified"),
    ("link_an_unnamed_file", "named", "created"),
    ("swap_two_names", "file", "modified"),
    ("empty_a_file_by_its_handle", "file", "modified"),
    ("symlink_old", "made", "created"),
    ("mkdir_old", "made", "created"),
    ("rmdir_old", "empty", "deleted"),
    ("stat_old", "file", "none"),
    ("unlink_absent", "absent", "none"),
]


def test_the_change_of_a_file_is_named(stopping: Batched) -> None:
    with cases() as case:
        for name, file, change in CHANGES:
            with case(name):
                made = stopping("looking" if name == "stat_old" else "changing")
                assert made.file(name, file)["change"] == change


def test_a_rename_that_must_not_replace_anything_moves_nothing_onto_what_is_there(stopping: Batched) -> None:
    made, case = stopping("changing"), "rename_over_nothing_only"
    renamed = made.rows_that("rename", case)
    assert [row.result in {-17, wire.RESULT_FAILED} for row in renamed] == [True, False]
    moved = [str(made.room(case) / "moved" / "inner")]
    assert [row.where for row in made.rows_that("moved_to", case)] == moved


def test_an_exchange_with_nothing_is_known_to_have_failed(stopping: Batched) -> None:
    made, case = stopping("changing"), "swap_with_nothing"
    failed = {-2, wire.RESULT_FAILED}
    rows_of_it = [row for op in ("rename", "rename_to") for row in made.rows_that(op, case)]
    assert [row.result in failed for row in rows_of_it] == [True, True]
    renames = made.run.json("files.json")["directory_renames"]
    assert not [one for one in renames if str(made.room(case)) in str(one)]


def test_a_file_that_was_removed_keeps_its_content_in_the_record(stopping: Batched) -> None:
    made = stopping("changing")
    key = made.file("unlink_old", "file")["before"]["blob"]
    table = pq.read_table(made.run.path / layout.BLOBS)
    blobs = dict(zip(table["key"].to_pylist(), table["content"].to_pylist(), strict=True))
    assert blobs[key] == b"old\n"


# --- processes ----------------------------------------------------------------------------------------------


def _processes(run: Recorded) -> list[dict[str, Any]]:
    found = run.json("processes.json")["processes"]
    assert isinstance(found, list)
    return found


def _shape(run: Recorded) -> list[tuple[int, int, str]]:
    return [(one["process"], one["parent"], str(one["exit"])) for one in _processes(run)]


def test_the_words_of_a_program_are_recorded_whole(batched: Batched) -> None:
    (found,) = batched("processes").execs_of("execve_a_program")
    assert (found["argv"], found["argc"], found["argv_cut"]) == (["called so", "an argument", ""], 3, False)


def test_a_script_is_recorded_with_its_interpreter(batched: Batched) -> None:
    (found,) = batched("processes").execs_of("execve_a_script")
    assert os.path.realpath(found["interpreter"]["path"]) == os.path.realpath("/bin/sh")


def test_a_script_whose_interpreter_is_not_there_did_not_run(batched: Batched) -> None:
    made = batched("processes")
    (found,) = made.execs_of("execve_a_script_without_its_interpreter")
    assert found["result"] in {"ENOENT", "failed"}
    assert found["path"] not in made.run.json("capability-surface.json")["steno"]["execs"]["ran"]


def test_a_program_executed_from_a_thread_is_still_the_same_process(traced: Traced) -> None:
    run = traced.run("processes", "execve_from_a_thread")
    assert [one["parent"] for one in _processes(run)] == [0, 1]
    assert [one["exit"] for one in _processes(run)] == [{"code": 0}, {"code": 0}]


def test_an_orphan_keeps_the_parent_that_made_it(traced: Traced) -> None:
    run = traced.run("processes", "double_fork")
    assert [(one["process"], one["parent"]) for one in _processes(run)] == [(1, 0), (2, 1), (3, 2)]
    assert _processes(run)[2]["exit"] == {"code": 8}


def test_a_number_that_is_used_again_is_another_process(traced: Traced) -> None:
    run = traced.run("lessons", "a_number_used_again")
    children = [one for one in _processes(run) if one["parent"] == 1]
    assert len({one["pid"] for one in children}) == 1
    assert len({one["process"] for one in children}) == 3
    assert [one["exit"] for one in children] == [{"code": 40}, {"code": 41}, {"code": 42}]


def test_a_process_that_outlives_the_command_is_told_and_goes_on(traced: Traced) -> None:
    run = traced.run("processes", "a_process_that_stays")
    compare(traced.output, run, traced.room)
    assert run.event("kernel_observed")["outlived"] == 1
    assert [one["outlived"] for one in _processes(run)] == [False, True]
    with (traced.room / "fifo").open("wb"):
        pass
    until((traced.room / "afterwards").exists)
    health = run.json("observation-health.json")
    assert health["kernel_layer"] == "partial_ringbuf_drops"
    assert "processes_outlived" in run.verdict().gaps


# --- what is answered in the kernel's place -----------------------------------------------------------------


def test_a_ring_is_refused_and_recorded(stopped: Traced) -> None:
    run = stopped.run("system", "a_ring")
    (ring,) = _of(run, "io_uring")
    assert ring.notes & wire.NOTES["refused"]


def test_a_ring_can_be_allowed_and_then_the_layer_is_not_whole(
    steno: Steno, store: Path, tmp_path: Path
) -> None:
    allowed = Traced(steno, store, tmp_path / "room", "--allow-io-uring")
    run = allowed.run("system", "a_ring")
    assert "io_uring 4 = 0" in allowed.output.splitlines()
    assert run.json("observation-health.json")["kernel_layer"] == "partial_ringbuf_drops"
    assert "io_uring_unobserved" in run.verdict().gaps


def test_a_second_listener_is_refused_and_the_user_told_what_to_do(stopped: Traced) -> None:
    run = stopped.run("system", "an_own_listener")
    (asked,) = [row for row in _of(run, "seccomp") if row.arg == 1]
    assert asked.result == -16
    assert "--observer" in stopped.errors


# --- the same again -----------------------------------------------------------------------------------------


def test_three_runs_of_the_same_give_the_same_files_and_the_same_tree(
    steno: Steno, home: Path, tmp_path: Path
) -> None:
    files, trees, operations = set(), set(), set()
    for number in range(3):
        store = home / f"store{number}"
        room = furnish(tmp_path / "room")
        command: list[str | Path] = [built()["changing"], "the_same_every_time", room]
        assert steno("run", "--no-git", "--store", store, "--", *command).returncode == 0
        run = only_run(store)
        files.add(run.judged(layout.FILES))
        trees.add(str(_shape(run)))
        operations.add(frozenset(Counter((row.op, row.where) for row in rows(run)).items()))
        shutil.rmtree(room)
    assert (len(files), len(trees), len(operations)) == (1, 1, 1)
