"""`steno tree`, `files`, `net` and `events` as programs: stdout is data, stderr says the rest."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pexpect
import pytest

from support.frames_made import Found
from support.program import PROGRAM, SECONDS, Steno
from support.reading import sealed
from support.run_builder import WRITING, Content, RunBuilder

SECRET = b"password=correct-horse-battery-staple\n"
A_SECOND = {"at": 0, "until": 1_000_000_000}


@pytest.fixture
def run(store: Path) -> Path:
    builder = (
        RunBuilder("make", "all")
        .process("make", "all", **A_SECOND)
        .process("cc", "a\x1b[2J.c", parent=1, code=1, **A_SECOND)
        .read("/w/a.c")
        .call("open", b"/w/caf\xe9", state=b"x", result=0)
        .wrote("/w/a.o", b"o\xff\n")
        .connected("inet:1.2.3.4:80", None)
        .by(1)
        .wrote("/w/.env", Content(SECRET, secret=True), before=b"old!\n")
    )
    return sealed(builder, store)


def test_the_tree_is_printed_and_is_data(steno: Steno, run: Path) -> None:
    done = steno("tree", "@last")
    assert done.stdout.decode().splitlines()[1:] == [
        "   0  1.00s      1  make all",
        "   1  1.00s      1  └─ cc 'a\\x1b[2J.c'",
    ]
    assert (done.returncode, done.stderr) == (0, b"")
    found = json.loads(steno("tree", run, "--json").stdout)
    assert [one["process"] for one in found["processes"]] == [1, 2]


def test_files_are_listed_and_chosen(steno: Steno, run: Path) -> None:
    done = steno("files", "@last")
    assert done.stdout.decode().splitlines() == ["M  +33 B  -  /w/.env", "A   +3 B  -  /w/a.o"]
    assert steno("files", "@last", "--read").stdout.decode().split()[-1] == "/w/a.c"
    assert len(steno("files", "@last", "--all").stdout.splitlines()) == 3
    assert len(steno("files", "@last", "--all", "*/a.*", cwd=Path("/")).stdout.splitlines()) == 2
    assert len(steno("files", "@last", "--all", "a.*", cwd=Path("/usr")).stdout.splitlines()) == 2
    assert len(steno("files", "@last", "*.o", cwd=Path("/usr")).stdout.splitlines()) == 1
    assert steno("files", "@last", "w/a.o", cwd=Path("/")).stdout == b"A  +3 B  -  /w/a.o\n"
    found = json.loads(steno("files", "@last", "--all", "--json").stdout)
    assert [one["change"] for one in found["files"]] == ["modified", "none", "created"]


def test_when_there_is_no_such_file_stdout_stays_empty(steno: Steno, run: Path) -> None:
    done = steno("files", "@last", "/nowhere")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"steno: there is no such file\n")
    assert json.loads(steno("files", "@last", "/nowhere", "--json").stdout)["files"] == []


def test_what_was_changed_without_a_kept_state_is_counted_and_listed_when_asked(
    steno: Steno, store: Path
) -> None:
    builder = (
        RunBuilder()
        .process("sh")
        .read("/w/a")
        .call("open", "/x/.git/hooks/pre-commit", state=None, arg=WRITING, result=0)
        .call("open", "/x/.cache/evil", state=b"x", arg=WRITING, result=0)
    )
    sealed(builder, store)
    done = steno("files", "@last")
    assert done.stdout == b""
    assert done.stderr.decode() == (
        "steno: the run changed no file among those whose states are kept\n"
        "steno: 2 more paths may have changed: their states are not kept "
        "(1 ignored, special, or of another user, 1 inside .git): /x/.cache/evil, /x/.git/hooks/pre-commit\n"
    )
    done = steno("files", "@last", "--all", "/x")
    assert done.stderr == b""
    assert done.stdout.decode().splitlines() == [
        "?  /x/.cache/evil (written, ignored, special, or of another user)",
        "?  /x/.git/hooks/pre-commit (created, inside .git)",
    ]
    found = json.loads(steno("files", "@last", "/x/.cache", "--json").stdout)
    assert found["not_kept"] == [
        {"path": "/x/.cache/evil", "did": ["written"], "why": "ignored, special, or of another user"}
    ]
    assert steno("files", "@last", "/other").stderr == b"steno: there is no such file\n"


def test_a_run_that_changed_no_file_says_so(steno: Steno, store: Path) -> None:
    sealed(RunBuilder().process("sh").read("/w/a"), store)
    assert steno("files", "@last").stderr == b"steno: the run changed no file\n"


def test_a_diff_is_exact_for_programs_and_never_shows_a_secret(steno: Steno, run: Path) -> None:
    done = steno("files", "@last", "--diff")
    assert b"\n+o\xff\n" in done.stdout
    assert b"# /w/.env: modified, not shown: its content holds a secret" in done.stdout
    assert b"correct-horse" not in done.stdout
    found = json.loads(steno("files", "@last", "--diff", "--json").stdout)
    assert "+o\\xff\n" in {one["path"]: one["diff"] for one in found["files"]}["/w/a.o"]


def test_the_network_is_printed_and_is_data(steno: Steno, run: Path) -> None:
    assert b"1.2.3.4:80  attempted, outcome not seen  cc[2]" in steno("net", "@last").stdout
    found = json.loads(steno("net", "@last", "--json").stdout)
    assert [one["name"] for one in found["endpoints"]] == ["1.2.3.4:80"]


def test_a_run_without_network_says_so_beside_the_data(steno: Steno, store: Path) -> None:
    sealed(RunBuilder().process("sh"), store)
    done = steno("net", "@last")
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        b"",
        b"steno: the run did not use the network\n",
    )


def test_events_are_printed_one_a_line(steno: Steno, run: Path) -> None:
    executed = steno("events", "@last", "--op", "exec", "--limit", "1").stdout
    assert executed.endswith(b"exec        /usr/bin/make make all\n")
    assert executed.count(b"\n") == 1
    assert steno("events", "@last", "--path", "*caf*").stdout.endswith(b"open        /w/caf\\xe9 read\n")
    found = [json.loads(line) for line in steno("events", "@last", "--json").stdout.splitlines()]
    assert [one["op"] for one in found] == [
        *("process", "process", "exec", "exec", "open", "open", "open", "connect", "open", "exit", "exit")
    ]
    assert found[5]["path_b64"] == "L3cvY2Fm6Q=="
    assert steno("events", "@last", "--op", "chmod").stdout == b""


def on_terminal(env: dict[str, str], *words: str) -> bytes:
    child: Any = pexpect.spawn(str(PROGRAM), list(words), env=env, dimensions=(24, 40), timeout=60)
    output: bytes = child.read()
    child.wait()  # its terminal is closed before it has ended; `close` gives it half a second
    child.close()
    assert child.exitstatus == 0
    return output


@pytest.mark.parametrize("words", ["tree", "files", "net", "events", "events --json", "files --diff"])
def test_on_a_terminal_nothing_of_the_record_is_acted_on(
    run: Path, clean_env: dict[str, str], words: str
) -> None:
    command, *options = words.split()
    assert b"\x1b[2J" not in on_terminal(clean_env, command, "@last", *options)
    plain = on_terminal({**clean_env, "NO_COLOR": "1"}, command, "@last", *options)
    assert b"\x1b" not in plain
    assert options or all(len(one.decode()) <= 40 for one in plain.splitlines())


def test_the_kernel_layer_is_part_of_show(steno: Steno, run: Path) -> None:
    assert b"Kernel      2 processes" in steno("show", "@last").stdout
    assert json.loads(steno("show", "@last", "--json").stdout)["kernel"]["endpoints"] == ["1.2.3.4:80"]


@pytest.mark.parametrize("command", ["tree", "files", "net", "events"])
def test_a_reader_that_goes_away_is_met_without_a_word(
    store: Path, clean_env: dict[str, str], command: str
) -> None:
    builder = RunBuilder()
    for number in range(3000):
        builder.process("sh", str(number)).wrote(f"/{number}", Found(size=1))
        builder.connected(f"inet:1.2.3.4:{number}")
    builder.seal(store)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [PROGRAM, command, "@last"],
        stdout=write,
        stderr=subprocess.PIPE,
        env=clean_env,
        timeout=SECONDS,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")  # as other programs end
