"""The file of rules that say which differences do not matter: a small YAML file.

In: the bytes of the file, from whoever keeps it. Out: `IgnoreRules`, or a `BadRulesError` with the line that
is wrong. Of YAML only a mapping of lists of words is taken: no anchors, no tags, no nesting, no numbers, and
a word is the text that stands there. Only the parser of events is used, so nothing in the file grows or is
executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import yaml

from steno.views.capability.ignore_rules import KINDS, BadRulesError, IgnoreRules, rule

MAX_BYTES = 256 << 10
MAX_RULES = 5000
_QUOTES = "put words that begin with a sign of YAML's, such as * or :, in quotes; docs/diff.md tells the rest"
_RESOLVER: Any = yaml.resolver.Resolver()
_NO_WORDS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "null"))


def parse(data: bytes) -> IgnoreRules:
    if len(data) > MAX_BYTES:
        raise BadRulesError(f"the file is larger than {MAX_BYTES} bytes")
    try:
        found = [rule(kind, word, line) for kind, word, line in _words(_Events(data.decode()))]
    except UnicodeDecodeError as error:
        raise BadRulesError(f"line {data.count(bytes([10]), 0, error.start) + 1}: not UTF-8") from None
    except yaml.MarkedYAMLError as error:
        line = 1 if error.problem_mark is None else error.problem_mark.line + 1
        raise BadRulesError(f"line {line}: {error.problem or error.context}", _QUOTES) from None
    except yaml.YAMLError as error:
        raise BadRulesError(" ".join(str(error).split())) from None
    if len(found) > MAX_RULES:
        raise BadRulesError(f"there are {len(found)} rules; {MAX_RULES} is the limit")
    return IgnoreRules(found)


class _Events:
    """The events of the YAML parser, one after the other; it keeps no tree, so nothing in the file grows."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[Any] = yaml.parse(text, Loader=yaml.SafeLoader)

    def take(self) -> Any:
        event = next(self._events)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            _refuse(event, "anchors and aliases are not taken here", _QUOTES)
        if getattr(event, "tag", None) is not None:
            _refuse(event, "tags are not taken here", _QUOTES)
        return event


def _words(events: _Events) -> Iterator[tuple[str, str, int]]:
    """Each word of the file, with the key that it stands under and its line."""
    events.take()  # the beginning of the stream
    if isinstance(events.take(), yaml.StreamEndEvent):
        return
    first = events.take()
    if _is_empty(first):
        return _end(events)
    if not isinstance(first, yaml.MappingStartEvent):
        _refuse(first, "the file is a mapping")
    seen: set[str] = set()
    while not isinstance(key := events.take(), yaml.MappingEndEvent):
        if not isinstance(key, yaml.ScalarEvent) or key.value not in KINDS:
            _refuse(key, f"unknown key {getattr(key, 'value', '')!r}")
        if key.value in seen:
            _refuse(key, f"the key {key.value!r} is there twice")
        seen.add(key.value)
        yield from _list(events, key.value)
    return _end(events)


def _list(events: _Events, kind: str) -> Iterator[tuple[str, str, int]]:
    first = events.take()
    if _is_empty(first):
        return
    if not isinstance(first, yaml.SequenceStartEvent):
        _refuse(first, f"{kind} is a list")
    while not isinstance(word := events.take(), yaml.SequenceEndEvent):
        if not isinstance(word, yaml.ScalarEvent):
            _refuse(word, f"an entry of {kind} is a word")
        if _is_no_word(word):
            _refuse(word, f"an entry of {kind} is a word, not a number or nothing; quotes make it one")
        yield kind, word.value, _line(word)


def _end(events: _Events) -> None:
    events.take()  # the end of the document
    after = events.take()
    if not isinstance(after, yaml.StreamEndEvent):
        _refuse(after, "there is more than one document")


def _is_no_word(scalar: Any) -> bool:
    """What YAML takes for a number or null. With colons it is an address, and no number to the base of 60."""
    if scalar.style is not None or ":" in scalar.value:
        return False
    return _RESOLVER.resolve(yaml.ScalarNode, scalar.value, scalar.implicit) in _NO_WORDS


def _is_empty(event: Any) -> bool:
    return isinstance(event, yaml.ScalarEvent) and event.value == "" and event.style is None


def _refuse(event: Any, why: str, hint: str | None = None) -> NoReturn:
    raise BadRulesError(f"line {_line(event)}: {why}", hint)


def _line(event: Any) -> int:
    line: int = event.start_mark.line + 1
    return line
