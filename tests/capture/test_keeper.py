"""The launcher: tells how the command began, stopped and ended, and gives it what it should find."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import pytest

from steno.capture.launcher import ChildStatus, Descriptors, EventKind, Launch, Launcher, launch


def records(launcher: Launcher) -> Iterator[ChildStatus]:
    while found := list(launcher.read_records()):
        yield from found
        if found[-1].what in {EventKind.ENDED, EventKind.NOT_STARTED}:
            return


def life_of(*argv: str, cwd: Path = Path("/")) -> list[ChildStatus]:
    null = os.open(os.devnull, os.O_RDWR)
    on = Descriptors(null, null, null)
    launcher = launch(Launch(argv, str(cwd), {"PATH": os.environ["PATH"]}, on, None))
    told = list(records(launcher))
    launcher.release()
    os.close(null)
    return told


def test_a_command_starts_and_ends_with_its_status() -> None:
    started, ended = life_of("sh", "-c", "exit 9")
    assert started.what == EventKind.STARTED
    assert ended.what == EventKind.ENDED
    assert os.waitstatus_to_exitcode(ended.value) == 9


def test_a_signal_is_told_as_a_signal() -> None:
    *_, ended = life_of("sh", "-c", "kill -TERM $$")
    assert os.WTERMSIG(ended.value) == signal.SIGTERM


def test_stopping_and_going_on_are_told() -> None:
    read, write = os.pipe()
    on = Descriptors(read, write, write)
    script = ["sh", "-c", "kill -STOP $$; read line"]
    launcher = launch(Launch(script, "/", {"PATH": os.environ["PATH"]}, on, None))
    life = records(launcher)
    started = next(life)
    assert next(life).what == EventKind.STOPPED
    os.kill(started.value, signal.SIGCONT)
    assert next(life).what == EventKind.CONTINUED
    os.write(write, b"go on\n")
    assert next(life).what == EventKind.ENDED
    launcher.release()
    os.close(read)
    os.close(write)


@pytest.mark.parametrize(("argv", "number"), [("no-such-program", errno.ENOENT), ("/", errno.EACCES)])
def test_what_cannot_be_run_is_told_with_its_error(argv: str, number: int) -> None:
    assert life_of(argv) == [ChildStatus(EventKind.NOT_STARTED, number)]


def test_a_directory_that_is_gone_is_told_with_its_error(tmp_path: Path) -> None:
    assert life_of("true", cwd=tmp_path / "gone") == [ChildStatus(EventKind.NOT_STARTED, errno.ENOENT)]


def test_the_memory_of_a_small_command_is_not_known_and_of_a_large_one_is() -> None:
    much = getrusage(RUSAGE_SELF).ru_maxrss + 200_000  # above the peak that the command inherits from us
    *_, small = life_of("true")
    *_, large = life_of("python3", "-c", f"x = bytearray({much} * 1024)")
    assert small.max_rss_kib == 0
    assert large.max_rss_kib > much


def test_the_command_gets_no_descriptor_of_ours() -> None:
    read, write = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    words, env = ["sh", "-c", "ls /proc/self/fd"], {"PATH": os.environ["PATH"]}
    launcher = launch(Launch(words, "/", env, Descriptors(null, write, null), None))
    list(records(launcher))
    launcher.release()
    os.close(write)
    bare = subprocess.run(["sh", "-c", "ls /proc/self/fd"], capture_output=True, close_fds=False, check=True)
    assert os.read(read, 1000) == bare.stdout
