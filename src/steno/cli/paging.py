"""Long text on a terminal goes through the user's pager, as git does it.

In: lines that are safe to print. Out: the lines, on stdout; when stdout is a terminal and they are more than
it can show at once, through `STENO_PAGER`, else `PAGER`, else less. An empty one, or `cat`, says that no
pager is wanted. `LESS` is set to `FRX` where the user has not set it. A reader who leaves early is no error.
Never starts a pager for what fits, and never reads more lines than somebody looks at.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain

from steno.cli.opening import print_lines
from steno.text.style import columns_shown

_VARIABLES = ("STENO_PAGER", "PAGER")
_NO_PAGER = {"", "cat"}
_USUAL = "less"
_USUAL_SETTINGS = {"LESS": "FRX", "LV": "-c"}


def print_paged(lines: Iterable[str]) -> None:
    """Print lines that a view has made, of which there may be many."""
    pager = _pager(os.environ) if sys.stdout.isatty() else None
    if pager is None:
        print_lines(lines)
        return
    first, rest = _one_screen(iter(lines), shutil.get_terminal_size(fallback=(80, 0)))
    if rest is None:
        print_lines(first)
    else:
        _page(pager, chain(first, rest))


def _pager(environ: Mapping[str, str]) -> str | None:
    """The command of the user's pager; None: no pager, or none that there is."""
    wanted = next((environ[name] for name in _VARIABLES if name in environ), _USUAL)
    if wanted.strip() in _NO_PAGER or environ.get("TERM", "") in {"", "dumb"}:
        return None
    return wanted if shutil.which(wanted.split()[0]) else None


def _one_screen(lines: Iterator[str], size: os.terminal_size) -> tuple[Iterable[str], Iterator[str] | None]:
    """As many lines as fit above the next prompt, and what comes after them, if anything does.

    A terminal that does not tell its size has nobody in front of it: everything fits.
    """
    if size.lines <= 0:
        return lines, None
    taken: list[str] = []
    used = 0
    for line in lines:
        taken.append(line)
        used += max(-(-columns_shown(line) // max(size.columns, 1)), 1)
        if used >= size.lines:
            return taken, lines
    return taken, None


def _page(pager: str, lines: Iterator[str]) -> None:
    import subprocess  # late: most output fits, and start-up has a budget

    settings = {name: value for name, value in _USUAL_SETTINGS.items() if name not in os.environ}
    sys.stdout.flush()
    child = subprocess.Popen(["/bin/sh", "-c", pager], stdin=subprocess.PIPE, env={**os.environ, **settings})
    with _left_to_the_pager():
        try:
            assert child.stdin is not None  # noqa: S101 - it was asked for
            with suppress(BrokenPipeError), child.stdin as into:
                for line in lines:
                    into.write(line.encode("utf-8", "backslashreplace") + b"\n")
        finally:
            child.wait()


@contextmanager
def _left_to_the_pager() -> Iterator[None]:
    """Control-C means something to a pager; it must not take away from it what it shows."""
    before: Callable[..., object] | int | None = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
