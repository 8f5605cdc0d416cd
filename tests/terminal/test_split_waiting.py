"""A split terminal that is slow, shared or held: all wait as long as bare, and every byte is attributed."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from steno.bundle.verify import Status
from support.observer_processes import hold_a_terminal
from support.program import PROGRAM
from support.recorded import only_run
from support.screen import Screen
from support.splitting import (
    Terminal,
    counters,
    every_byte_is_attributed,
    every_byte_is_attributed_by_size,
    streams,
)
from support.waiting import until

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="without gcc nothing is observed")


@pytest.fixture
def terminal(clean_env: dict[str, str], tmp_path: Path, store: Path) -> Terminal:
    return Terminal(clean_env, tmp_path, store)


def test_a_writer_that_never_waits(terminal: Terminal) -> None:
    script = terminal.program(
        "import os, select\n"
        "os.set_blocking(1, False)\n"
        "data, refused = b''.join(b'%07d\\n' % n for n in range(40000)), None\n"
        "while data:\n"
        "    try:\n"
        "        data = data[os.write(1, data):]\n"
        "    except BlockingIOError:\n"
        "        refused = refused or open('refused', 'w')\n"
        "        select.select([], [1], [])\n"
        "os.set_blocking(1, True)\n"
        "os.write(2, b'every line')\n"
    )
    refused = terminal.cwd / "refused"

    def read_only_once_a_write_was_refused(_screen: Screen) -> None:
        until(refused.exists)
        refused.unlink()

    out, err = streams(terminal.split(["python3", script], read_only_once_a_write_was_refused))
    assert out == b"".join(b"%07d\n" % n for n in range(40000))
    assert err == b"every line"


def test_a_few_megabytes_in_one_write_and_in_many(terminal: Terminal) -> None:
    script = terminal.program(
        "import os\n"
        "data = b''.join(b'%07d\\n' % n for n in range(150000))\n"
        "assert os.write(1, data) == len(data)\n"
        "for start in range(0, len(data), 4096): os.write(2, data[start:start + 4096])\n"
    )
    out, err = streams(terminal.split(["python3", script]))
    assert out == err == b"".join(b"%07d\n" % n for n in range(150000))


def test_writers_in_the_background_at_the_same_time(terminal: Terminal) -> None:
    script = terminal.program(
        "for writer in 1 2 3 4; do\n"
        "  { for n in $(seq 200); do echo out $writer $n; echo err $writer $n >&2; done; } &\n"
        "done\nwait\n"
    )
    _, run = terminal.recorded(["bash", script])
    assert every_byte_is_attributed(run)
    out, err = (data.decode().splitlines() for data in streams(run))
    for lines, name in ((out, "out"), (err, "err")):
        assert len(lines) == 800
        for writer in range(1, 5):
            own = [line for line in lines if line.startswith(f"{name} {writer} ")]
            assert own == [f"{name} {writer} {n}" for n in range(1, 201)]
    shown = run.stream("output").replace(b"\r\n", b"\n")
    assert sorted(shown.splitlines()) == sorted((run.stream("stdout") + run.stream("stderr")).splitlines())


def test_control_s_holds_the_writer_and_nobody_else(terminal: Terminal) -> None:
    script = terminal.program(
        "echo ready\nread line\n(touch begun; seq 20000; touch written) &\n"
        "until test -e begun; do sleep 0.01; done\n"
        "for n in $(seq 50); do cat begun; mkdir dir$n; rmdir dir$n; done\n"
        "touch others\nwait\necho over >&2\n"
    )

    def keys(screen: Screen) -> None:
        screen.see("ready\r\n")
        screen.keys("\x13\r")
        until((terminal.cwd / "others").exists)
        assert not (terminal.cwd / "written").exists()
        screen.keys("\x11")

    _, run = terminal.recorded(["bash", script], keys)
    out, err = streams(run)
    assert out == b"ready\n" + b"".join(b"%d\n" % n for n in range(1, 20001))
    assert err == b"over\n"
    assert every_byte_is_attributed(run)


def test_a_signal_reaches_a_writer_that_waits(terminal: Terminal) -> None:
    script = terminal.program(
        "import os, signal, sys\n"
        "def caught(*_):\n"
        "    open('caught', 'w').close()\n"
        "signal.signal(signal.SIGUSR1, caught)\n"
        "open('pid', 'w').write(str(os.getpid())); os.rename('pid', 'mypid')\n"
        "sys.stdin.readline()\n"
        "data = b'x' * 100000 + b'\\n'\n"
        "while data: data = data[os.write(1, data):]\n"
    )

    def keys(screen: Screen) -> None:
        until((terminal.cwd / "mypid").exists)
        screen.keys("\x13\r")
        pid = int((terminal.cwd / "mypid").read_text())
        until(lambda: _waits_in_a_write(pid))
        os.kill(pid, 10)
        until((terminal.cwd / "caught").exists)
        screen.keys("\x11")

    _, run = terminal.recorded(["python3", script], keys)
    assert run.stream("stdout") == b"x" * 100000 + b"\n"
    assert every_byte_is_attributed(run)


def _waits_in_a_write(pid: int) -> bool:
    words = Path(f"/proc/{pid}/syscall").read_text().split()
    return words[:2] == ["1", "0x1"]


def test_a_killed_writer_leaves_the_terminal_to_the_others(terminal: Terminal) -> None:
    script = terminal.program(
        "echo ready; read line\nyes &\nwriter=$!\nsleep 0.2\n"
        "{ kill -9 $writer; wait $writer; } 2>/dev/null\n"  # the shell tells of the killed at any moment
        "touch killed\necho done >&2\n"
    )

    def keys(screen: Screen) -> None:
        screen.see("ready\r\n")
        screen.keys("\x13\r")
        until((terminal.cwd / "killed").exists)
        screen.keys("\x11")

    _, run = terminal.recorded(["bash", script], keys)
    assert run.stream("stderr").endswith(b"done\n")
    assert every_byte_is_attributed(run)


def test_a_background_writer_is_stopped_where_the_terminal_says_so(terminal: Terminal) -> None:
    terminal.env |= {"PS1": "READY> ", "INPUTRC": "/dev/null"}

    def keys(screen: Screen) -> None:
        screen.see("READY> ")
        screen.line("stty tostop")
        screen.see("READY> ")
        screen.line("sleep 0.1; sh -c 'echo behind' & wait -n; echo waited")
        screen.see("Stopped")
        screen.line("fg")
        screen.see("behind")
        screen.line("stty -tostop; exit")

    _, run = terminal.recorded(["bash", "--norc", "--noprofile", "-i"], keys)
    assert b"behind\n" in run.stream("stdout")
    assert every_byte_is_attributed(run)


def test_an_interactive_shell_with_job_control(terminal: Terminal) -> None:
    terminal.env |= {"PS1": "READY> ", "INPUTRC": "/dev/null"}

    def keys(screen: Screen) -> None:
        screen.see("READY> ")
        screen.line("echo one; echo two >&2")
        screen.see("two\r\n")
        screen.see("READY> ")
        screen.line("echo started; cat")
        screen.see("started\r\n")  # from here on the shell has set its line editor aside
        screen.line("typed")
        screen.see("typed\r\ntyped\r\n")
        screen.keys("\x1a")
        screen.see("Stopped")
        screen.see("READY> ")
        screen.line("fg")
        screen.see("cat\r\n")
        screen.keys("\x04")
        screen.see("READY> ")
        screen.line("exit 3")

    run = terminal.split(["bash", "--norc", "--noprofile", "-i"], keys)
    assert run.event("command_finished")["exit_code"] == 3
    out, err = streams(run)
    assert b"one\n" in out
    assert b"two\n" in err
    assert b"READY> " in err
    assert counters(run)["unwatched"] == 0


@pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")
def test_vim_draws_and_saves(terminal: Terminal) -> None:
    def keys(screen: Screen) -> None:
        screen.see("~")
        screen.keys("ihello\x1b:wq\r")

    (terminal.cwd / "text").write_text("old\n")
    _, run = terminal.recorded(["vim", "-u", "NONE", "-i", "NONE", "text"], keys)
    assert every_byte_is_attributed(run)
    assert b"hello" in run.stream("stdout")
    assert (terminal.cwd / "text").read_text() == "helloold\n"


@pytest.mark.skipif(shutil.which("less") is None, reason="less is not installed")
def test_less_shows_its_pages(terminal: Terminal) -> None:
    (terminal.cwd / "text").write_text("".join(f"line {n}\n" for n in range(1, 200)))

    def keys(screen: Screen) -> None:
        screen.see("line 29")
        screen.keys("G")
        screen.see("line 199")
        screen.keys("q")

    run = terminal.split(["less", "text"], keys)
    assert b"line 199" in run.stream("stdout")


@pytest.mark.skipif(shutil.which("fzf") is None, reason="fzf is not installed")
def test_fzf_draws_on_stderr_and_answers_on_stdout(terminal: Terminal) -> None:
    def keys(screen: Screen) -> None:
        screen.see("banana")
        screen.keys("ban")
        screen.see("1/3")
        screen.keys("\r")

    script = terminal.program("printf 'apple\\nbanana\\ncherry\\n' | fzf --no-mouse")
    _, run = terminal.recorded(["bash", script], keys)
    assert run.stream("stdout") == b"banana\n"
    assert b"cherry" in run.stream("stderr")
    assert every_byte_is_attributed(run)


def test_a_process_that_is_left_behind_is_attributed_while_it_is_heard(terminal: Terminal) -> None:
    script = terminal.program("(while kill -0 $$ 2>/dev/null; do :; done; echo late >&2) & echo ready")
    terminal.options = ["--wait-descendants", "forever"]
    _, run = terminal.recorded(["bash", script])
    assert streams(run) == (b"ready\n", b"late\n")
    assert every_byte_is_attributed(run)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may see which files the observer has open")
def test_what_a_process_left_behind_writes_on_a_terminal_that_it_opens_late_is_never_passed_over(
    terminal: Terminal,
) -> None:
    late = "until test -e unheard; do sleep 0.05; done; echo late >/dev/tty"
    script = terminal.program(f"({late}) </dev/null >/dev/null 2>&1 &\necho ready")
    terminal.options = ["--wait-descendants", "forever"]

    def once_nobody_listens(screen: Screen) -> None:
        screen.see("ready\r\n")
        until(lambda: not hold_a_terminal(screen.pid))
        (terminal.cwd / "unheard").touch()

    _, run = terminal.recorded(["bash", script], once_nobody_listens, status=Status.INCOMPLETE)
    assert counters(run)["unattributed"] == len(b"late\n")


def test_a_process_left_behind_without_the_terminal_does_not_hold_it(terminal: Terminal) -> None:
    script = terminal.program("setsid sleep 30 </dev/null >/dev/null 2>&1 &\necho done\n")
    _, run = terminal.recorded(["bash", script], status=Status.INCOMPLETE)
    assert run.json("run.json")["terminal"]["held_by_others"] == []
    assert run.stream("stdout") == b"done\n"


@pytest.mark.soak
def test_a_gigabyte_on_the_terminal_is_attributed_to_the_byte(terminal: Terminal, store: Path) -> None:
    line, count = b"a line of ordinary length " * 4, 1 << 30
    script = terminal.program(
        f"yes '{line.decode()}' | head -c {count}; echo; yes error | head -c {count >> 4} >&2"
    )
    words = [
        "script",
        "-qec",
        shlex.join([str(PROGRAM), "run", "--no-git", "--", "bash", script]),
        "/dev/null",
    ]
    with (terminal.cwd / "input").open("w+b") as nothing:
        subprocess.run(
            words, stdin=nothing, stdout=subprocess.DEVNULL, cwd=terminal.cwd, env=terminal.env, check=True
        )
    run = only_run(store)
    assert run.is_valid
    assert every_byte_is_attributed_by_size(run, count + 1, count >> 4)
