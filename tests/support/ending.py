"""A pytest plugin: whatever a test that failed has left running is ended with it.

A test ends what it started; one that fails before it comes to that cannot. Such processes work in the test's
own directory, or name it in their words or their environment: these are killed, until there are none. Never
touches a process of another test.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

_SHOWN = 200
_ROUNDS = 20  # what is killed may have started another one meanwhile


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    place = getattr(item, "funcargs", {}).get("tmp_path")
    if report.failed and isinstance(place, Path):
        for pid, words in end_those_of(place):
            report.sections.append(("left running, and ended", f"{pid} {words[:_SHOWN]}"))
    return report


def end_those_of(place: Path) -> list[tuple[int, str]]:
    """What was ended: numbers and command lines."""
    ended = []
    for _ in range(_ROUNDS):
        found = list(_of(os.fsencode(place)))
        if not found:
            break
        for pid in found:
            ended.append((pid, _read(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace")))
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    return ended


def _of(place: bytes) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (pid := int(entry.name)) != os.getpid():
            told = (_read(pid, "cmdline"), _read(pid, "environ"), _working_directory(pid) + b"/")
            if any(place + b"/" in one or place + b"\0" in one for one in told) and _is_alive(pid):
                yield pid


def _is_alive(pid: int) -> bool:
    """A dead one that nobody has reaped yet needs no killing."""
    return _read(pid, "stat").rpartition(b") ")[2][:1] not in {b"", b"Z", b"X"}


def _read(pid: int, name: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_bytes()
    return b""


def _working_directory(pid: int) -> bytes:
    with suppress(OSError):
        return os.fsencode(Path(f"/proc/{pid}/cwd").readlink())
    return b""
