"""`steno mcp pin`: a server is started, asked for its tools, and ended; the pin file is written anew.

The file is replaced as a whole or not at all, and the pins of other servers stay. No tool is called.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from steno import __version__
from steno.errors import BadPolicyError, BadRequestError
from steno.lines import LineSplitter, LineTooLongError
from steno.mcp import pins, protocol
from steno.mcp.pins import ServerPins
from steno.mcp.policy import loader
from steno.mcp.policy.constraints import quoted
from steno.mcp.protocol import CURRENT_VERSION, LEGACY_VERSIONS, METHOD_NOT_FOUND, VERSION_KEY

SECONDS = 30
MAX_LINE = 64 << 20
MAX_PAGES = 1000
_SHOWN = 3
_CLIENT = {"name": "steno", "version": __version__}
_META = {
    VERSION_KEY: CURRENT_VERSION,
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_GRACE_SECONDS = 2.0
_BLOCK = 1 << 16
_HINT = "the command must start an MCP server that speaks on stdin and stdout; its own messages are above"


class Change(NamedTuple):
    tool: str
    what: Literal["added", "removed", "changed"]
    parts: str  # of what is changed: the parts of its definition that are


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
    """`is_default`: nobody chose the label, so another server may have it."""
    path = loader.read(policy).pin_file()
    if path is None:
        raise BadPolicyError(
            [f"{policy}: there is no pin file to write"], hint="add a line `pins: FILE` to it"
        )
    servers = loader.read_pins(path) if path.exists() else {}
    before, after = servers.get(label, {}), pin_server(command)
    lost = sorted(before.keys() - after.keys())
    if is_default and lost:
        raise BadRequestError(
            f"{label!r} is pinned with tools that this server lacks, as another server may: {_few(lost)}",
            hint=f"`--label {shlex.quote(label)}` replaces these pins; another label keeps them",
        )
    _replace(path, pins.write({**servers, label: after}))
    return Pinning(path, label, len(after), list(_changes(before, after)))


def pin_server(command: list[str], seconds: float = SECONDS) -> ServerPins:
    """The pins of a server as it is now. It is started and ended."""
    try:
        return pins.of_listing(list_tools(command, seconds))
    except pins.BadPinsError as error:
        raise BadRequestError(str(error), hint="such a server cannot be pinned") from None


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(map(quoted, names[:_SHOWN])) + more


def _changes(before: ServerPins, after: ServerPins) -> Iterator[Change]:
    for tool in sorted({*before, *after}):
        if tool not in before:
            yield Change(tool, "added", "")
        elif tool not in after:
            yield Change(tool, "removed", "")
        elif parts := pins.differences(before[tool], after[tool]):
            yield Change(tool, "changed", parts)


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


# --- a client that only lists ---------------------------------------------------------------------------


def list_tools(command: list[str], seconds: float) -> list[dict[str, Any]]:
    """The tools of all pages as the server wrote them, asked for as a client of either era."""
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadRequestError(f"the server {command[0]!r} cannot be started: {why}", hint=_HINT) from None
    try:
        conversation = _Conversation(process, time.monotonic() + seconds)
        return _all_pages(conversation, _handshake(conversation))
    finally:
        _end(process)


def _handshake(conversation: _Conversation) -> dict[str, Any]:
    """What every later request carries: nothing in the legacy era, who we are in the current one."""
    params = {"protocolVersion": LEGACY_VERSIONS[-1], "capabilities": {}, "clientInfo": _CLIENT}
    if "result" not in conversation.ask(protocol.INITIALIZE, params):
        return {"_meta": _META}
    conversation.send(protocol.request("notifications/initialized", {}))
    return {}


def _all_pages(conversation: _Conversation, common: dict[str, Any]) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    seen: set[str] = set()
    params = common
    while True:
        result = conversation.ask(protocol.LIST_TOOLS, params).get("result")
        if not isinstance(result, dict) or not isinstance(result.get("tools"), list):
            raise _failure("does not list its tools")
        tools += [tool for tool in result["tools"] if isinstance(tool, dict)]
        cursor = result.get("nextCursor")
        if not isinstance(cursor, str):
            return tools
        if cursor in seen or len(seen) >= MAX_PAGES:
            raise _failure("lists its tools without an end")
        seen.add(cursor)
        params = {**common, "cursor": cursor}


class _Conversation:
    def __init__(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        if process.stdin is None or process.stdout is None:
            raise ValueError("the server has no pipes")
        self._input, self._output = process.stdin.fileno(), process.stdout.fileno()
        self._deadline = deadline
        self._messages = self._read()
        self._number = 0
        for descriptor in (self._input, self._output):
            os.set_blocking(descriptor, False)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self.send(protocol.request(method, params, self._number))
        for message in self._messages:
            if "method" in message:
                self._answer(message)
            elif message.get("id") == self._number:
                return message
        raise _failure("ended before it listed its tools")

    def send(self, message: bytes) -> None:
        while message:
            self._wait(self._input, select.POLLOUT)
            try:
                message = message[os.write(self._input, message) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise _failure("ended before it listed its tools") from None

    def _answer(self, request: dict[str, Any]) -> None:
        if "id" in request:
            is_ping = request["method"] == "ping"
            not_here = protocol.error(request["id"], METHOD_NOT_FOUND, "this client only lists tools")
            self.send(protocol.result(request["id"], {}) if is_ping else not_here)

    def _read(self) -> Iterator[dict[str, Any]]:
        """Until the server closes its output. Lines that are no messages are passed over."""
        lines = LineSplitter(MAX_LINE)
        while True:
            self._wait(self._output, select.POLLIN)
            try:
                block = os.read(self._output, _BLOCK)
            except BlockingIOError:
                continue
            if not block:
                return
            for line in lines.feed(block):
                if isinstance(line, LineTooLongError):
                    raise _failure("wrote a line that is too long")
                with contextlib.suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    message = msgspec.json.decode(line)
                    if isinstance(message, dict):
                        yield message

    def _wait(self, descriptor: int, event: int) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        left = self._deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise _failure("did not answer in time")


def _failure(what: str) -> BadRequestError:
    return BadRequestError(f"the server {what}", hint=_HINT)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The server and all of its group: a shell may have started it. It is not reaped before, so the group's
    number stays its own."""
    if process.stdin is not None:
        process.stdin.close()
    for number in (signal.SIGTERM, signal.SIGKILL):
        _wait_until_silent(process)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
    if process.stdout is not None:
        process.stdout.close()
    process.wait()


def _wait_until_silent(process: subprocess.Popen[bytes]) -> None:
    """Until nobody can write to us any more, which is when all of them have ended, or time is over."""
    deadline = time.monotonic() + _GRACE_SECONDS
    if process.stdout is None:
        return
    poll = select.poll()
    poll.register(process.stdout, select.POLLIN)
    while (left := deadline - time.monotonic()) > 0 and poll.poll(left * 1000):
        if not os.read(process.stdout.fileno(), _BLOCK):
            return
