"""The MCP servers in one file of an agent's settings, each behind a policy or with its own command.

In: where in the file they are, the home that it is in, the words that start Steno, and a policy or none. Out:
the file, changed where it has to be, what was written, and which servers have no command and so cannot be
wrapped. A server that stands behind our wrapper is known by the form of its command, wherever Steno is
installed. As long as the file is held nobody gives its servers another policy: a start that would have to is
refused. Settings are merged, never replaced.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from msgspec import Struct

from steno.agents.definition import McpServers
from steno.bundle.folder import Folder
from steno.contracts.agent_audit.meta import PolicyGiven
from steno.errors import AgentSetupError
from steno.launch import file_lock, json_edit, settings_file, toml_edit

PATIENCE = 1.0  # seconds: another start holds the place alone for a moment only
LOCK = ".steno-lock"  # added to the name of the settings file
_TRIES = 5
_MOST_LABEL = 100  # letters, as `steno mcp wrap` has it
_STENO, _PYTHON, _ABSOLUTE = (re.compile(form, re.DOTALL) for form in ("/.*/steno", "/.*", "/.*"))
_WRAP = ("mcp", "wrap", "--policy")
_SHOWN_DIGITS = 12


class Written(Struct, frozen=True, kw_only=True):
    file: str
    what: Literal["hooks", "server"]
    name: str  # of the agent whose hooks these are, or of the server
    changed: bool  # False: it was there already
    policy: PolicyGiven | None = None  # that the server stands behind

    @property
    def told(self) -> str:
        """As the record has it: one cannot be taken for the other."""
        if self.what == "hooks":
            return f"hooks {self.name}"
        if self.policy is None:
            return f"server {self.name}: own command again"
        return f"server {self.name} behind {self.policy.path} ({self.policy.sha256[:_SHOWN_DIGITS]})"


class McpServerFile:
    def __init__(
        self,
        places: Sequence[McpServers],
        home: Path,
        directory: Path,
        steno: Sequence[str],
        policy: PolicyGiven | None,
    ) -> None:
        """`places` are all in one file."""
        self._places = places
        self._file = places[0].file
        self._home = home
        self._directory = str(directory.resolve())
        self._steno = steno
        self._policy = policy
        self._told: dict[str, Written] = {}
        self.without_command: list[str] = []

    @property
    def written(self) -> list[Written]:
        return list(self._told.values())

    @contextmanager
    def held(self) -> Iterator[None]:
        # A home without servers gets no file.
        if not self._has_servers():
            yield
            return
        fd = self._lock_file()
        try:
            self._settle(fd)
            yield
        finally:
            os.close(fd)

    def _has_servers(self) -> bool:
        settings = settings_file.content(self._home, self._file)
        if settings is None:
            return False
        try:
            return any(_editor(place).get(settings, self._keys(place)) for place in self._places)
        except ValueError:
            return True  # what is wrong with it is told when it is to be changed

    def _lock_file(self) -> int:
        name = self._file + LOCK
        try:
            with Folder(self._home) as home:
                with suppress(FileExistsError):
                    os.close(home.create(name))
                return home.open(name)
        except OSError as error:
            raise AgentSetupError(
                f"{self._home / name} cannot be used: {error.strerror}",
                hint="remove what stands there, or use another --home",
            ) from error

    def _settle(self, fd: int) -> None:
        """Whoever runs with these settings shares the lock; to change them one has to be alone."""
        for _ in range(_TRIES):
            if not file_lock.take(fd, seconds=PATIENCE, shared=True):
                break
            settings = settings_file.content(self._home, self._file) or b""
            if self._readable(settings) == settings:
                return
            fcntl.flock(fd, fcntl.LOCK_UN)
            if not file_lock.take(fd, seconds=PATIENCE):
                break
            settings_file.change(self._home, self._file, self._as_wanted)
        raise self._refused()

    def _refused(self) -> AgentSetupError:
        behind = "a policy" if self._policy is None else "another policy, or none"
        return AgentSetupError(
            f"another attempt is running with the MCP servers in {self._home / self._file}: "
            f"there they stand behind {behind}",
            hint="wait until it has ended, or give this one another --home",
        )

    def _readable(self, settings: bytes) -> bytes:
        """As they are wanted; those that cannot be read are an error that `change` tells."""
        try:
            return self._as_wanted(settings)
        except ValueError:
            return b""

    def _as_wanted(self, settings: bytes) -> bytes:
        self.without_command = []
        for place in self._places:
            editor, keys = _editor(place), self._keys(place)
            found = editor.get(settings, keys)
            for name, server in found.items() if isinstance(found, dict) else ():
                command = _command(server, one_list=place.command_is_list)
                wanted = self._wanted(name, command)
                if wanted != command:
                    settings = _with_command(
                        settings, editor, [*keys, name], wanted, one_list=place.command_is_list
                    )
        return settings

    def _keys(self, place: McpServers) -> list[str]:
        return [key.replace("{directory}", self._directory) for key in place.key]

    def _wanted(self, name: str, command: list[str]) -> list[str]:
        if not command:
            self.without_command.append(name)
            return command
        wanted = own_command(command, name)
        if self._policy is not None:
            label = ("--label", _label(name), "--")
            wanted = [*self._steno, *_WRAP, self._policy.path, *label, *wanted]
        if self._policy is not None or wanted != command:
            self._tell(name, changed=wanted != command)
        return wanted

    def _tell(self, name: str, *, changed: bool) -> None:
        earlier = self._told.get(name)
        self._told[name] = Written(
            file=str(self._home / self._file),
            what="server",
            name=name,
            changed=changed or (earlier is not None and earlier.changed),
            policy=self._policy,
        )


def own_command(command: list[str], name: str) -> list[str]:
    """Without the wrapper that an attempt has put before it: any Steno's, for a server of this name."""
    for start in ([_STENO], [_PYTHON, "-P", "-m", "steno"]):
        form = [*start, *_WRAP, _ABSOLUTE, "--label", _label(name), "--"]
        if len(command) > len(form) and all(map(_is, command, form)):
            return own_command(command[len(form) :], name)
    return command


def _label(name: str) -> str:
    return name[:_MOST_LABEL]


def _is(word: str, form: str | re.Pattern[str]) -> bool:
    return word == form if isinstance(form, str) else form.fullmatch(word) is not None


def _editor(place: McpServers) -> ModuleType:
    return toml_edit if place.format == "toml" else json_edit


def _command(server: Any, *, one_list: bool) -> list[str]:
    """Empty for what is not a server with a command."""
    if not isinstance(server, dict):
        return []
    command, arguments = server.get("command"), server.get("args", [])
    words = command if one_list else [command, *(arguments if isinstance(arguments, list) else [None])]
    told = isinstance(words, list) and all(isinstance(word, str) for word in words)
    return words if told and words and words[0] else []


def _with_command(
    settings: bytes, editor: ModuleType, keys: list[str], command: list[str], *, one_list: bool
) -> bytes:
    values: dict[str, Any] = (
        {"command": command} if one_list else {"command": command[0], "args": command[1:]}
    )
    for name, value in values.items():
        settings = editor.set_value(settings, [*keys, name], value)
    return settings
