"""Facts of the machine and of the environment the command is given.

In: nothing but the process's own surroundings. Out: `Host`, tool versions (best effort: a tool that is
missing or slow is simply not listed) and the environment with values only where they are harmless.
"""

from __future__ import annotations

import os
import platform
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress

from steno.events.kinds import Host

_SECONDS = 5.0
_TOOLS = {"git": ("git", "--version"), "node": ("node", "--version")}
# Every name is recorded; a value only when it cannot say more than how programs format and find things.
_HARMLESS = frozenset(
    {
        "CI",
        "COLORTERM",
        "COLUMNS",
        "EDITOR",
        "FORCE_COLOR",
        "HOME",
        "LANG",
        "LANGUAGE",
        "LINES",
        "LOGNAME",
        "NO_COLOR",
        "PAGER",
        "PATH",
        "PWD",
        "SHELL",
        "TERM",
        "TERM_PROGRAM",
        "TMPDIR",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
        "VISUAL",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    }
)


def describe_host() -> Host:
    system = os.uname()
    return Host(
        os=system.sysname,
        release=system.release,
        machine=system.machine,
        platform=sys.platform,
        name=socket.gethostname(),
    )


def describe_environment(environ: Mapping[str, str]) -> dict[str, str | None]:
    def value(name: str) -> str | None:
        return environ[name] if name in _HARMLESS or name.startswith("LC_") else None

    return {name: value(name) for name in sorted(environ)}


class ToolVersions:
    """Asks each tool for its version while other work goes on."""

    def __init__(self) -> None:
        self._asked: dict[str, subprocess.Popen[bytes]] = {}
        for name, command in _TOOLS.items():
            with suppress(OSError):
                self._asked[name] = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                )

    def collect(self) -> dict[str, str]:
        versions = {"python": platform.python_version()}
        for name, process in self._asked.items():
            try:
                answer, _ = process.communicate(timeout=_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                continue
            if process.returncode == 0 and answer.strip():
                versions[name] = answer.decode("utf-8", "replace").strip().splitlines()[0].split()[-1]
        return versions
