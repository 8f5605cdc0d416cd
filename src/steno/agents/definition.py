"""What Steno knows of an agent: how it is started and continued, what it needs, and what it writes.

The same types describe the built-in agents and those of the user; `steno.agents.catalog` reads them from
files. In: a table of TOML. Out: a description that holds together, or a ValueError that says what does not;
and the words to start the agent with. Data only: nothing here opens or starts anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from msgspec import Struct, field

from steno.agents.json_lines import JsonObject, at

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


class Trust(Struct, frozen=True, forbid_unknown_fields=True):
    """Where an agent keeps that a directory is trusted. `{directory}` in the key stands for the directory."""

    file: str  # below the home
    format: Format
    key: list[str]
    value: str | bool
    # A variable that is set -> the file below its value, or "": its value is the file. The first one wins.
    moved: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for path in (self.file, *filter(None, self.moved.values())):
            _require_plain(path)
        _require_variables(self.moved)
        _require_places(self.key, {"directory"})
        if not self.key:
            raise ValueError("the key has no names")


class HookSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the settings of hooks belong, and what the agent must be told to heed them."""

    file: str  # below the home; JSON
    arguments: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        _require_plain(self.file)


class Servers(Struct, frozen=True, forbid_unknown_fields=True):
    """Where an agent keeps its MCP servers. With `words` a command is one list, not `command` and `args`."""

    file: str  # below the home
    format: Format
    key: list[str]
    words: bool = False

    def __post_init__(self) -> None:
        _require_plain(self.file)
        _require_places(self.key, {"directory"})


class AgentDescription(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    name: str
    program: str
    install: str  # how to install it, for a hint
    start: list[str]  # {prompt} stands for the words, {arguments} for further arguments
    resume: list[str]  # {session}, {message}, {arguments}
    interactive: list[str] = field(default_factory=lambda: [_ARGUMENTS])  # a start without a prompt
    resume_interactive: list[str] | None = None  # None: not without a message
    stream: str = "plain"  # the name of the parser
    session_field: str | None = None
    trust: Trust | None = None
    skills: str | None = None  # a folder below the run directory
    home_variables: list[str] = field(default_factory=list)  # that lead to a home of its own
    passes_on: list[str] = field(default_factory=list)  # variables it may have; `NAME_*` is all that begin so
    environment: dict[str, str] = field(default_factory=dict)  # {home} stands for the home
    terminal_signals: list[TerminalSignal] = field(default_factory=list)
    hooks: str | None = None  # the name for `steno hook`
    hook_settings: HookSettings | None = None
    servers: list[Servers] = field(default_factory=list)
    server_arguments: list[str] = field(default_factory=list)  # what begins so brings servers along
    server_files: list[str] = field(default_factory=list)  # below the run directory, likewise

    def __post_init__(self) -> None:
        if not AGENT_NAME.fullmatch(self.name):
            raise ValueError(
                f"not a name for an agent: {self.name!r} (a-z, 0-9, and ._- between them; at most 64)"
            )
        if not self.program or "\0" in self.program:
            raise ValueError("the program has no name")
        self._require_words()
        if (self.hooks is None) != (self.hook_settings is None):
            raise ValueError("hooks and hook_settings belong together")
        for path in (*([] if self.skills is None else [self.skills]), *self.server_files):
            _require_plain(path)
        _require_variables(self.home_variables)
        _require_variables(name.removesuffix("*") for name in self.passes_on)
        _require_variables(self.environment)
        _require_places(self.environment.values(), {"home"})

    def _require_words(self) -> None:
        _require_places(self.start, {"prompt", "arguments"}, needed="prompt")
        _require_places(self.resume, {"session", "message", "arguments"}, needed="session")
        _require_places(self.interactive, {"arguments"})
        _require_places(self.resume_interactive or (), {"session", "arguments"})

    def start_words(self, prompt: str | None, arguments: Sequence[str] = ()) -> list[str]:
        """The arguments of the program; without a prompt the agent is interactive."""
        if prompt is None:
            return _filled(self.interactive, arguments)
        return _filled(self.start, arguments, prompt=prompt)

    def resume_words(
        self, session: str, message: str | None, arguments: Sequence[str] = ()
    ) -> list[str] | None:
        """None: this agent cannot be continued without a message."""
        if message is not None:
            return _filled(self.resume, arguments, session=session, message=message)
        if self.resume_interactive is None:
            return None
        return _filled(self.resume_interactive, arguments, session=session)


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
