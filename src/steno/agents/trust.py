"""Trust: writes into an agent's own settings that it may work in a directory, before it is started.

In: a description, the home it will have, and the directory. Out: what was done, for the record. The file
keeps everything else that it holds, to the comment; a second time changes no byte. A file that is not what it
should be is left as it is, and is an error. Never trusts more than the one directory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from steno.agents import json_edit, settings_file, toml_edit
from steno.agents.description import AgentDescription, Trust
from steno.errors import AgentSetupError


class TrustApplied(Struct, frozen=True, kw_only=True, rename="camel"):
    file: str
    key: list[str]
    changed: bool  # False: it was there already


def apply(
    description: AgentDescription, home: Path, directory: Path, environ: Mapping[str, str]
) -> TrustApplied | None:
    """`environ` is what the agent will have; None for an agent that asks for no trust."""
    trust = description.trust
    if trust is None:
        return None
    editor = toml_edit if trust.format == "toml" else json_edit
    real = _as_text(os.path.realpath(directory))
    keys = [key.replace("{directory}", real) for key in trust.key]
    base, file = _place(trust, home, directory, environ)
    changed = settings_file.change(base, file, lambda text: editor.set_value(text, keys, trust.value))
    return TrustApplied(file=str(base / file), key=keys, changed=changed)


def _as_text(directory: str) -> str:
    try:
        directory.encode()
    except UnicodeEncodeError:
        raise AgentSetupError(
            f"{directory!r} cannot be trusted: its name is not UTF-8, which settings are",
            hint="choose another place for runs with STENO_AGENTS",
        ) from None
    return directory


def _place(trust: Trust, home: Path, directory: Path, environ: Mapping[str, str]) -> tuple[Path, str]:
    for variable, file in trust.moved.items():
        if environ.get(variable):
            named = directory / environ[variable]  # the agent works there
            return (named, file) if file else (named.parent, named.name)
    return home, trust.file
