"""Asking an MCP server on stdio for its tools, as a client of either era.

In: the command of a server, and how long it may take. Out: the tools of all pages as the server wrote them,
or `BadRequestError` that says what went wrong. Lines that are no answer to us are passed over; a request of
the server is answered with "not here". The server is ended before this returns. Calls no tool.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from typing import Any

import msgspec

from steno import __version__
from steno.errors import BadRequestError

MAX_LINE = 64 << 20
MAX_PAGES = 1000
_LEGACY = "2025-11-25"
_CURRENT = "2026-07-28"
_CLIENT = {"name": "steno", "version": __version__}
_META = {
    "io.modelcontextprotocol/protocolVersion": _CURRENT,
    "io.modelcontextprotocol/clientInfo": _CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_NOT_HERE = {"code": -32601, "message": "this client only lists tools"}
_GRACE_SECONDS = 2.0
_HINT = "the command must start an MCP server that speaks on stdin and stdout; its own messages are above"


def list_tools(command: list[str], seconds: float) -> list[dict[str, Any]]:
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
    params = {"protocolVersion": _LEGACY, "capabilities": {}, "clientInfo": _CLIENT}
    if "result" not in conversation.request("initialize", params):
        return {"_meta": _META}
    conversation.send({"method": "notifications/initialized"})
    return {}


def _all_pages(conversation: _Conversation, common: dict[str, Any]) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    seen: set[str] = set()
    params = common
    while True:
        result = conversation.request("tools/list", params).get("result")
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
        self._unread = bytearray()
        self._number = 0
        for descriptor in (self._input, self._output):
            os.set_blocking(descriptor, False)

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        while True:
            message = _message(self._line())
            if message is None:
                continue
            if "method" in message:
                self._answer(message)
            elif message.get("id") == self._number:
                return message

    def send(self, message: dict[str, Any]) -> None:
        waiting = msgspec.json.encode({"jsonrpc": "2.0", **message}) + b"\n"
        while waiting:
            self._wait(self._input, select.POLLOUT)
            try:
                waiting = waiting[os.write(self._input, waiting) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise _failure("ended before it listed its tools") from None

    def _answer(self, request: dict[str, Any]) -> None:
        if "id" in request:
            reply = {"result": {}} if request["method"] == "ping" else {"error": _NOT_HERE}
            self.send({"id": request["id"], **reply})

    def _line(self) -> bytes:
        searched = 0
        while (end := self._unread.find(b"\n", searched)) < 0:
            searched = len(self._unread)
            if searched > MAX_LINE:
                raise _failure("wrote a line that is too long")
            self._wait(self._output, select.POLLIN)
            try:
                got = os.read(self._output, 1 << 16)
            except BlockingIOError:
                continue
            if not got:
                raise _failure("ended before it listed its tools")
            self._unread += got
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return line

    def _wait(self, descriptor: int, event: int) -> None:
        poll = select.poll()
        poll.register(descriptor, event)
        left = self._deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise _failure("did not answer in time")


def _message(line: bytes) -> dict[str, Any] | None:
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


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
        if not os.read(process.stdout.fileno(), 1 << 16):
            return
