"""A listener for agents of the package `openai-agents`: what the framework says goes into the run's SDK log.

In: the callbacks of a run, and the log that the environment names. Out: one line of the contract
`assay.runner.sdk_event.v0` for each tool call that starts or ends and for the end of a run; and the id of a
tool call for the `_meta` of its MCP request. Needs nothing but `agents` and the standard library, and can
stand alone in the agent's environment. Outside of a recorded run it does nothing. It never raises into the
agent: what cannot be written is said once on stderr, and leaves a gap in `seq` that the recorder sees.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import sys
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Self

from agents import Agent, RunContextWrapper, RunHooks, Runner, RunResult, RunState, Tool, TResponseInputItem

if TYPE_CHECKING:
    from agents.mcp import MCPToolMetaContext

META_KEY = "steno/toolCallId"

_SCHEMA = "assay.runner.sdk_event.v0"
_DETAIL_SCHEMA = "steno.sdk_event.v1"
_SOURCE = "openai-agents"
_RUN_ID = ("STENO_RUN_ID", "ASSAY_RUNNER_RUN_ID")
_LOG = ("STENO_SDK_EVENT_LOG", "ASSAY_RUNNER_SDK_EVENT_LOG")
_RUN_PREFIXES = ("STENO_", "ASSAY_RUNNER_")
_ORIGIN_NS = "STENO_CLOCK_ORIGIN_NS"
_MAX_TOLD = 64 << 10  # bytes of an input, an output or a message, as JSON
_MAX_LINE = 1 << 20
_MAX_DEPTH = 32
_TOO_DEEP = "<nested too deeply>"
_EXACT = (1 << 53) - 1  # larger integers are not read alike by everybody
_LOCK_TRIES, _LOCK_PAUSE = 200, 0.005


class StenoRunHooks(RunHooks[Any]):
    """Give it to `Runner.run(..., hooks=)`. Hooks of your own: make a subclass, and call `super()`."""

    def __init__(self) -> None:
        self._log = _Log.of(os.environ)
        self._without_id: list[tuple[Tool, str]] = []

    async def on_tool_start(self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool) -> None:
        del agent
        if self._log is None:
            return
        given = getattr(context, "tool_call_id", None) or None
        arguments = getattr(context, "tool_arguments", None)
        told = self._log.tool("tool_call_started", tool, given, input=_parsed(arguments))
        if given is None and told is not None:
            self._without_id.append((tool, told))

    async def on_tool_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], tool: Tool, result: object
    ) -> None:
        del agent
        if self._log is None:
            return
        given = getattr(context, "tool_call_id", None) or None
        started = None if given is not None else self._started_without_id(tool)
        self._log.tool("tool_call_completed", tool, given, inferred=started, output=result)

    async def on_agent_end(self, context: Any, agent: Agent[Any], output: Any) -> None:
        del context, agent
        if self._log is not None:
            self._log.end("run_finished", output)

    def run_failed(self, error: BaseException) -> None:
        """For whoever calls the runner in another way than by `run_recorded`."""
        if self._log is not None:
            self._log.end("run_failed", f"{type(error).__name__}: {error}")

    def _started_without_id(self, tool: Tool) -> str | None:
        """The oldest open call of a tool that is no function, as a shell: the framework tells no id of it."""
        for at, (started, told) in enumerate(self._without_id):
            if started is tool:
                del self._without_id[at]
                return told
        return None


async def run_recorded(
    agent: Agent[Any],
    input: str | list[TResponseInputItem] | RunState[Any],  # noqa: A002 - the name that `Runner.run` uses
    *,
    hooks: StenoRunHooks | None = None,
    **options: Any,
) -> RunResult:
    """`Runner.run` with the hooks, and with a line about a failure, which no callback tells of."""
    hooks = hooks or StenoRunHooks()
    try:
        return await Runner.run(agent, input, hooks=hooks, **options)
    except BaseException as error:
        hooks.run_failed(error)
        raise


def tool_meta_resolver(context: MCPToolMetaContext) -> dict[str, Any] | None:
    """For `MCPServerStdio(..., tool_meta_resolver=)` and its siblings: the request carries the id."""
    tool_call_id = getattr(context.run_context, "tool_call_id", None)
    if tool_call_id is None or _named(os.environ, _RUN_ID) is None:
        return None
    return {META_KEY: tool_call_id}


def run_environment() -> dict[str, str]:
    """For the `env` of an MCP server: the framework passes nothing on that a proxy needs to find the run."""
    return {name: value for name, value in os.environ.items() if name.startswith(_RUN_PREFIXES)}


class _Log:
    """The log of a run. Every line is numbered after the last one, whoever wrote that."""

    def __init__(self, path: str, run_id: str, origin_ns: int | None) -> None:
        self._path, self._run_id, self._origin_ns = path, run_id, origin_ns
        self._version = _sdk_version()
        self._lost = 0
        self._said = False

    @staticmethod
    def of(environ: Mapping[str, str]) -> _Log | None:
        path, run_id = _named(environ, _LOG), _named(environ, _RUN_ID)
        if path is None or run_id is None:
            return None
        origin = environ.get(_ORIGIN_NS, "")
        return _Log(path, run_id, int(origin) if origin.isdecimal() else None)

    def tool(
        self, event_type: str, tool: Tool, given: str | None, *, inferred: str | None = None, **told: object
    ) -> str | None:
        """The id that the line has, None when it was not written."""
        id_from = "inferred" if given is None else "sdk"
        return self._write(event_type, given or inferred, getattr(tool, "name", None), id_from, told)

    def end(self, event_type: str, message: object) -> None:
        self._write(event_type, None, None, "sdk", {"message": message})

    def _write(
        self,
        event_type: str,
        tool_call_id: str | None,
        tool: str | None,
        id_from: str,
        told: dict[str, object],
    ) -> str | None:
        try:
            detail = {**self._detail(id_from), **_bounded(told)}
            with _Locked(self._path) as file:
                seq = file.next_seq() + self._lost
                if tool is not None and tool_call_id is None:
                    tool_call_id = f"inferred:{seq}"
                line = {
                    "schema": _SCHEMA,
                    "run_id": self._run_id,
                    "seq": seq,
                    "event_type": event_type,
                    "source": _SOURCE,
                    "sdk_name": _SOURCE,
                    "sdk_version": self._version,
                    "tool_call_id": tool_call_id,
                    "tool": tool,
                    "steno": detail,
                }
                file.append(line)
        except Exception as error:  # noqa: BLE001 - whatever it is, the agent goes on
            self._say_once(error)
            self._lost += 1
            return None
        self._lost = 0
        return tool_call_id

    def _detail(self, id_from: str) -> dict[str, Any]:
        at_ns = None if self._origin_ns is None else time.monotonic_ns() - self._origin_ns
        return {"schema": _DETAIL_SCHEMA, "id_from": id_from, "at_ns": at_ns}

    def _say_once(self, error: Exception) -> None:
        if self._said:
            return
        self._said = True
        with contextlib.suppress(AttributeError, OSError, ValueError):  # there may be no stderr
            sys.stderr.write(f"steno: what the agent says cannot be written to {self._path}: {error}\n")


class _Locked:
    """The log, opened and locked, so that one number is given once."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> Self:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
        self._fd = os.open(self._path, flags, 0o600)
        try:
            _lock(self._fd)
        except BaseException:
            os.close(self._fd)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._fd)

    def next_seq(self) -> int:
        size = os.fstat(self._fd).st_size
        if size == 0:
            return 0
        tail = os.pread(self._fd, _MAX_LINE, max(0, size - _MAX_LINE))
        if not tail.endswith(b"\n"):
            raise ValueError("its last line is torn")
        return int(json.loads(tail[:-1].rpartition(b"\n")[2])["seq"]) + 1

    def append(self, line: dict[str, Any]) -> None:
        data = _json(line).encode("utf-8", "replace") + b"\n"
        if os.write(self._fd, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _lock(fd: int) -> None:
    """Waits for a moment, not for a writer that was stopped."""
    import fcntl  # it is not everywhere, and needed only inside a run

    for _ in range(_LOCK_TRIES):
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE)
    raise TimeoutError(errno.ETIMEDOUT, "another writer holds its lock")


