"""Pseudo-terminals: size, echo, end of input."""

from __future__ import annotations

import os
import termios
import tty

from steno.capture.terminal import (
    DEFAULT_SIZE,
    InputMode,
    Size,
    UserTerminal,
    end_of_input,
    input_mode,
    open_pseudo_terminal,
    set_size,
    size_of,
)


def test_without_a_model_the_size_is_the_usual_one() -> None:
    terminal = open_pseudo_terminal(None)
    assert size_of(terminal.master) == DEFAULT_SIZE
    assert not os.get_blocking(terminal.master)


def test_size_and_modes_are_those_of_the_users_terminal() -> None:
    users = os.openpty()[1]
    set_size(users, Size(132, 43))
    modes = termios.tcgetattr(users)
    modes[6][termios.VEOF] = b"\x05"
    termios.tcsetattr(users, termios.TCSANOW, modes)
    terminal = open_pseudo_terminal(UserTerminal(users))
    assert size_of(terminal.slave) == Size(132, 43)
    assert end_of_input(terminal.master) == b"\x05"


def test_a_terminal_whose_size_is_zero_has_the_usual_one() -> None:
    assert UserTerminal(os.openpty()[1]).size() == DEFAULT_SIZE


def test_a_terminal_that_is_gone_keeps_the_size_it_had() -> None:
    master, slave = os.openpty()
    set_size(slave, Size(100, 30))
    terminal = UserTerminal(slave)
    assert terminal.size() == Size(100, 30)
    os.close(master)
    assert terminal.size() == Size(100, 30)


def test_the_way_input_is_taken_is_seen_from_the_other_side() -> None:
    terminal = open_pseudo_terminal(None)
    assert input_mode(terminal.master) is InputMode.SHOWN
    modes = termios.tcgetattr(terminal.slave)
    modes[3] &= ~termios.ECHO
    termios.tcsetattr(terminal.slave, termios.TCSANOW, modes)
    assert input_mode(terminal.master) is InputMode.HIDDEN_LINE
    tty.setraw(terminal.slave)
    assert input_mode(terminal.master) is InputMode.KEY_BY_KEY


def test_a_terminal_of_another_session_is_never_entered() -> None:
    terminal = UserTerminal(os.openpty()[1])
    assert not terminal.enter()
    assert not terminal.foreground
