"""The commands that read: list, show, play, verify, recover, export, pack, doctor, on real recordings."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest

from steno.evidence import kinds, layout
from support.making import RUN_ID, make_run, start
from support.observers import PROBING, strongest
from support.program import PROGRAM, Steno
from support.recorded import Recorded, only_run, spooled
from support.waiting import until

RESET = b"\x1b[0m\x1b[?25h"


@pytest.fixture
def recorded(steno: Steno, store: Path, repo: Path) -> Path:
    """A recording of a command that writes on both streams and changes a file."""
    done = steno(
        "run", "--name", "demo", "--", "sh", "-c", "echo out; echo err >&2; echo 4 >> kept.txt", cwd=repo
    )
    assert done.returncode == 0
    return only_run(store).path


def on_terminal(*words: str, env: dict[str, str]) -> pexpect.spawn[bytes]:
    env = {**env, "STENO_PAGER": ""}  # what pagers do is tested in test_paging.py
    return pexpect.spawn(str(PROGRAM), list(words), env=env, dimensions=(24, 100), timeout=60)


def output_of(child: pexpect.spawn[bytes]) -> bytes:
    child.expect(pexpect.EOF)
    child.close()
    assert isinstance(child.before, bytes)
    return child.before


def one_document(data: bytes) -> Any:
    """One line, and no other way to write the same data."""
    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    return json.loads(data)


# --- list -----------------------------------------------------------------------------------------------


def test_an_empty_store_prints_nothing_and_a_friendly_message(steno: Steno, store: Path) -> None:
    done = steno("list")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"no runs in" in done.stderr
    assert b"hint: record one with `steno run -- COMMAND`" in done.stderr
    assert one_document(steno("list", "--json").stdout) == {"store": str(store), "runs": []}


def test_the_list_has_every_run_also_damaged_ones(steno: Steno, store: Path, recorded: Path) -> None:
    (store / RUN_ID).mkdir()
    make_run(store, start("sleep", "9"), run_id=RUN_ID.replace("12-00", "13-00"), sealed=False)
    done = steno("list")
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["sealed", "unsealed", "damaged"]
    assert lines[1].startswith(recorded.name)
    found = one_document(steno("list", "--json", "--limit", "1").stdout)
    assert [run["name"] for run in found["runs"]] == ["demo"]


# --- show -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["id", "prefix", "path", "@last", "packed"])
def test_a_run_is_shown_by_any_of_its_names(steno: Steno, recorded: Path, tmp_path: Path, how: str) -> None:
    packed = tmp_path / "run.tar.gz"
    assert steno("pack", "@last", "-o", packed).returncode == 0
    word = {
        "id": recorded.name,
        "prefix": recorded.name[:20],
        "path": str(recorded),
        "@last": "@last",
        "packed": str(packed),
    }[how]
    done = steno("show", word)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    for expected in (
        "sealed, complete",
        "named demo",
        "M kept.txt  +1 -0",
        "exit code 0",
        "4 B stdout, 4 B stderr",
    ):
        assert expected in text
    assert str(packed if how == "packed" else recorded) in text


def test_show_as_data_is_complete(steno: Steno, recorded: Path) -> None:
    found, run = one_document(steno("show", "@last", "--json").stdout), Recorded(recorded)
    assert found["run"] == run.json(layout.RUN)
    assert found["health"] == run.json(layout.HEALTH)
    assert found["redactions"] == run.json(layout.REDACTION_REPORT)
    assert found["repo"]["changes"] == run.json(layout.CHANGES)
    assert found["completeness"]["complete"] is True
    assert (found["state"], found["path"]) == ("sealed", str(recorded))


def test_colour_is_for_terminals_and_not_against_the_users_wish(
    recorded: Path, clean_env: dict[str, str]
) -> None:
    assert b"\x1b[32m" in output_of(on_terminal("show", "@last", env=clean_env))
    assert b"\x1b" not in output_of(on_terminal("show", "@last", env={**clean_env, "NO_COLOR": "1"}))


def test_hostile_names_reach_a_terminal_as_text(steno: Steno, store: Path, clean_env: dict[str, str]) -> None:
    evil = "a\x1b]0;owned\x07b\u009b2J"
    assert steno("run", "--no-git", "--name", evil, "--", "true", "\x1b[2J").returncode == 0
    env = {**clean_env, "NO_COLOR": "1"}
    for words in (["list"], ["show", "@last"], ["show", "@last", "--json"], ["list", "--json"]):
        shown = output_of(on_terminal(*words, env=env))
        assert not {0x1B, 0x07} & set(shown)
        assert "\u009b" not in shown.decode()


# --- play -----------------------------------------------------------------------------------------------


def test_play_gives_the_output_again(steno: Steno, recorded: Path) -> None:
    assert steno("play", "@last").stdout == b"out\nerr\n"


def test_play_as_data_is_one_line_a_moment(steno: Steno, recorded: Path) -> None:
    moments = [json.loads(line) for line in steno("play", "@last", "--json").stdout.splitlines()]
    assert [(moment["code"], moment["text"]) for moment in moments] == [("o", "out\n"), ("e", "err\n")]


def test_play_on_a_terminal_resets_it_at_the_end(recorded: Path, clean_env: dict[str, str]) -> None:
    shown = output_of(on_terminal("play", "@last", env=clean_env))
    assert shown.index(b"err") < shown.index(RESET)


def test_control_c_stops_the_play_and_resets_the_terminal(store: Path, clean_env: dict[str, str]) -> None:
    day = 86400 * 10**9
    make_run(store, tapes=[(layout.STDOUT, 1, b"first"), (layout.STDOUT, day, b"second")])
    child = on_terminal("play", "@last", env=clean_env)
    child.expect_exact(b"first")
    child.sendintr()
    rest = output_of(child)
    assert RESET in rest
    assert b"second" not in rest
    assert b"Traceback" not in rest
    assert child.exitstatus == 130


def test_a_spool_can_be_played_up_to_its_end(steno: Steno, store: Path) -> None:
    make_run(store, start(), tapes=[(layout.STDOUT, 1, b"so far")], sealed=False)
    assert steno("play", "@last").stdout == b"so far"


# --- verify ---------------------------------------------------------------------------------------------


def test_a_valid_run_and_its_packed_form(steno: Steno, recorded: Path, tmp_path: Path) -> None:
    steno("pack", "@last", "-o", tmp_path / "run.tar.gz")
    done = steno("verify", "@last", tmp_path / "run.tar.gz")
    assert done.returncode == 0
    assert done.stdout.count(b"valid  ") == 2


def test_a_changed_byte_is_found_with_the_step_that_found_it(steno: Steno, recorded: Path) -> None:
    stream = recorded / layout.STDOUT
    stream.write_bytes(stream.read_bytes().replace(b"o", b"0"))
    done = steno("verify", "@last")
    assert done.returncode == 1
    assert b"invalid" in done.stdout
    assert b"step 4 failed" in done.stdout
    assert b"terminal/stdout" in done.stdout
    found = one_document(steno("verify", "@last", "--json").stdout)
    assert (found["exit_code"], found["verdicts"][0]["status"]) == (1, "invalid")


def test_an_incomplete_run_says_what_is_missing(steno: Steno, store: Path) -> None:
    make_run(store, start(), kinds.Gap("stream_lost", "disk full"), kinds.RunFinish(0, completed=True))
    done = steno("verify", "@last")
    assert done.returncode == 3
    assert b"gap: stream_lost" in done.stdout


def garbage(path: Path) -> None:
    path.write_bytes(os.urandom(1000))


def cut_gzip(path: Path) -> None:
    path.write_bytes(b"\x1f\x8b\x08")


def links(path: Path) -> None:
    path.mkdir()
    for name in (layout.MANIFEST, layout.EVIDENCE):
        (path / name).symlink_to("/dev/zero")


def loop(path: Path) -> None:
    path.symlink_to(path)


def dangling(path: Path) -> None:
    path.symlink_to(path / "none")


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


THINGS = [garbage, cut_gzip, links, loop, dangling, device, Path.touch, Path.mkdir, os.mkfifo]


@pytest.mark.parametrize("make", THINGS, ids=lambda make: make.__name__)
def test_anything_at_all_ends_with_a_verdict(
    steno: Steno, tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "thing")
    done = steno("verify", tmp_path / "thing")
    assert (done.returncode, done.stderr) == (4, b"")
    assert b"step 1 failed" in done.stdout


def test_an_unsealed_run_is_incomplete(steno: Steno, store: Path) -> None:
    make_run(store, start(), sealed=False)
    done = steno("verify", "@last")
    assert done.returncode == 3
    assert b"`steno recover` seals what was spooled" in done.stdout


def test_one_bad_run_does_not_hide_the_others(steno: Steno, recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "garbage").write_bytes(b"garbage")
    done = steno("verify", tmp_path / "garbage", "@last")
    assert done.returncode == 4
    assert b"unreadable" in done.stdout
    assert b"valid  " + recorded.name.encode() in done.stdout


# --- recover --------------------------------------------------------------------------------------------


def test_a_run_whose_recorder_is_killed_is_recovered(
    steno: Steno, store: Path, repo: Path, clean_env: dict[str, str]
) -> None:
    words: list[str | Path] = [PROGRAM, "run", "--", "sh", "-c", "echo ready; exec sleep 60"]
    with subprocess.Popen(
        words, cwd=repo, env=clean_env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as recorder:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == b"ready\n"
        until(lambda: b'"command_started"' in spooled(store))
        try:
            assert b"running" in steno("list").stdout
            assert b"RUNNING" in steno("show", "@last").stdout
            assert steno("recover", "@last").returncode == 2
        finally:
            recorder.kill()
    events = only_run(store).path / layout.SPOOL / layout.EVENTS
    found = {event["type"]: event["data"] for event in map(json.loads, events.read_bytes().splitlines())}
    os.kill(found["command_started"]["pid"], signal.SIGKILL)
    until(lambda: b"unsealed" in steno("list").stdout)
    done = steno("recover", "--all", "--json")
    assert done.returncode == 0, done.stderr
    (report,) = of_this_store(done.stdout)
    assert (report["done"], "recorder_killed" in report["gaps"]) == ("recovered", True)
    assert not [path for path in found["run_start"]["scratch"] if Path(path).exists()]
    assert steno("verify", "@last").returncode == 3
    again = steno("recover", "@last")
    assert (again.returncode, b"sealed already" in again.stdout) == (0, True)


def of_this_store(output: bytes) -> list[dict[str, Any]]:
    """Without what recorders that other tests have killed left in memory, which all stores share."""
    found = one_document(output)["runs"]
    return [report for report in found if not report["run"].startswith("/dev/shm/")]


def test_nothing_to_recover_is_fine(steno: Steno, recorded: Path) -> None:
    done = steno("recover", "--all", "--json")
    assert (done.returncode, of_this_store(done.stdout)) == (0, [])
    until(lambda: b"nothing to recover" in steno("recover", "--all").stderr)


# --- export and pack ------------------------------------------------------------------------------------


def test_a_forged_run_is_neither_exported_nor_packed(steno: Steno, recorded: Path, tmp_path: Path) -> None:
    (recorded / layout.STDOUT).write_bytes(b"OUT\n")
    for words in (["export", "@last", "--as", "capture-run"], ["pack", "@last"]):
        done = steno(*words, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"hint: `steno verify" in done.stderr
    assert not (tmp_path / "artifacts").exists()


def test_names_in_a_forged_bundle_cannot_reach_the_terminal(
    steno: Steno, recorded: Path, tmp_path: Path
) -> None:
    (recorded / "\x1b[2Jowned").write_bytes(b"")
    for words in (["export", "@last", "--as", "capture-run"], ["pack", "@last"], ["verify", "@last"]):
        done = steno(*words, cwd=tmp_path)
        assert done.returncode == 1
        assert b"\x1b" not in done.stderr + done.stdout
        assert b"\\x1b[2Jowned" in done.stderr + done.stdout


def test_packing_twice_gives_the_same_file(steno: Steno, recorded: Path, tmp_path: Path) -> None:
    first = steno("pack", "@last", cwd=tmp_path)
    packed = tmp_path / f"{recorded.name}.tar.gz"
    assert first.stdout.decode().strip() == str(packed)
    before = packed.read_bytes()
    assert steno("pack", "@last", cwd=tmp_path).returncode == 0
    assert steno("pack", "@last", "-o", "-").stdout == before
    assert steno("pack", packed, "-o", "-").stdout == before
    assert packed.read_bytes() == before
    packed.write_bytes(b"mine")
    assert steno("pack", "@last", cwd=tmp_path).returncode == 2
    assert packed.read_bytes() == b"mine"


def test_export_prints_where_it_wrote(steno: Steno, recorded: Path, tmp_path: Path) -> None:
    done = steno("export", "@last", "--as", "capture-run", "--json", cwd=tmp_path)
    found = one_document(done.stdout)
    assert found["path"] == str(tmp_path / "artifacts" / "capture_run" / recorded.name)
    assert Path(found["path"]).is_dir()


def test_places_whose_names_are_not_utf8_are_no_trouble(steno: Steno, recorded: Path, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(bytes(tmp_path) + b"/odd\xff"))
    done = steno("export", "@last", "--as", "capture-run", "-o", odd)
    assert Path(os.fsdecode(done.stdout.removesuffix(b"\n"))).is_dir()
    recorded.parent.rename(odd / "runs")
    for words in (["list"], ["show", "@last"], ["verify", odd / "runs" / recorded.name], ["doctor"]):
        found = steno(*words, "--json", env={"STENO_HOME": str(odd / "runs")})
        assert found.returncode == 0, found.stderr
        one_document(found.stdout)


def test_an_unsealed_run_is_not_exported_and_the_hint_says_recover(steno: Steno, store: Path) -> None:
    make_run(store, start(), sealed=False)
    for words in (["export", "@last", "--as", "capture-run"], ["pack", "@last"]):
        done = steno(*words)
        assert done.returncode == 2
        assert b"hint: `steno recover" in done.stderr


# --- doctor, and pipes that close -----------------------------------------------------------------------


def test_the_doctor_finds_that_recording_works(steno: Steno, store: Path) -> None:
    done = steno("doctor")
    assert done.returncode == 0
    assert b"kernel" in done.stdout
    found = one_document(steno("doctor", "--json").stdout)
    assert found["recording_works"] is True
    assert not store.exists()


def test_the_doctor_names_a_store_that_cannot_be_used(steno: Steno, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    done = steno("doctor", "--store", tmp_path / "file")
    assert done.returncode == 1
    assert b"missing" in done.stdout


def test_a_reader_that_goes_away_is_no_success_and_nothing_to_tell(
    clean_env: dict[str, str], store: Path
) -> None:
    make_run(store)
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [PROGRAM, "list"], env=clean_env, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (128 + 13, b"")


def test_a_full_disk_behind_stdout_is_told(clean_env: dict[str, str], store: Path) -> None:
    make_run(store)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [PROGRAM, "list"], env=clean_env, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 125
    assert b"No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


def test_runs_are_found_whatever_lies_around(steno: Steno, store: Path, tmp_path: Path) -> None:
    steno("run", "--no-git", "--name", "nightly", "--", "sh", "-c", f"true {'x' * 200}")
    (tmp_path / "@last").write_text("")
    assert steno("show", "@last", cwd=tmp_path).returncode == 0
    assert steno("show", "nightly").returncode == 0
    listed = steno("list", "--limit", "0").stdout.decode()
    assert "x" * 200 in listed
    for words in (("list",), ("show", "@last"), ("serve",)):
        done = steno(*words, "--store", tmp_path / "nowhere")
        assert (done.returncode, b"there is no store at" in done.stderr) == (125, True), words


# Error numbers and signals as another system has them.
FOREIGN = """
import enum, errno, os, signal, sys
errno.errorcode = {number + 1000: name for number, name in errno.errorcode.items()}
signal.Signals = enum.IntEnum("Signals", {"SIGFOO": 9, "SIGBAR": 15})
os.strerror = "foreign error {}".format
from steno.cli.entry import main
sys.exit(main())
"""
FAILING = """
import os, signal, socket
for family, name in ((socket.AF_UNIX, "/none"), (socket.AF_INET, ("127.0.0.1", 9))):
    one = socket.socket(family)
    one.connect_ex(name)
os.access("/none", os.R_OK)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_record_reads_the_same_where_errors_and_signals_have_other_numbers(
    steno: Steno, clean_env: dict[str, str]
) -> None:
    assert steno("run", "--", sys.executable, "-S", "-c", FAILING).returncode == 128 + signal.SIGKILL
    told = b""
    for name in ("verify", "show", "tree", "net", "events", "surface"):
        here = steno(name, "@last")
        elsewhere = subprocess.run(
            [sys.executable, "-c", FOREIGN, name, "@last"], capture_output=True, env=clean_env, check=False
        )
        of_both = [(done.returncode, done.stdout, done.stderr) for done in (here, elsewhere)]
        assert of_both[0] == of_both[1], name
        told += here.stdout
    results = (b"ENOENT", b"ECONNREFUSED") if strongest() in PROBING else ()
    assert all(word in told for word in (*results, b"SIGKILL"))
