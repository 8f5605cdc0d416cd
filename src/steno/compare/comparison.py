"""Two capability sets compared: what is new, gone and unchanged, and whether that can be said."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from steno.compare.ignore import IgnoreRules, Rule, Subject
from steno.compare.sides import Side
from steno.model import capabilities
from steno.model.capabilities import CATEGORIES, Capabilities, Category

SCHEMA = "steno.capability_diff.v1"
_UNSEEN = {
    "ebpf": "ebpf does not see what was there before, so what was created may count as written",
    "none": "none sees nothing",
    "notify": "notify does not see every result, so what failed may count as done",
}


class Outcome(StrEnum):
    SAME = "same"
    REMOVED = "removed"  # and nothing added
    ADDED = "added"
    INCONCLUSIVE = "inconclusive"  # nothing was seen to be added, and something may have been missed


EXIT_CODES = {Outcome.SAME: 0, Outcome.REMOVED: 0, Outcome.ADDED: 1, Outcome.INCONCLUSIVE: 3}


class Entry(NamedTuple):
    category: Category
    text: str
    names: tuple[str, ...] = ()
    was_attempted: bool = False  # the other side tried it, and failed

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"entry": self.text}
        if self.names:
            found["names"] = list(self.names)
        if self.was_attempted:
            found["was_attempted"] = True
        return found


class Ignored(NamedTuple):
    entry: Entry
    change: str
    rule: Rule

    def to_json(self) -> dict[str, Any]:
        rule = {"kind": self.rule.kind, "text": self.rule.text, "line": self.rule.line}
        return {
            **self.entry.to_json(),
            "category": self.entry.category.key,
            "change": self.change,
            "rule": rule,
        }


class Compared(NamedTuple):
    category: Category
    added: list[Entry]
    removed: list[Entry]
    unchanged: list[str]


class Note(NamedTuple):
    code: str
    says: str


class Comparison(NamedTuple):
    a: Side
    b: Side
    by_name: bool
    compared: list[Compared]
    ignored: list[Ignored]
    notes: list[Note]

    @property
    def added(self) -> list[Entry]:
        return [entry for one in self.compared if not one.category.is_attempt for entry in one.added]

    @property
    def removed(self) -> list[Entry]:
        return [entry for one in self.compared if not one.category.is_attempt for entry in one.removed]

    @property
    def unchanged(self) -> int:
        return sum(len(one.unchanged) for one in self.compared if not one.category.is_attempt)

    @property
    def degraded(self) -> list[str]:
        """Why something may have been missed, and on which side."""
        return [
            f"{letter}: {why}" for letter, side in (("A", self.a), ("B", self.b)) for why in side.degraded
        ]

    @property
    def outcome(self) -> Outcome:
        if self.added:
            return Outcome.ADDED
        if self.degraded:
            return Outcome.INCONCLUSIVE
        return Outcome.REMOVED if self.removed else Outcome.SAME

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.outcome]


def compare(a: Side, b: Side, rules: IgnoreRules, *, by_name: bool) -> Comparison:
    old = capabilities.by_name(a.capabilities) if by_name else a.capabilities
    new = capabilities.by_name(b.capabilities) if by_name else b.capabilities
    ignored: list[Ignored] = []
    compared = [_compare(category, old, new, rules, ignored) for category in CATEGORIES]
    return Comparison(a, b, by_name, compared, ignored, list(_notes(a, b)))


def _compare(
    category: Category, old: Capabilities, new: Capabilities, rules: IgnoreRules, ignored: list[Ignored]
) -> Compared:
    before, after = old.entries[category.key], new.entries[category.key]

    def kept(one: Capabilities, other: Capabilities, texts: frozenset[str], change: str) -> Iterator[Entry]:
        for text in sorted(texts):
            entry = _entry(category, text, one, other)
            rule = rules.rule_for(Subject(category.group, text, entry.names))
            if rule is None:
                yield entry
            else:
                ignored.append(Ignored(entry, change, rule))

    return Compared(
        category,
        added=list(kept(new, old, after - before, "added")),
        removed=list(kept(old, new, before - after, "removed")),
        unchanged=sorted(before & after),
    )


def _entry(category: Category, text: str, one: Capabilities, other: Capabilities) -> Entry:
    names = capabilities.names_of(text, one.names) if category.group == "endpoints" else ()
    tried = other.entries.get(f"{category.group}.attempted", frozenset())
    return Entry(category, text, names, was_attempted=not category.is_attempt and text in tried)


def _notes(a: Side, b: Side) -> Iterator[Note]:
    if {source.root for source in a.sources} == {source.root for source in b.sources}:
        yield Note("same_runs", "A and B come from the same runs")
    if a.observers != b.observers:
        yield Note(
            "observers_differ",
            f"A was observed by {' and '.join(a.observers)}, B by {' and '.join(b.observers)}{_unseen(a, b)}",
        )


def _unseen(a: Side, b: Side) -> str:
    """What an observer that only one side had does not see, and how that shows."""
    return "".join(f"; {_UNSEEN[one]}" for one in sorted({*a.observers} ^ {*b.observers}) if one in _UNSEEN)


def to_json(found: Comparison) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "verdict": found.outcome.value,
        "exit_code": found.exit_code,
        "a": _side_json(found.a),
        "b": _side_json(found.b),
        "projected": found.b.is_projected,
        "by_name": found.by_name,
        "degraded": found.degraded,
        "notes": [note._asdict() for note in found.notes],
        "summary": {
            "added": len(found.added),
            "removed": len(found.removed),
            "unchanged": found.unchanged,
            "ignored": len(found.ignored),
        },
        "categories": _categories_json(found, attempts=False),
        "attempts": _categories_json(found, attempts=True),
        "ignored": [one.to_json() for one in found.ignored],
    }


def _side_json(side: Side) -> dict[str, Any]:
    return {
        "input": side.word,
        "kind": side.kind,
        "sources": msgspec.to_builtins(side.sources),
        "degraded": side.degraded,
    }


def _categories_json(found: Comparison, *, attempts: bool) -> dict[str, Any]:
    return {
        one.category.key: {
            "added": [entry.to_json() for entry in one.added],
            "removed": [entry.to_json() for entry in one.removed],
            "unchanged": one.unchanged,
        }
        for one in found.compared
        if one.category.is_attempt is attempts
    }
