"""Input from elsewhere waits for whoever will take it; a terminal, or no input at all, is left alone."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

from support.program import SECONDS

HELD = """
import os, select, subprocess
from steno.launch.strace_chain import HeldInput
with HeldInput() as held:
    early = select.select([0], [], [], 0.2)[0]
    subprocess.run(["/bin/sh", "-c", held.opening], timeout=60, check=True)
    taken = b"".join(iter(lambda: os.read(0, 100), b""))
print(early, taken, os.path.sameopenfile(0, 3))
"""
NOT_HELD = """
import os
from steno.launch.strace_chain import HeldInput
before = os.readlink("/proc/self/fd/0") if os.path.exists("/proc/self/fd/0") else "closed"
with HeldInput() as held:
    after = os.readlink("/proc/self/fd/0") if os.path.exists("/proc/self/fd/0") else "closed"
print(repr(held.opening), before == after)
"""


def told_by(script: str, stdin: int | None, *more: str) -> str:
    run = ["/bin/sh", "-c", f'exec "$@" {" ".join(more)}', "sh", sys.executable, "-c", script]
    done = subprocess.run(run, stdin=stdin, stdout=subprocess.PIPE, timeout=SECONDS, check=True)
    return done.stdout.decode().strip()


def test_input_comes_with_its_end_when_the_gate_is_opened_and_not_before() -> None:
    read, write = os.pipe()
    os.write(write, b"typed\n")
    os.close(write)
    assert told_by(HELD, read, "3<&0") == "[] b'typed\\n' True"
    assert told_by(HELD, subprocess.DEVNULL, "3<&0") == "[] b'' True"
    os.close(read)


def test_a_terminal_and_a_closed_input_are_left_alone() -> None:
    master, terminal = pty.openpty()
    assert told_by(NOT_HELD, terminal) == "'' True"
    assert told_by(NOT_HELD, None, "<&-") == "'' True"
    os.close(terminal)
    os.close(master)


def test_a_relay_whose_gate_is_never_opened_is_ended() -> None:
    script = "from steno.launch.strace_chain import HeldInput\nwith HeldInput():\n    pass\nprint('left')"
    assert told_by(script, subprocess.DEVNULL) == "left"
