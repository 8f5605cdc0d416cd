"""The agents that can be started: those that come with Steno, and those the user describes.

In: the environment of the user, and a name. Out: the description of that name, and where its program is. A
file in `$XDG_CONFIG_HOME/steno/agents` counts more than a built-in one of its name. A file that cannot be
used is an error for its own agent only. Never guesses a name: the nearest ones are offered.
"""

from __future__ import annotations

import difflib
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from steno.agents.definition import AgentDefinition
from steno.agents.known import builtin, parse_definition
from steno.errors import BadRequestError

_MOST_BYTES = 1 << 20
_OFFERED = 3


class Catalogue:
    def __init__(self, known: Mapping[str, AgentDefinition], problems: Mapping[str, str]) -> None:
        self.known = dict(sorted(known.items()))
        self.problems = dict(sorted(problems.items()))  # the name of an agent -> its file and what is wrong

    @staticmethod
    def load(environ: Mapping[str, str]) -> Catalogue:
        known = dict(builtin())
        problems: dict[str, str] = {}
        for name, file in _user_files(environ):
            # The later file is the user's: good or bad, it stands for the name.
            known.pop(name, None)
            try:
                known[name] = parse_definition(name, _content(file))
            except (OSError, ValueError) as error:
                problems[name] = f"{file}: {_told(error)}"
        return Catalogue(known, problems)

    def get(self, name: str) -> AgentDefinition:
        if name in self.problems:
            raise BadRequestError(
                f"the description of {name} cannot be used: {self.problems[name]}",
                hint="correct the file, or remove it; docs/agents.md has the fields",
            )
        try:
            return self.known[name]
        except KeyError:
            raise BadRequestError(f"there is no agent {name!r}", hint=self._nearest(name)) from None

    def _nearest(self, name: str) -> str:
        names = [*self.known, *self.problems]
        near = difflib.get_close_matches(name.lower(), names, n=_OFFERED, cutoff=0.5)
        offered = f"did you mean {' or '.join(near)}?" if near else f"agents: {', '.join(sorted(names))}."
        return (
            f"{offered} A file NAME.toml in the folder steno/agents of your configuration describes another"
        )


def find_program(description: AgentDefinition, path: str | None) -> Path:
    """The program as it is found on `path`, the PATH that the agent will have."""
    found = shutil.which(description.program, path=path)
    if found is None:
        raise BadRequestError(
            f"{description.name} is not installed: there is no program {description.program!r} on the PATH",
            hint=f"install it: {description.install}",
        )
    return Path(os.path.abspath(found))  # noqa: PTH100 - a link stays a link: programs look at their name


def user_folder(environ: Mapping[str, str]) -> Path | None:
    configured, home = environ.get("XDG_CONFIG_HOME", ""), environ.get("HOME", "")
    if configured.startswith("/"):
        return Path(configured, "steno", "agents")
    return Path(home, ".config", "steno", "agents") if home.startswith("/") else None


def _user_files(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    folder = user_folder(environ)
    try:
        if folder is not None and folder.is_dir():
            yield from _toml_files(folder)
    except OSError as error:
        raise BadRequestError(
            f"the definitions in {folder} cannot be listed: {error.strerror}",
            hint="make the folder readable",
        ) from error


def _toml_files(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        name = file.name.removesuffix(".toml")
        if name not in {file.name, ""}:
            yield name, file


def _content(file: Path) -> bytes:
    if not file.is_file():
        raise ValueError("it is not a regular file")
    with file.open("rb") as opened:
        content = opened.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise ValueError(f"it has more than {_MOST_BYTES} bytes")
    return content


def _told(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    if isinstance(error, tomllib.TOMLDecodeError):
        return f"it is not TOML: {error}"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)
