"""Which of the programs that were started are the command that a call claims to run.

In: the text of a command and the programs of the call's window, in order. Out: those that were given this
text and no other. A shell counts when its text is the command, letter by letter, or the command in one of
the fixed forms in which agents wrap it; a program counts when its arguments are the command's words. What
was started by another program in the window than these is not counted: it may have done more. docs/calls.md
has the forms.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence

from steno.judge import claimed
from steno.judge.call_effects import Exec
from steno.judge.call_processes import SHELLS, Processes

_PATH = rb"[\w./@%+=:,-]+"
# Claude Code: its snapshot of the user's shell, the command, and where that ended.
_OF_CLAUDE = re.compile(
    rb"(?:source " + _PATH + rb" 2>/dev/null \|\| true && )?"
    rb"(?:(?:shopt -u extglob|setopt NO_EXTENDED_GLOB) 2>/dev/null \|\| true && )?"
    rb"eval (?P<command>.+?)(?: \\?< /dev/null)? && pwd -P >\| " + _PATH,
    re.DOTALL,
)
# Codex: its snapshot, the variables that it keeps, and the shell that gets the command.
_VARIABLE = rb"\$\{\w+(?:[+-]x?)?\}"
_OF_CODEX = re.compile(
    rb"(?:(?:"
    rb"|__CODEX_\w+=\"" + _VARIABLE + rb"\""
    rb"|if \. '[^'\n]*' >/dev/null 2>&1; then :; fi"
    rb"|if \[ -n \"(?:" + _VARIABLE + rb"|\$\w+)\" \](?: \|\| \[ -n \"" + _VARIABLE + rb"\" \])?; then"
    rb"|  if \[ -z \"" + _VARIABLE + rb"\" \] \|\| \[ \"" + _VARIABLE + rb"\" != \"" + _VARIABLE + rb"\" \];"
    rb" then export \w+=\"" + _VARIABLE + rb"\"; else export \w+; fi"
    rb"|(?:else )?builtin unset [\w ]+ 2>/dev/null \|\| command unset [\w ]+(?:; fi)?"
    rb"|if \[ -n \"\$\{PATH:-\}\" \]; then export PATH='[^'\n]*':\"\$PATH\"; else export PATH='[^'\n]*'; fi"
    rb"|fi"
    rb")\n)+exec '[^'\n]*/(?:ba|z|)sh' -l?c (?P<command>.+)",
    re.DOTALL,
)
# Gemini: where it wants the background jobs told, and the command as it is in a shell of its own.
_OF_GEMINI = re.compile(
    rb"shopt -u promptvars nullglob extglob nocaseglob dotglob; _bgpids_file=" + _PATH + rb"\n\(\n"
    rb"  trap 'jobs -p > \"\$_bgpids_file\"' EXIT\n(?P<command>.+)\n\)\n__code=\$\?\nexit \$__code",
    re.DOTALL,
)
_QUOTED = re.compile(
    rb"'(?P<single>[^']*)'|\"(?P<double>(?:[^\"\\$`]|\\[\"\\$`])*)\"|\\(?P<letter>[^\n])|(?P<bare>[\w./@%+=:,-]+)",
    re.DOTALL,
)
_ESCAPE = re.compile(rb"\\(.)", re.DOTALL)
# Programs of agents that start what stands at the end of their arguments.
_LAUNCHERS = frozenset({b"codex", b"codex-linux-sandbox", b"bwrap"})
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
    if not one.names & _LAUNCHERS:
        return False
    shells = [place for place, word in enumerate(one.argv) if word.rpartition(b"/")[2] in SHELLS]
    text = claimed.text_for_shell(one.argv[shells[-1] :]) if shells else None
    return text is not None and _is_wanted(text, wanted)


def _is_wanted(text: bytes, wanted: bytes) -> bool:
    if text == wanted:
        return True
    if (plain := _OF_GEMINI.fullmatch(text)) is not None:
        return plain["command"] == _as_gemini_gives(wanted)
    return any(
        wrapped is not None and _unquoted(wrapped["command"]) == wanted
        for wrapped in (_OF_CLAUDE.fullmatch(text), _OF_CODEX.fullmatch(text))
    )


def _as_gemini_gives(command: bytes) -> bytes:
    """Trimmed; a space behind a last backslash keeps it from joining two lines."""
    trimmed = command.strip()
    return trimmed + b" " if trimmed.endswith(b"\\") else trimmed


def _unquoted(word: bytes) -> bytes | None:
    """What a shell makes of one word; None where it would do more than take its quotes away."""
    parts, at = [], 0
    while at < len(word):
        found = _QUOTED.match(word, at)
        if found is None:
            return None
        kind = found.lastgroup or ""
        parts.append(_ESCAPE.sub(rb"\1", found[kind]) if kind == "double" else found[kind])
        at = found.end()
    return b"".join(parts)


def _words(command: str) -> list[bytes] | None:
    """The arguments of a program that can be started without a shell."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if not words or (_FOR_SHELLS & set(command) and shlex.join(words) != command):
        return None
    return [word.encode("utf-8", "surrogatepass") for word in words]
