"""The processes of Steno's own hooks, which are counted apart from what a run did.

A process is one of ours by what it executed, the very files that the recorder named at the start of the run,
and by what it did: it told the recorder and read what a hook reads. One that did anything else is the run's,
whatever it is called: a command cannot hide behind our name.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from typing import NamedTuple

from steno.evidence import kinds
from steno.evidence.intake_names import HOOKS
from steno.evidence.layers import Layers
from steno.evidence.syscalls import RowBatch, batches
from steno.judge.calls.log_writers import LogWatch
from steno.judge.facts import RunFacts
from steno.judge.operations import CHANGED, READ, effect, has_failed

_BIRTHS = frozenset({"process", "exec"})
_COLUMNS = (
    *("process", "op", "path", "resolved", "extra", "result", "notes"),
    *("arg", "exists", "mode", "dev", "ino", "ctime_ns"),
)
_PID_BITS = 32
_END = b"\0"
_HOOK_WORDS = 2  # "hook" and an agent
_AS_A_MODULE = [b"-P", b"-m", b"steno"]
_WITH_A_TEXT = 3  # sh -c TEXT
_MORE_THAN_ONE_COMMAND = frozenset(";|&<>`$()\n")
# What neither reads a content nor changes anything.
_HARMLESS = frozenset({"process", "fork", "interpreter", "exit", "outlived", "chdir", "lost"}) | {
    *("follow", "stat", "access", "readlink", "getxattr", "statfs"),
}
# What the system's own loader, C library and shell read, and who asked for a hook.
_SYSTEM = re.compile(
    rb"/(?:usr|lib|lib32|lib64|bin|sbin|sys|proc/sys)(?:/.*)?"
    rb"|/etc/(?:ld\.so\.(?:cache|preload)|localtime|locale\.alias)"
    rb"|/proc/(?:filesystems|meminfo|cpuinfo|(?:\d+|self)/(?:stat|status|cmdline|maps|mountinfo))"
    rb"|/dev/(?:null|tty|urandom)",
    re.DOTALL,
)
_SINKS = frozenset({b"/dev/null", b"/dev/tty"})


class Own(NamedTuple):
    processes: frozenset[int]
    paths: frozenset[bytes]  # that they touched

    def __bool__(self) -> bool:
        return bool(self.processes)


NONE = Own(frozenset(), frozenset())


def own_processes(layers: Layers) -> Own:
    """Of a record that can be read: what is wrong with another is found by whoever asks for more of it."""
    try:
        return _found_in(layers)
    except (OSError, ValueError):
        return NONE


def _found_in(layers: Layers) -> Own:
    facts = RunFacts.of(layers)
    told = facts.intake_logs is not None and facts.intake_logs.hooks is not None
    program = facts.start.hook_program
    if program is None or (facts.finish is not None and not told):
        return NONE
    suspects = _Suspects(program)
    for batch in batches(layers, _COLUMNS):
        suspects.take(batch)
    if not suspects.hooks:
        return NONE
    deeds = _Deeds(program, layers.run_id, suspects)
    for batch in batches(layers, _COLUMNS):
        deeds.take(batch)
    return deeds.found()


class _Suspects:
    """Processes that became the program of our hooks, or a shell that was asked for nothing else."""

    def __init__(self, program: kinds.HookProgram) -> None:
        self._program = program
        self.parents: dict[int, int] = {}
        self.hooks: set[int] = set()
        self.shells: set[int] = set()
        self.others: set[int] = set()  # that became anything else

    def take(self, batch: RowBatch) -> None:
        rows = batch.rows_of(_BIRTHS)
        columns = (
            batch.ops(rows),
            batch.numbers("process", rows),
            batch.numbers("arg", rows),
            batch.texts("resolved", rows),
            batch.texts("extra", rows),
            batch.optional("result", rows),
            batch.optional("dev", rows),
            batch.optional("ino", rows),
            batch.optional("ctime_ns", rows),
        )
        for op, process, arg, resolved, extra, result, *identity in zip(*columns, strict=True):
            if op == "process":
                self.parents[process] = arg >> _PID_BITS
            elif not has_failed(result):
                words = (extra or b"").removesuffix(_END).split(_END)
                self._kind(resolved or b"", words, identity).add(process)

    def _kind(self, path: bytes, words: list[bytes], identity: list[int | None]) -> set[int]:
        for file, before in ((self._program.script, [[], [path]]), (self._program.python, [_AS_A_MODULE])):
            is_it = (
                file is not None and path == _name_of(file) and ":".join(map(str, identity)) == file.identity
            )
            if is_it:  # a probe tells the arguments of the interpreter, in which the script is named
                is_hook = words[1:-_HOOK_WORDS] in before and _is_hook(words[-_HOOK_WORDS:])
                return self.hooks if is_hook else self.others
        is_shell = _SYSTEM.fullmatch(path) is not None and len(words) >= _WITH_A_TEXT
        return self.shells if is_shell and _asks_for_a_hook(words[-1]) else self.others


def _name_of(file: kinds.ProgramFile) -> bytes:
    return file.path.encode("utf-8", "surrogateescape")


def _is_hook(words: list[bytes]) -> bool:
    return len(words) == _HOOK_WORDS and words[0] == b"hook"


def _asks_for_a_hook(text: bytes) -> bool:
    """`steno hook claude`, and no second command. What it starts has to be one of our hooks all the same."""
    try:
        command = text.decode()
        words = [] if _MORE_THAN_ONE_COMMAND & set(command) else shlex.split(command)
    except ValueError:
        return False
    return _is_hook([word.encode() for word in words[-_HOOK_WORDS:]]) and len(words) > _HOOK_WORDS


class _Deeds:
    """What the suspects did."""

    def __init__(self, program: kinds.HookProgram, run_id: str, suspects: _Suspects) -> None:
        self._suspects = suspects
        self._candidates = (suspects.hooks | suspects.shells) - suspects.others
        self._libraries = tuple(path.encode("utf-8", "surrogateescape") for path in program.reads)
        self._logs = LogWatch(run_id, None)
        self._paths: defaultdict[int, set[bytes]] = defaultdict(set)

    def take(self, batch: RowBatch) -> None:
        rows = [row for row, one in enumerate(batch.numbers("process")) if one in self._candidates]
        columns = (
            batch.numbers("process", rows),
            batch.ops(rows),
            batch.texts("path", rows),
            batch.texts("resolved", rows),
            batch.optional("result", rows),
            batch.numbers("notes", rows),
            batch.numbers("arg", rows),
            batch.optional("exists", rows),
            batch.modes(rows),
        )
        for process, op, path, resolved, *call in zip(*columns, strict=True):
            place = resolved or path or b""
            self._paths[process].add(place)
            if not self._is_of_a_hook(op, place, *call):
                self._candidates.discard(process)

    def _is_of_a_hook(
        self, op: str, path: bytes, result: int | None, notes: int, arg: int, exists: int | None, mode: int
    ) -> bool:
        if op in _HARMLESS or op == "exec" or has_failed(result):  # programs are judged by what they are
            return True
        bits, _ = effect(op, arg, notes, result, exists, mode)
        if bits & CHANGED or op not in {"open", "list"}:
            return op == "open" and (path in _SINKS or self._logs.name(path) == HOOKS)
        return not bits & READ or _SYSTEM.fullmatch(path) is not None or self._is_in_a_library(path)

    def _is_in_a_library(self, path: bytes) -> bool:
        return any(path == library or path.startswith(library + b"/") for library in self._libraries)

    def found(self) -> Own:
        """A shell is ours with the hook that it became or started; neither may have started anything else."""
        parents = self._suspects.parents
        below: defaultdict[int, set[int]] = defaultdict(set)
        for process, parent in parents.items():
            below[parent].add(process)
        own = {one for one in self._candidates if parents.get(one)}  # not the command itself
        while foreign := {one for one in own if below[one] - own or not self._is_complete(one, below[one])}:
            own -= foreign
        return Own(frozenset(own), frozenset().union(*(self._paths[one] for one in own)))

    def _is_complete(self, process: int, below: set[int]) -> bool:
        return process in self._suspects.hooks or bool(below)
