"""What a run touched, reached and started: the lines of `steno surface`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from steno.model.capabilities import CATEGORIES, Capabilities, Category, names_of
from steno.text.safe import cut, visible
from steno.text.style import Paint

MOST_SHOWN = 12
_BY_DIRECTORY = {"files", "unix_sockets"}


def lines(found: Capabilities, paint: Paint, *, everything: bool, width: int | None) -> Iterator[str]:
    for category in CATEGORIES:
        entries = sorted(found.entries[category.key])
        if not entries:
            continue
        yield f"{paint('heading', category.title)}  {len(entries)}"
        for text in _told(category, entries, found, everything=everything):
            line = f"  {text}"
            line = line if width is None else cut(line, width)
            yield paint("faint", line) if category.is_attempt else line


def _told(category: Category, entries: list[str], found: Capabilities, *, everything: bool) -> Iterator[str]:
    if everything or len(entries) <= MOST_SHOWN:
        yield from (_named(category, entry, found) for entry in entries)
        return
    if category.group not in _BY_DIRECTORY:
        yield from (_named(category, entry, found) for entry in entries[:MOST_SHOWN])
        yield f"and {len(entries) - MOST_SHOWN} more; --all lists them"
        return
    directories = Counter(entry.rpartition("/")[0] + "/" for entry in entries)
    shown = directories.most_common(MOST_SHOWN)
    yield from (f"{visible(directory)}  {count}" for directory, count in sorted(shown))
    rest = len(entries) - sum(count for _, count in shown)
    if rest:
        yield f"and {rest} more in {len(directories) - len(shown)} directories; --all lists them"


def _named(category: Category, entry: str, found: Capabilities) -> str:
    names = names_of(entry, found.names) if category.group == "endpoints" else ()
    return f"{visible(entry)}  ({', '.join(map(visible, names))})" if names else visible(entry)
