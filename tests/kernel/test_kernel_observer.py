"""Commands that are hostile to their observer: floods, hidden processes, a record attacked from inside."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from steno.bundle.verify import Status
from steno.evidence import wire
from support.cases import cases
from support.observers import STOPPING, observers
from support.ordinary import Somebody, as_the_user, place_of_the_user, root_may_mount
from support.program import PROGRAM, Steno
from support.recorded import Recorded, only_run, runs
from support.tracee_batches import Batch, do_batch
from support.tracees import Row, built, cases_of, compare, exits, furnish, rows

# Cases of the tracees in which a user's privileges make a difference.
AS_A_USER = {
    "processes": [case for case in cases_of("processes") if case != "a_process_that_stays"],
    "system": [case for case in cases_of("system") if case not in {"a_ring", "an_own_listener"}],
    "looking": ["openat_relative_to_a_descriptor"],
    "changing": ["change_relative_to_a_descriptor", "link_an_unnamed_file"],
    "network": ["accept_old"],
    "thirtytwo": ["look", "processes"],
}


@pytest.fixture
def room(tmp_path: Path) -> Path:
    return furnish(tmp_path / "room")


@pytest.fixture
def user() -> Iterator[Somebody]:
    with place_of_the_user() as base:
        (base / "stash").mkdir()
        yield Somebody(base, as_the_user(base / "stash"))


def _traced(steno: Steno, store: Path, room: Path, observer: str, case: str) -> tuple[str, Recorded]:
    done = steno("run", "--no-git", "--observer", observer, "--", built()["lessons"], case, room)
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith(b"skip "):
        pytest.skip(done.stdout.decode())
    return done.stdout.decode(), only_run(store)


def _opened(run: Recorded, name: str) -> list[Row]:
    return [row for row in rows(run) if row.op == "open" and row.where.endswith(name)]


# --- as an ordinary user ------------------------------------------------------------------------------------


def _as_user(user: Somebody, family: str, case: str) -> tuple[str, str, Recorded]:
    """What the case says alone and recorded, done by an ordinary user, and the record."""
    place = furnish(user.base / "room")
    command = [str(built()[family]), case, str(place)]
    bare = user.do(command)
    shutil.rmtree(place)
    furnish(user.base / "room")
    recorded = user.do([*user.recorded, *command])
    assert recorded[0] == bare[0]
    assert [line for line in recorded[2].splitlines() if b"the record has a gap" not in line] == (
        bare[2].splitlines()
    )
    if recorded[1].startswith(b"skip ") or b"\nskip " in recorded[1]:
        pytest.skip(recorded[1].decode())
    return bare[1].decode(), recorded[1].decode(), user.run()


@pytest.mark.parametrize("family", AS_A_USER)
def test_the_record_is_as_true_for_an_ordinary_user(user: Somebody, family: str) -> None:
    made = Batch(do_batch(user.base, family, AS_A_USER[family], user.do, *user.recorded), user.store)
    with cases() as case:
        for name in AS_A_USER[family]:
            with case(name):
                made.compare(name)


def test_a_process_that_may_not_be_read_goes_on_and_its_paths_are_unknown(user: Somebody) -> None:
    bare, output, run = _as_user(user, "lessons", "not_dumpable")
    assert output == bare
    hidden = [row for row in rows(run) if row.notes & wire.NOTES["no_access"]]
    assert {"open", "rename", "mkdir"} <= {row.op for row in hidden}
    assert all(row.where == "?" for row in hidden)
    assert run.event("kernel_observed")["unreadable"] >= 3
    assert run.json("observation-health.json")["kernel_layer"] == "partial_ringbuf_drops"
    assert "kernel_calls_unreadable" in run.verdict().gaps


def test_a_fork_bomb_meets_the_users_limit_and_nothing_else(user: Somebody) -> None:
    bare, output, run = _as_user(user, "lessons", "a_fork_bomb")
    assert output == bare == "limited\n"
    forks = [row for row in rows(run) if row.op == "fork"]
    assert len(forks) >= 500
    assert run.verdict().status in {Status.VALID, Status.INCOMPLETE}


# --- floods -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("observer", observers())
def test_a_flood_of_calls_loses_none(steno: Steno, store: Path, room: Path, observer: str) -> None:
    output, run = _traced(steno, store, room, observer, "a_flood_from_eight_threads")
    compare(output, run, room)
    observed = run.event("kernel_observed")
    assert (observed["lost_events"], observed.get("ring_lost", 0), observed["closed"]) == (0, 0, True)


@pytest.mark.parametrize("observer", observers())
def test_two_megabytes_of_arguments_are_cut_and_the_cut_is_told(
    steno: Steno, store: Path, room: Path, observer: str
) -> None:
    _, run = _traced(steno, store, room, observer, "two_megabytes_of_arguments")
    execs = [one for process in run.json("processes.json")["processes"] for one in process["execs"]]
    (found,) = [one for one in execs if one["path"] == str(room / "program")]
    assert (found["argc"], found["argv_cut"]) == (16, True)
    assert sum(map(len, found["argv"])) < 2_000_000
    # A probe takes less along, and half an argument could be half a secret.
    assert found["argv"] == [] if observer == "ebpf" else found["argv"][0].startswith("aaaa")


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("case", ["a_hundred_thousand_threads", "twenty_thousand_processes"])
def test_very_many_threads_or_processes_are_recorded(
    clean_env: dict[str, str], store: Path, room: Path, case: str
) -> None:
    done = subprocess.run(
        [PROGRAM, "run", "--no-git", "--", built()["lessons"], case, room],
        capture_output=True,
        env=clean_env,
        timeout=1700,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    run = only_run(store)
    if done.stdout.startswith(b"skip "):
        pytest.skip(done.stdout.decode())
    compare(done.stdout.decode(), run, room)
    assert run.is_valid
    if case == "twenty_thousand_processes":
        assert exits(rows(run))["exit 0"] == 20_001


# --- files that do not hold still ---------------------------------------------------------------------------


@pytest.mark.parametrize("observer", observers(STOPPING))
def test_a_file_that_grows_while_it_is_kept_ends_nevertheless(
    steno: Steno, store: Path, room: Path, observer: str
) -> None:
    _, run = _traced(steno, store, room, observer, "a_file_that_grows")
    assert _opened(run, "/file")
    assert run.verdict().status in {Status.VALID, Status.INCOMPLETE}


@pytest.mark.parametrize("observer", observers(STOPPING))
def test_a_huge_sparse_file_is_not_copied(steno: Steno, store: Path, room: Path, observer: str) -> None:
    output, run = _traced(steno, store, room, observer, "a_sparse_file_of_ten_gigabytes")
    compare(output, run, room)
    (removed,) = [row for row in rows(run) if row.op == "unlink"]
    assert (removed.size, removed.content) == (10 << 30, "too_large")
    assert sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file()) < 50_000_000


@pytest.mark.parametrize("observer", observers())
def test_a_directory_that_is_sometimes_a_link_is_resolved_to_either(
    steno: Steno, store: Path, room: Path, observer: str
) -> None:
    _, run = _traced(steno, store, room, observer, "a_directory_swapped_for_a_link")
    opened = _opened(run, "/inner")
    assert len(opened) == 300
    assert {row.where for row in opened} <= {str(room / "dir/inner"), str(room / "swap/inner")}


@pytest.mark.parametrize("observer", observers())
def test_a_fifo_a_socket_and_a_device_are_looked_at_and_never_opened(
    steno: Steno, store: Path, room: Path, observer: str
) -> None:
    script = "rm fifo; mkfifo f; chmod 600 f; mv f g; cp -a g h; ls -la /dev/null /dev/tty"
    done = steno("run", "--no-git", "--observer", observer, "--cwd", room, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert only_run(store).is_valid


# --- the record attacked from inside ------------------------------------------------------------------------


@pytest.mark.parametrize("observer", observers())
@pytest.mark.parametrize(
    "attack",
    [
        "rm -rf $STENO_HOME",
        "rm -rf $STENO_HOME/*/spool/kernel",
        "rm -f $STENO_HOME/*/spool/kernel/*",
        "true > $(echo $STENO_HOME/*/spool/kernel/events.bin)",
        "for f in $STENO_HOME/*/spool/kernel/*; do echo garbage > $f; done",
        "for f in $STENO_HOME/*/spool/kernel/*; do ln -sf /etc/passwd $f; done",
        "mv $STENO_HOME/*/spool/kernel $HOME/taken",
    ],
)
def test_a_command_that_attacks_its_own_record_never_gets_a_valid_one(
    steno: Steno, store: Path, attack: str, observer: str
) -> None:
    script = f"{attack}; cat /etc/hostname; true"
    done = steno("run", "--no-git", "--observer", observer, "--", "sh", "-c", script)
    valid = [run for run in runs(store) if run.verdict().status == Status.VALID]
    assert not valid or b"steno:" in done.stderr
    for run in valid:
        assert _opened(run, "/etc/hostname"), "what came after the attack is not in a record called valid"


# --- a poor machine -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("observer", observers())
def test_sixty_four_descriptors_are_enough(
    clean_env: dict[str, str], store: Path, room: Path, observer: str
) -> None:
    recorded = f"{PROGRAM} run --no-git --observer {observer} -- {built()['lessons']} few_descriptors {room}"
    script = f"ulimit -n 64; exec {recorded}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, env=clean_env, timeout=60, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    compare(done.stdout, only_run(store), room)


@root_may_mount
def test_without_proc_the_user_is_told_what_is_missing(clean_env: dict[str, str], store: Path) -> None:
    script = f"mount -t tmpfs none /proc && exec {PROGRAM} run --no-git -- true"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        capture_output=True,
        env=clean_env,
        timeout=60,
        check=False,
        text=True,
    )
    assert "Traceback" not in done.stderr
    assert "/proc" in done.stderr
    assert "hint:" in done.stderr
    assert (
        done.returncode == 125 or only_run(store).json("observation-health.json")["kernel_layer"] == "absent"
    )


@pytest.mark.parametrize("observer", observers())
def test_another_clock_in_the_command_does_not_reach_the_record(
    steno: Steno, store: Path, observer: str
) -> None:
    shift = ["unshare", "--user", "--time", "--monotonic", "1000000", "--fork"]
    if subprocess.run([*shift, "true"], check=False, capture_output=True, timeout=60).returncode:
        pytest.skip("a clock of its own is not allowed here; the machine's own clock is not ours to change")
    done = steno("run", "--no-git", "--observer", observer, "--", *shift, "cat", "/etc/hostname")
    assert done.returncode == 0, done.stderr
    run = only_run(store)
    times = [row.mono_ns for row in rows(run)]
    assert max(times) - min(times) < 1_000_000 * 10**9
    assert run.is_valid
