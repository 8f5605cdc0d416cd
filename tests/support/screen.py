"""A user at a terminal: types keys, resizes the window, reads what appears."""

from __future__ import annotations

import os
import termios
from contextlib import suppress
from pathlib import Path

import pexpect

from support.program import PROGRAM

SECONDS = 60
_LOCAL_FLAGS = 3


class Screen:
    def __init__(
        self, words: list[str], env: dict[str, str], cwd: Path, *, size: tuple[int, int] = (30, 100)
    ) -> None:
        path = f"{PROGRAM.parent}{os.pathsep}{env['PATH']}"
        self._child: pexpect.spawn[bytes] = pexpect.spawn(
            words[0], words[1:], timeout=SECONDS, dimensions=size, cwd=str(cwd), env={**env, "PATH": path}
        )
        self._child.delaybeforesend = None

    @classmethod
    def of_shell(cls, script: str, env: dict[str, str], cwd: Path) -> Screen:
        """A line of shell, as the only thing on the terminal."""
        return cls(["bash", "--norc", "--noprofile", "-c", script], env, cwd)

    @classmethod
    def with_prompt(cls, env: dict[str, str], cwd: Path) -> Screen:
        """An interactive shell with job control; its prompt is `READY> `."""
        screen = cls(
            ["bash", "--norc", "--noprofile", "-i"], {**env, "PS1": "READY> ", "INPUTRC": "/dev/null"}, cwd
        )
        screen.see("READY> ")
        return screen

    def see(self, text: str) -> bytes:
        """Wait until the text appears; returns what stood before it."""
        self._child.expect_exact(text)
        return self._child.before or b""

    def keys(self, text: str) -> None:
        self._child.send(text)

    def line(self, text: str) -> None:
        self._child.send(text + "\r")

    @property
    def pid(self) -> int:
        """Of the program that was started."""
        assert self._child.pid is not None
        return self._child.pid

    @property
    def shell_has_the_terminal(self) -> bool:
        """Whether the first program is in the foreground, and not one of its jobs."""
        return os.tcgetpgrp(self._child.child_fd) == self._child.pid

    @property
    def has_control_keys(self) -> bool:
        """Whether Control-C makes a signal, and is not handed to a program as a key."""
        return bool(termios.tcgetattr(self._child.child_fd)[_LOCAL_FLAGS] & termios.ISIG)

    def resize(self, rows: int, cols: int) -> None:
        self._child.setwinsize(rows, cols)

    def rest(self) -> bytes:
        """Everything up to the end of the terminal."""
        self._child.expect(pexpect.EOF)
        return self._child.before or b""

    def hang_up(self) -> None:
        with suppress(pexpect.ExceptionPexpect):  # the program may take its time to end
            self._child.close(force=False)

    def signal(self, number: int) -> None:
        """To the program that was started, as `kill` would."""
        self._child.kill(number)
