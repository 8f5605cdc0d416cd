"""YAML with nothing in it but what JSON has, as a tree in which everything knows its line and column.

No anchors, aliases or tags, so nothing grows and nothing is executed; no plain word that another version of
YAML reads as something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml

MAX_DEPTH = 32
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # many times faster, where it is there
_RESOLVER: Any = yaml.resolver.Resolver()
_TAG = "tag:yaml.org,2002:"
_PLAIN_VALUES = {"": None, "null": None, "~": None, "true": True, "false": False}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FRACTION = re.compile(r"-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,40})?(?:[eE][-+]?[0-9]{1,2})?")


PlainValue = Callable[[str], Any]  # of a scalar without quotes; its ValueError is a problem of the file


class Problem(NamedTuple):
    line: int
    column: int
    says: str


class UnreadableTextError(Exception):
    """The text is not YAML, or is nested too deep; what comes after the place cannot be known."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.says)
        self.problem = problem


class Entry(NamedTuple):
    key: Node
    value: Node


class Node(NamedTuple):
    """`value`: None, bool, int, float, str, a list of nodes, or a dict of entries by key."""

    value: Any
    line: int
    column: int

    def plain(self) -> Any:
        """The value without its places."""
        if isinstance(self.value, list):
            return [item.plain() for item in self.value]
        if isinstance(self.value, dict):
            return {name: entry.value.plain() for name, entry in self.value.items()}
        return self.value

    def at(self, place: tuple[str | int, ...]) -> Node:
        """What stands at a place below, or as near to it as there is something."""
        node = self
        for step in place:
            if isinstance(node.value, dict) and step in node.value:
                node = node.value[step].value
            elif isinstance(node.value, list) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
        return node


def json_value(text: str) -> Any:
    if text in _PLAIN_VALUES:
        return _PLAIN_VALUES[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FRACTION.fullmatch(text):
        return float(text)
    if plain_type(text) != "str" or text.lower() in {"y", "n"}:
        raise ValueError(f"{text!r} means different things to different readers; quotes make it a word")
    return text


def plain_type(text: str) -> str:
    """What YAML 1.1 takes it for without quotes: str, int, float, null, bool, timestamp …"""
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False))
    return tag.removeprefix(_TAG)


def parse(data: bytes, problems: list[Problem], plain_value: PlainValue = json_value) -> Node:
    """The problems that are not worth stopping for are added to the list; others are raised."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line_start = data.rfind(b"\n", 0, error.start) + 1
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableTextError(Problem(line, error.start - line_start + 1, "not UTF-8")) from None
    try:
        return _Builder(text, problems, plain_value).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        says = error.problem or error.context or "not YAML"
        place = (1, 1) if mark is None else (mark.line + 1, mark.column + 1)
        raise UnreadableTextError(Problem(*place, says)) from None
    except yaml.reader.ReaderError as error:
        position = error.position if isinstance(error.position, int) else 0
        before = text[:position]
        place = (before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1)
        raise UnreadableTextError(Problem(*place, "a character that YAML does not take")) from None
    except yaml.YAMLError as error:
        raise UnreadableTextError(Problem(1, 1, " ".join(str(error).split()))) from None


class _Builder:
    def __init__(self, text: str, problems: list[Problem], plain_value: PlainValue) -> None:
        self._events: Iterator[Any] = yaml.parse(text, Loader=_LOADER)
        self._plain_value = plain_value
        self._problems = problems

    def document(self) -> Node:
        next(self._events)  # the beginning of the stream
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return Node(None, 1, 1)
        node = self._node(next(self._events), 0)
        next(self._events)  # the end of the document
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            self._problem(after, "there is more than one document")
        return node

    def _node(self, event: Any, depth: int) -> Node:
        if depth > MAX_DEPTH:
            mark = event.start_mark
            raise UnreadableTextError(
                Problem(mark.line + 1, mark.column + 1, f"nested deeper than {MAX_DEPTH}")
            )
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            self._problem(event, "anchors and aliases are not taken here")
        elif event.tag is not None:
            self._problem(event, "tags are not taken here")
        if isinstance(event, yaml.SequenceStartEvent):
            return _node_at(event, self._list(depth))
        if isinstance(event, yaml.MappingStartEvent):
            return _node_at(event, self._mapping(depth))
        return _node_at(event, self._scalar(event))

    def _list(self, depth: int) -> list[Node]:
        items: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._node(event, depth + 1))
        return items

    def _mapping(self, depth: int) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            value = self._node(next(self._events), depth + 1)
            if not isinstance(key.value, str):
                self._problem(event, "a key is a word; quotes make it one")
            elif key.value in entries:
                first = entries[key.value].key
                self._problem(event, f"the key {key.value!r} is there twice, first in line {first.line}")
            else:
                entries[key.value] = Entry(key, value)
        return entries

    def _scalar(self, event: Any) -> Any:
        text: str = getattr(event, "value", "")
        if not isinstance(event, yaml.ScalarEvent) or event.style not in {None, ""}:
            return text
        try:
            return self._plain_value(text)
        except ValueError as error:
            self._problem(event, str(error))
            return text

    def _problem(self, event: Any, says: str) -> None:
        self._problems.append(Problem(event.start_mark.line + 1, event.start_mark.column + 1, says))


def _node_at(event: Any, value: Any) -> Node:
    return Node(value, event.start_mark.line + 1, event.start_mark.column + 1)
