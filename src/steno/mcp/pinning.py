"""Pinning the tools of a server: it is started, asked for its tools, and ended; the pin file is written anew.

In: a policy file that names a pin file, a command, a label. Out: what changed against the pins that were
there. The file is replaced as a whole or not at all, and the pins of other servers stay. No tool is called.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from pathlib import Path
from typing import Any, Literal, NamedTuple

from steno.errors import BadPolicyError, BadRequestError
from steno.mcp import pins, policy_file
from steno.mcp.constraints import quoted
from steno.mcp.pins import ServerPins
from steno.mcp.tool_lister import list_tools

SECONDS = 30
_SHOWN = 3


class Change(NamedTuple):
    tool: str
    what: Literal["added", "removed", "changed"]
    parts: str  # of what is changed: the parts of its definition that are


class Pinned(NamedTuple):
    label: str
    tools: ServerPins


class Pinning(NamedTuple):
    path: Path
    label: str
    tools: int
    changes: list[Change]

    def plain(self) -> dict[str, Any]:
        return {
            "file": str(self.path),
            "server": self.label,
            "tools": self.tools,
            "changes": [change._asdict() for change in self.changes],
        }


def pin(policy: Path, command: list[str], label: str, *, is_default: bool = False) -> Pinning:
    """All of `steno mcp pin`. `is_default`: nobody chose the label, so another server may have it."""
    path = policy_file.read(policy).pin_file()
    if path is None:
        raise BadPolicyError(
            [f"{policy}: there is no pin file to write"], hint="add a line `pins: FILE` to it"
        )
    servers = policy_file.read_pins(path) if path.exists() else {}
    pinned = pin_server(command, label)
    lost = sorted(servers.get(label, {}).keys() - pinned.tools.keys())
    if is_default and lost:
        raise BadRequestError(
            f"{label!r} is pinned with tools that this server lacks, as another server may: {_few(lost)}",
            hint=f"`--label {shlex.quote(label)}` replaces these pins; another label keeps them",
        )
    changes = _changes(servers.get(label, {}), pinned.tools)
    _replace(path, pins.write({**servers, label: pinned.tools}))
    return Pinning(path, label, len(pinned.tools), changes)


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(quoted, names[:_SHOWN])) + more


def pin_server(command: list[str], label: str, seconds: float = SECONDS) -> Pinned:
    """The pins of a server as it is now. It is started and ended."""
    try:
        return Pinned(label, pins.of_listing(list_tools(command, seconds)))
    except pins.BadPinsError as error:
        raise BadRequestError(str(error), hint="such a server cannot be pinned") from None


def _changes(before: ServerPins, after: ServerPins) -> list[Change]:
    found: list[Change] = []
    for tool in sorted({*before, *after}):
        if tool not in before:
            found.append(Change(tool, "added", ""))
        elif tool not in after:
            found.append(Change(tool, "removed", ""))
        elif parts := pins.differences(before[tool], after[tool]):
            found.append(Change(tool, "changed", parts))
    return found


def _replace(path: Path, data: bytes) -> None:
    temporary = ""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".pins-", delete=False) as file:
            temporary = file.name
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o644)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        message = f"the pin file {path} cannot be written: {error.strerror}"
        raise BadRequestError(message, hint="check the folder and the disk") from None
