"""The examples of README.md, run for real: `--write` refreshes their output, a test compares it.

Each `console` block of the README is a sequence of `$ ` lines and what they show on a terminal, all in one
home of their own. What changes from run to run (ids, times, digests, places, the machine) is compared as a
word in angle brackets.
"""

# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import argparse
import os
import pty
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
CONTROL_SEQUENCE = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\(B|>)|\x0f|\r(?=\r*\n)")
BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```)", re.DOTALL)
VARYING = (
    (re.compile(r"\d{4}-\d{2}-\d{2}T[\d-]+Z_[0-9a-f]{8}"), "<run>"),
    (re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} \+0000"), "<when>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<digest>"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "<commit>"),
    (re.compile(r"\d+\.\d+s"), "<seconds>"),
    (re.compile(r"\d+(\.\d+)? [KMG]iB"), "<size>"),
    (re.compile(r"^( +on) .*$", re.MULTILINE), r"\1 <machine>"),
    (re.compile(r"(?<= )/\S+"), "<path>"),
    (re.compile(r"^.*of memory at most\n", re.MULTILINE), ""),
)


def run_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Each block of the README as it stands, and as it comes out now."""
    with tempfile.TemporaryDirectory(prefix="steno-readme-") as scratch:
        shell = _Shell(Path(scratch))
        for block in BLOCK.findall(text):
            yield block, "".join(f"$ {line}\n{shell.run(line)}" for line in _commands(block))


def normalised(text: str) -> str:
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text


def _commands(block: str) -> list[str]:
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


class _Shell:
    """One directory after the other, as a person would go; output and messages as they would see them."""

    def __init__(self, home: Path) -> None:
        self._home = self._cwd = home
        (home / "steno").symlink_to(README.parent)  # where a reader has it
        self._env = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            "NO_COLOR": "1",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_NAME": "Ada",
            "GIT_AUTHOR_EMAIL": "ada@example.org",
            "GIT_COMMITTER_NAME": "Ada",
            "GIT_COMMITTER_EMAIL": "ada@example.org",
        }

    def run(self, line: str) -> str:
        """What the line shows on a terminal; the next one starts where this one ended."""
        where = self._home / "where"
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self._cwd)
            os.execvpe("bash", ["bash", "-c", f"{line}\npwd >{where}"], self._env)
        shown = b"".join(iter(lambda: _read(terminal), b""))
        os.waitpid(pid, 0)
        os.close(terminal)
        self._cwd = Path(where.read_text().strip())
        text = CONTROL_SEQUENCE.sub("", shown.decode())
        return text.replace(str(self._home), "/home/ada")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # everything on the terminal has ended
        return b""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the output of now into README.md")
    options = parser.parse_args()
    text = README.read_text()
    for written, now in run_blocks(text):
        text = text.replace(written, now)
    if options.write:
        README.write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()
