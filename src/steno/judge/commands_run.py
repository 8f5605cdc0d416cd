"""Which of the programs that were started are the command that a call claims to run.

In: the text of a command and the programs of the call's window, in order. Out: those that were given this
text and no other. A shell counts when its text is the command, letter by letter, or the command in one of
the fixed forms in which agents wrap it; a program counts when its arguments are the command's words. What
was started by another program in the window than these is not counted: it may have done more. docs/calls.md
has the forms.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from steno.agents.known import launchers, shell_forms
from steno.judge import claimed
from steno.judge.call_effects import Exec
from steno.judge.call_processes import SHELLS, Processes

# With these a text takes a shell.
_FOR_SHELLS = frozenset("\n;&|<>$`*?~(){}[]#!=\\'\"")
_MOST_ABOVE = 64  # processes between a program and the agent; beyond that nobody looks


def running(command: str, execs: Sequence[Exec], processes: Processes, root: int | None) -> list[Exec]:
    """The programs of the window that are this command, as the agent or server itself started them."""
    wanted = command.encode("utf-8", "surrogatepass")
    words = _words(command)
    found: list[Exec] = []
    settled: set[int] = set()  # processes that are the command, or something else
    for one in execs:
        if _is_below(one.process, settled, processes, root):
            continue
        if _is_command(one, wanted, words):
            found.append(one)
        elif _launches(one, wanted):
            continue
        settled.add(one.process)
    return found


def resembles(command: str, execs: Iterable[Exec]) -> bool:
    """Whether a shell was given this among other things, or the program was started that it begins with."""
    letters = claimed.letters(command.encode("utf-8", "surrogatepass"))
    first = claimed.first_program(command)
    name = None if first is None else first.encode("utf-8", "surrogatepass")
    return any(
        name in one.names
        or (one.names & SHELLS and any(letters in claimed.letters(word) for word in one.argv[1:]))
        for one in execs
    )


def _is_below(process: int, settled: set[int], processes: Processes, root: int | None) -> bool:
    for steps, number in enumerate(processes.line(process)):
        if number == root:
            return False
        if number in settled or steps > _MOST_ABOVE:
            return True
    return False


def _is_command(one: Exec, wanted: bytes, words: list[bytes] | None) -> bool:
    if one.names & SHELLS and (text := claimed.text_for_shell(one.argv)) is not None:
        return _is_wanted(text, wanted)
    return words is not None and words[0].rpartition(b"/")[2] in one.names and [*one.argv[1:]] == words[1:]


def _launches(one: Exec, wanted: bytes) -> bool:
    """Whether it is a program of an agent that was told to start the shell with this command."""
    if not one.names & launchers():
        return False
    shells = [place for place, word in enumerate(one.argv) if word.rpartition(b"/")[2] in SHELLS]
    text = claimed.text_for_shell(one.argv[shells[-1] :]) if shells else None
    return text is not None and _is_wanted(text, wanted)


def _is_wanted(text: bytes, wanted: bytes) -> bool:
    if text == wanted:
        return True
    return any(form(text, wanted) for form in shell_forms())


def _words(command: str) -> list[bytes] | None:
    """The arguments of a program that can be started without a shell."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if not words or (_FOR_SHELLS & set(command) and shlex.join(words) != command):
        return None
    return [word.encode("utf-8", "surrogatepass") for word in words]
