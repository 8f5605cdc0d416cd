"""Two capability sets compared, for a terminal and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from steno.compare.comparison import Comparison, Entry, Outcome
from steno.text.markdown import Line, Section, code, fitted, folded
from steno.text.safe import cut, visible
from steno.text.style import Paint
from steno.text.units import counted

_MOST_ATTEMPTS = 10  # of a category, in each direction: searches along a path make many
_ROLES = {
    Outcome.SAME: "good",
    Outcome.REMOVED: "good",
    Outcome.ADDED: "bad",
    Outcome.INCONCLUSIVE: "warning",
}


def lines(found: Comparison, paint: Paint, *, width: int | None) -> Iterator[str]:
    yield f"A  {visible(found.a.title)}"
    yield f"B  {visible(found.b.title)}"
    yield from _entries(found, paint, width, attempts=False)
    yield from _entries(found, paint, width, attempts=True)
    if found.ignored:
        yield ""
        yield paint("heading", f"Ignored ({len(found.ignored)})")
        for one in found.ignored:
            sign = "+" if one.change == "added" else "-"
            yield paint("faint", _fit(f"  {sign} {words(one.entry)}  [{visible(str(one.rule))}]", width))
    yield ""
    for note in found.notes:
        yield f"note: {visible(note.says)}"
    for why in found.degraded:
        yield paint("warning", f"degraded evidence, {visible(why)}")
    yield f"{paint(_ROLES[found.outcome], found.outcome.value)}: {verdict(found)}"


def verdict(found: Comparison) -> str:
    """The outcome in one sentence."""
    counts = (
        f"{len(found.added)} added, {len(found.removed)} removed, {found.unchanged} unchanged, "
        f"{len(found.ignored)} ignored"
    )
    match found.outcome:
        case Outcome.SAME:
            return f"B did nothing that A did not ({counts})"
        case Outcome.REMOVED:
            left_out = counted(len(found.removed), "thing")
            return f"B did nothing that A did not, and left out {left_out} ({counts})"
        case Outcome.ADDED:
            return f"B did {counted(len(found.added), 'thing')} that A did not ({counts})"
        case Outcome.INCONCLUSIVE:
            return f"nothing was seen to be added, and something may have been missed ({counts})"


def words(entry: Entry) -> str:
    """One entry with its names, safe to print."""
    text = visible(entry.text)
    if entry.names:
        text += f"  ({', '.join(visible(name) for name in entry.names)})"
    return f"{text}  (the other side tried it, and failed)" if entry.was_attempted else text


def _entries(found: Comparison, paint: Paint, width: int | None, *, attempts: bool) -> Iterator[str]:
    for one in found.compared:
        if one.category.is_attempt is not attempts or not (one.added or one.removed):
            continue
        yield ""
        counts = f"+{len(one.added)} -{len(one.removed)}, {len(one.unchanged)} unchanged"
        yield f"{paint('heading', one.category.title)}  {paint('faint', counts)}"
        role = "faint" if attempts else "bad"
        most = _MOST_ATTEMPTS if attempts else len(one.added) + len(one.removed)
        yield from (paint(role, _fit(f"  + {words(entry)}", width)) for entry in one.added[:most])
        yield from (_fit(f"  - {words(entry)}", width) for entry in one.removed[:most])
        if more := len(one.added[most:]) + len(one.removed[most:]):
            yield f"  and {more} more; --json has them all"


def _fit(text: str, width: int | None) -> str:
    return text if width is None else cut(text, width)


_MAX_REASONS = 20
_ICONS = {
    Outcome.SAME: "✅",
    Outcome.REMOVED: "✅",
    Outcome.ADDED: "❌",
    Outcome.INCONCLUSIVE: "⚠️",
}


def text(found: Comparison) -> str:
    return fitted("\n".join(_head(found)), _sections(found), _ending)


def _ending(left_out: int) -> str:
    return f"**{counted(left_out, 'more line')} did not fit here.** `steno diff` prints them all."


def _head(found: Comparison) -> Iterator[str]:
    yield f"### {_ICONS[found.outcome]} Capability diff: {found.outcome.value}"
    yield ""
    sentence = verdict(found)
    yield f"{sentence[0].upper()}{sentence[1:]}."
    yield ""
    yield f"- A: {code(found.a.title)}"
    yield f"- B: {code(found.b.title)}"
    yield from (f"- Note: {note.says}" for note in found.notes)
    yield from (f"- Degraded evidence, {code(why)}" for why in found.degraded[:_MAX_REASONS])
    if len(found.degraded) > _MAX_REASONS:
        yield f"- Degraded evidence: {len(found.degraded) - _MAX_REASONS} more reasons"
    yield ""


def _sections(found: Comparison) -> Iterator[Section]:
    for one in found.compared:
        if one.added and not one.category.is_attempt:
            yield Section(
                [Line(f"#### {one.category.title}: {len(one.added)} added\n"), *_items("+", one.added)]
            )
    for one in found.compared:
        if one.removed and not one.category.is_attempt:
            yield folded(f"{one.category.title}: {len(one.removed)} removed", _items("-", one.removed))
    for one in found.compared:
        if one.category.is_attempt and (one.added or one.removed):
            title = f"{one.category.title}: {len(one.added)} added, {len(one.removed)} removed"
            yield folded(title, [*_items("+", one.added), *_items("-", one.removed)])
    if found.ignored:
        lines = [
            Line(f"{_item('+' if one.change == 'added' else '-', one.entry)}, by {code(str(one.rule))}", True)
            for one in found.ignored
        ]
        yield folded(f"Ignored: {len(found.ignored)}", lines)


def _items(sign: str, entries: list[Entry]) -> list[Line]:
    return [Line(_item(sign, entry), is_entry=True) for entry in entries]


def _item(sign: str, entry: Entry) -> str:
    names = f" ({', '.join(map(code, entry.names[:5]))})" if entry.names else ""
    tried = ", which the other side tried in vain" if entry.was_attempted else ""
    return f"- {sign} {code(entry.text)}{names}{tried}"
