"""What is known of an agent, as its `NAME.toml` says it: how it is started, what it writes, its tools.

The same tables describe the built-in agents and those of the user. A definition that does not hold together
is a ValueError that says why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from steno.agents.json_lines import JsonObject, at
from steno.evidence.claims import SdkEventType

Log = Literal["pty", "stdout", "stderr"]
Meaning = Literal["end_of_turn", "failed"]
Values = dict[str, str | list[str]]  # of fields, by dotted names: a value, or several of which one is enough


ESCAPED = rb"\u"  # with it JSON can spell a letter in another way
_BARE = ("true", "false")
_ANY = "*"  # the field is there, whatever it holds
# What JSON can otherwise spell in one way only: a number has many spellings.
_SPELLED_ONCE = re.compile(r"[\w .-]*[a-df-zA-DF-Z][\w .-]*", re.ASCII)


class TerminalSignal(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A line by which the agent's stream tells that a turn is over."""

    stream: Log
    kind: Literal["json", "text"]
    match: Values | str
    means: Meaning
    unless: Values = field(default_factory=dict)

    def __post_init__(self) -> None:
        wanted = dict if self.kind == "json" else str
        if not isinstance(self.match, wanted) or not self.match:
            told = "a table of fields" if self.kind == "json" else "the words of a line"
            raise ValueError(f"the match of a {self.kind} signal is {told}")
        if self.kind == "text" and self.unless:
            raise ValueError("a text signal has no fields, so it has no unless")


class TerminalSignals:
    """The signals of one log."""

    def __init__(self, signals: Iterable[TerminalSignal], log: Log) -> None:
        # The failed ones first: they win.
        self._signals = sorted(
            (signal for signal in signals if signal.stream == log),
            key=lambda signal: signal.means != "failed",
        )

    def meaning(self, text: bytes, record: JsonObject | None) -> Meaning | None:
        """Of a line, and of the object that it is if it is one."""
        return next((signal.means for signal in self._signals if _holds(signal, text, record)), None)

    def words(self) -> list[bytes] | None:
        """One of them is in every line that means something; None when there are no such words."""
        found: set[bytes] = set()
        for signal in self._signals:
            words = [signal.match.encode()] if isinstance(signal.match, str) else _spelled(signal.match)
            if not words:
                return None
            found.update(words)
        return sorted(found)


def _holds(signal: TerminalSignal, text: bytes, record: JsonObject | None) -> bool:
    if isinstance(signal.match, str):
        return signal.match.encode() in text
    if record is None:
        return False
    return all(_is(record, path, wanted) for path, wanted in signal.match.items()) and not any(
        _is(record, path, unwanted) for path, unwanted in signal.unless.items()
    )


def _spelled(match: Values) -> list[bytes]:
    """How one of the fields is spelled in every record that has it; nothing when there are many ways."""
    for wanted in match.values():
        values = [wanted] if isinstance(wanted, str) else wanted
        if all(map(_SPELLED_ONCE.fullmatch, values)):
            return [
                ESCAPED,
                *(value.encode() if value in _BARE else b'"%s"' % value.encode() for value in values),
            ]
    return []


def _is(record: JsonObject, path: str, wanted: str | list[str]) -> bool:
    found = at(record, *path.split("."))
    if wanted == _ANY:
        return found is not None
    return _written(found) in ([wanted] if isinstance(wanted, str) else wanted)


def _written(value: Any) -> str | None:
    """A string is compared as such, anything else as JSON has it: `true`, `3`. What is not there is None."""
    if value is None or isinstance(value, dict | list):
        return None
    return value if isinstance(value, str) else json.dumps(value)


Format = Literal["toml", "json"]

AGENT_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?", re.ASCII)  # also within the id of a run
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PLACE = re.compile(r"\{([a-z_]+)\}")
_ARGUMENTS = "{arguments}"


