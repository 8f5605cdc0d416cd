"""Real programs do under Steno what they do alone: same exit code, same output, same files left behind.

Each piece of work runs twice in the same place, bare and recorded: by root, for whom both witnesses watch
where they can, and by an ordinary user, for whom it is the filter alone. A probe alone stops nothing, so that
a part of the work is enough for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steno.evidence import wire
from support import machine
from support.observers import STOPPING, observers, working
from support.ordinary import Somebody, as_the_user, give_to_the_user, place_of_the_user
from support.program import SECONDS, Steno
from support.recorded import Recorded, only_run
from support.screen import Screen
from support.tracees import rows

SCRIPTS = sorted((Path(__file__).parent.parent / "workloads").glob("*.sh"))
WORK = [script for script in SCRIPTS if script.read_text().startswith("# needs: ")]
FOR_A_PROBE_ALONE = {"background", "bubblewrap", "copies", "errors", "gdb", "git", "namespaces", "signals"}
WITH_MOUNTS_OF_ITS_OWN = {"bubblewrap", "namespaces"}


@pytest.fixture(params=["root", "ordinary"])
def somebody(request: pytest.FixtureRequest) -> Iterator[Somebody]:
    if request.param == "root" and os.getuid() != 0:
        pytest.skip("the tests are not run by root")
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        yield Somebody(base, as_the_user(base / "stash") if request.param == "ordinary" else [])


@pytest.mark.parametrize("workload", WORK, ids=lambda path: path.stem)
def test_work_is_the_same_with_and_without_steno_and_two_witnesses_agree(
    somebody: Somebody, workload: Path
) -> None:
    _is_the_same(somebody, workload, somebody.recorded)


@pytest.mark.skipif("ebpf" not in working(), reason="no probe here; `steno doctor` says why")
@pytest.mark.parametrize(
    "workload", [path for path in WORK if path.stem in FOR_A_PROBE_ALONE], ids=lambda path: path.stem
)
def test_work_is_the_same_before_a_probe_alone(workload: Path) -> None:
    with place_of_the_user() as base:
        root = Somebody(base, [])
        recorded = [*root.recorded[:-1], "--observer", "ebpf", "--"]
        if workload.stem in WITH_MOUNTS_OF_ITS_OWN:
            _is_the_same_or_has_a_gap(root, workload.read_text(), recorded)
        else:
            _is_the_same(root, workload, recorded)


def _is_the_same_or_has_a_gap(somebody: Somebody, script: str, recorded: list[str]) -> None:
    """What is gone again cannot be held against ours: a probe alone comes too late, and says so."""
    bare = somebody.work(script)
    code, out, _, left = somebody.work(script, *recorded)
    assert (code, out, left) == (bare[0], bare[1], bare[3])
    assert set(somebody.run().verdict().gaps) <= {"changes_unresolved"}


def _two_witnesses_agree(run: Recorded, health: dict[str, Any]) -> None:
    assert health["steno"]["witness_disagreements"] == {"count": 0, "listed": []}
    assert not machine.a_cgroup_can_be_made() or health["cgroup_correlation"] == "clean"
    changes = [row for row in rows(run) if row.op in {"unlink", "mkdir", "rename"}]
    assert all(row.notes & wire.NOTES["confirmed"] and row.result is not None for row in changes)


def _is_the_same(somebody: Somebody, workload: Path, recorded: list[str]) -> None:
    script = workload.read_text()
    for program in script.splitlines()[0].removeprefix("# needs: ").split():
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program} here")
    bare = somebody.work(script)
    assert somebody.work(script, *recorded) == bare
    run = somebody.run()
    assert run.is_valid
    health = run.json("observation-health.json")
    assert (health["kernel_layer"], health["ringbuf_drops"]) == ("complete", 0)
    assert len(rows(run)) > 10
    if health["steno"]["observer"] == "both":
        _two_witnesses_agree(run, health)


def test_a_set_user_id_program_runs_without_its_privilege_and_the_user_is_told_once() -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a set-user-id program of root")
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        user = Somebody(base, as_the_user(base / "stash"))
        program = base / "whoami"
        shutil.copy(shutil.which("id") or "/usr/bin/id", program)
        script = f"{program} -u; {program} -u; echo end"
        for words in ([], user.recorded):
            place = base / "work"
            place.mkdir()
            give_to_the_user(base)
            os.chown(program, 0, 0)
            program.chmod(0o4755)
            done = subprocess.run(
                [*as_the_user(base / "stash"), *words, "sh", "-c", script],
                capture_output=True,
                cwd=place,
                env=user.env,
                timeout=SECONDS,
                check=False,
                text=True,
            )
            shutil.rmtree(place)
            if not words:
                assert done.stdout == "0\n0\nend\n"
        assert done.stdout == "65534\n65534\nend\n"
        assert done.stderr.count("steno:") == 1
        assert "set-user-id" in done.stderr or "setuid" in done.stderr
        executed = [row for row in rows(user.run()) if row.op == "exec" and row.where == str(program)]
        assert [bool(row.notes & wire.NOTES["privilege_lost"]) for row in executed] == [True, True]


@pytest.mark.parametrize("observer", observers())
def test_job_control_works_inside_a_recorded_shell(
    clean_env: dict[str, str], tmp_path: Path, store: Path, observer: str
) -> None:
    inner = "env PS1='INNER> ' bash --norc --noprofile -i"
    screen = Screen.of_shell(
        f"steno run --no-git --observer {observer} -- {inner}; echo rc=$?", clean_env, tmp_path
    )
    screen.see("INNER> ")
    screen.line("sh -c 'echo go$((1+1))ing; exec sleep 100'")
    screen.see("go2ing")
    screen.keys("\x1a")
    screen.see("Stopped")
    screen.see("INNER> ")
    screen.line("jobs")
    screen.see("Stopped")
    screen.see("INNER> ")
    screen.line("bg; kill %1; wait; echo waited=$?")
    screen.see("waited=")
    screen.see("INNER> ")
    screen.line("sh -c 'echo go$((1+2))ing; exec sleep 100' | cat")
    screen.see("go3ing")
    screen.keys("\x03")
    screen.see("INNER> ")
    screen.line("exit 6")
    screen.see("rc=6")
    screen.rest()
    assert only_run(store).is_valid


@pytest.mark.parametrize("observer", observers(STOPPING))
def test_what_is_kept_before_a_change_is_not_read_in_the_name_of_the_command(
    steno: Steno, store: Path, tmp_path: Path, observer: str
) -> None:
    """The time of the last access stays, of a file that is written over and of a script."""
    kept, script = tmp_path / "kept", tmp_path / "script"
    kept.write_text("before\n")
    script.write_text('#!/bin/sh\necho after >>"$1"\n')
    script.chmod(0o755)
    for one in (kept, script):
        os.utime(one, (1_000_000_000, 1_000_000_000))
    bare = tmp_path / "bare"
    shutil.copy2(script, bare)
    subprocess.run([bare, tmp_path / "other"], check=True, timeout=SECONDS)
    steno("run", "--no-git", "--observer", observer, "--", script, kept)
    (told,) = [one for one in only_run(store).json("files.json")["files"] if one["path"] == str(kept)]
    assert "blob" in told["before"]
    assert kept.stat().st_atime == 1_000_000_000
    assert (script.stat().st_atime == 1_000_000_000) == (bare.stat().st_atime == 1_000_000_000)