def _bounded(told: dict[str, object]) -> dict[str, Any]:
    """What was told as JSON, each part cut to its bound; a message is always text."""
    kept: dict[str, Any] = {}
    for name, value in told.items():
        try:
            plain = _Plain().of(value)
        except Exception as error:  # noqa: BLE001 - a value of the tool's own: it costs itself, not the line
            plain = f"<{type(value).__name__} that cannot be written: {type(error).__name__}>"
            kept["cut"] = True
        text = plain if isinstance(plain, str) else _json(plain)
        kept[name] = text if name == "message" else plain
        if len(_json(kept[name]).encode("utf-8", "replace")) > _MAX_TOLD:
            kept[name] = _beginning(text)
            kept["cut"] = True
    return kept


def _beginning(text: str) -> str:
    """As much as fits into the bound also when it is written with escapes."""
    kept = text[:_MAX_TOLD]
    while len(_json(kept).encode("utf-8", "replace")) > _MAX_TOLD:
        kept = kept[: len(kept) * 3 // 4]
    return kept


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


class _Plain:
    """JSON that every reader reads alike; what is no JSON becomes text.

    A value that holds another one twice would be written twice, and so on at each level. So the walk ends
    when it has made more than is kept: its JSON is then longer than the bound, and is cut there.
    """

    def __init__(self) -> None:
        self._room = _MAX_TOLD + 1

    def of(self, value: object, depth: int = 0) -> Any:
        self._room -= len(value) if isinstance(value, str) else 1
        if value is None or isinstance(value, bool | str):
            return value
        if (isinstance(value, int) and abs(value) <= _EXACT) or (
            isinstance(value, float) and math.isfinite(value)
        ):
            return value
        if isinstance(value, Mapping):
            return self._object(value, depth)
        if isinstance(value, list | tuple):
            return self._list(value, depth)
        if depth < _MAX_DEPTH and callable(dump := getattr(value, "model_dump", None)):
            return self.of(dump(mode="json"), depth + 1)
        text = str(value)
        self._room -= len(text)
        return text

    def _object(self, value: Mapping[Any, Any], depth: int) -> Any:
        if depth == _MAX_DEPTH:
            return _TOO_DEEP
        made: dict[str, Any] = {}
        for key, one in value.items():
            if self._room <= 0:
                break
            name = str(key)
            self._room -= len(name)
            made[name] = self.of(one, depth + 1)
        return made

    def _list(self, value: list[Any] | tuple[Any, ...], depth: int) -> Any:
        if depth == _MAX_DEPTH:
            return _TOO_DEEP
        made: list[Any] = []
        for one in value:
            if self._room <= 0:
                break
            made.append(self.of(one, depth + 1))
        return made


def _parsed(arguments: str | None) -> Any:
    try:
        return None if arguments is None else json.loads(arguments)
    except (TypeError, ValueError, RecursionError):
        return arguments


def _named(environ: Mapping[str, str], names: tuple[str, str]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)


def _sdk_version() -> str | None:
    try:
        return version("openai-agents")
    except PackageNotFoundError:
        return None
