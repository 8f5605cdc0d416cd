"""A capability surface that two checkouts can be compared by: the run's own directories become words.

In: a surface and the roots of its run. Out: the same shape, with `$RUN_CWD`, `$HOME` and `$TMP` in place
of the roots, the longest root first; lists are sorted again. Pure, and done twice it is done once.
Endpoints and abstract sockets have no directory and stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

WORDS = {"cwd": "$RUN_CWD", "home": "$HOME", "tmp": "$TMP"}
_PATHS = ("filesystem_prefixes", "filesystem_paths", "process_execs")
_OWN_PATHS = ("files", "execs", "unix_sockets")


def project(surface: Mapping[str, Any], roots: Mapping[str, str | None]) -> dict[str, Any]:
    ordered = _ordered(roots)
    own = surface["steno"]
    return {
        **surface,
        **{name: _projected_all(surface[name], ordered) for name in _PATHS},
        "steno": {
            **own,
            **{
                group: {act: _projected_all(names, ordered) for act, names in own[group].items()}
                for group in _OWN_PATHS
            },
            "roots": {name: None if roots.get(name) is None else word for name, word in WORDS.items()},
        },
    }


def projected(name: str, roots: Iterable[tuple[str, str]]) -> str:
    """One name; `roots` are pairs of a root and its word, in the order in which they are tried."""
    for root, word in roots:
        if name == root or name.startswith(f"{root}/"):
            return word + name[len(root) :]
    return name


def _ordered(roots: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """The root directory itself is everybody's, so it stands for nothing."""
    found = [(roots.get(name) or "", word) for name, word in WORDS.items()]
    plain = [(root.rstrip("/"), word) for root, word in found if root.startswith("/")]
    return sorted((pair for pair in plain if pair[0]), key=lambda pair: -len(pair[0]))


def _projected_all(names: Iterable[str], roots: list[tuple[str, str]]) -> list[str]:
    return sorted({projected(name, roots) for name in names})
