"""A comparison of capabilities as Markdown, fit for a comment on a pull request.

In: a comparison whose entries a stranger may have chosen. Out: text of at most `comment.MAX_CHARACTERS`.
Every entry stands in a code span, so that no name becomes a link, a mention or HTML. What does not fit is
counted, and said.
"""

from __future__ import annotations

from collections.abc import Iterator

from steno.text.markdown import Line, Section, code, fitted, folded
from steno.text.units import counted
from steno.views.capability.comparison import Comparison, Entry, Outcome
from steno.views.capability.diff_text import verdict

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
