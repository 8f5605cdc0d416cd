"""Writes the rows of a run's tables as TypeScript: `python docs/generate_tables.py --write`."""

# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import inspect
import re
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from generate_model import tables

from steno.judge import types as rows
from steno.model.table_documents import ROWS
from steno.model.tables import types_of

MODULE = Path(__file__).parents[1] / "web" / "src" / "made" / "tables.ts"
_HEAD = """\
// The rows of a run's tables; made by docs/generate_tables.py from src/steno/judge/types.py.
/** A whole number as canonical JSON has it: beyond 2^53 as text. */
export type Whole = number | string;

/** What the values of a column are; of a state, those of each of its columns. */
export type Kind = "boolean" | "number" | "string" | "string[]" | "number[]" | "Whole";
export interface Shape {
  [column: string]: Kind | `${Kind}?` | Shape;
}
"""
_COMMENT = re.compile(r"^    (\w+): .*?  # (.+)$", re.MULTILINE)
_NAMES: dict[object, str] = {str: "string", bool: "boolean", bytes: "string", int: "Whole"}


def generated() -> str:
    parts = [_HEAD, _interface(rows.FileState), *(_interface(row) for _, row, _ in sorted(tables()))]
    parts.append("/** Those that a page carries. */\nexport interface Tables {")
    parts += [f"  {name}: {row.__name__};" for name, row in sorted(ROWS.items())]
    parts.append("}\n\nexport const TABLES: Record<keyof Tables, Shape> = {")
    parts += [f"  {name}: {_shape(row)}," for name, row in sorted(ROWS.items())]
    return "\n".join([*parts, "};", ""])


def _interface(row: type[rows.Row]) -> str:
    said = dict(_COMMENT.findall(inspect.getsource(row))) | {
        name: " ".join(member.__doc__.split()).removesuffix(".")
        for name, member in vars(row).items()
        if isinstance(member, property) and member.__doc__
    }
    lines = [f"/** {_said(' '.join((row.__doc__ or '').split()))} */", f"export interface {row.__name__} {{"]
    for name, hint in _columns(row):
        if words := said.get(name):
            lines.append(f"  /** {_said(words[0].upper() + words[1:])}. */")
        kind, nullable = _typescript(hint)
        lines.append(f"  {name}: {kind}{' | null' if nullable else ''};")
    return "\n".join([*lines, "}", ""])


def _said(words: str) -> str:
    return words.replace("None", "null")


def _shape(row: type[rows.Row]) -> str:
    told = []
    for name, hint in _columns(row):
        kind, nullable = _typescript(hint)
        inner = _inner(hint)
        if isinstance(inner, type) and issubclass(inner, rows.Row):
            told.append(f"{name}: {_shape(inner)}")
        else:
            word = "string" if kind.startswith('"') else kind
            told.append(f'{name}: "{word}{"?" if nullable else ""}"')
    return f"{{ {', '.join(told)} }}"


def _columns(row: type[rows.Row]) -> Iterator[tuple[str, Any]]:
    return iter(types_of(row, include_extras=True).items())


def _inner(hint: Any) -> Any:
    """Without `None`."""
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        (hint,) = (one for one in typing.get_args(hint) if one is not type(None))
    return hint


def _typescript(hint: Any) -> tuple[str, bool]:
    inner = _inner(hint)
    return _kind(inner), inner is not hint


def _kind(hint: Any) -> str:
    arguments = typing.get_args(hint)
    if hint == rows.Small:
        return "number"
    if typing.get_origin(hint) is typing.Annotated:
        return _kind(arguments[0])
    if typing.get_origin(hint) is Literal:
        return " | ".join(f'"{word}"' for word in arguments)
    if typing.get_origin(hint) is list:
        return f"{_kind(arguments[0])}[]"
    return _NAMES[hint] if hint in _NAMES else str(hint.__name__)


if __name__ == "__main__":
    if "--write" in sys.argv:
        MODULE.write_text(generated(), encoding="utf-8")
    else:
        print(generated(), end="")
