"""agent-audit's own chain, script(1) around strace(1) around the agent, and the streams of its trace.

In: the command of an agent and what is secret. Out: the command that starts the chain, and after it stdout,
stderr and a trace of the same writes, masked. What strace writes is raw, so it goes into memory that has no
name in any folder: it never reaches a disk, and ends with the processes that hold it, however they end. Hex
dumps show a secret in pieces that nobody would find, so the trace is written anew from the masked streams.
The terminal is recorded as always, around the chain.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal, NamedTuple, Protocol, Self

from steno.agents.definition import Log
from steno.contracts.agent_audit.meta import Ended, Launch
from steno.contracts.agent_audit.streams import (
    MOST_SHOWN,
    STDERR,
    STDOUT,
    Chunks,
    Piece,
    chunks,
    tapes,
    trace,
)
from steno.errors import CaptureError
from steno.evidence import layout
from steno.evidence.layers import Layers
from steno.evidence.linux_numbers import signal_name
from steno.lines import LineTooLongError
from steno.model.recording import RecordedSoFar, recorded
from steno.redact.redactor import Redactor

Logs = Mapping[Log, Iterable[bytes]]


class SplitStreams(Protocol):
    def rebuild(self, layers: Layers) -> Chunks: ...
    def logs(self, layers: Layers) -> Logs: ...
    def parts(self) -> Mapping[str, Iterable[bytes]]: ...
    def ended(self, how: Ended) -> Ended: ...


class RecordedStreams:
    def rebuild(self, layers: Layers) -> Chunks:
        return chunks(RecordedSoFar(layers))

    def logs(self, layers: Layers) -> Logs:
        """The same that the audit files have: what nobody split is stdout."""
        out, err = tapes(RecordedSoFar(layers))
        found: dict[Log, str | None] = {"pty": layout.OUTPUT, "stdout": out, "stderr": err}
        known = recorded(layers)
        return {source: layers.read(tape) for source, tape in found.items() if tape in known}

    def parts(self) -> Mapping[str, Iterable[bytes]]:
        return {}

    def ended(self, how: Ended) -> Ended:
        return how


_STDIN = 0
_RELAY = 'read _ <"$1"; exec cat'


class HeldInput:
    def __init__(self) -> None:
        self._held = ExitStack()
        self.opening = ""  # words of a shell that open the gate; none when nothing is held

    def __enter__(self) -> Self:
        with ExitStack() as made:
            if _comes_from_elsewhere():
                self._hold(made)
            self._held = made.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._held.close()

    def _hold(self, made: ExitStack) -> None:
        gate, opened = _pipe(made)
        read, write = os.pipe()
        try:
            relay = subprocess.Popen(
                ["/bin/sh", "-c", _RELAY, "sh", _path(gate)],
                stdout=write,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Control-C is for the agent
            )
            made.callback(_end, relay)
            made.callback(_put_back, os.dup(_STDIN))
            os.dup2(read, _STDIN)
        finally:
            os.close(read)
            os.close(write)  # the relay alone has it: when that ends, so does the input
        self.opening = f"echo >{_path(opened)}; "


def _comes_from_elsewhere() -> bool:
    try:
        os.fstat(_STDIN)
    except OSError:
        return False
    return not os.isatty(_STDIN)


def _pipe(made: ExitStack) -> tuple[int, int]:
    ends = os.pipe()
    for end in ends:
        made.callback(os.close, end)
    return ends


def _path(fd: int) -> str:
    """For other processes: they open it by its name."""
    return f"/proc/{os.getpid()}/fd/{fd}"


def _end(relay: subprocess.Popen[bytes]) -> None:
    relay.kill()
    relay.wait()


def _put_back(saved: int) -> None:
    os.dup2(saved, _STDIN)
    os.close(saved)


STRACE: Literal["strace"] = "strace"
_TRACE, _RAW_OUT, _RAW_ERR = "trace", "raw-out", "raw-err"
_HELD = (_TRACE, _RAW_OUT, _RAW_ERR, STDOUT, STDERR)
_TRACED = ("-f", "-yy", "-s", "65535", "-e", "trace=write,writev", "-e", "write=1,2")
SECONDS = 10
_SIGNAL_BASE = 128
_BLOCK = 1 << 20
_KILLED = re.compile(rb"\+\+\+ killed by (SIG[A-Z0-9]+)")


class Programs(NamedTuple):
    script: str
    strace: str


def find_programs(environ: Mapping[str, str]) -> Programs:
    """Both are there and strace may trace, or the agent is not started."""
    found = {name: shutil.which(name, path=environ.get("PATH")) for name in ("script", "strace")}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        raise CaptureError(
            f"--observer strace needs a program that is not here: {', '.join(missing)}",
            hint="install it (script comes with util-linux or bsdutils), or leave --observer out",
        )
    programs = Programs(str(found["script"]), str(found["strace"]))
    if why := _why_not(programs.strace, environ):
        raise CaptureError(
            f"strace cannot trace here: {why}",
            hint="it needs ptrace: look at /proc/sys/kernel/yama/ptrace_scope, or leave --observer out",
        )
    return programs


def _why_not(strace: str, environ: Mapping[str, str]) -> str | None:
    """What stands in the way of a first small trace; None: nothing."""
    try:
        tried = subprocess.run(
            [strace, "-o", os.devnull, "true"],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it has not ended after {SECONDS} seconds"
    except OSError as error:
        return error.strerror or "it cannot be started"
    if tried.returncode == 0:
        return None
    said = tried.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else "it says nothing"


class StraceChain:
    def __init__(self, programs: Programs, redactor: Redactor) -> None:
        self._programs = programs
        self._redactor = redactor
        self._order: list[tuple[str, int]] = []  # the stream and the length of every write
        self._chunks = Chunks(0, 0)
        self._killed_by: set[str] = set()
        self._command: Sequence[str] = ("",)
        self._held: dict[str, int] = {}
        self._input = HeldInput()

    def __enter__(self) -> Self:
        try:
            self._input.__enter__()
            for name in _HELD:
                self._held[name] = os.memfd_create(f"steno-{name}")
        except OSError as error:
            self.__exit__(None, None, None)
            raise CaptureError(
                f"the chain of script and strace cannot be prepared: {error.strerror}",
                hint="leave --observer out",
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._input.__exit__(kind, error, where)
        while self._held:
            os.close(self._held.popitem()[1])

    def wrapped(self, command: Sequence[str], environ: Mapping[str, str]) -> list[str]:
        """script runs its command by $SHELL; it is given one that reads our quotes, and the agent its own."""
        self._command = command
        self._redactor.learn(self._redactor.secrets_in_argv(command))
        own_shell = [f"SHELL={environ['SHELL']}"] if "SHELL" in environ else ["-u", "SHELL"]
        traced = [self._programs.strace, *_TRACED, "-o", str(self._path(_TRACE)), "--", *command]
        logs = [f"--log-{name}={os.devnull}" for name in ("in", "out", "timing")]
        line = shlex.join(["env", *own_shell, *traced])
        inner = f"{self._input.opening}exec {line}"
        return ["env", "SHELL=/bin/sh", self._programs.script, "-qef", *logs, "--command", inner]

    def rebuild(self, layers: Layers) -> Chunks:  # noqa: ARG002 - of the protocol
        from steno.contracts.agent_audit.strace_reader import (  # late: few starts need it
            reconstruct,
            trace_file_lines,
        )

        out, err = self._path(_RAW_OUT), self._path(_RAW_ERR)
        with out.open("wb") as out_file, err.open("wb") as err_file:
            reconstruct(
                self._noting(trace_file_lines(self._path(_TRACE))),
                _Noted(out_file, STDOUT, self._order),
                _Noted(err_file, STDERR, self._order),
            )
        for raw, stream in ((out, STDOUT), (err, STDERR)):
            self._mask(raw, self._path(stream), stream)
        self._chunks = Chunks(self._writes(STDOUT), self._writes(STDERR))
        return self._chunks

    def logs(self, layers: Layers) -> Logs:
        return {
            "pty": layers.read(layout.OUTPUT),
            "stdout": _blocks(self._path(STDOUT)),
            "stderr": _blocks(self._path(STDERR)),
        }

    def parts(self) -> Mapping[str, Iterable[bytes]]:
        return {
            "stdout": _blocks(self._path(STDOUT)),
            "stderr": _blocks(self._path(STDERR)),
            "fd-trace": trace(self._pieces(), pid=1, pts=0),
        }

    def ended(self, how: Ended) -> Ended:
        """script and strace pass a signal on as 128+n; the trace tells that there was one."""
        number = (how.exit_code or 0) - _SIGNAL_BASE
        names = {signal_name(number)} & self._killed_by
        program, *arguments = self._redactor.argv(self._command, "command")
        return how._replace(
            launch=Launch(program, arguments, how.launch.cwd),
            trace_source=STRACE,
            chunks=self._chunks,
            signal=how.signal or next(iter(names), None),
        )

    def _path(self, name: str) -> Path:
        """For us and for strace, which is another process; every opening begins at the beginning."""
        return Path(f"/proc/{os.getpid()}/fd/{self._held[name]}")

    def _noting(self, lines: Iterable[bytes | LineTooLongError]) -> Iterator[bytes | LineTooLongError]:
        for line in lines:
            if isinstance(line, bytes) and (found := _KILLED.search(line)):
                self._killed_by.add(found[1].decode())
            yield line

    def _writes(self, stream: str) -> int:
        return sum(-(-length // MOST_SHOWN) for written, length in self._order if written == stream)

    def _mask(self, raw: Path, masked: Path, stream: str) -> None:
        masker = self._redactor.stream(stream)
        with masked.open("wb") as file:
            for block in _blocks(raw):
                file.write(masker.feed(block))
            file.write(masker.close())

    def _pieces(self) -> Iterator[Piece]:
        with self._path(STDOUT).open("rb") as out, self._path(STDERR).open("rb") as err:
            streams = {STDOUT: out, STDERR: err}
            for number, (stream, length) in enumerate(self._order):
                yield Piece(number, stream, streams[stream].read(length))


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


class _Noted:
    """A file that notes in which order it and its twin were written to."""

    def __init__(self, file: BinaryIO, stream: str, order: list[tuple[str, int]]) -> None:
        self._file = file
        self._stream = stream
        self._order = order

    def write(self, data: bytes) -> int:
        self._order.append((self._stream, len(data)))
        return self._file.write(data)
