"""Running programs as an ordinary user, also when the tests are run by root.

Root can read every process and every file, so most of what may go wrong for a user never goes wrong for root.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from support.program import IDENTITY, PROGRAM, SECONDS
from support.recorded import Recorded

Tree = dict[str, tuple[int, str]]

NOBODY = 65534
_CHECKOUT = Path(__file__).parents[2]


@cache
def may_mount(*options: str) -> bool:
    """Whether a mount namespace of our own can be made and changed; root in a container may often not."""
    words = ["unshare", *options, "--mount", "mount", "--make-rprivate", "/"]
    return subprocess.run(words, capture_output=True, timeout=SECONDS, check=False).returncode == 0


root_may_mount = pytest.mark.skipif(os.geteuid() != 0 or not may_mount(), reason="needs root who may mount")


def user_id() -> int:
    return NOBODY if os.getuid() == 0 else os.getuid()


@contextmanager
def place_of_the_user() -> Iterator[Path]:
    """A directory that belongs to the user, and that the user can reach."""
    path = Path(tempfile.mkdtemp(prefix="steno-user-"))
    if os.getuid() == 0:
        os.chown(path, NOBODY, NOBODY)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def give_to_the_user(path: Path) -> None:
    if os.getuid() == 0:
        for below in [path, *path.rglob("*")]:
            os.chown(below, NOBODY, NOBODY, follow_symlinks=False)


def as_the_user(stash: Path) -> list[str]:
    """The words to put before a command; `stash` is an empty directory for a mount that only it sees."""
    if os.getuid() != 0:
        return []
    change = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all", "--"]
    hidden = {
        shown: closed for shown in (Path(sys.base_prefix), _CHECKOUT) if (closed := _closed_above(shown))
    }
    if not hidden:
        return change
    if not may_mount():
        pytest.skip(
            f"nobody else can reach what lies in {min(hidden.values())}, and it cannot be mounted elsewhere"
        )
    return ["unshare", "--mount", "sh", "-c", _showing(hidden, stash), "sh", *change]


def _closed_above(path: Path) -> Path | None:
    """The first directory on the way to it that others may not pass: many homes are so."""
    return next((each for each in reversed(path.parents) if not each.stat().st_mode & stat.S_IXOTH), None)


def _showing(hidden: Mapping[Path, Path], stash: Path) -> str:
    """A script that shows the user what lies below closed directories, in a mount namespace of its own."""
    kept = {shown: stash / str(number) for number, shown in enumerate(hidden)}
    steps: list[list[str | Path]] = [
        ["mount", "--make-rprivate", "/"],
        ["mount", "-t", "tmpfs", "none", stash],
    ]
    for shown, place in kept.items():
        steps += [["mkdir", place], ["mount", "--bind", shown, place]]
    steps += [["mount", "-t", "tmpfs", "-o", "mode=755", "none", closed] for closed in set(hidden.values())]
    for shown, place in kept.items():
        steps += [["mkdir", "-p", shown], ["mount", "--bind", place, shown]]
    return "\n".join(["set -e", *(shlex.join(map(str, words)) for words in steps), 'exec "$@"'])


class Somebody:
    """A user with a home, who can work in a place bare or recorded."""

    def __init__(self, base: Path, before: list[str]) -> None:
        self._before = before
        self.base = base
        self.store = base / "home" / "runs"
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or "/usr/bin/python3"
        self.env = {**kept, **IDENTITY, "HOME": str(base / "home"), "TERM": "xterm", "PYTHON": python}
        (base / "home").mkdir()

    def work(self, script: str, *before: str) -> tuple[int, bytes, bytes, Tree]:
        """A script, and what it leaves behind."""
        return self.do([*before, "bash", "--norc", "--noprofile", "-c", script])

    def do(self, command: Sequence[str]) -> tuple[int, bytes, bytes, Tree]:
        place = self.base / "work"
        place.mkdir()
        if self._before:
            give_to_the_user(self.base)
        done = subprocess.run(
            [*self._before, *command],
            capture_output=True,
            cwd=place,
            env=self.env,
            stdin=subprocess.DEVNULL,
            timeout=240,
            check=False,
        )
        left = tree(place)
        shutil.rmtree(place)
        return done.returncode, done.stdout, done.stderr, left

    @property
    def recorded(self) -> list[str]:
        return [str(PROGRAM), "run", "--no-git", "--store", str(self.store), "--"]

    def run(self) -> Recorded:
        (path,) = [path for path in self.store.iterdir() if path.is_dir() and not path.name.startswith(".")]
        return Recorded(path)


def tree(place: Path) -> Tree:
    """What lies there: modes, and hashes of the contents that do not hold times."""
    found = {}
    for path in sorted(place.rglob("*")):
        mode = path.lstat().st_mode
        told = ""
        if stat.S_ISLNK(mode):
            told = str(path.readlink())
        elif stat.S_ISREG(mode) and path.suffix in {"", ".c", ".txt", ".js"} and ".git" not in path.parts:
            told = hashlib.sha256(path.read_bytes()).hexdigest()
        found[str(path.relative_to(place))] = (mode, told)
    return {name: entry for name, entry in found.items() if "/.git/" not in f"/{name}"}
