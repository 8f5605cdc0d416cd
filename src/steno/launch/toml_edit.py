"""Changes one value of a TOML text and leaves comments, order and everything else as they are.

In: the text of a settings file, the keys that lead to a value, and the value. Out: the text with that value;
the same text when it is there already. What was made is read again: it must say the same as before but for
the value, and keep every comment; else, and for a text that is not TOML, there is a ValueError.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def read(text: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(text.decode())
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except RecursionError:
        raise ValueError("it is nested beyond measure") from None


def get(text: bytes, keys: Sequence[str]) -> Any:
    """None when there is nothing."""
    found: Any = read(text)
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def set_value(text: bytes, keys: Sequence[str], value: Any) -> bytes:
    """Tables on the way are made where they are missing."""
    before = read(text)
    wanted = _with(before, keys, value)
    if _same(before, wanted):
        return text
    # A table at the end leaves the rest alone for sure, so that is tried first.
    for edited in (_appended, _edited):
        made = edited(text.decode(), keys, value)
        if made is not None and _says(made, wanted) and _is_one_place(text.decode(), made):
            return made.encode()
    raise ValueError(f"{'.'.join(keys)} cannot be put into it without changing something else")


def _says(made: str, wanted: dict[str, Any]) -> bool:
    try:
        return _same(read(made.encode()), wanted)
    except ValueError:
        return False


def _appended(text: str, keys: Sequence[str], value: Any) -> str:
    *above, last = keys
    newline = "\r\n" if "\r\n" in text else "\n"
    rest = f"{_key(last)} = {_shown(value)}{newline}"
    if above:
        rest = f"[{'.'.join(map(_key, above))}]{newline}{rest}"
    if not text.strip():
        return text + rest
    return text + ("" if text.endswith("\n") else newline) + newline + rest


def _edited(text: str, keys: Sequence[str], value: Any) -> str | None:
    """None for what the library cannot do."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import InlineTable

    *above, last = keys
    try:
        document = tomlkit.parse(text)
        at: Any = document
        for key in above:
            if key not in at:
                at[key] = tomlkit.inline_table() if isinstance(at, InlineTable) else tomlkit.table()
            at = at[key]
        at[last] = value
        return tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError, AttributeError, KeyError, RecursionError):
        return None


def _shown(value: Any) -> str:
    """What trust is told with needs no library: it takes longer to load than all the rest."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    import tomlkit

    shown: str = tomlkit.item(value).as_string()
    return shown


def _is_one_place(old: str, new: str) -> bool:
    """Whether the two differ in one place only, and no comment is lost there."""
    before, after = old.splitlines(), new.splitlines()
    start = _alike(before, after)
    rest = _alike(before[start:][::-1], after[start:][::-1])
    taken, put = before[start : len(before) - rest], after[start : len(after) - rest]
    comments = [line[line.rindex("#") :].strip() for line in taken if "#" in line]
    return not comments or (len(taken) == 1 and any(comments[0] in line for line in put))


def _alike(some: list[str], others: list[str]) -> int:
    return next(
        (place for place, (one, other) in enumerate(zip(some, others, strict=False)) if one != other),
        min(len(some), len(others)),
    )


def _key(name: str) -> str:
    if _BARE.fullmatch(name):
        return name
    return _quoted(name)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _with(table: dict[str, Any], keys: Sequence[str], value: Any) -> dict[str, Any]:
    whole = copy.deepcopy(table)
    at = whole
    *above, last = keys
    for depth, key in enumerate(above):
        at = at.setdefault(key, {})
        if not isinstance(at, dict):
            raise ValueError(f"{'.'.join(keys[: depth + 1])} is not a table")  # noqa: TRY004 - the text is wrong
    at[last] = value
    return whole


def _same(one: Any, other: Any) -> bool:
    """Alike in type as well; and a number that is none equals itself here."""
    return bool(_told(one) == _told(other))


def _told(value: Any) -> Any:
    match value:
        case dict():
            return {key: _told(item) for key, item in value.items()}
        case list():
            return [_told(item) for item in value]
        case _:
            return type(value).__name__, repr(value)
