"""Traces that strace made of real programs on a real terminal, rebuilt by the installed program."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from steno.contracts.agent_audit.streams import Piece, trace
from support.program import Steno
from support.screen import Screen

STRACE = ["strace", "-f", "-yy", "-s", "65535", "-e", "trace=write,writev", "-e", "write=1,2"]

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")


class Traced:
    """Runs a program on a terminal under strace, and rebuilds its streams."""

    def __init__(self, steno: Steno, env: dict[str, str], folder: Path) -> None:
        self._steno = steno
        self._env = env
        self.folder = folder
        self.log = folder / "trace.log"

    def __call__(self, *words: str, strace: list[str] = STRACE) -> tuple[bytes, bytes, dict[str, Any]]:
        Screen([*strace, "-o", str(self.log), *words], self._env, self.folder).rest()
        done = self._steno("agent", "reconstruct", self.log, "out", "err", "--json", cwd=self.folder)
        assert done.returncode == (3 if self.lost(done.stdout) else 0), done.stderr
        return (
            (self.folder / "out").read_bytes(),
            (self.folder / "err").read_bytes(),
            json.loads(done.stdout),
        )

    @staticmethod
    def lost(data: bytes) -> int:
        found = {entry["code"]: entry["count"] for entry in json.loads(data)["diagnostics"]}
        return int(found.get("BYTES_LOST", 0))


@pytest.fixture
def traced(steno: Steno, clean_env: dict[str, str], tmp_path: Path) -> Traced:
    return Traced(steno, clean_env, tmp_path)


PROGRAM = r"""
import os
os.write(1, bytes(range(256)) + b"7 \xe2\x82")
os.write(2, b"\xc3")
os.write(1, b"\xac\n")
os.write(2, b"\xa9\n")
os.writev(1, [b"one ", b"", b"two\n"])
os.writev(2, [b"%d" % (n % 10) for n in range(60)])
os.write(1, b"x" * 70000 + b"end\n")
with open("file", "wb") as file: file.write(b"not on the terminal")
"""


def test_all_bytes_of_a_program_come_back(traced: Traced) -> None:
    out, err, made = traced(sys.executable, "-c", PROGRAM)
    assert out == bytes(range(256)) + b"7 \xe2\x82\xac\none two\n" + b"x" * 70000 + b"end\n"
    assert err == "é\n".encode() + b"0123456789" * 6
    assert (made["stdoutChunks"], made["stderrChunks"], made["byDescriptor"]) == (4, 3, 7)
    assert made["diagnostics"] == []


def test_what_strace_cut_without_a_dump_is_told(traced: Traced) -> None:
    words = ["strace", "-f", "-yy", "-s", "10", "-e", "trace=write"]
    out, _, made = traced(sys.executable, "-c", "import os; os.write(1, b'0123456789abc')", strace=words)
    assert out == b"0123456789"
    assert made["diagnostics"] == [{"code": "BYTES_LOST", "count": 3}]


PROCESSES = r"""
import os
children = []
for name in (b"a", b"b", b"c"):
    child = os.fork()
    if child == 0:
        for _ in range(50): os.write(1, name * 100)
        os._exit(0)
    children.append(child)
for child in children: os.waitpid(child, 0)
"""


def test_many_processes_at_once_lose_nothing(traced: Traced) -> None:
    out, _, made = traced(sys.executable, "-c", PROCESSES)
    assert [out.count(name) for name in (b"a", b"b", b"c")] == [5000, 5000, 5000]
    assert made["stdoutChunks"] == 150
    assert made["diagnostics"] == []


def test_one_process_needs_no_numbers_before_its_lines(traced: Traced) -> None:
    out, err, _ = traced("sh", "-c", "printf out", strace=["strace", "-yy", "-e", "trace=write"])
    assert (out, err) == (b"out", b"")


PARTIAL = r"""
import fcntl, os, pty, tty
ours, theirs = pty.openpty()
tty.setraw(theirs)
os.dup2(theirs, 1)
os.set_blocking(1, False)
written = 0
while True:
    try: written += os.write(1, b"ab" * 9000)
    except BlockingIOError: break
open("written", "w").write(str(written))
"""


def test_a_terminal_that_takes_only_a_part_gets_only_that_part(traced: Traced) -> None:
    out, _, _ = traced(sys.executable, "-c", PARTIAL)
    written = int((traced.folder / "written").read_text())
    assert written % 18000 != 0
    assert out == (b"ab" * 9000 * 9)[:written]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_node_which_writes_on_descriptors_of_its_own_is_split(traced: Traced) -> None:
    out, err, made = traced("node", "-e", "console.log('é out'); console.error('err'); console.log('again')")
    assert (out, err) == ("é out\nagain\n".encode(), b"err\n")
    assert made["byFirstUnoccupied"] == 3


def test_our_lines_are_those_of_strace_byte_for_byte(traced: Traced) -> None:
    program = "import os; os.write(1, bytes(range(256)) + b'8'); os.write(2, b'e'); os.write(1, b'x' * 65535)"
    words = ["strace", "-f", "-yy", "-s", "65535", "-e", "trace=write"]
    out, err, _ = traced(sys.executable, "-c", program, strace=words)
    lines = [line for line in traced.log.read_bytes().splitlines(keepends=True) if b" write(" in line]
    found = re.match(rb"(\d+) +write\(1</dev/pts/(\d+)<", lines[0])
    assert found
    pieces = [Piece(0, "stdout", out[:-65535]), Piece(1, "stderr", err), Piece(2, "stdout", out[-65535:])]
    assert list(trace(pieces, pid=int(found[1]), pts=int(found[2]))) == lines


def test_files_that_cannot_be_used_are_refused_and_nothing_is_changed(steno: Steno, tmp_path: Path) -> None:
    log = tmp_path / "trace.log"
    log.write_bytes(b'1 write(1</dev/pts/3>, "a", 1) = 1\n')
    (tmp_path / "there").write_bytes(b"precious")
    for words in (
        ["missing", "out", "err"],
        [".", "out", "err"],
        ["trace.log", "there", "err"],
        ["trace.log", "out", "there"],
        ["trace.log", "trace.log", "err"],
        ["trace.log", "out", "out"],
        ["trace.log", "out"],
    ):
        done = steno("agent", "reconstruct", *words)
        assert done.returncode == 2, words
        assert b"hint: " in done.stderr
        assert b"Traceback" not in done.stderr
        (tmp_path / "err").unlink(missing_ok=True)
    assert steno("agent", "reconstruct", "trace.log", "no/where", "err").returncode == 125
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"trace.log", "there"}
    assert (tmp_path / "there").read_bytes() == b"precious"
    assert log.stat().st_size > 0


def test_a_file_that_is_no_trace_is_told_with_a_hint(steno: Steno, tmp_path: Path) -> None:
    (tmp_path / "junk").write_text("junk\n")
    done = steno("agent", "reconstruct", "junk", "o", "e")
    assert done.returncode == 3
    assert done.stderr.startswith(b"steno: NOT_A_TRACE: 1 line unlike those that strace writes, and ")
    assert b"\nhint: name a file that " in done.stderr


def test_a_device_may_stand_for_a_file(steno: Steno, tmp_path: Path) -> None:
    (tmp_path / "trace.log").write_bytes(b'1 write(1</dev/pts/3>, "a", 1) = 1\n')
    done = steno("agent", "reconstruct", "trace.log", "out", "/dev/null")
    assert (done.returncode, (tmp_path / "out").read_bytes()) == (0, b"a")