class Launch(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The arguments of the program, and the environment that it gets."""

    start: list[str]  # {prompt} stands for the words, {arguments} for further arguments
    resume: list[str] | None = None  # {session}, {message}, {arguments}; None: it cannot be continued
    interactive: list[str] = field(default_factory=lambda: [_ARGUMENTS])  # a start without a prompt
    resume_interactive: list[str] | None = None  # None: not without a message
    env: dict[str, str] = field(default_factory=dict)  # {home} stands for the home
    env_allow: list[str] = field(default_factory=list)  # variables it may have; `NAME_*` is all that begin so
    home_variables: list[str] = field(default_factory=list)  # that lead to a home of its own
    skills_dir: str | None = None  # below the run directory

    def __post_init__(self) -> None:
        _require_places(self.start, {"prompt", "arguments"}, needed="prompt")
        if self.resume is not None:
            _require_places(self.resume, {"session", "message", "arguments"}, needed="session")
        _require_places(self.interactive, {"arguments"})
        _require_places(self.resume_interactive or (), {"session", "arguments"})
        _require_variables(self.home_variables)
        _require_variables(name.removesuffix("*") for name in self.env_allow)
        _require_variables(self.env)
        _require_places(self.env.values(), {"home"})
        if self.skills_dir is not None:
            _require_plain(self.skills_dir)

    def start_words(self, prompt: str | None, arguments: Sequence[str] = ()) -> list[str]:
        """Without a prompt the agent is interactive."""
        if prompt is None:
            return _filled(self.interactive, arguments)
        return _filled(self.start, arguments, prompt=prompt)

    def resume_words(
        self, session: str, message: str | None, arguments: Sequence[str] = ()
    ) -> list[str] | None:
        """None: this agent cannot be continued, or not without a message."""
        words = self.resume_interactive if message is None else self.resume
        return None if words is None else _filled(words, arguments, session=session, message=message or "")


class Trust(Struct, frozen=True, forbid_unknown_fields=True):
    """Where an agent keeps that a directory is trusted. `{directory}` in the key stands for the directory."""

    file: str  # below the home
    format: Format
    key: list[str]
    value: str | bool
    # A variable that is set -> the file below its value, or "": its value is the file. The first one wins.
    relocated_by: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in (self.file, *filter(None, self.relocated_by.values())):
            _require_plain(path)
        _require_variables(self.relocated_by)
        _require_places(self.key, {"directory"})
        if not self.key:
            raise ValueError("the key has no names")


class McpServers(Struct, frozen=True, forbid_unknown_fields=True):
    """Where an agent keeps its MCP servers."""

    file: str  # below the home
    format: Format
    key: list[str]
    command_is_list: bool = False  # else it is `command` and `args`

    def __post_init__(self) -> None:
        _require_plain(self.file)
        _require_places(self.key, {"directory"})


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    trust: Trust | None = None
    mcp_servers: list[McpServers] = field(default_factory=list)
    mcp_flags: list[str] = field(default_factory=list)  # an argument that begins so brings servers along
    mcp_files: list[str] = field(default_factory=list)  # and so does such a file below the run directory

    def __post_init__(self) -> None:
        for path in self.mcp_files:
            _require_plain(path)


class HookEvent(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What a hook event tells, and where in its payload, by names with dots; else as `[hooks]` has it."""

    emits: SdkEventType
    tool: str | None = None
    call_id: str | None = None
    input: str | None = None
    output: str | None = None  # what the tool answered
    error: str | None = None  # what a tool that failed answered: told as `{"error": …}`
    message: str | None = None  # the agent's last words


class Hooks(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """How an agent calls us at every call of a tool, and how what it gives us is read."""

    file: str | None = None  # settings below the home; JSON
    folder: str | None = None  # or a folder below the home: each hook is a program with the name of its event
    # Another agent, which comes with Steno, and whose payloads are the same: then nothing below is said here.
    like: str | None = None
    arguments: list[str] = field(default_factory=list)  # that make the agent heed them
    extra_settings: dict[str, Any] = field(default_factory=dict)
    event: str = ""  # where the payload names the event, by names with dots; and so on
    session: str | None = None
    tool: str | None = None
    call_id: str | None = None  # None: the agent tells none, and ids are inferred
    input: str | None = None
    server: list[str] = field(default_factory=list)  # of MCP; the first that is there
    # By the names that payloads have; any other event tells nothing.
    events: dict[str, HookEvent] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)  # of events, where settings name them otherwise

    def __post_init__(self) -> None:
        if (self.file is None) == (self.folder is None):
            raise ValueError("hooks are in a file or in a folder")
        if (self.like is None) != bool(self.event and self.events):
            raise ValueError("hooks are like those of another agent, or name their event and their events")
        _require_plain(self.file or self.folder or "")

    def settings_names(self) -> list[str]:
        return [self.names.get(name, name) for name in self.events]

    def settings(self, command: str) -> dict[str, Any]:
        """What makes the agent call us, for every event that tells something."""
        hook = {"type": "command", "command": command}
        return {
            "hooks": {name: [{"hooks": [hook]}] for name in self.settings_names()},
            **self.extra_settings,
        }


class Stream(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    parser: str = "plain"
    session_field: str | None = None
    signals: list[TerminalSignal] = field(default_factory=list)


class Tools(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The agent's own tools by what they do."""

    read: list[str] = field(default_factory=list)  # that only look
    read_one: list[str] = field(default_factory=list)  # and open what they are given by its name
    write: list[str] = field(default_factory=list)  # that leave what they are given as `content`
    edit: list[str] = field(default_factory=list)  # that change what is there
    patch: list[str] = field(default_factory=list)  # that change several files, and may remove one
    run: list[str] = field(default_factory=list)  # commands of the shell
    # programs of the agent that start the shell that stands at the end of their arguments
    launchers: list[str] = field(default_factory=list)
    delegate: list[str] = field(default_factory=list)  # that have other tools called


class State(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the paths of what is the agent's own begin: below the home, and below what variables name."""

    home: list[str] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require_variables(self.variables)


class Mcp(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    call_id_key: str | None = None  # in `params._meta` of a request
    tool_prefix: str | None = None  # what the names of tools of servers begin with, before the server's


class AgentDefinition(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str
    program: str
    install: str  # how to install it, for a hint
    checked_with: str | None = None  # the version that all of this was seen with
    launch: Launch
    settings: Settings = field(default_factory=Settings)
    hooks: Hooks | None = None
    stream: Stream = field(default_factory=Stream)
    tools: Tools = field(default_factory=Tools)
    state: State = field(default_factory=State)
    mcp: Mcp = field(default_factory=Mcp)

    def __post_init__(self) -> None:
        if not AGENT_NAME.fullmatch(self.name):
            raise ValueError(
                f"not a name for an agent: {self.name!r} (a-z, 0-9, and ._- between them; at most 64)"
            )
        if not self.program or "\0" in self.program:
            raise ValueError("the program has no name")


def _filled(words: Sequence[str], arguments: Sequence[str], **values: str) -> list[str]:
    # What a user gives is never looked through for places: each word is filled in once.
    filled: list[str] = []
    for word in words:
        if word == _ARGUMENTS:
            filled += arguments
        else:
            filled.append(_PLACE.sub(lambda place: values.get(place[1], place[0]), word))
    return filled if _ARGUMENTS in words else [*filled, *arguments]


def _require_places(words: Iterable[str], known: set[str], *, needed: str | None = None) -> None:
    found = {place for word in words for place in _PLACE.findall(word)}
    if unknown := sorted(found - known):
        raise ValueError(f"nothing is known to stand for {{{unknown[0]}}} here")
    if needed is not None and needed not in found:
        raise ValueError(f"{{{needed}}} is missing")


def _require_plain(path: str) -> None:
    if any(part in {"", ".", ".."} or "\0" in part for part in path.split("/")):
        raise ValueError(f"not a plain relative path: {path!r}")


def _require_variables(names: Iterable[str]) -> None:
    for name in names:
        if not _VARIABLE.fullmatch(name):
            raise ValueError(f"not a name for a variable: {name!r}")
