"""What commands print: data on stdout, messages on stderr, and a pager for what is longer than the terminal.

Nothing is printed that could change the user's terminal: all text passes `text.safe`.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

import click

from steno.evidence import canonical
from steno.text.safe import utf8, visible, visible_json
from steno.text.style import Paint, columns_shown, paint_for

_VARIABLES = ("STENO_PAGER", "PAGER")
_NO_PAGER = {"", "cat"}
_USUAL = "less"
_USUAL_SETTINGS = {"LESS": "FRX", "LV": "-c"}


def print_json(value: Any) -> None:
    text = canonical.encode(utf8(value)).decode()
    click.echo(visible_json(text) if sys.stdout.isatty() else text)


def print_lines(lines: Iterable[str]) -> None:
    """Lines that a view has made: their text is visible already, their colours are ours."""
    for line in lines:
        click.echo(line, color=True)


def print_path(path: Path) -> None:
    """A path is data for the next program, byte for byte; on a terminal it is text like any other."""
    if sys.stdout.isatty():
        click.echo(visible(str(path)))
    else:
        click.echo(os.fsencode(path))


def place_of_file(output: str | None, name: str) -> Path:
    """Where -o says that a file goes: under this name if it says nothing, or a directory."""
    path = Path(output or name).absolute()
    return path / name if path.is_dir() else path


def say_if_incomplete(gaps: Iterable[str]) -> None:
    if gaps := list(gaps):
        say(f"the record is incomplete: {', '.join(gaps)}")


def terminal_width() -> int | None:
    """How wide a line may be; what goes to a file or another program is not cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def paint() -> Paint:
    return paint_for(os.environ, on_terminal=sys.stdout.isatty())


def say(message: str) -> None:
    """Where nobody hears it, the exit code still says what is to be said."""
    with suppress(OSError):
        click.echo(f"steno: {visible(message)}", err=True)


def say_hint(message: str) -> None:
    with suppress(OSError):
        click.echo(f"hint: {visible(message)}", err=True)


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
